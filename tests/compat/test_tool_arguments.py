"""Arguments that are no JSON object: the tool is called as with any, and says itself what is wrong with them."""

from __future__ import annotations

from typing import Any

import pytest
from openai.types.responses import ResponseFunctionToolCall

from agentsdk.compat.openai_agents import (
    Agent,
    FunctionTool,
    ModelBehaviorError,
    RunContextWrapper,
    RunHooks,
    Runner,
    RunState,
    function_tool,
)
from agentsdk.compat.openai_agents.testing import ScriptedModel, assistant_message

pytestmark = pytest.mark.anyio

CUT = '{"path": "a'


def agent_with(tool: FunctionTool, arguments: str = CUT) -> Agent[Any]:
    """An agent whose model calls its tool once, with these arguments."""
    call = ResponseFunctionToolCall(call_id="c", name=tool.name, arguments=arguments, type="function_call")
    return Agent(name="A", tools=[tool], model=ScriptedModel([[call], [assistant_message("ok")]]))


def outputs(result: Any) -> list[Any]:
    """What the calls came to."""
    return [item.output for item in result.new_items if item.type == "tool_call_output_item"]


def told(ctx: RunContextWrapper[Any], error: Exception) -> str:
    """The kind of the error, and the arguments as the model wrote them."""
    return f"{type(error).__name__}: {getattr(ctx, 'tool_arguments', None)}"


@pytest.mark.parametrize("arguments", [CUT, "[1]", "null", '{"path": 1}garbage', "{'path': 1}"])
async def test_failure_error_function_is_told(arguments: str) -> None:
    seen: list[str] = []

    class Told(RunHooks[Any]):
        async def on_tool_start(self, context: Any, agent: Any, tool: Any) -> None:
            seen.append(f"start {context.tool_arguments}")

        async def on_tool_end(self, context: Any, agent: Any, tool: Any, result: Any) -> None:
            seen.append(f"end {result}")

    @function_tool(failure_error_function=told)
    def remove(path: str) -> str:
        raise AssertionError("its arguments are none")

    result = await Runner.run(agent_with(remove, arguments), "x", hooks=Told())
    assert outputs(result) == [f"ModelBehaviorError: {arguments}"]
    assert seen == [f"start {arguments}", f"end ModelBehaviorError: {arguments}"]


async def test_without_failure_error_function_the_run_ends() -> None:
    @function_tool(failure_error_function=None)
    def remove(path: str) -> str:
        raise AssertionError("its arguments are none")

    with pytest.raises(ModelBehaviorError, match="Invalid JSON input for tool remove"):
        await Runner.run(agent_with(remove), "x")


async def test_a_tool_made_by_hand_is_given_their_text() -> None:
    async def invoke(ctx: Any, text: str) -> str:
        return f"given {text}"

    tool = FunctionTool("remove", "Removes.", {"type": "object", "properties": {}}, invoke)
    assert outputs(await Runner.run(agent_with(tool), "x")) == [f"given {CUT}"]


async def test_an_agent_as_a_tool_tells_its_failure_error_function() -> None:
    inner = Agent(name="Inner", model=ScriptedModel([]))
    tool = inner.as_tool("ask", "Asks.", failure_error_function=told)
    assert outputs(await Runner.run(agent_with(tool), "x")) == [f"ModelBehaviorError: {CUT}"]


@pytest.mark.parametrize("given_key", [True, False], ids=["rule", "always"])
async def test_a_person_decides_on_arguments_that_no_rule_can_be_told(given_key: bool) -> None:
    asked: list[Any] = []

    async def rule(ctx: Any, arguments: dict[str, Any], call_id: str) -> bool:
        asked.append(arguments)
        return False

    @function_tool(failure_error_function=told, needs_approval=rule if given_key else True)
    def remove(path: str) -> str:
        raise AssertionError("its arguments are none")

    agent = agent_with(remove)
    waiting = await Runner.run(agent, "x")
    assert [item.arguments for item in waiting.interruptions] == [CUT] and asked == []
    state = await RunState.from_string(agent, waiting.to_state().to_string())
    state.approve(state.get_interruptions()[0])
    assert outputs(await Runner.run(agent, state)) == [f"ModelBehaviorError: {CUT}"]


async def test_a_key_that_is_given_twice_counts_as_the_last() -> None:
    @function_tool
    def remove(path: str) -> str:
        return f"removed {path}"

    assert outputs(await Runner.run(agent_with(remove, '{"path": "a", "path": "b"}'), "x")) == ["removed b"]
