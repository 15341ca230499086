"""What a run waits for, as questions to the person at the client (elicitations), and their answers as decisions on the run.

A form of the protocol has flat fields only. An answer that does not fit decides nothing: the call goes on waiting.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import UTC, datetime

import mcp_types as wire

from agentsdk.core.next_step import PendingCall, PendingTimer, ToolAnswerItem, ToolApprovalItem, ToolInDoubtItem
from agentsdk.core.run_state import RunState
from agentsdk.types.base import JsonObject
from agentsdk.types.errors import UserError

MAX_SHOWN_ARGUMENTS = 2_000
"""How many characters of a call's arguments a person is shown."""

_PLAIN = ("string", "integer", "number", "boolean")
_APPROVAL: JsonObject = {
    "approve": {"type": "boolean", "title": "Approve", "description": "Whether the call may run"},
    "reason": {"type": "string", "title": "Reason", "description": "Why not; the agent is told"},
}
_IN_DOUBT: JsonObject = {
    "outcome": {
        "type": "string",
        "enum": ["run it again", "it failed", "it was done"],
        "description": "What became of the call",
    },
    "result": {"type": "string", "description": "What it returned, if it was done; why it failed, if it did"},
}


def questions(waiting: Sequence[PendingCall]) -> dict[str, wire.ElicitRequest]:
    """What a person is asked, by a key for each call. A call that only a program answers is not among them."""
    asked: dict[str, wire.ElicitRequest] = {}
    for item in waiting:
        form = _form(item)
        if form is not None:
            params = wire.ElicitRequestFormParams(message=told(item), requested_schema=form)
            asked[_key(item)] = wire.ElicitRequest(params=params)
    return asked


def told(item: PendingCall) -> str:
    """What a call waits for, in words for a person."""
    shown = item.arguments
    if len(shown) > MAX_SHOWN_ARGUMENTS:
        shown = f"{shown[:MAX_SHOWN_ARGUMENTS]}... ({len(item.arguments)} characters in all)"
    call = f"{item.tool_name}({shown})"
    refused = f"\nWhat was said before did not count: {item.refused}" if item.refused else ""
    if isinstance(item, PendingTimer):
        return f"{call} waits until {datetime.fromtimestamp(item.deadline, UTC):%Y-%m-%d %H:%M:%S} UTC."
    if isinstance(item, ToolAnswerItem):
        return (item.question or f"{call} waits for its answer.") + refused
    if isinstance(item, ToolInDoubtItem):
        return f"{call} began, and nobody saw how it ended. What became of it?{refused}"
    why = f"\n{item.reason}" if isinstance(item, ToolApprovalItem) and item.reason else ""
    return f"{item.agent}: may {call} run?{why}{refused}"


def decide(state: RunState, answers: Mapping[str, wire.ElicitResult], by: str) -> bool:
    """Put the answers to `questions` on the state; whether one of them decided something."""
    decided = False
    for item in state.interruptions:
        answer = answers.get(_key(item))
        if answer is not None and answer.action != "cancel":
            try:
                decided = _decided(state, item, answer, by) or decided
            except UserError:  # it does not fit what the call waits for, so it goes on waiting
                pass
    return decided


def _key(item: PendingCall) -> str:
    return "/".join((*item.path, item.call_id))


def _form(item: PendingCall) -> JsonObject | None:
    if isinstance(item, ToolApprovalItem):
        return {"type": "object", "properties": _APPROVAL, "required": ["approve"]}
    if isinstance(item, ToolInDoubtItem):
        return {"type": "object", "properties": _IN_DOUBT, "required": ["outcome"]}
    assert isinstance(item, ToolAnswerItem)
    if not item.question:
        return None
    field: JsonObject = {"type": "string"}
    if item.choices:
        field["enum"] = list(item.choices)
    elif (schema := item.answer_schema) is not None:
        if schema.get("type") not in _PLAIN:
            return None
        field = {"type": schema["type"]}
    return {"type": "object", "properties": {"answer": field}, "required": ["answer"]}


def _decided(state: RunState, item: PendingCall, answer: wire.ElicitResult, by: str) -> bool:
    given = answer.content or {}
    accepted = answer.action == "accept"
    if isinstance(item, ToolApprovalItem):
        reason = given.get("reason")
        if accepted and given.get("approve") is True:
            state.approve(item, by=by)
        elif not accepted or given.get("approve") is False:
            state.reject(item, reason=reason if isinstance(reason, str) else "", by=by)
        else:
            return False
        return True
    if not accepted:
        if isinstance(item, ToolAnswerItem):
            state.mark_failed(item, "the user declined to answer")
            return True
        return False
    if isinstance(item, ToolAnswerItem):
        if "answer" not in given:
            return False
        state.answer(item, given["answer"], by=by)
        return True
    result = given.get("result")
    text = result if isinstance(result, str) else ""
    match given.get("outcome"):
        case "run it again":
            state.retry(item)
        case "it failed":
            state.mark_failed(item, text or "a person said that it failed")
        case "it was done":
            state.provide_result(item, result=text)
        case _:
            return False
    return True
