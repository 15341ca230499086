"""What a record answers: each request its reply, each call one equal recorded call, each stop what was done after it."""

from __future__ import annotations

from typing import Any

import pytest

from agentsdk import (
    Agent,
    GuardrailFunctionOutput,
    InputGuardrailTripwireTriggered,
    MemoryRunStore,
    RunConfig,
    Runner,
    RunState,
    function_tool,
    input_guardrail,
)
from agentsdk.core.keys import request_id, request_prefix
from agentsdk.engine.recorded_run import RecordedRun
from agentsdk.testing import ScriptedModel, call
from agentsdk.types.items import Message

pytestmark = pytest.mark.anyio


@function_tool(effect="none")
def look(x: int) -> str:
    """Look."""
    return f"saw {x}"


KIND = ("look", look.fingerprint, '{"x":1}')


async def looked_twice() -> tuple[Agent[Any, Any], RunState]:
    agent = Agent(name="scout", tools=[look], model=ScriptedModel([call("look", x=1), call("look", x=1), "done"]))
    return agent, (await Runner.run(agent, "go")).to_state()


async def test_a_call_claims_the_equal_one_in_its_place_or_the_first_that_is_left() -> None:
    agent, state = await looked_twice()
    record = RecordedRun(state.value, agent, 0, "replayed")
    second = record.claim(("call_2_1",), KIND)
    first = record.claim(("elsewhere",), KIND)
    assert first is not None and second is not None and first is not second
    assert first.has_result and second.has_result
    assert record.claim(("call_2_1",), KIND) is second
    assert record.claim(("a third",), KIND) is None
    assert record.claim(("another kind",), ("look", look.fingerprint, '{"x":2}')) is None


async def test_calls_before_the_replay_begins_answer_nothing() -> None:
    agent, state = await looked_twice()
    record = RecordedRun(state.value, agent, len(state.value.log), "replayed")
    assert record.claim(("call_1_1",), KIND) is None


async def test_a_reply_is_found_by_the_request_of_the_replay() -> None:
    agent, state = await looked_twice()
    record = RecordedRun(state.value, agent, 0, "replayed")
    asked = [request_id(request_prefix("replayed", ()), turn, 0, 0) for turn in (1, 2, 3)]
    assert list(record.replies) == asked
    assert record.replies[asked[2]].response.text == "done"
    assert not record.summaries


async def test_a_stop_says_which_input_the_run_was_gone_on_with() -> None:
    @input_guardrail
    def polite(context: Any, agent: Any, given: Any) -> GuardrailFunctionOutput:
        return GuardrailFunctionOutput(None, tripwire_triggered="please" not in str(given))

    agent = Agent(name="scout", input_guardrails=[polite], model=ScriptedModel(["not shown", "done"]))
    config = RunConfig(store=MemoryRunStore())
    with pytest.raises(InputGuardrailTripwireTriggered) as caught:
        await Runner.run(agent, "go", run_config=config)
    assert isinstance(caught.value.state, RunState)
    caught.value.state.replace_input("go, please")
    state = (await Runner.run(agent, caught.value.state, run_config=config)).to_state()
    record = RecordedRun(state.value, agent, 0, "replayed")
    assert record.take_stop("MaxTurnsExceeded") is None
    assert record.take_stop("InputGuardrailTripwireTriggered") == (Message("user", "go, please"),)
    assert record.take_stop("InputGuardrailTripwireTriggered") is None
