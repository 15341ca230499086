"""A snapshot of a run: what a person may decide, what is refused, and saving it."""

from __future__ import annotations

import dataclasses
import inspect
import json
import pickle
import re
import sys
from collections.abc import Callable
from copy import copy, deepcopy
from decimal import Decimal
from typing import Any

import pytest
from hypothesis import given
from msgspec import structs
from pydantic import BaseModel

from agentsdk.core.arguments import approval_digest
from agentsdk.core.next_step import PendingCall, ToolAnswerItem, ToolApprovalItem, ToolInDoubtItem
from agentsdk.core.run_state import SEAL, RunState
from agentsdk.core.state import UNANSWERED, UNKNOWN_OUTCOME, fold
from agentsdk.types.base import JsonObject
from agentsdk.types.errors import StateCorruptError, StateMismatchError, StateTamperedError, UserError
from agentsdk.types.events import (
    AnswerAwaited,
    ApprovalDecided,
    ApprovalJudged,
    ArgumentsEdited,
    CallAnswered,
    CallRetried,
    CallsInDoubt,
    InputAdded,
    InputReplaced,
    LimitRaised,
    LimitReachedEvent,
    ModelReplied,
    Nested,
    RunEnded,
    RunEvent,
    RunPaused,
    RunStarted,
    ToolFinished,
    ToolsetChanged,
    ToolsIntended,
    ViewReplaced,
    unnested,
)
from agentsdk.types.items import FunctionCall, FunctionCallOutput, Message
from agentsdk.types.response import ModelResponse
from agentsdk.types.spec import ToolSpec
from agentsdk.types.usage import Usage
from tests.core.histories import logs, unpaired

KEY = b"0123456789abcdef0123456789abcdef"


class Named:
    def __init__(self, name: str = "first") -> None:
        self.name = name


AGENT = Named()
PAY = FunctionCall("a", "pay", '{"to": "Ada", "amount": 1}')
READ = FunctionCall("b", "read", "{}")
INNER = FunctionCall("x", "pay", '{"to": "Bob"}')


def replied(*calls: FunctionCall) -> ModelReplied:
    return ModelReplied(ModelResponse(calls, Usage(1, 2, 3)), 2.0)


LOG: list[RunEvent] = [
    RunStarted("run-1", "first", (Message("user", "hi"),), 0, 1.0),
    replied(PAY, READ, FunctionCall("c", "ask_inner", "{}")),
    ApprovalJudged("a", True),
    ToolsIntended(("b", "c")),
    *(Nested("c", event) for event in (RunStarted("", "inner", (), 0, 1.0), replied(INNER), ApprovalJudged("x", True))),
    CallsInDoubt(("b",)),
]


def paused() -> RunState:
    """A run with one call to approve, one in doubt, and one to approve in a nested run."""
    return RunState(fold(LOG))


def approval(state: RunState) -> ToolApprovalItem:
    item = state.interruptions[0]
    assert isinstance(item, ToolApprovalItem)
    return item


def in_doubt(state: RunState) -> ToolInDoubtItem:
    item = state.interruptions[1]
    assert isinstance(item, ToolInDoubtItem)
    return item


def decisions(state: RunState) -> tuple[RunEvent, ...]:
    return state.pieces()[1]


def test_what_a_snapshot_shows() -> None:
    state = paused()
    assert (state.run_id, state.current_agent, state.turns, state.is_finished) == ("run-1", "first", 1, False)
    assert state.usage == Usage(2, 4, 6)
    assert [(type(item).__name__, item.call_id, item.path, item.agent) for item in state.interruptions] == [
        ("ToolApprovalItem", "a", (), "first"),
        ("ToolInDoubtItem", "b", (), "first"),
        ("ToolApprovalItem", "x", ("c",), "inner"),
    ]
    assert RunState(fold([*LOG, RunEnded("done")])).is_finished


