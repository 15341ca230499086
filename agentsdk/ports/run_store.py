"""The port to a run store: an append-only log of events for each run, and one row that sums it up."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable, Sequence
from typing import Literal, Protocol

from msgspec.structs import replace

from agentsdk.types.declared import having, is_real, shown
from agentsdk.types.errors import RunConflictError, RunNotFoundError, UserError
from agentsdk.types.queue import QueueStatus
from agentsdk.types.summary import ALL_RUNS, DueRuns, RunQuery, RunStatus, RunSummary

POLL_INTERVAL = 0.05
"""Seconds between two looks at a store that cannot tell when it changes."""


class RunStore(Protocol):
    """Keeps the logs of runs. Subclass it or just have its methods; `agentsdk.testing.store_conformance` checks yours.

    An event is bytes to the store, numbered from 0 in its run; a run's revision is how many there are. Appending costs
    O(new events), never O(log). What a call has returned from is durable; a call that was cancelled or has raised did all of
    its work or none of it.

    Every method raises `StoreBusyError` where a lock did not come free in time, `StoreUnavailableError` where the connection
    is lost (the work may have been done), and `StoreError` for anything else of the store's own. A store made for a fork of the
    process, or for another event loop, works there too.
    """

    async def append(self, run_id: str, expected_rev: int, events: Sequence[bytes], summary: RunSummary) -> int:
        """Add `events` to the log of `run_id` and replace its summary, in one step, if the run is at `expected_rev`.

        Returns how many signals were ever posted to the run. The summary that stands then is `summary.beside(signals)`.

        0 begins a run that does not exist. Without events only the summary is replaced: who holds the run, and until when.
        `summary.rev` is `expected_rev + len(events)`. Raises `RunConflictError`, nothing changed, if the run is at another
        revision, or if the summary that stands there `refuses` this one's `owner` at this one's `updated_at`.
        """
        ...

    async def read(self, run_id: str, from_rev: int = 0) -> list[bytes]:
        """The events from number `from_rev` on. Raises `RunNotFoundError` for a run that does not exist."""
        ...

    async def summary(self, run_id: str) -> RunSummary | None:
        """The run's summary; None for a run that does not exist."""
        ...

    async def due(self, query: DueRuns) -> list[RunSummary]:
        """The runs that a worker may take, as `query` says and in its order."""
        ...

    async def claim(self, query: DueRuns, owner: str, until: float, besides: Sequence[str] = ()) -> list[RunSummary]:
        """Hold the first runs that `query` asks for, but none of those whose ids are in `besides`; each as it stood before.

        A run that was claimed is as after an append, without events, of its summary with `status="running"`, this `owner`,
        `held_until` and `due_at` at `until`, and `updated_at` at `query.at`, which is the present (Unix timestamps). Of
        several who claim it one gets it. While others claim too, fewer than `query.limit` may come though there are more.

        This one asks `due`, and appends to each.
        """
        return await claim_by_append(self, query, owner, until, besides)

    async def queue(self, query: DueRuns) -> QueueStatus:
        """How many runs are due at `query.at` that began with one of `query.agents`, since when, and how many are in work.

        It counts up to `query.limit` of either. This one reads as many from `due` and from `list`.
        """
        return await queue_by_reading(self, query)

    async def signals(self, run_id: str, after: int = 0) -> list[bytes]:
        """What was posted to the run behind number `after`, in order. Raises `RunNotFoundError`.

        All of it stays until the run is deleted: how much of it was taken is recorded in the log.
        """
        ...

    async def list(self, query: RunQuery = ALL_RUNS) -> list[RunSummary]:
        """The runs that `query` asks for (left out: all), by `started_at` and then `run_id`, both descending."""
        ...

    async def post(self, run_id: str, signal: bytes) -> int:
        """Put `signal` into the run's mailbox, behind those before it; its number there, from 1.

        It does not touch the log, so it disturbs nobody's append. In the same step the summary becomes
        `summary.beside(number)`: a run that waits or has failed is ready. Raises `RunNotFoundError`, and `RunConflictError`,
        nothing posted, for a run that is finished or cancelled.
        """
        ...

    async def attach(self, run_id: str, name: str, data: bytes) -> None:
        """Keep `data` beside the run's log, in place of what had this name. Raises `RunNotFoundError`."""
        ...

    async def attachment(self, run_id: str, name: str) -> bytes | None:
        """What was attached under `name`; None if nothing was, or the run does not exist."""
        ...

    async def delete(self, run_id: str) -> None:
        """Remove the run, its log and what is attached. A run that does not exist is none to remove."""
        ...

    async def prune(self, before: float, statuses: Iterable[RunStatus] = ("finished",)) -> int:
        """Delete the runs last appended to before `before` (a Unix timestamp) that have one of `statuses`; how many."""
        ...

    async def wait(self, run_id: str, after_rev: int, timeout: float) -> int:
        """The run's revision as soon as it is above `after_rev`, or the one it has when `timeout` seconds (>= 0) have passed.

        A run that does not exist has revision 0, so its beginning can be waited for, and a deletion ends no wait. An append
        does, in this process or another. A waiter that is cancelled leaves nothing behind; `aclose` ends it: `StoreError`.

        This one polls, for stores that cannot tell when they change. `wait_for_revision` waits on a store that lacks the
        method. Raises `UserError` for a timeout that is none.
        """
        return await wait_by_polling(self, run_id, after_rev, timeout)

    async def wait_signals(self, run_id: str, after: int, timeout: float) -> int:
        """How many signals were posted to the run, as soon as that is above `after`, or when `timeout` seconds have passed.

        Otherwise as `wait`. This one polls.
        """
        return await wait_by_polling(self, run_id, after, timeout, field="signals")

    async def wait_due(self, seen: int, timeout: float) -> int:
        """A number other than `seen` as soon as some run may have become due, or else `seen` after `timeout` seconds.

        `seen` is what the call before gave in this process and event loop, 0 in the first call, which returns at once.
        An append or a post by which a run is `ready` ends the wait, in this process or another; that a time has come
        does not: ask `due` again after a while. So may whatever else makes the store uncertain of what it was told.

        This one polls: it says so every `POLL_INTERVAL` seconds.
        """
        check_timeout(timeout)
        await asyncio.sleep(min(timeout, POLL_INTERVAL) if seen else 0)
        return seen + 1

    async def aclose(self) -> None:
        """Let go of connections, files and threads. A second call does nothing; any other call raises `StoreError` then."""
        ...


