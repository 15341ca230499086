"""Streaming: a run as it happens, word by word and step by step. Leaving the `async with` early would stop all of it."""

import asyncio

import agentsdk
from agentsdk import (
    Agent,
    AgentUpdatedStreamEvent,
    ModelSettings,
    OutputTextDelta,
    RawResponsesStreamEvent,
    RunItemStreamEvent,
    Runner,
    ToolCallItem,
    ToolCallOutputItem,
    function_tool,
)


@function_tool(effect="none")
def next_train(to: str) -> str:
    """When the next train leaves."""
    return f"The next train to {to} leaves at 9:15 from platform 4."


# The call is forced because a small model would often rather talk; see tools.py.
conductor = Agent(
    name="Conductor",
    instructions="Answer in one short sentence.",
    tools=[next_train],
    model_settings=ModelSettings(tool_choice="next_train", temperature=0, max_tokens=60, stop=("\n",)),
)


async def main() -> None:
    async with Runner.run_streamed(conductor, "When does the next train to Milan leave?") as run:
        async for event in run:
            match event:
                case RawResponsesStreamEvent(data=OutputTextDelta(delta=text)):
                    print(text, end="", flush=True)
                case AgentUpdatedStreamEvent(new_agent=agent):
                    print(f"[{agent.name} takes over]")
                case RunItemStreamEvent(item=ToolCallItem(raw_item=call)):
                    print(f"[calls {call.name}({call.arguments})]")
                case RunItemStreamEvent(item=ToolCallOutputItem(output=output)):
                    print(f"[is told {output!r}]")
                case _:
                    pass  # deltas of call arguments, whole messages, ...
        print(f"\n[{run.turns} turns, {run.usage.output_tokens} tokens written]")
    await agentsdk.aclose()


if __name__ == "__main__":
    asyncio.run(main())
