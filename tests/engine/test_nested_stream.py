"""The stream of a run shows the runs nested in it, each event with the path to its run."""

from __future__ import annotations

import asyncio
from collections import defaultdict
from collections.abc import Sequence
from typing import Any

import pytest

from agentsdk import (
    Agent,
    GuardrailFunctionOutput,
    Message,
    OutputGuardrailTripwireTriggered,
    RunConfig,
    RunLimits,
    Runner,
    StreamEvent,
    ToolContext,
    ToolGuardrailFunctionOutput,
    ToolOutputGuardrailData,
    ToolOutputGuardrailTripwireTriggered,
    function_tool,
    handoff,
    output_guardrail,
    tool_output_guardrail,
)
from agentsdk.engine.channel import STREAM_BUFFER
from agentsdk.events import ModelReplied
from agentsdk.testing import ScriptedModel, call
from agentsdk.types.events import Nested
from tests.engine.test_output_buffer import BUFFERED, guard, shown
from tests.engine.test_progress import stuck_and_next_turn
from tests.scenarios import SCENARIOS, Scenario, World, config_of, reloaded, tool_of

pytestmark = pytest.mark.anyio

Told = tuple[tuple[str, ...], str]


def agent(name: str, tools: Sequence[Any], *replies: Any, **fields: Any) -> Agent[Any, Any]:
    return Agent(name, tools=list(tools), model=ScriptedModel(replies), **fields)


def told(event: StreamEvent) -> Told:
    """Whose event it is, and what it says."""
    match event.type:
        case "raw_response_event":
            return event.path, str(getattr(event.data, "delta", event.data.type))
        case "run_item_stream_event":
            return event.path, event.name
        case "agent_updated_stream_event":
            return event.path, f"agent {event.new_agent.name}"
        case "tool_progress_stream_event":
            return event.path, f"progress {event.data}"
        case _:
            return event.path, event.type


def steps(events: Sequence[StreamEvent]) -> list[Told]:
    """What is told of agents, items and progress."""
    return [told(event) for event in events if event.type != "raw_response_event"]


def text(events: Sequence[StreamEvent], *path: str) -> str:
    """The text that the run at `path` streamed."""
    raw = [event.data for event in events if event.type == "raw_response_event" and event.path == path]
    return "".join(data.delta for data in raw if data.type == "response.output_text.delta")


async def read(agent: Agent[Any, Any], given: Any = "go", events: list[StreamEvent] | None = None, **kwargs: Any) -> Any:
    events = [] if events is None else events
    run = Runner.run_streamed(agent, given, **kwargs)
    async for event in run:
        events.append(event)
    return run


async def events_of(agent: Agent[Any, Any], given: Any = "go", **kwargs: Any) -> list[StreamEvent]:
    events: list[StreamEvent] = []
    await read(agent, given, events, **kwargs)
    return events


async def test_a_nested_run_is_told_between_its_call_and_the_result() -> None:
    helper = agent("helper", [tool_of(World(), "dig")], call("dig", x=1), "dug it up")
    main = agent("main", [helper.as_tool()], call("helper", input="dig"), "all done")
    events = await events_of(main)
    nested = ("call_1_1",)
    assert steps(events) == [
        ((), "agent main"),
        ((), "tool_called"),
        (nested, "agent helper"),
        (nested, "tool_called"),
        (nested, "tool_output"),
        (nested, "message_output_created"),
        ((), "tool_output"),
        ((), "message_output_created"),
    ]
    assert (text(events), text(events, "call_1_1")) == ("all done", "dug it up")
    assert all(request.stream for request in helper.model.requests)  # type: ignore[union-attr]


async def test_at_any_depth_the_path_leads_to_the_run() -> None:
    deep = agent("deep", [tool_of(World(), "dig")], call("dig", x=1), "deepest words")
    middle = agent("middle", [deep.as_tool()], call("deep", input="x"), "middle words")
    events = await events_of(agent("main", [middle.as_tool()], call("middle", input="x"), "outer words"))
    assert text(events, "call_1_1", "call_1_1") == "deepest words"
    assert text(events, "call_1_1") == "middle words"
    assert text(events) == "outer words"
    assert [len(path) for path, _ in steps(events)] == [0, 0, 1, 1, 2, 2, 2, 2, 1, 1, 0, 0]


