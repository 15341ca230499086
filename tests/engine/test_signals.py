"""Signals by run id: posted by anybody, taken by the run's owner, each once."""

from __future__ import annotations

import asyncio
import itertools
import uuid
from collections.abc import Callable, Sequence
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from agentsdk import (
    Agent,
    FunctionTool,
    GuardrailFunctionOutput,
    MemoryRunStore,
    MemorySession,
    Message,
    RunConfig,
    RunConflictError,
    Runner,
    RunNotFoundError,
    RunState,
    StoreError,
    UserError,
    function_tool,
    input_guardrail,
    output_guardrail,
)
from agentsdk.core.codec import decode_events
from agentsdk.engine import signals
from agentsdk.errors import RunCancelledError, StoreUnavailableError
from agentsdk.events import ApprovalDecided, InputAdded, RunEnded, RunPaused, RunUnpaused, SignalsTaken, Stopped
from agentsdk.runs import Decision
from agentsdk.testing import FaultyStore, ScriptedModel, call
from agentsdk.testing.faulty_store import Fault
from agentsdk.types.events import RunEvent
from agentsdk.types.summary import RunSummary
from tests.core.histories import unpaired
from tests.models.wire import FakeClock
from tests.stores.stores import STORES

pytestmark = pytest.mark.anyio


def config_of(store: Any, **options: Any) -> RunConfig:
    return RunConfig(**{"store": store, "run_id": "r", "clock": FakeClock(), **options})


def agent_of(*replies: Any, tools: Sequence[FunctionTool[Any]] = (), name: str = "clerk", **fields: Any) -> Agent[Any, Any]:
    return Agent(name, model=ScriptedModel(list(replies)), tools=list(tools), **fields)


def working(body: Callable[[], Any], **options: Any) -> FunctionTool[Any]:
    """A tool `work` that does as `body` says."""

    async def work() -> str:
        await body()
        return "worked"

    return function_tool(work, **{"effect": "none", **options})


async def nothing() -> None:
    """The body of a tool that has nothing to do."""


async def log_of(store: Any) -> list[RunEvent]:
    return list(decode_events(await store.read("r")))


async def summary_of(store: Any) -> RunSummary:
    summary = await store.summary("r")
    assert summary is not None
    return summary


def of_kind(log: Sequence[RunEvent], *kinds: type[Any]) -> list[Any]:
    return [event for event in log if isinstance(event, kinds)]


def said(state: RunState) -> list[str]:
    """The texts of the conversation."""
    return [str(getattr(item, "content", None) or getattr(item, "name", None) or item.output) for item in state.items()]  # type: ignore[union-attr]


# Messages.


async def test_a_message_enters_at_the_next_turn_in_one_append_with_the_signal() -> None:
    store = MemoryRunStore()
    config = config_of(store)

    async def body() -> None:
        assert await Runner.send("r", "and be quick", by="ada", run_config=config) == 1

    agent = agent_of(call("work"), "done", tools=[working(body)])
    result = await Runner.run(agent, "go", run_config=config)
    assert said(result.to_state()) == ["go", "work", "worked", "and be quick", "done"]
    log = await log_of(store)
    at = log.index(SignalsTaken(1))
    assert log[at + 1] == InputAdded((Message("user", "and be quick"),))
    summary = await summary_of(store)
    assert (summary.signals, summary.taken, summary.status) == (1, 1, "finished")


async def test_of_those_that_wait_the_highest_priority_enters_first() -> None:
    config = config_of(MemoryRunStore())

    async def body() -> None:
        for text, priority in (("a", 0), ("b", 5), ("c", 0), ("d", 5)):
            await Runner.send("r", text, priority=priority, run_config=config)

    agent = agent_of(call("work"), "done", tools=[working(body)])
    result = await Runner.run(agent, "go", run_config=config)
    assert said(result.to_state())[-5:] == ["b", "d", "a", "c", "done"]


async def test_a_run_does_not_end_while_a_message_waits() -> None:
    config = config_of(MemoryRunStore())

    async def reply(request: Any) -> str:
        await Runner.send("r", {"role": "developer", "content": "one more thing"}, run_config=config)
        return "done"

    result = await Runner.run(agent_of(reply, "done again"), "go", run_config=config)
    assert said(result.to_state()) == ["go", "done", "one more thing", "done again"]
    assert (result.final_output, result.turns) == ("done again", 2)


async def test_a_message_that_comes_while_the_output_is_judged_is_not_missed() -> None:
    config = config_of(MemoryRunStore())
    judged: list[str] = []

    @output_guardrail
    async def slow(context: Any, agent: Any, output: str) -> GuardrailFunctionOutput:
        judged.append(output)
        if len(judged) == 1:
            await Runner.send("r", "one more thing", run_config=config)
        return GuardrailFunctionOutput(None, False)

    agent = agent_of("done", "done again", output_guardrails=[slow])
    result = await Runner.run(agent, "go", run_config=config)
    assert said(result.to_state()) == ["go", "done", "one more thing", "done again"]
    assert judged == ["done", "done again"]


