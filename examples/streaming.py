"""Streaming: the run as it happens, word by word and step by step. Leaving the `async with` early would stop all of it."""

import asyncio

import agentsdk
from agentsdk import (
    Agent,
    AgentUpdatedStreamEvent,
    ModelSettings,
    OutputTextDelta,
    RawResponsesStreamEvent,
    Runner,
    RunItemStreamEvent,
    ToolCallItem,
    ToolCallOutputItem,
    function_tool,
)


@function_tool(effect="none")
def find_recipe(dish: str) -> str:
    """Find a recipe."""
    return f"{dish}: boil water, add salt, cook for nine minutes, serve."


# The call is forced because a small model would often rather talk; see examples/tools.py.
cook = Agent(
    name="Cook",
    instructions="Explain the recipe in one short sentence.",
    tools=[find_recipe],
    model_settings=ModelSettings(tool_choice="find_recipe", temperature=0, max_tokens=60, stop=("\n",)),
)


async def main() -> None:
    async with Runner.run_streamed(cook, "How do I make spaghetti?") as run:
        async for event in run:
            match event:
                case RawResponsesStreamEvent(data=OutputTextDelta(delta=text)):
                    print(text, end="", flush=True)
                case AgentUpdatedStreamEvent(new_agent=agent):
                    print(f"[{agent.name} takes over]")
                case RunItemStreamEvent(item=ToolCallItem(raw_item=call)):
                    print(f"[calls {call.name}({call.arguments})]")
                case RunItemStreamEvent(item=ToolCallOutputItem(output=output)):
                    print(f"[gets {output!r}]")
                case _:
                    pass  # deltas of call arguments, whole messages, ...
        print(f"\n[{run.turns} turns, {run.usage.output_tokens} tokens written]")
    await agentsdk.aclose()


if __name__ == "__main__":
    asyncio.run(main())
