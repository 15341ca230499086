"""pydantic-ai: an `MCPToolset` held open from the first run in which it can be opened."""

from __future__ import annotations

import asyncio
from contextlib import suppress
from typing import Any

from fastmcp.client.transports import StdioTransport, StreamableHttpTransport
from pydantic_ai import Agent, DeferredToolRequests, DeferredToolResults, ModelMessage, ModelResponse, TextPart, ToolCallPart
from pydantic_ai.mcp import MCPToolset
from pydantic_ai.messages import RetryPromptPart, ToolReturnPart
from pydantic_ai.models.function import AgentInfo, FunctionModel

from tests.mcp.misbehaving.play import NAME, Offered, Script, Target


class Contestant:
    """`tests.mcp.misbehaving.play.Contestant` for pydantic-ai."""

    def __init__(self) -> None:
        self.approval = False
        self._opening = asyncio.Lock()

    def server(self, target: Target) -> MCPToolset[Any]:
        self.approval = target.approval
        if target.url:
            transport: Any = StreamableHttpTransport(target.url, headers=dict(target.headers))
        else:
            # Kept alive, its default, a process is left behind by each row.
            transport = StdioTransport(target.command, list(target.args), env=dict(target.env), keep_alive=False)
        return MCPToolset(transport, id=NAME, init_timeout=target.timeout, read_timeout=target.timeout)

    async def run(self, server: MCPToolset[Any], script: Script) -> None:
        async with self._opening:
            if not server.is_running:
                await server.__aenter__()
        toolset = server.approval_required() if self.approval else server
        agent = Agent(model(script), toolsets=[toolset], output_type=[str, DeferredToolRequests])
        agent.tool_plain(plain)
        result = await agent.run("Go.")
        while isinstance(result.output, DeferredToolRequests):
            script.asked += len(result.output.approvals)
            approved = DeferredToolResults(approvals={call.tool_call_id: True for call in result.output.approvals})
            result = await agent.run(message_history=result.all_messages(), deferred_tool_results=approved)
        assert result.output == "done"

    async def close(self, server: MCPToolset[Any]) -> None:
        if server.is_running:
            await server.__aexit__(None, None, None)
        with suppress(AttributeError):
            await asyncio.wait_for(server.client.close(), 10)


def plain() -> str:
    """Works without a server."""
    return "pong"


def model(script: Script) -> FunctionModel:
    """A script as a model."""

    def answer(messages: list[ModelMessage], info: AgentInfo) -> ModelResponse:
        offered = [Offered(tool.name, tool.description or "", tool.parameters_json_schema) for tool in info.function_tools]
        parts = [part for part in messages[-1].parts if isinstance(part, ToolReturnPart | RetryPromptPart)]
        last = shown(parts[-1]) if parts else ""
        said = script.turn(offered, info.instructions or "", last)
        return ModelResponse(parts=[TextPart("done") if said is None else ToolCallPart(*said)])

    return FunctionModel(answer)


def shown(part: ToolReturnPart | RetryPromptPart) -> str:
    """A result as text."""
    return part.model_response() if isinstance(part, RetryPromptPart) else part.model_response_str()