async def test_a_message_to_a_run_that_waits_enters_behind_its_open_turn() -> None:
    store = MemoryRunStore()
    config = config_of(store)
    agent = agent_of(call("work"), "done", tools=[working(nothing, needs_approval=True)])
    await Runner.run(agent, "go", run_config=config)
    assert (await summary_of(store)).status == "waiting"
    await Runner.send("r", "and be quick", run_config=config)
    assert (await summary_of(store)).status == "ready", "somebody may go on with it"
    waits = await Runner.drive(agent, "r", run_config=config)
    assert [item.tool_name for item in waits.interruptions] == ["work"]
    assert (await summary_of(store)).status == "waiting", "it was taken, and the call waits as before"
    assert unpaired(waits.to_state().items()) == []
    await Runner.decide("r", Decision(waits.interruptions[0].call_id, "approve"), run_config=config)
    result = await Runner.drive(agent, "r", run_config=config)
    assert said(result.to_state()) == ["go", "work", "worked", "and be quick", "done"]


async def test_a_message_that_arrived_in_its_last_turn_keeps_a_run_from_ending() -> None:
    """It is in the turn that waits, and what the model says next is no answer to it."""
    store = MemoryRunStore()
    config = config_of(store)

    work = working(nothing, needs_approval=True)
    agent = agent_of(call("work"), "done", tools=[work], tool_use_behavior="stop_on_first_tool")
    first = await Runner.run(agent, "go", run_config=config)
    await Runner.send("r", "then say so", run_config=config)
    await Runner.decide("r", Decision(first.interruptions[0].call_id, "approve"), run_config=config)
    result = await Runner.drive(agent, "r", run_config=config)
    assert said(result.to_state()) == ["go", "work", "worked", "then say so", "done"]


async def test_a_refused_message_does_not_enter_and_the_run_goes_on(caplog: pytest.LogCaptureFixture) -> None:
    store = MemoryRunStore()

    @input_guardrail(run_in_parallel=False)
    def polite(context: Any, agent: Any, items: Any) -> GuardrailFunctionOutput:
        return GuardrailFunctionOutput(None, "damn" in str(items))

    config = config_of(store, input_guardrails=[polite])

    async def body() -> None:
        for text in ("please", "damn", "thanks"):
            await Runner.send("r", text, run_config=config)

    result = await Runner.run(agent_of(call("work"), "done", tools=[working(body)]), "go", run_config=config)
    assert said(result.to_state()) == ["go", "work", "worked", "please", "thanks", "done"]
    assert of_kind(await log_of(store), SignalsTaken) == [SignalsTaken(3, ((2, "input guardrail 'polite' refused it"),))]
    assert "signal 2 of run 'r' did nothing: input guardrail 'polite' refused it" in caplog.text
    assert [one.output.tripwire_triggered for one in result.input_guardrail_results] == [False, False, True, False]


async def test_a_message_is_in_the_session_too() -> None:
    session, config = MemorySession("s"), config_of(MemoryRunStore())

    async def body() -> None:
        await Runner.send("r", "hurry", run_config=config)

    await Runner.run(agent_of(call("work"), "done", tools=[working(body)]), "go", run_config=config, session=session)
    assert [getattr(item, "content", "") for item in await session.get_items()][-2:] == ["hurry", "done"]


async def test_what_is_posted_in_the_very_last_moment_stays_readable(caplog: pytest.LogCaptureFixture) -> None:
    class Late(MemoryRunStore):
        async def append(self, run_id: str, expected_rev: int, events: Sequence[bytes], summary: RunSummary) -> int:
            if any(isinstance(event, RunEnded) for event in decode_events(events)):
                await Runner.send("r", "too late", run_config=config)
            return await super().append(run_id, expected_rev, events, summary)

    store = Late()
    config = config_of(store)
    result = await Runner.run(agent_of("done"), "go", run_config=config)
    assert result.final_output == "done"
    summary = await summary_of(store)
    assert (summary.status, summary.signals, summary.taken) == ("finished", 1, 0)
    assert b"too late" in (await store.signals("r"))[0]
    assert "run 'r' ended before it took its last signals" in caplog.text
    with pytest.raises(RunConflictError, match="is finished"):
        await Runner.send("r", "much too late", run_config=config)


async def test_nested_runs_take_nothing_that_is_for_the_root() -> None:
    config = config_of(MemoryRunStore())

    async def body() -> None:
        await Runner.send("r", "for the root", run_config=config)

    child = agent_of(call("work"), "child done", tools=[working(body)], name="child")
    parent = agent_of(call("child", input="work"), "done", tools=[child.as_tool()])
    result = await Runner.run(parent, "go", run_config=config)
    assert said(result.to_state()) == ["go", "child", "child done", "for the root", "done"]
    model: Any = child.model
    assert "for the root" not in str(model.requests)