RUN_STORE = having(
    ("append", "read", "summary", "list", "attach", "attachment"), "a RunStore; pass SQLiteRunStore('runs.db'), say"
)


def conflict(stored: RunSummary | None, expected_rev: int, summary: RunSummary) -> RunConflictError | None:
    """Why an append that brings `summary` must be refused where `stored` is the run's present one; None if it may go on."""
    rev = 0 if stored is None else stored.rev
    if rev != expected_rev:
        return RunConflictError(
            f"run {summary.run_id!r} is at revision {rev}, expected {expected_rev}: "
            + ("it exists already" if expected_rev == 0 else "it has gone on elsewhere")
            + "; go on with Runner.drive or Runner.resume, or begin another run_id"
        )
    if stored is not None and stored.refuses(summary.owner, summary.updated_at):
        return RunConflictError(
            f"run {summary.run_id!r} is held by another process for {stored.held_until - summary.updated_at:.1f} s more, "
            "expected it to be free; try again when it has ended, or when its lease has passed"
        )
    return None


def not_found(run_id: str) -> RunNotFoundError:
    """The error for a run that a store does not have."""
    return RunNotFoundError(f"the store has no run {run_id!r}, expected the id of one; RunStore.list gives them")


def not_open(summary: RunSummary) -> RunConflictError:
    """The error for a signal to a run that takes none any more."""
    return RunConflictError(
        f"run {summary.run_id!r} is {summary.status}, expected one that goes on; begin another run, or fork it with Runner.fork"
    )


