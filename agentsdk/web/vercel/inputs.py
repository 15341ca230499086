"""What `useChat` sends, and how little of it counts: what its user has just written, and its word on calls that wait.

Its copy of the conversation is its own affair: messages of the system are not read, nor those of the assistant, but for what
they say of calls that wait.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Literal, cast

import msgspec

from agentsdk.core.next_step import PendingCall, ToolApprovalItem
from agentsdk.types.base import JsonObject
from agentsdk.types.errors import UserError
from agentsdk.types.items import InputText, Message, Part
from agentsdk.types.signals import Decision
from agentsdk.web.front_ends.media import media_part
from agentsdk.web.front_ends.threads import Said, Thread
from agentsdk.web.problems import ProblemError


class UIMessage(msgspec.Struct):
    """A message as the page has it."""

    id: str
    role: Literal["system", "user", "assistant"]
    parts: list[JsonObject]


class ChatBody(msgspec.Struct, rename={"message_id": "messageId"}):
    """A request of `DefaultChatTransport`. What else a page adds to it is left out."""

    id: str
    messages: list[UIMessage]
    trigger: Literal["submit-message", "regenerate-message"] = "submit-message"
    message_id: str | None = None


def body_of(data: bytes) -> ChatBody:
    """The request that a body is. Raises `ProblemError`."""
    try:
        return msgspec.json.decode(data, type=ChatBody)
    except msgspec.ValidationError as error:
        raise ProblemError(422, f"the body does not fit: {error}; send what DefaultChatTransport does") from None
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        raise ProblemError(400, "the body is not JSON, expected what DefaultChatTransport sends; send that") from None


def said_in(messages: Sequence[UIMessage]) -> Said | None:
    """What the user has written since the assistant spoke last. Raises `UserError` for parts that cannot be taken."""
    new: list[UIMessage] = []
    for message in reversed(messages):
        if message.role == "assistant":
            break
        if message.role == "user":
            new.append(message)
    if not new:
        return None
    return Said([Message("user", _content(message), message.id) for message in reversed(new)], new[0].id)


def decisions_in(messages: Sequence[UIMessage], thread: Thread) -> list[Decision]:
    """What the page says of calls that wait: approvals by their keys, results by the calls' ids.

    What it says of any other call is left out: that has its result in the store.
    """
    keys, ids = thread.waiting_by_key(), thread.waiting_by_id()
    decisions: dict[int, Decision] = {}
    for part in _tool_parts(messages):
        approval = part.get("approval")
        key = cast("JsonObject", approval).get("id") if isinstance(approval, dict) else None
        item = keys.get(key) if isinstance(key, str) else None
        if item is not None and isinstance(approved := cast("JsonObject", approval).get("approved"), bool):
            decisions[id(item)] = _approval(item, approved, cast("JsonObject", approval).get("reason"), thread.by)
        call_id = part.get("toolCallId")
        item = ids.get(call_id) if isinstance(call_id, str) else None
        if item is not None and (decision := _answer(item, part, thread.by)) is not None:
            decisions[id(item)] = decision
    return list(decisions.values())


def _tool_parts(messages: Sequence[UIMessage]) -> Iterator[JsonObject]:
    for message in messages:
        for part in message.parts if message.role == "assistant" else ():
            kind = part.get("type")
            if isinstance(kind, str) and (kind.startswith("tool-") or kind == "dynamic-tool"):
                yield part


def _approval(item: PendingCall, approved: bool, reason: object, by: str) -> Decision:
    said = reason if isinstance(reason, str) else ""
    if isinstance(item, ToolApprovalItem):
        return Decision(item.call_id, "approve" if approved else "reject", item.path, reason=said, by=by)
    return Decision(item.call_id, "retry" if approved else "mark_failed", item.path, reason=said, by=by)


def _answer(item: PendingCall, part: JsonObject, by: str) -> Decision | None:
    if part.get("state") == "output-available":
        return Decision(item.call_id, "answer", item.path, answer=part.get("output"), by=by)
    if part.get("state") == "output-error":
        reason = part.get("errorText")
        return Decision(item.call_id, "mark_failed", item.path, reason=reason if isinstance(reason, str) else "", by=by)
    return None


def _content(message: UIMessage) -> str | tuple[Part, ...]:
    parts: list[Part] = []
    for part in message.parts:
        if part.get("type") == "text":
            parts.append(InputText(_text(part, "text")))
        elif part.get("type") == "file":
            parts.append(media_part(_text(part, "mediaType"), _text(part, "url"), _text(part, "filename", "")))
    if not parts:
        raise UserError("the user's message has no part that can be taken, expected text or files; add one")
    if all(isinstance(part, InputText) for part in parts):
        return "".join(part.text for part in parts if isinstance(part, InputText))
    return tuple(parts)


def _text(part: JsonObject, field: str, default: str | None = None) -> str:
    value = part.get(field, default)
    if not isinstance(value, str):
        raise UserError(f"a part of the user's message has no {field!r} that is a text, expected one; add it")
    return value
