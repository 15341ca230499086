"""Calls that are answered from outside: they wait, their siblings run, and the answer is their result."""

from __future__ import annotations

import asyncio
from decimal import Decimal
from typing import Annotated, Any

import pytest
from pydantic import AfterValidator, BaseModel

from agentsdk import (
    Agent,
    FunctionTool,
    MemoryRunStore,
    RunConfig,
    RunConflictError,
    RunHooks,
    RunLimits,
    Runner,
    RunState,
    StoreError,
    ToolAnswerItem,
    ToolApprovalItem,
    ToolContext,
    ToolError,
    ToolGuardrailFunctionOutput,
    ToolOutputGuardrailData,
    UserError,
    function_tool,
    tool_output_guardrail,
)
from agentsdk.events import AnswerAwaited, AnswerRefused, CallAnswered, SignalsTaken, ToolFinished, ToolsIntended
from agentsdk.items import FunctionCallOutput
from agentsdk.runs import Decision, PendingCall
from agentsdk.testing import FaultyStore, ScriptedModel, call
from agentsdk.types.events import RunEvent, unnested
from agentsdk.types.summary import DueRuns
from tests.engine.conftest import OpenStore
from tests.models.wire import FakeClock
from tests.scenarios import reloaded

pytestmark = pytest.mark.anyio

NOW = FakeClock().now


class Weight(BaseModel):
    kg: Decimal
    unit: str = "kg"


def even(value: int) -> int:
    if value % 2:
        raise ValueError("expected an even number")
    return value


def scales(**options: Any) -> FunctionTool[Any]:
    @function_tool(external=True, name_override="weigh", **options)
    def weigh(what: str) -> Weight:
        """Weigh a thing."""
        raise AssertionError("no body is run")

    return weigh


def counter(**options: Any) -> FunctionTool[Any]:
    @function_tool(external=True, name_override="count", **options)
    async def count() -> Annotated[int, AfterValidator(even)]:
        raise AssertionError("no body is run")

    return count


def agent_of(*replies: Any, tools: list[FunctionTool[Any]], **fields: Any) -> Agent[Any, Any]:
    return Agent("clerk", model=ScriptedModel(list(replies)), tools=tools, **fields)


def answer_item(waiting: list[PendingCall]) -> ToolAnswerItem:
    (item,) = waiting
    assert isinstance(item, ToolAnswerItem)
    return item


def outputs(state: RunState) -> list[object]:
    return [item.output for item in state.items() if isinstance(item, FunctionCallOutput)]


def recorded(state: RunState, *kinds: type[RunEvent]) -> list[RunEvent]:
    return [event for _, event in map(unnested, state.value.log) if isinstance(event, kinds)]


async def test_the_run_rests_with_the_call_open_and_goes_on_with_the_answer() -> None:
    ran: list[str] = []

    @function_tool
    async def look(where: str) -> str:
        ran.append(where)
        return "nothing there"

    agent = agent_of([call("weigh", what="a lamp"), call("look", where="left")], "It is heavy.", tools=[scales(), look])
    result = await Runner.run(agent, "How heavy?")
    assert ran == ["left"], "what is beside it has run"
    item = answer_item(result.interruptions)
    assert (item.tool_name, item.arguments, item.path, item.question, item.choices) == (
        "weigh",
        '{"what":"a lamp"}',
        (),
        "",
        (),
    )
    assert item.answer_schema is not None and item.answer_schema["required"] == ["kg"]
    state = reloaded(agent, result.to_state())
    assert outputs(state) == ["waits for its answer, which has not come yet", "nothing there"]
    state.answer(item, {"kg": "2.50"}, by="ann")
    result = await Runner.run(agent, reloaded(agent, state))
    assert (result.final_output, ran) == ("It is heavy.", ["left"])
    assert outputs(result.to_state()) == ['{"kg":"2.50","unit":"kg"}', "nothing there"]
    (answered,) = recorded(result.to_state(), CallAnswered)
    assert isinstance(answered, CallAnswered) and (answered.by, answered.at > 0) == ("ann", True)


