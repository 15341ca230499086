"""Nested history: at a handoff the conversation so far becomes one message."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, Any, cast

if TYPE_CHECKING:
    from agentsdk.compat.openai_agents.handoffs import HandoffInputData
    from agentsdk.compat.openai_agents.items import RunItem

_START, _END = "<CONVERSATION HISTORY>", "</CONVERSATION HISTORY>"
_wrappers = [_START, _END]


def set_conversation_history_wrappers(*, start: str | None = None, end: str | None = None) -> None:
    """Have the conversation stand between other texts."""
    if start is not None:
        _wrappers[0] = start
    if end is not None:
        _wrappers[1] = end


def reset_conversation_history_wrappers() -> None:
    """Have it stand between the usual texts again."""
    _wrappers[:] = [_START, _END]


def get_conversation_history_wrappers() -> tuple[str, str]:
    """The texts it stands between."""
    return _wrappers[0], _wrappers[1]


def default_handoff_history_mapper(transcript: list[Any]) -> list[Any]:
    """The conversation as one message of the assistant, a line for each item."""
    lines = [f"{number}. {_line(item)}" for number, item in enumerate(transcript, 1)] or ["(nothing was said yet)"]
    start, end = get_conversation_history_wrappers()
    content = "\n".join(["The conversation so far:", start, *lines, end])
    return [{"role": "assistant", "content": content}]


def nest_handoff_history(
    handoff_input_data: HandoffInputData, *, history_mapper: Callable[[list[Any]], list[Any]] | None = None
) -> HandoffInputData:
    """The same with the conversation so far as `history_mapper` makes it.

    Without one it is told in a message, and the messages of the turn stand in their places as they are.
    """
    history = handoff_input_data.input_history
    items: list[Any] = [{"role": "user", "content": history}] if isinstance(history, str) else list(history)
    items = [one for item in items for one in _flat(item)]
    items += _entries(handoff_input_data.pre_handoff_items)
    new = [item for item in handoff_input_data.new_items if item.type != "tool_approval_item"]
    if history_mapper is not None:
        mapped = history_mapper([*items, *_entries(new)])
    else:
        mapped = list[Any]()
        for item in new:
            entry = item.to_input_item()
            if item.type == "message_output_item":
                mapped += [*(default_handoff_history_mapper(items) if items else ()), entry]
                items = []
            else:
                items.append(entry)
        if items or not mapped:
            mapped += default_handoff_history_mapper(items)
    return handoff_input_data.clone(input_history=tuple(mapped), pre_handoff_items=(), input_items=())


def _entries(items: Iterable[RunItem]) -> list[Any]:
    return [item.to_input_item() for item in items if item.type != "tool_approval_item"]


def _line(item: Any) -> str:
    data = dict(item)
    if "role" in data and isinstance(data.get("content"), str) and "\n" not in data["content"]:
        return f"{data['role']}: {data['content']}"
    return json.dumps(data, ensure_ascii=False, default=str)


def _flat(item: Any) -> list[Any]:
    """The items that a message of an earlier handoff stands for."""
    content: Any = cast("dict[str, Any]", item).get("content") if isinstance(item, dict) else None
    start, end = get_conversation_history_wrappers()
    if not (isinstance(content, str) and start in content and end in content):
        return [item]
    body = content.partition(start)[2].rpartition(end)[0].strip().splitlines()
    found: list[Any] = []
    for line in body:
        text = line.partition(". ")[2].strip()
        if text.startswith("{"):
            try:
                found.append(cast("dict[str, Any]", json.loads(text)))
                continue
            except ValueError:
                pass
        role, colon, said = text.partition(": ")
        if colon:
            found.append({"role": role, "content": said})
    return found