# Pause.


async def test_a_paused_run_rests_until_somebody_lets_it_go_on() -> None:
    store = MemoryRunStore()
    config = config_of(store)

    async def body() -> None:
        await Runner.pause("r", by="ada", reason="lunch", run_config=config)

    agent = agent_of(call("work"), "done", tools=[working(body)])
    result = await Runner.run(agent, "go", run_config=config)
    assert not result.is_finished and "paused" in repr(result)
    at = FakeClock().now
    assert result.paused == result.to_state().paused == RunPaused("ada", "lunch", at)
    with pytest.raises(UserError, match="paused"):
        _ = result.final_output
    summary = await summary_of(store)
    assert (summary.status, summary.held_until, summary.due_at) == ("waiting", at, 0.0)

    again = await Runner.drive(agent, "r", run_config=config)
    assert again.paused is not None and (await summary_of(store)).rev == summary.rev, "given as it stands"
    await Runner.unpause("r", by="bob", run_config=config)
    assert (await summary_of(store)).status == "ready"
    done = await Runner.drive(agent, "r", run_config=config)
    assert done.final_output == "done" and done.paused is None
    assert of_kind(await log_of(store), RunPaused, RunUnpaused) == [RunPaused("ada", "lunch", at), RunUnpaused("bob", at)]


async def test_what_is_said_to_a_paused_run_is_taken_and_it_stays_paused() -> None:
    store = MemoryRunStore()
    config = config_of(store)
    await Runner.submit(agent_of(), "go", run_config=config)
    await Runner.pause("r", run_config=config)
    agent = agent_of("done")
    assert (await Runner.drive(agent, "r", run_config=config)).paused is not None
    await Runner.send("r", "wait", run_config=config)
    result = await Runner.drive(agent, "r", run_config=config)
    assert result.paused is not None and said(result.to_state()) == ["go", "wait"]
    summary = await summary_of(store)
    assert (summary.status, summary.taken) == ("waiting", 2)


async def test_a_run_is_paused_before_it_ends() -> None:
    config = config_of(MemoryRunStore())

    async def reply(request: Any) -> str:
        await Runner.pause("r", run_config=config)
        return "done"

    agent = agent_of(reply)
    result = await Runner.run(agent, "go", run_config=config)
    assert result.paused is not None and not result.is_finished
    await Runner.unpause("r", run_config=config)
    result = await Runner.drive(agent, "r", run_config=config)
    assert (result.final_output, result.turns) == ("done", 1)


async def test_a_pause_that_changes_nothing_is_refused() -> None:
    store = MemoryRunStore()
    config = config_of(store)
    await Runner.submit(agent_of(), "go", run_config=config)
    await Runner.unpause("r", run_config=config)
    await Runner.pause("r", run_config=config)
    await Runner.pause("r", run_config=config)
    await Runner.drive(agent_of(), "r", run_config=config)
    (taken,) = of_kind(await log_of(store), SignalsTaken)
    assert taken == SignalsTaken(3, ((1, "the run is not paused"), (3, "the run is paused already")))


# Cancel.


async def test_a_cancel_reaches_a_run_in_the_middle_of_a_call() -> None:
    store = MemoryRunStore()
    config = config_of(store)
    ended, tasks = list[str](), asyncio.all_tasks()

    async def body() -> None:
        await Runner.cancel("r", by="ada", reason="enough", run_config=config)
        try:
            await asyncio.Event().wait()
        finally:
            ended.append("cancelled")

    agent = agent_of(call("work"), "done", tools=[working(body)])
    with pytest.raises(RunCancelledError, match="run 'r' was cancelled by 'ada': enough") as caught:
        await Runner.run(agent, "go", run_config=config)
    assert ended == ["cancelled"] and (caught.value.by, caught.value.reason) == ("ada", "enough")
    task = asyncio.current_task()
    assert task is not None and task.cancelling() == 0
    log = await log_of(store)
    assert log[-2:] == [SignalsTaken(1), Stopped("CancelledError", "enough", "ada", FakeClock().now)]
    summary = await summary_of(store)
    assert (summary.status, summary.reason, summary.error) == ("cancelled", "CancelledError", "enough")
    assert (summary.held_until, summary.due_at) == (FakeClock().now, 0.0)
    assert asyncio.all_tasks() == tasks

    rested = await Runner.drive(agent, "r", run_config=config)
    assert not rested.is_finished and (await log_of(store)) == log, "given as it stands"
    with pytest.raises(RunConflictError, match="is cancelled"):
        await Runner.send("r", "go on", run_config=config)

    quick = agent_of("done", tools=[working(nothing)])
    result = await Runner.run(quick, caught.value.state, run_config=config)
    assert result.final_output == "done", "who asks for it goes on"


