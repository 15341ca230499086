"""The priority table, over every combination of what a turn may hold; and which calls wait for a person."""

from __future__ import annotations

import dataclasses
import itertools
from typing import Any, Literal

import pytest
from hypothesis import given
from msgspec import structs

from agentsdk.core.next_step import (
    PRIORITY,
    FinalOutput,
    Handoff,
    Interruption,
    NextStep,
    PendingCall,
    PendingTimer,
    RunAgain,
    ToolAnswerItem,
    ToolApprovalItem,
    ToolInDoubtItem,
    interruptions,
    next_deadline,
    pending_calls,
    resolve_next_step,
    validator_runs,
)
from agentsdk.core.process import process_model_response
from agentsdk.core.state import OpenTurn, State, fold
from agentsdk.types.events import (
    AnswerAwaited,
    AnswerRefused,
    ApprovalDecided,
    ApprovalJudged,
    ArgumentsEdited,
    ArgumentsRefused,
    CallAnswered,
    CallRetried,
    CallsInDoubt,
    ModelReplied,
    Nested,
    OutputJudged,
    OutputValidated,
    RunEvent,
    RunStarted,
    StepBegan,
    ToolFinished,
    ToolsIntended,
    ToolUseJudged,
)
from agentsdk.types.items import FunctionCall, Message
from agentsdk.types.response import ModelResponse, OutputItem
from agentsdk.types.spec import OUTPUT_TOOL, AgentSpec, HandoffSpec, OutputSpec, ToolSpec
from tests.core.histories import logs

STARTED = RunStarted("run", "first", (Message("user", "hi"),), 0, 1.0)
TOOLS = {name: ToolSpec(name, "", {}) for name in ("pay", "read")}
HANDOFFS = {"ask": HandoffSpec("ask", "", {}, "second")}
OUTPUT = OutputSpec("Answer", {})

Pending = Literal["no", "approval", "doubt", "nested", "answer"]
Asked = Literal["no", "valid", "invalid"]
Functions = Literal["none", "all fail", "pay", "read", "fails then pay", "pay and read"]
Use = Literal["run_llm_again", "stop_on_first_tool", "stop_at_tools", "custom"]
Judged = Literal["unasked", "goes on", "final"]
Output = Literal["untyped", "unchecked", "fits", "does not fit"]


def replied(*output: OutputItem) -> ModelReplied:
    return ModelReplied(ModelResponse(output), 2.0)


def turn(
    pending: Pending, asked: Asked, functions: Functions, unknown: bool, use: Use, judged: Judged, output: Output
) -> tuple[AgentSpec, State]:
    """An open turn with these traits, and the agent it is of."""
    spec = AgentSpec("first", TOOLS, HANDOFFS, None if output == "untyped" else OUTPUT, use, frozenset({"read"}))
    calls: list[FunctionCall] = []
    after: list[RunEvent] = []

    def call(name: str, text: str = "", is_error: bool = False) -> str:
        call_id = f"{len(calls)}"
        calls.append(FunctionCall(call_id, name, "{}"))
        if text:
            after.append(ToolFinished(call_id, text, is_error))
        return call_id

    if functions in ("all fail", "fails then pay"):
        call("read", "broken", True)
    if functions in ("pay", "fails then pay", "pay and read"):
        call("pay", "paid")
    if functions in ("read", "pay and read"):
        call("read", "was read")
    if unknown:
        call("nothing", "no such tool", True)
    if asked == "invalid":
        call("ask", "bad payload", True)
    if asked != "no":
        call("ask", "bad payload" if asked == "invalid" else "", True)
    if pending == "approval":
        after.append(ApprovalJudged(call("pay"), True))
    elif pending == "doubt":
        call_id = call("pay")
        after += [ToolsIntended((call_id,)), CallsInDoubt((call_id,))]
    elif pending == "answer":
        call_id = call("read")
        after += [ToolsIntended((call_id,)), AnswerAwaited(call_id, 3.0)]
    elif pending == "nested":
        call_id = call("read")
        inner = [RunStarted("", "inner", (), 0, 1.0), replied(FunctionCall("x", "pay", "{}")), ApprovalJudged("x", True)]
        after += [ToolsIntended((call_id,)), *(Nested(call_id, event) for event in inner)]
    if judged != "unasked":
        after.append(ToolUseJudged(judged == "final", '"judged"'))
    if output in ("fits", "does not fit"):
        after.append(OutputJudged("" if output == "fits" else "not JSON"))
    return spec, fold([STARTED, replied(*calls, Message("assistant", "the text")), *after])


