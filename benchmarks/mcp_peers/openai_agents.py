"""openai-agents: a server held by its `MCPServerManager`, which leaves it out where it fails and reconnects it before a run."""

from __future__ import annotations

import asyncio
from typing import Any

from agents import Agent, Model, ModelResponse, RunConfig, Runner, Usage, function_tool, set_tracing_disabled
from agents.mcp import MCPServerManager, MCPServerStdio, MCPServerStreamableHttp
from openai.types.responses import ResponseFunctionToolCall, ResponseOutputMessage, ResponseOutputText

from tests.mcp.misbehaving.play import NAME, Offered, Script, Target

set_tracing_disabled(True)
CONFIG = RunConfig(tracing_disabled=True)


@function_tool
def plain() -> str:
    """Works without a server."""
    return "pong"


class Contestant:
    """`tests.mcp.misbehaving.play.Contestant` for openai-agents."""

    def __init__(self) -> None:
        self._opening = asyncio.Lock()

    def server(self, target: Target) -> MCPServerManager:
        options: dict[str, Any] = {"name": NAME, "client_session_timeout_seconds": target.timeout, "cache_tools_list": False}
        if target.approval:
            options["require_approval"] = "always"
        if target.url:
            server: Any = MCPServerStreamableHttp({"url": target.url, "headers": dict(target.headers)}, **options)
        else:
            server = MCPServerStdio({"command": target.command, "args": list(target.args), "env": dict(target.env)}, **options)
        return MCPServerManager([server], connect_in_parallel=True)

    async def run(self, server: MCPServerManager, script: Script) -> None:
        async with self._opening:
            await server.reconnect(failed_only=bool(server._connected_servers))
        agent = Agent(
            name="tester", instructions="", model=ScriptModel(script), tools=[plain], mcp_servers=server.active_servers
        )
        result = await Runner.run(agent, "Go.", run_config=CONFIG, max_turns=20)
        while result.interruptions:
            state = result.to_state()
            for item in result.interruptions:
                script.asked += 1
                state.approve(item)
            result = await Runner.run(agent, state, run_config=CONFIG, max_turns=20)
        assert result.final_output == "done"

    async def close(self, server: MCPServerManager) -> None:
        await server.cleanup_all()


class ScriptModel(Model):
    """A script as a model."""

    def __init__(self, script: Script) -> None:
        self.script = script
        self.calls = 0

    async def get_response(
        self, system_instructions: Any, input: Any, model_settings: Any, tools: Any, *args: Any, **kwargs: Any
    ) -> ModelResponse:
        offered = [Offered(tool.name, tool.description, tool.params_json_schema) for tool in tools]
        last = (
            ""
            if isinstance(input, str)
            else next((shown(item["output"]) for item in reversed(input) if item.get("type") == "function_call_output"), "")
        )
        said = self.script.turn(offered, system_instructions or "", last)
        if said is None:
            text = ResponseOutputText(text="done", type="output_text", annotations=[])
            output: Any = ResponseOutputMessage(id="msg", role="assistant", status="completed", type="message", content=[text])
        else:
            self.calls += 1
            number = f"call_{self.calls}"
            output = ResponseFunctionToolCall(id=number, call_id=number, name=said[0], arguments=said[1], type="function_call")
        return ModelResponse(output=[output], usage=Usage(requests=1), response_id=None)

    def stream_response(self, *args: Any, **kwargs: Any) -> Any:
        raise NotImplementedError


def shown(output: Any) -> str:
    """A result as text."""
    if isinstance(output, str):
        return output
    return " ".join(part.get("text") or f"[{part.get('type')}]" for part in output)
