"""What a run makes of agents is kept for the next one: whatever was changed meanwhile, the next run sees it."""

from __future__ import annotations

import copy
from typing import Any

import pytest
from pydantic import BaseModel

from agentsdk.compat.openai_agents import (
    Agent,
    GuardrailFunctionOutput,
    InputGuardrailTripwireTriggered,
    MaxTurnsExceeded,
    ModelSettings,
    RunConfig,
    RunHooks,
    Runner,
    function_tool,
    handoff,
    input_guardrail,
)
from agentsdk.compat.openai_agents.testing import ScriptedModel, assistant_message, function_call
from benchmarks.compat.cost import Named, add, own_replies

pytestmark = pytest.mark.anyio


class _Asked(ScriptedModel):
    """Gives steps, then answers `done` for ever."""

    def __init__(self, *steps: Any) -> None:
        super().__init__([*steps, *[[assistant_message("done")] for _ in range(20)]])

    @property
    def last(self) -> Any:
        """What it was asked last."""
        return self.last_call


def _call(name: str) -> list[Any]:
    return [function_call(name, {}, call_id=f"call_{name}")]


def _tool(name: str, returns: str = "result") -> Any:
    def body() -> str:
        """A tool."""
        return returns

    return function_tool(body, name_override=name)


async def _names(agent: Agent[Any], model: _Asked) -> list[str]:
    await Runner.run(agent, "x")
    return [tool.name for tool in model.last.tools]


async def test_fields_of_an_agent_that_are_set() -> None:
    model, other = _Asked(), _Asked()
    agent: Agent[Any] = Agent("A", instructions="First.", model=model)
    await Runner.run(agent, "x")
    assert model.last.system_instructions == "First."
    agent.instructions = "Second."
    await Runner.run(agent, "x")
    assert model.last.system_instructions == "Second."
    agent.instructions = lambda context, agent: "Third."
    await Runner.run(agent, "x")
    assert model.last.system_instructions == "Third."
    agent.name, agent.model = "B", other
    result = await Runner.run(agent, "x")
    assert result.last_agent.name == "B" and len(other.calls) == 1 and len(model.calls) == 3

    class Answer(BaseModel):
        text: str

    agent.output_type = Answer
    other.enqueue([assistant_message('{"text": "typed"}')])
    agent.model = ScriptedModel([[assistant_message('{"text": "typed"}')]])
    assert (await Runner.run(agent, "x")).final_output == Answer(text="typed")


async def test_lists_of_an_agent_that_are_changed_in_place_or_replaced() -> None:
    model, two, three, four = _Asked(), _tool("two"), _tool("three"), _tool("four")
    agent: Agent[Any] = Agent("A", tools=[_tool("one")], model=model)
    assert await _names(agent, model) == await _names(agent, model) == ["one"]
    agent.tools.append(two)
    assert await _names(agent, model) == await _names(agent, model) == ["one", "two"]
    agent.tools[0] = three
    assert await _names(agent, model) == await _names(agent, model) == ["three", "two"]
    agent.tools = [four]
    assert await _names(agent, model) == ["four"]
    agent.tools.clear()
    assert await _names(agent, model) == []

    @input_guardrail
    async def never(context: Any, agent: Any, given: Any) -> GuardrailFunctionOutput:
        return GuardrailFunctionOutput(None, True)

    agent.input_guardrails.append(never)
    with pytest.raises(InputGuardrailTripwireTriggered):
        await Runner.run(agent, "x")
    agent.input_guardrails.remove(never)
    assert (await Runner.run(agent, "x")).final_output == "done"


