"""As `broken_stores`, with bugs in mailboxes and in what is due."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence

from msgspec.structs import replace

from agentsdk.ports.run_store import claim_by_append, not_found
from agentsdk.stores.memory import MemoryRunStore
from agentsdk.types.errors import RunConflictError, RunNotFoundError
from agentsdk.types.queue import QueueStatus
from agentsdk.types.summary import DueRuns, RunQuery, RunStatus, RunSummary
from tests.testing.broken_stores import FileRunStore, LastWriterKeepsAll, WritesWhenClosed


class MetadataIgnored(MemoryRunStore):
    async def list(self, query: RunQuery) -> list[RunSummary]:
        return await super().list(replace(query, metadata={}))


class AnyPair(MemoryRunStore):
    async def list(self, query: RunQuery) -> list[RunSummary]:
        every = await super().list(replace(query, metadata={}, limit=1000))
        wanted = query.metadata.items()
        return [one for one in every if not wanted or wanted & one.metadata.items()][: query.limit]


class FirstMetadataOnly(MemoryRunStore):
    def __init__(self) -> None:
        super().__init__()
        self.first: dict[str, dict[str, str]] = {}

    async def list(self, query: RunQuery) -> list[RunSummary]:
        for one in self._summaries.values():
            self.first.setdefault(one.run_id, one.metadata)
        every = await super().list(replace(query, metadata={}, limit=1000))
        wanted = query.metadata.items()
        return [one for one in every if wanted <= self.first[one.run_id].items()][: query.limit]


class WaitsForTheNextSignal(MemoryRunStore):
    async def wait_signals(self, run_id: str, after: int, timeout: float) -> int:
        return await super().wait_signals(run_id, max(after, await self._posted(run_id)), timeout)


class LooksForSignalsOnce(MemoryRunStore):
    async def wait_signals(self, run_id: str, after: int, timeout: float) -> int:
        if (posted := await self._posted(run_id)) <= after:
            await asyncio.sleep(timeout)
        return posted


class AppendsAreSignals(MemoryRunStore):
    async def wait_signals(self, run_id: str, after: int, timeout: float) -> int:
        before = await self._rev(run_id)
        posted = await self._posted(run_id)
        if posted <= after and timeout > 1:
            posted = await super().wait_signals(run_id, after, 0.01)
            if posted <= after and await self._rev(run_id) == before:
                return await self.wait_signals(run_id, after, timeout)
        return posted


class HearsOnlyItsSignals(FileRunStore):
    async def wait_signals(self, run_id: str, after: int, timeout: float) -> int:
        return await MemoryRunStore.wait_signals(self, run_id, after, timeout)


class NumbersFromZero(MemoryRunStore):
    async def post(self, run_id: str, signal: bytes) -> int:
        return await super().post(run_id, signal) - 1


class SignalsAsText(MemoryRunStore):
    async def post(self, run_id: str, signal: bytes) -> int:
        return await super().post(run_id, signal.decode(errors="replace").encode())


class OneMailbox(MemoryRunStore):
    async def post(self, run_id: str, signal: bytes) -> int:
        for one in self._signals:
            self._signals[run_id] = self._signals[one]
        return await super().post(run_id, signal)


class AllSignalsAgain(MemoryRunStore):
    async def signals(self, run_id: str, after: int = 0) -> list[bytes]:
        return await super().signals(run_id)


class TakesLateSignals(MemoryRunStore):
    async def post(self, run_id: str, signal: bytes) -> int:
        try:
            return await super().post(run_id, signal)
        except RunConflictError:
            self._signals[run_id].append(signal)
            raise


class UnknownHasNoSignals(MemoryRunStore):
    async def signals(self, run_id: str, after: int = 0) -> list[bytes]:
        try:
            return await super().signals(run_id, after)
        except RunNotFoundError:
            return []


class SignalsAreAppends(MemoryRunStore):
    async def post(self, run_id: str, signal: bytes) -> int:
        number = await super().post(run_id, signal)
        standing = self._summaries[run_id]
        self._summaries[run_id] = replace(standing, rev=standing.rev + 1)
        return number


class SignalsUntold(MemoryRunStore):
    async def append(self, run_id: str, expected_rev: int, events: Sequence[bytes], summary: RunSummary) -> int:
        await super().append(run_id, expected_rev, events, summary)
        return 0


class SignalsEndTheLease(MemoryRunStore):
    async def post(self, run_id: str, signal: bytes) -> int:
        number = await super().post(run_id, signal)
        self._summaries[run_id] = replace(self._summaries[run_id], held_until=0.0)
        return number


class _Ready(MemoryRunStore):
    statuses: tuple[RunStatus, ...]

    async def post(self, run_id: str, signal: bytes) -> int:
        before = self._summaries.get(run_id)
        number = await super().post(run_id, signal)
        if before is not None:
            ready = replace(before, status="ready", due_at=before.updated_at) if before.status in self.statuses else before
            self._summaries[run_id] = replace(ready, signals=number)
        return number


class SignalsReadyNobody(_Ready):
    statuses = ()


class SignalsReadyThoseInWork(_Ready):
    statuses = ("running", "waiting", "failed")


class FailedAreLeft(_Ready):
    statuses = ("waiting",)


class AppendsForgetSignals(MemoryRunStore):
    async def append(self, run_id: str, expected_rev: int, events: Sequence[bytes], summary: RunSummary) -> int:
        number = await super().append(run_id, expected_rev, events, summary)
        self._summaries[run_id] = replace(summary, signals=number)
        return number


class ReadyThoughTaken(MemoryRunStore):
    async def append(self, run_id: str, expected_rev: int, events: Sequence[bytes], summary: RunSummary) -> int:
        number = await super().append(run_id, expected_rev, events, summary)
        self._summaries[run_id] = replace(replace(summary, taken=0).beside(number), taken=summary.taken)
        return number


class MailboxLeft(MemoryRunStore):
    async def delete(self, run_id: str) -> None:
        signals = self._signals.get(run_id, [])
        await super().delete(run_id)
        self._signals[run_id] = signals


class CountsThenPosts(MemoryRunStore):
    async def post(self, run_id: str, signal: bytes) -> int:
        number = len(self._signals.get(run_id, ())) + 1
        await asyncio.sleep(0)
        await super().post(run_id, signal)
        return number


class AppendsPutBackTheMailbox(MemoryRunStore):
    async def append(self, run_id: str, expected_rev: int, events: Sequence[bytes], summary: RunSummary) -> int:
        before = [*self._signals.get(run_id, ())]
        await asyncio.sleep(0)
        number = await super().append(run_id, expected_rev, events, summary)
        self._signals[run_id] = before
        return number


class CountsThenAppends(MemoryRunStore):
    async def append(self, run_id: str, expected_rev: int, events: Sequence[bytes], summary: RunSummary) -> int:
        before = len(self._signals.get(run_id, ()))
        await asyncio.sleep(0)
        await super().append(run_id, expected_rev, events, summary)
        self._summaries[run_id] = summary.beside(before)
        return before


class PostsInTwoSteps(MemoryRunStore):
    async def post(self, run_id: str, signal: bytes) -> int:
        if run_id not in self._summaries:
            raise not_found(run_id)
        self._signals.setdefault(run_id, []).append(signal)
        await asyncio.sleep(0)
        self._signals[run_id].pop()
        return await super().post(run_id, signal)


class AgentsIgnored(MemoryRunStore):
    async def due(self, query: DueRuns) -> list[RunSummary]:
        return await super().due(replace(query, agents=None))


class PrioritiesIgnored(MemoryRunStore):
    async def due(self, query: DueRuns) -> list[RunSummary]:
        found = filter(query.fits, self._summaries.values())
        return sorted(found, key=lambda one: (one.due_at, one.run_id))[: query.limit]


class DueLate(MemoryRunStore):
    async def due(self, query: DueRuns) -> list[RunSummary]:
        return [one for one in await super().due(query) if one.due_at < query.at]


class NeverDueIsDue(MemoryRunStore):
    async def due(self, query: DueRuns) -> list[RunSummary]:
        found = [one for one in self._summaries.values() if query.fits(replace(one, due_at=one.due_at or 1.0))]
        return sorted(found, key=query.order)[: query.limit]


class DueUnlimited(MemoryRunStore):
    async def due(self, query: DueRuns) -> list[RunSummary]:
        return await super().due(replace(query, limit=1000))


class DueAsItFirstWas(MemoryRunStore):
    def __init__(self) -> None:
        super().__init__()
        self.first: dict[str, RunSummary] = {}

    async def due(self, query: DueRuns) -> list[RunSummary]:
        return [one for one in (self.first.setdefault(it.run_id, it) for it in self._summaries.values()) if query.fits(one)]


class ClaimsThoseInHand(MemoryRunStore):
    async def claim(self, query: DueRuns, owner: str, until: float, besides: Sequence[str] = ()) -> list[RunSummary]:
        return await super().claim(query, owner, until)


class ClaimsAndHoldsNothing(MemoryRunStore):
    async def claim(self, query: DueRuns, owner: str, until: float, besides: Sequence[str] = ()) -> list[RunSummary]:
        return [one for one in await self.due(query) if one.run_id not in besides]


class ClaimsWithoutLease(MemoryRunStore):
    async def claim(self, query: DueRuns, owner: str, until: float, besides: Sequence[str] = ()) -> list[RunSummary]:
        return await super().claim(query, owner, query.at, besides)


class ClaimsWhatOthersGot(MemoryRunStore):
    async def claim(self, query: DueRuns, owner: str, until: float, besides: Sequence[str] = ()) -> list[RunSummary]:
        runs = await self.due(query)
        await asyncio.sleep(0)
        await claim_by_append(self, query, owner, until, besides)
        return runs


class QueueOfAll(MemoryRunStore):
    async def queue(self, query: DueRuns) -> QueueStatus:
        return await super().queue(replace(query, agents=None))


class QueueCountedToItsEnd(MemoryRunStore):
    async def queue(self, query: DueRuns) -> QueueStatus:
        return await super().queue(replace(query, limit=1000))


class QueueWithoutThoseInWork(MemoryRunStore):
    async def queue(self, query: DueRuns) -> QueueStatus:
        return replace(await super().queue(query), in_work=0)


class WaitsAtFirst(MemoryRunStore):
    async def wait_due(self, seen: int, timeout: float) -> int:
        return await super().wait_due(seen or await super().wait_due(0, timeout), timeout)


class PostsWakeNobody(MemoryRunStore):
    async def post(self, run_id: str, signal: bytes) -> int:
        notify, self._waiters.notify_due = self._waiters.notify_due, lambda: None  # type: ignore[method-assign]
        try:
            return await super().post(run_id, signal)
        finally:
            self._waiters.notify_due = notify  # type: ignore[method-assign]


class WakesOnlyThoseWhoWait(MemoryRunStore):
    async def due(self, query: DueRuns) -> list[RunSummary]:
        found = await super().due(query)
        for _ in range(3):
            await asyncio.sleep(0)
        return found

    async def wait_due(self, seen: int, timeout: float) -> int:
        return await super().wait_due(await super().wait_due(0, 0.0) if seen else 0, timeout)


class HearsOnlyWhatIsDueHere(FileRunStore):
    async def wait_due(self, seen: int, timeout: float) -> int:
        return await MemoryRunStore.wait_due(self, seen, timeout)


PLANTED: dict[str, list[type[MemoryRunStore]]] = {
    "list_metadata": [MetadataIgnored, AnyPair, FirstMetadataOnly],
    "wait_signals_returns": [WaitsForTheNextSignal],
    "wait_signals_wakes": [LooksForSignalsOnce, AppendsAreSignals],
    "process_wait_signals": [HearsOnlyItsSignals],
    "post": [NumbersFromZero, SignalsAsText, OneMailbox, AllSignalsAgain],
    "post_refused": [TakesLateSignals, UnknownHasNoSignals],
    "post_beside_the_log": [SignalsAreAppends, SignalsUntold, SignalsEndTheLease],
    "post_readies": [SignalsReadyNobody, SignalsReadyThoseInWork, FailedAreLeft],
    "post_taken": [AppendsForgetSignals, ReadyThoughTaken],
    "post_deleted": [MailboxLeft],
    "post_race": [CountsThenPosts],
    "post_while_appending": [AppendsPutBackTheMailbox, SignalsAreAppends],
    "post_or_wait": [CountsThenAppends],
    "cancelled_post": [PostsInTwoSteps],
    "process_post_race": [LastWriterKeepsAll],
    "killed_poster": [WritesWhenClosed],
    "due": [AgentsIgnored, PrioritiesIgnored, DueLate, NeverDueIsDue, DueUnlimited],
    "due_follows": [DueAsItFirstWas],
    "claim": [ClaimsThoseInHand, ClaimsAndHoldsNothing, ClaimsWithoutLease],
    "claim_race": [ClaimsWhatOthersGot],
    "queue": [QueueOfAll, QueueCountedToItsEnd, QueueWithoutThoseInWork],
    "wait_due_returns": [WaitsAtFirst],
    "wait_due_wakes": [PostsWakeNobody, WakesOnlyThoseWhoWait],
    "process_wait_due": [HearsOnlyWhatIsDueHere],
}
"""The bugs that each check must find."""
