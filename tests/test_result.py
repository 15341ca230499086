from __future__ import annotations

import asyncio
import gc
import weakref
from collections.abc import Coroutine
from typing import Any

import pytest

from agentsdk import (
    Agent,
    MemoryRunStore,
    Message,
    ModelError,
    RunConfig,
    RunErrorHandlerResult,
    RunLimits,
    Runner,
    RunState,
    UserError,
    function_tool,
)
from agentsdk.errors import StateTamperedError
from agentsdk.testing import ScriptedModel, call
from tests.models.wire import FakeClock
from tests.scenarios import World, agent_of, cut, tool_of

pytestmark = pytest.mark.anyio


async def paused() -> Any:
    world = World()
    agent = agent_of(world, [call("pay", x=1), "paid"], tools=[tool_of(world, "pay", needs_approval=True)])
    return await Runner.run(agent, "go")


async def test_a_finished_result() -> None:
    agent = agent_of(World(), [call("add", x=1), "sum"], tools=[tool_of(World(), "add")])
    result = await Runner.run(agent, "go", context="ctx")
    assert repr(result) == "RunResult(finished, agent='main', turns=2)"
    assert result.is_finished and not result.interruptions and not result.truncated
    assert result.input == [Message("user", "go")]
    assert [len(reply.output) for reply in result.raw_responses] == [1, 1]
    assert result.context_wrapper.context == "ctx" and result.context_wrapper.usage == result.usage
    assert result.last_agent is agent and result.current_agent is agent
    assert result.run_id and result.to_state().is_finished


async def test_a_paused_result_has_no_output_and_says_why() -> None:
    result = await paused()
    assert repr(result) == "RunResult(paused, agent='main', turns=1)"
    with pytest.raises(UserError, match=r"no final output: 1 call\(s\) wait for a person"):
        _ = result.final_output
    assert [item["type"] for item in result.to_input_list()] == ["message", "function_call", "function_call_output"]


@pytest.mark.parametrize("deadline", [None, 1_000.0])
@pytest.mark.parametrize("ends", ["paused", "failed"])
async def test_the_duration_is_that_of_all_processes_without_the_waits_between_them(ends: str, deadline: float | None) -> None:
    clock = FakeClock()

    def work(seconds: int) -> str:
        clock.now += seconds
        return "worked"

    tools = [function_tool(work), function_tool(lambda: "paid", name_override="pay", needs_approval=True)]
    replies = [
        call("work", seconds=5),
        call("pay") if ends == "paused" else ModelError("away"),
        call("work", seconds=3),
        "done",
    ]
    agent = Agent("main", model=ScriptedModel(replies), tools=tools)
    config = RunConfig(clock=clock, limits=RunLimits(deadline=deadline))
    if ends == "paused":
        result = await Runner.run(agent, "go", run_config=config)
        assert result.duration == 5
        state = result.to_state()
        state.approve(state.interruptions[0])
    else:
        with pytest.raises(ModelError) as caught:
            await Runner.run(agent, "go", run_config=config)
        assert isinstance(caught.value.state, RunState)
        state = caught.value.state
    clock.now += 100
    stream = Runner.run_streamed(agent, RunState.from_string(agent, state.to_string()), run_config=config)
    async for _ in stream:
        assert stream.duration in (5, 8)
    clock.now += 100
    assert stream.is_finished and stream.duration == 8


@pytest.mark.parametrize("handled", [False, True])
@pytest.mark.parametrize("deadline", [None, 1_000.0])
async def test_a_finished_run_that_is_loaded_has_the_duration_of_all_processes(deadline: float | None, handled: bool) -> None:
    clock, store = FakeClock(), MemoryRunStore()

    def work(seconds: int) -> str:
        clock.now += seconds
        return "worked"

    tools = [function_tool(work), function_tool(lambda: "paid", name_override="pay", needs_approval=True)]
    replies = [call("work", seconds=5), call("pay"), call("work", seconds=3), "done"]
    agent = Agent("main", model=ScriptedModel(replies), tools=tools)
    config = RunConfig(store=store, run_id="r", clock=clock, limits=RunLimits(turns=3 if handled else 9, deadline=deadline))
    state = (await Runner.run(agent, "go", run_config=config)).to_state()
    state.approve(state.interruptions[0])
    clock.now += 100
    handlers: Any = {"max_turns": lambda given: RunErrorHandlerResult("enough")}
    result = await Runner.run(agent, state, run_config=config, error_handlers=handlers)
    assert (result.final_output, result.duration) == ("enough" if handled else "done", 8)
    clock.now += 100
    summary = await store.summary("r")
    assert summary is not None and summary.elapsed == 8
    assert (await Runner.resume(agent, "r", run_config=config)).duration == 8
    assert await store.summary("r") == summary