async def test_concurrent_nested_runs_each_keep_their_order() -> None:
    async def slow(request: Any) -> str:
        await asyncio.sleep(0)
        return f"about {request.items[-1].text} now"

    helper = agent("helper", [], *[slow] * 3)
    main = agent("main", [helper.as_tool()], [call("helper", input=str(n)) for n in range(3)], "done")
    events = await events_of(main)
    for n in range(3):
        path = (f"call_1_{n + 1}",)
        assert text(events, *path) == f"about {n} now"
        mine = [what for where, what in map(told, events) if where == path]
        assert mine[0] == "agent helper" and mine[-1] == "message_output_created"


@pytest.mark.parametrize("count", [1, 4])
async def test_without_nested_events_the_stream_is_that_of_a_plain_tool(count: int) -> None:
    @function_tool(name_override="helper")
    def plain(input: str) -> str:
        return "dug it up"

    helper = agent("helper", [tool_of(World(), "dig")], *[part for _ in range(count) for part in ("dug it up",)])
    streams: list[list[str]] = []
    for tool in (helper.as_tool(), plain):
        replies = [call("helper", input=f"{n}") for n in range(count)]
        main = agent("main", [tool], *replies, [Message("assistant", "so "), Message("assistant", "be it")])
        events = [event for event in await events_of(main) if not event.path]
        streams.append(list(map(repr, events)))
    assert streams[0] == streams[1]


@pytest.mark.parametrize("scenario", SCENARIOS, ids=str)
async def test_all_that_models_reply_is_told_where_it_happened(scenario: Scenario) -> None:
    """Up to the first rest of each scenario: of every run, nested or not, the items its log has."""
    streamed: dict[tuple[str, ...], list[Any]] = defaultdict(list)
    run = Runner.run_streamed(
        scenario.build(World()), scenario.input, run_config=config_of(scenario), max_turns=scenario.max_turns(None)
    )
    try:
        async for event in run:
            if event.type == "run_item_stream_event" and event.name not in ("tool_output", "handoff_occured"):
                streamed[event.path].append(event.item.raw_item)
    except Exception:
        pass
    recorded: dict[tuple[str, ...], list[Any]] = defaultdict(list)
    for event in run.to_state().value.log:
        path: tuple[str, ...] = ()
        while isinstance(event, Nested):
            path, event = (*path, event.call_id), event.event
        if isinstance(event, ModelReplied):
            recorded[path] += event.response.output
    assert streamed == recorded
    if run.is_finished:
        assert {path for path in streamed if path} == {path for path in recorded if path}


async def test_what_helps_to_read_the_output_looks_at_the_run_alone() -> None:
    def build() -> Agent[Any, Any]:
        helper = agent("helper", [], "nested words")
        return agent("main", [helper.as_tool()], call("helper", input="x"), "outer words")

    grown = [value async for value in Runner.run_streamed(build(), "go").stream_output()]
    assert grown[-1] == "outer words" and not any("nested" in str(value) for value in grown)
    run = await read(build())
    items = [type(item).__name__ for item in run.new_items]
    assert items == ["ToolCallItem", "ToolCallOutputItem", "MessageOutputItem"]


async def test_a_run_that_nobody_streams_asks_no_nested_model_to_stream() -> None:
    helper = agent("helper", [], "words")
    await Runner.run(agent("main", [helper.as_tool()], call("helper", input="x"), "done"), "go")
    assert [request.stream for request in helper.model.requests] == [False]  # type: ignore[union-attr]


async def test_readers_that_are_slow_hold_all_nested_models_back() -> None:
    words = "word " * (2 * STREAM_BUFFER)
    helper = agent("helper", [], words, words, words)
    main = agent("main", [helper.as_tool()], [call("helper", input=str(n)) for n in range(3)], "done")
    events: list[StreamEvent] = []
    async with asyncio.timeout(20):
        async for event in Runner.run_streamed(main, "go"):
            events.append(event)
            await asyncio.sleep(0)
    assert [text(events, f"call_1_{n + 1}") for n in range(3)] == [words] * 3


# Resuming


