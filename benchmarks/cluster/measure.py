"""One measurement: a queue of due runs, N workers, a while in which they work; then one of them is killed."""

from __future__ import annotations

import asyncio
import math
import signal
import time
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from agentsdk import PostgresRunStore, RunConfig, Runner
from benchmarks.cluster.app import clerk
from benchmarks.cluster.database import Database, Load
from benchmarks.cluster.fleet import Claim, Fleet

URGENT_EVERY_S = 0.25
LOOKS_EVERY_S = 0.05
_SUBMIT_AT_ONCE = 32


@dataclass(frozen=True, kw_only=True)
class Setting:
    """`workers` of `concurrency` runs each, beside `queued` due runs, for `seconds`; a model takes `reply_s` to reply."""

    workers: int
    concurrency: int
    reply_s: float
    queued: int
    seconds: float
    lease: float = 5.0


@dataclass(frozen=True, kw_only=True)
class Figures:
    """What came out. Of the runs a worker began, the fewest and the most; `places`: how far a run began out of claim.

    An urgent run has a higher priority than all others: how long until it began, and how many of those began before it.
    `takeover_s`: from kill -9 of a worker until each run that it held was gone on with.
    """

    workers: int
    slots: int
    reply_s: float
    queued: int
    runs_per_s: float
    fewest: int
    most: int
    places_p99: int
    places_max: int
    urgent_ms: float
    urgent_max_ms: float
    overtaking: float
    statements_per_run: float
    statements_per_s: float
    commits_per_run: float
    syncs_per_s: float
    wal_kb_per_run: float
    database_cpu_ms: float
    worker_cpu_ms: float
    connections: int
    takeover_s: float
    takeover_max_s: float
    held: int


class Queue:
    """The runs that are submitted, and those that are urgent."""

    def __init__(self, url: str) -> None:
        self.store = PostgresRunStore(url)
        self._config = RunConfig(store=self.store)
        self._next = 0
        self._urgent: dict[str, float] = {}

    async def fill(self, database: Database, depth: int) -> None:
        """Have so many runs due."""
        missing = max(0, depth - (await database.ready() if self._next else 0))
        numbers = iter(range(self._next, self._next + missing))

        async def some() -> None:
            for number in numbers:
                await Runner.submit(clerk, "Where is order 7?", run_id=f"run-{number}", run_config=self._config)

        await asyncio.gather(*(some() for _ in range(_SUBMIT_AT_ONCE)))
        self._next += missing

    async def urge(self) -> None:
        """Submit an urgent run now and then, until it is cancelled."""
        while True:
            run_id, at = f"urgent-{len(self._urgent)}-{self._next}", time.time()
            await Runner.submit(clerk, "Where is order 7?", run_id=run_id, priority=9, run_config=self._config)
            self._urgent[run_id] = at
            await asyncio.sleep(URGENT_EVERY_S)

    async def submit_urgent(self, count: int, before: int) -> set[str]:
        """Submit so many urgent runs at once, after `before` others."""
        ids = {f"killed-{self._next}-{before + number}" for number in range(count)}
        await asyncio.gather(
            *(Runner.submit(clerk, "Where is order 7?", run_id=run_id, priority=9, run_config=self._config) for run_id in ids)
        )
        return ids

    def waits(self, begun: Sequence[Claim], since: float) -> tuple[list[float], list[int]]:
        """How long each urgent run that came after `since` waited (in seconds), and how many others began meanwhile."""
        waited, before = list[float](), list[int]()
        for claim in begun:
            at = self._urgent.get(claim.run_id)
            if at is not None and at >= since:
                waited.append(claim.at - at)
                before.append(sum(at < other.at < claim.at and other.run_id not in self._urgent for other in begun))
        return waited, before


