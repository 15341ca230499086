from __future__ import annotations

import asyncio
from typing import Any

import pytest

from agentsdk import (
    Agent,
    FunctionCallOutput,
    GuardrailFunctionOutput,
    MaxTurnsExceeded,
    Message,
    ModelResponse,
    RateLimitError,
    RunConfig,
    Runner,
    RunState,
    ToolGuardrailFunctionOutput,
    Usage,
    function_tool,
    input_guardrail,
    output_guardrail,
    tool_input_guardrail,
    tool_output_guardrail,
)
from agentsdk.errors import (
    AuthenticationError,
    CallbackError,
    ContextTooLongError,
    GuardrailFailedError,
    IncompleteResponseError,
    ToolTimeoutError,
)
from agentsdk.items import Refusal
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
    assert "input: missing, expected a string" in outputs(result)[0]


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


async def test_concurrent_nested_runs_never_pass_the_turn_limit_together() -> None:
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
    assert "its limit of turns (1 of 1)" in outputs(result)[0] and result.final_output == "done"


async def test_what_goes_wrong_with_the_nested_model_or_guardrails_is_told_to_the_model() -> None:
    helper = helper_with(RateLimitError("slow down", status=429))
    result = await Runner.run(agent_with([helper.as_tool()], call("helper", input="dig")), "go")
    assert "RateLimitError" in outputs(result)[0]

    @input_guardrail
    def no(ctx: Any, agent: Any, given: Any) -> GuardrailFunctionOutput:
        return GuardrailFunctionOutput(None, True)

    guarded = helper_with("never", input_guardrails=[no])
    result = await Runner.run(agent_with([guarded.as_tool()], call("helper", input="dig")), "go")
    assert "its guardrail 'no' stopped it" in outputs(result)[0]


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


@input_guardrail
def wary(ctx: Any, agent: Any, given: Any) -> GuardrailFunctionOutput:
    return GuardrailFunctionOutput(None, True)


@output_guardrail
def discreet(ctx: Any, agent: Any, given: Any) -> GuardrailFunctionOutput:
    return GuardrailFunctionOutput(None, True)


@tool_input_guardrail
def never(data: Any) -> ToolGuardrailFunctionOutput:
    return ToolGuardrailFunctionOutput.raise_exception()


@tool_output_guardrail
def secret(data: Any) -> ToolGuardrailFunctionOutput:
    return ToolGuardrailFunctionOutput.raise_exception()


def dig(**options: Any) -> list[Any]:
    return [tool_of(World(), "dig", **options)]


ENDINGS: dict[str, tuple[Any, dict[str, Any], str]] = {
    "input guardrail": ([], {"input_guardrails": [wary]}, "does not take this input: its guardrail 'wary' stopped it"),
    "output guardrail": (["dug"], {"output_guardrails": [discreet]}, "was withheld by its guardrail 'discreet'"),
    "tool input guardrail": ([call("dig", x=1)], {"tools": dig(tool_input_guardrails=[never])}, "by the guardrail 'never'"),
    "tool output guardrail": ([call("dig", x=1)], {"tools": dig(tool_output_guardrails=[secret])}, "by the guardrail 'secret'"),
    "refusal": ([Message("assistant", (Refusal("not that"),))], {}, "refused: not that"),
    "content filter": ([ModelResponse((Message("assistant", "x"),), finish="content_filter")], {}, "by a content filter"),
    "invalid output": (["x", "y"], {"output_type": list[int]}, "no answer in the form that is required"),
    "empty": ([""] * 4, {}, "no answer that can be used (EmptyResponseError)"),
    "incomplete": ([IncompleteResponseError("cut")], {}, "no answer that can be used (IncompleteResponseError)"),
    "too long": ([ContextTooLongError("too long")], {}, "became too long for its model"),
    "rate limit": ([RateLimitError("busy", retryable=True)], {}, "(RateLimitError); it may answer later"),
    "key": ([AuthenticationError("no")], {}, "could not be asked (AuthenticationError)"),
    "arguments": ([call("dig", x="seven"), "dug"], {"tools": dig(failure_error_function=None)}, "dug"),
}


@pytest.mark.parametrize("ending", ENDINGS)
async def test_what_ends_a_nested_run_reads_as_that_in_words_for_a_model(ending: str) -> None:
    replies, fields, says = ENDINGS[ending]
    helper = helper_with(*(replies or ["never"]), **fields)
    agent = agent_with([helper.as_tool("ask")], call("ask", input="dig"))
    (output,) = outputs(await Runner.run(agent, "go"))
    assert says in output
    for wrong in ("error.state", "Runner", "resume", "do not fit the tool", "output_type", "Error while running"):
        assert wrong not in output


