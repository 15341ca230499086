from __future__ import annotations

from typing import Any

import pytest

from agentsdk import Agent, FunctionCallOutput, Runner, RunState, UserError, handoff
from agentsdk.engine.prepare import find_agent
from agentsdk.errors import CallbackError
from agentsdk.testing import ScriptedModel, call
from tests.scenarios import World, reloaded, tool_of

pytestmark = pytest.mark.anyio


async def test_instructions_may_be_a_function_called_each_turn() -> None:
    async def spent(ctx: Any, agent: Agent[Any, Any]) -> str:
        return f"{agent.name} {ctx.context} {ctx.usage.requests}"

    model = ScriptedModel([call("add", x=1), "sum"])
    agent = Agent("main", model=model, instructions=spent, tools=[tool_of(World(), "add")])
    await Runner.run(agent, "go", context="ada")
    assert [request.instructions for request in model.requests] == ["main ada 0", "main ada 1"]


async def test_instructions_that_fail_are_typed_and_the_run_can_go_on() -> None:
    broken = True

    def instructions(ctx: Any, agent: Any) -> Any:
        if broken:
            raise ConnectionError
        return "Be brief."

    agent = Agent("main", model=ScriptedModel(["hi"]), instructions=instructions)
    with pytest.raises(CallbackError, match="instructions of agent 'main' raised ConnectionError") as caught:
        await Runner.run(agent, "go")
    broken = False
    assert isinstance(caught.value.state, RunState)
    assert (await Runner.run(agent, reloaded(agent, caught.value.state))).final_output == "hi"
    agent = Agent("main", model=ScriptedModel(["hi"]), instructions=lambda ctx, agent: None)  # type: ignore[arg-type,return-value]
    with pytest.raises(UserError, match="returned 'NoneType', expected a str"):
        await Runner.run(agent, "go")


async def test_a_tool_that_is_not_enabled_is_neither_offered_nor_run() -> None:
    def second(ctx: Any, agent: Any) -> bool:
        return ctx.usage.requests == 1

    world = World()
    model = ScriptedModel([call("maybe", x=1), call("maybe", x=2), "done"])
    agent = Agent("main", model=model, tools=[tool_of(world, "maybe", is_enabled=second), tool_of(world, "always")])

    result = await Runner.run(agent, "go")
    offered = [[tool.name for tool in request.tools] for request in model.requests]
    assert offered == [["always"], ["maybe", "always"], ["always"]]
    outputs = [str(item["output"]) for item in result.to_input_list() if item["type"] == "function_call_output"]
    assert "there is no tool named 'maybe'" in outputs[0] and outputs[1] == "maybe gave 2"


async def test_an_open_turn_keeps_what_its_reply_was_offered() -> None:
    asked: list[bool] = []

    def once(ctx: Any, agent: Any) -> bool:
        asked.append(True)
        return len(asked) == 1

    world = World()
    agent = Agent(
        "main",
        model=ScriptedModel([call("pay", x=1), "paid"]),
        tools=[tool_of(world, "pay", is_enabled=once, needs_approval=True)],
    )
    state = reloaded(agent, (await Runner.run(agent, "go")).to_state())
    state.approve(state.interruptions[0])
    result = await Runner.run(agent, state)
    assert [item.output for item in result.to_state().items() if isinstance(item, FunctionCallOutput)] == ["pay gave 1"]
    assert len(asked) == 2, "once for each turn"


async def test_an_enabled_rule_that_raises_is_typed() -> None:
    def broken(ctx: Any, agent: Any) -> bool:
        raise ConnectionError

    agent = Agent("main", model=ScriptedModel(["hi"]), tools=[tool_of(World(), "add", is_enabled=broken)])
    with pytest.raises(CallbackError, match="is_enabled of 'add'") as caught:
        await Runner.run(agent, "go")
    assert isinstance(caught.value.state, RunState)


def test_agents_are_found_through_handoffs_also_in_a_ring() -> None:
    one, two, three = Agent("one"), Agent("two"), Agent("three")
    one.handoffs, two.handoffs, three.handoffs = [two], [handoff(three, is_enabled=False)], [one]
    assert find_agent(one, "three") is three
    assert find_agent(one, "one") is one
    assert find_agent(one, "four") is None