@pytest.mark.parametrize("deadline", [None, 1_000.0])
async def test_the_duration_goes_on_where_limits_are_raised_on_the_way(deadline: float | None) -> None:
    clock = FakeClock()

    def work(seconds: int) -> str:
        clock.now += seconds
        return "worked"

    replies = [call("work", seconds=5), call("work", seconds=4), "done"]
    agent = Agent("main", model=ScriptedModel(replies), tools=[function_tool(work)])
    config = RunConfig(
        clock=clock,
        limits=RunLimits(turns=1, deadline=deadline),
        on_limit=lambda error, context: RunLimits(turns=5, deadline=1_000.0 if deadline is None else None),
    )
    assert (await Runner.run(agent, "go", run_config=config)).duration == 9


async def test_final_output_as_checks_on_request() -> None:
    result = await Runner.run(agent_of(World(), ["text"]), "go")
    assert result.final_output_as(str) == "text"
    assert result.final_output_as(int) == "text"
    with pytest.raises(UserError, match="'str', expected 'int'"):
        result.final_output_as(int, raise_if_incorrect_type=True)


async def test_truncated_says_that_the_text_is_not_whole() -> None:
    result = await Runner.run(agent_of(World(), {"1": cut("half")}), "go", run_config=RunConfig(max_continuations=0))
    assert result.final_output == "half" and result.truncated


async def test_to_input_list_is_the_next_runs_input() -> None:
    model = ScriptedModel(["one", "two"])
    agent = Agent("main", model=model)
    first = await Runner.run(agent, "first")
    second = await Runner.run(agent, [*first.to_input_list(), {"role": "user", "content": "second"}])
    assert [item.text for item in model.requests[1].items] == ["first", "one", "second"]  # type: ignore[union-attr]
    assert second.final_output == "two"


async def test_deciding_on_a_state_leaves_the_result_alone() -> None:
    result = await paused()
    state = result.to_state()
    state.approve(state.interruptions[0])
    assert not state.interruptions and len(result.interruptions) == 1 and len(result.to_state().interruptions) == 1


async def test_the_runs_key_seals_its_states() -> None:
    key = b"k" * 32
    agent = agent_of(World(), ["hello"])
    result = await Runner.run(agent, "go", run_config=RunConfig(state_key=key))
    text = result.to_state().to_string()
    assert RunState.from_string(agent, text, state_key=key).is_finished
    with pytest.raises(StateTamperedError):
        RunState.from_string(agent, text.replace("hello", "hullo"), state_key=key)
    with pytest.raises(StateTamperedError):
        RunState.from_string(agent, text, state_key=b"x" * 32)


async def test_a_stream_before_its_start_says_so() -> None:
    stream = Runner.run_streamed(agent_of(World(), ["hello"]), "go")
    assert not stream.is_finished and not stream.is_complete
    with pytest.raises(UserError, match="has not started"):
        stream.to_input_list()
    await stream.aclose()


async def test_a_stream_can_be_read_once_and_closed_any_number_of_times() -> None:
    stream = Runner.run_streamed(agent_of(World(), ["hello"]), "go")
    assert [event.type async for event in stream if event.type != "raw_response_event"] == [
        "agent_updated_stream_event",
        "run_item_stream_event",
    ]
    assert [event async for event in stream] == []
    await stream.aclose()
    await stream.aclose()
    assert stream.final_output == "hello"


async def test_no_run_is_kept_once_nobody_has_its_result() -> None:
    class Mine:
        pass

    context = Mine()
    agent = agent_of(World(), [call("add", x=1), "sum"], tools=[tool_of(World(), "add")])
    result = await Runner.run(agent, "go", context=context)
    stream = Runner.run_streamed(agent.clone(model=ScriptedModel(["hi"])), "go", context=context)
    async for _ in stream:
        pass
    gone = weakref.ref(context)
    del context, result, stream
    gc.collect()
    assert gone() is None