@pytest.mark.parametrize("ending", [ending for ending in ENDINGS if ending != "arguments"])
async def test_an_error_function_is_given_the_error_itself_and_none_lets_it_end_the_run(ending: str) -> None:
    replies, fields, _ = ENDINGS[ending]
    got: list[Exception] = []

    def tell(ctx: Any, error: Exception) -> str:
        got.append(error)
        return "told"

    helper = helper_with(*(replies or ["never"]), **fields)
    agent = agent_with([helper.as_tool("ask", failure_error_function=tell)], call("ask", input="dig"))
    assert outputs(await Runner.run(agent, "go")) == ["told"]
    helper = helper_with(*(replies or ["never"]), **fields)
    agent = agent_with([helper.as_tool("ask", failure_error_function=None)], call("ask", input="dig"))
    with pytest.raises(type(got[0])):
        await Runner.run(agent, "go")


async def test_a_nested_guardrail_that_raises_stops_the_whole_run_and_is_asked_again() -> None:
    down, world = True, World()

    def check(*_: Any) -> Any:
        if down:
            raise ConnectionError
        return GuardrailFunctionOutput(None, False)

    def check_tool(_: Any) -> ToolGuardrailFunctionOutput:
        if down:
            raise ConnectionError
        return ToolGuardrailFunctionOutput.allow()

    guarded: list[tuple[dict[str, Any], dict[str, Any]]] = [
        ({"input_guardrails": [input_guardrail(check)]}, {}),
        ({"output_guardrails": [output_guardrail(check)]}, {}),
        ({}, {"tool_input_guardrails": [tool_input_guardrail(check_tool)]}),
        ({}, {"tool_output_guardrails": [tool_output_guardrail(check_tool)]}),
    ]
    for fields, options in guarded:
        world.done.clear()
        down = True
        # The model answers from the request: one that was stopped beside a guardrail is asked again.
        helper = helper_with(*[_dig_once] * 3, tools=[tool_of(world, "dig", **options)], **fields)
        agent = agent_with([helper.as_tool()], call("helper", input="dig"))
        with pytest.raises(GuardrailFailedError, match="raised ConnectionError") as caught:
            await Runner.run(agent, "go")
        down = False
        assert isinstance(caught.value.state, RunState)
        assert outputs(await Runner.run(agent, reloaded(agent, caught.value.state))) == ["dug"]
        assert sum(world.done.values()) == 1


def _dig_once(request: Any) -> Any:
    return "dug" if any(isinstance(item, FunctionCallOutput) for item in request.items) else call("dig", x=1)


async def test_a_nested_run_that_passes_its_timeout_is_stopped_and_the_model_told() -> None:
    stopped: list[str] = []

    async def hang(request: Any) -> str:
        try:
            await asyncio.Event().wait()
        finally:
            stopped.append("model")
        return "never"

    helper = helper_with(hang)
    agent = agent_with([helper.as_tool(timeout=0.01)], call("helper", input="dig"))
    assert outputs(await Runner.run(agent, "go")) == ["Error: the agent 'helper' had no answer in time, and was stopped."]
    assert stopped == ["model"]
    agent = agent_with([helper_with("dug").as_tool(timeout=60)], call("helper", input="dig"))
    assert outputs(await Runner.run(agent, "go")) == ["dug"]


async def test_a_timeout_of_a_nested_tool_is_none_of_the_agents() -> None:
    async def slow() -> None:
        await asyncio.Event().wait()

    tools = [function_tool(slow, timeout=0.01, failure_error_function=None)]
    helper = helper_with(call("slow"), tools=tools)
    agent = agent_with([helper.as_tool(timeout=60)], call("helper", input="dig"))
    with pytest.raises(ToolTimeoutError, match="tool 'slow' passed its timeout"):
        await Runner.run(agent, "go")


async def test_an_agent_as_tool_goes_on_inside_whatever_effect_it_declares() -> None:
    world = World()
    helper = helper_with(call("dig", x=1), "dug", tools=[tool_of(world, "dig", needs_approval=True)])
    agent = agent_with([helper.as_tool().clone(effect="once")], call("helper", input="dig"))
    state = reloaded(agent, (await Runner.run(agent, "go")).to_state())
    state.approve(state.interruptions[0])
    assert outputs(await Runner.run(agent, state)) == ["dug"]
