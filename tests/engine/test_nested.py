from __future__ import annotations

import asyncio
from typing import Any

import pytest

from agentsdk import (
    Agent,
    CallbackError,
    FunctionCallOutput,
    GuardrailFunctionOutput,
    InputGuardrailTripwireTriggered,
    MaxTurnsExceeded,
    RateLimitError,
    RunConfig,
    Runner,
    RunState,
    Usage,
    input_guardrail,
)
from agentsdk.testing import ScriptedModel, call
from tests.scenarios import World, reloaded, tool_of

pytestmark = pytest.mark.anyio


def helper_with(*replies: Any, **fields: Any) -> Agent[Any, Any]:
    return Agent("helper", model=ScriptedModel(replies), **fields)


def agent_with(tools: list[Any], *replies: Any) -> Agent[Any, Any]:
    return Agent("main", model=ScriptedModel([*replies, "done"]), tools=tools)


def outputs(result: Any) -> list[Any]:
    return [item.output for item in result.to_state().items() if isinstance(item, FunctionCallOutput)]


async def test_the_nested_runs_output_is_the_calls_result_and_its_usage_counts() -> None:
    helper = helper_with(call("dig", x=1), "dug", tools=[tool_of(World(), "dig")])
    result = await Runner.run(agent_with([helper.as_tool()], call("helper", input="dig there")), "go")
    assert outputs(result) == ["dug"]
    assert result.usage == Usage(4, 40, 20)
    assert result.turns == 2
    assert [item.text for item in helper.model.requests[0].items] == ["dig there"]  # type: ignore[union-attr]
    assert len(result.raw_responses) == 2


async def test_typed_outputs_and_extractors() -> None:
    helper = helper_with('{"response": [1, 2]}', '{"response": [1, 2]}', output_type=list[int])

    async def total(values: list[int]) -> int:
        return sum(values)

    tools = [helper.as_tool("plain"), helper.as_tool("summed", custom_output_extractor=total)]
    result = await Runner.run(agent_with(tools, call("plain", input="a"), call("summed", input="b")), "go")
    assert outputs(result) == ["[1,2]", "3"]


async def test_an_extractor_that_raises_is_typed_and_the_nested_run_is_not_repeated() -> None:
    broken = True

    def extract(value: str) -> str:
        if broken:
            raise ConnectionError
        return value.upper()

    helper = helper_with("dug")
    agent = agent_with([helper.as_tool(custom_output_extractor=extract)], call("helper", input="dig"))
    with pytest.raises(CallbackError, match="custom_output_extractor of tool 'helper'") as caught:
        await Runner.run(agent, "go")
    broken = False
    assert isinstance(caught.value.state, RunState)
    assert outputs(await Runner.run(agent, reloaded(agent, caught.value.state))) == ["DUG"]
    assert len(helper.model.requests) == 1  # type: ignore[union-attr]


async def test_a_missing_input_goes_back_to_the_model() -> None:
    result = await Runner.run(agent_with([helper_with().as_tool()], call("helper", question="x")), "go")
    assert "'input' is missing" in outputs(result)[0]


async def test_an_approval_carries_its_path_and_the_rest_runs_once() -> None:
    world = World()
    tools = [tool_of(world, "dig", needs_approval=True), tool_of(world, "sift")]
    helper = helper_with([call("dig", x=1), call("sift", x=2)], "dug", tools=tools)
    agent = agent_with([helper.as_tool(), tool_of(world, "pay")], [call("helper", input="dig"), call("pay", x=3)])
    config = RunConfig(run_id="r")
    paused = await Runner.run(agent, "go", run_config=config)
    (item,) = paused.interruptions
    assert (item.tool_name, item.agent, item.path, item.call_id) == ("dig", "helper", ("call_1_1",), "call_1_1")
    assert world.done == {"r/call_1_1/call_1_2": 1, "r/call_1_2": 1}
    state = reloaded(agent, paused.to_state())
    state.approve(state.interruptions[0])
    result = await Runner.run(agent, reloaded(agent, state), run_config=config)
    assert outputs(result) == ["dug", "pay gave 3"]
    assert set(world.done.values()) == {1} and len(world.done) == 3


