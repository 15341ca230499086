"""Signals in a closed, versioned schema, and decisions against the run that they are about."""

from __future__ import annotations

import json
from datetime import date
from typing import Any, get_args

import pytest

from agentsdk.core import migrations
from agentsdk.core import signals as core_signals
from agentsdk.core.codec import VERSION
from agentsdk.core.keys import approval_key
from agentsdk.core.signals import checked_decision, decided, decode_signal, encode_signal
from agentsdk.core.state import State, fold
from agentsdk.types.errors import RunConflictError, StateCorruptError, StateVersionError, UserError
from agentsdk.types.events import (
    AnswerAwaited,
    ApprovalDecided,
    ApprovalJudged,
    ArgumentsEdited,
    CallAnswered,
    CallRetried,
    CallsInDoubt,
    ModelReplied,
    Nested,
    RunEvent,
    RunStarted,
    ToolFinished,
    ToolsIntended,
)
from agentsdk.types.items import FunctionCall, Message
from agentsdk.types.response import ModelResponse
from agentsdk.types.signals import CancelSignal, DataSignal, Decision, MessageSignal, PauseSignal, Signal, UnpauseSignal

EVERY_SIGNAL: list[Signal] = [
    MessageSignal((Message("user", "and \u2028 be quick"),), 3, "ada"),
    PauseSignal("ada", "lunch"),
    UnpauseSignal("ada"),
    CancelSignal("after_turn", "ada", "enough"),
    Decision("c1", "approve", ("c0",), "", "fine", True, "ada", 9.5),
    Decision("c1", "provide_result", result="sent"),
    Decision("c1", "answer", answer={"kg": [1, 2.5, None]}),
    Decision("c1", "approve", arguments={"x": 2}),
    DataSignal("paid", {"cents": [1, None]}, "ada"),
]
STARTED = RunStarted("r", "clerk", (Message("user", "go"),), 0, 1.0, keys=1)


def called(*call_ids: str) -> ModelReplied:
    return ModelReplied(ModelResponse(tuple(FunctionCall(one, "pay", '{"x":1}') for one in call_ids), finish="tool_calls"), 2.0)


def waiting() -> State:
    """`a` waits for approval and so does `c`, of a nested run; `b` is in doubt, `d` is done, and `e` runs. `f` waits for an
    answer, and `g` has one."""
    inner: list[RunEvent] = [RunStarted("", "helper", (), 0, 1.0), called("c"), ApprovalJudged("c", True)]
    return fold(
        [
            STARTED,
            called("a", "b", "n", "d", "e", "f", "g"),
            ApprovalJudged("a", True, "f"),
            ToolsIntended(("b", "n", "d", "e", "f", "g")),
            ToolFinished("d", "done"),
            AnswerAwaited("f", 3.0, schema='{"type":"integer"}'),
            AnswerAwaited("g", 3.0),
            CallAnswered("g", "1"),
            CallsInDoubt(("b",)),
            *[Nested("n", event) for event in inner],
        ]
    )


@pytest.mark.parametrize("signal", EVERY_SIGNAL, ids=lambda signal: type(signal).__name__)
def test_a_signal_reads_as_it_was_written(signal: Signal) -> None:
    record = encode_signal(signal)
    assert json.loads(record)[0] == VERSION
    assert decode_signal(record) == signal


def test_every_kind_of_signal_is_tried() -> None:
    assert {type(signal) for signal in EVERY_SIGNAL} == set(get_args(Signal))


@pytest.mark.parametrize(
    "record",
    [
        b"",
        b"\xff",
        b"null",
        b"[]",
        b"{}",
        b'["3",{"type":"pause"}]',
        b'[3,{"type":"pause","more":1}]',
        b'[3,{"type":"event of tomorrow"}]',
        b'[3,{"type":"cancel","mode":"soon"}]',
        b'[3,{"type":"pause"},0]',
        b'[3,{"type":"messages","items":[{"type":"function_call_output","call_id":"a","output":""}]}]',
        b"[0,{}]",
        b"[" * 100_000,
    ],
)
def test_what_is_no_signal_is_a_typed_error(record: bytes) -> None:
    with pytest.raises(StateCorruptError, match=r"expected what Runner\.send|never existed"):
        decode_signal(record)


def test_a_newer_signal_is_named_whatever_it_holds() -> None:
    with pytest.raises(StateVersionError, match=f"version {VERSION + 1}, expected at most {VERSION}"):
        decode_signal(b'[%d,{"type":"signal of tomorrow"}]' % (VERSION + 1))


def test_an_older_signal_goes_through_the_steps(monkeypatch: pytest.MonkeyPatch) -> None:
    def step(data: dict[str, Any]) -> dict[str, Any]:
        (signal,) = data["signals"]
        return {"version": VERSION + 1, "signals": [{**signal, "type": "pause"}]}

    monkeypatch.setitem(migrations.STEPS, VERSION, step)
    monkeypatch.setattr(core_signals, "VERSION", VERSION + 1)
    assert decode_signal(b'[%d,{"type":"halt","by":"ada"}]' % VERSION) == PauseSignal("ada")


