"""Two hundred tools, of which the model is shown those that the request is about.

    python examples/tool_selection.py

Each tool looks something up about one of forty things in one of five cities. All of them would fill a small model's context.
"""

from __future__ import annotations

import asyncio

import agentsdk
from agentsdk import Agent, FunctionTool, ModelRequest, ModelSettings, RunConfig, Runner, function_tool
from agentsdk.toolsets import SelectedToolset, ToolRegistry

CITIES = ["Rome", "Oslo", "Lima", "Cairo", "Kyoto"]
THINGS = """
    airport bakery bank beach bridge bus castle cathedral cinema ferry fire garden gym harbour hospital hostel hotel library
    market metro museum opera palace park parking pharmacy police pool post restaurant river school stadium station taxi theatre
    tower tram weather zoo
"""


def lookup(city: str, thing: str) -> FunctionTool[None]:
    @function_tool(
        name_override=f"{city}_{thing}".lower(), description_override=f"The {thing} of the city {city}.", effect="none"
    )
    def look_up() -> str:
        return f"The {thing} in {city} is fine today."

    return look_up


guide = ToolRegistry[None]([lookup(city, thing) for city in CITIES for thing in THINGS.split()], name="guide")


def show(request: ModelRequest) -> ModelRequest:
    """A filter of what the model is sent, which only looks."""
    print("offered:", ", ".join([tool.name for tool in request.tools]))
    return request


agent = Agent[None, str](
    name="Guide",
    toolsets=[SelectedToolset(guide, top=3)],
    tool_use_behavior="stop_on_first_tool",  # what the tool returns is the answer
    model_settings=ModelSettings(tool_choice="oslo_weather", temperature=0),  # a small model has to be told
)


async def main() -> None:
    print(len(guide), "tools")
    config = RunConfig(call_model_input_filter=show)
    result = await Runner.run(agent, "I am off to Oslo. What will the weather be like?", run_config=config)
    print("answer:", result.final_output)
    await agentsdk.aclose()


if __name__ == "__main__":
    asyncio.run(main())
