"""`python -m benchmarks.workflow`: what a recorded step costs, alone and beside a recorded call of a tool; what resuming costs.

A chain of steps that do nothing, without a store: a step may take 15 µs of CPU time, of ten thousand as of a thousand. With
SQLite it may take 1.2 times what a recorded call of a tool takes, at the same durability. A workflow of 100,000 finished steps
comes to its next step within 2 s of CPU time. Of several rounds the best counts.
"""

from __future__ import annotations

import asyncio
import sys
import tempfile
import time
from collections.abc import AsyncGenerator, Awaitable, Callable
from pathlib import Path

from agentsdk import Agent, FunctionCall, ModelRequest, ModelResponse, RunConfig, RunLimits, Runner, RunState, SQLiteRunStore
from agentsdk import function_tool as tool
from agentsdk.core.state import fold
from agentsdk.events import ResponseCompleted, RunEnded
from agentsdk.workflow import step, workflow

ROUNDS = 5
STEPS = 200
STEP, BESIDE_TOOL, RESUME = 15.0, 1.2, 2.0
"""µs of a step, times what a call takes, seconds."""


@step(effect="none")
async def add(a: int, b: int) -> int:
    return a + b


@workflow
async def chain(steps: int) -> int:
    total = 0
    for _ in range(steps):
        total = await add(total, 1)
    return total


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


async def best(work: Callable[[], Awaitable[None]]) -> float:
    """Seconds of CPU time of the best round."""
    times: list[float] = []
    for _ in range(ROUNDS):
        began = time.process_time()
        await work()
        times.append(time.process_time() - began)
    return min(times)


async def alone(steps: int) -> float:
    """µs of a step without a store."""

    async def work() -> None:
        await chain.run(steps)

    return await best(work) / steps * 1e6


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
        return await best(steps) / STEPS * 1e6, await best(calls) / STEPS * 1e6
    finally:
        await store.aclose()


async def resumed(steps: int) -> float:
    """Seconds until a workflow of so many finished steps has come to what is next."""
    log = [event for event in (await chain.run(steps)).to_state().value.log if not isinstance(event, RunEnded)]

    async def work() -> None:
        await Runner.run(chain, RunState(fold(log)))

    return await best(work)


async def main() -> int:
    few, many = await alone(1_000), await alone(10_000)
    with tempfile.TemporaryDirectory() as folder:
        of_step, of_call = await stored(Path(folder))
    seconds = await resumed(100_000)
    print(f"a step without a store: {few:.1f} µs of 1,000, {many:.1f} µs of 10,000 (bound {STEP:g})")
    times = f"{of_step / of_call:.2f} times (bound {BESIDE_TOOL})"
    print(f"in SQLite: a step {of_step:.0f} µs, a call of a tool {of_call:.0f} µs: {times}")
    print(f"100,000 finished steps resumed in {seconds:.2f} s (bound {RESUME:g})")
    return int(many > STEP or of_step > BESIDE_TOOL * of_call or seconds > RESUME)


if __name__ == "__main__":
    sys.exit(asyncio.run(main()))
