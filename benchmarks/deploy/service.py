"""The service around the workers: it submits, decides, ends workers, and audits."""

from __future__ import annotations

import asyncio
import random
import signal
import sys
import time
from asyncio.subprocess import Process
from collections import Counter
from collections.abc import Awaitable, Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path

from agentsdk import RunConfig, RunConflictError, Runner, RunQuery, RunStore, ToolApprovalItem
from agentsdk.core.keys import SCHEME, call_key
from agentsdk.core.next_step import ToolAnswerItem
from benchmarks.crash.stores import Address, open_store
from benchmarks.deploy.app import clerk, refund
from benchmarks.envs import REPO
from benchmarks.processes import environment

LEASE = 2.0
DECIDES_EVERY_S = 0.1
GIVES_UP_S = 20.0
PLANS = ("look pay", "book pay look", "send", "pay send book", "ask_helper pay", "look look send ask_helper", "pay")
WORKFLOW = "refund"
"""The plan of a run of the workflow."""

ONCE = ("pay", "send", "give_back")


def planned(plan: str) -> Counter[str]:
    """How often each tool, or step, is to have its effect."""
    if plan == WORKFLOW:
        return Counter(fetch=1, weigh=3, look=1, pay=1, give_back=2, reserve=1, release=1)
    names = Counter(plan.split())
    helped = names.pop("ask_helper", 0)
    return names + Counter(pay=helped, book=helped)


@dataclass
class Outcome:
    """What came of the runs. `stranded`: neither over nor waiting for a person, though nobody works on them any more.

    `repeated`: effects that happened twice without a key. `lost`: runs that are gone, or finished without an effect.
    """

    runs: int = 0
    finished: int = 0
    waiting: int = 0
    lost: int = 0
    repeated: int = 0
    stranded: int = 0
    in_doubt: int = 0
    stopped: int = 0
    killed: int = 0
    seconds: float = 0.0
    phases: Counter[str] = field(default_factory=Counter[str])
    notes: list[str] = field(default_factory=list[str])

    @property
    def holds(self) -> bool:
        """Whether every run is finished, each effect there once."""
        return self.lost == self.repeated == self.stranded == 0 and self.finished + self.waiting == self.runs


Chaos = Callable[["Service", RunStore], Awaitable[None]]
"""Ends workers while they work."""