def expected(
    pending: Pending, asked: Asked, functions: Functions, unknown: bool, use: Use, judged: Judged, output: Output
) -> tuple[type, object]:
    """The design's table, told once more: the kind of step, and what it carries."""
    typed = output != "untyped"
    if pending != "no":
        kinds = {"doubt": ToolInDoubtItem, "answer": ToolAnswerItem}
        return Interruption, kinds.get(pending, ToolApprovalItem)
    if asked == "valid":
        return Handoff, "second"
    if functions != "none":
        if use == "custom" and judged == "final":
            return FinalOutput, ('"judged"', True)
        if use == "stop_on_first_tool" and functions != "all fail":
            return FinalOutput, ("was read" if functions == "read" else "paid", typed)
        if use == "stop_at_tools" and functions in ("read", "pay and read"):
            return FinalOutput, ("was read", typed)
    if functions == "none" and not unknown and asked == "no" and output != "does not fit":
        return FinalOutput, ("the text", False)
    return RunAgain, None


def carried(step: NextStep) -> object:
    match step:
        case Interruption():
            (item,) = step.pending
            return type(item)
        case Handoff():
            return step.spec.agent
        case FinalOutput():
            return step.output, step.is_json
        case RunAgain():
            return None


def resolved(spec: AgentSpec, state: State) -> NextStep:
    assert state.turn is not None and state.turn.response is not None
    return resolve_next_step(spec, state, process_model_response(spec, state.turn.response))


EVERY_TRAIT: tuple[tuple[Any, ...], ...] = (
    ("no", "approval", "doubt", "nested", "answer"),
    ("no", "valid", "invalid"),
    ("none", "all fail", "pay", "read", "fails then pay", "pay and read"),
    (False, True),
    ("run_llm_again", "stop_on_first_tool", "stop_at_tools", "custom"),
    ("unasked", "goes on", "final"),
    ("untyped", "unchecked", "fits", "does not fit"),
)


def test_an_approval_of_what_the_provider_runs_is_not_a_final_output() -> None:
    docs = ToolSpec("mcp_approval:docs", "", {}, kind="mcp_approval")
    spec = AgentSpec("first", {docs.name: docs}, {}, tool_use="stop_on_first_tool")
    call = FunctionCall("a", "search", "{}", kind="mcp_approval", namespace="docs")
    state = fold([STARTED, replied(call), ToolFinished("a", "approved")])
    assert state.turn is not None and state.turn.response is not None
    processed = process_model_response(spec, state.turn.response)
    assert isinstance(resolve_next_step(spec, state, processed), RunAgain)


def test_the_priority_table_over_every_combination() -> None:
    kinds: dict[type, int] = {}
    for traits in itertools.product(*EVERY_TRAIT):
        spec, state = turn(*traits)
        assert state.turn is not None and state.turn.response is not None
        processed = process_model_response(spec, state.turn.response)
        step = resolve_next_step(spec, state, processed)
        assert (type(step), carried(step)) == expected(*traits), traits
        kinds[type(step)] = kinds.get(type(step), 0) + 1
    assert set(kinds) == {Interruption, Handoff, FinalOutput, RunAgain}
    assert len(PRIORITY) == 4


def test_the_first_of_several_handoffs_wins() -> None:
    spec = AgentSpec("first", {}, HANDOFFS)
    calls = (FunctionCall("a", "ask", "{}"), FunctionCall("b", "ask", "{}"))
    state = fold([STARTED, replied(*calls)])
    step = resolve_next_step(spec, state, process_model_response(spec, ModelResponse(calls)))
    assert step == Handoff(calls[0], HANDOFFS["ask"])


