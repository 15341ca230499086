"""A store of a third party that is sound, and what is left of stores with one bug each, by the check that must find it.

Long, as it is a list: a class of a few lines for each bug.
"""

from __future__ import annotations

import asyncio
import fcntl
import os
import pickle
from collections.abc import Generator, Iterable, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from msgspec.structs import replace

from agentsdk.ports.run_store import conflict, wait_by_polling
from agentsdk.stores.memory import MemoryRunStore
from agentsdk.types.errors import RunConflictError, RunNotFoundError, StoreBusyError, StoreError
from agentsdk.types.summary import DueRuns, RunQuery, RunStatus, RunSummary


class FileRunStore(MemoryRunStore):
    """Reads the whole file before, and writes it after each call, under a lock."""

    def __init__(self, path: Path) -> None:
        super().__init__()
        self.path = path
        self.inside = False

    @contextmanager
    def loaded(self) -> Generator[None]:
        self._require_open()
        if self.inside:
            yield
            return
        with self.path.with_suffix(".lock").open("a") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)
            self.load()
            self.inside = True
            try:
                yield
            finally:
                self.inside = False
            self.save()

    def load(self) -> None:
        if self.path.exists():
            self._logs, self._summaries, self._signals, self._attached = pickle.loads(self.path.read_bytes())

    def save(self) -> None:
        new = self.path.with_suffix(".new")
        new.write_bytes(pickle.dumps((self._logs, self._summaries, self._signals, self._attached)))
        new.replace(self.path)

    async def append(self, run_id: str, expected_rev: int, events: Sequence[bytes], summary: RunSummary) -> int:
        with self.loaded():
            return await super().append(run_id, expected_rev, events, summary)

    async def read(self, run_id: str, from_rev: int = 0) -> list[bytes]:
        with self.loaded():
            return await super().read(run_id, from_rev)

    async def summary(self, run_id: str) -> RunSummary | None:
        with self.loaded():
            return await super().summary(run_id)

    async def due(self, query: DueRuns) -> list[RunSummary]:
        with self.loaded():
            return await super().due(query)

    async def signals(self, run_id: str, after: int = 0) -> list[bytes]:
        with self.loaded():
            return await super().signals(run_id, after)

    async def list(self, query: RunQuery) -> list[RunSummary]:
        with self.loaded():
            return await super().list(query)

    async def post(self, run_id: str, signal: bytes) -> int:
        with self.loaded():
            return await super().post(run_id, signal)

    async def attach(self, run_id: str, name: str, data: bytes) -> None:
        with self.loaded():
            await super().attach(run_id, name, data)

    async def attachment(self, run_id: str, name: str) -> bytes | None:
        with self.loaded():
            return await super().attachment(run_id, name)

    async def delete(self, run_id: str) -> None:
        with self.loaded():
            await super().delete(run_id)

    async def prune(self, before: float, statuses: Iterable[RunStatus] = ("finished",)) -> int:
        with self.loaded():
            return await super().prune(before, statuses)

    async def wait(self, run_id: str, after_rev: int, timeout: float) -> int:
        return await wait_by_polling(self, run_id, after_rev, timeout, interval=0.002)

    async def wait_signals(self, run_id: str, after: int, timeout: float) -> int:
        return await wait_by_polling(self, run_id, after, timeout, field="signals", interval=0.002)

    async def wait_due(self, seen: int, timeout: float) -> int:
        self._require_open()
        await asyncio.sleep(min(timeout, 0.002) if seen else 0)
        return seen + 1


class FirstEventsLost(MemoryRunStore):
    async def append(self, run_id: str, expected_rev: int, events: Sequence[bytes], summary: RunSummary) -> int:
        return await super().append(run_id, expected_rev, events if expected_rev else [], summary)


class BeginsAgain(MemoryRunStore):
    async def append(self, run_id: str, expected_rev: int, events: Sequence[bytes], summary: RunSummary) -> int:
        if expected_rev == 0:
            await self.delete(run_id)
        return await super().append(run_id, expected_rev, events, summary)


class Backwards(MemoryRunStore):
    async def append(self, run_id: str, expected_rev: int, events: Sequence[bytes], summary: RunSummary) -> int:
        signals = await super().append(run_id, expected_rev, events, summary)
        self._logs[run_id] = [*events, *self._logs[run_id][:expected_rev]]
        return signals


