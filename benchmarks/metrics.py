"""`python -m benchmarks.metrics`: what metrics add to a model call and to a tool call, in microseconds of processor time.

Runs of a model that answers at once, with a provider of meters and without, by turns in one process; the best of many short
rounds each. Turns of one call and of three are measured, so that model and tool calls can be told apart. What the SDK takes to
record is shown too: a reader pays it, on its own thread.
"""

from __future__ import annotations

import argparse
import asyncio
import gc
import time

from opentelemetry.metrics import set_meter_provider
from opentelemetry.sdk.metrics import MeterProvider
from opentelemetry.sdk.metrics.export import InMemoryMetricReader

from agentsdk import Agent, RunConfig, RunLimits, Runner, function_tool
from agentsdk.testing import ScriptedModel, call

TURNS = 50
READER = InMemoryMetricReader()


@function_tool
def look(n: int) -> str:
    """Something."""
    return str(n)


async def seconds_of(calls: int, *, measured: bool) -> float:
    """Processor time of a turn with `calls` calls."""
    config = RunConfig(tracing_disabled=not measured, limits=RunLimits(turns=None))
    turns = [[call("look", n=calls * turn + one) for one in range(calls)] for turn in range(TURNS - 1)]
    agent = Agent(name="Clerk", tools=[look], model=ScriptedModel([*turns, "done"]))
    gc.collect()
    began = time.process_time()
    await Runner.run(agent, "go", run_config=config)
    return (time.process_time() - began) / TURNS


def measure(calls: int, rounds: int) -> tuple[float, float, float]:
    """Microseconds of a turn without metrics, what they add, and what a reader takes for it."""
    off, on, read = [], [], []
    for _ in range(rounds):
        off.append(asyncio.run(seconds_of(calls, measured=False)))
        on.append(asyncio.run(seconds_of(calls, measured=True)))
        began = time.process_time()
        READER.get_metrics_data()
        read.append((time.process_time() - began) / TURNS)
    return min(off) * 1e6, (min(on) - min(off)) * 1e6, min(read) * 1e6


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.metrics", description="what metrics add to a run")
    parser.add_argument("--rounds", type=int, default=200)
    flags = parser.parse_args()
    set_meter_provider(MeterProvider([READER]))
    turn, of_one, read = measure(1, flags.rounds)
    _, of_three, _ = measure(3, flags.rounds)
    tool = (of_three - of_one) / 2
    print(f"a turn with a call, without metrics {turn:8.1f} µs")
    print(f"metrics add to a model call         {of_one - tool:8.1f} µs")
    print(f"metrics add to a tool call          {tool:8.1f} µs")
    print(f"a reader takes for a turn           {read:8.1f} µs")


if __name__ == "__main__":
    main()
