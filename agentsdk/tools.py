"""Tools, what their bodies are given and return, and what becomes of their results."""

from __future__ import annotations

from typing import TYPE_CHECKING

from agentsdk.define.agent import AgentTool
from agentsdk.define.context import ToolContext
from agentsdk.define.function_tool import function_tool, tool
from agentsdk.define.read_result import read_result
from agentsdk.define.tool import FunctionTool
from agentsdk.define.tool_options import ToolCheck, ToolResource, default_tool_error_function
from agentsdk.define.tool_output import ToolOutputFileContent, ToolOutputImage, ToolOutputText, to_output
from agentsdk.define.tool_use import StopAtTools, ToolResult, ToolsToFinalOutputResult
from agentsdk.types.lazy import lazy_names
from agentsdk.types.settings import ToolRetrySettings

if TYPE_CHECKING:
    from agentsdk.core.read_only import is_read_only
    from agentsdk.define.answer_needed import AnswerNeededError, GivenAnswer
    from agentsdk.define.ask_user import ask_user
    from agentsdk.define.custom_tool import Grammar, custom_tool
    from agentsdk.local_tools.apply_patch import ApplyPatchTool
    from agentsdk.local_tools.chromium import ChromiumBrowser
    from agentsdk.local_tools.code import CodeTool
    from agentsdk.local_tools.computer import ComputerTool
    from agentsdk.local_tools.files import file_tools
    from agentsdk.local_tools.memory import MemoryTool
    from agentsdk.local_tools.python import PythonTool
    from agentsdk.local_tools.search_engines import BraveSearch, TavilySearch, TextSearch
    from agentsdk.local_tools.shell import ShellTool
    from agentsdk.local_tools.text_editor import TextEditorTool
    from agentsdk.local_tools.web_fetch import web_fetch
    from agentsdk.local_tools.web_search import web_search
    from agentsdk.ports.computer import Browser, Computer
    from agentsdk.ports.web_search import SearchEngine, SearchResult

__all__ = [
    "AgentTool",
    "AnswerNeededError",
    "ApplyPatchTool",
    "BraveSearch",
    "Browser",
    "ChromiumBrowser",
    "CodeTool",
    "Computer",
    "ComputerTool",
    "FunctionTool",
    "GivenAnswer",
    "Grammar",
    "MemoryTool",
    "PythonTool",
    "SearchEngine",
    "SearchResult",
    "ShellTool",
    "StopAtTools",
    "TavilySearch",
    "TextEditorTool",
    "TextSearch",
    "ToolCheck",
    "ToolContext",
    "ToolOutputFileContent",
    "ToolOutputImage",
    "ToolOutputText",
    "ToolResource",
    "ToolResult",
    "ToolRetrySettings",
    "ToolsToFinalOutputResult",
    "ask_user",
    "custom_tool",
    "default_tool_error_function",
    "file_tools",
    "function_tool",
    "is_read_only",
    "read_result",
    "to_output",
    "tool",
    "web_fetch",
    "web_search",
]

if not TYPE_CHECKING:  # to a type checker it would say that every name is there, also a misspelt one
    __getattr__, __dir__ = lazy_names(
        __name__,
        {
            "agentsdk.core.read_only": "is_read_only",
            "agentsdk.define.answer_needed": "AnswerNeededError GivenAnswer",
            "agentsdk.define.ask_user": "ask_user",
            "agentsdk.define.custom_tool": "Grammar custom_tool",
            "agentsdk.local_tools.apply_patch": "ApplyPatchTool",
            "agentsdk.local_tools.code": "CodeTool",
            "agentsdk.local_tools.chromium": "ChromiumBrowser",
            "agentsdk.local_tools.computer": "ComputerTool",
            "agentsdk.local_tools.files": "file_tools",
            "agentsdk.local_tools.memory": "MemoryTool",
            "agentsdk.local_tools.python": "PythonTool",
            "agentsdk.local_tools.search_engines": "BraveSearch TavilySearch TextSearch",
            "agentsdk.local_tools.shell": "ShellTool",
            "agentsdk.local_tools.text_editor": "TextEditorTool",
            "agentsdk.local_tools.web_fetch": "web_fetch",
            "agentsdk.local_tools.web_search": "web_search",
            "agentsdk.ports.computer": "Browser Computer",
            "agentsdk.ports.web_search": "SearchEngine SearchResult",
        },
    )
