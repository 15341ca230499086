"""A person approves a call with other arguments: it runs with these, and the model reads that they were changed."""

from __future__ import annotations

import asyncio
import json
from typing import Annotated, Any

import pytest
from pydantic import AfterValidator, BaseModel

from agentsdk import (
    Agent,
    FunctionTool,
    InputImage,
    InputText,
    MemoryRunStore,
    RunConfig,
    RunContextWrapper,
    Runner,
    RunState,
    ToolApprovalItem,
    ToolContext,
    ToolGuardrailFunctionOutput,
    ToolInDoubtItem,
    ToolInputGuardrailData,
    ToolOutputGuardrailData,
    UserError,
    function_tool,
    tool_input_guardrail,
    tool_output_guardrail,
)
from agentsdk.errors import StateTamperedError
from agentsdk.events import ArgumentsEdited, ArgumentsRefused, ToolFinished
from agentsdk.items import FunctionCall, FunctionCallOutput
from agentsdk.runs import Decision, PendingCall
from agentsdk.testing import ScriptedModel, call
from agentsdk.tools import ToolResult, ToolsToFinalOutputResult
from agentsdk.toolsets import ToolRegistry
from agentsdk.types.events import RunEvent, unnested
from agentsdk.types.spec import Effect
from tests.engine.conftest import OpenStore
from tests.models.wire import FakeClock
from tests.scenarios import reloaded

pytestmark = pytest.mark.anyio


def small(value: int) -> int:
    if value > 100:
        raise ValueError("expected at most 100")
    return value


class Till:
    """A tool that pays, and what it saw."""

    def __init__(self, **options: Any) -> None:
        self.paid: list[int] = []
        self.contexts: list[ToolContext[Any]] = []
        self.asks = True

        def asks(context: RunContextWrapper[Any], arguments: dict[str, Any], call_id: str) -> bool:
            return self.asks

        @function_tool(needs_approval=asks, **options)
        async def pay(ctx: ToolContext[Any], amount: Annotated[int, AfterValidator(small)]) -> str:
            self.contexts.append(ctx)
            self.paid.append(amount)
            return f"paid {amount}"

        self.tool: FunctionTool[Any] = pay

    def agent(self, *replies: Any, **fields: Any) -> Agent[Any, Any]:
        return Agent("clerk", model=ScriptedModel(list(replies)), tools=[self.tool], **fields)


def approval(waiting: list[PendingCall]) -> ToolApprovalItem:
    (item,) = waiting
    assert isinstance(item, ToolApprovalItem)
    return item


def outputs(state: RunState) -> list[object]:
    return [item.output for item in state.items() if isinstance(item, FunctionCallOutput)]


def asked_for(state: RunState) -> list[str]:
    return [item.arguments for item in state.items() if isinstance(item, FunctionCall)]


def recorded(state: RunState, *kinds: type[RunEvent]) -> list[RunEvent]:
    return [event for _, event in map(unnested, state.value.log) if isinstance(event, kinds)]


NOTE = '[A person changed the arguments of this call before it ran, to {"amount":3}]\n'


async def test_the_call_runs_with_them_and_the_model_reads_so() -> None:
    till = Till()
    agent = till.agent(call("pay", amount=5), "Paid.")
    state = (await Runner.run(agent, "Pay 5.")).to_state()
    state.approve(approval(state.interruptions), arguments={"amount": 3}, by="ann")
    result = await Runner.run(agent, reloaded(agent, state))
    assert (result.final_output, till.paid, till.contexts[0].tool_arguments) == ("Paid.", [3], '{"amount":3}')
    after = result.to_state()
    assert asked_for(after) == ['{"amount":5}'], "what the model asked for stays, as providers check it"
    assert outputs(after) == [NOTE + "paid 3"]
    assert [getattr(item, "output", None) for item in result.new_items if item.type == "tool_call_output_item"] == [
        NOTE + "paid 3"
    ]
    (edited,) = recorded(after, ArgumentsEdited)
    assert isinstance(edited, ArgumentsEdited) and (edited.by, edited.arguments, edited.at > 0) == ("ann", '{"amount":3}', True)
    (finished,) = recorded(after, ToolFinished)
    assert isinstance(finished, ToolFinished) and finished.output == "paid 3"


