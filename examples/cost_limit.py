"""A run pauses at its cost limit; a person raises it, and another process goes on.

python examples/cost_limit.py              # runs until the limit, then starts the second process
python examples/cost_limit.py runs.db      # what that one does: raise the limit, go on
"""

import asyncio
import os
import subprocess
import sys
import tempfile
from pathlib import Path

import agentsdk
from agentsdk import Agent, ModelPrice, ModelSettings, RunConfig, RunLimits, Runner, RunStore, SQLiteRunStore, function_tool

MODEL = os.environ.get("AGENTSDK_MODEL", "smollm2")
# Your own prices, in dollars for a million tokens; without any, those of the extra `prices` count.
PRICES = {MODEL: ModelPrice(input="1000", output="1000")}


@function_tool(effect="none")
def look_up(city: str) -> str:
    """The population of a city."""
    return f"{city} has 2.8 million people."


clerk = Agent[None, str](
    name="Clerk",
    tools=[look_up],
    model_settings=ModelSettings(tool_choice="look_up", temperature=0, max_tokens=40),
)


def config(store: RunStore) -> RunConfig:
    return RunConfig(store=store, run_id="question-1", limits=RunLimits(cost="0.15"), on_limit="pause", prices=PRICES)


async def begin(store: RunStore) -> None:
    """Run until the next request could cost more than is left."""
    result = await Runner.run(clerk, "How many people live in Rome?", run_config=config(store))
    reached = result.limit_reached
    assert reached is not None
    print(f"paused: the limit on {reached.limit} is {reached.allowed} dollars", flush=True)


async def go_on(store: RunStore) -> None:
    """Raise the limit, as a person would, and go on."""
    state = await Runner.load("question-1", run_config=config(store))
    state.raise_limit("cost", "1.50")
    await Runner.decide(state, run_config=config(store))
    result = await Runner.resume(clerk, "question-1", run_config=config(store))
    print(f"answer: {result.final_output}")


async def main() -> None:
    with tempfile.TemporaryDirectory() as folder:
        is_first = len(sys.argv) == 1
        path = Path(folder) / "runs.db" if is_first else Path(sys.argv[1])
        store = SQLiteRunStore(path)
        await (begin if is_first else go_on)(store)
        await store.aclose()
        await agentsdk.aclose()
        if is_first:
            subprocess.run([sys.executable, __file__, path], check=True)


asyncio.run(main())