async def test_an_answer_may_be_an_object_of_the_result_type() -> None:
    agent = agent_of(call("weigh", what="x"), tools=[scales()], tool_use_behavior="stop_on_first_tool")
    state = (await Runner.run(agent, "go")).to_state()
    state.answer(answer_item(state.interruptions), Weight(kg=Decimal(3), unit="t"))
    assert (await Runner.run(agent, state)).final_output == '{"kg":"3","unit":"t"}'


async def test_the_hooks_see_one_start_and_one_end() -> None:
    seen: list[str] = []

    class Seen(RunHooks[Any]):
        async def on_tool_start(self, context: ToolContext[Any], agent: Agent[Any, Any], tool: FunctionTool[Any]) -> None:
            seen.append(f"start {context.tool_call_id}")

        async def on_tool_end(
            self, context: ToolContext[Any], agent: Agent[Any, Any], tool: FunctionTool[Any], result: object
        ) -> None:
            seen.append(f"end {result}")

    agent = agent_of(call("count"), "done", tools=[counter()])
    result = await Runner.run(agent, "go", hooks=Seen())
    result = await Runner.run(agent, result.to_state(), hooks=Seen())
    state = result.to_state()
    state.answer(answer_item(state.interruptions), 4)
    await Runner.run(agent, state, hooks=Seen())
    assert seen == ["start call_1_1", "end 4"]


@pytest.mark.parametrize(
    ("value", "problem"),
    [("4", "expected an integer, got a string"), (3, r"the whole: Value error, expected an even number\n.*on error.state")],
    ids=["not its schema", "not its validator"],
)
async def test_an_answer_that_does_not_fit_is_an_error_for_who_gave_it(value: object, problem: str) -> None:
    agent = agent_of(call("count"), "done", tools=[counter()])
    state = (await Runner.run(agent, "go")).to_state()
    with pytest.raises(UserError, match=problem) as caught:
        state.answer(answer_item(state.interruptions), value)
        await Runner.run(agent, state)
    after = state if caught.value.state is None else caught.value.state
    assert isinstance(after, RunState)
    after.answer(answer_item(after.interruptions), 4)
    result = await Runner.run(agent, after)
    assert (result.final_output, outputs(result.to_state())) == ("done", ["4"])


async def test_an_answer_that_was_stored_and_does_not_fit_is_refused_and_the_call_waits_on(open_store: OpenStore) -> None:
    config = RunConfig(store=open_store(), run_id="r", clock=FakeClock())
    agent = agent_of(call("count"), "done", tools=[counter()])
    await Runner.run(agent, "go", run_config=config)
    state = await Runner.load("r", run_config=config)
    state.answer(answer_item(state.interruptions), 3)
    await Runner.decide(state, run_config=config)
    result = await Runner.drive(agent, "r", run_config=config)
    item = answer_item(result.interruptions)
    assert item.refused == "the answer does not fit:\n- the whole: Value error, expected an even number"
    assert [type(event) for event in list(result.to_state().value.log)[-1:]] == [AnswerRefused]
    state = await Runner.load("r", run_config=config)
    state.answer(item, 6)
    await Runner.decide(state, run_config=config)
    result = await Runner.drive(agent, "r", run_config=config)
    assert (result.final_output, outputs(result.to_state())) == ("done", ["6"])
    assert [event.at for event in recorded(result.to_state(), CallAnswered) if isinstance(event, CallAnswered)] == [NOW, NOW]


async def test_an_answer_by_id_is_taken_or_refused_by_whoever_goes_on(open_store: OpenStore) -> None:
    config = RunConfig(store=open_store(), run_id="r", clock=FakeClock())
    agent = agent_of(call("count"), "done", tools=[counter()])
    await Runner.run(agent, "go", run_config=config)
    with pytest.raises(UserError, match="expected an integer"):
        await Runner.decide("r", Decision("call_1_1", "answer", answer="four"), run_config=config)
    await Runner.decide("r", Decision("call_1_1", "answer", answer=3), run_config=config)
    result = await Runner.drive(agent, "r", run_config=config)
    why = "the answer does not fit:\n- the whole: Value error, expected an even number"
    assert answer_item(result.interruptions).refused == why
    taken = [event.refused for event in recorded(result.to_state(), SignalsTaken) if isinstance(event, SignalsTaken)]
    assert taken == [((1, why),)] and recorded(result.to_state(), CallAnswered) == []
    await Runner.decide("r", Decision("call_1_1", "answer", answer=4, by="ann"), run_config=config)
    with pytest.raises(RunConflictError, match="it is answered already"):
        await Runner.decide("r", Decision("call_1_1", "answer", answer=6), run_config=config)
    result = await Runner.drive(agent, "r", run_config=config)
    assert (result.final_output, outputs(result.to_state())) == ("done", ["4"])
    assert recorded(result.to_state(), CallAnswered) == [CallAnswered("call_1_1", "4", "ann", NOW)]


