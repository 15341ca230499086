"""Conversations that the provider keeps, where a state is made or gone on with; and parts that a program makes itself."""

from __future__ import annotations

from typing import Any

import pytest

from agentsdk.compat.openai_agents import (
    Agent,
    ModelResponse,
    Runner,
    RunResultStreaming,
    RunState,
    SQLiteSession,
    ToolApprovalItem,
    Usage,
    UserError,
    function_tool,
)
from agentsdk.compat.openai_agents.run_context import RunContextWrapper
from agentsdk.compat.openai_agents.testing import ScriptedModel, assistant_message, function_call

pytestmark = pytest.mark.anyio


@function_tool(needs_approval=True)
def remove() -> str:
    """Removes."""
    return "removed"


def waiting_agent() -> tuple[Agent[Any], ScriptedModel]:
    """An agent whose model makes a call that waits, and then answers."""
    call, message = function_call("remove", {}, call_id="c"), assistant_message("ok")
    model = ScriptedModel([ModelResponse([call], Usage(), "r1"), ModelResponse([message], Usage(), "r2")])
    return Agent(name="A", tools=[remove], model=model), model


def sent(model: ScriptedModel) -> list[Any]:
    """What the last request says of a conversation, and the types of its items."""
    call = model.last_call
    assert call is not None
    return [call.conversation_id, call.previous_response_id, *[one.get("type", "message") for one in call.input]]  # type: ignore


@pytest.mark.parametrize("is_loaded", [False, True])
@pytest.mark.parametrize(
    ("begun", "resumed", "expected"),
    [
        ({"auto_previous_response_id": True}, {}, [None, "r1"]),
        ({}, {"auto_previous_response_id": True}, [None, "r1"]),
        ({}, {"previous_response_id": "r1"}, [None, "r1"]),
        ({}, {"conversation_id": "conv"}, ["conv", None]),
        ({"conversation_id": "conv"}, {}, ["conv", None]),
    ],
)
async def test_a_run_that_goes_on_sends_what_is_new(
    begun: dict[str, Any], resumed: dict[str, Any], expected: list[Any], is_loaded: bool
) -> None:
    agent, model = waiting_agent()
    state = (await Runner.run(agent, "x", **begun)).to_state()
    if is_loaded:
        state = await RunState.from_string(agent, state.to_string())
    state.approve(state.get_interruptions()[0])
    await Runner.run(agent, state, **resumed)
    assert sent(model) == [*expected, "function_call_output"]


@pytest.mark.parametrize("is_loaded", [False, True])
async def test_a_state_that_is_made_begins_with_its_conversation(is_loaded: bool) -> None:
    agent, model = waiting_agent()
    state: RunState[Any] = RunState(RunContextWrapper(None), "x", agent, conversation_id="conv")
    if is_loaded:
        state = await RunState.from_string(agent, state.to_string())
    await Runner.run(agent, state)
    assert sent(model) == ["conv", None, "message"]


async def test_either_a_session_or_the_provider_keeps_it() -> None:
    agent, _ = waiting_agent()
    with pytest.raises(UserError, match="leave the other out"):
        await Runner.run(agent, "x", session=SQLiteSession("s"), auto_previous_response_id=True)


def test_the_key_of_a_call_that_waits() -> None:
    agent: Agent[Any] = Agent(name="A")
    raw = {"type": "function_call", "name": "f", "call_id": "c"}
    assert ToolApprovalItem(agent, raw).tool_lookup_key == ("bare", "f")
    assert ToolApprovalItem(agent, {**raw, "namespace": "n"}).tool_lookup_key == ("namespaced", "n", "f")
    assert ToolApprovalItem(agent, {**raw, "type": "shell_call"}).tool_lookup_key is None
    assert ToolApprovalItem(agent, raw, tool_lookup_key=("bare", "g")).tool_lookup_key == ("bare", "g")


async def test_a_streamed_result_is_made_of_its_fields() -> None:
    agent: Agent[Any] = Agent(name="A")
    fields: Any = {
        "input": "x",
        "new_items": [],
        "final_output": "ok",
        "current_agent": agent,
        "current_turn": 1,
        "max_turns": 3,
    }
    made: Any = RunResultStreaming(**fields)
    assert isinstance(made, RunResultStreaming) and [event async for event in made.stream_events()] == []
    assert (made.final_output, made.last_agent, made.current_turn, made.is_complete) == ("ok", agent, 1, False)
    assert made.to_input_list() == [{"content": "x", "role": "user"}] and "Current turn: 1" in str(made)