async def test_its_idempotency_key_is_another_and_the_same_again() -> None:
    keys: list[str] = []
    for arguments in (None, {"amount": 3}, {"amount": 3}, {"amount": 4}):
        till = Till()
        agent = till.agent(call("pay", amount=5), "Paid.")
        state = (await Runner.run(agent, "Pay 5.", run_config=RunConfig(run_id="r"))).to_state()
        state.approve(approval(state.interruptions), arguments=arguments)
        await Runner.run(agent, state)
        keys.append(till.contexts[0].idempotency_key)
    plain, three, again, four = keys
    assert three == again and len({plain, three, four}) == 3


async def test_the_final_output_is_the_result_without_the_note() -> None:
    till = Till()
    agent = till.agent(call("pay", amount=5), tool_use_behavior="stop_on_first_tool")
    state = (await Runner.run(agent, "Pay 5.")).to_state()
    state.approve(approval(state.interruptions), arguments={"amount": 3})
    assert (await Runner.run(agent, state)).final_output == "paid 3"


async def test_a_rule_for_the_final_output_sees_the_arguments_it_ran_with() -> None:
    till, seen = Till(), list[str]()

    def judge(context: RunContextWrapper[Any], results: list[ToolResult]) -> ToolsToFinalOutputResult:
        seen.extend(result.arguments for result in results)
        return ToolsToFinalOutputResult(True, "judged")

    agent = till.agent(call("pay", amount=5), tool_use_behavior=judge)
    state = (await Runner.run(agent, "Pay 5.")).to_state()
    state.approve(approval(state.interruptions), arguments={"amount": 3})
    assert (await Runner.run(agent, state)).final_output == "judged"
    assert seen == ['{"amount":3}']


async def test_a_result_of_parts_has_the_note_as_its_first() -> None:
    @function_tool(needs_approval=True)
    def draw(what: str) -> InputImage:
        return InputImage(f"data:,{what}")

    agent = Agent("clerk", model=ScriptedModel([call("draw", what="a cat"), "Drawn."]), tools=[draw])
    state = (await Runner.run(agent, "Draw.")).to_state()
    state.approve(approval(state.interruptions), arguments={"what": "a dog"})
    (output,) = outputs((await Runner.run(agent, state)).to_state())
    note = '[A person changed the arguments of this call before it ran, to {"what":"a dog"}]'
    assert output == (InputText(note), InputImage("data:,a dog"))


@pytest.mark.parametrize("arguments", [{"amount": "3"}, {"amount": 3, "to": "Bob"}, {}, {"amount": 101}], ids=str)
async def test_arguments_that_do_not_fit_are_an_error_before_anything_is_recorded(arguments: Any) -> None:
    till = Till()
    agent = till.agent(call("pay", amount=5), "Paid.")
    state = (await Runner.run(agent, "Pay 5.")).to_state()
    state.approve(approval(state.interruptions), arguments=arguments)
    with pytest.raises(UserError, match=r"call 'call_1_1' still waits: the edited arguments do not fit:\n- ") as caught:
        await Runner.run(agent, state)
    after = caught.value.state
    assert isinstance(after, RunState) and after.pieces()[1] == ()
    after.approve(approval(after.interruptions), arguments={"amount": 3})
    await Runner.run(agent, after)
    assert till.paid == [3]


