"""What a conversation asks for: the latest request in it, and what its last turn has called. A turn costs what it adds."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from agentsdk.core.overflow import output_text
from agentsdk.define.toolset import ToolsetContext
from agentsdk.types.items import FunctionCall, FunctionCallOutput, Item, Message
from agentsdk.types.tape import Tape

SHORT = 40
"""A request of fewer characters ("yes, do that") is taken with the end of what it answers."""

_MAX_BEFORE = 300
_MAX_REQUEST = 8000


def latest_request(context: ToolsetContext[Any]) -> str:
    """The user's latest message; several where they follow each other; before a short one, the end of what it answers.

    It is the same in all turns that follow until the user says more, so that tools chosen by it stay as they are.
    """
    items = context.items
    begin, end = _latest(items)
    text = "\n".join([item.text for item in items[begin:end] if isinstance(item, Message)])
    if len(text) < SHORT and begin > 0:
        before = items[begin - 1]
        if isinstance(before, Message) and before.role == "assistant":
            text = f"{before.text[-_MAX_BEFORE:]}\n{text}"
    return text if len(text) <= _MAX_REQUEST else text[: _MAX_REQUEST // 2] + text[-_MAX_REQUEST // 2 :]


def last_turn(items: Sequence[Item]) -> tuple[list[FunctionCall], dict[str, str]]:
    """The calls of the last reply, in order, and the texts of their results by call id."""
    calls: list[FunctionCall] = []
    results: dict[str, str] = {}
    at = len(items) - 1
    while at >= 0 and not _is_reply(item := items[at]):
        if isinstance(item, FunctionCallOutput):
            results[item.call_id] = output_text(item.output)
        at -= 1
    while at >= 0 and _is_reply(item := items[at]):
        if isinstance(item, FunctionCall):
            calls.append(item)
        at -= 1
    return calls[::-1], results


def called_names(items: Sequence[Item]) -> list[str]:
    """The tools that were called, each once, the one that was called longest ago first."""
    names = [item.name for item in items if isinstance(item, FunctionCall)]
    return list(dict.fromkeys(reversed(names)))[::-1]


def _is_reply(item: Item) -> bool:
    """Whether the model has written it."""
    return item.role == "assistant" if isinstance(item, Message) else not isinstance(item, FunctionCallOutput)


class _Latest:
    """Where the latest messages of the user begin and end, of the first items of a conversation."""

    __slots__ = ("begin", "end", "read")

    def __init__(self) -> None:
        self.begin = self.end = self.read = 0

    def extend(self, items: Sequence[Item]) -> None:
        """Take the items that it has not read."""
        for at in range(self.read, len(items)):
            item = items[at]
            if isinstance(item, Message) and item.role == "user":
                if self.end != at:
                    self.begin = at
                self.end = at + 1
        self.read = len(items)


_OWNER = object()


def _latest(items: Sequence[Item]) -> tuple[int, int]:
    """Where the user's latest messages begin and end."""
    kept = items.derived.get(_OWNER) if isinstance(items, Tape) else None
    latest = kept if isinstance(kept, _Latest) and kept.read <= len(items) else _Latest()
    latest.extend(items)
    if isinstance(items, Tape):
        items.derived[_OWNER] = latest
    return latest.begin, latest.end
