"""An agent as a tool: another agent calls it and goes on with its answer. Both share one run: its log, limits and approvals."""

import asyncio
from dataclasses import dataclass

import agentsdk
from agentsdk import Agent, ModelSettings, Runner, ToolCallItem, ToolCallOutputItem, ToolContext


@dataclass
class Phrase:
    """What a call of the translator takes."""

    text: str
    polite: bool


def as_request(context: ToolContext[None], phrase: Phrase) -> str:
    """The translator's input, made of that."""
    return f"{phrase.text} ({'polite' if phrase.polite else 'familiar'})"


translator = Agent[None, str](
    name="Translator",
    instructions="Translate the user's text into French. Reply with the translation only.",
    model_settings=ModelSettings(temperature=0, max_tokens=60, stop=("\n",)),
)

# The first call is forced, and what the tool returns is the answer: a small model would only blur it.
concierge = Agent[None, str](
    name="Concierge",
    instructions="You help travellers.",
    tools=[
        translator.as_tool(
            "translate", "Translate a text into French.", parameters=Phrase, input_builder=as_request, max_turns=3
        )
    ],
    tool_use_behavior="stop_on_first_tool",
    model_settings=ModelSettings(tool_choice="translate", temperature=0, max_tokens=60),
)


async def main() -> None:
    result = await Runner.run(concierge, "How do I say 'Good morning' in French?")
    for item in result.new_items:
        if isinstance(item, ToolCallItem):
            print(f"{item.agent.name} calls {item.raw_item.name}({item.raw_item.arguments})")
        elif isinstance(item, ToolCallOutputItem):
            print(f"{translator.name} says {item.output!r}")
    print(f"answer: {result.final_output}")
    print(f"[{result.usage.requests} requests, {result.usage.total_tokens} tokens, both agents together]")
    await agentsdk.aclose()


if __name__ == "__main__":
    asyncio.run(main())