class OldRevisionTaken(MemoryRunStore):
    async def append(self, run_id: str, expected_rev: int, events: Sequence[bytes], summary: RunSummary) -> int:
        rev = len(self._logs.get(run_id, []))
        return await super().append(run_id, rev if 0 < expected_rev < rev else expected_rev, events, summary)


class NewRevisionTaken(MemoryRunStore):
    async def append(self, run_id: str, expected_rev: int, events: Sequence[bytes], summary: RunSummary) -> int:
        rev = len(self._logs.get(run_id, []))
        return await super().append(run_id, rev if 0 < rev < expected_rev else expected_rev, events, summary)


class MissingRunTaken(MemoryRunStore):
    async def append(self, run_id: str, expected_rev: int, events: Sequence[bytes], summary: RunSummary) -> int:
        return await super().append(run_id, expected_rev if run_id in self._logs else 0, events, summary)


class SummaryBeforeCheck(MemoryRunStore):
    async def append(self, run_id: str, expected_rev: int, events: Sequence[bytes], summary: RunSummary) -> int:
        try:
            return await super().append(run_id, expected_rev, events, summary)
        except RunConflictError:
            if run_id in self._logs:
                self._summaries[run_id] = replace(summary, rev=len(self._logs[run_id]))
            raise


class Text(MemoryRunStore):
    async def append(self, run_id: str, expected_rev: int, events: Sequence[bytes], summary: RunSummary) -> int:
        return await super().append(run_id, expected_rev, [one.decode(errors="replace").encode() for one in events], summary)


class EmptyEventsLost(MemoryRunStore):
    async def append(self, run_id: str, expected_rev: int, events: Sequence[bytes], summary: RunSummary) -> int:
        return await super().append(run_id, expected_rev, [one for one in events if one], summary)


class Cut(MemoryRunStore):
    async def append(self, run_id: str, expected_rev: int, events: Sequence[bytes], summary: RunSummary) -> int:
        return await super().append(run_id, expected_rev, events[:999], summary)


class LastEventAgain(MemoryRunStore):
    async def read(self, run_id: str, from_rev: int = 0) -> list[bytes]:
        log = await super().read(run_id)
        return log[min(from_rev, max(len(log) - 1, 0)) :]


class UnknownIsEmpty(MemoryRunStore):
    async def read(self, run_id: str, from_rev: int = 0) -> list[bytes]:
        try:
            return await super().read(run_id, from_rev)
        except RunNotFoundError:
            return []


class AttachesToNothing(MemoryRunStore):
    async def attach(self, run_id: str, name: str, data: bytes) -> None:
        if await self.summary(run_id):
            await super().attach(run_id, name, data)


class _Ids(MemoryRunStore):
    def changed(self, run_id: str) -> str:
        return run_id

    async def append(self, run_id: str, expected_rev: int, events: Sequence[bytes], summary: RunSummary) -> int:
        return await super().append(self.changed(run_id), expected_rev, events, summary)

    async def read(self, run_id: str, from_rev: int = 0) -> list[bytes]:
        return await super().read(self.changed(run_id), from_rev)

    async def summary(self, run_id: str) -> RunSummary | None:
        return await super().summary(self.changed(run_id))


class CaseLost(_Ids):
    def changed(self, run_id: str) -> str:
        return run_id.lower()


class IdsCut(_Ids):
    def changed(self, run_id: str) -> str:
        return run_id.split(":")[0]


class IdsStripped(_Ids):
    def changed(self, run_id: str) -> str:
        return run_id.strip()


class DeletesByPrefix(MemoryRunStore):
    async def delete(self, run_id: str) -> None:
        for one in [one for one in self._logs if one.startswith(run_id)]:
            await super().delete(one)


class Rounded(MemoryRunStore):
    async def append(self, run_id: str, expected_rev: int, events: Sequence[bytes], summary: RunSummary) -> int:
        return await super().append(run_id, expected_rev, events, replace(summary, started_at=round(summary.started_at, 6)))


class IntegersAsFloats(MemoryRunStore):
    async def append(self, run_id: str, expected_rev: int, events: Sequence[bytes], summary: RunSummary) -> int:
        tokens = int(float(summary.input_tokens))
        return await super().append(run_id, expected_rev, events, replace(summary, input_tokens=tokens))


class KeepsOldReason(MemoryRunStore):
    async def append(self, run_id: str, expected_rev: int, events: Sequence[bytes], summary: RunSummary) -> int:
        standing = self._summaries.get(run_id)
        reason = summary.reason or (standing.reason if standing else "")
        return await super().append(run_id, expected_rev, events, replace(summary, reason=reason))


