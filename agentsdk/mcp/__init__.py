"""The Model Context Protocol. What a name needs, the package `mcp` (the extra `mcp`) too, is imported on first use."""

from __future__ import annotations

from typing import TYPE_CHECKING

from agentsdk.types.lazy import lazy_names

if TYPE_CHECKING:
    from agentsdk.mcp.health import MCPHealth, MCPState
    from agentsdk.mcp.in_process import MCPServerInProcess
    from agentsdk.mcp.options import MCPServerOptions, RequireApproval, ToolFilter
    from agentsdk.mcp.server import MCPProgress, MCPServer
    from agentsdk.mcp.serving.options import MCPRequest, ServeOptions
    from agentsdk.mcp.serving.serve import asgi_app, serve
    from agentsdk.mcp.stdio import MCPServerStdio, MCPServerStdioParams
    from agentsdk.mcp.streamable_http import MCPServerStreamableHttp, MCPServerStreamableHttpParams, RunHeaders
    from agentsdk.ports.mcp import MCPElicitation, MCPPrompt, MCPResource

__all__ = [
    "MCPElicitation",
    "MCPHealth",
    "MCPProgress",
    "MCPPrompt",
    "MCPRequest",
    "MCPResource",
    "MCPServer",
    "MCPServerInProcess",
    "MCPServerOptions",
    "MCPServerStdio",
    "MCPServerStdioParams",
    "MCPServerStreamableHttp",
    "MCPServerStreamableHttpParams",
    "MCPState",
    "RequireApproval",
    "RunHeaders",
    "ServeOptions",
    "ToolFilter",
    "asgi_app",
    "serve",
]

if not TYPE_CHECKING:  # to a type checker it would say that every name is there, also a misspelt one
    __getattr__, __dir__ = lazy_names(
        __name__,
        {
            "agentsdk.mcp.health": "MCPHealth MCPState",
            "agentsdk.mcp.in_process": "MCPServerInProcess",
            "agentsdk.mcp.options": "MCPServerOptions RequireApproval ToolFilter",
            "agentsdk.mcp.server": "MCPProgress MCPServer",
            "agentsdk.mcp.serving.options": "MCPRequest ServeOptions",
            "agentsdk.mcp.serving.serve": "asgi_app serve",
            "agentsdk.ports.mcp": "MCPElicitation MCPPrompt MCPResource",
            "agentsdk.mcp.stdio": "MCPServerStdio MCPServerStdioParams",
            "agentsdk.mcp.streamable_http": "MCPServerStreamableHttp MCPServerStreamableHttpParams RunHeaders",
        },
    )