async def test_stored_ones_that_do_not_fit_are_refused_and_the_call_waits_on(open_store: OpenStore) -> None:
    till = Till()
    config = RunConfig(store=open_store(), run_id="r", clock=FakeClock())
    agent = till.agent(call("pay", amount=5), "Paid.")
    await Runner.run(agent, "Pay 5.", run_config=config)
    state = await Runner.load("r", run_config=config)
    state.approve(approval(state.interruptions), arguments={"amount": 500})
    await Runner.decide(state, run_config=config)
    result = await Runner.drive(agent, "r", run_config=config)
    item = approval(result.interruptions)
    assert (item.arguments, till.paid) == ('{"amount":5}', [])
    assert item.refused == "the edited arguments do not fit:\n- amount: Value error, expected at most 100"
    assert len(recorded(result.to_state(), ArgumentsRefused)) == 1
    assert config.store is not None
    summary = await config.store.summary("r")
    assert summary is not None and summary.status == "waiting"
    state = await Runner.load("r", run_config=config)
    state.approve(approval(state.interruptions))
    await Runner.decide(state, run_config=config)
    result = await Runner.drive(agent, "r", run_config=config)
    assert (till.paid, outputs(result.to_state())) == ([5], ["paid 5"]), "the refused arguments left nothing behind"
    assert [getattr(item, "output", "") for item in result.new_items][1] == "paid 5"


async def test_by_id_they_are_taken_or_refused_by_whoever_goes_on(open_store: OpenStore) -> None:
    till = Till()
    config = RunConfig(store=open_store(), run_id="r", clock=FakeClock())
    agent = till.agent(call("pay", amount=5), "Paid.")
    await Runner.run(agent, "Pay 5.", run_config=config)
    await Runner.decide("r", Decision("call_1_1", "approve", arguments={"amount": "3"}), run_config=config)
    item = approval((await Runner.drive(agent, "r", run_config=config)).interruptions)
    assert item.refused.startswith("the edited arguments do not fit:\n- amount: ") and item.arguments == '{"amount":5}'
    await Runner.decide("r", Decision("call_1_1", "approve", arguments={"amount": 3}, by="ann"), run_config=config)
    result = await Runner.drive(agent, "r", run_config=config)
    assert (till.paid, outputs(result.to_state())) == ([3], [NOTE + "paid 3"])
    edited = recorded(result.to_state(), ArgumentsEdited)
    assert edited == [ArgumentsEdited("call_1_1", '{"amount":3}', "ann", FakeClock().now)], "the refused ones are not recorded"


async def test_a_wrong_answer_leaves_edited_arguments_as_they_are() -> None:
    @function_tool(external=True, needs_approval=True)
    def pay(amount: int) -> Annotated[int, AfterValidator(small)]:
        raise AssertionError

    agent = Agent("clerk", model=ScriptedModel([call("pay", amount=5), "Paid."]), tools=[pay])
    config = RunConfig(store=MemoryRunStore(), run_id="r")
    await Runner.run(agent, "Pay 5.", run_config=config)
    await Runner.decide("r", Decision("call_1_1", "approve", arguments={"amount": 3}), run_config=config)
    for answer in (101, 7):
        result = await Runner.drive(agent, "r", run_config=config)
        assert [item.arguments for item in result.interruptions] == ['{"amount":3}']
        await Runner.decide("r", Decision("call_1_1", "answer", answer=answer), run_config=config)
    result = await Runner.drive(agent, "r", run_config=config)
    assert outputs(result.to_state()) == [NOTE + "7"]


async def test_a_validator_that_raises_something_else_refuses_them_too() -> None:
    def broken(value: int) -> int:
        if value == 3:
            raise ZeroDivisionError
        return value

    @function_tool(needs_approval=True)
    def pay(amount: Annotated[int, AfterValidator(broken)]) -> str:
        raise AssertionError

    agent = Agent("clerk", model=ScriptedModel([call("pay", amount=5)]), tools=[pay])
    config = RunConfig(store=MemoryRunStore(), run_id="r")
    await Runner.run(agent, "Pay 5.", run_config=config)
    state = await Runner.load("r", run_config=config)
    state.approve(approval(state.interruptions), arguments={"amount": 3})
    await Runner.decide(state, run_config=config)
    item = approval((await Runner.drive(agent, "r", run_config=config)).interruptions)
    assert item.refused == "the edited arguments do not fit:\na validator raised ZeroDivisionError"


