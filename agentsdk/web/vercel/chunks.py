"""What happens in a run as chunks of a UI message stream."""

from __future__ import annotations

from collections.abc import Iterator

import msgspec

from agentsdk.core.next_step import PendingCall, ToolAnswerItem, ToolApprovalItem
from agentsdk.types.base import JsonObject
from agentsdk.types.items import Part
from agentsdk.web.front_ends.narrator import Narrator
from agentsdk.web.front_ends.threads import Thread
from agentsdk.web.front_ends.told import (
    CallBegan,
    CallEnded,
    CallFinished,
    CallGrew,
    Cancelled,
    ContextTold,
    Failed,
    Finished,
    Progressed,
    StepBegan,
    StepEnded,
    Told,
    Voided,
    Waits,
    WritingBegan,
    WritingEnded,
    WritingGrew,
    public_id,
)

DONE = b"data: [DONE]\n\n"


class Encoder:
    """The chunks of one answer. A run is one message of the page; one that rested goes on in it."""

    def __init__(self, thread: Thread, run_id: str, narrator: Narrator) -> None:
        self._thread = thread
        self._run_id = run_id
        self._narrator = narrator

    def started(self) -> bytes:
        """The first chunk."""
        return encoded({"type": "start", "messageId": self._run_id, "messageMetadata": {"runId": self._run_id}})

    def encode(self, told: Told) -> bytes:
        """What was told, as chunks, with the end of the stream behind the outcome."""
        chunks = b"".join([encoded(chunk) for chunk in self._chunks(told)])
        return chunks + DONE if isinstance(told, Finished | Waits | Failed | Cancelled) else chunks

    def _chunks(self, told: Told) -> Iterator[JsonObject]:
        match told:
            case WritingBegan() | WritingGrew() | WritingEnded():
                if not told.path:  # what nested agents write is theirs; the call's result says what came of it
                    yield _writing(told)
            case CallBegan(id, tool, path):
                yield {"type": "tool-input-start", "toolCallId": id, "toolName": tool, **_nested(path)}
            case CallGrew(id, text):
                yield {"type": "tool-input-delta", "toolCallId": id, "inputTextDelta": text}
            case CallEnded(id, tool, _, path):
                yield {"toolCallId": id, "toolName": tool, **input_of(told), **_nested(path)}
            case CallFinished():
                yield result_of(told)
            case Progressed(id, tool, data):
                progress = {"toolCallId": id, "tool": tool, "data": data}
                yield {"type": "data-progress", "data": progress, "transient": True}
            case Voided():
                yield {"type": "data-voided", "data": {}}
            case StepBegan():
                yield {"type": "start-step"}
            case StepEnded():
                yield {"type": "finish-step"}
            case Finished(output, is_json):
                if is_json:
                    yield {"type": "data-output", "data": msgspec.json.decode(output)}
                yield {"type": "finish", "finishReason": "stop"}
            case Waits(pending):
                yield from self._waits(pending)
            case Failed(code, message):
                yield {"type": "error", "errorText": f"{code}: {message}"}
            case Cancelled():
                yield {"type": "abort", "reason": "cancelled"}
            case ContextTold() | _:
                return

    def _waits(self, pending: tuple[PendingCall, ...]) -> Iterator[JsonObject]:
        thread = Thread(self._thread.id, self._thread.caller, self._thread.run, self._narrator.state)
        for item in pending:
            if not isinstance(item, ToolAnswerItem):
                in_doubt = not isinstance(item, ToolApprovalItem)
                about = {"tool": item.tool_name, "agent": item.agent, "refused": item.refused, "inDoubt": in_doubt}
                call = {"approvalId": thread.key(item), "toolCallId": public_id(item.path, item.call_id)}
                yield {"type": "tool-approval-request", **call, "approvalDescriptor": about}
        yield {"type": "finish", "finishReason": "tool-calls"}


def _writing(told: WritingBegan | WritingGrew | WritingEnded) -> JsonObject:
    if isinstance(told, WritingGrew):
        return {"type": f"{told.kind}-delta", "id": told.id, "delta": told.text}
    return {"type": f"{told.kind}-{'start' if isinstance(told, WritingBegan) else 'end'}", "id": told.id}


def _nested(path: tuple[str, ...]) -> JsonObject:
    return {"toolMetadata": {"path": list(path)}} if path else {}


def input_of(told: CallEnded) -> JsonObject:
    """What a call was given."""
    if told.arguments is None:
        return {"type": "tool-input-error", "input": None, "errorText": "the call is void: the model was asked again"}
    try:
        return {"type": "tool-input-available", "input": msgspec.json.decode(told.arguments or "{}")}
    except (msgspec.DecodeError, RecursionError):
        return {"type": "tool-input-error", "input": told.arguments, "errorText": "the arguments are no JSON"}


def result_of(told: CallFinished) -> JsonObject:
    """What became of a call."""
    if told.is_denied:
        return {"type": "tool-output-denied", "toolCallId": told.id}
    if told.is_error:
        return {"type": "tool-output-error", "toolCallId": told.id, "errorText": str(_output(told.output))}
    return {"type": "tool-output-available", "toolCallId": told.id, "output": _output(told.output)}


def _output(output: str | tuple[Part, ...]) -> object:
    """A result: what JSON it is, its text, or its parts."""
    if not isinstance(output, str):
        return msgspec.to_builtins(output)
    if output[:1] in ("{", "["):
        try:
            return msgspec.json.decode(output)
        except (msgspec.DecodeError, RecursionError):
            pass
    return output


def encoded(chunk: JsonObject) -> bytes:
    """A chunk as a server-sent event."""
    return b"data: %b\n\n" % msgspec.json.encode(chunk)
