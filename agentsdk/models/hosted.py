"""Hosted tools of a request that its provider does not have, and calls in a reply that nobody here can answer."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from importlib import import_module
from typing import TYPE_CHECKING

from agentsdk.types.errors import UnsupportedCallError, UserError
from agentsdk.types.hosted_tool import HostedTool
from agentsdk.types.spec import HandoffSpec, ToolSpec

if TYPE_CHECKING:
    from agentsdk.models.features import Features
    from agentsdk.types.hosted_tools import HostedMCPTool

_ADAPTERS = {
    "openai_responses": "the Responses API (OpenAIResponsesModel)",
    "anthropic": "Anthropic (AnthropicModel)",
    "google": "Google (GoogleModel)",
}


_BROUGHT_BY = {"ToolSearchTool": "the tool, defer_loading=True and SelectedToolset(by='provider')"}
"""What of an agent brings a tool to its requests, where it is not the tool alone."""


def check_hosted_tools(tools: Sequence[HostedTool], known: Mapping[str, Sequence[str]], api: str) -> None:
    """Raise `UserError` for a tool that `api` does not have, and for a setting that it does not take.

    `known` are the names of the tools that it has, each with the settings that it takes.
    """
    for tool in tools:
        name = type(tool).__name__
        if name not in known:
            raise UserError(
                f"{name} is not available with {api}, expected a provider that has it: {_with(name)}; use its model, or leave "
                f"{_BROUGHT_BY.get(name, 'the tool')} out"
            )
        for setting in tool.settings:
            if setting not in known[name]:
                raise UserError(
                    f"{name}({setting}=...) is not available with {api}, expected one of its settings there: "
                    f"{', '.join(known[name]) or 'none'}; leave it out"
                )


def _with(name: str) -> str:
    """The providers that have the tool."""
    having: list[str] = []
    for adapter, shown in _ADAPTERS.items():
        features: Features = import_module(f"agentsdk.models.{adapter}.features").FEATURES
        if name in features.hosted_tools:
            having.append(shown)
    return ", ".join(having) or "none"


def check_names(tools: Sequence[ToolSpec | HandoffSpec], taken: Mapping[str, str], api: str) -> None:
    """Raise `UserError` for a function named like one of the provider's own tools in the same request.

    `taken` are their names, each with what in the request brings it.
    """
    for tool in tools:
        if tool.name in taken and (isinstance(tool, HandoffSpec) or tool.kind == "function"):
            raise UserError(
                f"tool {tool.name!r} has the name of a tool of {api} that {taken[tool.name]} brings, expected another: their "
                "calls could not be told apart; rename it with name_override or tool_name_override"
            )


def require_no_approvals(server: HostedMCPTool, api: str) -> None:
    """Raise `UserError` for a server whose calls are to be approved: `api` asks for no approvals."""
    if server.require_approval != "never":
        raise UserError(
            f"HostedMCPTool(server_label={server.server_label!r}) is to ask before each call, and {api} never asks, expected "
            "require_approval='never', which lets the server's tools be called; say so, or use the Responses API"
        )


def mcp_secrets(tools: Sequence[HostedTool]) -> list[str]:
    """What a request tells of MCP servers that no error may repeat."""
    from agentsdk.types.hosted_tools import HostedMCPTool

    servers = [tool for tool in tools if isinstance(tool, HostedMCPTool)]
    return [secret for server in servers for secret in (server.authorization, *(server.headers or {}).values()) if secret]


def refuse_unanswered(kinds: Sequence[str]) -> None:
    """Raise `UnsupportedCallError` for calls of these kinds, if there are any. `kinds` are the provider's words for them."""
    if kinds:
        raise UnsupportedCallError(
            f"the model made a call of kind {kinds[0][:100]!r}, which the client would have to answer and the SDK cannot; no "
            "call of the reply was run: leave that tool out of extra_body, or set it up so that the provider runs it by itself",
            kind=kinds[0],
        )
