"""Models: one chosen for each turn, asked again where it fails, its replies cached; and one request without an agent.

python examples/models.py
"""

from __future__ import annotations

import asyncio
import os
from dataclasses import dataclass

import agentsdk
from agentsdk import Agent, LocalModel, Model, ModelSettings, OpenAIChatCompletionsModel, Runner, function_tool
from agentsdk.models import CachedModel, MemoryResponseCache, RetryingModel, respond
from agentsdk.runs import TurnContext


@dataclass
class Place:
    city: str


@function_tool(effect="none")
def count_people(city: str) -> str:
    """The population of a city."""
    return f"{city} has 2.8 million people."


NAME = os.environ.get("AGENTSDK_MODEL")
careful = OpenAIChatCompletionsModel(NAME) if NAME else LocalModel("smollm2")  # in production a big one
quick = CachedModel(RetryingModel(careful), MemoryResponseCache())  # and a small one, which costs nothing when asked again


def by_turn(context: TurnContext[None], agent: Agent[None, str]) -> Model:
    """The quick model says what to look up, the careful one says what was found."""
    print(f"turn {context.turn}: {'quick' if context.turn == 1 else 'careful'}")
    return quick if context.turn == 1 else careful


guide = Agent[None, str](
    name="Guide",
    instructions="Say in one short sentence what you were told.",
    tools=[count_people],
    model=by_turn,
    model_settings=ModelSettings(tool_choice="count_people", temperature=0, max_tokens=40),
)


async def main() -> None:
    settings = ModelSettings(temperature=0, max_tokens=40)
    asked = await respond(careful, "How many people live in Rome?", output_type=Place, settings=settings)
    print("about: ", asked.final_output.city)
    for _ in range(2):
        result = await Runner.run(guide, "How many people live in Rome?")
        print(f"answer: {result.final_output} [{result.usage.requests} sent, {result.usage.unsent} from the cache]")
    await agentsdk.aclose()


if __name__ == "__main__":
    asyncio.run(main())
