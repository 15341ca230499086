"""Handoffs: a triage agent gives the conversation to a specialist, who goes on with it."""

import asyncio

import agentsdk
from agentsdk import Agent, HandoffInputData, ModelSettings, Runner, handoff

brief = ModelSettings(temperature=0, max_tokens=60, stop=("\n",))
maths = Agent(
    name="Maths tutor",
    instructions="Answer in one short sentence.",
    handoff_description="Questions about numbers.",
    model_settings=brief,
)
french = maths.clone(name="French tutor", handoff_description="Questions about French.")


def question_only(data: HandoffInputData) -> HandoffInputData:
    """What the tutor sees: the conversation without the handoff itself, which would only puzzle a small model."""
    return data.clone(new_items=())


# tool_choice="required" makes it hand over rather than answer. To whom is the model's choice.
triage = Agent(
    name="Triage",
    instructions="Hand over to the right tutor.",
    handoffs=[handoff(tutor, input_filter=question_only) for tutor in (maths, french)],
    model_settings=brief.resolve(ModelSettings(tool_choice="required")),
)


async def main() -> None:
    for question in ("What is the French word for cat?", "What is 2 plus 2?"):
        result = await Runner.run(triage, question)
        print(f"{question}\n  {triage.name} -> {result.last_agent.name}: {result.final_output}")
    await agentsdk.aclose()


if __name__ == "__main__":
    asyncio.run(main())
