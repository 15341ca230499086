"""A research loop that would go on for ever: it runs into its budget, and still answers, from what was kept back for that."""

import asyncio

import agentsdk
from agentsdk import Agent, ModelSettings, RunConfig, RunLimits, Runner, function_tool

PAGES = {
    "rome": "Rome was founded in 753 BC.",
    "paris": "Paris grew from a Gaulish town.",
    "oslo": "Oslo was founded around 1040.",
}


@function_tool(effect="none")
def search(city: str) -> str:
    """Search for the history of a city."""
    return PAGES.get(city.lower(), f"Nothing is known about {city}.")


# The call is forced in every turn: this is a researcher who never comes to an end by itself.
researcher = Agent[None, str](
    name="Researcher",
    instructions="Find out which city is the oldest.",
    tools=[search],
    model_settings=ModelSettings(tool_choice="search", temperature=0, max_tokens=60),
    reset_tool_choice=False,
)


async def main() -> None:
    limits = RunLimits(tool_calls=3, tokens=50_000, repeated_rounds=None)
    config = RunConfig(limits=limits, on_limit="finalize")
    result = await Runner.run(researcher, "Rome, Paris or Oslo?", run_config=config)
    for item in result.new_items:
        if item.type == "tool_call_output_item":
            print(f"found: {item.output}")
    print(f"answer: {result.final_output}")
    print(f"[{result.turns} turns, the last of them without tools]")
    await agentsdk.aclose()


asyncio.run(main())