class NothingToDo(MemoryRunStore):
    async def append(self, run_id: str, expected_rev: int, events: Sequence[bytes], summary: RunSummary) -> int:
        if events or run_id not in self._logs:
            return await super().append(run_id, expected_rev, events, summary)
        return 0


class NoLease(MemoryRunStore):
    async def append(self, run_id: str, expected_rev: int, events: Sequence[bytes], summary: RunSummary) -> int:
        standing = self._summaries.get(run_id)
        if standing is not None:
            self._summaries[run_id] = replace(standing, held_until=0.0)
        return await super().append(run_id, expected_rev, events, summary)


class LeaseNeverPasses(MemoryRunStore):
    async def append(self, run_id: str, expected_rev: int, events: Sequence[bytes], summary: RunSummary) -> int:
        standing = self._summaries.get(run_id)
        if standing is not None and standing.owner not in ("", summary.owner):
            raise RunConflictError("held")
        return await super().append(run_id, expected_rev, events, summary)


class OwnerRefused(MemoryRunStore):
    async def append(self, run_id: str, expected_rev: int, events: Sequence[bytes], summary: RunSummary) -> int:
        standing = self._summaries.get(run_id)
        if standing is not None and standing.held_until > summary.updated_at:
            raise RunConflictError("held")
        return await super().append(run_id, expected_rev, events, summary)


class OldOwnersKnown(MemoryRunStore):
    def __init__(self) -> None:
        super().__init__()
        self.owners: set[tuple[str, str]] = set()

    async def append(self, run_id: str, expected_rev: int, events: Sequence[bytes], summary: RunSummary) -> int:
        standing = self._summaries.get(run_id)
        if standing is not None and (run_id, summary.owner) in self.owners:
            self._summaries[run_id] = replace(standing, owner=summary.owner)
        signals = await super().append(run_id, expected_rev, events, summary)
        self.owners.add((run_id, summary.owner))
        return signals


class _Filter(MemoryRunStore):
    left_out: dict[str, Any]

    async def list(self, query: RunQuery) -> list[RunSummary]:
        return await super().list(replace(query, **self.left_out))


class NoStatus(_Filter):
    left_out = {"status": None}


class NoAgent(_Filter):
    left_out = {"agent": None}


class NoStart(_Filter):
    left_out = {"started_after": None}


class NoEnd(_Filter):
    left_out = {"started_before": None}


class NoTokens(_Filter):
    left_out = {"min_tokens": None}


class NoneAbandoned(_Filter):
    left_out = {"abandoned_at": None}


class NoPage(_Filter):
    left_out = {"after": None}


class NoLimit(_Filter):
    left_out = {"limit": 1000}


class AbandonedEarly(MemoryRunStore):
    async def list(self, query: RunQuery) -> list[RunSummary]:
        found = await super().list(query)
        at = query.abandoned_at
        return found if at is None else [one for one in found if one.held_until < at]


class Unsorted(MemoryRunStore):
    async def list(self, query: RunQuery) -> list[RunSummary]:
        return [one for one in self._summaries.values() if query.fits(one)][: query.limit]


class TiesByUtf16(MemoryRunStore):
    async def list(self, query: RunQuery) -> list[RunSummary]:
        found = [one for one in self._summaries.values() if query.fits(one)]
        found.sort(key=lambda one: (one.started_at, one.run_id.encode("utf-16-be")), reverse=True)
        return found[: query.limit]


class PagesByStart(MemoryRunStore):
    async def list(self, query: RunQuery) -> list[RunSummary]:
        found = await super().list(query)
        return [one for one in found if query.before is None or one.started_at < query.before[0]]


class ListsTheFirst(MemoryRunStore):
    def __init__(self) -> None:
        super().__init__()
        self.first: dict[str, RunSummary] = {}

    async def list(self, query: RunQuery) -> list[RunSummary]:
        return [one for one in (self.first.setdefault(it.run_id, it) for it in self._summaries.values()) if query.fits(one)]


class AttachesOnce(MemoryRunStore):
    async def attach(self, run_id: str, name: str, data: bytes) -> None:
        if await self.attachment(run_id, name) is None:
            await super().attach(run_id, name, data)


class AttachesForAll(MemoryRunStore):
    async def attach(self, run_id: str, name: str, data: bytes) -> None:
        for one in self._logs:
            await super().attach(one, name, data)


