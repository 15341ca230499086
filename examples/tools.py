"""Tools: functions the model may call. Their names, docstrings and type hints are all that it is told of them."""

import asyncio
from dataclasses import dataclass

import agentsdk
from agentsdk import Agent, ModelSettings, Runner, ToolCallItem, ToolCallOutputItem, ToolContext, function_tool


@dataclass
class Station:
    """What tools work with and the model never sees."""

    temperatures: dict[str, int]


@function_tool(effect="none")  # running it again changes nothing, so after a crash it is simply run again
def get_weather(ctx: ToolContext[Station], city: str) -> str:
    """The weather in a city right now.

    Args:
        city: The name of the city.
    """
    degrees = ctx.context.temperatures.get(city, 20)
    return f"The weather in {city} is sunny, {degrees} degrees."


# A small model would often rather talk, so this agent has to call the tool first. Afterwards it is free to answer.
forecaster = Agent[Station, str](
    name="Forecaster",
    instructions="Answer in one short sentence.",
    tools=[get_weather],
    model_settings=ModelSettings(tool_choice="get_weather", temperature=0, max_tokens=60, stop=("\n",)),
)


async def main() -> None:
    result = await Runner.run(forecaster, "What is the weather in Rome?", context=Station({"Oslo": 3, "Rome": 24}))
    for item in result.new_items:
        if isinstance(item, ToolCallItem):
            print(f"called {item.raw_item.name}({item.raw_item.arguments})")
        elif isinstance(item, ToolCallOutputItem):
            print(f"    -> {item.output}")
    print(f"answer: {result.final_output}")
    await agentsdk.aclose()


if __name__ == "__main__":
    asyncio.run(main())