def test_the_cost_is_known_where_prices_are() -> None:
    def price(usage: Usage, model: str, asked: str = "") -> Decimal | None:
        return Decimal(usage.requests)

    state = fold(LOG)
    assert RunState(state).cost is None
    assert RunState(state, price=price).cost == 2, "that of the nested run as well"


@pytest.mark.parametrize("always", [False, True])
def test_approving_binds_to_the_call_with_its_arguments(always: bool) -> None:
    state = paused()
    state.approve(approval(state), always, reason="fine \ud800")
    digest = approval_digest("pay", "a", PAY.arguments)
    assert decisions(state) == (ApprovalDecided("a", "pay", digest, True, "fine \ufffd", always, "first"),)
    assert [item.call_id for item in state.interruptions] == ["b", "x"]
    assert [decided.tool for decided in state.value.always] == (["pay"] if always else [])


def test_rejecting_keeps_the_reason() -> None:
    state = paused()
    state.reject(approval(state), True, reason="too much")
    (decided,) = decisions(state)
    assert isinstance(decided, ApprovalDecided)
    assert (decided.approved, decided.reason, decided.always) == (False, "too much", True)


def test_an_approval_is_for_arguments_that_mean_the_same() -> None:
    same = approval_digest("pay", "a", '{"amount":1,"to":"Ada"}')
    state = paused()
    state.approve(approval(state))
    (decided,) = decisions(state)
    assert isinstance(decided, ApprovalDecided)
    assert decided.digest == same
    for other in ('{"amount":2,"to":"Ada"}', '{"amount":1.0,"to":"Ada "}', "{}"):
        assert decided.digest != approval_digest("pay", "a", other)
    assert decided.digest not in (approval_digest("pay", "b", PAY.arguments), approval_digest("read", "a", PAY.arguments))


def test_a_call_in_doubt_is_settled_retried_or_failed() -> None:
    outcomes: list[tuple[Callable[[RunState], None], RunEvent]] = [
        (lambda state: state.provide_result(in_doubt(state), result="paid \udfff"), ToolFinished("b", "paid \ufffd")),
        (lambda state: state.retry(in_doubt(state)), CallRetried("b")),
        (lambda state: state.mark_failed(in_doubt(state), "it broke \udfff"), ToolFinished("b", "it broke \ufffd", True)),
    ]
    for decide, event in outcomes:
        state = paused()
        decide(state)
        assert decisions(state) == (event,)
        assert [item.call_id for item in state.interruptions] == ["a", "x"]
    turn = state.value.turn
    assert turn is not None
    assert turn.results["b"].is_error


def test_a_retried_call_stands_as_if_it_had_never_begun() -> None:
    state = paused()
    state.retry(in_doubt(state))
    turn = state.value.turn
    assert turn is not None
    assert (turn.intended, turn.in_doubt) == (("c",), ())


def test_a_nested_decision_goes_down_its_path() -> None:
    state = paused()
    state.approve(state.interruptions[2])
    (event,) = decisions(state)
    assert isinstance(event, Nested)
    assert event.call_id == "c"
    assert isinstance(event.event, ApprovalDecided)
    assert event.event.call_id == "x"
    assert [item.call_id for item in state.interruptions] == ["a", "b"]

    deeper = [RunStarted("", "innermost", (), 0, 1.0), replied(READ), ToolsIntended(("b",)), CallsInDoubt(("b",))]
    state = RunState(fold([*LOG, *(Nested("c", Nested("x", event)) for event in deeper)]))
    item = state.interruptions[2]
    assert (item.path, item.agent) == (("c", "x"), "innermost")
    state.provide_result(item, result="found")
    assert decisions(state) == (Nested("c", Nested("x", ToolFinished("b", "found"))),)
    assert len(state.interruptions) == 2


