"""Toolsets: tools that are found when a turn begins. What chooses among many is imported on first use."""

from __future__ import annotations

from typing import TYPE_CHECKING

from agentsdk.types.lazy import lazy_names

if TYPE_CHECKING:
    from agentsdk.define.toolset import CombinedToolset, PrepareTool, ToolRule, Toolset, ToolsetContext
    from agentsdk.toolsets.registry import ToolRegistry, ToolSummary
    from agentsdk.toolsets.requests import latest_request
    from agentsdk.toolsets.selection import SelectedToolset, ToolQuery
    from agentsdk.toolsets.skill import Skill
    from agentsdk.toolsets.skills import SkillsToolset

__all__ = [
    "CombinedToolset",
    "PrepareTool",
    "SelectedToolset",
    "Skill",
    "SkillsToolset",
    "ToolQuery",
    "ToolRegistry",
    "ToolRule",
    "ToolSummary",
    "Toolset",
    "ToolsetContext",
    "latest_request",
]

if not TYPE_CHECKING:  # to a type checker it would say that every name is there, also a misspelt one
    __getattr__, __dir__ = lazy_names(
        __name__,
        {
            "agentsdk.define.toolset": "CombinedToolset PrepareTool ToolRule Toolset ToolsetContext",
            "agentsdk.toolsets.registry": "ToolRegistry ToolSummary",
            "agentsdk.toolsets.requests": "latest_request",
            "agentsdk.toolsets.selection": "SelectedToolset ToolQuery",
            "agentsdk.toolsets.skill": "Skill",
            "agentsdk.toolsets.skills": "SkillsToolset",
        },
    )
