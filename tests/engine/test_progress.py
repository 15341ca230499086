"""`ToolContext.emit`: progress from inside a tool, in the stream of its run and nowhere else."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable
from typing import Any

import pytest

from agentsdk import (
    Agent,
    FunctionTool,
    GuardrailFunctionOutput,
    MemoryRunStore,
    OutputGuardrailTripwireTriggered,
    RunConfig,
    Runner,
    StreamEvent,
    ToolContext,
    ToolProgressStreamEvent,
    function_tool,
    output_guardrail,
)
from agentsdk.engine.channel import STREAM_BUFFER
from agentsdk.testing import ScriptedModel, call

pytestmark = pytest.mark.anyio


@function_tool
def count(ctx: ToolContext[Any], to: int) -> str:
    """Count on a thread."""
    assert threading.current_thread() is not threading.main_thread()
    for n in range(to):
        ctx.emit(n)
    return "counted"


@function_tool
async def count_async(ctx: ToolContext[Any], to: int) -> str:
    """Count in the event loop."""
    for n in range(to):
        ctx.emit(n)
        await asyncio.sleep(0)
    return "counted"


@function_tool
def count_in_both(ctx: ToolContext[Any], to: int) -> Any:
    """Begin on a thread, end in the event loop."""
    for n in range(to):
        ctx.emit(n)

    async def rest() -> str:
        for n in range(to, 2 * to):
            ctx.emit(n)
        return "counted"

    return rest()


@function_tool
def count_in_loop_of_its_own(ctx: ToolContext[Any], to: int) -> str:
    """Count in an event loop that is the tool's."""

    async def body() -> str:
        for n in range(to):
            ctx.emit(n)
        return "counted"

    return asyncio.run(body())


class Still:
    """A clock that stands."""

    def time(self) -> float:
        return 1.0

    async def sleep(self, seconds: float) -> None:
        await asyncio.sleep(seconds)


def agent_with(tool: FunctionTool[Any], *replies: Any, **fields: Any) -> Agent[Any, Any]:
    return Agent("main", tools=[tool], model=ScriptedModel([*replies, "done"]), **fields)


def progress(events: list[StreamEvent], call_id: str = "") -> list[Any]:
    shown = [event for event in events if isinstance(event, ToolProgressStreamEvent)]
    return [event.data for event in shown if not call_id or event.call_id == call_id]


@pytest.mark.parametrize(
    ("tool", "expected"),
    [(count, 50), (count_async, 50), (count_in_both, 100), (count_in_loop_of_its_own, 50)],
    ids=["thread", "loop", "both", "own loop"],
)
async def test_progress_comes_in_order_between_the_call_and_its_result(tool: FunctionTool[Any], expected: int) -> None:
    agent = agent_with(tool, call(tool.name, to=50))
    run = Runner.run_streamed(agent, "go")
    events = [event async for event in run]
    assert progress(events) == list(range(expected))
    kinds = [event.name if event.type == "run_item_stream_event" else event.type for event in events]
    first = kinds.index("tool_progress_stream_event")
    assert kinds[first - 1] == "tool_called" and kinds[first + expected] == "tool_output"
    shown = events[first]
    assert isinstance(shown, ToolProgressStreamEvent)
    assert (shown.tool_name, shown.call_id, shown.agent, shown.path) == (tool.name, "call_1_1", agent, ())


async def test_the_data_is_the_object_that_was_sent() -> None:
    sent = object()

    @function_tool
    async def send(ctx: ToolContext[Any]) -> None:
        """Send it."""
        ctx.emit(sent)

    assert progress([event async for event in Runner.run_streamed(agent_with(send, call("send")), "go")]) == [sent]


async def test_concurrent_calls_are_told_apart() -> None:
    agent = agent_with(count_async, [call("count_async", to=3), call("count_async", to=5)])
    events = [event async for event in Runner.run_streamed(agent, "go")]
    assert progress(events, "call_1_1") == [0, 1, 2] and progress(events, "call_1_2") == [0, 1, 2, 3, 4]


async def test_it_is_not_recorded_and_not_sent_to_the_model() -> None:
    """The stream without it, the log and the requests are those of a tool that emits nothing."""

    def told(events: list[StreamEvent]) -> list[str]:
        return [repr(event) for event in events if not isinstance(event, ToolProgressStreamEvent)]

    seen: list[Any] = []
    for to in (0, 5):
        agent = agent_with(count, call("count", to=5))
        agent.tools = [count.clone()] if to else [silent]
        run = Runner.run_streamed(agent, "go", run_config=RunConfig(run_id="r", clock=Still()))
        events = [event async for event in run]
        assert len(progress(events)) == to
        seen.append((told(events), run.to_state().to_string(), [list(request.items) for request in agent.model.requests]))  # type: ignore[union-attr]
    assert seen[0] == seen[1]


@function_tool(name_override="count", description_override="Count on a thread.")
def silent(ctx: ToolContext[Any], to: int) -> str:
    return "counted"


async def test_where_nobody_reads_it_does_nothing() -> None:
    assert (await Runner.run(agent_with(count, call("count", to=5)), "go")).final_output == "done"
    ToolContext(None).emit(1)
    assert await count_async.invoke(ToolContext(None), {"to": 3}) == "counted"


async def test_a_slow_reader_gets_all_of_it() -> None:
    many = 4 * STREAM_BUFFER

    @function_tool
    async def flood(ctx: ToolContext[Any]) -> str:
        """More than may wait."""
        for n in range(many):
            ctx.emit(n)
        return "flooded"

    events: list[StreamEvent] = []
    async for event in Runner.run_streamed(agent_with(flood, call("flood")), "go"):
        events.append(event)
        if len(events) % 100 == 0:
            await asyncio.sleep(0)
    assert progress(events) == list(range(many))


