"""Tools, what their bodies are given and return, and what becomes of their results."""

from __future__ import annotations

from agentsdk.define.agent import AgentTool
from agentsdk.define.ask_user import ask_user
from agentsdk.define.context import ToolContext
from agentsdk.define.function_tool import function_tool, tool
from agentsdk.define.read_result import read_result
from agentsdk.define.tool import FunctionTool
from agentsdk.define.tool_options import default_tool_error_function
from agentsdk.define.tool_output import ToolOutputFileContent, ToolOutputImage, ToolOutputText, to_output
from agentsdk.define.tool_use import StopAtTools, ToolResult, ToolsToFinalOutputResult

__all__ = [
    "AgentTool",
    "FunctionTool",
    "StopAtTools",
    "ToolContext",
    "ToolOutputFileContent",
    "ToolOutputImage",
    "ToolOutputText",
    "ToolResult",
    "ToolsToFinalOutputResult",
    "ask_user",
    "default_tool_error_function",
    "function_tool",
    "read_result",
    "to_output",
    "tool",
]
