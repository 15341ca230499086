"""Validation of a user's run store: what it raises becomes a `StoreError`, and what it returns is checked."""

from __future__ import annotations

import time
from collections.abc import Awaitable, Callable, Sequence
from typing import TypeGuard, TypeVar, cast

from agentsdk.ports.run_store import RunStore, claim_runs, queue_of, wait_for_revision
from agentsdk.types.declared import is_real, is_whole, shown
from agentsdk.types.errors import AgentsException, StoreError
from agentsdk.types.queue import QueueStatus
from agentsdk.types.summary import DueRuns, RunSummary

T = TypeVar("T")

Took = Callable[[str, float, str], None]
"""Is told which method was asked, for how many seconds, and the class of what it raised, `""` for nothing."""

_WAITS = frozenset({"wait", "wait_signals", "wait_due"})


class CheckedStore:
    """The methods of `store` that runs use. They raise what a `RunStore` raises, `StoreError` for all else.

    `took` is told of each that does not wait for something to happen.
    """

    __slots__ = ("_store", "_took")

    def __init__(self, store: RunStore, took: Took | None = None) -> None:
        self._store = store
        self._took = took

    async def append(self, run_id: str, expected_rev: int, events: Sequence[bytes], summary: RunSummary) -> int:
        """Add events; how many signals were ever posted to the run."""
        assert summary.rev == expected_rev + len(events), "a summary that is ahead of its log would keep the run from going on"
        signals: object = await self._asked(run_id, "append", lambda: self._store.append(run_id, expected_rev, events, summary))
        if not isinstance(signals, int) or not is_whole(signals, 0):
            raise self._wrong(run_id, "append", signals, "how many signals were posted to the run")
        return signals

    async def read(self, run_id: str, from_rev: int = 0) -> list[bytes]:
        """The events from number `from_rev` on."""
        events: object = await self._asked(run_id, "read", lambda: self._store.read(run_id, from_rev))
        return self._checked_bytes(run_id, "read", events, "a list of bytes, one for each event")

    async def summary(self, run_id: str) -> RunSummary | None:
        """The run's summary; None for a run that does not exist."""
        summary = await self._asked(run_id, "summary", lambda: self._store.summary(run_id))
        if summary is not None and not _is_summary(summary):
            raise self._wrong(run_id, "summary", summary, "the RunSummary that was appended last, or None")
        return summary

    async def due(self, query: DueRuns) -> list[RunSummary]:
        """The runs that a worker may take."""
        return self._checked_summaries("due", await self._asked("", "due", lambda: self._store.due(query)))

    async def claim(self, query: DueRuns, owner: str, until: float, besides: Sequence[str]) -> list[RunSummary]:
        """Hold runs that are due, but none of `besides`; each as it stood before."""
        runs = await self._asked("", "claim", lambda: claim_runs(self._store, query, owner, until, besides))
        return self._checked_summaries("claim", runs)

    async def queue(self, query: DueRuns) -> QueueStatus:
        """How many runs are due, since when, and how many are in work."""
        status: object = await self._asked("", "queue", lambda: queue_of(self._store, query))
        if not isinstance(status, QueueStatus):
            raise self._wrong("", "queue", status, "a QueueStatus")
        return status

    async def post(self, run_id: str, signal: bytes) -> int:
        """Put a signal into the run's mailbox; its number there."""
        number: object = await self._asked(run_id, "post", lambda: self._store.post(run_id, signal))
        if not isinstance(number, int) or not is_whole(number, 1):
            raise self._wrong(run_id, "post", number, "the signal's number, from 1")
        return number

    async def signals(self, run_id: str, after: int = 0) -> list[bytes]:
        """What was posted to the run behind number `after`."""
        signals: object = await self._asked(run_id, "signals", lambda: self._store.signals(run_id, after))
        return self._checked_bytes(run_id, "signals", signals, "a list of bytes, one for each signal")

    async def attach(self, run_id: str, name: str, data: bytes) -> None:
        """Keep data beside the run; what the store returns does not matter."""
        await self._asked(run_id, "attach", lambda: self._store.attach(run_id, name, data))

    async def attachment(self, run_id: str, name: str) -> bytes | None:
        """What was attached under `name`; None if nothing was."""
        data: object = await self._asked(run_id, "attachment", lambda: self._store.attachment(run_id, name))
        if data is not None and not isinstance(data, bytes):
            raise self._wrong(run_id, "attachment", data, "the bytes that were attached, or None")
        return data

    async def wait(self, run_id: str, after_rev: int, timeout: float) -> int:
        """The run's revision once it is above `after_rev`, or after `timeout` seconds."""
        rev: object = await self._asked(run_id, "wait", lambda: wait_for_revision(self._store, run_id, after_rev, timeout))
        if not isinstance(rev, int) or not is_whole(rev, 0):
            raise self._wrong(run_id, "wait", rev, "the run's revision")
        return rev

    async def wait_signals(self, run_id: str, after: int, timeout: float) -> int:
        """How many signals were posted to the run, once above `after`, or after `timeout` seconds."""
        number: object = await self._asked(run_id, "wait_signals", lambda: self._store.wait_signals(run_id, after, timeout))
        if not isinstance(number, int) or not is_whole(number, 0):
            raise self._wrong(run_id, "wait_signals", number, "how many signals were posted to the run")
        return number

    async def wait_due(self, seen: int, timeout: float) -> int:
        """Another number than `seen` once some run may have become due."""
        number: object = await self._asked("", "wait_due", lambda: self._store.wait_due(seen, timeout))
        if not isinstance(number, int) or not is_whole(number, 0):
            raise self._wrong("", "wait_due", number, "a number of its own")
        return number

    def _checked_bytes(self, run_id: str, method: str, given: object, expected: str) -> list[bytes]:
        if _is_bytes_list(given):
            return list(given)
        raise self._wrong(run_id, method, given, expected)

    def _checked_summaries(self, method: str, given: object) -> list[RunSummary]:
        if _is_summaries(given):
            return list(given)
        raise self._wrong("", method, given, "a list of RunSummary")

    async def _asked(self, run_id: str, method: str, ask: Callable[[], Awaitable[T]]) -> T:
        try:
            if self._took is None or method in _WAITS:
                return await ask()
            return await _timed(method, ask, self._took)
        except AgentsException:
            raise
        except Exception as error:
            raise StoreError(
                f"{_store_of(run_id)} raised {type(error).__name__} in {method}, expected what a RunStore does; "
                "see the chained exception, and go on with error.state, or with Runner.resume from what the store has"
            ) from error

    def _wrong(self, run_id: str, method: str, given: object, expected: str) -> StoreError:
        return StoreError(
            f"{_store_of(run_id)} gave {shown(given)} from {method}, expected {expected}; "
            "try it with agentsdk.testing.store_conformance"
        )


async def _timed(method: str, ask: Callable[[], Awaitable[T]], took: Took) -> T:
    began, error = time.perf_counter(), ""
    try:
        return await ask()
    except BaseException as raised:
        error = type(raised).__name__
        raise
    finally:
        took(method, time.perf_counter() - began, error)


def _store_of(run_id: str) -> str:
    return f"the store of run {run_id!r}" if run_id else "the run store"


def _is_bytes_list(given: object) -> TypeGuard[Sequence[bytes]]:
    return isinstance(given, list | tuple) and all(isinstance(item, bytes) for item in cast("Sequence[object]", given))


def _is_summaries(given: object) -> TypeGuard[Sequence[RunSummary]]:
    return isinstance(given, list | tuple) and all(map(_is_summary, cast("Sequence[object]", given)))


def _is_summary(given: object) -> TypeGuard[RunSummary]:
    return (
        isinstance(given, RunSummary)
        and is_whole(given.rev, 0)
        and is_real(given.held_until)
        and isinstance(cast(object, given.owner), str)
    )