def stuck_and_next_turn(timeout: float | None = None) -> tuple[FunctionTool[Any], FunctionTool[Any]]:
    """A tool that emits long after it has timed out, and one that a run which goes on meanwhile calls next."""
    late, emitted = threading.Event(), threading.Event()

    @function_tool(timeout=timeout)
    def stuck(ctx: ToolContext[Any]) -> str:
        ctx.emit("early")
        late.wait(10)
        ctx.emit("late")
        emitted.set()
        return "never"

    @function_tool
    async def next_turn() -> str:
        late.set()
        await asyncio.to_thread(emitted.wait, 10)
        await asyncio.sleep(0)
        return "on"

    return stuck, next_turn


async def test_a_call_that_has_timed_out_emits_nothing_more() -> None:
    stuck, next_turn = stuck_and_next_turn(timeout=0.05)
    agent = agent_with(stuck, call("stuck"), call("next_turn"))
    agent.tools = [stuck, next_turn]
    assert progress([event async for event in Runner.run_streamed(agent, "go")]) == ["early"]


@pytest.mark.parametrize("leave", ["cancel", "close"])
async def test_a_run_that_was_left_shows_nothing_more(leave: str) -> None:
    contexts: list[ToolContext[Any]] = []

    @function_tool
    async def wait(ctx: ToolContext[Any]) -> str:
        """Wait until it is cancelled."""
        contexts.append(ctx)
        ctx.emit("begun")
        await asyncio.sleep(3600)
        return "never"

    run = Runner.run_streamed(agent_with(wait, call("wait")), "go")
    seen: list[Any] = []
    async for event in run:
        if isinstance(event, ToolProgressStreamEvent):
            seen.append(event.data)
            if leave == "close":
                break
            run.cancel()
    await run.aclose()
    contexts[0].emit("after")
    await asyncio.to_thread(contexts[0].emit, "after")
    assert [event.data async for event in run if isinstance(event, ToolProgressStreamEvent)] == []
    assert seen == ["begun"]


async def test_a_body_that_ignores_its_cancellation_shows_nothing_once_it_is_left_behind() -> None:
    go_on = asyncio.Event()

    @function_tool
    async def stubborn(ctx: ToolContext[Any]) -> str:
        """Does not end."""
        ctx.emit("begun")
        while not go_on.is_set():
            try:
                await go_on.wait()
            except asyncio.CancelledError:
                pass
        ctx.emit("late")
        return "never"

    run = Runner.run_streamed(agent_with(stubborn, call("stubborn")), "go", run_config=RunConfig(cancel_grace=0.1))
    events: list[StreamEvent] = []
    async for event in run:
        events.append(event)
        if isinstance(event, ToolProgressStreamEvent):
            run.cancel()
    go_on.set()
    await asyncio.sleep(0.01)
    events += [event async for event in run]
    assert progress(events) == ["begun"]


def test_a_thread_that_outlives_the_event_loop_may_still_emit() -> None:
    go_on, contexts = threading.Event(), list[ToolContext[Any]]()
    failed: list[BaseException] = []

    @function_tool(timeout=0.05)
    def outlive(ctx: ToolContext[Any]) -> str:
        """Ends after the run."""
        go_on.wait(10)
        try:
            ctx.emit("late")
        except BaseException as error:
            failed.append(error)
        contexts.append(ctx)
        return "never"

    async def main() -> list[StreamEvent]:
        return [event async for event in Runner.run_streamed(agent_with(outlive, call("outlive")), "go")]

    assert progress(asyncio.run(main())) == []
    go_on.set()
    while not contexts:
        pass
    assert failed == []


async def test_a_resumed_stream_shows_only_what_is_emitted_from_then_on() -> None:
    contexts: list[Callable[[object], None]] = []

    @function_tool(needs_approval=True, effect="none")
    async def pay(ctx: ToolContext[Any]) -> str:
        """Pay."""
        contexts.append(ctx.emit)
        ctx.emit("paying")
        return "paid"

    agent = agent_with(pay, [call("pay"), call("count", to=2)])
    agent.tools = [pay, count]
    first = Runner.run_streamed(agent, "go")
    assert progress([event async for event in first]) == [0, 1]
    state = first.to_state()
    state.approve(state.interruptions[0])
    assert progress([event async for event in Runner.run_streamed(agent, state)]) == ["paying"]


async def test_a_replay_shows_nothing() -> None:
    config = RunConfig(store=MemoryRunStore(), run_id="r")
    agent = agent_with(count, call("count", to=2))
    assert progress([event async for event in Runner.run_streamed(agent, "go", run_config=config)]) == [0, 1]
    assert (await Runner.replay(agent, "r", run_config=config)).divergence is None


@pytest.mark.parametrize("trips", [False, True])
async def test_what_is_held_back_for_output_guardrails_is_held_with_its_progress(trips: bool) -> None:
    shown: list[int] = []
    events: list[StreamEvent] = []

    @output_guardrail
    def judge(context: Any, agent: Any, output: str) -> GuardrailFunctionOutput:
        shown.append(len(progress(events)))
        return GuardrailFunctionOutput(None, trips)

    agent = agent_with(count, call("count", to=3), tool_use_behavior="stop_on_first_tool", output_guardrails=[judge])
    run = Runner.run_streamed(agent, "go", run_config=RunConfig(buffer_output=True))
    try:
        async for event in run:
            events.append(event)
    except OutputGuardrailTripwireTriggered:
        assert trips
    assert shown == [0]
    assert progress(events) == ([] if trips else [0, 1, 2])
