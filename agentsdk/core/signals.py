"""Signals as a mailbox keeps them, and what a decision comes to in the run that it is about."""

from __future__ import annotations

from functools import cache
from typing import cast, get_args

import msgspec

from agentsdk.core.codec import VERSION, place_of
from agentsdk.core.given_json import plain_json
from agentsdk.core.migrations import migrated
from agentsdk.core.next_step import PendingCall
from agentsdk.core.run_state import RunState
from agentsdk.core.state import State
from agentsdk.types.base import Compact
from agentsdk.types.declared import ANYTHING, FLAG, Fields, any_text, mapping_of, number, one_of, optional, sequence_of
from agentsdk.types.errors import RunConflictError, StateCorruptError, UserError
from agentsdk.types.events import RunEvent
from agentsdk.types.signals import Decision, DecisionAction, Signal
from agentsdk.types.text import clean_text

_FIELDS = Fields(
    "Decision",
    call_id=any_text("the id of a call that waits; take it from an item of state.interruptions"),
    action=one_of(f"one of {get_args(DecisionAction)}", get_args(DecisionAction)),
    path=sequence_of(any_text("a call's id"), "the ids of the calls that lead to it; take item.path"),
    result=any_text("a str; write what the call returned as text, with json.dumps say"),
    reason=any_text("a str; say why"),
    always=FLAG,
    by=any_text("a str; say who decided"),
    expires_at=optional(number("a finite Unix timestamp in seconds; write moment.timestamp()")),
    arguments=optional(mapping_of(ANYTHING, "a dict of the arguments by name; give all that the call is to have")),
)
_ONLY_FOR: dict[str, tuple[DecisionAction, ...]] = {
    "result": ("provide_result",),
    "always": ("approve", "reject"),
    "expires_at": ("approve",),
    "answer": ("answer",),
    "arguments": ("approve",),
}


class StoredSignal(Compact):
    """A signal as a mailbox keeps it, with the version of the schema it is written in."""

    version: int
    signal: Signal


class _Mailbox(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Signals as a migration passes them on."""

    version: int
    signals: tuple[Signal, ...]


@cache
def _decoder() -> msgspec.json.Decoder[StoredSignal]:
    return msgspec.json.Decoder(StoredSignal)


def encode_signal(signal: Signal) -> bytes:
    """A signal as a mailbox keeps it."""
    return msgspec.json.encode(StoredSignal(VERSION, signal))


def decode_signal(record: bytes) -> Signal:
    """A signal of a mailbox. Raises `StateCorruptError`, and `StateVersionError` for one of a newer version; value-free."""
    try:
        try:
            stored = _decoder().decode(record)
            if stored.version == VERSION:
                return stored.signal
        except msgspec.ValidationError:
            pass
        version, *rest = msgspec.json.decode(record, type=list[object])
        text = migrated(msgspec.json.encode({"version": version, "signals": rest}), VERSION)
        (signal,) = msgspec.json.decode(text, type=_Mailbox).signals
        return signal
    except (msgspec.MsgspecError, ValueError, RecursionError, TypeError) as error:
        raise StateCorruptError(
            f"the signal is none ({place_of(error)}), expected what Runner.send, pause, unpause, cancel or decide posted; "
            "send it again"
        ) from None


def checked_decision(decision: Decision) -> Decision:
    """`decision`, its texts cleaned. Raises `UserError` for what is none, or says what its action has no use for."""
    if not isinstance(cast(object, decision), Decision):
        raise UserError(
            f"Runner.decide was given a {type(decision).__name__!r} for the run, expected a Decision; pass "
            "Decision(item.call_id, 'approve', item.path)"
        )
    _FIELDS.check(decision)
    for field, actions in _ONLY_FOR.items():
        if getattr(decision, field) and decision.action not in actions:
            raise UserError(
                f"Decision(action={decision.action!r}) has {field}=, which is for {' and '.join(actions)}; leave it out"
            )
    arguments = None if decision.arguments is None else plain_json("the arguments", dict(decision.arguments))
    return msgspec.structs.replace(
        decision,
        path=tuple(decision.path),
        answer=plain_json("the answer", decision.answer),
        arguments=arguments,
        result=clean_text(decision.result),
        reason=clean_text(decision.reason),
        by=clean_text(decision.by),
    )


def decided(state: State, decision: Decision) -> tuple[RunEvent, ...]:
    """The events that a decision comes to in the run as it stands.

    Raises `RunConflictError` where the call does not wait, `UserError` where it waits for another kind of decision.
    """
    run = RunState(state)
    waiting = {(item.path, item.call_id): item for item in run.interruptions}
    item = waiting.get((decision.path, decision.call_id))
    if item is None:
        raise RunConflictError(
            f"call {decision.call_id!r} of run {state.run_id!r} does not wait: {_why_not(state, decision)}; load "
            "the run again, and decide on what is in its interruptions"
        )
    _decide(run, item, decision)
    return run.pieces()[1]


def _decide(run: RunState, item: PendingCall, decision: Decision) -> None:
    reason = decision.reason
    match decision.action:
        case "approve":
            arguments, expires_at = decision.arguments, decision.expires_at
            run.approve(item, decision.always, arguments=arguments, reason=reason, by=decision.by, expires_at=expires_at)
        case "reject":
            run.reject(item, decision.always, reason=reason, by=decision.by)
        case "answer":
            run.answer(item, decision.answer, by=decision.by)
        case "provide_result":
            run.provide_result(item, result=decision.result)
        case "retry":
            run.retry(item)
        case _:
            run.mark_failed(item, reason)


def _why_not(state: State, decision: Decision) -> str:
    turn = state.turn
    for call_id in decision.path:
        turn = None if turn is None or call_id not in turn.children else turn.children[call_id].turn
    call_id = decision.call_id
    if turn is None or all(call.call_id != call_id for call in turn.calls):
        return "no call of that id and path is open"
    if call_id in turn.results:
        return "it has its result"
    if call_id in turn.outside.answers:
        return "it is answered already"
    if call_id in turn.decisions:
        return "it is decided already"
    return "nobody was asked about it"