def claimed(summary: RunSummary, owner: str, now: float, until: float) -> RunSummary:
    """What stands once `owner` has claimed the run of `summary` at `now` until `until` (Unix timestamps)."""
    return replace(summary, status="running", owner=owner, updated_at=now, held_until=until, due_at=until)


async def claim_by_append(
    store: RunStore, query: DueRuns, owner: str, until: float, besides: Sequence[str] = ()
) -> list[RunSummary]:
    """`RunStore.claim` for a store that has no better one: those who lose a run have asked for one append each.

    Raises what `due` raises, and what an append does where no other one has claimed anything.
    """
    page = await store.due(replace(query, limit=query.limit + len(besides)))
    runs = [run for run in page if run.run_id not in besides][: query.limit]
    outcomes = await asyncio.gather(
        *(store.append(run.run_id, run.rev, (), claimed(run, owner, query.at, until)) for run in runs),
        return_exceptions=True,
    )
    won = [run for run, outcome in zip(runs, outcomes, strict=True) if not isinstance(outcome, BaseException)]
    failed = [one for one in outcomes if isinstance(one, BaseException) and not isinstance(one, RunConflictError)]
    if failed and not won:
        raise failed[0]
    return won


async def claim_runs(
    store: RunStore, query: DueRuns, owner: str, until: float, besides: Sequence[str] = ()
) -> list[RunSummary]:
    """`store.claim`, or `claim_by_append` where the store, one of your own, has no such method."""
    if hasattr(store, "claim"):
        return await store.claim(query, owner, until, besides)
    return await claim_by_append(store, query, owner, until, besides)


async def queue_by_reading(store: RunStore, query: DueRuns) -> QueueStatus:
    """`RunStore.queue` for a store that has no better one. Raises what `due` and `list` raise."""
    due = await store.due(query)
    running = await store.list(RunQuery(status="running", limit=query.limit))
    in_work = [run for run in running if run.due_at > query.at and (query.agents is None or run.first_agent in query.agents)]
    oldest = max([query.at - run.due_at for run in due], default=0.0)
    return QueueStatus(due=len(due), oldest_seconds=oldest, in_work=len(in_work))


async def queue_of(store: RunStore, query: DueRuns) -> QueueStatus:
    """`store.queue`, or `queue_by_reading` where the store, one of your own, has no such method."""
    if hasattr(store, "queue"):
        return await store.queue(query)
    return await queue_by_reading(store, query)


async def wait_by_polling(
    store: RunStore,
    run_id: str,
    after: int,
    timeout: float,
    *,
    field: Literal["rev", "signals"] = "rev",
    interval: float = POLL_INTERVAL,
) -> int:
    """`RunStore.wait` for a store that cannot tell when it changes: reads a field of the summary every `interval` seconds.

    Raises what `summary` raises, and `UserError` for a timeout that is none.
    """
    check_timeout(timeout)
    loop = asyncio.get_running_loop()
    deadline = loop.time() + timeout
    while True:
        left = deadline - loop.time()
        summary = await store.summary(run_id)
        number: int = 0 if summary is None else getattr(summary, field)
        if number > after or left <= 0:
            return number
        await asyncio.sleep(min(interval, left))


async def wait_for_revision(store: RunStore, run_id: str, after_rev: int, timeout: float) -> int:
    """`store.wait`, or `wait_by_polling` where the store, one of your own, has no such method."""
    if hasattr(store, "wait"):
        return await store.wait(run_id, after_rev, timeout)
    return await wait_by_polling(store, run_id, after_rev, timeout)


def check_timeout(timeout: float) -> None:
    """Raises `UserError` for what cannot be the timeout of a wait."""
    if not (is_real(timeout) and timeout >= 0):
        raise UserError(f"timeout is {shown(timeout)}, expected seconds, 0 or more; 0 gives the revision at once")
