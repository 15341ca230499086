"""What happens in a stored run, watched from outside: by its log, from any revision on, and by its deltas in its own process.

python examples/watch.py
"""

import asyncio

from agentsdk import (
    Agent,
    ModelSettings,
    OutputTextDelta,
    RawResponsesStreamEvent,
    RunConfig,
    Runner,
    SQLiteRunStore,
    function_tool,
)
from agentsdk.events import RecordedEvent


@function_tool(effect="none")
def get_weather(city: str) -> str:
    """The weather in a city."""
    return f"The weather in {city} is sunny, 24 degrees."


reporter = Agent[None, str](
    name="Reporter", tools=[get_weather], model_settings=ModelSettings(tool_choice="get_weather", temperature=0, max_tokens=60)
)


async def watch(config: RunConfig, after: int) -> int:
    """Print what happens in the run, from revision `after` on; the last one seen."""
    async for event in Runner.watch("weather", run_config=config, after=after):
        if isinstance(event, RecordedEvent):
            after = event.revision
            print(f"{after}: {type(event.event).__name__}")
        elif isinstance(event, RawResponsesStreamEvent) and isinstance(event.data, OutputTextDelta):
            print(f"   {event.data.delta!r}")
    return after


async def main() -> None:
    store = SQLiteRunStore("runs.db")
    config = RunConfig(store=store)
    await Runner.submit(reporter, "What is the weather in Rome?", run_id="weather", run_config=config)
    watching = asyncio.create_task(watch(config, 0))
    await asyncio.sleep(0)
    result = await Runner.drive(reporter, "weather", run_config=config)
    last = await watching
    print(f"answer: {result.final_output}")
    print(f"again from {last - 1}:")
    await watch(config, last - 1)
    await store.aclose()


if __name__ == "__main__":
    asyncio.run(main())
