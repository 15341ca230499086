"""What workers rely on: which runs are due, in which order, and that who waits for them is woken."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from itertools import product

from msgspec.structs import replace

from agentsdk.ports.run_store import RunStore, claim_runs, claimed, queue_of
from agentsdk.testing.store_conformance.check import NOW, Ground, expect, rule, summed
from agentsdk.testing.store_conformance.concurrency import concurrently
from agentsdk.testing.store_conformance.waiting import LONG, SOON, in_time
from agentsdk.testing.store_conformance.workers import order, workers
from agentsdk.types.errors import RunConflictError
from agentsdk.types.queue import QueueStatus
from agentsdk.types.summary import DueRuns, RunStatus, RunSummary


def ready(run_id: str, rev: int, agent: str, *, status: RunStatus = "ready", due_at: float = NOW) -> RunSummary:
    """The summary of a run that `agent` began."""
    return replace(summed(run_id, rev, status=status), first_agent=agent, due_at=due_at)


@rule("semantics")
async def due(ground: Ground) -> None:
    prefixes, agents = ("a", "B", "_", "é", "\uff5e", "\U0001f600"), [ground.run_id("agent-") for _ in range(2)]
    statuses: tuple[RunStatus, ...] = ("ready", "running", "waiting")
    runs: list[RunSummary] = []
    each = product((0, 5, -1), (0.0, NOW + 1 / 3, NOW, NOW + 50.0), statuses, agents)
    for number, (priority, at, status, agent) in enumerate(each):
        one = ready(ground.run_id(prefixes[number % 6]), 0, agent, status=status, due_at=at)
        one = replace(one, priority=priority, held_until=at if status == "running" else 0.0)
        await ground.store.append(one.run_id, 0, [], one)
        runs.append(one)
    for at, of in product((NOW - 1, NOW, NOW + 1, NOW + 50), (None, agents[:1], agents, [])):
        query = DueRuns(at=at, agents=of, limit=1000)
        expected = sorted(filter(query.fits, runs), key=query.order)
        found = await ground.store.due(query)
        expect([one for one in found if one.run_id in ground.run_ids], expected, f"due({query!r})")
        for limit in (1, 7) if of else ():
            few = replace(query, limit=limit)
            expect(await ground.store.due(few), expected[:limit], f"due({few!r})")


@rule("semantics")
async def due_follows(ground: Ground) -> None:
    run_id, agent = ground.run_id(), ground.run_id("agent-")

    async def expect_due(at: float, *runs: RunSummary) -> None:
        found = await ground.store.due(DueRuns(at=at, agents=[agent]))
        expect(found, list(runs), f"the runs due at NOW + {at - NOW}, the run being at revision {runs[0].rev if runs else '?'}")

    steps = [
        ready(run_id, 0, agent),
        ready(run_id, 0, agent, due_at=NOW + 10),
        ready(run_id, 1, agent, status="running", due_at=NOW + 20),
        ready(run_id, 1, agent, status="running", due_at=NOW + 30),
        ready(run_id, 2, agent, status="waiting", due_at=NOW + 40),
        replace(ready(run_id, 3, agent, due_at=NOW + 40), priority=2),
    ]
    for before, summary in zip([None, *steps], steps, strict=False):
        summary = replace(summary, owner="a", held_until=summary.due_at if summary.status == "running" else 0.0)
        rev = 0 if before is None else before.rev
        await ground.store.append(run_id, rev, [b"a"] * (summary.rev - rev), summary)
        await expect_due(summary.due_at - 0.5)
        await expect_due(summary.due_at, summary)
        await expect_due(summary.due_at + 0.5, summary)
    statuses: tuple[RunStatus, ...] = ("waiting", "failed", "cancelled", "finished")
    for status in statuses:
        await ground.store.append(run_id, 3, [], ready(run_id, 3, agent, status=status, due_at=0.0))
        await expect_due(NOW + 500)
    await ground.store.append(run_id, 3, [], steps[-1])
    await ground.store.delete(run_id)
    await expect_due(NOW + 500)


@rule("semantics")
async def claim(ground: Ground) -> None:
    mine, other = [ground.run_id("agent-") for _ in range(2)]
    runs = [
        replace(ready(ground.run_id(), 1, mine, due_at=NOW - number), priority=priority, metadata={"number": str(number)})
        for number, priority in enumerate((0, 0, 0, 1, 0))
    ]
    left = replace(ready(ground.run_id(), 1, mine, status="running", due_at=NOW - 9), owner="dead", held_until=NOW - 9)
    not_due = ready(ground.run_id(), 1, mine, due_at=NOW + 1)
    of_other = ready(ground.run_id(), 1, other)
    waiting = ready(ground.run_id(), 1, mine, status="waiting", due_at=0.0)
    for one in (*runs, left, not_due, of_other, waiting):
        await ground.store.append(one.run_id, 0, [b"a"], one)
    due = sorted((*runs, left), key=DueRuns.order)
    query = DueRuns(at=NOW, agents=[mine], limit=3)
    besides = [due[1].run_id]
    first = await claim_runs(ground.store, query, "a", NOW + 50, besides)
    expect(first, [due[0], *due[2:4]], "the runs that were claimed, as they stood before")
    for one in first:
        expect(await ground.store.summary(one.run_id), claimed(one, "a", NOW, NOW + 50), "a run that was claimed")
        expect(await ground.store.read(one.run_id), [b"a"], "its log")
    rest = await claim_runs(ground.store, replace(query, limit=10), "b", NOW + 60)
    expect(rest, [due[1], *due[4:]], "the runs that nobody had claimed")
    expect(await claim_runs(ground.store, query, "c", NOW + 60), [], "the runs left to claim")
    again = await claim_runs(ground.store, replace(query, at=NOW + 55), "c", NOW + 99)
    owners = {one.run_id: one.owner for one in again if one.run_id != not_due.run_id}
    expect(set(owners.values()), {"a"}, "who held the runs that could be claimed once their lease had passed")
    taken = again[0]
    late = replace(taken, rev=taken.rev + 1, owner=taken.owner, updated_at=NOW + 56)
    try:
        await ground.store.append(taken.run_id, taken.rev, [b"b"], late)
    except RunConflictError:
        return
    raise AssertionError("an append of who held a run before another one claimed it: saw it done, expected RunConflictError")


@rule("concurrency")
async def claim_race(ground: Ground) -> None:
    agent, count = ground.run_id("agent-"), 3 * ground.rounds
    for _ in range(count):
        one = ready(ground.run_id(), 1, agent)
        await ground.store.append(one.run_id, 0, [b"a"], one)
    stores = [ground.open() for _ in range(ground.workers)]
    won: list[str] = []

    async def take(store: RunStore, owner: str) -> None:
        while await store.due(DueRuns(at=NOW, agents=[agent], limit=1)):
            runs = await claim_runs(store, DueRuns(at=NOW, agents=[agent], limit=2), owner, NOW + 50)
            for one in runs:
                won.append(one.run_id)
                summary = await store.summary(one.run_id)
                expect(summary and summary.owner, owner, "the owner of a run that was claimed")
            await asyncio.sleep(0)

    await concurrently([take(store, f"worker {number}") for number, store in enumerate(stores)])
    expect(len(won), count, "how many runs were claimed")
    expect(len(set(won)), count, "how many different ones")


@rule("semantics")
async def queue(ground: Ground) -> None:
    mine, other = [ground.run_id("agent-") for _ in range(2)]
    left = replace(ready(ground.run_id(), 1, mine, status="running", due_at=NOW - 9), owner="dead", held_until=NOW - 9)
    held = replace(ready(ground.run_id(), 1, mine, status="running", due_at=NOW + 50), owner="a", held_until=NOW + 50)
    for one in (
        *(ready(ground.run_id(), 1, mine, due_at=NOW + at) for at in (-5, -1, 5)),
        *(left, held, ready(ground.run_id(), 1, other)),
        ready(ground.run_id(), 1, mine, status="waiting", due_at=0.0),
    ):
        await ground.store.append(one.run_id, 0, [b"a"], one)
    query = DueRuns(at=NOW, agents=[mine])
    expect(await queue_of(ground.store, query), QueueStatus(due=3, oldest_seconds=9.0, in_work=1), "the queue")
    expect((await queue_of(ground.store, replace(query, limit=2))).due, 2, "how many are due, counted up to 2")
    nobody = replace(query, agents=[])
    expect(await queue_of(ground.store, nobody), QueueStatus(due=0, oldest_seconds=0.0, in_work=0), "the queue of no agent")


@rule("semantics")
async def wait_due_returns(ground: Ground) -> None:
    store = ground.open()
    for timeout in (0.0, LONG):
        first = await in_time(store.wait_due(0, timeout), "the first wait for what is due")
        expect(first == 0, False, "whether the first wait for what is due gives 0")
        await in_time(store.wait_due(first, SOON), "a wait for what is due, with nothing to come")
        await in_time(store.wait_due(first, 0.0), "a wait of 0 s for what is due")


async def submitter(store: RunStore, agent: str) -> AsyncIterator[str]:
    """A worker's job: at each order, have the run it names become ready: "begin", "append" to it or "post"."""
    await store.summary(agent)
    yield "ready"
    while line := await order():
        how, run_id = line.split()
        await make_ready(store, run_id, agent, how)
        yield run_id


