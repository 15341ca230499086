"""A run store in memory: gone with the process."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from functools import partial

from agentsdk.ports.run_store import RunStore, conflict, not_found, not_open
from agentsdk.stores.waiters import REVISION, SIGNALS, Waiters
from agentsdk.types.errors import StoreError
from agentsdk.types.summary import ALL_RUNS, DueRuns, RunQuery, RunStatus, RunSummary


class MemoryRunStore(RunStore):
    """Keeps runs in dicts: for tests, and for runs that only need to be listed, forked and replayed while the process lives."""

    def __init__(self) -> None:
        self._logs: dict[str, list[bytes]] = {}
        self._summaries: dict[str, RunSummary] = {}
        self._signals: dict[str, list[bytes]] = {}
        self._attached: dict[str, dict[str, bytes]] = {}
        self._waiters = Waiters()
        self._closed = False

    def __repr__(self) -> str:
        return f"MemoryRunStore({len(self._summaries)} runs)"

    async def append(self, run_id: str, expected_rev: int, events: Sequence[bytes], summary: RunSummary) -> int:
        """Add events to a run's log, if it is where expected. Raises `RunConflictError`."""
        self._require_open()
        refused = conflict(self._summaries.get(run_id), expected_rev, summary)
        if refused is not None:
            raise refused
        self._logs.setdefault(run_id, []).extend(events)
        signals = len(self._signals.get(run_id, ()))
        self._summaries[run_id] = standing = summary.beside(signals)
        self._waiters.notify(REVISION + run_id, summary.rev)
        if standing.status == "ready":
            self._waiters.notify_due()
        return signals

    async def read(self, run_id: str, from_rev: int = 0) -> list[bytes]:
        """A run's events. Raises `RunNotFoundError`."""
        self._require(run_id)
        return self._logs[run_id][from_rev:]

    async def summary(self, run_id: str) -> RunSummary | None:
        """A run's summary."""
        self._require_open()
        return self._summaries.get(run_id)

    async def due(self, query: DueRuns) -> list[RunSummary]:
        """The runs that a worker may take."""
        self._require_open()
        return sorted(filter(query.fits, self._summaries.values()), key=query.order)[: query.limit]

    async def signals(self, run_id: str, after: int = 0) -> list[bytes]:
        """What was posted to a run. Raises `RunNotFoundError`."""
        self._require(run_id)
        return self._signals.get(run_id, [])[after:]

    async def list(self, query: RunQuery = ALL_RUNS) -> list[RunSummary]:
        """The runs that fit."""
        self._require_open()
        found = [summary for summary in self._summaries.values() if query.fits(summary)]
        found.sort(key=lambda summary: (summary.started_at, summary.run_id), reverse=True)
        return found[: query.limit]

    async def post(self, run_id: str, signal: bytes) -> int:
        """Put a signal into a run's mailbox. Raises `RunNotFoundError`, and `RunConflictError` where it is over."""
        self._require(run_id)
        summary = self._summaries[run_id]
        if summary.is_over:
            raise not_open(summary)
        signals = self._signals.setdefault(run_id, [])
        signals.append(signal)
        self._summaries[run_id] = standing = summary.beside(len(signals))
        self._waiters.notify(SIGNALS + run_id, len(signals))
        if standing.status == "ready":
            self._waiters.notify_due()
        return len(signals)

    async def attach(self, run_id: str, name: str, data: bytes) -> None:
        """Keep `data` beside a run's log. Raises `RunNotFoundError`."""
        self._require(run_id)
        self._attached.setdefault(run_id, {})[name] = data

    async def attachment(self, run_id: str, name: str) -> bytes | None:
        """What was attached under `name`."""
        self._require_open()
        return self._attached.get(run_id, {}).get(name)

    async def delete(self, run_id: str) -> None:
        """Remove a run."""
        self._require_open()
        for kept in (self._logs, self._summaries, self._signals, self._attached):
            kept.pop(run_id, None)

    async def prune(self, before: float, statuses: Iterable[RunStatus] = ("finished",)) -> int:
        """Delete runs of these `statuses` that were last updated before `before`, a Unix timestamp in seconds."""
        self._require_open()
        wanted = set(statuses)
        old = [one.run_id for one in self._summaries.values() if one.updated_at < before and one.status in wanted]
        for run_id in old:
            await self.delete(run_id)
        return len(old)

    async def wait(self, run_id: str, after_rev: int, timeout: float) -> int:
        """A run's revision once it is above `after_rev`, or after `timeout` seconds."""
        return await self._waiters.wait(REVISION + run_id, after_rev, timeout, partial(self._rev, run_id))

    async def wait_signals(self, run_id: str, after: int, timeout: float) -> int:
        """How many signals were posted to a run, once above `after`, or after `timeout` seconds."""
        return await self._waiters.wait(SIGNALS + run_id, after, timeout, partial(self._posted, run_id))

    async def wait_due(self, seen: int, timeout: float) -> int:
        """Another number than `seen` once some run may have become due, or `seen` after `timeout` seconds."""
        self._require_open()
        return await self._waiters.wait_due(seen, timeout)

    async def aclose(self) -> None:
        """Forget every run."""
        self._closed = True
        await self._waiters.aclose(self._closed_message)
        for kept in (self._logs, self._summaries, self._signals, self._attached):
            kept.clear()

    @property
    def _closed_message(self) -> str:
        return f"{type(self).__name__} is closed; make a new one"

    async def _rev(self, run_id: str) -> int:
        summary = await self.summary(run_id)
        return 0 if summary is None else summary.rev

    async def _posted(self, run_id: str) -> int:
        self._require_open()
        return len(self._signals.get(run_id, ()))

    def _require(self, run_id: str) -> None:
        self._require_open()
        if run_id not in self._summaries:
            raise not_found(run_id)

    def _require_open(self) -> None:
        if self._closed:
            raise StoreError(self._closed_message)