async def test_a_resumed_nested_run_is_told_from_where_it_stood() -> None:
    world = World()
    helper = agent(
        "helper", [tool_of(world, "dig", needs_approval=True)], [Message("assistant", "may I?"), call("dig", x=1)], "dug"
    )
    main = agent("main", [helper.as_tool()], call("helper", input="x"), "done")
    first: list[StreamEvent] = []
    paused = await read(main, "go", first)
    nested = ("call_1_1",)
    assert steps(first)[2:] == [(nested, "agent helper"), (nested, "message_output_created"), (nested, "tool_called")]
    state = reloaded(main, paused.to_state())
    state.approve(state.interruptions[0])
    assert steps(await events_of(main, state)) == [
        (nested, "tool_output"),
        (nested, "message_output_created"),
        ((), "tool_output"),
        ((), "message_output_created"),
    ]


async def test_a_nested_run_that_was_handed_over_goes_on_with_the_next_agent() -> None:
    world = World()
    second = agent("second", [tool_of(world, "dig", needs_approval=True)], call("dig", x=1), "dug")
    first = agent("first", [], call("transfer_to_second"), handoffs=[handoff(second)])
    main = agent("main", [first.as_tool()], call("first", input="x"), "done")
    seen: list[StreamEvent] = []
    paused = await read(main, "go", seen)
    nested = ("call_1_1",)
    assert steps(seen)[2:] == [
        (nested, "agent first"),
        (nested, "handoff_requested"),
        (nested, "handoff_occured"),
        (nested, "agent second"),
        (nested, "tool_called"),
    ]
    state = reloaded(main, paused.to_state())
    state.approve(state.interruptions[0])
    rest = await events_of(main, state)
    assert steps(rest)[:2] == [(nested, "tool_output"), (nested, "message_output_created")]
    items = [event.item for event in rest if event.type == "run_item_stream_event" and event.path]
    assert {item.agent.name for item in items} == {"second"}


async def test_what_a_person_says_of_a_nested_call_in_doubt_is_told_too() -> None:
    begun = asyncio.Event()

    @function_tool(effect="once")
    async def pay() -> str:
        """Pay."""
        begun.set()
        await asyncio.sleep(3600)
        return "paid"

    helper = agent("helper", [pay], call("pay"), "paid it")
    main = agent("main", [helper.as_tool()], call("helper", input="x"), "done")
    run = Runner.run_streamed(main, "go")
    async for event in run:
        if event.type == "run_item_stream_event" and event.path:
            await begun.wait()
            run.cancel()
    paused = await Runner.run(main, reloaded(main, run.to_state()))
    state = reloaded(main, paused.to_state())
    state.provide_result(state.interruptions[0], result="it was paid")
    rest = await events_of(main, state)
    nested = ("call_1_1",)
    assert steps(rest)[:2] == [(nested, "tool_output"), (nested, "message_output_created")]
    assert "it was paid" in repr(rest[0])


async def test_a_run_that_goes_on_past_a_limit_repeats_nothing() -> None:
    """Its nested run is entered twice in one stream."""
    helper = agent("helper", [tool_of(World(), "dig")], call("dig", x=1), call("dig", x=2), "dug")
    main = agent("main", [helper.as_tool()], call("helper", input="x"), "done")
    config = RunConfig(limits=RunLimits(turns=2), on_limit=lambda reached, context: RunLimits(turns=10))
    nested = ("call_1_1",)
    mine = [what for path, what in steps(await events_of(main, run_config=config)) if path == nested]
    assert mine == ["agent helper", *["tool_called", "tool_output"] * 2, "message_output_created"]


# Output buffering


@pytest.mark.parametrize("trips", [False, True])
async def test_a_nested_answer_is_held_until_its_guardrails_let_it_pass(trips: bool) -> None:
    events: list[StreamEvent] = []
    said: list[str] = []
    helper = agent("helper", [], "the secret is 42", output_guardrails=[guard(events, trips, said)])
    main = agent("main", [helper.as_tool()], call("helper", input="x"), "done")
    await read(main, "go", events, run_config=BUFFERED)
    assert "secret" not in said[0]
    assert text(events, "call_1_1") == ("" if trips else "the secret is 42")
    assert ("secret" in shown(events)) is not trips


