"""`tools_by_name`: what a toolset has given, checked."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, cast

from agentsdk.define.agent import AgentTool
from agentsdk.define.tool import FunctionTool
from agentsdk.types.errors import ToolsetError, UserError


def tools_by_name(toolset: str, given: Sequence[FunctionTool[Any]]) -> dict[str, FunctionTool[Any]]:
    """What a toolset of that name has given. Raises `ToolsetError` for what is no tool, `UserError` for two of one name."""
    if not isinstance(cast(object, given), Sequence) or isinstance(given, str | bytes):
        raise ToolsetError(f"toolset {toolset!r} gave a {type(given).__name__!r}, expected a list of tools")
    tools: dict[str, FunctionTool[Any]] = {}
    for tool in given:
        if not isinstance(cast(object, tool), FunctionTool):
            raise ToolsetError(
                f"toolset {toolset!r} offers a {type(tool).__name__!r}, expected tools; make them with @function_tool"
            )
        if isinstance(tool, AgentTool):
            raise ToolsetError(
                f"toolset {toolset!r} offers agent {tool.agent.name!r} as a tool, expected functions; give it to "
                "Agent(tools=...)"
            )
        if tool.name in tools:
            raise UserError(f"toolset {toolset!r} offers two tools named {tool.name!r}, expected unique names; rename one")
        tools[tool.name] = tool
    return tools
