"""Handoffs: a triage agent gives the conversation to a specialist, who goes on with all of it."""

import asyncio
from typing import Annotated, Literal

from pydantic import BaseModel, Field

import agentsdk
from agentsdk import Agent, ModelSettings, RunContextWrapper, Runner, handoff

brief = ModelSettings(temperature=0, max_tokens=60, stop=("\n",))
billing = Agent(name="Billing", instructions="You handle invoices. Reply in one short sentence.", model_settings=brief)
repairs = Agent(name="Repairs", instructions="You repair bicycles. Reply in one short sentence.", model_settings=brief)


class Case(BaseModel):
    """What the model fills in when it hands over to Repairs: a handoff may carry a typed payload."""

    part: Annotated[str, Field(max_length=30)]
    urgency: Literal["low", "high"]


def note(context: RunContextWrapper[None], case: Case) -> None:
    print(f"[noted for Repairs: {case.part!r}, urgency {case.urgency}]")


# tool_choice="required" makes it hand over rather than answer. To whom is up to the model, and a small one may choose badly.
triage = Agent(
    name="Triage",
    instructions="Hand the customer over to the right agent.",
    handoffs=[billing, handoff(repairs, on_handoff=note, input_type=Case)],
    model_settings=brief.resolve(ModelSettings(tool_choice="required")),
)


async def main() -> None:
    result = await Runner.run(triage, "The brakes of my bicycle squeak. Can you fix them?")
    print(f"{triage.name} -> {result.last_agent.name}: {result.final_output}")
    await agentsdk.aclose()


if __name__ == "__main__":
    asyncio.run(main())