async def test_the_guardrails_judge_what_is_to_run() -> None:
    seen: list[str] = []

    @tool_input_guardrail
    def modest(data: ToolInputGuardrailData[Any]) -> ToolGuardrailFunctionOutput:
        seen.append(f"in {data.context.tool_arguments}")
        if data.context.tool_arguments == '{"amount":4}':
            return ToolGuardrailFunctionOutput.reject_content("not 4")
        return ToolGuardrailFunctionOutput.allow()

    @tool_output_guardrail
    def clean(data: ToolOutputGuardrailData[Any]) -> ToolGuardrailFunctionOutput:
        seen.append(f"out {data.context.tool_arguments}")
        return ToolGuardrailFunctionOutput.allow()

    till = Till(tool_input_guardrails=[modest], tool_output_guardrails=[clean])
    agent = till.agent([call("pay", amount=5), call("pay", amount=6)], "Paid.")
    state = (await Runner.run(agent, "Pay.")).to_state()
    assert sorted(seen) == ['in {"amount":5}', 'in {"amount":6}']
    seen.clear()
    five, six = state.interruptions
    state.approve(five, arguments={"amount": 3})
    state.approve(six, arguments={"amount": 4})
    result = await Runner.run(agent, state)
    assert (sorted(seen), till.paid) == (['in {"amount":3}', 'in {"amount":4}', 'out {"amount":3}'], [3])
    assert outputs(result.to_state()) == [NOTE + "paid 3", NOTE.replace("3", "4") + "not 4"]


async def test_an_approval_that_expired_takes_its_arguments_with_it() -> None:
    till, clock = Till(), FakeClock()
    config = RunConfig(clock=clock)
    agent = till.agent(call("pay", amount=5), "Paid.")
    state = (await Runner.run(agent, "Pay 5.", run_config=config)).to_state()
    state.approve(approval(state.interruptions), arguments={"amount": 3}, expires_at=clock.now + 1)
    clock.now += 1
    result = await Runner.run(agent, state, run_config=config)
    item = approval(result.interruptions)
    assert item.arguments == '{"amount":5}'
    state = result.to_state()
    state.approve(item)
    result = await Runner.run(agent, state, run_config=config)
    assert (till.paid, outputs(result.to_state())) == ([5], ["paid 5"])


@pytest.mark.parametrize("effect", ["idempotent", "once"])
async def test_a_call_that_has_begun_keeps_the_arguments_it_began_with(effect: Effect) -> None:
    started, calls = asyncio.Event(), list[tuple[int, str]]()

    @function_tool(needs_approval=True, effect=effect)
    async def pay(ctx: ToolContext[Any], amount: int) -> str:
        calls.append((amount, ctx.idempotency_key))
        if not started.is_set():
            started.set()
            await asyncio.sleep(3600)
        return f"paid {amount}"

    agent = Agent("clerk", model=ScriptedModel([call("pay", amount=5), "Paid."]), tools=[pay])
    state = (await Runner.run(agent, "Pay 5.")).to_state()
    state.approve(approval(state.interruptions), arguments={"amount": 3})
    async with Runner.run_streamed(agent, state) as stream:
        await started.wait()
    result = await Runner.run(agent, reloaded(agent, stream.to_state()))
    if effect == "once":
        (item,) = result.interruptions
        assert isinstance(item, ToolInDoubtItem) and item.arguments == '{"amount":3}', "what may have happened is shown"
        state = result.to_state()
        state.retry(item)
        result = await Runner.run(agent, state)
    assert [amount for amount, _ in calls] == [3, 3] and len({key for _, key in calls}) == 1
    assert outputs(result.to_state()) == [NOTE + "paid 3"]