async def test_a_live_owner_takes_an_answer_when_its_other_calls_have_ended() -> None:
    config = RunConfig(store=MemoryRunStore(), run_id="r")

    @function_tool
    async def look() -> str:
        asked = await Runner.load("r", run_config=config)
        while not asked.interruptions:
            await asyncio.sleep(0)
            asked = await Runner.load("r", run_config=config)
        await Runner.decide("r", Decision("call_1_1", "answer", answer=2), run_config=config)
        return "seen"

    agent = agent_of([call("count"), call("look")], "done", tools=[counter(), look])
    result = await Runner.run(agent, "go", run_config=config)
    assert (result.final_output, outputs(result.to_state())) == ("done", ["2", "seen"]), "it never rested"


async def test_a_validator_that_raises_something_else_refuses_too() -> None:
    def broken(value: int) -> int:
        raise ZeroDivisionError

    @function_tool(external=True)
    def count() -> Annotated[int, AfterValidator(broken)]:
        raise AssertionError

    agent = agent_of(call("count"), "done", tools=[count])
    config = RunConfig(store=MemoryRunStore(), run_id="r")
    await Runner.run(agent, "go", run_config=config)
    state = await Runner.load("r", run_config=config)
    state.answer(answer_item(state.interruptions), 3)
    await Runner.decide(state, run_config=config)
    item = answer_item((await Runner.drive(agent, "r", run_config=config)).interruptions)
    assert item.refused == "the answer does not fit:\na validator raised ZeroDivisionError"


async def test_nothing_happens_before_the_deadline_and_the_default_is_the_result_from_then_on(open_store: OpenStore) -> None:
    clock = FakeClock()
    config = RunConfig(store=open_store(), run_id="r", clock=clock)
    agent = agent_of([call("count"), call("weigh", what="x")], "done", tools=[counter(timeout=60, default_answer=0), scales()])
    await Runner.run(agent, "go", run_config=config)
    store = open_store()
    summary = await store.summary("r")
    assert summary is not None
    assert (summary.status, summary.waiting, summary.due_at) == ("waiting", 2, NOW + 60)
    assert await store.due(DueRuns(at=NOW + 59)) == []
    assert [due.run_id for due in await store.due(DueRuns(at=NOW + 60))] == ["r"]
    clock.now = NOW + 59.999
    result = await Runner.drive(agent, "r", run_config=config)
    assert (len(result.interruptions), len(result.to_state().value.log)) == (2, summary.rev), "it rests"
    clock.now = NOW + 60
    result = await Runner.drive(agent, "r", run_config=config)
    assert answer_item(result.interruptions).tool_name == "weigh"
    assert outputs(result.to_state())[0] == "0"
    summary = await store.summary("r")
    assert summary is not None and (summary.status, summary.due_at) == ("waiting", 0.0)
    state = await Runner.load("r", run_config=config)
    state.answer(answer_item(state.interruptions), {"kg": "1"})
    await Runner.decide(state, run_config=config)
    assert (await Runner.drive(agent, "r", run_config=config)).final_output == "done"


async def test_an_answer_that_comes_before_anybody_takes_the_default_counts() -> None:
    clock = FakeClock()
    config = RunConfig(clock=clock)
    agent = agent_of(call("count"), "done", tools=[counter(timeout=60, default_answer=0)])
    state = (await Runner.run(agent, "go", run_config=config)).to_state()
    item = answer_item(state.interruptions)
    assert (item.waits_since, item.deadline) == (NOW, NOW + 60)
    clock.now = NOW + 100
    state.answer(item, 4)
    assert outputs((await Runner.run(agent, state, run_config=config)).to_state()) == ["4"]


