"""Hosted tools as `generateContent` takes them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from agentsdk.models.google.features import FEATURES
from agentsdk.models.hosted import check_hosted_tools, require_no_approvals
from agentsdk.types.base import JsonObject
from agentsdk.types.errors import UserError
from agentsdk.types.hosted_tool import HostedTool
from agentsdk.types.hosted_tools import CodeInterpreterTool, FileSearchTool, HostedMCPTool, WebFetchTool, WebSearchTool

_API = "Google's generateContent"


def encode_hosted(
    tools: Sequence[HostedTool], known: Mapping[str, Sequence[str]] = FEATURES.hosted_tools, api: str = _API
) -> list[JsonObject]:
    """The entries of the `tools` field. Raises `UserError` for those that `api` does not have: it knows `known`."""
    check_hosted_tools(tools, known, api)
    entries: list[JsonObject] = []
    servers: list[JsonObject] = []
    for tool in tools:
        match tool:
            case WebSearchTool():
                entries.append({"googleSearch": {}})
            case WebFetchTool():
                entries.append({"urlContext": {}})
            case CodeInterpreterTool():
                entries.append({"codeExecution": {}})
            case FileSearchTool():
                entries.append({"fileSearch": _file_search(tool)})
            case HostedMCPTool():
                require_no_approvals(tool, _API)
                servers.append(_mcp(tool))
            case _:  # checked to be none
                pass
    return [*entries, {"mcpServers": servers}] if servers else entries


def _file_search(tool: FileSearchTool) -> JsonObject:
    if tool.filters is not None and not isinstance(tool.filters, str):
        raise UserError(f"FileSearchTool has a dict as filters, expected a text for {_API}; write 'author = \"Ada\"', say")
    known = {"topK": tool.max_num_results, "metadataFilter": tool.filters}
    return {"fileSearchStoreNames": tool.vector_store_ids, **{name: value for name, value in known.items() if value}}


def _mcp(tool: HostedMCPTool) -> JsonObject:
    headers = dict(tool.headers or {})
    if tool.authorization:
        headers["Authorization"] = f"Bearer {tool.authorization}"
    transport: JsonObject = {"url": tool.server_url}
    if headers:
        transport["headers"] = headers
    return {"name": tool.server_label, "streamableHttpTransport": transport}
