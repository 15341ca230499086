"""Programs of earlier versions that work on the runs of a store while this version does."""

from __future__ import annotations

import random
from collections.abc import Iterable
from typing import Any, Protocol, get_args

import msgspec
from msgspec.structs import replace

from agentsdk.ports.run_store import RunStore
from agentsdk.stores.memory import MemoryRunStore
from agentsdk.types.errors import RunConflictError
from agentsdk.types.summary import DueRuns, RunQuery, RunStatus, RunSummary

STATUSES = ("running", "waiting", "stopped", "finished")
"""What earlier versions told apart."""

LATE = 9e9
_NEW = {"phase", "error", "due_at", "priority", "elapsed", "ended_at", "taken", "signals", "metadata"}
_ALL: tuple[RunStatus | None, ...] = (None, *get_args(RunStatus))


class Earlier(Protocol):
    """Does to a store's data what a program of an earlier version does."""

    async def append(self, summary: RunSummary, status: str) -> None:
        """Write the summary of a run without events, of the status it had then."""
        ...

    async def delete(self, run_id: str) -> None:
        """Remove a run with all that was known of it."""
        ...

    async def list_abandoned(self) -> None:
        """Look for runs in work that nobody holds."""
        ...


def of_earlier(summary: RunSummary, status: str, without: Iterable[str] = ()) -> dict[str, Any]:
    """The fields of a summary as an earlier version wrote them, lacking those named too."""
    told = {**msgspec.to_builtins(summary), "status": status}
    return {name: value for name, value in told.items() if name not in {*_NEW, *without}}


def of_today(summary: RunSummary, status: str) -> RunSummary:
    """What an earlier summary says today."""
    today: dict[str, RunStatus] = {"stopped": "ready" if summary.reason in ("", "CancelledError") else "failed"}
    now = replace(summary, status=today.get(status, status))
    return replace(now, due_at={"running": now.held_until, "ready": now.updated_at}.get(now.status, 0.0))


async def _expect_same(store: RunStore, memory: RunStore, what: str) -> None:
    for status in _ALL:
        query = RunQuery(status=status, limit=1_000)
        assert await store.list(query) == await memory.list(query), f"{status} after {what}"
    for at in (LATE, 3.0):  # first when all leases have passed: until then one begun may make up for one that has ended
        due, abandoned = DueRuns(at=at, limit=1_000), RunQuery(abandoned_at=at, limit=1_000)
        assert await store.due(due) == await memory.due(due), f"due at {at} after {what}"
        assert await store.list(abandoned) == await memory.list(abandoned), f"abandoned at {at} after {what}"


async def expect_found_as_todays(store: RunStore, earlier: Earlier, seed: int, steps: int = 300) -> None:
    """Raises `AssertionError` where what earlier programs do to a store is not found as if it was done today.

    They do not go on with what this version has appended or posted to, as they could not read it.
    """
    chance, memory = random.Random(seed), MemoryRunStore()
    not_theirs = set[str]()
    for step in range(steps):
        run_id, what = f"r{step - chance.randrange(20)}", chance.random()
        summary = await memory.summary(run_id)
        given = RunSummary(
            run_id=run_id,
            rev=0,
            status="running",
            agent="a",
            started_at=1.0,
            updated_at=float(step // 50),
            reason=chance.choice(["", "CancelledError", "ModelError"]),
            held_until=float(chance.randrange(1, 9)),
        )
        if what < 0.5 and run_id not in not_theirs:
            status = chance.choice(STATUSES)
            await earlier.append(given, status)
            await memory.append(run_id, 0, [], of_today(given, status))
        elif what < 0.6 and summary is not None:
            not_theirs.add(run_id)
            await earlier.delete(run_id)
            await memory.delete(run_id)
        elif what < 0.8:
            not_theirs.add(run_id)
            given = replace(given, status=chance.choice(get_args(RunStatus)), due_at=float(chance.randrange(5)))
            given = replace(given, due_at=given.held_until) if given.status == "running" else given
            for kept in (store, memory):
                await kept.append(run_id, 0, [], given)
        elif summary is not None and summary.status != "running":
            not_theirs.add(run_id)
            for kept in (store, memory):
                try:
                    await kept.post(run_id, b"signal")
                except RunConflictError:
                    assert summary.is_over
        if chance.random() < 0.1:
            await earlier.list_abandoned()
        assert await store.summary(run_id) == await memory.summary(run_id)
        if step % 5 == 0:
            await _expect_same(store, memory, f"step {step}")
