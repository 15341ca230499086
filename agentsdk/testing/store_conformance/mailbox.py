"""What a mailbox promises: signals that anybody posts to a run, beside the log that only its owner appends to."""

from __future__ import annotations

import asyncio
import math
from collections.abc import AsyncIterator
from typing import get_args

from msgspec.structs import replace

from agentsdk.ports.run_store import RunStore
from agentsdk.testing.store_conformance.check import NOW, Ground, append, expect, expect_error, expect_log, rule, summed
from agentsdk.testing.store_conformance.concurrency import MOST_WAITS, Cut, concurrently
from agentsdk.testing.store_conformance.semantics import AWKWARD_BYTES, listed
from agentsdk.testing.store_conformance.workers import order, workers
from agentsdk.types.errors import RunConflictError, RunNotFoundError
from agentsdk.types.summary import DueRuns, RunQuery, RunStatus, RunSummary


async def begun(ground: Ground, status: RunStatus = "running", taken: int = 0) -> str:
    """A run at revision 1 with this status."""
    run_id = ground.run_id()
    await ground.store.append(run_id, 0, [b"a"], replace(summed(run_id, 1, status=status), taken=taken))
    return run_id


async def standing(store: RunStore, run_id: str) -> RunSummary:
    """The summary of a run that is there."""
    summary = await store.summary(run_id)
    if summary is None:
        raise AssertionError(f"run {run_id!r}: saw no summary, expected one")
    return summary


async def expect_mailbox(store: RunStore, run_id: str, signals: list[bytes], what: str) -> None:
    """Raises `AssertionError` unless the run's mailbox holds `signals`, and its summary says how many."""
    expect(await store.signals(run_id), signals, what)
    expect((await standing(store, run_id)).signals, len(signals), f"{what}, summary.signals")


@rule("semantics")
async def post(ground: Ground) -> None:
    run_id, other = await begun(ground), await begun(ground)
    await expect_mailbox(ground.store, run_id, [], "the mailbox of a run that was just begun")
    signals = [*AWKWARD_BYTES, b"\xf0" * 1_000_000, b"last"]
    for number, signal in enumerate(signals, 1):
        expect(await ground.store.post(run_id, signal), number, f"the number of signal {number}")
    expect(await ground.store.post(other, b"a"), 1, "the number of the first signal to another run")
    await expect_mailbox(ground.store, run_id, signals, "awkward bytes and one megabyte")
    for after in (1, 2, len(signals) - 1, len(signals), 1000):
        expect(await ground.store.signals(run_id, after), signals[after:], f"signals behind {after} of {len(signals)}")
    await expect_mailbox(ground.store, other, [b"a"], "the mailbox of another run")


@rule("semantics")
async def post_refused(ground: Ground) -> None:
    missing = ground.run_id()
    await expect_error(RunNotFoundError, ground.store.post(missing, b"a"), "a signal to a run that does not exist")
    await expect_error(RunNotFoundError, ground.store.signals(missing), "signals of a run that does not exist")
    expect(await ground.store.summary(missing), None, "a run that was only signalled")
    statuses: tuple[RunStatus, ...] = ("finished", "cancelled")
    for status in statuses:
        run_id = await begun(ground)
        await ground.store.post(run_id, b"before")
        await ground.store.append(run_id, 1, [b"b"], summed(run_id, 2, status=status))
        before = await standing(ground.store, run_id)
        expect(before.status, status, "the status of a run that has ended with a signal it never took")
        await expect_error(RunConflictError, ground.store.post(run_id, b"late"), f"a signal to a run that is {status}")
        expect(await ground.store.summary(run_id), before, f"the summary of a run that is {status}, after a refused signal")
        await expect_mailbox(ground.store, run_id, [b"before"], f"the mailbox of a run that is {status}")


@rule("semantics")
async def post_beside_the_log(ground: Ground) -> None:
    run_id, until = ground.run_id(), math.nextafter(NOW + 60, math.inf)
    expect(await append(ground.store, run_id, 0, b"a", owner="a", held_until=until), 0, "the signals told by a first append")
    before = await standing(ground.store, run_id)
    for number in (1, 2):
        await ground.store.post(run_id, b"signal")
        expect(await standing(ground.store, run_id), replace(before, signals=number), "a run in work that was signalled")
    told = [
        await append(ground.store, run_id, 1, b"b", owner="a", at=NOW + 1, held_until=until),
        await append(ground.store, run_id, 2, owner="a", at=NOW + 2, held_until=until),
    ]
    expect(told, [2, 2], "the signals that the owner's appends tell of")
    other = append(ground.store, run_id, 2, b"c", owner="b", at=NOW + 59)
    await expect_error(RunConflictError, other, "another owner before held_until of a run that was signalled")
    await expect_error(RunConflictError, append(ground.store, run_id, 1, b"c", owner="a"), "an append at an old revision")
    await expect_log(ground.store, run_id, [b"a", b"b"], "the log of a run that was signalled")
    await expect_mailbox(ground.store, run_id, [b"signal"] * 2, "the mailbox after appends")


