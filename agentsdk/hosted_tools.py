"""Tools that a model's provider runs itself, and what they did: see the page on hosted tools."""

from __future__ import annotations

from agentsdk.types.hosted_results import HostedToolUse, Source
from agentsdk.types.hosted_tool import HostedTool
from agentsdk.types.hosted_tools import (
    CodeInterpreterTool,
    FileSearchTool,
    HostedMCPTool,
    ImageGenerationTool,
    ToolSearchTool,
    UserLocation,
    WebFetchTool,
    WebSearchTool,
)

__all__ = [
    "CodeInterpreterTool",
    "FileSearchTool",
    "HostedMCPTool",
    "HostedTool",
    "HostedToolUse",
    "ImageGenerationTool",
    "Source",
    "ToolSearchTool",
    "UserLocation",
    "WebFetchTool",
    "WebSearchTool",
]