async def test_always_approved_in_one_nested_run_is_approved_in_the_next() -> None:
    world = World()
    helper = helper_with(call("dig", x=1), "one", call("dig", x=2), "two", tools=[tool_of(world, "dig", needs_approval=True)])
    agent = agent_with([helper.as_tool()], call("helper", input="a"), call("helper", input="b"))
    state = reloaded(agent, (await Runner.run(agent, "go")).to_state())
    state.approve(state.interruptions[0], always_approve=True)
    assert outputs(await Runner.run(agent, state)) == ["one", "two"]


async def test_the_turn_limit_is_shared_and_resuming_goes_on_inside() -> None:
    world = World()
    helper = helper_with(call("dig", x=1), call("dig", x=2), "dug", tools=[tool_of(world, "dig")])
    agent = agent_with([helper.as_tool()], call("helper", input="dig"))
    with pytest.raises(MaxTurnsExceeded) as caught:
        await Runner.run(agent, "go", max_turns=3)
    assert isinstance(caught.value.state, RunState)
    result = await Runner.run(agent, reloaded(agent, caught.value.state), max_turns=5)
    assert result.final_output == "done" and outputs(result) == ["dug"]
    assert len(helper.model.requests) == 3 and sum(world.done.values()) == 2  # type: ignore[union-attr]


async def test_nested_runs_side_by_side_never_pass_the_turn_limit_together() -> None:
    async def slow(request: Any) -> str:
        await asyncio.sleep(0)
        return "dug"

    helper = Agent("helper", model=ScriptedModel([slow] * 5))
    agent = agent_with([helper.as_tool()], [call("helper", input=str(n)) for n in range(5)])
    with pytest.raises(MaxTurnsExceeded) as caught:
        await Runner.run(agent, "go", max_turns=2)
    assert isinstance(caught.value.state, RunState)
    assert caught.value.state.value.all_turns == 2


async def test_a_tools_own_turn_limit_is_told_to_the_model() -> None:
    helper = helper_with(call("dig", x=1), "never", tools=[tool_of(World(), "dig")])
    result = await Runner.run(agent_with([helper.as_tool(max_turns=1)], call("helper", input="dig")), "go")
    assert "MaxTurnsExceeded" in outputs(result)[0] and result.final_output == "done"


async def test_what_goes_wrong_with_the_nested_model_or_guardrails_is_told_to_the_model() -> None:
    helper = helper_with(RateLimitError("slow down", status=429))
    result = await Runner.run(agent_with([helper.as_tool()], call("helper", input="dig")), "go")
    assert "RateLimitError" in outputs(result)[0]

    @input_guardrail
    def no(ctx: Any, agent: Any, given: Any) -> GuardrailFunctionOutput:
        return GuardrailFunctionOutput(None, True)

    guarded = helper_with("never", input_guardrails=[no])
    result = await Runner.run(agent_with([guarded.as_tool()], call("helper", input="dig")), "go")
    assert InputGuardrailTripwireTriggered.__name__ in outputs(result)[0]


async def test_an_agent_that_calls_itself_comes_to_an_end() -> None:
    agent = Agent("loop", model=ScriptedModel([call("loop", input="deeper")] * 4 + ["up"] * 4))
    agent.tools = [agent.as_tool()]
    result = await Runner.run(agent, "go", run_config=RunConfig(max_depth=3))
    assert result.final_output == "up"
    assert "at most 3 deep" in result.to_state().to_string()


async def test_a_nested_run_may_hand_over() -> None:
    world = World()
    expert = Agent("expert", model=ScriptedModel([call("dig", x=1), "dug"]), tools=[tool_of(world, "dig", needs_approval=True)])
    helper = helper_with(call("transfer_to_expert"), handoffs=[expert])
    agent = agent_with([helper.as_tool()], call("helper", input="dig"))
    state = reloaded(agent, (await Runner.run(agent, "go")).to_state())
    assert state.interruptions[0].agent == "expert"
    state.approve(state.interruptions[0])
    result = await Runner.run(agent, state)
    assert outputs(result) == ["dug"] and result.last_agent is agent