@pytest.mark.parametrize(
    "forge",
    [
        lambda item: dataclasses.replace(item, call=structs.replace(item.call, arguments='{"to": "Eve", "amount": 1}')),
        lambda item: dataclasses.replace(item, call=structs.replace(item.call, name="read")),
        lambda item: dataclasses.replace(item, call=structs.replace(item.call, call_id="b")),
        lambda item: dataclasses.replace(item, call=structs.replace(item.call, call_id="unheard of")),
        lambda item: dataclasses.replace(item, agent="second"),
        lambda item: dataclasses.replace(item, path=("c",)),
        lambda item: ToolInDoubtItem(item.call, item.agent, item.path),
        lambda item: PendingCall(item.call, item.agent, item.path),
        lambda item: item.call,
        lambda item: item.call_id,
        lambda item: None,
    ],
    ids=["arguments", "tool", "other call", "no call", "agent", "path", "kind", "base", "the call itself", "its id", "nothing"],
)
def test_a_forged_item_decides_nothing(forge: Callable[[ToolApprovalItem], Any]) -> None:
    state = paused()
    forged = forge(approval(state))
    for decide in (
        lambda: state.approve(forged),
        lambda: state.reject(forged),
        lambda: state.provide_result(forged, result="x"),
        lambda: state.retry(forged),
        lambda: state.mark_failed(forged, "x"),
    ):
        with pytest.raises(UserError, match=r"does not wait in this state, expected an item of state\.interruptions") as caught:
            decide()
        assert "Eve" not in str(caught.value)
    assert decisions(state) == ()


def test_an_item_of_another_state_counts_only_for_the_same_call() -> None:
    other = [LOG[0], replied(structs.replace(PAY, arguments='{"to": "Eve", "amount": 1}')), ApprovalJudged("a", True)]
    state = paused()
    with pytest.raises(UserError, match="does not wait"):
        state.approve(RunState(fold(other)).interruptions[0])
    state.approve(approval(paused()))
    assert len(decisions(state)) == 1


def test_a_call_is_decided_once() -> None:
    state = paused()
    item, doubted = approval(state), in_doubt(state)
    state.approve(item)
    state.provide_result(doubted, result="x")
    for decide in (lambda: state.reject(item), lambda: state.approve(item), lambda: state.retry(doubted)):
        with pytest.raises(UserError, match="does not wait"):
            decide()
    assert len(decisions(state)) == 2


def test_an_approval_does_not_settle_a_doubt_nor_the_other_way_round() -> None:
    state = paused()
    for decide in (lambda: state.approve(in_doubt(state)), lambda: state.reject(in_doubt(state))):
        with pytest.raises(UserError, match="'b' is in doubt, expected one that waits for approval; use provide_result"):
            decide()
    for decide in (
        lambda: state.provide_result(approval(state), result="x"),
        lambda: state.retry(approval(state)),
        lambda: state.mark_failed(approval(state), "x"),
    ):
        with pytest.raises(UserError, match=r"'a' waits for approval, expected one that is in doubt.*; use approve or reject"):
            decide()
    assert decisions(state) == ()


WAITS = AnswerAwaited("c", 3.0, None, "", '{"type":"object","properties":{"n":{"type":"integer"}},"required":["n"]}')
ASKS = AnswerAwaited("d", 3.0, None, "", '{"type":"string"}', "Now?", ("yes", "no"))
AWAITING: list[RunEvent] = [
    LOG[0],
    replied(PAY, FunctionCall("c", "weigh", "{}"), FunctionCall("d", "ask_user", "{}")),
    ApprovalJudged("a", True),
    ToolsIntended(("c", "d")),
    WAITS,
    ASKS,
]


def awaiting() -> tuple[RunState, ToolAnswerItem, ToolAnswerItem]:
    """A run with two calls that wait for an answer, and one to approve."""
    state = RunState(fold(AWAITING))
    _, weigh, ask = state.interruptions
    assert isinstance(weigh, ToolAnswerItem) and isinstance(ask, ToolAnswerItem)
    return state, weigh, ask


class Weight(BaseModel):
    n: int


@dataclasses.dataclass
class Weighed:
    n: int