async def test_one_that_does_not_fit_and_is_late_leaves_the_default(open_store: OpenStore) -> None:
    clock = FakeClock()
    config = RunConfig(store=open_store(), run_id="r", clock=clock)
    agent = agent_of(call("count"), "done", tools=[counter(timeout=60, default_answer=0)])
    await Runner.run(agent, "go", run_config=config)
    state = await Runner.load("r", run_config=config)
    state.answer(answer_item(state.interruptions), 3)
    await Runner.decide(state, run_config=config)
    clock.now = NOW + 60
    result = await Runner.drive(agent, "r", run_config=config)
    assert (result.final_output, outputs(result.to_state())) == ("done", ["0"])
    assert len(recorded(result.to_state(), AnswerRefused)) == 1


async def test_past_the_deadline_without_a_default_the_model_reads_an_error() -> None:
    clock = FakeClock()
    config = RunConfig(clock=clock)
    agent = agent_of(call("count"), "nobody answered", tools=[counter(timeout=60)])
    state = (await Runner.run(agent, "go", run_config=config)).to_state()
    clock.now = NOW + 60
    result = await Runner.run(agent, state, run_config=config)
    assert result.final_output == "nobody answered"
    assert outputs(result.to_state()) == ["Error: tool 'count' got no answer within 60 seconds"]
    (finished,) = recorded(result.to_state(), ToolFinished)
    assert isinstance(finished, ToolFinished) and finished.is_error


async def test_past_the_deadline_the_run_ends_where_the_tool_says_so() -> None:
    clock = FakeClock()
    config = RunConfig(clock=clock)
    agent = agent_of(call("count"), "went on", tools=[counter(timeout=60, failure_error_function=None)])
    state = (await Runner.run(agent, "go", run_config=config)).to_state()
    clock.now = NOW + 61
    with pytest.raises(ToolError, match="tool 'count' got no answer within 60 seconds") as caught:
        await Runner.run(agent, state, run_config=config)
    assert (await Runner.run(agent, caught.value.state, run_config=config)).final_output == "went on"


async def test_nobody_has_to_answer_a_call_that_is_given_up() -> None:
    agent = agent_of(call("count"), "a pity", tools=[counter()])
    state = (await Runner.run(agent, "go")).to_state()
    state.mark_failed(answer_item(state.interruptions), "the counter is closed")
    result = await Runner.run(agent, state)
    assert (result.final_output, outputs(result.to_state())) == ("a pity", ["the counter is closed"])


async def test_an_approval_comes_before_the_wait() -> None:
    clock = FakeClock()
    config = RunConfig(clock=clock)
    agent = agent_of(call("count"), "done", tools=[counter(needs_approval=True, timeout=60, default_answer=0)])
    state = (await Runner.run(agent, "go", run_config=config)).to_state()
    (item,) = state.interruptions
    assert isinstance(item, ToolApprovalItem)
    clock.now = NOW + 600
    state.approve(item, expires_at=NOW + 601)
    state = (await Runner.run(agent, state, run_config=config)).to_state()
    waiting = answer_item(state.interruptions)
    assert waiting.deadline == NOW + 660, "its time begins when it begins to wait"
    clock.now = NOW + 650
    state = (await Runner.run(agent, state, run_config=config)).to_state()
    state.answer(answer_item(state.interruptions), 2)
    assert outputs((await Runner.run(agent, state, run_config=config)).to_state()) == ["2"]


async def test_an_answer_is_recorded_before_the_output_guardrails_judge_it() -> None:
    seen: list[object] = []

    @tool_output_guardrail
    async def light(data: ToolOutputGuardrailData[Any]) -> ToolGuardrailFunctionOutput:
        seen.append(data.output)
        return ToolGuardrailFunctionOutput.reject_content("withheld from you")

    agent = agent_of(call("count"), "done", tools=[counter(tool_output_guardrails=[light])])
    state = (await Runner.run(agent, "go")).to_state()
    state.answer(answer_item(state.interruptions), 8)
    result = await Runner.run(agent, state)
    assert (seen, outputs(result.to_state())) == (["8"], ["withheld from you"])
    (finished,) = recorded(result.to_state(), ToolFinished)
    assert isinstance(finished, ToolFinished) and (finished.output, finished.is_withheld) == ("8", True)


