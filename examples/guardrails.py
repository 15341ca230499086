"""Guardrails: checks that can stop a run. One that has tripped stays tripped until the input is replaced."""

import asyncio
import re

import agentsdk
from agentsdk import (
    Agent,
    GuardrailFunctionOutput,
    InputGuardrailTripwireTriggered,
    Item,
    ItemHelpers,
    ModelSettings,
    RunContextWrapper,
    Runner,
    RunState,
    input_guardrail,
    output_guardrail,
)

CARD = re.compile(r"\b(?:\d[ -]?){13,16}\b")


@input_guardrail
def no_card_numbers(
    context: RunContextWrapper[None], agent: Agent[None, str], items: tuple[Item, ...]
) -> GuardrailFunctionOutput:
    found = any(CARD.search(ItemHelpers.extract_last_text(item) or "") for item in items)
    return GuardrailFunctionOutput({"card number": found}, tripwire_triggered=found)


@output_guardrail
def no_promises(context: RunContextWrapper[None], agent: Agent[None, str], output: str) -> GuardrailFunctionOutput:
    return GuardrailFunctionOutput(None, tripwire_triggered="guarantee" in output.lower())


clerk = Agent[None, str](
    name="Clerk",
    instructions="Answer in one short sentence.",
    input_guardrails=[no_card_numbers],
    output_guardrails=[no_promises],
    model_settings=ModelSettings(temperature=0, max_tokens=60, stop=("\n",)),
)


async def main() -> None:
    try:
        result = await Runner.run(clerk, "My card is 4111 1111 1111 1111. What is the capital of Spain?")
    except InputGuardrailTripwireTriggered as error:
        print(f"stopped: {error}")
        assert isinstance(error.state, RunState)
        error.state.replace_input("What is the capital of Spain?")
        result = await Runner.run(clerk, error.state)
    print(f"answer: {result.final_output}")
    for verdict in (*result.input_guardrail_results, *result.output_guardrail_results):
        print(f"[{verdict.guardrail}: {verdict.output}]")
    await agentsdk.aclose()


if __name__ == "__main__":
    asyncio.run(main())
