"""Tools: functions the model may call. Their names, docstrings and type hints are all that it is told."""

import asyncio
from dataclasses import dataclass
from typing import Literal

import agentsdk
from agentsdk import Agent, ModelSettings, Runner, ToolCallItem, ToolCallOutputItem, ToolContext, function_tool


@dataclass
class Station:
    """What tools need and the model never sees."""

    readings: dict[str, float]


@function_tool(effect="none")  # running it again changes nothing, so after a crash it simply is
def get_temperature(ctx: ToolContext[Station], city: Literal["Oslo", "Rome"], unit: Literal["celsius", "fahrenheit"]) -> str:
    """The temperature in a city right now.

    Args:
        city: Where.
        unit: In which unit to answer.
    """
    celsius = ctx.context.readings[city]
    return f"{celsius if unit == 'celsius' else celsius * 9 / 5 + 32:g} degrees {unit} in {city}"


# A small model would often rather talk, so this agent has to call the tool first. Afterwards it is free to answer.
reporter = Agent[Station, str](
    name="Reporter",
    instructions="Report the temperature in one short sentence.",
    tools=[get_temperature],
    model_settings=ModelSettings(tool_choice="get_temperature", temperature=0, max_tokens=60, stop=("\n",)),
)


async def main() -> None:
    result = await Runner.run(reporter, "How warm is it in Rome?", context=Station({"Oslo": 3.5, "Rome": 24.0}))
    for item in result.new_items:
        if isinstance(item, ToolCallItem):
            print(f"called {item.raw_item.name}({item.raw_item.arguments})")
        elif isinstance(item, ToolCallOutputItem):
            print(f"     -> {item.output}")
    print(result.final_output)
    await agentsdk.aclose()


if __name__ == "__main__":
    asyncio.run(main())
