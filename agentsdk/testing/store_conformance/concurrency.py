"""What holds while the tasks of one process use a store, each with a handle of its own."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Coroutine, Generator, Sequence
from types import coroutine
from typing import Any, TypeVar

from agentsdk.ports.run_store import RunStore
from agentsdk.testing.store_conformance.check import NOW, Ground, append, expect, expect_log, rule
from agentsdk.types.errors import RunConflictError

T = TypeVar("T")

BATCH = 3
_LEASE = 50.0
MOST_WAITS = 200
"""More than a call of a store waits."""


def events(start: int, end: int) -> list[bytes]:
    """The events from number `start` on to `end` of a run that `write` makes."""
    return [b"%d " % number * 200 for number in range(start, end)]


async def write(store: RunStore, run_id: str, batches: int) -> AsyncIterator[int]:
    """Append complete batches from the revision the run is at; gives each new revision."""
    summary = await store.summary(run_id)
    rev = 0 if summary is None else summary.rev
    for _ in range(batches):
        await append(store, run_id, rev, *events(rev, rev + BATCH))
        rev += BATCH
        yield rev


async def look(store: RunStore, run_id: str) -> int:
    """The revision of a run that `write` makes. Raises `AssertionError` where its log or summary is not complete."""
    before, log, after = await store.summary(run_id), await store.read(run_id), await store.summary(run_id)
    if before is None or after is None:
        raise AssertionError("a run being appended to: saw no summary, expected one")
    expect(len(log) % BATCH, 0, f"events left over in a log of appends of {BATCH}")
    expect(log == events(0, len(log)), True, "whether a log holds what was appended, in order")
    if not before.rev <= len(log) <= after.rev:
        raise AssertionError(
            f"a log: saw {len(log)} events, expected {before.rev} to {after.rev}, as summary.rev before and after"
        )
    return after.rev


async def concurrently(calls: Sequence[Coroutine[Any, Any, T]]) -> list[T]:
    """What they return; what one raises ends the others."""
    try:
        async with asyncio.TaskGroup() as group:
            tasks = [group.create_task(call) for call in calls]
    except ExceptionGroup as failed:
        raise failed.exceptions[0] from None
    return [task.result() for task in tasks]


async def enter(store: RunStore, run_id: str, racer: int, rev: int, at: float, lease: bool) -> bool:
    """One racer's append: of an event, or only of its lease. Whether it won."""
    try:
        if lease:
            await append(store, run_id, rev, owner=f"racer {racer}", at=at, held_until=at + _LEASE)
        else:
            await append(store, run_id, rev, b"%d" % racer, at=at)
    except RunConflictError:
        return False
    return True


async def run_race(
    store: RunStore, run_id: str, rounds: int, one_round: Callable[[int, float], Awaitable[Sequence[bool]]]
) -> list[list[int]]:
    """The winners of each round; `one_round` lets all enter at a revision and a time, and says who won."""
    await append(store, run_id, 0, b"start")
    winners: list[list[int]] = []
    for number in range(rounds):
        summary = await store.summary(run_id)
        outcomes = await one_round(summary.rev if summary else 0, NOW + (number + 1) * 2 * _LEASE)
        winners.append([racer for racer, won in enumerate(outcomes) if won])
    return winners


async def expect_one_winner(ground: Ground, run_id: str, winners: list[list[int]], lease: bool) -> None:
    """Raises `AssertionError` unless each round had one, and the run holds what the winners did."""
    for number, won in enumerate(winners):
        expect(len(won), 1, f"winners of round {number} among {ground.workers}")
    log = [b"start"] if lease else [b"start", *(b"%d" % won[0] for won in winners)]
    await expect_log(ground.store, run_id, log, "the log after the race")
    summary = await ground.store.summary(run_id)
    expect(summary and summary.owner, f"racer {winners[-1][0]}" if lease else "", "the owner after the race")


async def _race(ground: Ground, lease: bool) -> None:
    run_id, stores = ground.run_id(), [ground.open() for _ in range(ground.workers)]

    async def one_round(rev: int, at: float) -> list[bool]:
        return await concurrently([enter(store, run_id, racer, rev, at, lease) for racer, store in enumerate(stores)])

    await expect_one_winner(ground, run_id, await run_race(ground.store, run_id, ground.rounds, one_round), lease)


