"""What declares a hosted tool is checked where it is given, and kept as it was given."""

from __future__ import annotations

from typing import Any

import pytest

from agentsdk.hosted_tools import (
    CodeInterpreterTool,
    FileSearchTool,
    HostedMCPTool,
    HostedTool,
    ImageGenerationTool,
    ToolSearchTool,
    UserLocation,
    WebFetchTool,
    WebSearchTool,
)
from agentsdk.types.errors import UserError

MCP = {"server_label": "docs", "server_url": "https://mcp.example.com"}


@pytest.mark.parametrize(
    ("kind", "given"),
    [
        (WebSearchTool, {"allowed_domains": "example.com"}),
        (WebSearchTool, {"allowed_domains": [""]}),
        (WebSearchTool, {"blocked_domains": [1]}),
        (WebSearchTool, {"user_location": {"country": "FR"}}),
        (WebSearchTool, {"max_uses": 0}),
        (WebSearchTool, {"max_uses": True}),
        (WebSearchTool, {"search_context_size": "huge"}),
        (UserLocation, {"country": 33}),
        (WebFetchTool, {"max_content_tokens": -1}),
        (WebFetchTool, {"citations": "yes"}),
        (FileSearchTool, {"vector_store_ids": "vs_1"}),
        (FileSearchTool, {"vector_store_ids": []}),
        (FileSearchTool, {"vector_store_ids": ["vs"], "max_num_results": 0}),
        (FileSearchTool, {"vector_store_ids": ["vs"], "filters": [1]}),
        (FileSearchTool, {"vector_store_ids": ["vs"], "score_threshold": 2}),
        (CodeInterpreterTool, {"container": None}),
        (CodeInterpreterTool, {"file_ids": "file_1"}),
        (CodeInterpreterTool, {"memory_limit": "2g"}),
        (ImageGenerationTool, {"quality": "best"}),
        (ImageGenerationTool, {"output_compression": -1}),
        (ImageGenerationTool, {"partial_images": 1.5}),
        (HostedMCPTool, {"server_url": "https://x", "server_label": ""}),
        (HostedMCPTool, {**MCP, "authorization": 1}),
        (HostedMCPTool, {**MCP, "headers": {"X-Key": 1}}),
        (HostedMCPTool, {**MCP, "allowed_tools": "search"}),
        (HostedMCPTool, {**MCP, "require_approval": "sometimes"}),
        (HostedMCPTool, {**MCP, "needs_approval": "yes"}),
        (ToolSearchTool, {"pinned": "read"}),
    ],
    ids=str,
)
def test_a_wrong_setting_is_refused_at_once(kind: Any, given: dict[str, Any]) -> None:
    with pytest.raises(UserError, match=list(given)[-1]):
        kind(**given)


@pytest.mark.parametrize(
    ("kind", "given", "said"),
    [
        (WebSearchTool, {"allowed_domains": ["a.org"], "blocked_domains": ["b.org"]}, "one of them"),
        (WebFetchTool, {"allowed_domains": ["a.org"], "blocked_domains": ["b.org"]}, "one of them"),
        (CodeInterpreterTool, {"container": "c", "file_ids": ["f"]}, "for a new one"),
        (CodeInterpreterTool, {"container": "c", "memory_limit": "4g"}, "for a new one"),
        (HostedMCPTool, {"server_label": "docs"}, "no server_url and no connector_id"),
        (HostedMCPTool, {**MCP, "connector_id": "connector_gmail"}, "a server_url and a connector_id"),
        (HostedMCPTool, {**MCP, "require_approval": "never", "approved_tools": ["a"]}, "leave out the others"),
        (HostedMCPTool, {**MCP, "require_approval": "never", "needs_approval": False}, "leave out the others"),
    ],
)
def test_settings_that_exclude_each_other_are_refused(kind: Any, given: dict[str, Any], said: str) -> None:
    with pytest.raises(UserError, match=said):
        kind(**given)


def test_lists_are_copied() -> None:
    domains, names = ["a.org"], ["search"]
    search = WebSearchTool(allowed_domains=domains)
    server = HostedMCPTool(server_label="docs", server_url="https://x", allowed_tools=names, approved_tools=names)
    domains.append("b.org")
    names.clear()
    assert search == WebSearchTool(allowed_domains=("a.org",))
    assert (server.allowed_tools, server.approved_tools) == (("search",), ("search",))


def test_what_was_given_is_told_without_secrets() -> None:
    server = HostedMCPTool(server_label="docs", server_url="https://x", authorization="canary-1", headers={"X-Key": "canary-2"})
    assert set(server.settings) == {"server_label", "server_url", "authorization", "headers"}
    assert server.declared == ("HostedMCPTool", {"server_label": "docs", "server_url": "https://x"})
    assert "canary" not in repr(server)
    with pytest.raises(UserError) as caught:
        HostedMCPTool(server_label="docs", server_url="https://x", authorization=["canary-3"])  # type: ignore[arg-type]
    assert "canary" not in str(caught.value)


def test_their_names() -> None:
    tools: list[HostedTool] = [
        WebSearchTool(max_uses=1),
        FileSearchTool(vector_store_ids=["vs"]),
        CodeInterpreterTool(),
        ToolSearchTool(),
        HostedMCPTool(server_label="docs", server_url="https://x"),
    ]
    assert [tool.name for tool in tools] == ["web_search", "file_search", "code_interpreter", "tool_search", "mcp:docs"]