@pytest.mark.parametrize(
    ("value", "text"),
    [
        ({"n": 2}, '{"n":2}'),
        (Weight(n=2), '{"n":2}'),
        (Weighed(2), '{"n":2}'),
        ({"n": 2, "why": "\ud800"}, '{"n":2,"why":"\ufffd"}'),
    ],
    ids=["dict", "pydantic", "dataclass", "surrogate"],
)
def test_an_answer_is_kept_as_json(value: object, text: str) -> None:
    state, weigh, ask = awaiting()
    state.answer(weigh, value, by="Bob")
    state.answer(ask, "yes")
    assert decisions(state) == (CallAnswered("c", text, "Bob"), CallAnswered("d", '"yes"'))
    assert [item.call_id for item in state.interruptions] == ["a"]
    with pytest.raises(UserError, match="does not wait"):
        state.answer(weigh, value)


@pytest.mark.parametrize(
    ("value", "problem"),
    [
        ({"n": "2"}, "'c' of tool 'weigh' does not fit:\n- n: expected an integer, got a string of 1 characters\n"),
        ({}, "- n: missing, expected an integer"),
        ("heavy", "- the whole: expected an object, got a string"),
        ({"n": float("nan")}, "has no JSON form \\(ValueError\\)"),
        ({"n": object()}, "has no JSON form \\(TypeError\\), expected text, numbers"),
        (Weight, "has no JSON form \\(TypeError\\)"),
    ],
    ids=["another type", "too little", "no object", "no number", "no JSON", "a class"],
)
def test_an_answer_that_does_not_fit_is_refused(value: object, problem: str) -> None:
    state, weigh, _ = awaiting()
    with pytest.raises(UserError, match=problem):
        state.answer(weigh, value)
    assert decisions(state) == ()


def test_an_answer_outside_the_choices_is_refused() -> None:
    state, _, ask = awaiting()
    for wrong in ("maybe", "Yes", 1, None, ["yes"]):
        with pytest.raises(
            UserError, match=r"'d' of tool 'ask_user' is .*, expected one of \['yes', 'no'\]; give one of item.choices"
        ):
            state.answer(ask, wrong)
    assert decisions(state) == ()


def test_the_default_answer_is_one_whatever_the_choices_are() -> None:
    asked = structs.replace(ASKS, default='"later"')
    state = RunState(fold([*AWAITING[:-1], asked]))
    item = state.interruptions[2]
    state.answer(item, "later")
    assert decisions(state) == (CallAnswered("d", '"later"'),)


def test_only_what_waits_for_an_answer_is_answered() -> None:
    state, weigh, _ = awaiting()
    approve = state.interruptions[0]
    with pytest.raises(UserError, match="'a' waits for approval, expected one that waits for an answer; use approve or reject"):
        state.answer(approve, "x")
    with pytest.raises(
        UserError, match="'c' waits for an answer, expected one that waits for approval; use answer or mark_failed"
    ):
        state.approve(weigh)
    state.mark_failed(weigh, "the scales are broken")
    assert decisions(state) == (ToolFinished("c", "the scales are broken", True),)


def test_what_is_shown_of_a_call_that_waits_for_its_answer_is_no_interruption() -> None:
    state, weigh, _ = awaiting()
    state.answer(weigh, {"n": 2})
    outputs = [item.output for item in state.items() if isinstance(item, FunctionCallOutput)]
    assert outputs == [UNKNOWN_OUTCOME, UNANSWERED, UNANSWERED]


def test_an_approval_with_other_arguments_binds_to_these() -> None:
    state = paused()
    state.approve(approval(state), arguments={"to": "Bob", "amount": 2}, by="Eve")
    text = '{"to":"Bob","amount":2}'
    edited, decided = decisions(state)
    assert edited == ArgumentsEdited("a", text, "Eve")
    assert isinstance(decided, ApprovalDecided)
    assert (decided.digest, decided.by) == (approval_digest("pay", "a", text), "Eve")
    value = state.value
    assert value.turn is not None
    assert [call.arguments for call in value.turn.calls] == [text, "{}", "{}"]
    state = paused()
    state.approve(state.interruptions[2], arguments={"to": "Ada"})
    assert decisions(state)[0] == Nested("c", ArgumentsEdited("x", '{"to":"Ada"}'))
    assert isinstance(unnested(decisions(state)[1])[1], ApprovalDecided)