class EmptyIsNone(MemoryRunStore):
    async def attachment(self, run_id: str, name: str) -> bytes | None:
        return await super().attachment(run_id, name) or None


class LogLeft(MemoryRunStore):
    async def delete(self, run_id: str) -> None:
        self._summaries.pop(run_id, None)
        self._attached.pop(run_id, None)


class AttachmentsLeft(MemoryRunStore):
    async def delete(self, run_id: str) -> None:
        self._summaries.pop(run_id, None)
        self._logs.pop(run_id, None)


class PrunesAnyStatus(MemoryRunStore):
    async def prune(self, before: float, statuses: Iterable[RunStatus] = ("finished",)) -> int:
        return await super().prune(before, ("finished", "failed", "waiting"))


class PrunesTheEdge(MemoryRunStore):
    async def prune(self, before: float, statuses: Iterable[RunStatus] = ("finished",)) -> int:
        return await super().prune(before + 1e-6, statuses)


class PrunesUncounted(MemoryRunStore):
    async def prune(self, before: float, statuses: Iterable[RunStatus] = ("finished",)) -> int:
        await super().prune(before, statuses)
        return 0


class PrunesByUsedUpStatuses(MemoryRunStore):
    async def prune(self, before: float, statuses: Iterable[RunStatus] = ("finished",)) -> int:
        old = [one.run_id for one in self._summaries.values() if one.updated_at < before and one.status in statuses]
        for run_id in old:
            await self.delete(run_id)
        return len(old)


class NeverCloses(MemoryRunStore):
    async def aclose(self) -> None:
        pass


class ClosesOnce(MemoryRunStore):
    async def aclose(self) -> None:
        self._require_open()
        await super().aclose()


class ClosesQuietly(MemoryRunStore):
    def _require_open(self) -> None:
        pass


class HandlesApart(FileRunStore):
    def load(self) -> None:
        if not self._logs:
            super().load()


class ClosesAll(FileRunStore):
    def load(self) -> None:
        if self.path.with_suffix(".closed").exists():
            raise StoreError("closed")
        super().load()

    async def aclose(self) -> None:
        await super().aclose()
        self.path.with_suffix(".closed").touch()


class OneLoop(FileRunStore):
    loop: asyncio.AbstractEventLoop | None = None

    async def append(self, run_id: str, expected_rev: int, events: Sequence[bytes], summary: RunSummary) -> int:
        self.loop = self.loop or asyncio.get_running_loop()
        if self.loop is not asyncio.get_running_loop():
            raise RuntimeError("bound to a different event loop")
        return await super().append(run_id, expected_rev, events, summary)


class ChecksThenWrites(MemoryRunStore):
    async def append(self, run_id: str, expected_rev: int, events: Sequence[bytes], summary: RunSummary) -> int:
        refused = conflict(self._summaries.get(run_id), expected_rev, summary)
        if refused is not None:
            raise refused
        await asyncio.sleep(0)
        self._logs.setdefault(run_id, []).extend(events)
        self._summaries[run_id] = summary
        return 0


class OneWriterForAll(MemoryRunStore):
    busy = False

    async def append(self, run_id: str, expected_rev: int, events: Sequence[bytes], summary: RunSummary) -> int:
        if self.busy:
            raise StoreBusyError("busy")
        self.busy = True
        await asyncio.sleep(0)
        self.busy = False
        return await super().append(run_id, expected_rev, events, summary)


class Torn(MemoryRunStore):
    async def append(self, run_id: str, expected_rev: int, events: Sequence[bytes], summary: RunSummary) -> int:
        signals = await super().append(run_id, expected_rev, events[:1], summary)
        await asyncio.sleep(0)
        self._logs[run_id].extend(events[1:])
        return signals


class SummaryLater(MemoryRunStore):
    async def append(self, run_id: str, expected_rev: int, events: Sequence[bytes], summary: RunSummary) -> int:
        standing = self._summaries.get(run_id)
        signals = await super().append(run_id, expected_rev, events, summary)
        self._summaries[run_id] = standing or summary
        await asyncio.sleep(0)
        self._summaries[run_id] = summary
        return signals


class SwallowsCancellation(MemoryRunStore):
    async def append(self, run_id: str, expected_rev: int, events: Sequence[bytes], summary: RunSummary) -> int:
        try:
            await asyncio.sleep(0)
        except asyncio.CancelledError:
            pass
        return await super().append(run_id, expected_rev, events, summary)