def test_a_decision_comes_to_what_the_same_on_a_state_does() -> None:
    state = waiting()
    call = FunctionCall("a", "pay", '{"x":1}')
    approved = Decision("a", "approve", reason="fine", always=True, by="ada", expires_at=9.5)
    digest = approval_key(1, "r", (), call)
    assert decided(state, approved) == (ApprovalDecided("a", "pay", digest, True, "fine", True, "clerk", "ada", 9.5, "f"),)
    (rejected,) = decided(state, Decision("c", "reject", ("n",), reason="no", by="bob"))
    assert isinstance(rejected, Nested) and isinstance(inner := rejected.event, ApprovalDecided)
    assert (rejected.call_id, inner.call_id, inner.approved, inner.reason, inner.by) == ("n", "c", False, "no", "bob")
    assert decided(state, Decision("b", "provide_result", result="sent")) == (ToolFinished("b", "sent"),)
    assert decided(state, Decision("b", "retry")) == (CallRetried("b"),)
    assert decided(state, Decision("b", "mark_failed", reason="lost")) == (ToolFinished("b", "lost", True),)
    assert decided(state, Decision("f", "answer", answer=7, by="bob")) == (CallAnswered("f", "7", "bob"),)
    assert decided(state, Decision("f", "mark_failed", reason="nobody")) == (ToolFinished("f", "nobody", True),)
    edited, allowed = decided(state, Decision("a", "approve", arguments={"x": 2}, by="bob"))
    assert edited == ArgumentsEdited("a", '{"x":2}', "bob")
    assert isinstance(allowed, ApprovalDecided)
    assert allowed.digest == approval_key(1, "r", (), FunctionCall("a", "pay", '{"x":2}'))


@pytest.mark.parametrize(
    ("decision", "why"),
    [
        (Decision("x", "approve"), "no call of that id and path is open"),
        (Decision("c", "approve"), "no call of that id and path is open"),
        (Decision("c", "approve", ("x",)), "no call of that id and path is open"),
        (Decision("c", "approve", ("x", "y")), "no call of that id and path is open"),
        (Decision("d", "approve"), "it has its result"),
        (Decision("e", "approve"), "nobody was asked about it"),
        (Decision("g", "answer", answer=1), "it is answered already"),
    ],
)
def test_a_decision_on_a_call_that_does_not_wait_says_why(decision: Decision, why: str) -> None:
    with pytest.raises(RunConflictError, match=f"'{decision.call_id}' of run 'r' does not wait: {why}; load"):
        decided(waiting(), decision)


def test_a_call_is_decided_once() -> None:
    state = waiting()
    state = fold([*state.log, *decided(state, Decision("c", "approve", ("n",)))])
    with pytest.raises(RunConflictError, match="it is decided already"):
        decided(state, Decision("c", "reject", ("n",)))


@pytest.mark.parametrize(
    ("decision", "why"),
    [
        (Decision("b", "approve"), "in doubt"),
        (Decision("a", "provide_result", result="x"), "waits for approval"),
        (Decision("a", "answer", answer=1), "waits for approval"),
        (Decision("f", "approve"), "waits for an answer"),
        (Decision("f", "answer", answer="seven"), "expected an integer"),
    ],
)
def test_a_decision_fits_what_the_call_waits_for(decision: Decision, why: str) -> None:
    with pytest.raises(UserError, match=why):
        decided(waiting(), decision)


@pytest.mark.parametrize(
    ("given", "why"),
    [
        (Decision("a", "allow"), "action='allow'.*expected one of"),  # type: ignore[arg-type]
        (Decision(1, "approve"), "call_id=1"),  # type: ignore[arg-type]
        (Decision("a", "approve", "n"), "path='n'"),  # type: ignore[arg-type]
        (Decision("a", "approve", (1,)), r"path\[0\]=1"),  # type: ignore[arg-type]
        (Decision("a", "approve", expires_at=float("nan")), "expires_at=nan"),
        (Decision("a", "reject", expires_at=1.0), "has expires_at=, which is for approve"),
        (Decision("a", "retry", always=True), "has always=, which is for approve and reject"),
        (Decision("a", "approve", result="x"), "has result=, which is for provide_result"),
        (Decision("a", "reject", arguments={"x": 1}), "has arguments=, which is for approve"),
        (Decision("a", "approve", answer=1), "has answer=, which is for answer"),
        (Decision("a", "approve", arguments=[1]), "arguments=<list>"),  # type: ignore[arg-type]
        (Decision("a", "approve", arguments={"x": object()}), "the arguments is <dict>, which has no JSON form"),
        (Decision("a", "answer", answer=object()), "the answer is <object>, which has no JSON form"),
        ("approve", "was given a 'str'"),
    ],
)
def test_what_is_no_decision_is_a_typed_error(given: Any, why: str) -> None:
    with pytest.raises(UserError, match=why):
        checked_decision(given)


def test_a_decision_is_plain_data() -> None:
    given: Any = Decision("a", "mark_failed", ["n"], reason="\ud800")  # type: ignore[arg-type]
    assert checked_decision(given) == Decision("a", "mark_failed", ("n",), reason="\ufffd")
    given = Decision("a", "answer", answer={"when": date(2026, 1, 2), "why": "\ud800"})
    assert checked_decision(given).answer == {"when": "2026-01-02", "why": "\ufffd"}
    given = Decision("a", "approve", arguments={"days": (1, 2)})
    assert checked_decision(given).arguments == {"days": [1, 2]}


def test_a_signal_of_an_earlier_version_is_read_as_it_was_meant() -> None:
    signal = UnpauseSignal("ada")
    version, *rest = json.loads(encode_signal(signal))
    assert version == VERSION
    assert decode_signal(json.dumps([VERSION - 1, *rest]).encode()) == signal
