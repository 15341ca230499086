"""A sweep: workers that are killed while they work on runs, a person who decides meanwhile, and what came of each run.

`Sweep` starts the processes of one contestant, each in that contestant's environment, ends workers by SIGKILL, and audits what
is seen from outside. No contestant's package is imported here.
"""

from __future__ import annotations

import asyncio
import json
import random
import signal
import time
from asyncio.subprocess import Process
from collections.abc import Awaitable, Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import NamedTuple

from benchmarks.engines.plans import EFFECTS, PLANS, World, bodies_of
from benchmarks.envs import REPO
from benchmarks.processes import environment

STARTS_WITHIN_S = 240.0
"""Seconds in which the first worker is to be ready."""

GIVES_UP_S = 120.0
"""Seconds in which nothing happens any more, after which runs that have not ended are given up."""


class Contestant(NamedTuple):
    """A way to run agents on an engine. `python` has what `module` imports; `env` is what its processes are told."""

    label: str
    module: str
    python: Path
    plans: Sequence[str] = PLANS
    env: Mapping[str, str] = {}


@dataclass
class Outcome:
    """What came of the runs.

    `lost`: neither at their end nor waiting for a person, or at their end without one of their effects. `twice`: `once` bodies
    that were begun again although nobody was asked. `again`: other bodies that were, as their effect allows. `said`: calls in
    doubt that a person was shown. `wrongly`: runs at their end whose model was told that a call failed whose effect is there.
    """

    runs: int = 0
    kills: int = 0
    finished: int = 0
    waiting: int = 0
    lost: int = 0
    twice: int = 0
    again: int = 0
    said: int = 0
    wrongly: int = 0
    seconds: float = 0.0
    notes: list[str] = field(default_factory=list[str])

    @property
    def holds(self) -> bool:
        """Whether every run is at its end or waits, and no `once` body began twice in silence."""
        return self.lost == self.twice == self.wrongly == 0 and self.finished + self.waiting == self.runs


Chaos = Callable[["Sweep"], Awaitable[None]]
"""Ends workers while they work."""


class Sweep:
    """The processes of one contestant. `address` is what its roles need to find the engine and the store."""

    def __init__(self, contestant: Contestant, address: dict[str, str], folder: Path, *, workers: int, seed: int = 0) -> None:
        self.world = World(folder)
        self.outcome = Outcome()
        self._contestant = contestant
        self._address = json.dumps({**address, "workers": str(workers), "since": str(time.time())})
        self._chance = random.Random(seed)
        self._workers: list[Process] = []
        self._gone: list[Process] = []
        self._count = workers

    async def play(self, runs: int, chaos: Chaos, *, over: float = 0.0) -> Outcome:
        """Begin the runs, over some seconds, let `chaos` end workers, wait until all runs are over, and audit them."""
        began = time.monotonic()
        plans = {f"run-{number}": self._contestant.plans[number % len(self._contestant.plans)] for number in range(runs)}
        for run_id, plan in plans.items():
            self.world.write("runs", [run_id, plan, self._chance.uniform(0, over)])
        person: Process | None = None
        try:
            self._workers.append(await self._start("worker", "worker-0"))
            await self._until_ready()  # what it makes in a database is there then
            self._workers += [await self._start("worker", f"worker-{number}") for number in range(1, self._count)]
            person = await self._start("person", "person")
            await chaos(self)
            await self._until_over(person)
        finally:
            for process in (*self._workers, *self._gone, *([person] if person else [])):
                if process.returncode is None:
                    process.kill()
                await process.wait()
        self.outcome.runs, self.outcome.seconds = runs, time.monotonic() - began
        self.audit(plans)
        return self.outcome

    async def kill_one(self) -> None:
        """Kill one of the workers that take work; another process takes its place, under its name, at once."""
        async with asyncio.timeout(STARTS_WITHIN_S):
            while not (ready := self._ready()):  # noqa: ASYNC110 - other processes say so
                await asyncio.sleep(0.02)
        at = self._chance.choice(ready)
        with suppress(ProcessLookupError):  # it had died by itself
            self._workers[at].send_signal(signal.SIGKILL)
        self.outcome.kills += 1
        self._gone.append(self._workers[at])
        self._workers[at] = await self._start("worker", f"worker-{at}")

    async def until_begun(self, bodies: int, within: float = 240.0) -> None:
        """Return when so many bodies have begun. Raises `TimeoutError`."""
        async with asyncio.timeout(within):
            while self.world.begun().total() < bodies:  # noqa: ASYNC110 - other processes write them
                await asyncio.sleep(0.02)

    async def _start(self, role: str, name: str) -> Process:
        with (self.world.folder / f"{name}.log").open("ab") as log:
            return await asyncio.create_subprocess_exec(
                *(self._contestant.python, "-m", self._contestant.module, role, name, self._address),
                stdout=log,
                stderr=log,
                cwd=REPO,
                env={**environment(), "ENGINES_WORLD": str(self.world.folder), **self._contestant.env},
            )

    def _ready(self) -> list[int]:
        """The workers that take work."""
        pids = set(self.world.read("ready"))
        return [number for number, worker in enumerate(self._workers) if worker.pid in pids]

    async def _until_ready(self) -> None:
        async with asyncio.timeout(STARTS_WITHIN_S):
            while not self._ready():
                if self._workers[0].returncode is not None:
                    raise RuntimeError((self.world.folder / "worker-0.log").read_text()[-2000:])
                await asyncio.sleep(0.02)

    async def _until_over(self, person: Process) -> None:
        """Return when the person has seen the end of all runs, or nothing has happened for long."""
        before, changed = -1, time.monotonic()
        while person.returncode is None and time.monotonic() - changed < GIVES_UP_S:
            standing = sum(len(self.world.read(name)) for name in ("bodies", "said", "ends"))
            if standing != before:
                before, changed = standing, time.monotonic()
            await asyncio.sleep(0.1)
        if person.returncode is None:
            person.send_signal(signal.SIGTERM)  # say how the others stand
            async with asyncio.timeout(30):
                await person.wait()
        if person.returncode:
            raise RuntimeError(f"the person's process failed:\n{(self.world.folder / 'person.log').read_text()[-2000:]}")

    def audit(self, plans: dict[str, str]) -> None:
        """Find in the files of the sweep what came of the runs, given the plan of each."""
        outcome, begun = self.outcome, self.world.begun()
        ends: dict[str, str] = dict(self.world.read("ends"))
        outcome.said = len({tuple(said) for said in self.world.read("said")})
        outcome.wrongly = len({run_id for run_id, _ in self.world.read("wrongly")})
        for (run_id, body), times in begun.items():
            if times > 1 and EFFECTS[body.split(":")[0]] == "once":
                outcome.twice += times - 1
                outcome.notes.append(f"{body} of {run_id} began {times} times")
            else:
                outcome.again += times - 1
        for run_id, plan in plans.items():
            missing = [body for body in bodies_of(plan) if not begun[run_id, body]]
            match ends.get(run_id, "nothing is known of it"):
                case "finished" if not missing:
                    outcome.finished += 1
                case "waiting":
                    outcome.waiting += 1
                case end:
                    outcome.lost += 1
                    outcome.notes.append(f"{run_id} ({plan}): {end}; never begun: {missing}")
