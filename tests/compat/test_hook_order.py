"""The order in which hooks are called, and items stand, as in openai-agents."""

from __future__ import annotations

from typing import Any

import pytest

from agentsdk.compat.openai_agents import (
    Agent,
    AgentHooks,
    GuardrailFunctionOutput,
    OutputGuardrailTripwireTriggered,
    RunHooks,
    Runner,
    RunState,
    function_tool,
    handoff,
    output_guardrail,
)
from agentsdk.compat.openai_agents.testing import ScriptedModel, assistant_message, function_call

pytestmark = pytest.mark.anyio


class OfRun(RunHooks[Any]):
    """Hooks that note their calls."""

    def __init__(self, seen: list[str]) -> None:
        self.seen = seen

    async def on_llm_start(self, context: Any, agent: Any, system_prompt: Any, input_items: Any) -> None:
        self.seen.append("asked")

    async def on_llm_end(self, context: Any, agent: Any, response: Any) -> None:
        self.seen.append("replied")

    async def on_agent_start(self, context: Any, agent: Any) -> None:
        self.seen.append(f"start {agent.name}")

    async def on_agent_end(self, context: Any, agent: Any, output: Any) -> None:
        self.seen.append(f"end {agent.name}")

    async def on_handoff(self, context: Any, from_agent: Any, to_agent: Any) -> None:
        self.seen.append(f"{from_agent.name} to {to_agent.name}")


class OfAgent(AgentHooks[Any]):
    """The same of an agent."""

    def __init__(self, seen: list[str]) -> None:
        self.seen = seen

    async def on_llm_end(self, context: Any, agent: Any, response: Any) -> None:
        self.seen.append("agent: replied")

    async def on_start(self, context: Any, agent: Any) -> None:
        self.seen.append(f"agent: start {agent.name}")

    async def on_end(self, context: Any, agent: Any, output: Any) -> None:
        self.seen.append(f"agent: end {agent.name}")

    async def on_handoff(self, context: Any, agent: Any, source: Any) -> None:
        self.seen.append(f"agent: {source.name} to {agent.name}")


async def test_the_agent_s_hooks_are_told_of_a_reply_first() -> None:
    seen: list[str] = []
    agent = Agent(name="A", hooks=OfAgent(seen), model=ScriptedModel([[assistant_message("hi")]]))
    await Runner.run(agent, "x", hooks=OfRun(seen))
    assert seen == ["start A", "agent: start A", "asked", "agent: replied", "replied", "end A", "agent: end A"]


@pytest.mark.parametrize("trips", [False, True])
async def test_the_end_is_told_before_the_output_is_judged(trips: bool) -> None:
    seen: list[str] = []

    @output_guardrail
    async def judge(context: Any, agent: Any, output: Any) -> GuardrailFunctionOutput:
        seen.append("judged")
        return GuardrailFunctionOutput(None, trips)

    model = ScriptedModel([[assistant_message("hi")]])
    agent = Agent(name="A", hooks=OfAgent(seen), output_guardrails=[judge], model=model)
    if trips:
        with pytest.raises(OutputGuardrailTripwireTriggered):
            await Runner.run(agent, "x", hooks=OfRun(seen))
    else:
        await Runner.run(agent, "x", hooks=OfRun(seen))
    assert seen[-3:] == ["end A", "agent: end A", "judged"] and seen.count("end A") == 1


@pytest.mark.parametrize("is_filtered", [False, True])
async def test_a_handoff_is_told_between_its_callback_and_its_filter(is_filtered: bool) -> None:
    seen: list[str] = []

    def shortened(data: Any) -> Any:
        seen.append("filtered")
        return data

    target = Agent(name="B", model=ScriptedModel([[assistant_message("hi")]]))
    given = handoff(target, on_handoff=lambda _: seen.append("callback"), input_filter=shortened if is_filtered else None)
    model = ScriptedModel([[function_call("transfer_to_b", {}, call_id="c")]])
    agent = Agent(name="A", hooks=OfAgent(seen), handoffs=[given], model=model)
    await Runner.run(agent, "x", hooks=OfRun(seen))
    told = ["callback", "A to B", "agent: A to B", *(["filtered"] if is_filtered else []), "start B"]
    at = seen.index("callback")
    assert seen[at : at + len(told)] == told and seen.count("A to B") == 1