async def test_a_cancel_reaches_a_run_that_waits_for_its_model() -> None:
    config = config_of(MemoryRunStore())

    async def reply(request: Any) -> str:
        await Runner.cancel("r", run_config=config)
        await asyncio.Event().wait()
        return "never"

    with pytest.raises(RunCancelledError, match=r"by 'Runner\.cancel'; to go on"):
        await Runner.run(agent_of(reply), "go", run_config=config)


async def test_a_cancel_after_the_turn_lets_the_turn_end() -> None:
    store = MemoryRunStore()
    config = config_of(store)

    async def body() -> None:
        await Runner.cancel("r", mode="after_turn", by="ada", run_config=config)

    agent = agent_of(call("work"), "done", tools=[working(body)])
    with pytest.raises(RunCancelledError) as caught:
        await Runner.run(agent, "go", run_config=config)
    assert isinstance(caught.value.state, RunState) and said(caught.value.state) == ["go", "work", "worked"]
    assert (await summary_of(store)).status == "cancelled"


async def test_a_cancel_after_the_last_turn_leaves_the_run_its_end() -> None:
    store = MemoryRunStore()
    config = config_of(store)

    async def reply(request: Any) -> str:
        await Runner.cancel("r", mode="after_turn", run_config=config)
        return "done"

    assert (await Runner.run(agent_of(reply), "go", run_config=config)).final_output == "done"
    assert (await summary_of(store)).status == "finished"


async def test_a_message_before_a_cancel_after_the_turn_does_not_outlive_it() -> None:
    config = config_of(MemoryRunStore())

    async def reply(request: Any) -> str:
        await Runner.send("r", "one more thing", run_config=config)
        await Runner.cancel("r", mode="after_turn", run_config=config)
        return "done"

    with pytest.raises(RunCancelledError) as caught:
        await Runner.run(agent_of(reply), "go", run_config=config)
    assert isinstance(caught.value.state, RunState) and said(caught.value.state) == ["go", "done", "one more thing"]


async def test_a_cancel_in_the_last_answer_at_a_limit_is_no_error_of_the_limit() -> None:
    store = MemoryRunStore()
    config = config_of(store, on_limit="finalize")

    async def reply(request: Any) -> str:
        await Runner.cancel("r", by="ada", run_config=config)
        return "as far as I came"

    agent = agent_of(call("work"), reply, tools=[working(nothing)])
    with pytest.raises(RunCancelledError, match="by 'ada'"):
        await Runner.run(agent, "go", max_turns=1, run_config=config)
    assert (await summary_of(store)).status == "cancelled"


async def test_what_waits_with_a_cancel_does_not_enter() -> None:
    store = MemoryRunStore()
    config = config_of(store)
    await Runner.submit(agent_of(), "go", run_config=config)
    await Runner.send("r", "hello", run_config=config)
    await Runner.cancel("r", by="ada", run_config=config)
    await Runner.send("r", "are you there?", run_config=config)
    with pytest.raises(RunCancelledError):
        await Runner.drive(agent_of(), "r", run_config=config)
    (taken,) = of_kind(await log_of(store), SignalsTaken)
    assert taken == SignalsTaken(2, ((1, "the run was cancelled before it could enter"),))
    summary = await summary_of(store)
    assert (summary.status, summary.signals, summary.taken) == ("cancelled", 3, 2)


async def test_a_resting_run_is_cancelled_by_the_next_drive_in_its_first_append() -> None:
    store = MemoryRunStore()
    config = config_of(store)
    await Runner.submit(agent_of(), "go", run_config=config)
    await Runner.cancel("r", by="ada", run_config=config)
    with pytest.raises(RunCancelledError):
        await Runner.drive(agent_of(), "r", run_config=config)
    assert [type(event).__name__ for event in await log_of(store)] == ["RunStarted", "RunResumed", "SignalsTaken", "Stopped"]
    assert not (await Runner.drive(agent_of(), "r", run_config=config)).is_finished


async def test_a_process_that_is_stopped_as_well_leaves_the_cancel_to_the_next() -> None:
    store = MemoryRunStore()
    config = config_of(store)
    begun = asyncio.Event()

    async def body() -> None:
        begun.set()
        try:
            await asyncio.Event().wait()
        finally:
            running.cancel()

    agent = agent_of(call("work"), "done", tools=[working(body)])
    running = asyncio.create_task(Runner.run(agent, "go", run_config=config))
    await begun.wait()
    await Runner.cancel("r", by="ada", run_config=config)
    with pytest.raises(asyncio.CancelledError):
        await running
    summary = await summary_of(store)
    assert (summary.status, summary.signals, summary.taken) == ("ready", 1, 0)
    with pytest.raises(RunCancelledError):
        await Runner.drive(agent, "r", run_config=config)
    assert (await summary_of(store)).status == "cancelled"