async def measure(setting: Setting, url: str, database: Database, queue: Queue, folder: Path) -> Figures:
    """The figures of one setting."""
    await queue.fill(database, setting.queued)
    await database.tidy()
    fleet = Fleet(url, folder, setting.workers, concurrency=setting.concurrency, reply_s=setting.reply_s, lease=setting.lease)
    async with fleet:
        await fleet.until_all_work()
        urging = asyncio.create_task(queue.urge())
        try:
            await database.settle()
            before, cpu_s, began = await database.load(), fleet.cpu_s(), time.time()
            await asyncio.sleep(setting.seconds)
            ended, cpu_s = time.time(), fleet.cpu_s() - cpu_s
            load = (await database.load()).since(before)
        finally:
            urging.cancel()
        begun = sorted(fleet.begun().values(), key=lambda claim: claim.at)
        finished = await database.finished(began, ended)
        takeovers = await take_over(setting, fleet, queue, database) if setting.workers > 1 and setting.reply_s else []
    within = [claim for claim in begun if began <= claim.at < ended]
    return figures(setting, finished, ended - began, load, cpu_s, within, queue.waits(begun, began), takeovers)


async def take_over(setting: Setting, fleet: Fleet, queue: Queue, database: Database) -> list[float]:
    """Kill a worker; how long after that each run that it held was gone on with, in seconds.

    All are urgent: any other run would also wait for its turn in the queue.
    """
    victim = fleet.processes[0]
    ids, held = set[str](), list[str]()
    async with asyncio.timeout(120):
        while not held:
            if ids <= set(fleet.begun()):
                ids |= await queue.submit_urgent(2 * setting.workers * setting.concurrency, len(ids))
            await asyncio.sleep(LOOKS_EVERY_S)
            victim.send_signal(signal.SIGSTOP)  # or the runs may be finished by the time it is killed
            last = {claim.run_id: claim.pid for claim in fleet.claims()}
            held = await database.in_work([run_id for run_id in ids if last.get(run_id) == victim.pid])
            if not held:
                victim.send_signal(signal.SIGCONT)
        killed = time.time()
        victim.kill()
        await victim.wait()

        def taken_over() -> dict[str, float]:
            return {claim.run_id: claim.at for claim in reversed(fleet.claims()) if claim.run_id in held and claim.at > killed}

        while await database.in_work([run_id for run_id in held if run_id not in taken_over()]):  # noqa: ASYNC110 - other processes
            await asyncio.sleep(LOOKS_EVERY_S)
        return [at - killed for at in taken_over().values()]


def figures(
    setting: Setting,
    finished: int,
    seconds: float,
    load: Load,
    worker_cpu_s: float,
    begun: Sequence[Claim],
    urgent: tuple[list[float], list[int]],
    takeovers: list[float],
) -> Figures:
    """What was counted, by run and by second."""
    shares = Counter(claim.pid for claim in begun).values()
    places = out_of_turn(begun)
    waited, overtaking = urgent
    runs = max(finished, 1)
    return Figures(
        workers=setting.workers,
        slots=setting.workers * setting.concurrency,
        reply_s=setting.reply_s,
        queued=setting.queued,
        runs_per_s=finished / seconds,
        fewest=min(shares, default=0),
        most=max(shares, default=0),
        places_p99=int(quantile([float(place) for place in places], 0.99)),
        places_max=max(places, default=0),
        urgent_ms=quantile(waited, 0.5) * 1000,
        urgent_max_ms=max(waited, default=0.0) * 1000,
        overtaking=sum(overtaking) / max(len(overtaking), 1),
        statements_per_run=load.statements / runs,
        statements_per_s=load.statements / seconds,
        commits_per_run=load.commits / runs,
        syncs_per_s=load.syncs / seconds,
        wal_kb_per_run=load.wal_bytes / runs / 1024,
        database_cpu_ms=load.cpu_s / runs * 1000,
        worker_cpu_ms=worker_cpu_s / runs * 1000,
        connections=load.connections,
        takeover_s=quantile(takeovers, 0.5),
        takeover_max_s=max(takeovers, default=0.0),
        held=len(takeovers),
    )


def out_of_turn(begun: Sequence[Claim]) -> list[int]:
    """How many places each ordinary run began before or after its claim."""
    numbers = [int(claim.run_id.removeprefix("run-")) for claim in begun if claim.run_id.startswith("run-")]
    turn_of = {number: place for place, number in enumerate(sorted(numbers))}
    return [abs(place - turn_of[number]) for place, number in enumerate(numbers)]


def quantile(values: Sequence[float], share: float) -> float:
    """The value below which that share of them lies; 0 of none."""
    ordered = sorted(values)
    return ordered[min(len(ordered) - 1, math.floor(share * len(ordered)))] if ordered else 0.0
