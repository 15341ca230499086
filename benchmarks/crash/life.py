"""One run through its kills: each process that goes on with it is the next to be killed. What becomes of the run is audited."""

from __future__ import annotations

import asyncio
import json
import os
import random
import signal
from asyncio.subprocess import PIPE, Process
from collections import Counter
from collections.abc import AsyncGenerator, Callable, Sequence
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

from agentsdk.core.codec import decode_events
from agentsdk.core.next_step import ToolInDoubtItem
from agentsdk.core.state import apply, new_state
from agentsdk.ports.run_store import RunStore
from agentsdk.runner import Runner
from agentsdk.types.events import CallRetried, RunEvent, RunResumed, ToolFinished
from benchmarks.crash.audit import ANYWHERE, Audit
from benchmarks.crash.ours import config_of, digest, recorded
from benchmarks.crash.stores import Address
from benchmarks.crash.victim import Order
from benchmarks.crash.world import Kill, World, call_of, calls_of
from benchmarks.envs import REPO
from benchmarks.processes import environment

TIMEOUT_S = 60
SOON_S = 0.1
"""When a kill at random comes: at some time in this many seconds after a process began."""

OnKill = Callable[[], None]


class Victims:
    """A process that forks others, each of which is given an order and killed."""

    def __init__(self, process: Process) -> None:
        assert process.stdin is not None and process.stdout is not None
        self._orders, self._reports = process.stdin, process.stdout

    @staticmethod
    @asynccontextmanager
    async def of(python: Path | str, contestant: str, needed: Sequence[str] = ()) -> AsyncGenerator[Victims]:
        """Those of a contestant; none outlives the block."""
        command = (str(python), "-m", "benchmarks.crash.victim", contestant, *needed)
        process = await asyncio.create_subprocess_exec(
            *command, stdin=PIPE, stdout=PIPE, cwd=REPO, env=environment(), start_new_session=True
        )
        try:
            victims = Victims(process)
            await victims.hear()
            yield victims
        finally:
            os.killpg(process.pid, signal.SIGKILL)
            await process.communicate()

    async def tell(self, line: str) -> None:
        """Send an order, or that calls have been decided."""
        self._orders.write(f"{line}\n".encode())
        await self._orders.drain()

    async def hear(self) -> tuple[str, Any]:
        """The next report. Raises `RuntimeError` if there will be none."""
        line = await asyncio.wait_for(self._reports.readline(), TIMEOUT_S)
        if not line:
            raise RuntimeError("the process that forks the victims ended, expected a report; see its stderr")
        word, _, rest = line.decode().partition(" ")
        return word, json.loads(rest)


class Life:
    """One run of a contestant, from its first process to its last."""

    def __init__(self, victims: Victims, folder: Path, steps: int, run_id: str, store: Address, on_kill: OnKill) -> None:
        folder.mkdir()
        self.audit = Audit()
        self.outcome: dict[str, Any] | None = None
        self.run_id = run_id
        self._victims = victims
        self._world = World(folder, steps)
        self._store = store
        self._durability = "sync"
        self._on_kill = on_kill
        self._point = "none"  # of the last kill
        self._found: tuple[int, set[str]] = (0, set())
        self._ledger = self._requests = 0  # lines looked at
        self._done: set[str] = set()
        self._asked: set[int] = set()

    async def killed_at(self, kills: Sequence[Kill]) -> None:
        """Live on through kills at these points, then to the end."""
        for kill in kills:
            await self._process(kill)
            if self.outcome is not None:
                raise RuntimeError(f"the run ended before it came to {kill}")
            self._killed(kill.point)
        await self._process(None)
        await self._ended()

    async def killed_at_random(self, kills: int) -> None:
        """Live on through at most so many kills from outside, each soon after its process began, then to the end."""
        chance = random.Random(self.run_id)
        for _ in range(kills):
            await self._process(None, chance.uniform(0, SOON_S))
            if self.outcome is not None:
                break
            self._killed(ANYWHERE)
        if self.outcome is None:
            await self._process(None)
        await self._ended()

    def lose(self, what: str, count: int = 1) -> None:
        """Count what was lost after the last kill, and say what."""
        self.audit.lose(self._point, f"{self.run_id}, last killed at {self._point!r}: {what}", count)

    def _killed(self, point: str) -> None:
        self._point = point
        self.audit.at(point).kills += 1
        self._on_kill()

    async def _process(self, kill: Kill | None, seconds: float | None = None) -> None:
        """One process, until it has ended: killed at a point, or from outside after so many `seconds`, or done."""
        order = Order(
            str(self._world.folder),
            self._world.steps,
            self.run_id,
            self._store,
            await self._begun(),
            kill,
            self._durability,
        )
        await self._victims.tell(json.dumps(order._asdict()))
        killer: asyncio.TimerHandle | None = None
        process = -1
        while True:
            word, rest = await self._victims.hear()
            if word == "pid" and seconds is not None:
                process = os.pidfd_open(rest)
                killer = asyncio.get_running_loop().call_later(seconds, _kill, process)
            elif word == "found":
                self._check_found(rest["replies"], set(rest["results"]))
            elif word == "waiting":
                await self._decide()
                await self._victims.tell("decided")
            elif word == "done":
                self.outcome = json.loads((self._world.folder / "outcome").read_text())
            elif word == "failed":
                self.lose(f"a process failed: {rest}")
            elif word == "ended":
                break
        if killer is not None:
            killer.cancel()
            os.close(process)
        if rest not in (0, -signal.SIGKILL):
            raise RuntimeError(f"run {self.run_id!r} cannot go on: {'; '.join(self.audit.notes[-3:]) or rest}")
        self._look()
        await self._look_inside()

    def _check_found(self, replies: int, results: set[str]) -> None:
        """What was recorded once must be there ever after."""
        before, there = self._found
        if missing := max(before - replies, 0) + len(there - results):
            self.lose(f"{missing} recorded replies and results are gone", missing)
        self._found = replies, results

    def _look(self) -> None:
        """What the last process did outside, against what was recorded when it began."""
        tally = self.audit.at(self._point)
        replies, results = self._found
        for line in self._world.ledger()[self._ledger :]:
            self._ledger += 1
            call = call_of(line["item"])
            again = call.item in self._done and line["done"] and call.effect != "none"
            if again or call.call_id in results:
                tally.effects += 1
            if line["done"]:
                self._done.add(call.item)
        for line in self._world.requests()[self._requests :]:
            self._requests += 1
            tally.requests += line["step"] <= replies
            tally.asked_again += line["step"] in self._asked
            self._asked.add(line["step"])
            if line["wrong"]:
                self.lose(f"the model was sent another history than that of step {line['step']}")

    async def _begun(self) -> bool:
        """Whether there is a run to go on with."""
        return bool(self._world.requests())

    async def _decide(self) -> None:
        """Settle the calls that wait for a person."""
        raise RuntimeError("nobody was expected to wait")

    async def _look_inside(self) -> None:
        """What the store says after a process has ended."""

    async def _ended(self) -> None:
        done = {call.item for step in range(1, self._world.steps + 1) for call in calls_of(step)}
        if self.outcome is None or self.outcome["output"] != self._world.answer:
            self.lose("the final output is another one")
        if missing := done - self._done:
            self.lose(f"{len(missing)} effects never happened", len(missing))


