"""`python -m benchmarks.code_kills`: kill -9 at every call of a program of 20 calls, and count what that costs.

80 runs, each killed once: at one of the calls, at one of `POINTS`. Another process goes on with it to its end. Must be: no call
lost, none repeated, and all that is unknown said. `--quick` is a sample of five. Linux only; the exit code is 1 when a bound is
missed.
"""

from __future__ import annotations

import argparse
import signal
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Literal, NamedTuple, cast

from agentsdk.core.next_step import ToolInDoubtItem
from agentsdk.define.agent import Agent
from agentsdk.define.context import ToolContext
from agentsdk.define.function_tool import function_tool
from agentsdk.define.run_config import RunConfig
from agentsdk.local_tools.code import CodeTool
from agentsdk.ports.run_store import RunStore
from agentsdk.runner import Runner
from agentsdk.stores.sqlite import SQLiteRunStore
from agentsdk.testing import ScriptedModel, call
from benchmarks.crash.outside import Outside, die, forked
from benchmarks.crash.watched import Watched, saved_calls
from benchmarks.report import rows_table

CALLS = 20
PROGRAM = """
import asyncio

seen = []
for number in range(1, 7):
    seen.append(await look_up(number))
for number in range(7, 11):
    seen.append(await reserve(number))
seen += await asyncio.gather(charge(11), reserve(12), look_up(13), charge(14))
for number in range(15, 21):
    seen.append(await charge(number))
print(len(seen), "calls")
seen
"""

Point = Literal["response saved", "intent saved", "effect done", "result saved"]
POINTS: tuple[Point, ...] = ("response saved", "intent saved", "effect done", "result saved")
ONCE = (11, 14, *range(15, 21))
"""The calls whose effect is once."""

RUN_ID = "program"


class Kill(NamedTuple):
    """Where a process is to die."""

    call: int
    point: Point


SAMPLE = (
    Kill(3, "intent saved"),
    Kill(8, "effect done"),
    Kill(12, "result saved"),
    Kill(14, "effect done"),
    Kill(19, "response saved"),
)


class World(Outside):
    """The outside of one run: the ledger of what its calls did; and where the process dies."""

    def __init__(self, folder: Path, kill: Kill | None) -> None:
        super().__init__(folder)
        self._kill = kill

    def reached(self, number: int, point: Point) -> None:
        """Die, if this is where."""
        if self._kill == (number, point):
            die()

    def do(self, number: int, key: str) -> str:
        """What a call does."""
        self.write("ledger", {"call": number, "key": key})
        self.reached(number, "effect done")
        return f"call {number} is done"

    def saved(self, rev: int, events: Sequence[bytes]) -> None:
        """Note the results of the program's calls, and die if this is where."""
        for point, path, call_id in saved_calls(events):
            if path:
                if point == "result saved":
                    self.write("results", _number(call_id))
                self.reached(_number(call_id), point)


def agent_of(world: World, *, is_begun: bool) -> Agent[None, str]:
    """The agent, whose program has calls of every effect."""

    @function_tool(effect="none")
    async def look_up(ctx: ToolContext[None], number: int) -> str:
        return world.do(number, ctx.idempotency_key)

    @function_tool(effect="idempotent")
    def reserve(ctx: ToolContext[None], number: int) -> str:
        return world.do(number, ctx.idempotency_key)

    @function_tool
    async def charge(ctx: ToolContext[None], number: int) -> str:
        return world.do(number, ctx.idempotency_key)

    replies = ["Done."] if is_begun else [call("run_code", code=PROGRAM), "Done."]
    return Agent("clerk", model=ScriptedModel(replies), tools=[CodeTool([look_up, reserve, charge])])


