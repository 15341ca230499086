"""Filters for handoffs."""

from __future__ import annotations

from typing import Any, TypeVar

from agentsdk.compat.openai_agents.handoffs import HandoffInputData
from agentsdk.compat.openai_agents.handoffs import default_handoff_history_mapper as default_handoff_history_mapper
from agentsdk.compat.openai_agents.handoffs import nest_handoff_history as nest_handoff_history
from agentsdk.compat.openai_agents.items import InputItem, MessageOutputItem, RunItem

T = TypeVar("T")
_KEPT = (MessageOutputItem, InputItem)
_KEPT_TYPES = (None, "message", "item_reference", "compaction")


def remove_all_tools(handoff_input_data: HandoffInputData) -> HandoffInputData:
    """Leave out calls, their results, handoffs and reasoning: only messages are left."""
    history = handoff_input_data.input_history
    items = handoff_input_data.input_items
    return handoff_input_data.clone(
        input_history=history if isinstance(history, str) else tuple(filter(_is_message, history)),
        pre_handoff_items=_messages(handoff_input_data.pre_handoff_items),
        new_items=_messages(handoff_input_data.new_items),
        input_items=None if items is None else _messages(items),
    )


def _messages(items: tuple[RunItem, ...]) -> tuple[RunItem, ...]:
    return tuple([item for item in items if isinstance(item, _KEPT) or item.type == "compaction_item"])


def _is_message(item: Any) -> bool:
    return item.get("type") in _KEPT_TYPES


__all__ = ["default_handoff_history_mapper", "nest_handoff_history", "remove_all_tools"]
