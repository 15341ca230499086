"""What `RunStore.wait` and `wait_signals` promise. A store that lacks `wait`, which it may, is waited on by polling."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Sequence
from typing import TypeVar

from agentsdk.ports.run_store import RunStore, wait_for_revision
from agentsdk.testing.store_conformance.check import Ground, append, expect, expect_error, rule
from agentsdk.testing.store_conformance.workers import order, workers
from agentsdk.types.errors import StoreError

T = TypeVar("T")

LONG = 3600.0
"""Seconds that no check lasts: a wait that comes back has been woken."""

SOON = 0.05
"""Seconds in which nothing is expected to happen."""
PATIENCE = 30.0
"""Seconds until a waiter counts as never woken."""


async def in_time(call: Awaitable[T], what: str) -> T:
    """What `call` returns. Raises `AssertionError` if it does not return at all."""
    try:
        async with asyncio.timeout(PATIENCE):
            return await call
    except TimeoutError:
        raise AssertionError(f"{what}: saw it wait for {PATIENCE:.0f} s, expected it to be woken") from None


class _Waiting:
    """Tasks that wait for runs; none outlives the block."""

    def __init__(self, store: RunStore) -> None:
        self.store = store
        self.tasks: list[asyncio.Task[int]] = []

    async def __aenter__(self) -> _Waiting:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.cancel()

    def begin(self, run_id: str, after_rev: int) -> asyncio.Task[int]:
        """A task that waits."""
        self.tasks.append(asyncio.create_task(wait_for_revision(self.store, run_id, after_rev, LONG)))
        return self.tasks[-1]

    def begin_signals(self, run_id: str, after: int) -> asyncio.Task[int]:
        """A task that waits for signals."""
        self.tasks.append(asyncio.create_task(self.store.wait_signals(run_id, after, LONG)))
        return self.tasks[-1]

    async def settle(self, run_id: str) -> None:
        """Return when all that have begun are waiting: a short wait that began after them is over."""
        await wait_for_revision(self.store, run_id, 1_000_000, SOON)

    async def cancel(self) -> None:
        """End all."""
        for task in self.tasks:
            task.cancel()
        await asyncio.gather(*self.tasks, return_exceptions=True)


@rule("semantics")
async def wait_returns(ground: Ground) -> None:
    run_id, missing = ground.run_id(), ground.run_id()
    await append(ground.store, run_id, 0, b"a", b"b", b"c")
    for after in (0, 2):
        call = in_time(wait_for_revision(ground.store, run_id, after, LONG), f"a wait after {after} on a run at 3")
        expect(await call, 3, f"a wait after {after} on a run at 3")
    for timeout in (0.0, SOON):
        for after in (3, 100):
            seen = await wait_for_revision(ground.store, run_id, after, timeout)
            expect(seen, 3, f"a wait of {timeout} s after {after} on a run at 3")
        seen = await wait_for_revision(ground.store, missing, 0, timeout)
        expect(seen, 0, f"a wait of {timeout} s for a run that does not exist")


@rule("semantics")
async def wait_deleted(ground: Ground) -> None:
    run_id, other = ground.run_id(), ground.run_id()
    await append(ground.store, run_id, 0, b"a", b"b")
    async with _Waiting(ground.store) as waiting:
        first, second = waiting.begin(run_id, 2), asyncio.create_task(wait_for_revision(ground.store, run_id, 2, SOON))
        waiting.tasks.append(second)
        await ground.store.delete(run_id)
        expect(await second, 0, "a wait on a run that was deleted meanwhile, at its timeout")
        await append(ground.store, run_id, 0, b"c")
        await waiting.settle(other)
        expect(first.done(), False, "whether a wait after 2 is over when the run was begun again and is at 1")
        await append(ground.store, run_id, 1, b"d", b"e")
        expect(await in_time(first, "a wait on a run begun again"), 3, "a wait after 2 on a run begun again, at 3")


@rule("semantics")
async def wait_closed(ground: Ground) -> None:
    store, run_id = ground.open(), ground.run_id()
    async with _Waiting(store) as waiting:
        tasks = [*(waiting.begin(run_id, 0) for _ in range(3)), waiting.begin_signals(run_id, 0)]
        await waiting.settle(run_id)
        waiting.tasks.append(asyncio.create_task(store.wait_due(await store.wait_due(0, LONG), LONG)))
        await waiting.settle(run_id)
        await store.aclose()
        await in_time(asyncio.wait(waiting.tasks[-1:]), "a wait for what is due on a store that is closed")
        for task in tasks:
            await expect_error(StoreError, in_time(task, "a wait on a store that is closed"), "a wait that aclose ends")
    await expect_error(StoreError, wait_for_revision(store, run_id, 0, 0.0), "wait after aclose")
    await expect_error(StoreError, store.wait_signals(run_id, 0, 0.0), "wait_signals after aclose")


@rule("concurrency")
async def wait_wakes(ground: Ground) -> None:
    store, writer, run_id = ground.open(), ground.open(), ground.run_id()
    async with _Waiting(store) as waiting:
        for rev in range(ground.rounds):
            task = waiting.begin(run_id, rev)
            for _ in range(rev):  # so that the append comes at every point of the wait's beginning
                await asyncio.sleep(0)
            if rev % 5 == 4:
                await waiting.settle(run_id)
            await append(store if rev % 2 else writer, run_id, rev, b"a")
            expect(await in_time(task, f"a wait after {rev}"), rev + 1, f"a wait after {rev} on a run that went to {rev + 1}")


@rule("concurrency")
async def wait_apart(ground: Ground) -> None:
    store = ground.open()
    runs = [ground.run_id() for _ in range(2 * ground.workers)]
    async with _Waiting(store) as waiting:
        tasks = [[waiting.begin(run_id, after) for after in (0, 0, 1)] for run_id in runs]
        await waiting.settle(runs[0])
        for at in (0, 1):  # every other run, then the rest
            for run_id in runs[at::2]:
                await append(ground.store, run_id, 0, b"a")
            await _expect_all(tasks[at::2], [1, 1], "waiters after 0 on runs at 1")
            await waiting.settle(runs[0])
            expect([first.done() for first, _, _ in tasks], [True, at == 1] * ground.workers, "which runs' waiters are woken")
        expect(any(last.done() for _, _, last in tasks), False, "whether a wait after 1 is over while the run is at 1")
        for run_id in runs:
            await append(ground.store, run_id, 1, b"b")
        await _expect_all([three[2:] for three in tasks], [2], "waiters after 1 on runs at 2")


async def _expect_all(tasks: Sequence[Sequence[asyncio.Task[int]]], revs: list[int], what: str) -> None:
    for of_run in tasks:
        expect([await in_time(task, what) for task in of_run[: len(revs)]], revs, what)


@rule("concurrency")
async def wait_cancelled(ground: Ground) -> None:
    store, run_id = ground.open(), ground.run_id()
    await append(store, run_id, 0, b"a")
    await store.read(run_id)
    before = asyncio.all_tasks()
    for turns in range(ground.rounds):
        async with _Waiting(store) as waiting:
            tasks = [begin(run_id, 1) for begin in (waiting.begin, waiting.begin_signals) for _ in range(ground.workers // 2)]
            for _ in range(turns):
                await asyncio.sleep(0)
            if turns % 5 == 4:
                await waiting.settle(run_id)
        expect([task.cancelled() for task in tasks], [True] * len(tasks), "whether waiters that were cancelled say so")
        expect([task.get_name() for task in asyncio.all_tasks() - before], [], "the tasks left by waiters that were cancelled")
    async with _Waiting(store) as waiting:
        task, gone = waiting.begin(run_id, 1), waiting.begin(run_id, 1)
        await waiting.settle(run_id)
        gone.cancel()
        await append(ground.store, run_id, 1, b"b")
        expect(await in_time(task, "a wait beside one that was cancelled"), 2, "a wait beside one that was cancelled")


@rule("semantics")
async def wait_signals_returns(ground: Ground) -> None:
    run_id, missing, store = ground.run_id(), ground.run_id(), ground.open()
    await append(store, run_id, 0, b"a", b"b", b"c", b"d")
    for _ in range(3):
        await store.post(run_id, b"signal")
    for after in (0, 2):
        what = f"a wait after {after} on a run with 3 signals"
        expect(await in_time(store.wait_signals(run_id, after, LONG), what), 3, what)
    for timeout in (0.0, SOON):
        for after in (3, 100):
            seen = await store.wait_signals(run_id, after, timeout)
            expect(seen, 3, f"a wait of {timeout} s after {after} on a run with 3 signals")
        seen = await store.wait_signals(missing, 0, timeout)
        expect(seen, 0, f"a wait of {timeout} s for signals to a run that does not exist")


@rule("concurrency")
async def wait_signals_wakes(ground: Ground) -> None:
    store, poster, run_id = ground.open(), ground.open(), ground.run_id()
    await append(store, run_id, 0, b"a")
    async with _Waiting(store) as waiting:
        for number in range(ground.rounds):
            task, apart = waiting.begin_signals(run_id, number), waiting.begin(run_id, number + 1)
            for _ in range(number):  # so that the signal comes at every point of the wait's beginning
                await asyncio.sleep(0)
            if number % 5 == 4:
                await waiting.settle(run_id)
            await (store if number % 2 else poster).post(run_id, b"signal")
            what = f"a wait after {number} on a run with {number + 1} signals"
            expect(await in_time(task, what), number + 1, what)
            late = waiting.begin_signals(run_id, number + 1)
            await (waiting.settle(run_id) if number % 5 == 4 else asyncio.sleep(0))
            expect(apart.done(), False, "whether a wait for an append is over where only a signal came")
            await append(store, run_id, number + 1, b"a")
            expect(await in_time(apart, "a wait for an append"), number + 2, "a wait for an append to a run with signals")
            if number % 5 == 4:
                await waiting.settle(run_id)
            expect(late.done(), False, "whether a wait for a signal is over where only an append came")
            late.cancel()


async def appender(store: RunStore, run_id: str) -> AsyncIterator[str]:
    """A worker's job: append an event at each order."""
    summary = await store.summary(run_id)
    rev = 0 if summary is None else summary.rev
    yield "ready"
    while await order():
        await append(store, run_id, rev, b"a")
        rev += 1
        yield str(rev)