@pytest.mark.parametrize("effect", ["none", "idempotent", "once"])
async def test_a_call_that_a_dead_process_left_waits_and_is_never_in_doubt(effect: Any) -> None:
    agent = agent_of(call("count"), "done", "done", tools=[counter(effect=effect)])
    saved = (await Runner.run(agent, "go")).to_state().to_json()
    events: Any = saved["log"]
    awaited = [event[0] for event in events].index("awaited")
    assert events[awaited - 1][0] == "intend"
    for length in (awaited, awaited + 1):
        state = RunState.from_json(agent, {**saved, "log": events[:length]})
        state = (await Runner.run(agent, state)).to_state()
        state.answer(answer_item(state.interruptions), 2)
        assert outputs((await Runner.run(agent, state)).to_state()) == ["2"]


async def test_a_run_that_is_cancelled_beside_it_waits_for_the_answer_all_the_same() -> None:
    started = asyncio.Event()

    @function_tool(effect="none")
    async def hang() -> str:
        started.set()
        await asyncio.sleep(0 if resumed else 3600)
        return "over"

    resumed = False
    agent = agent_of([call("count"), call("hang")], "done", tools=[counter(), hang])
    async with Runner.run_streamed(agent, "go") as stream:
        await started.wait()
    assert outputs(stream.to_state()) == ["waits for its answer, which has not come yet", "interrupted, outcome unknown"]
    resumed = True
    state = (await Runner.run(agent, stream.to_state())).to_state()
    state.answer(answer_item(state.interruptions), 2)
    assert (await Runner.run(agent, state)).final_output == "done"


async def test_a_store_that_fails_at_the_wait_leaves_the_call_to_wait() -> None:
    config = RunConfig(clock=FakeClock(), run_id="r")
    agent = agent_of(call("count"), "done", tools=[counter()])
    at, reached = 1, False
    while not reached:
        store = MemoryRunStore()
        faulty = FaultyStore(store, "full", at)
        try:
            await Runner.run(
                agent.clone(model=ScriptedModel([call("count")])), "go", run_config=RunConfig(store=faulty, run_id="r")
            )
            reached = faulty.operations < at
        except StoreError as error:
            given = error.state
            if isinstance(given, RunState) and given.value.turn is not None:
                state = (await Runner.run(agent, given, run_config=config)).to_state()
                assert isinstance(answer_item(state.interruptions), ToolAnswerItem)
        at += 1
    assert at > 3


async def test_a_nested_run_waits_and_its_answer_finds_its_way() -> None:
    inner = Agent("inner", model=ScriptedModel([call("count"), "counted"]), tools=[counter(timeout=60, default_answer=0)])
    outer = agent_of(call("inner", input="count"), "done", tools=[inner.as_tool("inner", "Count.")])
    clock = FakeClock()
    config = RunConfig(clock=clock, store=MemoryRunStore(), run_id="r")
    await Runner.run(outer, "go", run_config=config)
    state = await Runner.load("r", run_config=config)
    item = answer_item(state.interruptions)
    assert (item.agent, item.path, item.deadline) == ("inner", ("call_1_1",), NOW + 60)
    assert config.store is not None
    summary = await config.store.summary("r")
    assert summary is not None and (summary.status, summary.due_at) == ("waiting", NOW + 60)
    state.answer(item, 3)
    await Runner.decide(state, run_config=config)
    state = (await Runner.drive(outer, "r", run_config=config)).to_state()
    assert "expected an even number" in answer_item(state.interruptions).refused
    with pytest.raises(UserError, match="does not fit") as caught:
        state.answer(item, 5)
        await Runner.run(outer, state, run_config=config)
    assert isinstance(caught.value.state, RunState)
    assert answer_item(caught.value.state.interruptions).path == ("call_1_1",)
    clock.now = NOW + 60
    assert (await Runner.drive(outer, "r", run_config=config)).final_output == "done"