def test_only_an_open_turn_has_a_next_step() -> None:
    with pytest.raises(AssertionError, match="open turn"):
        resolve_next_step(AgentSpec("first"), fold([STARTED]), process_model_response(AgentSpec("first"), ModelResponse(())))


A, B, C = (FunctionCall(call_id, "pay", "{}") for call_id in "abc")


def waiting(*events: RunEvent) -> list[PendingCall]:
    return list(interruptions(fold([STARTED, *events])))


def test_waiting_calls_are_named_in_call_order() -> None:
    inner = [RunStarted("", "inner", (), 0, 1.0), replied(A, B), ApprovalJudged("b", True), CallsInDoubt(("a",))]
    events = [
        replied(A, B, C),
        ToolsIntended(("b", "c")),
        CallsInDoubt(("c",)),
        *(Nested("b", event) for event in inner),
        ApprovalJudged("a", True),
    ]
    assert waiting(*events) == [
        ToolApprovalItem(A, "first"),
        ToolInDoubtItem(A, "inner", ("b",)),
        ToolApprovalItem(B, "inner", ("b",)),
        ToolInDoubtItem(C, "first"),
    ]
    assert waiting() == []
    assert waiting(replied(A)) == []


def test_a_program_that_waits_for_a_time_waits_for_nobody() -> None:
    began = [StepBegan("sleep", "sleep", "{}"), AnswerAwaited("sleep", 3.0, 9.0, "null", '{"type":"null"}')]
    asked = [StepBegan("ask", "ask", "{}"), AnswerAwaited("ask", 3.0, 8.0, question="Now?")]
    state = fold([STARTED, *began, *asked])
    pending = pending_calls(state)
    assert [(type(item), item.call_id) for item in pending] == [(PendingTimer, "sleep"), (ToolAnswerItem, "ask")]
    assert interruptions(state) == pending[1:]
    assert (next_deadline(pending), next_deadline(pending[:1])) == (8.0, 9.0)
    external = fold([STARTED, replied(A), AnswerAwaited("a", 3.0, 9.0, "null")])
    assert interruptions(external) == pending_calls(external) != (), "a tool that has a default answer may be answered"


def test_a_begun_call_that_is_asked_for_again_waits_before_its_nested_run() -> None:
    inner = [RunStarted("", "inner", (), 0, 1.0), replied(B), ApprovalJudged("b", True)]
    begun = [replied(A), ApprovalJudged("a", True), ToolsIntended(("a",)), *(Nested("a", event) for event in inner)]
    assert waiting(*begun) == [ToolApprovalItem(B, "inner", ("a",))]
    again = [*begun, ApprovalJudged("a", True, "changed", True)]
    assert waiting(*again) == [ToolApprovalItem(A, "first")]
    assert waiting(*again, ApprovalDecided("a", "pay", "d", True)) == [ToolApprovalItem(B, "inner", ("a",))]


def test_a_path_leads_through_every_nested_run() -> None:
    inner = [RunStarted("", "inner", (), 0, 1.0), replied(B)]
    innermost = [RunStarted("", "innermost", (), 0, 1.0), replied(C), ApprovalJudged("c", True)]
    events = [*(Nested("a", event) for event in inner), *(Nested("a", Nested("b", event)) for event in innermost)]
    assert waiting(replied(A), *events) == [ToolApprovalItem(C, "innermost", ("a", "b"))]