@pytest.mark.parametrize("is_loaded", [False, True])
async def test_a_run_that_goes_on_tells_again_whose_turn_it_is(is_loaded: bool) -> None:
    seen: list[str] = []

    @function_tool(needs_approval=True)
    def remove() -> str:
        seen.append("removed")
        return "removed"

    steps = [[function_call("remove", {}, call_id="c")], [function_call("remove", {}, call_id="d")], [assistant_message("ok")]]
    agent = Agent(name="A", hooks=OfAgent(seen), tools=[remove], model=ScriptedModel(steps))
    state = (await Runner.run(agent, "x")).to_state()
    if is_loaded:
        state = await RunState.from_string(agent, state.to_string())
    state.approve(state.get_interruptions()[0], always_approve=True)
    seen.clear()
    await Runner.run(agent, state, hooks=OfRun(seen))
    replied = ["asked", "agent: replied", "replied"]
    assert seen == ["removed", "start A", "agent: start A", *replied, "removed", *replied, "end A", "agent: end A"]


async def test_results_and_calls_that_wait_stand_in_the_order_of_the_calls() -> None:
    @function_tool(needs_approval=True)
    def remove() -> str:
        return "removed"

    @function_tool
    def look() -> str:
        return "seen"

    names = {"1": "remove", "2": "look", "3": "remove", "4": "look"}
    calls = [function_call(name, {}, call_id=call_id) for call_id, name in names.items()]
    agent = Agent(name="A", tools=[remove, look], model=ScriptedModel([calls, [assistant_message("ok")]]))
    result = await Runner.run(agent, "x")
    state = result.to_state()
    for item in result.interruptions:
        state.approve(item)
    waits, came = "tool_approval_item", "tool_call_output_item"
    before = [(waits, "1"), (came, "2"), (waits, "3"), (came, "4")]
    for ended, expected in ((result, before), (await Runner.run(agent, state), [*before, (came, "1"), (came, "3")])):
        shown = [(item.type, getattr(item, "call_id", None)) for item in ended.new_items[4:]]
        assert [one for one in shown if one[1] in names] == expected


async def test_input_that_was_added_stands_behind_its_turn() -> None:
    @function_tool(needs_approval=True)
    def remove() -> str:
        return "removed"

    model = ScriptedModel([[function_call("remove", {}, call_id="c")], [assistant_message("ok")]])
    agent = Agent(name="A", tools=[remove], model=model)
    state = (await Runner.run(agent, "x")).to_state()
    state.approve(state.get_interruptions()[0])
    state.add_input("more")
    result = await Runner.run(agent, state)
    types = ["tool_call_item", "tool_approval_item", "tool_call_output_item", "input_item", "message_output_item"]
    assert [item.type for item in result.new_items] == types
    assert result.to_input_list()[3] == {"content": "more", "role": "user"}


@pytest.mark.parametrize("approves", [True, False])
async def test_a_decision_through_the_context_counts_for_later_calls(approves: bool) -> None:
    @function_tool(needs_approval=True)
    def remove() -> str:
        return "removed"

    calls = [[function_call("remove", {}, call_id=call_id)] for call_id in ("c", "d")]
    agent = Agent(name="A", tools=[remove], model=ScriptedModel([*calls, [assistant_message("ok")]]))
    result = await Runner.run(agent, "x")
    if approves:
        result.context_wrapper.approve_tool(result.interruptions[0], always_approve=True)
    else:
        result.context_wrapper.reject_tool(result.interruptions[0], always_reject=True, rejection_message="no")
    result = await Runner.run(agent, result.to_state())
    outputs = [getattr(item, "output", None) for item in result.new_items if item.type == "tool_call_output_item"]
    assert outputs == ["removed" if approves else "no"] * 2 and result.final_output == "ok"