def test_decisions_on_one_call_can_be_left_out() -> None:
    state = paused()
    first, doubt, nested = state.interruptions
    state.approve(first, arguments={"to": "Bob"})
    state.retry(doubt)
    state.approve(nested)
    state.raise_limit("turns", 9)
    assert [type(unnested(event)[1]).__name__ for event in decisions(state.without((), "a"))] == [
        *("CallRetried", "ApprovalDecided", "LimitRaised"),
    ]
    assert [item.call_id for item in state.without(("c",), "x").interruptions] == ["x"]
    assert len(decisions(state)) == 5, "the state itself keeps them"


def test_approving_the_same_arguments_changes_none() -> None:
    state = paused()
    state.approve(approval(state), arguments={"amount": 1, "to": "Ada"})
    (decided,) = decisions(state)
    assert isinstance(decided, ApprovalDecided) and decided.digest == approval_digest("pay", "a", PAY.arguments)


@pytest.mark.parametrize(
    ("arguments", "problem"),
    [
        ([1], r"RunState.approve has arguments=<list>, expected a dict of the arguments by name"),
        ({1: 2}, "expected a dict of the arguments by name"),
        ({"to": object()}, "the arguments of call 'a' of tool 'pay' is .*, which has no JSON form"),
        ({"to": "x" * 1_000_001}, "the edited arguments of call 'a' of tool 'pay' cannot be read: the arguments have"),
    ],
    ids=["a list", "no names", "no JSON", "too long"],
)
def test_what_cannot_be_arguments_is_refused(arguments: Any, problem: str) -> None:
    state = paused()
    with pytest.raises(UserError, match=problem):
        state.approve(approval(state), arguments=arguments)
    assert decisions(state) == ()


STRICT: JsonObject = {
    "type": "object",
    "properties": {
        "to": {"anyOf": [{"$ref": "#/$defs/Person"}, {"type": "string"}, True]},
        "amounts": {"type": "array", "items": {"$ref": "#/$defs/Amount"}},
    },
    "required": ["to", "amounts"],
    "additionalProperties": False,
    "$defs": {
        "Person": {"type": "object", "properties": {"name": {"type": "string"}}, "required": ["name"]},
        "Amount": {"type": "object", "properties": {"of": {"type": "integer"}}, "required": ["of"]},
    },
}


@pytest.mark.parametrize("path", [(), ("c",)], ids=["outermost", "nested"])
@pytest.mark.parametrize(
    ("strict", "arguments", "problem"),
    [
        (True, {"amounts": [{}]}, ""),
        (True, {"amounts": [{"of": "1"}]}, "amounts[0].of: expected an integer"),
        (True, {"amount": 1}, "amount: unknown"),
        (False, {"to": "Ada", "amounts": [{"of": 1}]}, ""),
        (False, {"to": "Ada"}, "amounts: missing"),
    ],
)
def test_arguments_of_what_a_toolset_offered_must_fit_its_schema(
    path: tuple[str, ...], strict: bool, arguments: Any, problem: str
) -> None:
    offered = [
        ToolsetChanged("other", (ToolSpec("look", "", {}),)),
        ToolsetChanged("tools", (ToolSpec("pay", "", STRICT, strict),)),
    ]
    log: list[RunEvent] = [LOG[0]]
    for event in LOG[1:]:
        is_reply = isinstance(unnested(event)[1], ModelReplied) and unnested(event)[0] == path
        log += [Nested("c", one) if path else one for one in offered] if is_reply else []
        log.append(event)
    state = RunState(fold(log))
    item = next(item for item in state.interruptions if item.path == path and item.tool_name == "pay")
    if not problem:
        state.approve(item, arguments=arguments)
        assert len(decisions(state)) == 2
        return
    with pytest.raises(UserError, match=rf"(?s)of tool 'pay' do not fit:.*{re.escape(problem)}"):
        state.approve(item, arguments=arguments)
    assert decisions(state) == ()