@pytest.mark.parametrize(
    ("events", "kinds"),
    [
        ([ApprovalJudged("a", False)], []),
        ([ApprovalJudged("a", True), ApprovalDecided("a", "pay", "d", False)], []),
        ([ApprovalJudged("a", True), ToolFinished("a", "not needed")], []),
        # Let through by an approval for the whole tool: no decision stands under its own id.
        ([ApprovalJudged("a", True), ToolsIntended(("a",))], []),
        ([ApprovalJudged("a", True), ToolsIntended(("a",)), CallsInDoubt(("a",))], [ToolInDoubtItem]),
        ([ApprovalJudged("a", True), ApprovalDecided("a", "pay", "d", True), CallsInDoubt(("a",))], [ToolInDoubtItem]),
        ([CallsInDoubt(("a",)), ToolFinished("a", "settled")], []),
        ([ToolsIntended(("a",))], []),
        ([ToolsIntended(("a",)), AnswerAwaited("a", 3.0)], [ToolAnswerItem]),
        ([ToolsIntended(("a",)), AnswerAwaited("a", 3.0), CallAnswered("a", "1")], []),
        ([AnswerAwaited("a", 3.0), CallAnswered("a", "1"), AnswerRefused("a", "no")], [ToolAnswerItem]),
        ([AnswerAwaited("a", 3.0), ToolFinished("a", "too late", True)], []),
        ([ToolsIntended(("a",)), AnswerAwaited("a", 3.0), CallRetried("a")], []),
        ([AnswerAwaited("a", 3.0), CallAnswered("a", "1"), CallRetried("a"), AnswerAwaited("a", 4.0)], [ToolAnswerItem]),
        ([AnswerAwaited("a", 3.0), ApprovalJudged("a", True, "changed", True)], [ToolApprovalItem]),
    ],
)
def test_a_call_waits_until_it_is_decided_begun_or_answered(events: list[RunEvent], kinds: list[type]) -> None:
    assert [type(item) for item in waiting(replied(A), *events)] == kinds


@given(logs())
def test_a_waiting_call_is_an_unanswered_call_of_the_run_it_names(log: list[RunEvent]) -> None:
    state = fold(log)
    for item in interruptions(state):
        owner = state
        for call_id in item.path:
            assert owner.turn is not None
            owner = owner.turn.children[call_id]
        assert owner.turn is not None
        assert item.call in owner.turn.calls
        assert item.call_id not in owner.turn.results
        assert item.agent == owner.agent


def test_a_pending_call_shows_its_call() -> None:
    item = ToolApprovalItem(A, "first")
    assert (item.call_id, item.tool_name, item.name, item.arguments, item.raw_item) == ("a", "pay", "pay", "{}", A)
    assert item != ToolInDoubtItem(A, "first")
    assert item != dataclasses.replace(item, path=("b",))


def test_a_call_that_waits_for_its_answer_shows_what_is_asked_and_until_when() -> None:
    asked = AnswerAwaited("a", 3.0, 9.0, '"no"', '{"type":"string"}', "Now?", ("yes", "no"))
    (item,) = waiting(replied(A), asked)
    assert isinstance(item, ToolAnswerItem)
    assert (item.question, item.choices, item.answer_schema) == ("Now?", ("yes", "no"), {"type": "string"})
    assert (item.waits_since, item.deadline, item.refused) == (3.0, 9.0, "")
    (plain,) = waiting(replied(A), AnswerAwaited("a", 3.0))
    assert isinstance(plain, ToolAnswerItem)
    assert (plain.question, plain.choices, plain.answer_schema, plain.deadline) == ("", (), None, None)
    assert plain == item, "it is the same call, whatever has been said of it"


def test_the_next_deadline_is_the_first_of_any_call_nested_ones_included() -> None:
    def item(deadline: float | None) -> ToolAnswerItem:
        return ToolAnswerItem(A, "first", awaited=AnswerAwaited("a", 3.0, deadline))

    assert next_deadline([]) is next_deadline([ToolApprovalItem(A, "first"), item(None)]) is None
    assert next_deadline([item(None), item(9.0), item(8.0)]) == 8.0
    inner = [RunStarted("", "inner", (), 0, 1.0), replied(B), AnswerAwaited("b", 3.0, 7.0)]
    nested = waiting(replied(A, C), AnswerAwaited("c", 3.0, 8.0), *(Nested("a", event) for event in inner))
    assert next_deadline(nested) == 7.0