@rule("semantics")
async def post_readies(ground: Ground) -> None:
    for status in get_args(RunStatus):
        if status in ("finished", "cancelled"):
            continue
        run_id = ground.run_id()
        at = math.nextafter(NOW, math.inf)
        given = replace(summed(run_id, 1, status=status, at=at), reason="Error", due_at=NOW + 500 if status == "ready" else 0.0)
        await ground.store.append(run_id, 0, [b"a"], given)
        await ground.store.post(run_id, b"signal")
        ready = replace(given, signals=1)
        if status in ("waiting", "failed"):
            ready = replace(ready, status="ready", due_at=at)
        expect(await standing(ground.store, run_id), ready, f"a run {status} that was signalled")
        expect(await listed(ground, RunQuery(status=ready.status)), [ready], f"the {ready.status} runs after one was signalled")
        due = [one for one in await ground.store.due(DueRuns(at=NOW + 1, limit=1000)) if one.run_id == run_id]
        expect(due, [ready] if ready.due_at == at else [], f"the runs that are due after a run {status} was signalled")
        await ground.store.delete(run_id)


@rule("semantics")
async def post_taken(ground: Ground) -> None:
    waiting: tuple[RunStatus, ...] = ("waiting", "failed")
    for status in waiting:
        run_id = await begun(ground)
        await ground.store.post(run_id, b"one")
        for rev, (posted, taken) in enumerate(((1, 0), (1, 1), (2, 1), (2, 2)), 1):
            if posted == 2 and taken == 1:
                await ground.store.post(run_id, b"two")
            given = replace(summed(run_id, rev + 1, status=status, at=NOW + rev), taken=taken, owner="a")
            expect(await ground.store.append(run_id, rev, [b"a"], given), posted, "the signals that an append tells of")
            expected = replace(given, signals=posted)
            if posted > taken:
                expected = replace(expected, status="ready", due_at=NOW + rev)
            expect(await standing(ground.store, run_id), expected, f"a run {status} with {taken} of {posted} signals taken")
        await expect_mailbox(ground.store, run_id, [b"one", b"two"], "a mailbox of which all was taken")
    ahead = await begun(ground, "waiting", taken=1)
    await ground.store.post(ahead, b"signal")
    expect((await standing(ground.store, ahead)).status, "waiting", "a run that had taken as many signals as are posted")


@rule("semantics")
async def post_deleted(ground: Ground) -> None:
    for pruned in (False, True):
        run_id, other = await begun(ground), await begun(ground)
        for one in (run_id, run_id, other):
            await ground.store.post(one, b"signal")
        if pruned:
            await ground.store.append(run_id, 1, [], summed(run_id, 1, status="finished", at=50.0))
            await ground.store.prune(100.0)
        else:
            await ground.store.delete(run_id)
        what = "a run begun again after it was " + ("pruned" if pruned else "deleted")
        await expect_error(RunNotFoundError, ground.store.signals(run_id), "signals of a run that is gone")
        expect(await append(ground.store, run_id, 0, b"again"), 0, f"the signals of {what}")
        await expect_mailbox(ground.store, run_id, [], f"the mailbox of {what}")
        expect(await ground.store.post(run_id, b"new"), 1, f"the number of the first signal to {what}")
        await expect_mailbox(ground.store, run_id, [b"new"], f"the mailbox of {what}")
        await expect_mailbox(ground.store, other, [b"signal"], "the mailbox of another run")


@rule("concurrency")
async def post_race(ground: Ground) -> None:
    run_id = await begun(ground)

    async def posted(store: RunStore, poster: int) -> list[tuple[int, bytes]]:
        signals = [b"%d %d" % (poster, number) for number in range(ground.rounds)]
        return [(await store.post(run_id, signal), signal) for signal in signals]

    stores = [ground.open() for _ in range(ground.workers)]
    done = await concurrently([posted(store, poster) for poster, store in enumerate(stores)])
    numbered = sorted(one for of_poster in done for one in of_poster)
    expect([number for number, _ in numbered], [*range(1, len(numbered) + 1)], "the numbers that posters were given")
    await expect_mailbox(ground.store, run_id, [signal for _, signal in numbered], "the mailbox of many posters")