async def test_a_stopped_process_leaves_its_run_ready_and_a_cancelled_stream_does_not() -> None:
    async def status_after(leave: Callable[[Any], Any]) -> str:
        store = MemoryRunStore()
        begun = asyncio.Event()

        async def body() -> None:
            begun.set()
            await asyncio.Event().wait()

        stream = Runner.run_streamed(agent_of(call("work"), tools=[working(body)]), "go", run_config=config_of(store))
        async with stream:
            await begun.wait()
            leave(stream)
        return (await summary_of(store)).status

    assert await status_after(lambda stream: None) == "ready"
    assert await status_after(lambda stream: stream.cancel()) == "cancelled"


@pytest.mark.parametrize("early", [False, True])
async def test_a_stream_that_is_cancelled_after_its_turn_is_cancelled(early: bool) -> None:
    store = MemoryRunStore()

    async def body() -> None:
        if not early:
            stream.cancel("after_turn")

    agent = agent_of(call("work"), "done", tools=[working(body)])
    stream = Runner.run_streamed(agent, "go", run_config=config_of(store))
    if early:
        stream.cancel("after_turn")
    result = await stream
    assert not result.is_finished and said(result.to_state()) == ["go", "work", "worked"]
    assert (await summary_of(store)).status == "cancelled"
    (stopped,) = of_kind(await log_of(store), Stopped)
    assert stopped.by == "stream.cancel"


# Decisions.


def paying(paid: list[str], **options: Any) -> FunctionTool[Any]:
    async def pay(x: int = 0) -> str:
        paid.append(f"{x}")
        return f"paid {x}"

    return function_tool(pay, **{"needs_approval": True, "effect": "once", **options})


async def test_a_decision_is_plain_data_and_taken_by_the_first_append_of_who_goes_on() -> None:
    appends: list[list[str]] = []

    class Seen(MemoryRunStore):
        async def append(self, run_id: str, expected_rev: int, events: Sequence[bytes], summary: RunSummary) -> int:
            appends.append([type(event).__name__ for event in decode_events(events)])
            return await super().append(run_id, expected_rev, events, summary)

    store, paid = Seen(), list[str]()
    config = config_of(store)
    agent = agent_of([call("pay", x=1), call("pay", x=2)], "done", tools=[paying(paid)])
    waits = await Runner.run(agent, "go", run_config=config)
    first, second = waits.interruptions
    assert await Runner.decide("r", Decision(first.call_id, "approve", by="ada", reason="fine"), run_config=config) == 1
    assert await Runner.decide("r", Decision(second.call_id, "reject", reason="no"), run_config=config) == 2
    appends.clear()
    result = await Runner.resume(agent, "r", run_config=config)
    assert result.final_output == "done" and paid == ["1"]
    assert appends[0] == ["RunResumed", "SignalsTaken", "ApprovalDecided", "ApprovalDecided"]
    decisions = of_kind(await log_of(store), ApprovalDecided)
    assert [(one.approved, one.by, one.reason) for one in decisions] == [
        (True, "ada", "fine"),
        (False, "", "no"),
    ]


async def test_a_live_owner_takes_a_decision_when_its_other_calls_have_ended() -> None:
    store, paid = MemoryRunStore(), list[str]()
    config = config_of(store)

    async def body() -> None:
        state = await Runner.load("r", run_config=config)
        await Runner.decide("r", Decision(state.interruptions[0].call_id, "approve"), run_config=config)

    agent = agent_of([call("pay", x=1), call("work")], "done", tools=[paying(paid), working(body)])
    result = await Runner.run(agent, "go", run_config=config)
    assert result.final_output == "done" and paid == ["1"], "it never rested"


async def test_a_decision_names_a_nested_call_by_its_path() -> None:
    paid = list[str]()
    config = config_of(MemoryRunStore())
    child = agent_of([call("pay", x=3), call("pay", x=4)], "child done", tools=[paying(paid)], name="child")
    parent = agent_of(call("child", input="pay"), "done", tools=[child.as_tool()])
    item, other = (await Runner.run(parent, "go", run_config=config)).interruptions
    with pytest.raises(RunConflictError, match="no call of that id and path is open"):
        await Runner.decide("r", Decision(other.call_id, "approve"), run_config=config)
    await Runner.decide("r", Decision(item.call_id, "approve", item.path), run_config=config)
    await Runner.decide("r", Decision(other.call_id, "reject", other.path), run_config=config)
    assert (await Runner.drive(parent, "r", run_config=config)).final_output == "done"
    assert paid == ["3"]


