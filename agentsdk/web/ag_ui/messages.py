"""A conversation as AG-UI messages, as the store has it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from ag_ui.core import AssistantMessage, FunctionCall, Message, ReasoningMessage, ToolCall, ToolMessage, UserMessage

from agentsdk.core.overflow import output_text
from agentsdk.core.state import State
from agentsdk.types import items
from agentsdk.web.front_ends.told import message_id, public_id


def messages_of(state: State) -> list[Message]:
    """What was said and done in a run and before it: not what the system was told, and not what is withheld.

    A call's result stands behind the call, where clients put it.
    """
    results = {item.call_id: item for item in state.transcript if isinstance(item, items.FunctionCallOutput)}
    return [*_in_order(tuple(state.transcript), results, 0, ()), *_of_open_turn(state, ())]


def _of_open_turn(state: State, path: tuple[str, ...]) -> Iterator[Message]:
    turn = state.turn
    if turn is None or turn.response is None:
        return
    calls = {call.call_id: call for call in turn.calls}
    shown = [result for call_id, result in turn.results.items() if call_id in calls and not result.is_withheld]
    results = {one.call_id: items.output_of(calls[one.call_id], one.output, one.is_error) for one in shown}
    yield from _in_order(turn.response.output, results, len(state.transcript), path)
    for call_id, child in turn.children.items():
        if call_id in calls and call_id not in turn.results:
            yield from _of_open_turn(child, (*path, call_id))


def _in_order(
    given: Sequence[items.Item], results: Mapping[str, items.FunctionCallOutput], first: int, path: tuple[str, ...]
) -> Iterator[Message]:
    start = first
    for position, item in enumerate(given, first):
        if isinstance(item, items.FunctionCallOutput) or (isinstance(item, items.Message) and item.role != "assistant"):
            start = position + 1  # of the next reply
        if not isinstance(item, items.FunctionCallOutput):
            yield from _messages(item, message_id(path, start, position - start), path)
        if isinstance(item, items.FunctionCall) and (result := results.get(item.call_id)) is not None:
            yield from _messages(result, "", path)


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