async def test_a_nested_answer_that_would_be_the_output_is_held_with_it() -> None:
    events: list[StreamEvent] = []
    deep = agent("deep", [], "the secret is 42")
    middle = agent("middle", [deep.as_tool()], call("deep", input="x"), tool_use_behavior="stop_on_first_tool")
    main = agent("main", [middle.as_tool()], call("middle", input="x"), tool_use_behavior="stop_on_first_tool")
    config = RunConfig(buffer_output=True, output_guardrails=[guard(events, True)])
    with pytest.raises(OutputGuardrailTripwireTriggered):
        await read(main, "go", events, run_config=config)
    assert "secret" not in shown(events)


async def test_a_middle_agents_guardrails_hold_what_is_nested_in_it() -> None:
    events: list[StreamEvent] = []
    deep = agent("deep", [], "the secret is 42")
    middle = agent(
        "middle",
        [deep.as_tool()],
        call("deep", input="x"),
        tool_use_behavior="stop_on_first_tool",
        output_guardrails=[guard(events, True)],
    )
    await read(agent("main", [middle.as_tool()], call("middle", input="x"), "done"), "go", events, run_config=BUFFERED)
    assert "secret" not in shown(events) and text(events) == "done"


@pytest.mark.parametrize("verdict", ["allow", "reject_content", "raise_exception"])
async def test_an_answer_is_held_until_the_guardrails_of_its_tool_let_it_pass(verdict: str) -> None:
    events: list[StreamEvent] = []
    asked: list[str] = []

    @tool_output_guardrail
    def judge(data: ToolOutputGuardrailData[Any]) -> ToolGuardrailFunctionOutput:
        asked.append(shown(events))
        match verdict:
            case "allow":
                return ToolGuardrailFunctionOutput.allow()
            case "reject_content":
                return ToolGuardrailFunctionOutput.reject_content("withheld")
            case _:
                return ToolGuardrailFunctionOutput.raise_exception()

    helper = agent("helper", [], "the secret is 42")
    main = agent("main", [helper.as_tool(tool_output_guardrails=[judge])], call("helper", input="x"), "done")
    try:
        await read(main, "go", events, run_config=BUFFERED)
    except ToolOutputGuardrailTripwireTriggered:
        assert verdict == "raise_exception"
    assert "secret" not in asked[0]
    assert ("secret" in shown(events)) is (verdict == "allow")


async def test_one_nested_run_that_is_held_holds_no_other() -> None:
    events: list[StreamEvent] = []
    said: list[str] = []

    @output_guardrail
    async def judge(context: Any, agent: Any, output: str) -> GuardrailFunctionOutput:
        while not text(events, "call_1_2").endswith("words"):  # noqa: ASYNC110 - what the reader has seen
            await asyncio.sleep(0)
        said.append(text(events, "call_1_1") + text(events, "call_1_2"))
        return GuardrailFunctionOutput(None, False)

    held = agent("held", [], "held words", output_guardrails=[judge])
    free = agent("free", [], "free words")
    main = agent("main", [held.as_tool(), free.as_tool()], [call("held", input="x"), call("free", input="x")], "done")
    await read(main, "go", events, run_config=BUFFERED)
    assert said == ["free words"]
    assert (text(events, "call_1_1"), text(events, "call_1_2")) == ("held words", "free words")


# Progress


async def test_progress_of_a_nested_run_has_its_path() -> None:
    @function_tool
    def dig(ctx: ToolContext[Any]) -> str:
        """Dig."""
        ctx.emit(ctx.path)
        return "dug"

    deep = agent("deep", [dig], call("dig"), "dug")
    middle = agent("middle", [deep.as_tool()], call("deep", input="x"), "dug")
    events = await events_of(agent("main", [middle.as_tool()], call("middle", input="x"), "done"))
    path = ("call_1_1", "call_1_1")
    assert [event for event in steps(events) if "progress" in event[1]] == [(path, f"progress {path}")]


async def test_a_nested_run_that_has_timed_out_shows_nothing_more() -> None:
    stuck, next_turn = stuck_and_next_turn()
    deep = agent("deep", [stuck], call("stuck"))
    middle = agent("middle", [deep.as_tool()], call("deep", input="x"))
    main = agent("main", [middle.as_tool(timeout=0.05), next_turn], call("middle", input="x"), call("next_turn"), "done")
    before = asyncio.all_tasks()
    said = [what for _, what in steps(await events_of(main)) if "progress" in what]
    assert said == ["progress early"]
    if left := asyncio.all_tasks() - before:  # the thread of its tool has ended: so do its tasks, a moment later
        await asyncio.wait(left, timeout=10)
