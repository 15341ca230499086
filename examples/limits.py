"""Limits: reaching one is a typed error that carries the run. Resumed with a higher limit, it goes on and repeats nothing."""

import asyncio

import agentsdk
from agentsdk import Agent, MaxTurnsExceeded, ModelSettings, Runner, function_tool


@function_tool
def book_table(guests: int) -> str:
    """Book a table."""
    print(f"[booked for {guests}]")  # seen once: the resumed run has the result already
    return f"A table for {guests} is booked."


# The call is forced because a small model would often rather talk; see tools.py.
host = Agent(
    name="Host",
    instructions="Confirm in one short sentence.",
    tools=[book_table],
    model_settings=ModelSettings(tool_choice="book_table", temperature=0, max_tokens=60, stop=("\n",)),
)


async def main() -> None:
    try:
        result = await Runner.run(host, "A table for two, please.", max_turns=1)
    except MaxTurnsExceeded as error:
        print(f"stopped: {error}")
        assert error.state is not None
        result = await Runner.run(host, error.state, max_turns=5)
    print(f"after {result.turns} turns: {result.final_output}")
    await agentsdk.aclose()


if __name__ == "__main__":
    asyncio.run(main())