def test_only_one_call_that_has_not_begun_is_given_other_arguments() -> None:
    state = paused()
    with pytest.raises(
        UserError, match="'a' was given other arguments although its tool's later calls are to run as they come"
    ):
        state.approve(approval(state), True, arguments={})
    begun = RunState(fold([*LOG[:2], ApprovalJudged("a", True), ToolsIntended(("a",)), ApprovalJudged("a", True, "f", True)]))
    with pytest.raises(UserError, match="'a' was given other arguments although it has begun with the arguments it has"):
        begun.approve(approval(begun), arguments={})
    assert decisions(state) == decisions(begun) == ()


def test_deciding_leaves_the_run_it_came_from_alone() -> None:
    rest = fold(LOG)
    one, two = RunState(rest), RunState(rest)
    one.approve(approval(one))
    one.replace_input("again")
    two.reject(approval(two))
    assert rest == fold(LOG)
    assert [len(decisions(state)) for state in (one, two)] == [2, 1]
    assert one.pieces()[0] is rest


def test_replacing_the_input_begins_again_with_a_valid_one() -> None:
    state = paused()
    state.replace_input([{"role": "user", "content": "new"}, FunctionCallOutput("orphan", "x"), PAY])
    (event,) = decisions(state)
    assert isinstance(event, InputReplaced)
    assert unpaired(event.input) == []
    assert [item["type"] for item in state.to_input_list()] == ["message", "function_call", "function_call_output"]
    assert state.interruptions == []
    for wrong in (5, None, [5], [{"role": "nobody"}]):
        with pytest.raises(UserError, match="input"):
            state.replace_input(wrong)  # type: ignore[arg-type]
    assert len(decisions(state)) == 1


def test_added_input_waits_beside_the_decisions() -> None:
    state = paused()
    before = state.value
    state.add_input("hurry")
    state.add_input([{"role": "system", "content": "be brief"}])
    state.approve(approval(state))
    said = ["hurry", "be brief"]
    assert [message.content for message in state.added_input] == said
    assert state.value.transcript == before.transcript and len(decisions(state)) == 1
    for copied in (RunState.from_string(AGENT, state.to_string()), pickle.loads(pickle.dumps(state)), copy(state)):
        assert [message.content for message in copied.added_input] == said and len(decisions(copied)) == 1
    for wrong in (5, None, [PAY], Message("assistant", "me"), [Message("assistant", "me")]):
        with pytest.raises(UserError, match="input"):
            state.add_input(wrong)  # type: ignore[arg-type]
    assert len(state.added_input) == 2


def test_a_run_that_has_ended_takes_no_more_input() -> None:
    ended = RunState(fold([*LOG[:1], RunEnded("done")]))
    with pytest.raises(UserError, match="has ended, expected one that goes on"):
        ended.add_input("more")


def test_a_state_says_who_paused_its_run() -> None:
    started, paused = RunStarted("r", "first", (Message("user", "go"),), 0, 1.0), RunPaused("ada", "lunch", 2.0)
    assert RunState(fold([started])).paused is None
    assert RunState(fold([started, paused])).paused == paused


def test_the_conversation_is_valid_input_at_every_moment() -> None:
    state = paused()
    assert unpaired(state.items()) == []
    assert json.loads(json.dumps(state.to_input_list()))[-1] == {
        "type": "function_call_output",
        "call_id": "c",
        "output": "interrupted, outcome unknown",
        "is_error": True,
    }