async def live(world: World) -> None:
    """Begin the run, or go on with it, to its end. What is in doubt is settled by the ledger, as a person would."""
    store = SQLiteRunStore(world.folder / "runs.db")
    config = RunConfig(store=cast(RunStore, Watched(store, world.saved)), run_id=RUN_ID, lease=3600.0, tracing_disabled=True)
    agent = agent_of(world, is_begun=bool(world.read("begun")))
    if world.read("begun"):
        result = await Runner.resume(agent, RUN_ID, run_config=config, take_over=True)
    else:
        world.write("begun", True)
        result = await Runner.run(agent, "Go.", run_config=config)
    while result.interruptions:
        state = await Runner.load(RUN_ID, run_config=config)
        for item in state.interruptions:
            assert isinstance(item, ToolInDoubtItem)
            number = _number(item.call_id)
            world.write("in doubt", number)
            if any(line["call"] == number for line in world.read("ledger")):
                state.provide_result(item, result=f"call {number} is done")
            else:
                state.retry(item)
        await Runner.decide(state, run_config=config)
        result = await Runner.resume(agent, RUN_ID, run_config=config)
    outcome = [str(item["output"]) for item in result.to_input_list() if item.get("type") == "function_call_output"]
    world.write("outcome", outcome)
    await store.aclose()


def _number(call_id: str) -> int:
    return int(call_id.removeprefix("call_"))


class Tally(NamedTuple):
    """What kills led to.

    `lost`: calls that never ran, and a run that ended otherwise than the one without a kill. `repeated`: calls that ran again
    although their result was recorded, or their effect is once, or under another key. `again`: calls without a result that ran
    again under their key, as their effect allows. `in_doubt`: calls that a person was asked about.
    """

    kills: int = 0
    lost: int = 0
    repeated: int = 0
    again: int = 0
    in_doubt: int = 0

    def plus(self, other: Tally) -> Tally:
        """Both together."""
        return Tally(*map(sum, zip(self, other, strict=True)))


def lived(folder: Path, kill: Kill | None) -> tuple[Tally, list[Any]]:
    """Take a run through a kill and to its end: what it led to, and how the run ended."""
    folder.mkdir()
    world = World(folder, kill)
    code = forked(lambda: live(world))
    recorded, before = Counter(world.read("results")), Counter(line["call"] for line in world.read("ledger"))
    died = code == -signal.SIGKILL
    if died:
        code = forked(lambda: live(World(folder, None)))
    if code:
        raise RuntimeError(f"the last process of {folder.name} ended with {code}, expected 0; see its stderr")
    ledger, results = world.read("ledger"), Counter(world.read("results"))
    after = Counter(line["call"] for line in ledger)
    lost = repeated = again = 0
    for number in range(1, CALLS + 1):
        keys = {line["key"] for line in ledger if line["call"] == number}
        more = after[number] - max(before[number], 1)
        lost += not keys
        repeated += len(keys) > 1 or results[number] > 1 or (more > 0 and (bool(recorded[number]) or number in ONCE))
        again += max(more, 0)
    doubted = len(world.read("in doubt"))
    return Tally(int(died), lost, repeated, again, doubted), world.read("outcome")


def main() -> int:
    """Kill the runs; whether every bound was kept."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.code_kills", description="kill -9 at every call of a program")
    parser.add_argument("--quick", action="store_true", help="a sample of five kills")
    quick = parser.parse_args().quick
    started = time.monotonic()
    rows: list[tuple[object, ...]] = [("killed when", *Tally._fields)]
    total, uncut = Tally(), None
    with tempfile.TemporaryDirectory(prefix="agentsdk-code-") as name:
        _, uncut = lived(Path(name) / "uncut", None)
        for point in POINTS:
            tally = Tally()
            for number in range(1, CALLS + 1):
                if quick and Kill(number, point) not in SAMPLE:
                    continue
                one, outcome = lived(Path(name) / f"{number} {point}", Kill(number, point))
                tally = tally.plus(one._replace(lost=one.lost + (outcome != uncut)))
            rows.append((point, *tally))
            total = total.plus(tally)
    rows.append(("all", *total))
    print(rows_table(rows))
    print(f"{time.monotonic() - started:.1f} seconds")
    return int((total.kills, total.lost, total.repeated) != (len(SAMPLE) if quick else len(POINTS) * CALLS, 0, 0))


if __name__ == "__main__":
    sys.exit(main())
