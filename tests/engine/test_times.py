"""When things happened, by the run's clock: a waterfall can be drawn from the log alone."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pytest

from agentsdk import (
    Agent,
    FunctionTool,
    MemoryRunStore,
    RunConfig,
    RunErrorHandlerResult,
    Runner,
    RunState,
    ToolGuardrailFunctionOutput,
    UserError,
    function_tool,
    tool_output_guardrail,
)
from agentsdk.core.codec import decode_events
from agentsdk.errors import AgentsException
from agentsdk.events import ModelReplied, Nested, RunEnded, RunEvent, RunStarted, Stopped, ToolFinished, ToolsIntended
from agentsdk.testing import ScriptedModel, call
from tests.models.wire import FakeClock

pytestmark = pytest.mark.anyio

T = FakeClock().now


def slow_model(clock: FakeClock, *replies: Any) -> ScriptedModel:
    """A reply takes 2 seconds."""

    def after(reply: Any) -> Any:
        def say(request: Any) -> Any:
            clock.now += 2
            return reply(request) if callable(reply) else reply

        return say

    return ScriptedModel([after(reply) for reply in replies])


def slow_tool(clock: FakeClock, **options: Any) -> FunctionTool[Any]:
    """A call takes 5 seconds."""

    async def work() -> str:
        clock.now += 5
        return "worked"

    return function_tool(work, **options)


async def log_of(store: MemoryRunStore) -> list[RunEvent]:
    return list(decode_events(await store.read("r")))


def config_of(store: MemoryRunStore, clock: FakeClock, **options: Any) -> RunConfig:
    return RunConfig(store=store, run_id="r", clock=clock, **options)


def times(log: Sequence[RunEvent]) -> list[tuple[float, ...]]:
    """When requests, calls and the end were, since the start."""
    found: list[tuple[float, ...]] = []
    for event in log:
        match event:
            case ModelReplied():
                found.append((event.asked_at - T, event.at - T))
            case ToolsIntended() | RunEnded() | Stopped():
                found.append((event.at - T,))
            case ToolFinished():
                found.append((event.started_at - T, event.at - T))
            case Nested():
                found += times([event.event])
            case _:
                pass
    return found


async def test_requests_calls_and_the_end_have_their_times() -> None:
    store, clock = MemoryRunStore(), FakeClock()
    agent = Agent("clerk", model=slow_model(clock, call("work"), "done"), tools=[slow_tool(clock)])
    await Runner.run(agent, "go", run_config=config_of(store, clock))
    assert times(await log_of(store)) == [(0, 2), (2,), (2, 7), (7, 9), (9,)]
    summary = await store.summary("r")
    assert summary is not None and (summary.started_at, summary.ended_at) == (T, T + 9)


class Exact(FakeClock):
    """Tells microseconds, and no two times alike."""

    def time(self) -> float:
        self.now += 0.000_137
        return self.now


async def test_times_of_a_saved_a_resumed_and_a_forked_run_are_those_that_were_told() -> None:
    store, clock = MemoryRunStore(), Exact(T + 0.123_456)
    work = slow_tool(clock, needs_approval=True)
    agent = Agent("clerk", model=slow_model(clock, call("work"), call("work"), "done", "done"), tools=[work])
    config = config_of(store, clock)
    state = (await Runner.run(agent, "go", run_config=config)).to_state()
    for _ in range(2):
        state.approve(state.interruptions[0])
        state = RunState.from_string(agent, state.to_string())
        state = (await Runner.run(agent, state, run_config=config)).to_state()
    log = await log_of(store)
    assert list(state.value.log) == log, "a log in memory has the times that are stored"
    assert list(RunState.from_string(agent, state.to_string()).value.log) == log
    flat = [at for pair in times(log) for at in pair]
    assert all(abs(at * 1000 - round(at * 1000)) < 0.001 for at in flat), "to the millisecond"
    assert flat == sorted(flat), "each began when what was before it had ended"
    assert [round(at) for at in flat] == [0, 2, 2, 2, 7, 7, 9, 9, 9, 14, 14, 16, 16]
    started = log[0]
    assert isinstance(started, RunStarted) and T + 0.1234 < started.at <= T + flat[0]
    await Runner.fork("r", at=len(log) - 3, new_run_id="forked", run_config=RunConfig(store=store))
    forked = decode_events(await store.read("forked"))
    assert times(forked) == times(log[: len(log) - 3])


async def test_a_guarded_result_and_a_nested_run_have_their_times() -> None:
    store, clock = MemoryRunStore(), FakeClock()

    @tool_output_guardrail
    def clean(data: Any) -> ToolGuardrailFunctionOutput:
        clock.now += 1
        return ToolGuardrailFunctionOutput.allow()

    child = Agent(
        "child", model=slow_model(clock, call("work"), "ok"), tools=[slow_tool(clock, tool_output_guardrails=[clean])]
    )
    parent = Agent("parent", model=slow_model(clock, call("child", input="x"), "done"), tools=[child.as_tool()])
    await Runner.run(parent, "go", run_config=config_of(store, clock))
    assert times(await log_of(store)) == [(0, 2), (2,), (2, 4), (4,), (4, 9), (10, 12), (12,), (2, 12), (12, 14), (14,)]


async def test_a_call_whose_body_never_ran_has_no_times() -> None:
    store, clock = MemoryRunStore(), FakeClock()
    agent = Agent("clerk", model=ScriptedModel([call("nobody"), "done"]), tools=[slow_tool(clock)])
    await Runner.run(agent, "go", run_config=config_of(store, clock))
    (finished,) = [event for event in await log_of(store) if isinstance(event, ToolFinished)]
    assert (finished.started_at, finished.at) == (0.0, 0.0)


async def test_an_end_that_an_error_handler_gave_has_its_time() -> None:
    store, clock = MemoryRunStore(), FakeClock()
    agent = Agent("clerk", model=slow_model(clock, call("work"), "never"), tools=[slow_tool(clock)])
    await Runner.run(
        agent,
        "go",
        max_turns=1,
        run_config=config_of(store, clock),
        error_handlers={"max_turns": lambda given: RunErrorHandlerResult("gave up")},
    )
    assert times(await log_of(store)) == [(0, 2), (2,), (2, 7), (7,)]


async def test_a_stop_says_when_and_what_the_error_said() -> None:
    store, clock = MemoryRunStore(), FakeClock()
    agent = Agent("clerk", model=slow_model(clock, ValueError("secret-canary" + "x" * 1000)))
    with pytest.raises(AgentsException) as caught:
        await Runner.run(agent, "go", run_config=config_of(store, clock))
    stopped = (await log_of(store))[-1]
    assert isinstance(stopped, Stopped) and stopped.at == T + 2
    assert stopped.error == str(caught.value)[:500] and "canary" not in stopped.error
    summary = await store.summary("r")
    assert summary is not None and (summary.status, summary.error) == ("failed", stopped.error)


async def test_what_an_error_said_is_shortened_and_storable() -> None:
    class Odd(AgentsException):
        pass

    store, clock = MemoryRunStore(), FakeClock()
    tool = function_tool(lambda: _raise(Odd("\0\ud800" + "x" * 1000)), name_override="work", failure_error_function=None)
    agent = Agent("clerk", model=ScriptedModel([call("work")]), tools=[tool])
    with pytest.raises(AgentsException):
        await Runner.run(agent, "go", run_config=config_of(store, clock))
    stopped = (await log_of(store))[-1]
    assert isinstance(stopped, Stopped)
    assert len(stopped.error) <= 500 and "\0" not in stopped.error
    stopped.error.encode()


def _raise(error: Exception) -> Any:
    raise error


async def test_runs_that_differ_in_their_times_alone_do_not_differ() -> None:
    store = MemoryRunStore()
    for run_id, start in (("a", 0.0), ("b", 1000.0)):
        clock = FakeClock(T + start)
        agent = Agent("clerk", model=slow_model(clock, call("work"), "done"), tools=[slow_tool(clock)])
        await Runner.run(agent, "go", run_config=RunConfig(store=store, run_id=run_id, clock=clock))
    config = RunConfig(store=store)
    assert (await Runner.diff("a", "b", run_config=config)).divergence is None
    inert = Agent("clerk", model=ScriptedModel([]), tools=[slow_tool(clock)])
    replayed = await Runner.replay(inert, "a", run_config=config)
    assert replayed.divergence is None and replayed.is_finished


async def test_metadata_and_priority_are_kept_with_the_run() -> None:
    store, given = MemoryRunStore(), {"user": "ada", "": "\u00e9"}
    config = RunConfig(store=store, run_id="r", metadata=given, priority=-3)
    await Runner.run(Agent("clerk", model=ScriptedModel(["done"])), "go", run_config=config)
    given["user"] = "bob"
    started = (await log_of(store))[0]
    assert isinstance(started, RunStarted)
    summary = await store.summary("r")
    assert summary is not None
    for one in (started, summary):
        assert (one.metadata, one.priority) == ({"user": "ada", "": "\u00e9"}, -3)


@pytest.mark.parametrize("wrong", [{"a": 1}, {1: "a"}, {"a": None}, {"a": "\0"}, {"\0": "a"}, {"a": "\ud800"}, ["a"], "a"])
def test_metadata_are_texts(wrong: Any) -> None:
    with pytest.raises(UserError, match=r"RunConfig\(metadata=.*expected a dict of texts"):
        RunConfig(metadata=wrong)


@pytest.mark.parametrize("wrong", [None, "1", 1.5, True, 2**63])
def test_a_priority_is_a_whole_number(wrong: Any) -> None:
    with pytest.raises(UserError, match=r"RunConfig\(priority=.*expected a whole number"):
        RunConfig(priority=wrong)