@given(logs())
def test_a_state_reads_as_it_was_saved(log: list[RunEvent]) -> None:
    cut = max(1, len(log) - 2)
    if any(isinstance(event, InputAdded) for event in log[cut:]):
        cut = len(log)  # messages that are to enter do so when the run goes on, not before
    state = RunState(fold(log[:cut]), log[cut:])
    loaded = RunState.from_string(AGENT, state.to_string())
    assert loaded.pieces() == state.pieces()
    assert loaded.value == state.value == fold(log)
    assert loaded.to_string() == state.to_string()
    again = RunState.from_json(AGENT, json.loads(json.dumps(state.to_json(state_key=KEY))), state_key=KEY)
    assert again.pieces() == state.pieces()
    assert unpaired(loaded.items()) == []


def test_decisions_wait_in_the_saved_state() -> None:
    state = paused()
    state.approve(approval(state), always_approve=True)
    loaded = RunState.from_string(AGENT, state.to_string(state_key=KEY), state_key=KEY)
    assert loaded.pieces() == state.pieces()
    assert [item.call_id for item in loaded.interruptions] == ["b", "x"]


def test_a_state_keeps_the_key_it_was_given() -> None:
    sealed = RunState(fold(LOG), state_key=KEY)
    assert sealed.to_string() == paused().to_string(state_key=KEY)
    loaded = RunState.from_json(AGENT, sealed.to_json(), state_key=KEY)
    loaded.approve(approval(loaded))
    assert "seal" in loaded.to_json()
    assert loaded.to_string(state_key=KEY[::-1]) != loaded.to_string()
    assert "seal" not in paused().to_json()


@pytest.mark.anyio
async def test_a_loaded_state_may_be_awaited() -> None:
    loaded = RunState.from_string(AGENT, paused().to_string())
    assert await loaded is loaded


def test_a_sealed_state_is_refused_without_its_key() -> None:
    text = paused().to_string(state_key=KEY)
    with pytest.raises(StateTamperedError):
        RunState.from_string(AGENT, text.replace("Ada", "Eve"), state_key=KEY)
    with pytest.raises(StateTamperedError):
        RunState.from_json(AGENT, paused().to_json(), state_key=KEY)


def test_a_state_of_another_agent_is_refused() -> None:
    with pytest.raises(StateMismatchError, match="expected to go on with that one and got 'second'"):
        RunState.from_string(Named("second"), paused().to_string())


@pytest.mark.parametrize(
    "data",
    [
        {"version": 1, "log": []},
        {"version": 1, "log": [["limit", "turns"]]},
        {"version": 1, "log": [], "decisions": [["started", "r", "first", [], 0, 1.0]]},
        {"version": 1, "log": [["started", "r", "first", [], 0, 1.0], ["started", "r", "first", [], 0, 1.0]]},
        {"version": 1, "log": [["started", "r", "first", [], 0, 1.0]], "decisions": [["turn", []]]},
        {"version": 1, "log": [["started", "r", "first", [], 0, 1.0]], "decisions": [["result", "a", "forged", False]]},
    ],
    ids=["empty", "no start", "no log", "two starts", "a decision without a turn", "a result without a turn"],
)
def test_events_that_contradict_each_other_are_corruption(data: dict[str, Any]) -> None:
    with pytest.raises(StateCorruptError, match="untouched copy"):
        RunState.from_json(AGENT, data)
    with pytest.raises(StateCorruptError, match="untouched copy"):
        RunState.from_string(AGENT, json.dumps(data))


class Deep(dict[str, Any]):
    """A dict that holds itself."""

    def __init__(self) -> None:
        super().__init__(version=1, log=[])
        self["log"].append(self)


@pytest.mark.parametrize(
    "data",
    [{"version": 1, "log": {object()}}, {"version": 1, "log": ["\ud800"]}, Deep(), [], None, 5],
    ids=lambda data: type(data).__name__,
)
def test_what_is_no_dict_of_json_is_corruption(data: Any) -> None:
    with pytest.raises(StateCorruptError, match="not a saved run"):
        RunState.from_json(AGENT, data)