@rule("concurrency")
async def post_while_appending(ground: Ground) -> None:
    run_id, last = ground.run_id(), ground.rounds
    owner, posters = ground.open(), [ground.open() for _ in range(ground.workers - 1)]
    await append(owner, run_id, 0, owner="a", held_until=NOW + 60)

    async def appended() -> list[int]:
        told: list[int] = []
        for rev in range(last):
            told.append(await append(owner, run_id, rev, b"a", owner="a", held_until=NOW + 60))
            await asyncio.sleep(0)
        return told

    async def posted(store: RunStore) -> list[int]:
        return [await store.post(run_id, b"signal") for _ in range(last)]

    told, *_ = await concurrently([appended(), *(posted(store) for store in posters)])
    expect(told, sorted(told), "the signals told by one append after the other")
    await expect_log(ground.store, run_id, [b"a"] * last, "the log of an owner who was signalled all the time")
    every = [b"signal"] * last * len(posters)
    expect(await append(owner, run_id, last, owner="a"), len(every), "the signals told by the last append")
    await expect_mailbox(ground.store, run_id, every, "the mailbox of a run that was appended to all the time")


@rule("concurrency")
async def post_or_wait(ground: Ground) -> None:
    owner, poster = ground.open(), ground.open()

    async def signalled(run_id: str, steps: int) -> None:
        for _ in range(steps):
            await asyncio.sleep(0)
        await poster.post(run_id, b"signal")

    for steps in range(ground.rounds):
        run_id = await begun(ground)
        waits = owner.append(run_id, 1, [b"b"], summed(run_id, 2, status="waiting"))
        told, _ = await concurrently([waits, signalled(run_id, steps)])
        what = f"a run that was signalled while its owner left it waiting, told of {told} signals"
        expect((await standing(ground.store, run_id)).status, "ready", what)


@rule("concurrency")
async def cancelled_post(ground: Ground) -> None:
    for late in (False, True):
        for nth in range(1, MOST_WAITS):
            store, run_id = ground.open(), await begun(ground, "waiting")
            cut = Cut(nth, late)
            await asyncio.wait([cut.task(store.post(run_id, b"cut"))])
            kept = await store.signals(run_id)
            expect(kept in ([], [b"cut"]), True, f"whether a post cancelled at wait {nth} is complete or absent")
            summary = await standing(store, run_id)
            expect((summary.signals, summary.status), (len(kept), "ready" if kept else "waiting"), "its run")
            expect(await store.post(run_id, b"next"), len(kept) + 1, "the number of the next signal")
            await expect_mailbox(ground.store, run_id, [*kept, b"next"], "the mailbox after a post that was cancelled")
            if ground.shared:
                await store.aclose()
            if not cut.made:
                break


async def poster(store: RunStore, run_id: str, name: int, count: int) -> AsyncIterator[str]:
    """A worker's job: post so many signals at each order, and report the number of each."""
    await store.summary(run_id)
    yield "ready"
    while await order():
        for _ in range(count):
            yield str(await store.post(run_id, b"%d " % name + b"." * 1000))


@rule("concurrency", shared=True)
async def process_post_race(ground: Ground) -> None:
    run_id, last = await begun(ground, "waiting"), ground.workers * ground.rounds
    async with workers(ground.factory, poster, [(run_id, name, 1) for name in range(ground.workers)]) as posters:
        for one in posters:
            await one.hear()
        numbered: dict[int, int] = {}
        for number in range(ground.rounds):
            for one in posters:
                await one.tell("go")
            owned = replace(summed(run_id, number + 2, status="waiting"), owner="a")
            await ground.store.append(run_id, number + 1, [b"a"], owned)
            numbered |= {int(await one.hear()): name for name, one in enumerate(posters)}
            expect((await standing(ground.store, run_id)).status, "ready", "a run that processes have signalled")
        for one in posters:
            await one.end()
    expect(sorted(numbered), [*range(1, last + 1)], "the numbers that processes were given")
    names = [int(signal.split()[0]) for signal in await ground.store.signals(run_id)]
    expect(names, [numbered[number] for number in sorted(numbered)], "whose signals the mailbox holds, in order")


@rule("kill", shared=True)
async def killed_poster(ground: Ground) -> None:
    run_id, kills = await begun(ground), 3
    async with workers(ground.factory, poster, [(run_id, name, 100_000) for name in range(kills)]) as posters:
        for name, one in enumerate(posters):
            await one.hear()
            await one.tell("go")
            heard = [await one.hear() for _ in range(4 * name + 1)]
            heard += await one.kill()
            rev = (await standing(ground.store, run_id)).rev
            await append(ground.store, run_id, rev, b"a")  # whatever lock it held is free
            before = await ground.store.signals(run_id)
            if len(before) < int(heard[-1]):
                raise AssertionError(f"the mailbox after a kill: saw {len(before)} signals, expected {heard[-1]} as reported")
            number = await ground.store.post(run_id, b"next")
            signals = await ground.store.signals(run_id)  # the killed one's last may still have reached a server first
            expect(signals[: len(before)], before, "the signals of before")
            expect(signals[number - 1], b"next", "the signal after a kill")
            whole = {b"next", *(b"%d " % posted + b"." * 1000 for posted in range(kills))}
            expect(set(signals) <= whole, True, "whether the mailbox holds whole signals only")
