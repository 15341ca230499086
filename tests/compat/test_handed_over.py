"""What a handoff's filter, or nested history, makes of a run: held to what openai-agents 0.24 printed."""

from __future__ import annotations

import dataclasses
from typing import Any

import pytest

from agentsdk.compat.openai_agents import (
    Agent,
    HandoffInputData,
    MessageOutputItem,
    RunConfig,
    Runner,
    RunState,
    SQLiteSession,
    handoff,
)
from agentsdk.compat.openai_agents.extensions.handoff_filters import remove_all_tools
from agentsdk.compat.openai_agents.testing import ScriptedModel, assistant_message
from tests.compat.test_as_printed import called, publish, said, short, weather

pytestmark = pytest.mark.anyio

SEEN = ['weather{"city":"R"}#w1', "sunny in R#w1"]
HANDED = ["transfer_to_b{}#h1", '{"assistant": "B"}#h1']


class Pair:
    """Two agents, of which the first calls a tool, and hands over to the second."""

    def __init__(self, *answers: Any, tools: list[Any] | None = None, **options: Any) -> None:
        self.model = ScriptedModel([*(answers or [said("bb")])])
        second = Agent[Any](name="B", model=self.model, tools=tools or [])
        turns = [called("weather", "w1", city="R"), [assistant_message("going"), *called("transfer_to_b", "h1")]]
        self.first = Agent[Any](name="A", model=ScriptedModel(turns), tools=[weather], handoffs=[handoff(second, **options)])

    @property
    def sent(self) -> list[str]:
        """What the second agent's model was sent."""
        return short(self.model.calls[-1].input)


async def test_what_a_filter_leaves_out_of_the_turn_is_out_of_results_and_sessions() -> None:
    pair, session = Pair(input_filter=remove_all_tools), SQLiteSession("s")
    result = await Runner.run(pair.first, "hi", session=session)
    kept = ["user: hi", *SEEN, "assistant: going", "assistant: bb"]
    assert pair.sent == ["user: hi", "assistant: going"]
    assert short(result.to_input_list()) == kept and short(await session.get_items()) == kept
    kinds = ["tool_call_item", "tool_call_output_item", "message_output_item", "message_output_item"]
    assert [item.type for item in result.new_items] == kinds
    assert short(result.to_input_list(mode="normalized")) == ["user: hi", "assistant: going", "assistant: bb"]


async def test_a_filter_gives_a_new_input_and_items_of_its_own() -> None:
    def redact(data: HandoffInputData) -> HandoffInputData:
        said_, *rest = data.new_items
        made = dataclasses.replace(said_, raw_item=assistant_message("redacted"))
        return data.clone(input_history="summary", pre_handoff_items=(), new_items=(made, *rest))

    pair, session = Pair(input_filter=redact), SQLiteSession("s")
    result = await Runner.run(pair.first, "hi", session=session)
    assert pair.sent == ["user: summary", "assistant: redacted", *HANDED]
    assert result.input == "summary"
    assert isinstance(result.new_items[2], MessageOutputItem) and result.new_items[2].agent is pair.first
    rest = [*SEEN, "assistant: redacted", *HANDED, "assistant: bb"]
    assert short(result.to_input_list()) == ["user: summary", *rest]
    assert short(await session.get_items()) == ["user: hi", *rest]


async def test_input_items_are_what_the_model_alone_is_sent() -> None:
    def first(data: HandoffInputData) -> HandoffInputData:
        return data.clone(pre_handoff_items=(), input_items=data.new_items[:1])

    pair = Pair(input_filter=first)
    result = await Runner.run(pair.first, "hi")
    assert pair.sent == ["user: hi", "assistant: going"]
    assert short(result.to_input_list()) == ["user: hi", *SEEN, "assistant: going", *HANDED, "assistant: bb"]


async def test_a_second_filter_is_told_of_what_the_first_left() -> None:
    told: list[Any] = []

    def last(data: HandoffInputData) -> HandoffInputData:
        told.append((data.input_history, short([item.to_input_item() for item in data.pre_handoff_items])))
        return data.clone(input_history="new", pre_handoff_items=data.pre_handoff_items[-2:])

    back = ScriptedModel([called("weather", "w1", city="R"), called("transfer_to_b", "h1"), said("in A")])
    first = Agent[Any](name="A", model=back, tools=[weather])
    second = Agent[Any](name="B", model=ScriptedModel([called("transfer_to_a", "h2")]))
    first.handoffs = [handoff(second, input_filter=last)]
    second.handoffs = [handoff(first, input_filter=last)]
    await Runner.run(first, "hi")
    assert told == [("hi", SEEN), ("new", [*SEEN, *HANDED])]


async def test_the_callback_of_a_handoff_comes_before_its_filter() -> None:
    order: list[str] = []

    def look(data: HandoffInputData) -> HandoffInputData:
        order.append("filter")
        return data

    def taken(context: Any) -> None:
        order.append("callback")

    await Runner.run(Pair(input_filter=look, on_handoff=taken).first, "hi")
    assert order == ["callback", "filter"]


async def test_nested_history_is_told_around_the_messages_of_the_turn() -> None:
    pair = Pair()
    result = await Runner.run(pair.first, "hi", run_config=RunConfig(nest_handoff_history=True))
    sent: Any = pair.model.calls[0].input
    before, going, behind = sent
    assert short([going]) == ["assistant: going"]
    lines = [line for entry in (before, behind) for line in entry["content"].splitlines() if line[:1].isdigit()]
    assert [line[:12] for line in lines] == ["1. user: hi", '2. {"argumen', '3. {"call_id', '1. {"argumen', '2. {"call_id']
    assert result.input == [before, going, behind]
    assert short(result.to_input_list()[3:]) == [*SEEN, *HANDED, "assistant: bb"]
    assert len(result.to_input_list(mode="normalized")) == 4


async def test_a_mapper_makes_all_of_the_nested_history() -> None:
    pair = Pair()
    config = RunConfig(nest_handoff_history=True, handoff_history_mapper=lambda items: [{"role": "user", "content": "sum"}])
    result = await Runner.run(pair.first, "hi", run_config=config)
    assert pair.sent == ["user: sum"]
    assert short(result.to_input_list()) == ["user: sum", *SEEN, "assistant: going", *HANDED, "assistant: bb"]


async def test_a_state_keeps_what_a_filter_has_left() -> None:
    pair = Pair(called("publish", "p1", text="a"), said("bb"), tools=[publish], input_filter=remove_all_tools)
    paused = await Runner.run(pair.first, "hi")
    state = await RunState.from_string(pair.first, paused.to_state().to_string())
    state.approve(state.get_interruptions()[0])
    result = await Runner.run(pair.first, state)
    published = ['publish{"text":"a"}#p1', "ok a#p1"]
    assert short(result.to_input_list()) == ["user: hi", *SEEN, "assistant: going", *published, "assistant: bb"]


async def test_a_stream_does_not_tell_of_the_handoff_that_a_filter_left_out() -> None:
    async def names(pair: Pair) -> list[str]:
        events = Runner.run_streamed(pair.first, "hi").stream_events()
        return [event.name for event in [one async for one in events] if event.type == "run_item_stream_event"]

    assert "handoff_occured" in await names(Pair())
    assert "handoff_occured" not in await names(Pair(input_filter=remove_all_tools))
