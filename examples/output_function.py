"""An output function: the model gives its arguments, and what it returns is the final output of the run.

Here the model gives them as the arguments of a call, `mode="tool"`; what the function raises would go back to the model.
"""

import asyncio
from dataclasses import dataclass
from typing import Literal

import agentsdk
from agentsdk import Agent, ModelSettings, OutputFunction, Runner

PRICES = {"adult": 12, "child": 5}


@dataclass
class Ticket:
    kind: str
    price: int


def sell(kind: Literal["adult", "child"]) -> Ticket:
    """Sell a ticket of a kind."""
    return Ticket(kind, PRICES[kind])


cashier = Agent[None, Ticket](
    name="Cashier",
    instructions="Sell the ticket that is asked for.",
    output_type=OutputFunction(sell, mode="tool"),
    model_settings=ModelSettings(temperature=0),
)


async def main() -> None:
    result = await Runner.run(cashier, "A ticket for a child, please.")
    ticket = result.final_output  # a Ticket, for the type checkers as well
    print(f"{ticket.kind}: {ticket.price} euros")
    await agentsdk.aclose()


if __name__ == "__main__":
    asyncio.run(main())
