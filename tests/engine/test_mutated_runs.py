"""Saved runs, mutated and gone on with: each ends, waits, or is refused with a typed error. Nothing else happens.

`AGENTSDK_FUZZ=50000` sets how many are tried.
"""

from __future__ import annotations

from collections import Counter
from random import Random
from typing import Any

import pytest

from agentsdk import Agent, AgentsException, GuardrailFunctionOutput, Runner, RunState, input_guardrail, output_guardrail
from agentsdk.core.codec import encode
from agentsdk.errors import StateCorruptError
from agentsdk.testing import ScriptedModel
from agentsdk.types.events import GuardrailJudged, RunEnded, RunEvent, RunStarted
from agentsdk.types.items import Message
from tests.core.released import Desk, agent
from tests.core.test_mutated_states import COUNT, TEXTS, change_events, change_values

pytestmark = pytest.mark.anyio

QUESTION = (Message("user", "go"),)


async def end_of(text: str) -> str:
    """How the run goes on: its end, or the name of the typed error."""
    clerk: Agent[Any, str] = agent("done", "done", "done")
    try:
        result = await Runner.run(clerk, RunState.from_string(clerk, text), context=Desk())
        return "ends" if result.is_finished else "waits"
    except AgentsException as error:
        if type(error) is AgentsException:
            raise
        return type(error).__name__


async def test_a_mutated_run_ends_or_is_refused_with_a_typed_error() -> None:
    outcomes: Counter[str] = Counter()
    for number in range(COUNT // 8):
        random = Random(number)
        text = random.choice([change_values, change_events])(random, random.choice(TEXTS))
        try:
            outcomes[await end_of(text)] += 1
        except BaseException as error:
            error.add_note(f"mutation {number}: {text[:2000]}")
            raise
    print(f"{COUNT // 8} mutated runs: {dict(outcomes)}")
    assert {"ends", "waits", "StateCorruptError"} <= set(outcomes)


def saved(*events: RunEvent) -> str:
    return encode((RunStarted("r", "a", QUESTION, 0, 1.0), *events), (), None).decode()


@pytest.mark.parametrize("text", ["", "hello", "[", "NaN"])
async def test_text_that_is_no_json_is_corruption(text: str) -> None:

    @input_guardrail(name="g")
    async def guard(context: Any, agent: Any, items: Any) -> GuardrailFunctionOutput:
        return GuardrailFunctionOutput(None, False)

    @output_guardrail(name="o")
    async def out(context: Any, agent: Any, output: Any) -> GuardrailFunctionOutput:
        return GuardrailFunctionOutput(None, False)

    one = Agent[Any, str](name="a", model=ScriptedModel(["done"]), input_guardrails=[guard], output_guardrails=[out])
    for events in (
        [RunEnded(text, True)],
        [GuardrailJudged("g", "input", "raise_exception", text)],
    ):
        with pytest.raises(StateCorruptError, match="text that is no JSON"):
            await Runner.run(one, RunState.from_string(one, saved(*events)))
