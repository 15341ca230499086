"""Hosted tools as the Messages API takes them: entries of `tools`, fields beside them, and headers for what is in beta."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict

from agentsdk.models.anthropic.features import FEATURES
from agentsdk.models.hosted import check_hosted_tools, require_no_approvals
from agentsdk.types.base import JsonObject
from agentsdk.types.hosted_tool import HostedTool
from agentsdk.types.hosted_tools import CodeInterpreterTool, HostedMCPTool, ToolSearchTool, WebFetchTool, WebSearchTool

_API = "the Anthropic Messages API"
_MCP_BETA = "mcp-client-2025-11-20"
_NAMES = {
    "WebSearchTool": "web_search",
    "WebFetchTool": "web_fetch",
    "CodeInterpreterTool": "code_execution",
    "ToolSearchTool": "tool_search_tool_bm25",
}


def encode_hosted(tools: Sequence[HostedTool]) -> list[JsonObject]:
    """The entries of the `tools` field. Raises `UserError` for those that the API does not have."""
    check_hosted_tools(tools, FEATURES.hosted_tools, _API)
    return [_entry(tool) for tool in tools]


def names_of(tools: Sequence[HostedTool]) -> dict[str, str]:
    """The names under which the model knows them, each with its declaration."""
    kinds = [type(tool).__name__ for tool in tools]
    return {_NAMES[kind]: kind for kind in kinds if kind in _NAMES}


def deferred(tools: Sequence[HostedTool]) -> frozenset[str] | None:
    """The names that are pinned where the model searches the tools; None where it does not."""
    return next((frozenset(tool.pinned) for tool in tools if isinstance(tool, ToolSearchTool)), None)


def hosted_fields(tools: Sequence[HostedTool]) -> JsonObject:
    """What a request says of them outside its `tools`. Raises `UserError` for a server whose calls are to be approved."""
    fields: JsonObject = {}
    servers: list[JsonObject] = []
    for tool in tools:
        if isinstance(tool, HostedMCPTool):
            require_no_approvals(tool, _API)
            server: JsonObject = {"type": "url", "name": tool.server_label, "url": tool.server_url}
            servers.append({**server, "authorization_token": tool.authorization} if tool.authorization else server)
        elif isinstance(tool, CodeInterpreterTool) and tool.container:
            fields["container"] = tool.container
    return {**fields, "mcp_servers": servers} if servers else fields


def betas_of(tools: Sequence[HostedTool]) -> str:
    """The value of the header that a request with them needs; `""` where it needs none."""
    return _MCP_BETA if any(isinstance(tool, HostedMCPTool) for tool in tools) else ""


def _entry(tool: HostedTool) -> JsonObject:
    match tool:
        case WebSearchTool():
            entry: JsonObject = {"type": "web_search_20250305", "name": "web_search", **tool.settings}
            if tool.user_location is not None:
                place = {name: value for name, value in asdict(tool.user_location).items() if value}
                entry["user_location"] = {"type": "approximate", **place}
            return entry
        case WebFetchTool():
            entry = {"type": "web_fetch_20250910", "name": "web_fetch", **tool.settings}
            return {**entry, "citations": {"enabled": True}} if tool.citations else entry
        case CodeInterpreterTool():
            return {"type": "code_execution_20250825", "name": "code_execution"}
        case HostedMCPTool():
            toolset: JsonObject = {"type": "mcp_toolset", "mcp_server_name": tool.server_label}
            if tool.allowed_tools is not None:
                toolset["default_config"] = {"enabled": False}
                toolset["configs"] = {name: {"enabled": True} for name in tool.allowed_tools}
            return toolset
        case _:  # checked to be one of these
            return {"type": "tool_search_tool_bm25_20251119", "name": "tool_search_tool_bm25"}