class DoneAfterCancellation(MemoryRunStore):
    async def append(self, run_id: str, expected_rev: int, events: Sequence[bytes], summary: RunSummary) -> int:
        async def later() -> int:
            for _ in range(5):
                await asyncio.sleep(0)
            return await super(DoneAfterCancellation, self).append(run_id, expected_rev, events, summary)

        return await asyncio.shield(asyncio.ensure_future(later()))

    async def summary(self, run_id: str) -> RunSummary | None:
        found = await super().summary(run_id)
        for _ in range(5):
            await asyncio.sleep(0)
        return found


class LockedAfterCancellation(MemoryRunStore):
    busy = False

    async def append(self, run_id: str, expected_rev: int, events: Sequence[bytes], summary: RunSummary) -> int:
        if self.busy:
            raise StoreBusyError("busy")
        self.busy = True
        await asyncio.sleep(0)
        signals = await super().append(run_id, expected_rev, events, summary)
        self.busy = False
        return signals


class NoCompareAndSet(FileRunStore):
    async def append(self, run_id: str, expected_rev: int, events: Sequence[bytes], summary: RunSummary) -> int:
        with self.loaded():
            self._logs.setdefault(run_id, []).extend(events)
            self._summaries[run_id] = replace(summary, rev=len(self._logs[run_id]))
            return 0


class LastWriterKeepsAll(FileRunStore):
    def load(self) -> None:
        if not self._logs:
            super().load()


class WritesWhenClosed(FileRunStore):
    def load(self) -> None:
        if not self._logs:
            super().load()

    def save(self) -> None:
        if not self.path.exists():
            super().save()

    async def aclose(self) -> None:
        super().save()
        await super().aclose()


class OneProcess(FileRunStore):
    def __init__(self, path: Path) -> None:
        super().__init__(path)
        self.process = os.getpid()

    def load(self) -> None:
        if os.getpid() != self.process:
            raise StoreError("the connection is another process's")
        super().load()


class ForgetsTheOwner(FileRunStore):
    def save(self) -> None:
        self._summaries = {one.run_id: replace(one, owner="") for one in self._summaries.values()}
        super().save()

    async def append(self, run_id: str, expected_rev: int, events: Sequence[bytes], summary: RunSummary) -> int:
        return await super().append(run_id, expected_rev, events, replace(summary, held_until=0.0))


class WaitsForTheNext(MemoryRunStore):
    async def wait(self, run_id: str, after_rev: int, timeout: float) -> int:
        return await super().wait(run_id, max(after_rev, await self._rev(run_id)), timeout)


class SaysWhatItWasTold(MemoryRunStore):
    async def wait(self, run_id: str, after_rev: int, timeout: float) -> int:
        return max(after_rev, await super().wait(run_id, after_rev, timeout))


class WaitsForNoMissingRun(MemoryRunStore):
    async def wait(self, run_id: str, after_rev: int, timeout: float) -> int:
        self._require(run_id)
        return await super().wait(run_id, after_rev, timeout)


class WaitsForAnyChange(MemoryRunStore):
    async def wait(self, run_id: str, after_rev: int, timeout: float) -> int:
        deadline = asyncio.get_running_loop().time() + timeout
        while (rev := await self._rev(run_id)) == after_rev and asyncio.get_running_loop().time() < deadline:
            await wait_by_polling(self, run_id, after_rev, 0.001)
        return rev


class WaitsOnWhenClosed(MemoryRunStore):
    async def wait(self, run_id: str, after_rev: int, timeout: float) -> int:
        try:
            return await super().wait(run_id, after_rev, timeout)
        except StoreError:
            return 0


class LooksOnceOnly(MemoryRunStore):
    async def wait(self, run_id: str, after_rev: int, timeout: float) -> int:
        if (rev := await self._rev(run_id)) <= after_rev:
            await asyncio.sleep(timeout)
        return rev


class MissesTheBeginning(MemoryRunStore):
    def __init__(self) -> None:
        super().__init__()
        self.appended = asyncio.Event()

    async def append(self, run_id: str, expected_rev: int, events: Sequence[bytes], summary: RunSummary) -> int:
        signals = await super().append(run_id, expected_rev, events, summary)
        self.appended.set()
        return signals

    async def wait(self, run_id: str, after_rev: int, timeout: float) -> int:
        if (rev := await self._rev(run_id)) > after_rev or timeout < 1:
            return rev
        await asyncio.sleep(0)
        self.appended.clear()
        await self.appended.wait()
        return await self._rev(run_id)


