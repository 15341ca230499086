"""Structured output: with an `output_type` the answer is a checked object of that type, not text.

An answer that does not fit goes back to the model once; then the run ends with a typed error.
"""

import asyncio
from typing import Annotated, Literal

from pydantic import BaseModel, Field

import agentsdk
from agentsdk import Agent, Runner


class Ticket(BaseModel):
    """What the support desk files. The bounds keep a small model from running on."""

    team: Literal["billing", "technical", "sales"]
    urgent: bool
    summary: Annotated[str, Field(max_length=80)]


desk = Agent[None, Ticket](name="Desk", instructions="File the customer's message as a ticket.", output_type=Ticket)


async def main() -> None:
    result = await Runner.run(desk, "I was charged twice for my order and need the money back today!")
    ticket = result.final_output  # a Ticket, for the type checker as well
    print(f"team:    {ticket.team}\nurgent:  {'yes' if ticket.urgent else 'no'}\nsummary: {ticket.summary}")
    await agentsdk.aclose()


if __name__ == "__main__":
    asyncio.run(main())