class OurLife(Life):
    """A run of agentsdk: what its store holds is looked at after each kill, from another process than those that die."""

    def __init__(
        self,
        victims: Victims,
        folder: Path,
        steps: int,
        address: Address,
        store: RunStore,
        durability: str,
        on_kill: OnKill,
    ) -> None:
        super().__init__(victims, folder, steps, f"crash-{folder.parent.name}-{folder.name}", address, on_kill)
        self._durability = durability
        self._config = config_of(store, self.run_id)
        self._handle = store
        self._log: list[bytes] = []
        self._state = new_state()
        self._witnessed = 0
        self._unsettled: set[str] = set()
        self._in_doubt: Counter[str] = Counter()
        self._surfaced: Counter[str] = Counter()

    async def _begun(self) -> bool:
        return await self._handle.summary(self.run_id) is not None

    async def _decide(self) -> None:
        """What a person would do: look whether the effect is there."""
        state = await Runner.load(self.run_id, run_config=self._config)
        for item in state.interruptions:
            assert isinstance(item, ToolInDoubtItem)
            self._surfaced[item.call_id] += 1
            self.audit.at(self._point).surfaced += 1
            step, number = item.call_id.split("_")[1:]
            call = calls_of(int(step))[int(number)]
            if self._world.is_done(call.item):
                state.provide_result(item, result=call.result)
            else:
                state.retry(item)
        _ = await Runner.decide(state, run_config=self._config)

    async def _look_inside(self) -> None:
        log = await self._handle.read(self.run_id) if await self._begun() else []
        if log[: len(self._log)] != self._log:
            self.lose("the log is not the one of before with events added")
        digests = [digest(event) for event in log]
        lines = self._world.read("witness")
        for line in lines[self._witnessed :]:
            missing = [one for number, one in enumerate(line["digests"], line["rev"]) if digests[number : number + 1] != [one]]
            if missing:
                self.lose(f"{len(missing)} events are gone that the store had said to be durable", len(missing))
        self._witnessed = len(lines)
        for event in decode_events(log)[len(self._log) :]:
            self._expect_doubt(event)
            self._state = apply(self._state, event)
        self._log = log

    def _expect_doubt(self, event: RunEvent) -> None:
        """A charge that has begun and has no result when somebody resumes is in doubt until it has one, or is begun anew."""
        turn = self._state.turn
        if isinstance(event, CallRetried | ToolFinished):
            self._unsettled.discard(event.call_id)
        elif isinstance(event, RunResumed) and turn is not None:
            charges = {call.call_id for call in turn.calls if call.name == "charge"}
            doubts = (charges & set(turn.intended)) - set(turn.results) - self._unsettled
            self._unsettled |= doubts
            self._in_doubt.update(doubts)
            self.audit.at(self._point).in_doubt += len(doubts)

    async def _ended(self) -> None:
        for what, calls in (
            ("never surfaced", self._in_doubt - self._surfaced),
            ("surfaced and were not in doubt", self._surfaced - self._in_doubt),
        ):
            if calls:
                self.audit.notes.append(f"{self.run_id}: {calls.total()} calls {what}")
        state = await Runner.load(self.run_id, run_config=self._config)
        assert self.outcome is not None
        self.outcome |= {
            "items": state.to_input_list(),
            "usage": repr(state.usage),
            "turns": state.turns,
            "recorded": [recorded(state.value.log)[0], sorted(recorded(state.value.log)[1])],
        }
        await super()._ended()


def _kill(process: int) -> None:
    try:
        signal.pidfd_send_signal(process, signal.SIGKILL)
    except ProcessLookupError:
        pass  # it has ended
