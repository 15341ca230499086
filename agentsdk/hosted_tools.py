"""Tools that a model's provider runs itself, and what they did: see the page on hosted tools."""

from __future__ import annotations

from typing import TYPE_CHECKING

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
from agentsdk.types.lazy import lazy_names

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

if not TYPE_CHECKING:  # to a type checker it would say that every name is there, also a misspelt one
    __getattr__, __dir__ = lazy_names(__name__)  # a name that is elsewhere says where