async def test_the_time_to_answer_begins_anew_in_a_fork() -> None:
    clock = FakeClock()
    config = RunConfig(clock=clock, store=MemoryRunStore(), run_id="r")
    inner = Agent("inner", model=ScriptedModel([call("count")]), tools=[counter(timeout=30)])
    tools = [counter(timeout=60, default_answer=0), inner.as_tool("inner", "Count.")]
    agent = agent_of([call("count"), call("inner", input="count")], tools=tools)
    await Runner.run(agent, "go", run_config=config)
    clock.now = NOW + 1000
    await Runner.fork("r", new_run_id="fork", run_config=config)
    state = (await Runner.drive(agent, "fork", run_config=config)).to_state()
    deadlines = [item.deadline for item in state.interruptions if isinstance(item, ToolAnswerItem)]
    assert deadlines == [NOW + 1060, NOW + 1030]
    assert len(recorded(await Runner.load("r", run_config=config), AnswerAwaited)) == 2, "the origin stays as it is"


async def test_it_counts_as_one_call_and_a_last_answer_leaves_it_unanswered() -> None:
    @function_tool(needs_approval=True)
    async def pay() -> str:
        raise AssertionError

    config = RunConfig(limits=RunLimits(tool_calls=1), on_limit="finalize")
    agent = agent_of([call("count"), call("pay")], "that was all", tools=[counter(), pay])
    state = (await Runner.run(agent, "go", run_config=config)).to_state()
    state.approve(state.interruptions[1])
    result = await Runner.run(agent, state, run_config=config)
    assert result.final_output == "that was all"
    assert outputs(result.to_state())[0] == "waits for its answer, which has not come yet"
    assert len(recorded(result.to_state(), ToolsIntended)) == len(recorded(result.to_state(), AnswerAwaited)) == 1


async def test_a_tool_without_a_body_takes_any_answer() -> None:
    parameters = {"type": "object", "properties": {"to": {"type": "string"}}, "required": ["to"]}
    fax = FunctionTool("fax", "Send a fax.", parameters, external=True)
    agent = agent_of([call("fax", to="Ann"), call("fax")], "sent", tools=[fax])
    state = (await Runner.run(agent, "go")).to_state()
    item = answer_item(state.interruptions)
    assert item.answer_schema is None
    state.answer(item, ["sent", 1, None])
    result = await Runner.run(agent, state)
    sent, refused = outputs(result.to_state())
    assert sent == '["sent",1,null]' and "Its arguments do not fit the tool" in str(refused)


async def test_any_tool_can_be_had_answered_from_outside() -> None:
    @function_tool
    def add(a: int, b: int) -> int:
        raise AssertionError

    agent = agent_of(call("add", a=1, b=2), "done", tools=[add.clone(external=True)])
    state = (await Runner.run(agent, "go")).to_state()
    item = answer_item(state.interruptions)
    assert item.answer_schema == {"type": "integer"}
    state.answer(item, 3)
    assert outputs((await Runner.run(agent, state)).to_state()) == ["3"]


async def test_the_stream_shows_the_result_once_it_is_there() -> None:
    agent = agent_of(call("count"), "done", tools=[counter()])
    stream = Runner.run_streamed(agent, "go")
    names = [event.name async for event in stream if event.type == "run_item_stream_event"]
    assert names == ["tool_called"]
    state = stream.to_state()
    state.answer(answer_item(state.interruptions), 2)
    stream = Runner.run_streamed(agent, state)
    names = [event.name async for event in stream if event.type == "run_item_stream_event"]
    assert names == ["tool_output", "message_output_created"]


async def test_a_long_answer_is_cut_as_any_result_is() -> None:
    @function_tool(external=True)
    def read() -> str:
        raise AssertionError

    config = RunConfig(max_tool_result_chars=1000)
    agent = agent_of(call("read"), "done", tools=[read])
    state = (await Runner.run(agent, "go", run_config=config)).to_state()
    state.answer(answer_item(state.interruptions), "x" * 5000)
    result = await Runner.run(agent, state, run_config=config)
    assert len(str(outputs(result.to_state())[0])) < 1200
    assert list(result.full_results.values()) == ["x" * 5000]


