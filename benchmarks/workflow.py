"""`python -m benchmarks.workflow`: what a recorded step costs, alone, beside a recorded call of a tool, and beside peers.

A chain of steps that do nothing, without a store: a step may take 15 µs of CPU time, of ten thousand as of a thousand. With
SQLite it may take 1.2 times what a recorded call of a tool takes, at the same durability. A workflow of 100,000 finished steps
comes to its next step within 2 s of CPU time. Of several rounds the best counts.

Then the same chain beside langgraph's functional API, pydantic-graph and DBOS, interleaved, each round in fresh processes
(`benchmarks.steps`): the CPU time of a step without a store, and in a SQLite file each commit of which waits for the disk; and
what a run that was killed behind a thousand steps takes to come back there. Must be ahead of all. `--no-peers` leaves them out.
langgraph begins the next step while the result of the one before is on its way to the disk, the others when it is there.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import subprocess
import sys
import tempfile
import time
from collections import defaultdict
from collections.abc import AsyncGenerator, Awaitable, Callable
from pathlib import Path

from agentsdk import Agent, FunctionCall, ModelRequest, ModelResponse, RunConfig, RunLimits, Runner, RunState, SQLiteRunStore
from agentsdk import function_tool as tool
from agentsdk.core.state import fold
from agentsdk.events import ResponseCompleted, RunEnded
from benchmarks.envs import REPO, EnvError, ensure
from benchmarks.processes import environment
from benchmarks.report import rows_table
from benchmarks.steps.agentsdk import chain

ROUNDS = 7
STEPS = 200
STEP, BESIDE_TOOL, RESUME = 15.0, 1.2, 2.0
"""µs of a step, times what a call takes, seconds."""

OURS = "agentsdk"
CONTESTANTS = {
    OURS: ("agentsdk", "memory", "SQLite"),
    "langgraph": ("langgraph-sqlite", "memory", "SQLite"),
    "pydantic-graph": ("pydantic-graph", "memory"),
    "DBOS": ("dbos", "SQLite"),
}
"""Each one's environment, and where it keeps steps: pydantic-graph has no store, DBOS needs one."""

PEER_ROUNDS = 3
SIZES = (10, 100, 1_000, 10_000)
BEHIND = 1_000
"""The finished steps of the runs that are resumed."""


@tool(effect="none", polling=True)
async def add_tool(a: int, b: int) -> str:
    """Add."""
    return str(a + b)


class Calling:
    """A model that asks for all the calls at once."""

    name = "calling"

    async def stream(self, request: ModelRequest) -> AsyncGenerator[ResponseCompleted, None]:
        calls = tuple(FunctionCall(f"c{number}", "add_tool", '{"a": 1, "b": 1}') for number in range(STEPS))
        yield ResponseCompleted(ModelResponse(calls))


async def best(*works: Callable[[], Awaitable[None]]) -> list[float]:
    """Seconds of CPU time of each one's best round; they take turns."""
    times: list[list[float]] = [[] for _ in works]
    for _ in range(ROUNDS):
        for work, took in zip(works, times, strict=True):
            began = time.process_time()
            await work()
            took.append(time.process_time() - began)
    return [min(took) for took in times]


async def alone(steps: int) -> float:
    """µs of a step without a store."""

    async def work() -> None:
        await chain.run(steps)

    (seconds,) = await best(work)
    return seconds / steps * 1e6


async def stored(folder: Path) -> tuple[float, float]:
    """µs of a step and of a call of a tool, each recorded in SQLite, one after the other."""
    store = SQLiteRunStore(folder / "runs.db")
    agent = Agent(name="Caller", tools=[add_tool], model=Calling(), tool_use_behavior="stop_on_first_tool")
    config = RunConfig(store=store, max_tool_concurrency=1, limits=RunLimits(turns=None))

    async def steps() -> None:
        await chain.run(STEPS, run_config=config)

    async def calls() -> None:
        await Runner.run(agent, "go", run_config=config)

    try:
        of_steps, of_calls = await best(steps, calls)
        return of_steps / STEPS * 1e6, of_calls / STEPS * 1e6
    finally:
        await store.aclose()


