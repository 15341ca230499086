"""A conversation as messages of the AI SDK, as the store has it: what a page begins with that is opened anew."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from agentsdk.core.next_step import ToolAnswerItem
from agentsdk.core.state import State
from agentsdk.types.base import JsonObject
from agentsdk.types.events import ApprovalDecided, unnested
from agentsdk.types.items import (
    FunctionCall,
    FunctionCallOutput,
    InputFile,
    InputImage,
    InputText,
    Item,
    Message,
    Reasoning,
    output_of,
)
from agentsdk.web.front_ends.threads import Thread
from agentsdk.web.front_ends.told import CallEnded, CallFinished, public_id
from agentsdk.web.vercel.chunks import input_of, result_of


def messages_of(thread: Thread) -> list[JsonObject]:
    """What was said and done in a thread: an answer is one message, the latest under the id of its run."""
    state, messages = thread.state, list[JsonObject]()
    results = {item.call_id: item for item in _items(state) if isinstance(item, FunctionCallOutput)}
    denied = _denied(state)
    parts: list[JsonObject] | None = None  # of the answer that is being put together
    in_reply = False
    for position, item in enumerate(_items(state)):
        if isinstance(item, FunctionCallOutput) or (isinstance(item, Message) and item.role != "assistant"):
            in_reply = False
            if isinstance(item, Message) and item.role == "user" and item.id:  # what has no id no user has typed
                messages.append({"id": item.id, "role": "user", "parts": list(_of_user(item))})
                parts = None
            continue
        if parts is None:
            parts = []
            messages.append({"id": f"m-{position}", "role": "assistant", "parts": parts})
        if not in_reply:
            parts.append({"type": "step-start"})
            in_reply = True
        parts.extend(_parts(item, results, denied))
    if parts is not None:
        messages[-1]["id"] = state.run_id
        _ask(thread, parts)
    return messages


def _denied(state: State) -> set[str]:
    """The calls that a person did not let run."""
    events = [unnested(event)[1] for event in state.log]
    return {event.call_id for event in events if isinstance(event, ApprovalDecided) and not event.approved}


def _ask(thread: Thread, parts: list[JsonObject]) -> None:
    """Ask for what waits; what waits in a nested run is added for that."""
    shown = {part.get("toolCallId"): part for part in parts}
    for call in thread.pending:
        id = public_id(call.path, call.call_id)
        part = shown.get(id)
        if part is None:
            part = _call(id, call.tool_name, call.arguments)
            part["toolMetadata"] = {"path": list(call.path)}
            parts.append(part)
        if not isinstance(call, ToolAnswerItem):
            part["state"], part["approval"] = "approval-requested", {"id": thread.key(call)}


def _items(state: State) -> Iterator[Item]:
    yield from state.transcript
    turn = state.turn
    if turn is not None and turn.response is not None:
        yield from turn.response.output
        for call in turn.calls:
            result = turn.results.get(call.call_id)
            if result is not None and not result.is_withheld:
                yield output_of(call, result.output, result.is_error)


def _of_user(message: Message) -> Iterator[JsonObject]:
    content = (InputText(message.content),) if isinstance(message.content, str) else message.content
    for part in content:
        if isinstance(part, InputText):
            yield {"type": "text", "text": part.text}
        elif isinstance(part, InputImage):
            yield {"type": "file", "mediaType": _type(part.image_url, "image/*"), "url": part.image_url}
        elif isinstance(part, InputFile):
            url = part.file_data or part.file_url
            yield {
                "type": "file",
                "mediaType": _type(url, "application/octet-stream"),
                "url": url,
                "filename": part.filename,
            }


def _type(url: str, unknown: str) -> str:
    return url.removeprefix("data:").partition(";")[0] if url.startswith("data:") else unknown


def _parts(item: Item, results: Mapping[str, FunctionCallOutput], denied: set[str]) -> Iterator[JsonObject]:
    if isinstance(item, Message) and (text := item.text + item.refusal):
        yield {"type": "text", "text": text, "state": "done"}
    elif isinstance(item, Reasoning) and (text := item.text or "\n\n".join(item.summary)):
        yield {"type": "reasoning", "text": text, "state": "done"}
    elif isinstance(item, FunctionCall):
        part, result = _call(item.call_id, item.name, item.arguments), results.get(item.call_id)
        if result is None:
            yield part
            return
        told = result_of(CallFinished(item.call_id, result.output, result.is_error, item.call_id in denied))
        yield {**part, **told, "type": part["type"], "state": str(told["type"]).removeprefix("tool-")}


def _call(id: str, tool: str, arguments: str) -> JsonObject:
    given = input_of(CallEnded(id, tool, arguments))["input"]
    return {"type": f"tool-{tool}", "toolCallId": id, "state": "input-available", "input": given}