# One run, and several tasks that read or await it.


class Gated:
    """A streamed run whose model answers when it is let go."""

    def __init__(self, error: Exception | None = None) -> None:
        self.asked, self.go_on = asyncio.Event(), asyncio.Event()

        async def answer(request: Any) -> str:
            self.asked.set()
            await self.go_on.wait()
            if error is not None:
                raise error
            return "hello"

        self.run = Runner.run_streamed(Agent("main", model=ScriptedModel([answer])), "go")

    async def read(self) -> list[str]:
        return [event.type async for event in self.run]

    async def wait(self) -> str:
        return (await self.run).final_output

    async def begin(self, job: Coroutine[Any, Any, Any]) -> asyncio.Task[Any]:
        task = asyncio.create_task(job)
        await self.asked.wait()
        await asyncio.sleep(0)
        return task


async def test_a_run_that_one_task_reads_can_be_awaited_by_others() -> None:
    alone = Gated()
    alone.go_on.set()
    events = await alone.read()
    gated = Gated()
    reader = await gated.begin(gated.read())
    others = [asyncio.create_task(gated.wait()) for _ in range(3)]
    await asyncio.sleep(0)
    gated.go_on.set()
    async with asyncio.timeout(10):
        assert await asyncio.gather(*others) == ["hello"] * 3
        assert await reader == events, "the reader saw all"


async def test_the_error_of_a_run_reaches_all_that_read_or_await_it() -> None:
    gated = Gated(ValueError("no"))
    reader = await gated.begin(gated.read())
    other = asyncio.create_task(gated.wait())
    await asyncio.sleep(0)
    gated.go_on.set()
    async with asyncio.timeout(10):
        ends = await asyncio.gather(reader, other, return_exceptions=True)
    assert [type(end) for end in ends] == [ModelError] * 2


@pytest.mark.parametrize("first", ["read", "wait"])
async def test_a_second_reader_beside_another_task_is_refused_and_disturbs_nobody(first: str) -> None:
    gated = Gated()
    task = await gated.begin(getattr(gated, first)())
    with pytest.raises(UserError, match="read by another task, expected one reader"):
        await gated.read()
    gc.collect()
    gated.go_on.set()
    async with asyncio.timeout(10):
        assert await task
    assert gated.run.final_output == "hello"


async def test_several_awaits_of_one_run_all_end() -> None:
    gated = Gated()
    first = await gated.begin(gated.wait())
    second = asyncio.create_task(gated.wait())
    await asyncio.sleep(0)
    gated.go_on.set()
    async with asyncio.timeout(10):
        assert await asyncio.gather(first, second) == ["hello"] * 2
    assert await gated.wait() == "hello"


async def test_cancelling_an_await_beside_a_reader_stops_the_run() -> None:
    gated = Gated()
    reader = await gated.begin(gated.read())
    other = asyncio.create_task(gated.wait())
    await asyncio.sleep(0)
    other.cancel()
    async with asyncio.timeout(10):
        with pytest.raises(asyncio.CancelledError):
            await other
        await reader
    assert gated.run.is_complete and not gated.run.is_finished


async def test_an_iterator_may_be_handed_to_another_task_and_the_rest_awaited() -> None:
    gated = Gated()
    gated.go_on.set()
    events = gated.run.stream_events()
    first = await anext(events)

    async def rest() -> list[str]:
        return [(await anext(events)).type]

    seen = await asyncio.create_task(rest())
    assert [first.type, *seen] == ["agent_updated_stream_event", "raw_response_event"]
    assert (await gated.run).final_output == "hello"


async def test_a_result_says_why_the_run_went_no_further() -> None:
    @function_tool(needs_approval=True)
    def pay() -> str:
        """Pay."""
        return "paid"

    agent = Agent("clerk", model=ScriptedModel(["done", call("pay"), call("pay")]), tools=[pay])
    assert (await Runner.run(agent, "go")).stop_reason == "finished"
    waiting = await Runner.run(agent, "go")
    assert waiting.stop_reason == "waiting"
    state = waiting.to_state()
    state.approve(state.interruptions[0])
    config = RunConfig(on_limit="pause", limits=RunLimits(turns=1))
    assert (await Runner.run(agent, state, run_config=config)).stop_reason == "turns"