async def test_fields_of_tools_settings_and_handoffs() -> None:
    model = _Asked()
    tool, settings = _tool("one"), ModelSettings(temperature=0.1)
    target: Agent[Any] = Agent("Target", model=model)
    given: Any = handoff(target)
    agent: Agent[Any] = Agent("A", tools=[tool], handoffs=[given], model=model, model_settings=settings)
    await Runner.run(agent, "x")
    tool.description, settings.temperature, given.tool_description = "Changed.", 0.2, "Changed too."
    await Runner.run(agent, "x")
    assert model.last.tools[0].description == "Changed." and model.last.handoffs[0].tool_description == "Changed too."
    assert model.last.model_settings.temperature == 0.2
    tool.is_enabled = False
    assert await _names(agent, model) == []
    tool.is_enabled, tool.needs_approval = True, True
    agent.model = _Asked(_call("one"))
    assert [item.name for item in (await Runner.run(agent, "x")).interruptions] == ["one"]


async def test_agents_that_are_handed_over_to() -> None:
    model = _Asked()
    target: Agent[Any] = Agent("Target", instructions="First.", model=model)
    agent: Agent[Any] = Agent("A", handoffs=[target], model=_Asked(_call("transfer_to_target"), _call("transfer_to_target")))
    await Runner.run(agent, "x")
    assert model.last.system_instructions == "First."
    target.instructions = "Second."
    target.tools.append(_tool("late"))
    agent.model = _Asked(_call("transfer_to_target"))
    await Runner.run(agent, "x")
    assert model.last.system_instructions == "Second." and [tool.name for tool in model.last.tools] == ["late"]
    last: Agent[Any] = Agent("Last", model=model)
    target.handoffs.append(last)
    target.model = _Asked(_call("transfer_to_last"))
    agent.model = _Asked(_call("transfer_to_target"))
    assert (await Runner.run(agent, "x")).last_agent is last
    agent.handoffs.clear()
    agent.model = model
    await Runner.run(agent, "x")
    assert model.last.handoffs == []


async def test_a_copied_agent_has_a_life_of_its_own() -> None:
    model = _Asked()
    agent: Agent[Any] = Agent("A", instructions="First.", tools=[_tool("one")], model=model)
    await Runner.run(agent, "x")
    twin = copy.copy(agent)
    twin.instructions, twin.tools = "Twin.", []
    assert await _names(twin, model) == [] and model.last.system_instructions == "Twin."
    assert await _names(agent, model) == ["one"] and model.last.system_instructions == "First."


async def test_settings_of_a_run_that_are_used_again_and_changed() -> None:
    model, other = _Asked(), _Asked()
    agent: Agent[Any] = Agent("A", model=model)
    config = RunConfig(model_settings=ModelSettings(temperature=0.1))
    await Runner.run(agent, "x", run_config=config)
    assert model.last.model_settings.temperature == 0.1
    config.model_settings = ModelSettings(temperature=0.2)
    await Runner.run(agent, "x", run_config=config)
    assert model.last.model_settings.temperature == 0.2
    config.model = other
    await Runner.run(agent, "x", run_config=config)
    assert len(other.calls) == 1
    await Runner.run(agent, "x")
    assert len(model.calls) == 3 and model.last.model_settings.temperature is None


async def test_a_run_without_turns_and_the_next_of_the_same_agent() -> None:
    agent: Agent[Any] = Agent("A", tools=[function_tool(add)], model=Named(own_replies(2)))
    with pytest.raises(MaxTurnsExceeded):
        await Runner.run(agent, "x", max_turns=0)
    assert (await Runner.run(agent, "x", max_turns=3)).context_wrapper.usage.requests == 3
    with pytest.raises(MaxTurnsExceeded) as caught:
        await Runner.run(agent, "x", max_turns=1)
    assert caught.value.run_data is not None and caught.value.run_data.context_wrapper.usage.requests == 1


async def test_hooks_that_are_set_between_runs() -> None:
    class Counts(RunHooks[Any]):
        ends = 0

        async def on_agent_end(self, context: Any, agent: Any, output: Any) -> None:
            self.ends += 1

    hooks = Counts()
    agent: Agent[Any] = Agent("A", model=Named(own_replies(0)))
    await Runner.run(agent, "x")
    await Runner.run(agent, "x", hooks=hooks)
    await Runner.run(agent, "x")
    assert hooks.ends == 1