@pytest.mark.parametrize(
    ("decision", "told"),
    [
        (Decision("call_1_1", "provide_result", result="paid 7"), "paid 7"),
        (Decision("call_1_1", "retry"), "paid 7"),
        (Decision("call_1_1", "mark_failed", reason="the bank says no"), "the bank says no"),
    ],
)
async def test_a_call_in_doubt_is_settled_by_its_id(decision: Decision, told: str) -> None:
    store, paid, begun = MemoryRunStore(), list[str](), asyncio.Event()
    config = config_of(store)

    async def pay(x: int) -> str:
        begun.set()
        await asyncio.Event().wait()
        return "never"

    left = asyncio.create_task(Runner.run(agent_of(call("pay", x=7), tools=[function_tool(pay)]), "go", run_config=config))
    await begun.wait()
    left.cancel()
    with pytest.raises(asyncio.CancelledError):
        await left
    agent = agent_of("done", tools=[paying(paid, needs_approval=False)])
    assert (await Runner.drive(agent, "r", run_config=config)).interruptions
    await Runner.decide("r", decision, run_config=config)
    result = await Runner.drive(agent, "r", run_config=config)
    assert said(result.to_state()) == ["go", "pay", told, "done"]
    assert paid == (["7"] if decision.action == "retry" else [])


async def test_a_call_is_decided_once_also_while_the_first_decision_waits() -> None:
    config, paid = config_of(MemoryRunStore()), list[str]()
    agent = agent_of(call("pay", x=1), "done", tools=[paying(paid)])
    await Runner.run(agent, "go", run_config=config)
    await Runner.send("r", "hello", run_config=config)
    assert config.store is not None
    await config.store.post("r", b"not a signal")
    await Runner.decide("r", Decision("call_1_1", "reject"), run_config=config)
    with pytest.raises(RunConflictError, match="it is decided already"):
        await Runner.decide("r", Decision("call_1_1", "approve"), run_config=config)
    assert (await Runner.drive(agent, "r", run_config=config)).final_output == "done" and paid == []


async def test_a_decision_that_is_overtaken_is_refused_and_no_error_of_the_run(caplog: pytest.LogCaptureFixture) -> None:
    store, paid = MemoryRunStore(), list[str]()
    config = config_of(store)
    agent = agent_of(call("pay", x=1), "done", tools=[paying(paid)])
    state = (await Runner.run(agent, "go", run_config=config)).to_state()
    await Runner.decide("r", Decision("call_1_1", "approve"), run_config=config)
    state.reject(state.interruptions[0])
    await Runner.decide(state, run_config=config)
    assert (await Runner.drive(agent, "r", run_config=config)).final_output == "done" and paid == []
    (taken,) = of_kind(await log_of(store), SignalsTaken)
    assert taken.refused[0][0] == 1 and "it is decided already" in taken.refused[0][1]
    assert "signal 1 of run 'r' did nothing" in caplog.text


@pytest.mark.parametrize("record", [b"", b"\xff", b'[3,{"type":"explode"}]', b'[999,{"type":"pause"}]'])
async def test_a_signal_that_nobody_can_read_is_refused(record: bytes) -> None:
    store = MemoryRunStore()
    config = config_of(store)
    await Runner.submit(agent_of(), "go", run_config=config)
    await store.post("r", record)
    await Runner.send("r", "hello", run_config=config)
    result = await Runner.drive(agent_of("done"), "r", run_config=config)
    assert said(result.to_state()) == ["go", "hello", "done"]
    (taken,) = of_kind(await log_of(store), SignalsTaken)
    assert taken.through == 2 and [number for number, _ in taken.refused] == [1]


# What is wrong with what is posted.


async def test_what_cannot_be_posted_is_a_typed_error() -> None:
    store = MemoryRunStore()
    config = config_of(store)
    await Runner.run(agent_of("done"), "go", run_config=config)
    posts: list[Callable[[str], Any]] = [
        lambda run_id: Runner.send(run_id, "hi", run_config=config),
        lambda run_id: Runner.pause(run_id, run_config=config),
        lambda run_id: Runner.unpause(run_id, run_config=config),
        lambda run_id: Runner.cancel(run_id, run_config=config),
        lambda run_id: Runner.decide(run_id, Decision("c", "approve"), run_config=config),
    ]
    for post in posts:
        with pytest.raises(RunNotFoundError, match="'nobody'"):
            await post("nobody")
        with pytest.raises(RunConflictError, match="'r'"):
            await post("r")
    assert (await summary_of(store)).signals == 0