class Service:
    """The processes around one store, and the person who decides."""

    def __init__(
        self,
        address: Address,
        folder: Path,
        *,
        workers: int,
        seed: int = 0,
        plans: Sequence[str] = PLANS,
        stopped: float = 0.5,
    ) -> None:
        """`stopped`: the share of workers that are stopped as a deploy does; the others are killed."""
        self.address = address
        self._given = plans
        self._stopped = stopped
        self.outcome = Outcome()
        self._effects = folder / "effects"
        self._log = folder / "workers.log"
        self._chance = random.Random(seed)
        self._count = workers
        self._workers: list[Process] = []
        self._leaving: list[Process] = []
        self._plans: dict[str, str] = {}

    async def play(self, runs: int, chaos: Chaos, *, over: float = 0.0) -> Outcome:
        """Submit the runs, due `over` some seconds, let `chaos` end workers, wait until all runs are over, and audit them."""
        began = time.monotonic()
        store = open_store(self.address)
        deciding = asyncio.create_task(self._decide(store))
        try:
            await self._submit(store, runs, over)
            self._workers = [await self._start() for _ in range(self._count)]
            await chaos(self, store)
            await self._until_over(store)
            self.outcome.seconds = time.monotonic() - began
            await self._audit(store)
            return self.outcome
        finally:
            deciding.cancel()
            await asyncio.wait([deciding])
            for process in (*self._workers, *self._leaving):
                if process.returncode is None:
                    process.kill()
                await process.wait()
            await store.aclose()

    async def end_one(self, store: RunStore) -> None:
        """Stop a worker as a deploy does, or kill it; another one takes its place at once."""
        for summary in await store.list(RunQuery(status="running", limit=1000)):
            self.outcome.phases[summary.phase] += 1
        at = self._chance.randrange(self._count)
        process = self._workers[at]
        if self._chance.random() < self._stopped:
            process.send_signal(signal.SIGTERM)
            self.outcome.stopped += 1
        else:
            process.kill()
            self.outcome.killed += 1
        self._leaving.append(process)
        self._workers[at] = await self._start()

    def effects(self) -> list[tuple[str, str, str]]:
        """What the tools have done: run, tool and idempotency key, in order."""
        lines = self._effects.read_text().splitlines() if self._effects.exists() else []
        return [(run_id, tool, key) for run_id, tool, key in map(str.split, lines)]

    async def _start(self) -> Process:
        kind, place = self.address
        command = (
            *("-m", "agentsdk", "worker", "benchmarks.deploy.app:agents", "--lease", str(LEASE), "--grace", "0.5"),
            *("--store", place if kind in ("postgres", "redis") else f"{kind}:{place}"),
        )
        with self._log.open("ab") as log:
            return await asyncio.create_subprocess_exec(
                *(sys.executable, *command),
                stdout=log,
                stderr=log,
                cwd=REPO,
                env={**environment(), "DEPLOY_EFFECTS": str(self._effects)},
            )

    async def _submit(self, store: RunStore, runs: int, over: float) -> None:
        config = RunConfig(store=store)
        for number in range(runs):
            run_id, plan = f"run-{number}", self._given[number % len(self._given)]
            at = time.time() + self._chance.uniform(0, over) if over else None
            agent, given = (refund, refund.written(run_id)) if plan == WORKFLOW else (clerk, plan)
            await Runner.submit(agent, given, run_id=run_id, at=at, priority=number % 3, run_config=config)
            self._plans[run_id] = plan
        self.outcome.runs = runs

    async def _decide(self, store: RunStore) -> None:
        """A person approves what waits, and says of each call in doubt whether its effect is there."""
        config = RunConfig(store=store)
        while True:
            for summary in await store.list(RunQuery(status="waiting", limit=1000)):
                state = await Runner.load(summary.run_id, run_config=config)
                keys = {key for _, _, key in self.effects()}
                for item in state.interruptions:
                    if isinstance(item, ToolApprovalItem):
                        state.approve(item)
                    elif isinstance(item, ToolAnswerItem):
                        if item.question:  # else it waits for a time
                            state.answer(item, True)
                    elif call_key(SCHEME, summary.run_id, item.path, item.call_id) in keys:
                        self.outcome.in_doubt += 1
                        state.provide_result(item, result=f"{item.tool_name} is done")
                    else:
                        self.outcome.in_doubt += 1
                        state.retry(item)
                with suppress(RunConflictError):  # it has gone on meanwhile
                    await Runner.decide(state, run_config=config)
            await asyncio.sleep(DECIDES_EVERY_S)

    async def _until_over(self, store: RunStore) -> None:
        """Return when all runs are finished, or none has come any further for long after every lease has passed."""
        before, changed = Counter[str](), time.monotonic()
        while time.monotonic() - changed < GIVES_UP_S:
            summaries = await store.list(RunQuery(limit=10_000))
            if all(summary.status == "finished" for summary in summaries):
                return
            standing = Counter({summary.run_id: summary.rev for summary in summaries})
            if standing != before:
                before, changed = standing, time.monotonic()
            await asyncio.sleep(DECIDES_EVERY_S)

    async def _audit(self, store: RunStore) -> None:
        outcome = self.outcome
        stored = {summary.run_id: summary for summary in await store.list(RunQuery(limit=10_000))}
        done: dict[str, Counter[str]] = {run_id: Counter() for run_id in self._plans}
        seen: set[str] = set()
        for run_id, tool, key in self.effects():
            if key not in seen:
                done[run_id][tool] += 1
            elif tool in ONCE:
                outcome.repeated += 1
                outcome.notes.append(f"{tool} of {run_id} happened again")
            seen.add(key)
        for run_id, plan in self._plans.items():
            summary = stored.get(run_id)
            if summary is not None and summary.status == "finished":
                outcome.finished += 1
                if done[run_id] != planned(plan):
                    outcome.lost += 1
                    outcome.notes.append(f"{run_id} ({plan}) is finished with {dict(done[run_id])}")
            elif summary is not None and summary.status == "waiting":
                outcome.waiting += 1
            else:
                outcome.lost += summary is None
                outcome.stranded += summary is not None
                outcome.notes.append(f"{run_id} ({plan}) is stranded: {summary}")