async def make_ready(store: RunStore, run_id: str, agent: str, how: str) -> None:
    """Have a run become ready. One that is not begun so waits, at revision 1."""
    if how == "post":
        await store.post(run_id, b"signal")
    else:
        rev = 0 if how == "begin" else 1
        await store.append(run_id, rev, [b"a"], ready(run_id, rev + 1, agent))


async def _expect_each_is_taken(ground: Ground, agent: str, make: Callable[[str, str], Awaitable[None]]) -> None:
    """Have runs become ready, while somebody works: each is taken, without a look that nothing asked for."""
    taken: asyncio.Queue[str] = asyncio.Queue()
    worker = asyncio.create_task(_work(ground.open(), agent, taken))
    try:
        for number in range(ground.rounds):
            runs = {ground.run_id(): ("begin", "append", "post")[(number + second) % 3] for second in (0, 1)}
            for run_id, how in runs.items():
                if how != "begin":
                    await ground.store.append(run_id, 0, [b"a"], ready(run_id, 1, agent, status="waiting", due_at=0.0))
            for run_id, how in runs.items():
                await make(run_id, how)
                for _ in range(number):  # so that the second comes at every point of what the first has the worker do
                    await asyncio.sleep(0)
            what = f"runs that became ready by {' and '.join(runs.values())}"
            expect({await in_time(taken.get(), what) for _ in runs}, {*runs}, what)
            if number % 5 == 4:
                await asyncio.sleep(SOON)
    finally:
        worker.cancel()
        await asyncio.wait([worker])
        if not worker.cancelled():
            worker.result()


async def _work(store: RunStore, agent: str, taken: asyncio.Queue[str]) -> None:
    seen = 0
    while True:
        for one in await store.due(DueRuns(at=NOW, agents=[agent])):
            done = replace(one, status="finished", rev=one.rev + 1, due_at=0.0)
            await store.append(one.run_id, one.rev, [b"done"], done)
            await taken.put(one.run_id)
        seen = await store.wait_due(seen, LONG)


@rule("concurrency")
async def wait_due_wakes(ground: Ground) -> None:
    store, agent = ground.open(), ground.run_id("agent-")
    await _expect_each_is_taken(ground, agent, lambda run_id, how: make_ready(store, run_id, agent, how))


@rule("concurrency", shared=True)
async def process_wait_due(ground: Ground) -> None:
    agent = ground.run_id("agent-")
    async with workers(ground.factory, submitter, [(agent,)]) as (one,):
        await one.hear()

        async def make(run_id: str, how: str) -> None:
            await one.tell(f"{how} {run_id}")
            expect(await one.hear(), run_id, "the run that another process has made ready")

        await _expect_each_is_taken(ground, agent, make)
        await one.end()