@pytest.mark.parametrize(
    ("post", "why"),
    [
        (lambda config: Runner.send("r", 1, run_config=config), "input"),
        (lambda config: Runner.send("r", Message("assistant", "x"), run_config=config), "an assistant's Message"),
        (lambda config: Runner.send("r", "x", priority="high", run_config=config), "priority='high'"),
        (lambda config: Runner.send("r", "x", by=None, run_config=config), "by=None"),
        (lambda config: Runner.send("", "x", run_config=config), "run_id is 0 characters"),
        (lambda config: Runner.pause("r", reason=1, run_config=config), "reason=1"),
        (lambda config: Runner.unpause("r", by=1, run_config=config), "by=1"),
        (lambda config: Runner.cancel("r", mode="soon", run_config=config), "mode='soon', expected one of"),
        (lambda config: Runner.decide("r", Decision("c", "allow"), run_config=config), "action='allow'"),
        (lambda config: Runner.decide("r", "approve", run_config=config), "was given a 'str'"),
        (lambda config: Runner.decide("r", run_config=config), "state='r'"),
        (lambda config: Runner.send("r", "x", run_config=RunConfig()), "no store given"),
    ],
)
async def test_what_is_no_signal_is_the_callers_error(post: Callable[[RunConfig], Any], why: str) -> None:
    store = MemoryRunStore()
    await Runner.submit(agent_of(), "go", run_config=config_of(store))
    with pytest.raises(UserError, match=why):
        await post(config_of(store))
    assert (await summary_of(store)).signals == 0


# Each signal is taken once, whatever happens.


async def test_of_many_senders_every_message_enters_once() -> None:
    store = MemoryRunStore()
    config = config_of(store)

    async def body() -> None:
        await asyncio.gather(*[Runner.send("r", f"m{number}", run_config=config) for number in range(20)])

    agent = agent_of(*[call("work")] * 5, "done", tools=[working(body, polling=True)])
    result = await Runner.run(agent, "go", run_config=config)
    entered = [text for text in said(result.to_state()) if text.startswith("m")]
    assert len(entered) == 100 and entered == [f"m{number}" for number in range(20)] * 5
    assert [one.through for one in of_kind(await log_of(store), SignalsTaken)] == [20, 40, 60, 80, 100]


class Interfering(MemoryRunStore):
    """Somebody posts between any two operations of the owner, as `chosen` says."""

    def __init__(self, chosen: Sequence[bool]) -> None:
        super().__init__()
        self._chosen = iter(chosen)
        self.sent = 0

    async def append(self, run_id: str, expected_rev: int, events: Sequence[bytes], summary: RunSummary) -> int:
        await self._interfere()
        posted = await super().append(run_id, expected_rev, events, summary)
        await self._interfere()
        return posted

    async def signals(self, run_id: str, after: int = 0) -> list[bytes]:
        found = await super().signals(run_id, after)
        await self._interfere()
        return found

    async def _interfere(self) -> None:
        summary = await self.summary("r")
        if next(self._chosen, False) and summary is not None and not summary.is_over:
            self.sent += 1
            await Runner.send("r", f"m{self.sent}", run_config=RunConfig(store=self))


@given(
    chosen=st.lists(st.booleans(), max_size=30),
    fault=st.sampled_from(["locked", "full", "lost", "torn"]),
    faults=st.lists(st.integers(1, 12), max_size=4),
)
@settings(deadline=None)
def test_each_signal_is_taken_once_whoever_dies_when(chosen: list[bool], fault: Fault, faults: list[int]) -> None:
    async def main() -> None:
        store = Interfering(chosen)
        agent = agent_of(call("work"), call("work"), *["done"] * 60, tools=[working(nothing)])
        clock = FakeClock()
        result = None
        for at in itertools.chain(faults, itertools.repeat(10_000)):
            faulty = FaultyStore(store, fault, at)
            config = RunConfig(store=faulty, clock=clock, store_timeout=0)
            try:
                result = await Runner.drive(agent, "r", "go", run_config=config)
                break
            except StoreError:
                clock.now += config.lease + 1  # the process has died: its lease passes
        assert result is not None and result.is_finished
        summary = await summary_of(store)
        entered = [text for text in said(result.to_state()) if text.startswith("m")]
        assert entered == [f"m{number}" for number in range(1, summary.taken + 1)]
        assert summary.signals == store.sent
        throughs = [one.through for one in of_kind(await log_of(store), SignalsTaken)]
        assert throughs == sorted(set(throughs)) and (throughs[-1] if throughs else 0) == summary.taken

    asyncio.run(main())


async def test_an_owner_that_dies_after_the_append_that_took_it_has_taken_it() -> None:
    class Torn(MemoryRunStore):
        is_torn = True

        async def append(self, run_id: str, expected_rev: int, events: Sequence[bytes], summary: RunSummary) -> int:
            posted = await super().append(run_id, expected_rev, events, summary)
            if summary.taken and self.is_torn:
                raise StoreUnavailableError("lost")
            return posted

    store, clock = Torn(), FakeClock()
    config = config_of(store, clock=clock, store_timeout=0)
    await Runner.submit(agent_of(), "go", run_config=config)
    await Runner.send("r", "hello", run_config=config)
    with pytest.raises(StoreUnavailableError):
        await Runner.drive(agent_of("done"), "r", run_config=config)
    assert (await summary_of(store)).taken == 1
    clock.now += 60
    store.is_torn = False
    result = await Runner.drive(agent_of("done"), "r", run_config=config)
    assert said(result.to_state()) == ["go", "hello", "done"]


