"""Progress: what a tool does while it runs, in the stream of the run. No model sees it, and it is not recorded."""

import asyncio

import agentsdk
from agentsdk import (
    Agent,
    ModelSettings,
    RunItemStreamEvent,
    Runner,
    ToolCallOutputItem,
    ToolContext,
    ToolProgressStreamEvent,
    function_tool,
)


@function_tool(effect="none")
def measure(ctx: ToolContext[None], city: str) -> str:
    """Measure the temperature of a city."""
    for percent in (0, 50, 100):
        ctx.emit({"percent": percent})  # from a thread, as this function is not async
    return f"It has 24 degrees in {city}."


# The call is forced, and its result is the answer: a small model would only blur it.
forecaster = Agent(
    name="Forecaster",
    instructions="You measure temperatures.",
    tools=[measure],
    tool_use_behavior="stop_on_first_tool",
    model_settings=ModelSettings(tool_choice="measure", temperature=0, max_tokens=60),
)


async def main() -> None:
    async with Runner.run_streamed(forecaster, "How warm is it in Rome?") as run:
        async for event in run:
            match event:
                case ToolProgressStreamEvent(data={"percent": percent}, tool_name=tool):
                    print(f"[{tool}: {percent} %]")
                case RunItemStreamEvent(item=ToolCallOutputItem(output=output)):
                    print(output)
                case _:
                    pass
    await agentsdk.aclose()


if __name__ == "__main__":
    asyncio.run(main())
