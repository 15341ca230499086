"""Structured output: with an `output_type` the answer is a checked object of that type, not text.

An answer that does not fit goes back to the model once; then the run ends with a typed error.
"""

import asyncio
from typing import Annotated, Literal

from pydantic import BaseModel, Field

import agentsdk
from agentsdk import Agent, ModelSettings, Runner

Day = Literal["Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday"]
Name = Annotated[str, Field(max_length=20)]  # bounds keep a small model from running on for ever


class Meeting(BaseModel):
    """A meeting."""

    day: Day
    city: Name
    people: Annotated[list[Name], Field(max_length=2)]


secretary = Agent[None, Meeting](
    name="Secretary",
    instructions="Extract the meeting.",
    output_type=Meeting,
    model_settings=ModelSettings(temperature=0),
)


async def main() -> None:
    result = await Runner.run(secretary, "Alice and Bob meet on Friday in Oslo.")
    meeting = result.final_output  # a Meeting, for the type checkers as well
    print(f"day:  {meeting.day}\ncity: {meeting.city}\nwho:  {' and '.join(meeting.people)}")
    await agentsdk.aclose()


if __name__ == "__main__":
    asyncio.run(main())