class WakesAll(MissesTheBeginning):
    async def wait(self, run_id: str, after_rev: int, timeout: float) -> int:
        if (rev := await self._rev(run_id)) > after_rev or timeout < 1:
            return rev
        await self.appended.wait()
        return await self._rev(run_id)


class LeavesTasks(MemoryRunStore):
    def __init__(self) -> None:
        super().__init__()
        self.left: set[asyncio.Task[None]] = set()

    async def wait(self, run_id: str, after_rev: int, timeout: float) -> int:
        task = asyncio.create_task(asyncio.sleep(60))
        self.left.add(task)
        return await super().wait(run_id, after_rev, timeout)

    async def aclose(self) -> None:
        await super().aclose()
        for task in self.left:
            task.cancel()
        await asyncio.gather(*self.left, return_exceptions=True)


class HearsOnlyItself(FileRunStore):
    async def wait(self, run_id: str, after_rev: int, timeout: float) -> int:
        return await MemoryRunStore.wait(self, run_id, after_rev, timeout)


class WaitsOnOneLoop(FileRunStore):
    loop: asyncio.AbstractEventLoop | None = None

    async def wait(self, run_id: str, after_rev: int, timeout: float) -> int:
        self.loop = self.loop or asyncio.get_running_loop()
        if self.loop is not asyncio.get_running_loop():
            raise RuntimeError("bound to a different event loop")
        return await super().wait(run_id, after_rev, timeout)


PLANTED: dict[str, list[type[MemoryRunStore]]] = {
    "create": [FirstEventsLost],
    "create_twice": [BeginsAgain],
    "append_in_order": [Backwards],
    "wrong_revision": [OldRevisionTaken, NewRevisionTaken, MissingRunTaken, SummaryBeforeCheck],
    "exact_bytes": [Text, EmptyEventsLost],
    "many_events": [Cut],
    "read_from": [LastEventAgain],
    "unknown_run": [UnknownIsEmpty, AttachesToNothing],
    "run_ids": [CaseLost, IdsCut, IdsStripped, DeletesByPrefix],
    "summary_fields": [Rounded, IntegersAsFloats, KeepsOldReason],
    "append_without_events": [NothingToDo],
    "lease": [NoLease, LeaseNeverPasses, OwnerRefused],
    "lease_release": [LeaseNeverPasses],
    "fencing": [NoLease, OldOwnersKnown],
    "list_filters": [NoStatus, NoAgent, NoStart, NoEnd, NoTokens, NoneAbandoned, AbandonedEarly],
    "list_pages": [NoPage, NoLimit, Unsorted, TiesByUtf16, PagesByStart],
    "list_follows": [ListsTheFirst],
    "attachments": [AttachesOnce, AttachesForAll, EmptyIsNone],
    "delete": [LogLeft, AttachmentsLeft],
    "prune": [PrunesAnyStatus, PrunesTheEdge, PrunesUncounted, PrunesByUsedUpStatuses],
    "closing": [NeverCloses, ClosesOnce, ClosesQuietly],
    "handles": [HandlesApart, ClosesAll],
    "event_loops": [OneLoop],
    "task_race": [ChecksThenWrites],
    "task_lease_race": [ChecksThenWrites, NoLease],
    "runs_apart": [OneWriterForAll],
    "whole_appends": [Torn, SummaryLater],
    "cancelled_append": [Torn, SwallowsCancellation, DoneAfterCancellation, LockedAfterCancellation],
    "wait_returns": [WaitsForTheNext, SaysWhatItWasTold, WaitsForNoMissingRun],
    "wait_deleted": [WaitsForAnyChange],
    "wait_closed": [WaitsOnWhenClosed],
    "wait_wakes": [LooksOnceOnly, MissesTheBeginning],
    "wait_apart": [WakesAll],
    "wait_cancelled": [LeavesTasks],
    "process_wait": [HearsOnlyItself],
    "wait_event_loops": [WaitsOnOneLoop],
    "process_race": [NoCompareAndSet, LastWriterKeepsAll],
    "process_lease_race": [NoCompareAndSet],
    "process_whole_appends": [LastWriterKeepsAll],
    "forked_process": [OneProcess],
    "killed_writer": [WritesWhenClosed],
    "killed_owner": [ForgetsTheOwner],
}
"""The bugs that each check must find."""
