from __future__ import annotations

import asyncio
from typing import Any

import pytest

from agentsdk import (
    Agent,
    FunctionCallOutput,
    GuardrailFailedError,
    Runner,
    RunState,
    ToolGuardrailFunctionOutput,
    ToolInputGuardrailTripwireTriggered,
    ToolOutputGuardrailTripwireTriggered,
    tool_input_guardrail,
    tool_output_guardrail,
)
from agentsdk.testing import ScriptedModel, call
from tests.scenarios import World, reloaded, tool_of

pytestmark = pytest.mark.anyio

ALLOW = ToolGuardrailFunctionOutput.allow()


def before(verdict: Any, seen: list[Any] | None = None) -> Any:
    @tool_input_guardrail
    async def before(data: Any) -> Any:
        await asyncio.sleep(0)
        if seen is not None:
            seen.append((data.context.tool_name, data.context.tool_arguments, data.agent.name))
        return verdict(data) if callable(verdict) else verdict

    return before


def after(verdict: Any, seen: list[Any] | None = None) -> Any:
    @tool_output_guardrail
    def after(data: Any) -> Any:
        if seen is not None:
            seen.append(data.output)
        return verdict(data) if callable(verdict) else verdict

    return after


def agent_with(world: World, *calls: Any, siblings: list[Any] | None = None, **guardrails: Any) -> Agent[Any, Any]:
    look = tool_of(world, "look", "none", **guardrails)
    return Agent("main", model=ScriptedModel([list(calls), "done"]), tools=[look, *(siblings or [])])


def outputs(result: Any) -> list[Any]:
    return [item for item in result.to_state().items() if isinstance(item, FunctionCallOutput)]


async def test_allow_lets_the_call_and_its_result_pass() -> None:
    seen: list[Any] = []
    agent = agent_with(
        World(), call("look", x=1), tool_input_guardrails=[before(ALLOW, seen)], tool_output_guardrails=[after(ALLOW, seen)]
    )
    result = await Runner.run(agent, "go")
    assert seen == [("look", '{"x":1}', "main"), "look gave 1"]
    assert outputs(result)[0].output == "look gave 1"


async def test_a_rejected_call_is_not_run_and_the_model_is_told() -> None:
    world = World()
    reject = ToolGuardrailFunctionOutput.reject_content("not that one")
    seen: list[Any] = []
    agent = agent_with(world, call("look", x=1), tool_input_guardrails=[before(reject), before(ALLOW, seen)])
    result = await Runner.run(agent, "go")
    assert outputs(result) == [FunctionCallOutput("call_1_1", "not that one", True)]
    assert not world.done and not seen


async def test_a_rejected_result_is_hidden_from_the_model() -> None:
    world = World()
    agent = agent_with(
        world, call("look", x=1), tool_output_guardrails=[after(ToolGuardrailFunctionOutput.reject_content("[hidden]"))]
    )
    result = await Runner.run(agent, "go")
    assert [item.output for item in outputs(result)] == ["[hidden]"]
    assert sum(world.done.values()) == 1
    assert "look gave" not in result.to_state().to_string()


@pytest.mark.parametrize("streamed", [False, True], ids=["run", "stream"])
async def test_an_input_trip_runs_no_call_and_is_raised_again(streamed: bool) -> None:
    async def run(agent: Any, given: Any) -> Any:
        return await (Runner.run_streamed(agent, given) if streamed else Runner.run(agent, given))

    world = World()
    seen: list[Any] = []
    stop = ToolGuardrailFunctionOutput.raise_exception({"why": "no"})
    agent = agent_with(
        world, call("look", x=1), call("pay", x=2), siblings=[tool_of(world, "pay")], tool_input_guardrails=[before(stop, seen)]
    )
    with pytest.raises(
        ToolInputGuardrailTripwireTriggered, match="'before' stopped the run at a call of tool 'look'"
    ) as caught:
        await run(agent, "go")
    result: Any = caught.value.guardrail_result
    assert result.output.output_info == {"why": "no"}
    assert isinstance(caught.value.state, RunState)
    with pytest.raises(ToolInputGuardrailTripwireTriggered):
        await run(agent, reloaded(agent, caught.value.state))
    assert len(seen) == 1 and not world.done


async def test_an_output_trip_lets_siblings_finish_and_is_raised_again() -> None:
    world = World()
    seen: list[Any] = []
    stop = ToolGuardrailFunctionOutput.raise_exception("secret")
    agent = agent_with(
        world,
        call("look", x=1),
        call("pay", x=2),
        siblings=[tool_of(world, "pay", steps=5)],
        tool_output_guardrails=[after(stop, seen)],
    )
    with pytest.raises(ToolOutputGuardrailTripwireTriggered, match="tool output guardrail 'after'") as caught:
        await Runner.run(agent, "go")
    result: Any = caught.value.guardrail_result
    assert result.output.output_info == "secret"
    state = caught.value.state
    assert isinstance(state, RunState)
    assert FunctionCallOutput("call_1_2", "pay gave 2") in state.items()
    assert "look gave" not in state.to_string()
    for _ in range(2):
        with pytest.raises(ToolOutputGuardrailTripwireTriggered):
            await Runner.run(agent, reloaded(agent, state))
    assert len(seen) == 1 and sum(world.done.values()) == 2
    state.replace_input("another way")
    mended = agent.clone(model=ScriptedModel(["fine"]))
    assert (await Runner.run(mended, state)).final_output == "fine"


async def test_a_guardrail_that_raises_fails_closed() -> None:
    world = World()

    def broken(data: Any) -> Any:
        raise ConnectionError

    agent = agent_with(world, call("look", x=1), tool_input_guardrails=[before(broken)])
    with pytest.raises(GuardrailFailedError, match="tool input guardrail 'before' raised ConnectionError") as caught:
        await Runner.run(agent, "go")
    assert not world.done
    assert isinstance(caught.value.state, RunState)
    mended = agent_with(world, tool_input_guardrails=[before(ALLOW)]).clone(model=ScriptedModel(["done"]))
    result = await Runner.run(mended, reloaded(mended, caught.value.state))
    assert outputs(result)[0].output == "look gave 1"

    agent = agent_with(world, call("look", x=1), tool_output_guardrails=[after("yes")])
    with pytest.raises(GuardrailFailedError, match="returned 'str'"):
        await Runner.run(agent, "go")


async def test_guardrails_come_after_the_approval_and_are_asked_once() -> None:
    world = World()
    seen: list[Any] = []
    agent = agent_with(world, call("look", x=1), needs_approval=True, tool_input_guardrails=[before(ALLOW, seen)])
    state = (await Runner.run(agent, "go")).to_state()
    assert not seen
    state.approve(state.interruptions[0])
    assert (await Runner.run(agent, state)).final_output == "done"
    assert len(seen) == 1