async def resumed(steps: int) -> float:
    """Seconds until a workflow of so many finished steps has come to what is next."""
    log = [event for event in (await chain.run(steps)).to_state().value.log if not isinstance(event, RunEnded)]

    async def work() -> None:
        await Runner.run(chain, RunState(fold(log)))

    (seconds,) = await best(work)
    return seconds


async def bounds() -> bool:
    """Measure agentsdk by itself; whether every bound was kept."""
    few, many = await alone(1_000), await alone(10_000)
    with tempfile.TemporaryDirectory() as folder:
        of_step, of_call = await stored(Path(folder))
    seconds = await resumed(100_000)
    print(f"a step without a store: {few:.1f} µs of 1,000, {many:.1f} µs of 10,000 (bound {STEP:g})")
    times = f"{of_step / of_call:.2f} times (bound {BESIDE_TOOL})"
    print(f"in SQLite: a step {of_step:.0f} µs, a call of a tool {of_call:.0f} µs: {times}")
    print(f"100,000 finished steps resumed in {seconds:.2f} s (bound {RESUME:g})")
    return many <= STEP and of_step <= BESIDE_TOOL * of_call and seconds <= RESUME


Figures = dict[str, list[float]]
"""A contestant's figures by their names, one a round."""


def ask(name: str, what: str, file: str, *steps: int) -> str:
    """What the process of a contestant prints. Raises `EnvError` where it cannot be installed, or fails."""
    python = ensure(CONTESTANTS[name][0]).python
    module = f"benchmarks.steps.{name.lower().replace('-', '_')}"
    command = [str(python), "-m", module, what, file, *map(str, steps)]
    done = subprocess.run(command, capture_output=True, text=True, check=False, cwd=REPO, env=environment())
    if done.returncode:
        raise EnvError(f"{name} failed: {done.stderr.strip().splitlines()[-1]}")
    return done.stdout


def round_of(name: str, sizes: tuple[int, ...], figures: Figures) -> None:
    """Measure a contestant once."""
    for place in CONTESTANTS[name][1:]:
        with tempfile.TemporaryDirectory(prefix="agentsdk-steps-") as folder:
            is_stored = place == "SQLite"
            printed = ask(name, "measure", f"{folder}/runs.db" if is_stored else "-", *sizes)
            for steps, microseconds in json.loads(printed).items():
                figures[f"{place}, a step of {int(steps):,}, CPU µs"].append(microseconds)
            if is_stored:
                ask(name, "fill", f"{folder}/killed.db", BEHIND)
                seconds = float(ask(name, "resume", f"{folder}/killed.db", BEHIND))
                figures[f"resumed behind {BEHIND:,} steps, CPU ms"].append(seconds * 1e3)


def beside_peers() -> bool:
    """Measure all contestants, one after another in each round; whether agentsdk is ahead of all in everything."""
    figures: dict[str, Figures] = {name: defaultdict(list) for name in CONTESTANTS}
    for number in range(PEER_ROUNDS):
        for name in list(figures):
            try:
                round_of(name, SIZES if number == 0 else SIZES[:-1], figures[name])
            except EnvError as error:
                print(f"{name} is left out: {error}")
                del figures[name]
    bests = {name: {key: min(values) for key, values in given.items()} for name, given in figures.items()}
    rows: list[tuple[object, ...]] = [("", *bests)]
    ahead = True
    for key, ours in bests[OURS].items():
        ahead = ahead and all(ours < given[key] for name, given in bests.items() if name != OURS and key in given)
        rows.append((key, *(f"{given[key]:,.0f}" if key in given else "" for given in bests.values())))
    print(f"\n{rows_table(rows)}\n\nahead of all: {'PASS' if ahead else 'MISS'}")
    return ahead


def main() -> int:
    """Measure; 1 if a bound is missed."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.workflow", description="what a recorded step costs")
    parser.add_argument("--peers", action=argparse.BooleanOptionalAction, default=True, help="the peers too")
    peers = parser.parse_args().peers
    kept = asyncio.run(bounds())
    return int(not ((not peers or beside_peers()) and kept))


if __name__ == "__main__":
    sys.exit(main())
