"""What holds while several processes use a store, and while one of them is killed."""

from __future__ import annotations

import asyncio
import os
import random
import traceback
from collections.abc import AsyncIterator
from unittest import SkipTest

from agentsdk.ports.run_store import RunStore
from agentsdk.testing.store_conformance.check import NOW, Factory, Ground, append, expect, expect_error, expect_log, rule
from agentsdk.testing.store_conformance.concurrency import BATCH, enter, events, expect_one_winner, look, run_race, write
from agentsdk.testing.store_conformance.workers import order, workers
from agentsdk.types.errors import RunConflictError

_KILLS = 3
_HELD_UNTIL = NOW + 60


async def racer(store: RunStore, run_id: str, number: int, lease: bool) -> AsyncIterator[str]:
    """A worker's job: enter one round at each order."""
    await store.summary(run_id)
    yield "ready"
    while line := await order():
        rev, at = line.split()
        yield "won" if await enter(store, run_id, number, int(rev), float(at), lease) else "lost"


async def writer(store: RunStore, run_id: str, batches: int) -> AsyncIterator[str]:
    """A worker's job: append so many batches at each order, and report each."""
    await store.summary(run_id)
    yield "ready"
    while await order():
        async for rev in write(store, run_id, batches):
            yield str(rev)


async def holder(store: RunStore, run_id: str) -> AsyncIterator[str]:
    """A worker's job: begin a run, hold it, and wait."""
    await append(store, run_id, 0, *events(0, BATCH), owner="killed", held_until=_HELD_UNTIL)
    yield "held"
    await order()


async def forker(store: RunStore, run_id: str) -> AsyncIterator[str]:
    """A worker's job: use the store, then in a fork, then here again."""
    await append(store, run_id, 0, b"parent")
    if child := os.fork():
        _, code = await asyncio.to_thread(os.waitpid, child, 0)
        await append(store, run_id, 2, b"parent again")
        yield str(code)
    else:
        try:
            asyncio.run(append(store, run_id, 1, b"child"))
            os._exit(0)
        finally:
            traceback.print_exc()
            os._exit(1)


async def _race(ground: Ground, run_id: str, lease: bool) -> list[list[int]]:
    async with workers(ground.factory, racer, [(run_id, number, lease) for number in range(ground.workers)]) as racers:
        for one in racers:
            await one.hear()

        async def one_round(rev: int, at: float) -> list[bool]:
            for one in racers:
                await one.tell(f"{rev} {at}")
            return [await one.hear() == "won" for one in racers]

        winners = await run_race(ground.store, run_id, ground.rounds, one_round)
        for one in racers:
            await one.end()
    return winners


async def race(factory: Factory, processes: int = 20, rounds: int = 200, *, lease: bool = False) -> list[int]:
    """How many of `processes` won each of `rounds`: of appending at one revision, or of taking the run's lease.

    The processes live over all rounds, each with a store of `factory`, and enter each round together.
    """
    async with Ground(factory, True, processes, rounds) as ground:
        return [len(winners) for winners in await _race(ground, ground.run_id(), lease)]


@rule("concurrency", shared=True)
async def process_race(ground: Ground) -> None:
    run_id = ground.run_id()
    await expect_one_winner(ground, run_id, await _race(ground, run_id, lease=False), lease=False)


@rule("concurrency", shared=True)
async def process_lease_race(ground: Ground) -> None:
    run_id = ground.run_id()
    await expect_one_winner(ground, run_id, await _race(ground, run_id, lease=True), lease=True)


@rule("concurrency", shared=True)
async def process_whole_appends(ground: Ground) -> None:
    run_ids = [ground.run_id() for _ in range(ground.workers)]
    for run_id in run_ids:
        await append(ground.store, run_id, 0)
    async with workers(ground.factory, writer, [(run_id, 1) for run_id in run_ids]) as writers:
        for one in writers:
            await one.hear()
        for number in range(ground.rounds):
            for one in writers:
                await one.tell("go")
            for run_id in run_ids:
                await look(ground.store, run_id)
            for one in writers:
                expect(await one.hear(), str((number + 1) * BATCH), "the revision a process has reached in a run of its own")
        for one in writers:
            await one.end()
    for run_id in run_ids:
        expect(await look(ground.store, run_id), ground.rounds * BATCH, "the revision of a run that a process has written")


@rule("concurrency", shared=True)
async def forked_process(ground: Ground) -> None:
    if not hasattr(os, "fork"):
        raise SkipTest("the system has no fork")
    run_id = ground.run_id()
    async with workers(ground.factory, forker, [(run_id,)]) as (one,):
        expect(await one.hear(), "0", "the exit code of a fork; its stderr says why")
        await one.end()
    await expect_log(ground.store, run_id, [b"parent", b"child", b"parent again"], "the log of a process and its fork")


@rule("kill", shared=True)
async def killed_writer(ground: Ground) -> None:
    run_id, chance = ground.run_id(), random.Random(0)
    await append(ground.store, run_id, 0)
    async with workers(ground.factory, writer, [(run_id, 10_000)] * _KILLS) as writers:
        for one in writers:
            await one.hear()
            await one.tell("go")
            heard = [await one.hear() for _ in range(chance.randint(1, 12))]
            heard += await one.kill()
            rev = await look(ground.store, run_id)
            if rev < int(heard[-1]):
                raise AssertionError(f"a run whose writer was killed: saw revision {rev}, expected {heard[-1]} as it reported")
            await _go_on(ground.store, run_id)


async def _go_on(store: RunStore, run_id: str) -> None:
    """Append a batch where a killed process left the run; its last append may still reach a server first."""
    try:
        rev = await look(store, run_id)
        await append(store, run_id, rev, *events(rev, rev + BATCH))
    except RunConflictError:
        rev = await look(store, run_id)
        await append(store, run_id, rev, *events(rev, rev + BATCH))
    expect(await look(store, run_id), rev + BATCH, "the revision of a run that went on after its writer was killed")


@rule("kill", shared=True)
async def killed_owner(ground: Ground) -> None:
    run_id = ground.run_id()
    async with workers(ground.factory, holder, [(run_id,)]) as (one,):
        expect(await one.hear(), "held", "what the owner reports")
        await one.kill()
    other = append(ground.store, run_id, BATCH, owner="b", at=_HELD_UNTIL - 1, held_until=_HELD_UNTIL)
    await expect_error(RunConflictError, other, "another owner before held_until of a killed process")
    await append(ground.store, run_id, BATCH, *events(BATCH, 2 * BATCH), owner="b", at=_HELD_UNTIL)
    expect(await look(ground.store, run_id), 2 * BATCH, "the revision of a run taken over from a killed process")