@pytest.mark.parametrize("late", ["default", "error", "given up"])
async def test_a_run_replays_as_it_was_answered_whatever_the_time_is(late: str) -> None:
    clock = FakeClock()
    config = RunConfig(clock=clock, store=MemoryRunStore(), run_id="r")
    options: dict[str, Any] = {"timeout": 60, "default_answer": 0} if late == "default" else {"timeout": 60}
    tools = [counter(**options), scales(timeout=600), scales(needs_approval=True).clone(name="approve")]
    agent = agent_of([call("count"), call("weigh", what="x"), call("approve", what="y")], "done", tools=tools)
    await Runner.run(agent, "go", run_config=config)
    state = await Runner.load("r", run_config=config)
    if late == "given up":
        state.mark_failed(state.interruptions[0], "closed")
        state.approve(state.interruptions[1], expires_at=NOW + 59)
        await Runner.decide(state, run_config=config)
    clock.now = NOW + 60
    state = (await Runner.drive(agent, "r", run_config=config)).to_state()
    clock.now = NOW + 599
    state = await Runner.load("r", run_config=config)
    weigh, approve = state.interruptions
    state.answer(weigh, {"kg": 1})
    state.reject(approve)
    await Runner.decide(state, run_config=config)
    result = await Runner.drive(agent, "r", run_config=config)
    assert result.final_output == "done"
    replay = await Runner.replay(agent, "r", run_config=config)
    assert (replay.divergence, replay.turns, replay.steps) == (None, 2, 5 if late == "given up" else 4)
    changed = agent.clone(hooks=None)
    rerun = await Runner.replay(agent, "r", change=changed, run_config=config)
    assert (rerun.divergence, rerun.final_output, rerun.asked) == (None, "done", 0)
    assert rerun.state.items() == result.to_state().items()


async def test_a_rerun_rests_at_a_call_that_the_record_has_no_answer_to() -> None:
    config = RunConfig(store=MemoryRunStore(), run_id="r")
    agent = agent_of([call("count"), call("weigh", what="x")], "done", tools=[counter(), scales()])
    await Runner.run(agent, "go", run_config=config)
    state = await Runner.load("r", run_config=config)
    state.answer(state.interruptions[0], 2)
    await Runner.decide(state, run_config=config)
    await Runner.drive(agent, "r", run_config=config)
    rerun = await Runner.replay(agent, "r", change=agent.clone(), run_config=config)
    assert (rerun.divergence, rerun.final_output, rerun.held) == (None, None, ())
    assert answer_item(rerun.state.interruptions).tool_name == "weigh"


@pytest.mark.parametrize(
    ("declare", "problem"),
    [
        (lambda: counter(reconcile=lambda context, arguments: 1), "'count' is external and has a reconcile function"),
        (lambda: counter(default_answer=2), "'count' has a default_answer, expected it beside external=True and a timeout"),
        (lambda: function_tool(len, default_answer=2, timeout=3), "has a default_answer, expected it beside external=True"),
        (lambda: FunctionTool("fax", "", {"type": "object"}), "has on_invoke_tool=None, expected a callable"),
        (lambda: counter().clone(external=1), "has external=1, expected True or False"),
        (lambda: Agent("a").as_tool("a", "").clone(external=True), "'a' runs an agent, so it cannot be external"),
        (lambda: counter(timeout=9, default_answer=3).spec, "default_answer of tool 'count' does not fit its result type"),
        (lambda: counter(timeout=9, default_answer=object()).spec, "default_answer of tool 'count' is .* no JSON form"),
    ],
)
def test_options_that_do_not_go_together_are_refused(declare: Any, problem: str) -> None:
    with pytest.raises(UserError, match=problem):
        declare()


async def test_an_external_tool_has_no_body_to_run() -> None:
    for tool in (counter(), FunctionTool("count", "", {"type": "object"}, external=True, strict_json_schema=False)):
        with pytest.raises(UserError, match="'count' is answered from outside, so it has no body to run"):
            await tool.on_invoke_tool(ToolContext(None, tool_name="count"), "{}")
