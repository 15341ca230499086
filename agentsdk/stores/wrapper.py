"""`RunStoreWrapper`: a run store around another, which passes everything on to it."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from agentsdk.ports.run_store import RunStore, claim_runs, queue_of, wait_for_revision
from agentsdk.types.queue import QueueStatus
from agentsdk.types.summary import ALL_RUNS, DueRuns, RunQuery, RunStatus, RunSummary


class RunStoreWrapper(RunStore):
    """Does what `store` does. What is to be done otherwise a subclass says."""

    def __init__(self, store: RunStore) -> None:
        self._store = store

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self._store!r})"

    async def append(self, run_id: str, expected_rev: int, events: Sequence[bytes], summary: RunSummary) -> int:
        """Add events to a run's log. Raises `RunConflictError`."""
        return await self._store.append(run_id, expected_rev, events, summary)

    async def read(self, run_id: str, from_rev: int = 0) -> list[bytes]:
        """A run's events. Raises `RunNotFoundError`."""
        return await self._store.read(run_id, from_rev)

    async def summary(self, run_id: str) -> RunSummary | None:
        """A run's summary."""
        return await self._store.summary(run_id)

    async def due(self, query: DueRuns) -> list[RunSummary]:
        """The runs that a worker may take."""
        return await self._store.due(query)

    async def claim(self, query: DueRuns, owner: str, until: float, besides: Sequence[str] = ()) -> list[RunSummary]:
        """Hold runs that are due, but none of `besides`; each as it stood before."""
        return await claim_runs(self._store, query, owner, until, besides)

    async def queue(self, query: DueRuns) -> QueueStatus:
        """How many runs are due, since when, and how many are in work."""
        return await queue_of(self._store, query)

    async def signals(self, run_id: str, after: int = 0) -> list[bytes]:
        """What was posted to a run. Raises `RunNotFoundError`."""
        return await self._store.signals(run_id, after)

    async def list(self, query: RunQuery = ALL_RUNS) -> list[RunSummary]:
        """The runs that fit."""
        return await self._store.list(query)

    async def post(self, run_id: str, signal: bytes) -> int:
        """Put a signal into a run's mailbox. Raises `RunNotFoundError`, and `RunConflictError` where it is over."""
        return await self._store.post(run_id, signal)

    async def attach(self, run_id: str, name: str, data: bytes) -> None:
        """Keep `data` beside a run's log. Raises `RunNotFoundError`."""
        await self._store.attach(run_id, name, data)

    async def attachment(self, run_id: str, name: str) -> bytes | None:
        """What was attached under `name`."""
        return await self._store.attachment(run_id, name)

    async def delete(self, run_id: str) -> None:
        """Remove a run."""
        await self._store.delete(run_id)

    async def prune(self, before: float, statuses: Iterable[RunStatus] = ("finished",)) -> int:
        """Delete runs of these `statuses` that were last updated before `before`, a Unix timestamp in seconds."""
        return await self._store.prune(before, statuses)

    async def wait(self, run_id: str, after_rev: int, timeout: float) -> int:
        """A run's revision once it is above `after_rev`, or after `timeout` seconds."""
        return await wait_for_revision(self._store, run_id, after_rev, timeout)

    async def wait_signals(self, run_id: str, after: int, timeout: float) -> int:
        """How many signals were posted to a run, once above `after`, or after `timeout` seconds."""
        return await self._store.wait_signals(run_id, after, timeout)

    async def wait_due(self, seen: int, timeout: float) -> int:
        """Another number than `seen` once some run may have become due, or `seen` after `timeout` seconds."""
        return await self._store.wait_due(seen, timeout)

    async def aclose(self) -> None:
        """Close the store within."""
        await self._store.aclose()
