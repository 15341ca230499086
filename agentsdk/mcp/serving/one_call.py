"""A call of a tool as a run: of an agent that makes this one call, and whose answer is its result.

So a tool that is called by a client has all that a tool has that is called by a model: checks, guardrails, approvals, retries,
effects, a record. No model is asked: the call stands in the run's input.
"""

from __future__ import annotations

from collections.abc import AsyncGenerator, Mapping
from typing import Any

import msgspec

from agentsdk.define.agent import Agent
from agentsdk.define.context import RunContextWrapper
from agentsdk.define.tool import FunctionTool
from agentsdk.define.tool_use import ToolResult, ToolsToFinalOutputResult
from agentsdk.ports.model import ModelRequest
from agentsdk.types.deltas import ModelStreamEvent, ResponseCompleted
from agentsdk.types.items import FunctionCall, Message
from agentsdk.types.response import ModelResponse
from agentsdk.types.usage import Usage


class _GivenCall:
    """A model that makes the call that stands in the input."""

    def __init__(self, tool: FunctionTool[Any]) -> None:
        self.name = "mcp-client"
        self._tool = tool

    async def stream(self, request: ModelRequest) -> AsyncGenerator[ModelStreamEvent, None]:
        """The call."""
        given = request.items[0]
        assert isinstance(given, Message) and isinstance(given.content, str)
        call = FunctionCall("call_1", self._tool.name, given.content, kind=self._tool.kind)
        yield ResponseCompleted(ModelResponse((call,), Usage(), "tool_calls"))


def agent_of_call(tool: FunctionTool[Any]) -> Agent[Any, Any]:
    """The agent whose run is one call of `tool`; the arguments, as JSON text, are its input."""
    return Agent(f"call of {tool.name}", tools=[tool], model=_GivenCall(tool), tool_use_behavior=_its_result)


def _its_result(context: RunContextWrapper[Any], results: list[ToolResult]) -> ToolsToFinalOutputResult:
    return ToolsToFinalOutputResult(True)


def input_of_call(arguments: Mapping[str, object]) -> str:
    """The input of such a run: the same text for the same arguments, in whatever order they came."""
    return msgspec.json.encode(arguments, order="deterministic").decode()
