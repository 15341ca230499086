"""Replies of models, run items and stream events, as the program sees them. Raw items are built when they are looked at."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, cast

from agentsdk.compat.openai_agents import items as theirs
from agentsdk.compat.openai_agents._bridge.raw import built_of
from agentsdk.compat.openai_agents._bridge.scope import RunScope
from agentsdk.compat.openai_agents.usage import usage_of
from agentsdk.define import run_items as own
from agentsdk.types.items import FunctionCall, FunctionCallOutput, Item
from agentsdk.types.response import ModelResponse as OwnResponse


def raw_of(scope: RunScope, item: Item) -> Any:
    """The raw item: what the program's own model gave, or openai's type."""
    raw = scope.originals.raw(item)
    if raw is None:
        raw = built_of(item)
        scope.originals.keep(item, raw)
    return raw


def response_of(scope: RunScope, response: OwnResponse) -> theirs.ModelResponse:
    """A model's reply."""
    made = object.__new__(theirs.ModelResponse)
    made.__dict__.update(
        usage=usage_of(response.usage),
        response_id=response.response_id or None,
        request_id=None,
        raw_usage=None,
        _build=lambda: [raw_of(scope, item) for item in response.output],
    )
    return made


def _lazy(kind: type[Any], build: Callable[[], dict[str, Any]], **fields: Any) -> Any:
    made = object.__new__(kind)
    made.__dict__.update(fields, type=kind.type, _build=build)
    return made


_HOSTED: dict[str, type[Any]] = {
    "mcp_list_tools": theirs.MCPListToolsItem,
    "mcp_approval_request": theirs.MCPApprovalRequestItem,
    "tool_search_call": theirs.ToolSearchCallItem,
    "tool_search_output": theirs.ToolSearchOutputItem,
    "compaction": theirs.CompactionItem,
}


def item_of(scope: RunScope, item: own.RunItem) -> theirs.RunItem:
    """A run item."""
    agent = scope.translation.given(item.agent)
    raw_item = item.raw_item

    def raw() -> dict[str, Any]:
        return {"raw_item": raw_of(scope, raw_item)}

    match item:
        case own.MessageOutputItem():
            return _lazy(theirs.MessageOutputItem, raw, agent=agent)
        case own.ReasoningItem():
            return _lazy(theirs.ReasoningItem, raw, agent=agent)
        case own.HandoffCallItem():
            return _lazy(theirs.HandoffCallItem, raw, agent=agent)
        case own.HandoffOutputItem():
            given = scope.translation.given
            source, target = given(item.source_agent), given(item.target_agent)
            return theirs.HandoffOutputItem(agent, _transfer(scope, item.raw_item, source, target), source, target)
        case own.ToolCallItem():
            return _tool_call(scope, agent, item.raw_item, raw)
        case own.ToolCallOutputItem():
            return _tool_output(scope, agent, item.raw_item)
        case own.HostedToolItem():
            kind = _HOSTED.get(str(item.raw_item.data.get("type")))
            if kind is not None:
                return _lazy(kind, raw, agent=agent)
            return _lazy(theirs.ToolCallItem, raw, agent=agent, description=None, title=None, tool_origin=None)


def _transfer(scope: RunScope, result: FunctionCallOutput, source: Any, target: Any) -> dict[str, Any]:
    message = scope.outputs.get(result.call_id)
    text = f'{{"assistant": "{target.name}"}}' if message is None else str(message)
    return {"call_id": result.call_id, "output": text, "type": "function_call_output"}


def _tool_call(scope: RunScope, agent: Any, call: FunctionCall, raw: Callable[[], dict[str, Any]]) -> Any:
    if call.kind == "mcp_approval":
        return _lazy(theirs.MCPApprovalRequestItem, raw, agent=agent)
    tool = scope.tool_named(agent, call.name)
    origin = getattr(tool, "origin", None)
    if origin is not None:
        scope.origins[call.call_id] = origin
    description = getattr(tool, "description", None)
    return _lazy(theirs.ToolCallItem, raw, agent=agent, description=description, title=None, tool_origin=origin)


def _tool_output(scope: RunScope, agent: Any, result: FunctionCallOutput) -> Any:
    entry = scope.originals.entry(result)
    if result.kind == "mcp_approval":
        return theirs.MCPApprovalResponseItem(agent, entry)
    shown = result.output if isinstance(result.output, str) else entry.get("output")
    output = scope.outputs.get(result.call_id, shown)
    item = theirs.ToolCallOutputItem(agent, entry, output, tool_origin=scope.origins.get(result.call_id))
    item.custom_data = scope.custom_data.get(result.call_id)
    return item


EVENT_NAMES: dict[str, str] = {
    "tool_call_item": "tool_called",
    "mcp_list_tools_item": "mcp_list_tools",
    "mcp_approval_request_item": "mcp_approval_requested",
    "mcp_approval_response_item": "mcp_approval_response",
    "tool_search_call_item": "tool_search_called",
    "tool_search_output_item": "tool_search_output_created",
}


def event_name(name: str, item: theirs.RunItem) -> str:
    """The name of the stream event of an item."""
    if name in ("hosted_tool_used", "tool_called", "tool_output"):
        return EVENT_NAMES.get(item.type, "tool_called" if name == "hosted_tool_used" else name)
    return name


def own_item(item: theirs.RunItem, scope: RunScope) -> Item:
    """A run item as the run beneath has it."""
    return scope.originals.item(cast(Any, item.to_input_item()))
