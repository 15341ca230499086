from __future__ import annotations

from typing import Any

import pytest

from agentsdk import Agent, ItemHelpers, Message, ModelResponse, Runner
from agentsdk.testing import ScriptedModel, call
from agentsdk.types.items import ProviderItem, Reasoning
from tests.scenarios import World, reloaded, tool_of

pytestmark = pytest.mark.anyio


def agent_with(*replies: Any) -> Agent[Any, Any]:
    return Agent(
        "main", model=ScriptedModel(replies), tools=[tool_of(World(), "add"), tool_of(World(), "pay", needs_approval=True)]
    )


def told(event: Any) -> str:
    if event.type == "raw_response_event":
        return str(event.data.type)
    return str(event.name) if event.type == "run_item_stream_event" else f"agent {event.new_agent.name}"


async def test_a_stream_tells_deltas_items_and_agents_in_order() -> None:
    reply = (
        Reasoning("I wonder"),
        ProviderItem("fake", {"type": "web_search"}),
        Message("assistant", "Let me see."),
        call("add", x=1),
    )
    stream = Runner.run_streamed(agent_with(ModelResponse(reply, finish="tool_calls"), "two words"), "go")
    events = [event async for event in stream]
    assert [told(event) for event in events if event.type != "raw_response_event"] == [
        "agent main",
        "reasoning_item_created",
        "hosted_tool_used",
        "message_output_created",
        "tool_called",
        "tool_output",
        "message_output_created",
    ]
    assert told(events[-2]) == "response.completed", "an item follows the deltas it is made of"
    texts = [event.data.delta for event in events if told(event) == "response.output_text.delta"]
    assert "".join(texts) == "Let me see.two words"
    created = [event.item for event in events if told(event) == "message_output_created"]
    assert ItemHelpers.text_message_outputs(created) == "Let me see.two words"


async def test_the_items_of_a_stream_are_those_of_its_result() -> None:
    stream = Runner.run_streamed(agent_with([call("add", x=1), call("add", x=2)], "sum"), "go")
    streamed = [event.item async for event in stream if event.type == "run_item_stream_event"]
    assert streamed == stream.new_items
    assert [type(item).__name__ for item in streamed] == [
        "ToolCallItem",
        "ToolCallItem",
        "ToolCallOutputItem",
        "ToolCallOutputItem",
        "MessageOutputItem",
    ]


async def test_a_resumed_stream_tells_only_what_is_new() -> None:
    agent = agent_with([call("pay", x=1), call("add", x=2)], "paid")
    state = reloaded(agent, (await Runner.run(agent, "go")).to_state())
    state.approve(state.interruptions[0])
    stream = Runner.run_streamed(agent, state)
    names = [told(event) async for event in stream if event.type != "raw_response_event"]
    assert names == ["tool_output", "message_output_created"]
    assert len(stream.new_items) == 5, "the result knows all of the run"


async def test_to_input_item_gives_the_next_runs_input() -> None:
    result = await Runner.run(agent_with(call("add", x=1), "sum"), "go")
    items = [item.to_input_item() for item in result.new_items]
    assert [{"type": "message", "role": "user", "content": "go"}, *items] == result.to_input_list()
