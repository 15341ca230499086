"""The Model Context Protocol. What a name needs, the package `mcp` (the extra `mcp`) too, is imported on first use."""

from __future__ import annotations

from typing import TYPE_CHECKING

from agentsdk.types.lazy import lazy_names

if TYPE_CHECKING:
    from agentsdk.mcp.serving.options import MCPRequest, ServeOptions
    from agentsdk.mcp.serving.serve import asgi_app, serve

__all__ = ["MCPRequest", "ServeOptions", "asgi_app", "serve"]

if not TYPE_CHECKING:  # to a type checker it would say that every name is there, also a misspelt one
    __getattr__, __dir__ = lazy_names(
        __name__,
        {
            "agentsdk.mcp.serving.options": "MCPRequest ServeOptions",
            "agentsdk.mcp.serving.serve": "asgi_app serve",
        },
    )
