"""Hosted tools as the Responses API takes them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict

from agentsdk.models.hosted import check_hosted_tools
from agentsdk.models.openai_responses.features import FEATURES
from agentsdk.types.base import JsonObject
from agentsdk.types.errors import UserError
from agentsdk.types.hosted_tool import HostedTool
from agentsdk.types.hosted_tools import (
    CodeInterpreterTool,
    FileSearchTool,
    HostedMCPTool,
    ImageGenerationTool,
    ToolSearchTool,
    WebSearchTool,
)

_INCLUDED = {
    "WebSearchTool": "web_search_call.action.sources",
    "CodeInterpreterTool": "code_interpreter_call.outputs",
}


def encode_hosted(tools: Sequence[HostedTool]) -> list[JsonObject]:
    """The entries of the `tools` field. Raises `UserError` for those that the API does not have."""
    check_hosted_tools(tools, FEATURES.hosted_tools, "the Responses API")
    return [_entry(tool) for tool in tools]


def included(tools: Sequence[HostedTool]) -> list[str]:
    """What the reply is to say of these tools' work, beside what it always does: all that its items have places for."""
    include = [_INCLUDED[kind] for tool in tools if (kind := type(tool).__name__) in _INCLUDED]
    if any(isinstance(tool, FileSearchTool) and tool.include_search_results for tool in tools):
        include.append("file_search_call.results")
    return include


def deferred(tools: Sequence[HostedTool]) -> frozenset[str] | None:
    """The names that are pinned where the model searches the tools; None where it does not."""
    return next((frozenset(tool.pinned) for tool in tools if isinstance(tool, ToolSearchTool)), None)


def is_chosen(choice: str, tools: Sequence[HostedTool]) -> bool:
    """Whether a `tool_choice` names one of these tools, by its type."""
    return any(_entry(tool)["type"] == choice for tool in tools)


def _entry(tool: HostedTool) -> JsonObject:
    match tool:
        case WebSearchTool():
            return _web_search(tool)
        case FileSearchTool():
            return _file_search(tool)
        case CodeInterpreterTool():
            new: JsonObject = {"type": "auto"}
            if tool.file_ids:
                new["file_ids"] = tool.file_ids
            if tool.memory_limit is not None:
                new["memory_limit"] = tool.memory_limit
            return {"type": "code_interpreter", "container": tool.container or new}
        case ImageGenerationTool():
            return {"type": "image_generation", **tool.settings}
        case HostedMCPTool():
            return _mcp(tool)
        case _:  # checked to be one of these
            return {"type": "tool_search"}


def _web_search(tool: WebSearchTool) -> JsonObject:
    entry: JsonObject = {"type": "web_search"}
    domains = {name: value for name, value in tool.settings.items() if name.endswith("_domains")}
    if domains:
        entry["filters"] = domains
    if tool.user_location is not None:
        entry["user_location"] = {"type": "approximate", **_given(asdict(tool.user_location))}
    if tool.search_context_size is not None:
        entry["search_context_size"] = tool.search_context_size
    return entry


def _file_search(tool: FileSearchTool) -> JsonObject:
    if isinstance(tool.filters, str):
        raise UserError("FileSearchTool has a text as filters, expected a dict for the Responses API; give a filter object")
    known: JsonObject = {"max_num_results": tool.max_num_results, "filters": tool.filters}
    entry: JsonObject = {"type": "file_search", "vector_store_ids": tool.vector_store_ids, **_given(known)}
    if tool.score_threshold is not None:
        entry["ranking_options"] = {"score_threshold": tool.score_threshold}
    return entry


def _mcp(tool: HostedMCPTool) -> JsonObject:
    address = {"server_url": tool.server_url, "connector_id": tool.connector_id, "authorization": tool.authorization}
    shown = {"headers": dict(tool.headers or {}), "server_description": tool.server_description}
    entry: JsonObject = {"type": "mcp", "server_label": tool.server_label, **_given({**address, **shown})}
    if tool.allowed_tools is not None:
        entry["allowed_tools"] = tool.allowed_tools
    approved: JsonObject = {"never": {"tool_names": tool.approved_tools}}
    return {**entry, "require_approval": approved if tool.approved_tools else tool.require_approval}


def _given(fields: Mapping[str, object]) -> JsonObject:
    return {name: value for name, value in fields.items() if value}