@rule("concurrency")
async def task_race(ground: Ground) -> None:
    await _race(ground, lease=False)


@rule("concurrency")
async def task_lease_race(ground: Ground) -> None:
    await _race(ground, lease=True)


@rule("concurrency")
async def runs_apart(ground: Ground) -> None:
    run_ids = [ground.run_id() for _ in range(ground.workers)]

    async def written(store: RunStore, run_id: str) -> None:
        async for _ in write(store, run_id, ground.rounds):
            await asyncio.sleep(0)

    await concurrently([written(ground.open(), run_id) for run_id in run_ids])
    for run_id in run_ids:
        await expect_log(ground.store, run_id, events(0, ground.rounds * BATCH), "the log of one of several runs in work")


@rule("concurrency")
async def whole_appends(ground: Ground) -> None:
    run_id, last = ground.run_id(), ground.rounds * BATCH
    await append(ground.store, run_id, 0)

    async def written(store: RunStore) -> None:
        async for _ in write(store, run_id, ground.rounds):
            await asyncio.sleep(0)

    async def observed(store: RunStore) -> None:
        rev = 0
        while rev < last:
            rev = await look(store, run_id)
            await asyncio.sleep(0)

    await concurrently([written(ground.open()), *(observed(ground.open()) for _ in range(ground.workers - 1))])


@rule("concurrency")
async def cancelled_append(ground: Ground) -> None:
    for late in (False, True):
        for nth in range(1, MOST_WAITS):
            if not await _cut_append(ground, nth, late):
                break


async def _cut_append(ground: Ground, nth: int, late: bool) -> bool:
    """Whether an append has an `nth` wait; it was cancelled there then, and the run and the store are intact."""
    store, run_id = ground.open(), ground.run_id()
    await append(ground.store, run_id, 0, *events(0, BATCH))
    cut = Cut(nth, late)
    task = cut.task(append(store, run_id, BATCH, *events(BATCH, 2 * BATCH)))
    await asyncio.wait([task])
    if not cut.made:
        task.result()
        return False
    summary = await store.summary(run_id)
    rev = await look(store, run_id)
    expect(summary and summary.rev, rev, f"the revision at once after an append cancelled at wait {nth}, and later")
    if not task.cancelled():
        expect(task.exception() or "no error", "CancelledError", f"an append cancelled at wait {nth}")
    await append(store, run_id, rev, *events(rev, rev + BATCH))
    expect(
        await look(ground.store, run_id),
        rev + BATCH,
        f"the revision of a run after an append cancelled at wait {nth} and another",
    )
    if ground.shared:
        await store.aclose()
    return True


async def _awaited(call: Awaitable[T]) -> T:
    return await call


class Cut:
    """Cancels the task at its `nth` wait: as the wait begins, or, `late`, in the moment it is over."""

    def __init__(self, nth: int, late: bool) -> None:
        self._nth = nth
        self._late = late
        self.made = False

    def task(self, call: Coroutine[Any, Any, T]) -> asyncio.Task[T]:
        """A task that makes `call`."""
        return asyncio.create_task(_awaited(self._during(call)))

    @coroutine
    def _during(self, call: Coroutine[Any, Any, T]) -> Generator[Any, Any, T]:
        """What `call` would return if it were not cancelled."""
        waits = 0
        error: BaseException | None = None
        while True:
            try:
                waiting = call.send(None) if error is None else call.throw(error)
            except StopIteration as end:
                result: T = end.value
                return result
            waits += 1
            if waits == self._nth:
                self.made = True
                self._cancel(waiting)
            try:
                yield waiting
                error = None
            except BaseException as thrown:
                error = thrown

    def _cancel(self, waiting: asyncio.Future[object] | None) -> None:
        task = asyncio.current_task()
        assert task is not None
        if self._late and waiting is not None:
            waiting.add_done_callback(lambda _: task.cancel())
        else:
            task.cancel()