async def test_a_state_whose_edited_arguments_were_changed_is_refused() -> None:
    till = Till()
    agent = till.agent(call("pay", amount=5), "Paid.")
    state = (await Runner.run(agent, "Pay 5.")).to_state()
    state.approve(approval(state.interruptions), arguments={"amount": 3})
    saved: Any = json.loads(state.to_string())
    assert saved["decisions"][0][:3] == ["edited", "call_1_1", '{"amount":3}']
    for changed in ('{"amount":99}', None):
        decisions = [["edited", "call_1_1", changed, "", 0.0], saved["decisions"][1]] if changed else saved["decisions"][1:]
        with pytest.raises(
            StateTamperedError, match="the approval of call 'call_1_1' is not for tool 'pay' with these arguments"
        ):
            await Runner.run(agent, RunState.from_json(agent, {**saved, "decisions": decisions}))
    assert till.paid == []


async def test_an_agent_used_as_a_tool_is_asked_what_the_person_wrote() -> None:
    model = ScriptedModel(["translated"])
    inner = Agent("inner", model=model)
    tools = [inner.as_tool("inner", "Translate.", needs_approval=True)]
    agent = Agent("outer", model=ScriptedModel([call("inner", input="a"), "done"]), tools=tools)
    state = (await Runner.run(agent, "go")).to_state()
    state.approve(approval(state.interruptions), arguments={"input": "b"})
    result = await Runner.run(agent, state)
    assert [getattr(item, "text", "") for item in model.requests[0].items] == ["b"]
    assert str(outputs(result.to_state())[0]).endswith('to {"input":"b"}]\ntranslated')


async def test_the_arguments_of_a_nested_call_are_changed_there() -> None:
    till = Till()
    inner = till.agent(call("pay", amount=5), "Paid.")
    agent = Agent("outer", model=ScriptedModel([call("inner", input="pay"), "done"]), tools=[inner.as_tool("inner", "Pay.")])
    state = (await Runner.run(agent, "go")).to_state()
    item = approval(state.interruptions)
    state.approve(item, arguments={"amount": "no"})
    with pytest.raises(UserError, match="call 'call_1_1' still waits: the edited arguments do not fit") as caught:
        await Runner.run(agent, state)
    assert isinstance(caught.value.state, RunState)
    caught.value.state.approve(item, arguments={"amount": 3})
    stream = Runner.run_streamed(agent, caught.value.state)
    shown = [event.item async for event in stream if event.type == "run_item_stream_event" and event.name == "tool_output"]
    assert (till.paid, [getattr(item, "output", "") for item in shown]) == ([3], [NOTE + "paid 3", "Paid."])


async def test_a_fork_asks_anew_for_what_the_model_wanted_or_keeps_what_was_approved() -> None:
    till = Till()
    config = RunConfig(store=MemoryRunStore(), run_id="r")
    agent = till.agent(call("pay", amount=5), "Paid.", "Paid.", "Paid.")
    await Runner.run(agent, "Pay 5.", run_config=config)
    state = await Runner.load("r", run_config=config)
    state.approve(approval(state.interruptions), arguments={"amount": 3})
    await Runner.decide(state, run_config=config)
    await Runner.fork("r", new_run_id="anew", run_config=config)
    await Runner.fork("r", new_run_id="kept", keep_approvals=True, run_config=config)
    result = await Runner.drive(agent, "anew", run_config=config)
    assert (approval(result.interruptions).arguments, till.paid) == ('{"amount":5}', [])
    result = await Runner.drive(agent, "kept", run_config=config)
    assert (result.final_output, till.paid) == ("Paid.", [3])