@pytest.mark.parametrize("frames_left", [50, 110], ids=["to read", "to fold"])
def test_runs_nested_deeper_than_the_interpreter_can_follow_are_corruption(frames_left: int) -> None:
    start = '["started","","first",[],0,1.0]'
    reply = '["reply",{"output":[{"type":"function_call","call_id":"c","name":"n","arguments":"{}"}],"usage":[]},1.0,[]]'

    def nested(depth: int) -> str:
        events = ('["nested","c",' * level + event + "]" * level for level in range(depth) for event in (start, reply))
        return f'{{"version":1,"log":[{",".join(events)}]}}'

    text = nested(60)
    state = RunState.from_string(AGENT, text)
    assert RunState.from_string(AGENT, state.to_string()).value == state.value

    def load_below(frames: int) -> RunState:
        return RunState.from_string(AGENT, text) if frames == 0 else load_below(frames - 1)

    with pytest.raises(StateCorruptError, match="untouched copy"):
        load_below(sys.getrecursionlimit() - len(inspect.stack(0)) - frames_left)


def limited_run(*events: RunEvent) -> RunState:
    return RunState(fold([RunStarted("r", "first", (Message("user", "go"),), 0, 1.0), *events]))


def test_a_person_raises_the_limit_that_a_run_stopped_at() -> None:
    state = limited_run(LimitReachedEvent("cost", "2.4", "2.50", True))
    assert state.limit_reached == LimitReachedEvent("cost", "2.4", "2.50", True)
    state.raise_limit("cost", "5.00")
    state.raise_limit("tokens", None)
    assert state.limit_reached is None
    loaded = RunState.from_string(AGENT, state.to_string())
    assert list(loaded.value.limits_raised) == [LimitRaised("cost", "5.00"), LimitRaised("tokens", None)]
    with pytest.raises(UserError, match="expected a number"):
        state.raise_limit("turns", "many")


def test_only_a_compaction_is_taken_back() -> None:
    state = limited_run(ViewReplaced((Message("user", "short"),), "DropOldest"))
    state.restore_view()
    assert list(state.value.view) == [Message("user", "go")]
    with pytest.raises(UserError, match="no compaction to take back"):
        state.restore_view()


def test_a_copy_is_a_state_of_its_own_and_a_pickle_leaves_out_what_is_secret() -> None:
    secret = object()
    state = RunState(fold(LOG), state_key=KEY, context=secret, is_verified=False)
    for twin in (copy(state), deepcopy(state)):
        twin.approve(approval(twin))
        assert (twin.context, twin.state_key, twin.is_verified) == (secret, KEY, False)
    loaded = pickle.loads(pickle.dumps(state))
    assert (loaded.context, loaded.state_key, loaded.is_verified) == (None, None, False)
    assert loaded.pieces() == state.pieces() == (fold(LOG), ())


def test_a_text_is_of_the_run_that_is_expected() -> None:
    text = paused().to_string()
    assert RunState.from_string(AGENT, text, run_id=paused().run_id).is_verified is False
    with pytest.raises(StateMismatchError, match="another one than 'other'"):
        RunState.from_json(AGENT, json.loads(text), run_id="other")


def test_the_state_of_a_sealed_run_is_not_written_without_a_seal() -> None:
    log = [structs.replace(LOG[0], guards=(SEAL,)), *LOG[1:]]
    with pytest.raises(UserError, match="expected the key to seal it"):
        RunState(fold(log)).to_string()
    text = RunState(fold(log)).to_string(state_key=[KEY, KEY[::-1]])
    assert RunState.from_string(AGENT, text, state_key=[KEY[::-1], KEY]).is_verified


def test_an_approval_is_bound_to_its_run_and_path() -> None:
    log = [structs.replace(LOG[0], keys=1), *LOG[1:]]
    digests: set[str] = set()
    for run_id in ("one", "other"):
        state = RunState(fold([structs.replace(log[0], run_id=run_id), *log[1:]]))
        for item in state.interruptions:
            if isinstance(item, ToolApprovalItem):
                state.approve(item)
        for event in decisions(state):
            inner = unnested(event)[1]
            assert isinstance(inner, ApprovalDecided) and len(inner.digest) == 40
            digests.add(inner.digest)
    assert len(digests) == 4
