"""What clients see of the events of a run: of each kind the fields that are for its users.

The record holds more: instructions, schemas of tools, what guardrails think, the saved context. None of that leaves the
service, nor does a kind of event that is not listed here: of that only its name does.
"""

from __future__ import annotations

import msgspec

from agentsdk.core.overflow import output_text
from agentsdk.define.stream_events import RawResponsesStreamEvent, RecordedEvent, ToolProgressStreamEvent, WatchEvent
from agentsdk.types.base import JsonObject
from agentsdk.types.deltas import AttemptDiscarded, OutputTextDelta, RefusalDelta
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
    HandedOff,
    InputAdded,
    LimitReachedEvent,
    LimitWarningEvent,
    ModelReplied,
    RunEnded,
    RunEvent,
    RunPaused,
    RunStarted,
    RunUnpaused,
    StepBegan,
    Stopped,
    ToolFinished,
    ToolsIntended,
)
from agentsdk.types.items import FunctionCall, Item, Message

_FIELDS: dict[type[RunEvent], tuple[str, ...]] = {
    AnswerAwaited: ("call_id", "question", "choices", "deadline"),
    AnswerRefused: ("call_id", "reason"),
    ApprovalDecided: ("call_id", "tool", "approved", "reason", "by"),
    ApprovalJudged: ("call_id", "needed", "reason"),
    ArgumentsEdited: ("call_id", "arguments", "by"),
    ArgumentsRefused: ("call_id", "reason"),
    CallAnswered: ("call_id", "by"),
    CallRetried: ("call_id",),
    CallsInDoubt: ("call_ids",),
    HandedOff: ("agent",),
    LimitReachedEvent: ("limit", "used", "allowed"),
    LimitWarningEvent: ("limit", "used", "allowed"),
    RunPaused: ("by", "reason"),
    RunStarted: ("agent",),
    RunUnpaused: ("by",),
    StepBegan: ("call_id", "name"),
    Stopped: ("reason", "by"),
    ToolsIntended: ("call_ids",),
}


def piece_of(event: WatchEvent, *, hold_text: bool) -> bytes:
    """An event as a server-sent one; `b""` for what clients do not see. A recorded one has its revision for its id.

    `hold_text`: output guardrails may yet stop what the model says, so its text comes with the end of the run only.
    """
    if isinstance(event, RecordedEvent):
        shown = _recorded(event.event, hold_text)
        data = {"type": type(event.event).__name__, "revision": event.revision, "path": event.path, **shown}
        return b"id: %d\ndata: %b\n\n" % (event.revision, msgspec.json.encode(data))
    delta = _delta(event)
    if delta is None:
        return b""
    try:
        return b"event: delta\ndata: %b\n\n" % msgspec.json.encode({**delta, "path": event.path})
    except TypeError:  # of a tool's progress, which may be any object
        return b""


def _recorded(event: RunEvent, hold_text: bool) -> JsonObject:
    fields = _FIELDS.get(type(event))
    if fields is not None:
        return {name: getattr(event, name) for name in fields}
    if isinstance(event, ModelReplied):
        return {"items": [item for each in event.response.output if (item := _item(each, hold_text))]}
    if isinstance(event, ToolFinished):
        output = "" if event.is_withheld else output_text(event.output)
        return {"call_id": event.call_id, "output": output, "is_error": event.is_error}
    if isinstance(event, InputAdded):
        return {"messages": [item.text for item in event.items if isinstance(item, Message) and item.role == "user"]}
    if isinstance(event, RunEnded):
        return {"output": msgspec.json.decode(event.output) if event.is_json else event.output}
    return {}


def _item(item: Item, hold_text: bool) -> JsonObject | None:
    if isinstance(item, Message) and not hold_text:
        return {"type": "message", "text": item.text or item.refusal}
    if isinstance(item, FunctionCall):
        return {"type": "call", "call_id": item.call_id, "tool": item.name, "arguments": item.arguments}
    return None


def _delta(event: RawResponsesStreamEvent | ToolProgressStreamEvent) -> JsonObject | None:
    if isinstance(event, ToolProgressStreamEvent):
        return {"type": "progress", "tool": event.tool_name, "call_id": event.call_id, "data": event.data}
    if isinstance(event.data, OutputTextDelta | RefusalDelta):
        return {"type": "text", "text": event.data.delta}
    return {"type": "discarded"} if isinstance(event.data, AttemptDiscarded) else None