async def test_two_runs_part_where_a_person_changed_the_arguments() -> None:
    config = RunConfig(store=MemoryRunStore())
    for run_id, arguments in (("a", None), ("b", {"amount": 3})):
        agent = Till().agent(call("pay", amount=5), "Paid.")
        await Runner.drive(agent, run_id, "Pay.", run_config=config)
        state = await Runner.load(run_id, run_config=config)
        state.approve(approval(state.interruptions), arguments=arguments)
        await Runner.decide(state, run_config=config)
        await Runner.drive(agent, run_id, run_config=config)
    diff = await Runner.diff("b", "a", run_config=config)
    assert diff.divergence is not None
    assert diff.divergence.recorded == "a person changes the arguments of 'pay' to '{\"amount\":3}'"


async def test_a_rerun_changes_them_as_the_person_did_and_takes_the_result_from_the_record() -> None:
    till = Till()
    config = RunConfig(store=MemoryRunStore(), run_id="r")
    agent = till.agent([call("pay", amount=5), call("pay", amount=3)], "Paid.")
    await Runner.run(agent, "Pay.", run_config=config)
    state = await Runner.load("r", run_config=config)
    five, three = state.interruptions
    state.approve(five, arguments={"amount": 3}, by="ann")
    state.reject(three)
    await Runner.decide(state, run_config=config)
    result = await Runner.drive(agent, "r", run_config=config)
    for at in (1, None):
        rerun = await Runner.replay(agent, "r", change=agent.clone(), at=at, run_config=config)
        assert (rerun.divergence, rerun.final_output, rerun.asked) == (None, "Paid.", 0)
        assert rerun.state.items() == result.to_state().items()
    assert till.paid == [3]
    # Where nobody is asked any more nobody changes anything, and what ran then is no result of this call.
    till.asks = False
    rerun = await Runner.replay(agent, "r", change=agent.clone(), run_config=config)
    assert [item.arguments for item in rerun.held] == ['{"amount":5}', '{"amount":3}']


class Order(BaseModel):
    number: int
    items: list[str] = []


@pytest.mark.parametrize("nested", [False, True], ids=["outermost", "nested"])
async def test_those_of_a_toolsets_tool_are_checked_when_they_are_given_by_id_too(nested: bool) -> None:
    ran: list[object] = []

    @function_tool(needs_approval=True)
    def pay(amount: int, order: Order, note: str = "") -> str:
        """Pay."""
        ran.append((amount, order.number))
        return "paid"

    given = call("pay", amount=5, order={"number": 1, "items": []}, note="")
    agent = Agent[Any, str]("clerk", model=ScriptedModel([given, "Paid."]), toolsets=[ToolRegistry[Any]([pay])])
    path: tuple[str, ...] = ()
    if nested:
        outer = ScriptedModel([call("clerk", input="pay"), "Paid."])
        agent, path = Agent[Any, str]("outer", model=outer, tools=[agent.as_tool()]), ("call_1_1",)
    config = RunConfig(store=MemoryRunStore(), run_id="r")
    state = (await Runner.run(agent, "Pay 5.", run_config=config)).to_state()
    item = approval(state.interruptions)
    assert item.path == path
    for wrong, why in [
        ({"amount": "5", "order": {"number": 1}}, "amount: expected an integer, got a string"),
        ({"amount": 5, "order": {"number": "1"}}, "order.number: expected an integer"),
        ({"amount": 5, "order": {"number": 1}, "to": "me"}, "to: unknown"),
    ]:
        says = f"(?s)the edited arguments of call 'call_1_1' of tool 'pay' do not fit:.*{why}"
        with pytest.raises(UserError, match=says):
            state.approve(item, arguments=wrong)
        with pytest.raises(UserError, match=says):
            await Runner.decide("r", Decision("call_1_1", "approve", arguments=wrong, path=path), run_config=config)
    right = Decision("call_1_1", "approve", arguments={"amount": 3, "order": {"number": 2}}, path=path)
    await Runner.decide("r", right, run_config=config)
    assert (await Runner.drive(agent, "r", run_config=config)).final_output == "Paid."
    assert ran == [(3, 2)]