def test_a_pending_call_shows_the_arguments_that_it_is_to_run_with_and_why_a_decision_did_not_count() -> None:
    asked = [replied(A), ApprovalJudged("a", True)]
    edited = [*asked, ArgumentsEdited("a", '{"x":1}'), ApprovalDecided("a", "pay", "d", True)]
    (item,) = waiting(*edited, ArgumentsRefused("a", "x: unknown"))
    assert (type(item), item.arguments, item.refused) == (ToolApprovalItem, "{}", "x: unknown")
    (item,) = waiting(*edited, ApprovalJudged("a", True, "expired"))
    assert (type(item), item.arguments) == (ToolApprovalItem, "{}"), "the arguments went with the decision"
    begun = [*edited, ToolsIntended(("a",))]
    (item,) = waiting(*begun, CallsInDoubt(("a",)))
    assert (type(item), item.arguments) == (ToolInDoubtItem, '{"x":1}')
    (item,) = waiting(*begun, ApprovalJudged("a", True, "changed", True))
    assert (type(item), item.arguments) == (ToolApprovalItem, '{"x":1}')


ACCEPTED, CHANGED, SENT_BACK = OutputValidated("a"), OutputValidated("b", output='"better"'), OutputValidated("c", "too long")


@pytest.mark.parametrize(
    ("validated", "step"),
    [
        ([ACCEPTED], FinalOutput("the text")),
        ([CHANGED, ACCEPTED], FinalOutput('"better"', True)),
        ([ACCEPTED, SENT_BACK], RunAgain()),
        ([CHANGED, SENT_BACK], RunAgain()),
    ],
)
def test_a_final_output_is_as_its_validators_leave_it(validated: list[RunEvent], step: NextStep) -> None:
    spec, state = turn("no", "no", "none", False, "run_llm_again", "unasked", "untyped")
    assert resolved(spec, fold([*state.log, *validated])) == step
    spec, state = turn("no", "no", "pay", False, "stop_on_first_tool", "unasked", "untyped")
    expected = FinalOutput("paid") if step == FinalOutput("the text") else step
    assert resolved(spec, fold([*state.log, *validated])) == expected


def test_a_run_that_a_validator_asks_for_may_wait_for_a_person() -> None:
    inner = [RunStarted("", "critic", (), 0, 1.0), replied(FunctionCall("x", "pay", "{}")), ApprovalJudged("x", True)]
    asking = [Nested("short:critic:1", event) for event in inner]
    for has_calls in (False, True):
        spec, state = turn("no", "no", "pay" if has_calls else "none", False, "stop_on_first_tool", "unasked", "untyped")
        waiting = fold([*state.log, *asking])
        assert isinstance(step := resolved(spec, waiting), Interruption)
        assert [(item.path, item.call_id, item.agent) for item in step.pending] == [(("short:critic:1",), "x", "critic")]
        (run,) = validator_runs(waiting.turn or OpenTurn())
        assert run[0] == "short:critic:1"
        answered = fold([*waiting.log, Nested("short:critic:1", ToolFinished("x", "paid"))])
        assert isinstance(resolved(spec, answered), FinalOutput)
        assert waiting.turn is not None and waiting.turn.response is not None
        processed = process_model_response(spec, waiting.turn.response)
        assert isinstance(resolve_next_step(spec, waiting, processed, waits=False), FinalOutput)
        judged = fold([*waiting.log, OutputValidated("short")])
        assert judged.turn is not None and judged.turn.children == {}, "it has answered without waiting for that run"
        assert isinstance(resolved(spec, judged), FinalOutput)


def test_no_validator_has_a_word_in_another_step_than_a_final_output() -> None:
    spec, state = turn("no", "valid", "none", False, "run_llm_again", "unasked", "untyped")
    assert isinstance(resolved(spec, fold([*state.log, SENT_BACK])), Handoff)


@pytest.mark.parametrize(
    ("judged", "step"),
    [
        (OutputJudged(""), FinalOutput('{"x":1}')),
        (OutputJudged("", '"made of it"'), FinalOutput('"made of it"', True)),
        (OutputJudged("does not fit"), RunAgain()),
    ],
)
def test_an_output_that_a_call_gives_is_final_if_it_fits(judged: OutputJudged, step: NextStep) -> None:
    spec = AgentSpec("first", TOOLS, output=structs.replace(OUTPUT, mode="tool"))
    reply = ModelResponse((FunctionCall("c1", OUTPUT_TOOL, '{"x":1}'),))
    state = fold([STARTED, ModelReplied(reply, 1.0), ToolFinished("c1", "taken"), judged])
    assert resolve_next_step(spec, state, process_model_response(spec, reply)) == step