@rule("concurrency", shared=True)
async def process_wait(ground: Ground) -> None:
    run_id, other = ground.run_id(), ground.run_id()
    async with workers(ground.factory, appender, [(run_id,)]) as (one,), _Waiting(ground.store) as waiting:
        await one.hear()
        for rev in range(ground.rounds):
            task, apart = waiting.begin(run_id, rev), waiting.begin(other, 0)
            if rev % 2:
                await waiting.settle(other)
            await one.tell("go")
            expect(await one.hear(), str(rev + 1), "the revision another process has reached")
            what = "a wait on a run that another process appends to"
            expect(await in_time(task, what), rev + 1, what)
            expect(apart.done(), False, "whether a wait on another run is over")
        await one.end()


async def poster(store: RunStore, run_id: str) -> AsyncIterator[str]:
    """A worker's job: post a signal at each order."""
    await store.summary(run_id)
    yield "ready"
    while await order():
        yield str(await store.post(run_id, b"signal"))


@rule("concurrency", shared=True)
async def process_wait_signals(ground: Ground) -> None:
    run_id = ground.run_id()
    await append(ground.store, run_id, 0, b"a")
    async with workers(ground.factory, poster, [(run_id,)]) as (one,), _Waiting(ground.store) as waiting:
        await one.hear()
        for number in range(ground.rounds):
            task = waiting.begin_signals(run_id, number)
            if number % 2:
                await waiting.settle(run_id)
            await one.tell("go")
            expect(await one.hear(), str(number + 1), "the number of another process's signal")
            what = "a wait on a run that another process signals"
            expect(await in_time(task, what), number + 1, what)
        await one.end()


@rule("concurrency", shared=True)
async def wait_event_loops(ground: Ground) -> None:
    run_id = ground.run_id()

    async def elsewhere() -> int:
        await append(ground.store, run_id, 0, b"a")
        return await in_time(wait_for_revision(ground.store, run_id, 1, LONG), "a wait on a second event loop")

    async with _Waiting(ground.store) as waiting:
        task = waiting.begin(run_id, 0)
        await waiting.settle(run_id)
        there = asyncio.create_task(asyncio.to_thread(asyncio.run, elsewhere()))
        expect(await in_time(task, "a wait for another event loop's append"), 1, "a wait for another event loop's append")
        await append(ground.store, run_id, 1, b"b")
        expect(await there, 2, "a wait on a second event loop for an append of the first")
