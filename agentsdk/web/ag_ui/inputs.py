"""What an AG-UI client sends, and how little of it counts: what its user has just written, and its word on calls that wait.

Its copy of the conversation is its own affair: messages of the system, of the assistant and of tools are not read, but for the
results of calls that wait for them.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import cast

import msgspec
from ag_ui.core import (
    AssistantMessage,
    ContentPart,
    DataSource,
    Message,
    ResumeEntry,
    RunAgentInput,
    TextPart,
    ToolMessage,
    UrlSource,
    UserMessage,
)
from pydantic import ValidationError

from agentsdk.core.next_step import PendingCall, ToolAnswerItem, ToolApprovalItem
from agentsdk.types import items
from agentsdk.types.base import JsonObject
from agentsdk.types.errors import RunConflictError, UserError
from agentsdk.types.items import InputText, Part
from agentsdk.types.signals import Decision, DecisionAction
from agentsdk.web.front_ends.media import data_url, media_part
from agentsdk.web.front_ends.threads import Offer, Said, Thread
from agentsdk.web.problems import ProblemError

MAX_STATE_CHARS = 65_536


def input_of(data: bytes) -> RunAgentInput:
    """The request that a body is. Raises `ProblemError`."""
    try:
        return RunAgentInput.model_validate_json(data)
    except ValidationError as error:
        first = error.errors(include_url=False, include_context=False, include_input=False)[0]
        if first["type"] == "json_invalid":
            raise ProblemError(400, "the body is not JSON, expected an AG-UI RunAgentInput; send one") from None
        where = ".".join(map(str, first["loc"][:6]))
        raise ProblemError(422, f"the body is no RunAgentInput: {where}: {first['msg']}; send one") from None


def said_in(messages: Sequence[Message]) -> Said | None:
    """What the user has written since the assistant spoke last. Raises `UserError` for parts that cannot be taken."""
    new: list[UserMessage] = []
    for message in reversed(messages):
        if isinstance(message, AssistantMessage | ToolMessage):
            break
        if isinstance(message, UserMessage):
            new.append(message)
    if not new:
        return None
    return Said([items.Message("user", _content(one.content), one.id) for one in reversed(new)], new[0].id)


def offer_in(asked: RunAgentInput, *, shares_state: bool) -> Offer:
    """The tools and the state of a client. Raises `UserError` for a state that is too long."""
    tools = [(tool.name, tool.description, cast(object, tool.parameters)) for tool in asked.tools or ()]
    if not shares_state:
        return Offer(tools)
    state = msgspec.json.encode(asked.state).decode() if asked.state not in (None, {}) else ""
    if len(state) > MAX_STATE_CHARS:
        raise UserError(f"the state is {len(state)} characters, expected at most {MAX_STATE_CHARS}; send less")
    return Offer(tools, state)


def results_in(messages: Iterable[Message], thread: Thread) -> list[Decision]:
    """The results of calls that wait for them. What is said of other calls is left out: they have theirs in the store.

    Raises `UserError` for a result that cannot be taken.
    """
    waiting = thread.waiting_by_id()
    last = {message.tool_call_id: message for message in messages if isinstance(message, ToolMessage)}
    return [_result(waiting[id], message, thread.by) for id, message in last.items() if id in waiting]


def answers_in(resume: Sequence[ResumeEntry], thread: Thread) -> list[Decision]:
    """What a client says of the calls that wait; nothing for what was decided so already.

    Raises `RunConflictError` for a call that does not wait, and where one that does is left out; `UserError` for a payload that
    is none.
    """
    waiting, decisions, answered = thread.waiting_by_key(), list[Decision](), set[str]()
    for entry in resume:
        item = waiting.get(entry.interrupt_id)
        if entry.interrupt_id in answered:
            raise UserError(f"resume answers {entry.interrupt_id!r} twice, expected one answer; leave the other out")
        if item is not None:
            decisions.append(_answer(item, entry, thread.by))
        elif not _is_repeated(entry, thread):
            raise RunConflictError(f"no call waits for {entry.interrupt_id!r}, expected the id of an open interrupt; send that")
        answered.add(entry.interrupt_id)
    open_ones = [key for key, item in waiting.items() if is_interrupt(item)]
    if decisions and not answered.issuperset(open_ones):
        raise RunConflictError("resume leaves an open interrupt out, expected an answer to each; add it")
    return decisions


def is_interrupt(item: PendingCall) -> bool:
    """Whether a call waits as an interrupt; otherwise it is a tool that the front end runs."""
    return not isinstance(item, ToolAnswerItem) or bool(item.question)


def _is_repeated(entry: ResumeEntry, thread: Thread) -> bool:
    approved = entry.status == "resolved" and _fields(entry).get("approved") is True
    return thread.was_decided(entry.interrupt_id, approved=approved)


def _fields(entry: ResumeEntry) -> JsonObject:
    payload = cast(object, entry.payload)
    return cast("JsonObject", payload) if isinstance(payload, dict) else {}


def _answer(item: PendingCall, entry: ResumeEntry, by: str) -> Decision:
    of, path = item.call_id, item.path
    if entry.status == "cancelled":
        action: DecisionAction = "reject" if isinstance(item, ToolApprovalItem) else "mark_failed"
        return Decision(of, action, path, reason="the user left the question open", by=by)
    if isinstance(item, ToolAnswerItem):
        return Decision(of, "answer", path, answer=entry.payload, by=by)
    fields = _fields(entry)
    reason = fields.get("reason") or ""
    if not isinstance(reason, str):
        raise UserError("the payload of resume has a reason that is no text, expected one; write it as a text")
    if not isinstance(item, ToolApprovalItem):
        return _outcome(item, fields, reason, by)
    approved, edited = fields.get("approved"), fields.get("editedArgs")
    if not isinstance(approved, bool) or not (edited is None or isinstance(edited, dict)):
        raise UserError(
            "the payload of resume is no approval, expected {'approved': true or false, 'editedArgs': {...}}; send it"
        )
    if not approved:
        return Decision(of, "reject", path, reason=reason, by=by)
    return Decision(of, "approve", path, reason=reason, by=by, arguments=cast("JsonObject | None", edited))


def _outcome(item: PendingCall, fields: JsonObject, reason: str, by: str) -> Decision:
    """A word on a call that began, its outcome unknown."""
    action, result = fields.get("action"), fields.get("result", "")
    if action not in ("retry", "mark_failed", "provide_result") or not isinstance(result, str):
        raise UserError(
            "the payload of resume says nothing of the call's outcome, expected {'action': 'retry', 'mark_failed' or "
            "'provide_result', 'result': text}; send it"
        )
    return Decision(item.call_id, action, item.path, result=result, reason=reason, by=by)


def _result(item: PendingCall, message: ToolMessage, by: str) -> Decision:
    content = _content(message.content)
    if not isinstance(content, str):
        if not all(isinstance(part, InputText) for part in content):
            raise UserError("a tool's result has media, expected text; send JSON text")
        content = "".join(part.text for part in content if isinstance(part, InputText))
    if message.error:
        return Decision(item.call_id, "mark_failed", item.path, reason=message.error, by=by)
    return Decision(item.call_id, "answer", item.path, answer=answer_of(item, content), by=by)


def answer_of(item: PendingCall, text: str) -> object:
    """The answer that a text is: JSON where the call's tool wants more than a text, and the text is JSON."""
    schema = item.answer_schema if isinstance(item, ToolAnswerItem) else None
    if schema is None or schema.get("type") == "string":
        return text
    try:
        return msgspec.json.decode(text)
    except (msgspec.DecodeError, RecursionError):
        return text


def _content(content: str | list[ContentPart]) -> str | tuple[Part, ...]:
    return content if isinstance(content, str) else tuple([_part(part) for part in content])


def _part(part: ContentPart) -> Part:
    if isinstance(part, TextPart):
        return InputText(part.text)
    source = part.source
    if isinstance(source, DataSource):
        return media_part(source.mime_type, data_url(source.mime_type, source.value), kind=part.type)
    if isinstance(source, UrlSource):
        return media_part(source.mime_type or "", source.value, kind=part.type)
    raise UserError("a part of the message is a file of the provider's, expected its data or URL; send that")