@pytest.mark.parametrize("kind", STORES)
async def test_every_store_carries_signals_to_the_owner_and_to_the_next(kind: str, request: pytest.FixtureRequest) -> None:
    open_store, run_id = STORES[kind].factory(request), uuid.uuid4().hex
    owners = open_store()
    others = open_store() if STORES[kind].shared else owners
    config, elsewhere = config_of(owners, run_id=run_id), RunConfig(store=others)

    async def body() -> None:
        await Runner.send(run_id, "and be quick", run_config=elsewhere)
        await Runner.pause(run_id, by="ada", run_config=elsewhere)

    async def hang() -> None:
        await Runner.cancel(run_id, by="bob", run_config=elsewhere)
        await asyncio.Event().wait()

    try:
        result = await Runner.run(agent_of(call("work"), tools=[working(body)]), "go", run_config=config)
        assert result.paused is not None and said(result.to_state())[-1] == "and be quick"
        await Runner.unpause(run_id, run_config=elsewhere)
        waits = agent_of(call("work"), tools=[working(nothing, needs_approval=True)])
        (item,) = (await Runner.drive(waits, run_id, run_config=config)).interruptions
        await Runner.decide(run_id, Decision(item.call_id, "approve"), run_config=elsewhere)
        with pytest.raises(RunCancelledError, match="by 'bob'"):
            await Runner.drive(agent_of(tools=[working(hang, needs_approval=True)]), run_id, run_config=config)
        summary = await others.summary(run_id)
        assert summary is not None
        assert (summary.status, summary.signals, summary.taken) == ("cancelled", 5, 5)
    finally:
        await owners.aclose()
        await others.aclose()


# The watch.


async def test_a_short_run_asks_its_store_for_no_signals() -> None:
    class Counting(MemoryRunStore):
        asked = 0

        async def signals(self, run_id: str, after: int = 0) -> list[bytes]:
            self.asked += 1
            return await super().signals(run_id, after)

        async def wait_signals(self, run_id: str, after: int, timeout: float) -> int:
            self.asked += 1
            return await super().wait_signals(run_id, after, timeout)

    store = Counting()
    agent = agent_of(call("work"), "done", tools=[working(nothing)])
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(signals, "WATCH_AFTER", 3600.0)
        await Runner.run(agent, "go", run_config=config_of(store))
    assert store.asked == 0


async def test_a_store_that_cannot_be_watched_leaves_the_signals_to_the_safe_points(
    caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(signals, "WATCH_AFTER", 0.0)
    refused = asyncio.Event()

    class Deaf(MemoryRunStore):
        async def wait_signals(self, run_id: str, after: int, timeout: float) -> int:
            refused.set()
            raise StoreError("deaf")

    store = Deaf()
    config = config_of(store)

    async def body() -> None:
        await refused.wait()
        await Runner.cancel("r", by="ada", run_config=config)

    with pytest.raises(RunCancelledError):
        await Runner.run(agent_of(call("work"), tools=[working(body)]), "go", run_config=config)
    assert "run 'r' is not watched for signals any more: deaf" in caplog.text


async def test_at_every_durability_a_long_call_learns_of_what_is_not_for_now(monkeypatch: pytest.MonkeyPatch) -> None:
    """At `exit` nothing is appended from which the owner could learn of it."""
    seen = asyncio.Event()

    class Seen(MemoryRunStore):
        async def signals(self, run_id: str, after: int = 0) -> list[bytes]:
            found = await super().signals(run_id, after)
            seen.set()
            return found

    monkeypatch.setattr(signals, "WATCH_AFTER", 0.0)
    config = config_of(Seen(), durability="exit")

    async def body() -> None:
        await Runner.send("r", "hurry", run_config=config)
        await seen.wait()

    result = await Runner.run(agent_of(call("work"), "done", tools=[working(body)]), "go", run_config=config)
    assert said(result.to_state()) == ["go", "work", "worked", "hurry", "done"]


async def test_a_caller_that_is_not_cancelled_keeps_its_own_timeout() -> None:
    config = config_of(MemoryRunStore())

    async def body() -> None:
        await Runner.cancel("r", run_config=config)
        await asyncio.Event().wait()

    agent = agent_of(call("work"), tools=[working(body)])
    with pytest.raises(TimeoutError):
        async with asyncio.timeout(None) as timer:
            with pytest.raises(RunCancelledError):
                await Runner.run(agent, "go", run_config=config)
            timer.reschedule(0)
            await asyncio.Event().wait()
