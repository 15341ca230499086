"""Triage: the first agent looks at a request, and hands it with a typed note to the one that is good at it.

    pip install 'agentsdk[local]' && python -m agentsdk.models.local    # a model on this machine; or AGENTSDK_MODEL and a key
    python examples/triage.py
    python examples/triage.py "My bill is too high."
    cd examples && python -m pytest test_triage.py                      # who gets what, without a model

A note that does not fit goes back to the first agent. The program sees each before the other agent begins.
"""

from __future__ import annotations

import asyncio
import sys
from dataclasses import dataclass, field
from typing import Annotated, Literal

from pydantic import BaseModel, Field

import agentsdk
from agentsdk import Agent, HandoffInputData, ModelSettings, RunContextWrapper, Runner, function_tool, handoff
from agentsdk.handoffs import HandoffDeclaration


class Ticket(BaseModel):
    """A customer's matter."""  # the model reads this and the descriptions below

    urgency: Literal["low", "normal", "high"]
    about: Annotated[str, Field(max_length=40, description="what the customer asks, in a few words")]


@dataclass
class Desk:
    """What the program keeps of a conversation; no model sees it."""

    tickets: list[tuple[str, Ticket]] = field(default_factory=list[tuple[str, Ticket]])


@function_tool(effect="none")
def last_bill() -> str:
    """The customer's last bill."""
    return "March: 49 euros, of which 20 euros are for calls abroad."


brief = ModelSettings(temperature=0, max_tokens=60, stop=("\n",))
billing = Agent[Desk, str](
    name="Billing",
    handoff_description="Bills, payments, money back.",
    instructions="You answer questions about bills in one short sentence. Look at the last bill first.",
    tools=[last_bill],
    model_settings=brief,
)
repairs = Agent[Desk, str](
    name="Repairs",
    handoff_description="Something does not work.",
    instructions="You help with what is broken, in one short sentence: ask what is needed to mend it.",
    model_settings=brief,
)


def goes_to(specialist: Agent[Desk, str]) -> HandoffDeclaration[Desk]:
    """A handoff that is noted by the program before the specialist begins."""

    def note(context: RunContextWrapper[Desk], ticket: Ticket) -> None:
        context.context.tickets.append((specialist.name, ticket))

    return handoff(specialist, input_type=Ticket, on_handoff=note, input_filter=question_only)


def question_only(data: HandoffInputData) -> HandoffInputData:
    """What the specialist sees: the conversation without the handoff itself, which would puzzle a small model."""
    return data.clone(new_items=())


# tool_choice="required": it hands over, and never answers itself. To whom is the model's choice.
triage = Agent[Desk, str](
    name="Triage",
    instructions="You answer nothing yourself. Hand the customer over to whoever can help.",
    handoffs=[goes_to(billing), goes_to(repairs)],
    model_settings=ModelSettings(tool_choice="required", temperature=0, max_tokens=80),
)


async def main(questions: list[str]) -> None:
    for question in questions:
        desk = Desk()
        result = await Runner.run(triage, question, context=desk)
        print(f"{question}")
        for name, ticket in desk.tickets:
            print(f"  {triage.name} -> {name} ({ticket.urgency}): {ticket.about}")
        print(f"  {result.last_agent.name}: {result.final_output}")
    await agentsdk.aclose()


if __name__ == "__main__":
    asyncio.run(main(sys.argv[1:] or ["Why is my bill so high?", "My phone does not ring."]))
