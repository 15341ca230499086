"""A conversation as AG-UI messages, as the store has it."""

from __future__ import annotations

from collections.abc import Iterator

from ag_ui.core import AssistantMessage, FunctionCall, Message, ReasoningMessage, ToolCall, ToolMessage, UserMessage

from agentsdk.core.overflow import output_text
from agentsdk.core.state import State
from agentsdk.types import items
from agentsdk.web.front_ends.told import message_id, public_id


def messages_of(state: State) -> list[Message]:
    """What was said and done in a run and before it: not what the system was told, and not what is withheld."""
    messages: list[Message] = []
    for position, item in enumerate(state.transcript):
        messages.extend(_messages(item, message_id((), position), ()))
    messages.extend(_of_open_turn(state, len(state.transcript), ()))
    return messages


def _of_open_turn(state: State, position: int, path: tuple[str, ...]) -> Iterator[Message]:
    turn = state.turn
    if turn is None or turn.response is None:
        return
    for index, item in enumerate(turn.response.output, position):
        yield from _messages(item, message_id(path, index), path)
    for call in turn.calls:
        if (child := turn.children.get(call.call_id)) is not None and call.call_id not in turn.results:
            yield from _of_open_turn(child, len(child.transcript), (*path, call.call_id))
        result = turn.results.get(call.call_id)
        if result is not None and not result.is_withheld:
            yield from _messages(items.output_of(call, result.output, result.is_error), "", path)


def _messages(item: items.Item, id: str, path: tuple[str, ...]) -> Iterator[Message]:
    owner = "/".join(path) or None
    match item:
        case items.Message(role="user"):
            if item.id:  # otherwise no user has typed it: it is feedback, or what a program sent
                yield UserMessage(id=item.id, content=item.text)
        case items.Message(role="assistant"):
            if text := item.text or item.refusal:
                yield AssistantMessage(id=id, content=text, subagent_run_id=owner)
        case items.Reasoning():
            if text := item.text or "\n\n".join(item.summary):
                yield ReasoningMessage(id=id, content=text, subagent_run_id=owner)
        case items.FunctionCall():
            call_id = public_id(path, item.call_id)
            call = ToolCall(id=call_id, function=FunctionCall(name=item.name, arguments=item.arguments))
            yield AssistantMessage(id=call_id, tool_calls=[call], subagent_run_id=owner)
        case items.FunctionCallOutput():
            call_id, text = public_id(path, item.call_id), output_text(item.output)
            error = text if item.is_error else None
            yield ToolMessage(id=f"{call_id}-result", content=text, tool_call_id=call_id, error=error, subagent_run_id=owner)
        case _:
            return
