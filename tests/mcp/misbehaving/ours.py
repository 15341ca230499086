"""agentsdk as a contestant of the rows: an agent with the server as a toolset."""

from __future__ import annotations

from typing import Any

from agentsdk import Agent, FunctionCall, FunctionCallOutput, RunConfig, Runner, ToolAnswerItem, function_tool
from agentsdk.mcp import MCPServerStdio, MCPServerStreamableHttp
from agentsdk.ports.model import ModelRequest
from agentsdk.testing import ScriptedModel
from agentsdk.types.items import InputText
from agentsdk.types.spec import ToolSpec
from tests.mcp.misbehaving.play import NAME, Offered, Script, Target

Server = MCPServerStdio | MCPServerStreamableHttp


@function_tool(effect="none")
def plain() -> str:
    """Works without a server."""
    return "pong"


class Contestant:
    """`play.Contestant` for agentsdk. A server is opened by the first run that has it."""

    def server(self, target: Target) -> Server:
        options: dict[str, Any] = {
            "client_session_timeout_seconds": target.timeout,
            "connect_timeout_seconds": target.timeout,
            "trusted": target.trusted,
        }
        if target.approval:
            options["require_approval"] = "always"
        if target.url:
            return MCPServerStreamableHttp({"url": target.url, "headers": dict(target.headers)}, name=NAME, **options)
        params: Any = {"command": target.command, "args": list(target.args), "env": dict(target.env)}
        return MCPServerStdio(params, name=NAME, **options)

    async def run(self, server: Server, script: Script) -> None:
        model = ScriptedModel([lambda request: reply(script, request)] * 20)
        agent = Agent(name="tester", model=model, tools=[plain], toolsets=[server])
        result = await Runner.run(agent, "Go.", run_config=RunConfig(after_untrusted="allow"))
        while result.interruptions:
            state = result.to_state()
            for item in result.interruptions:
                if isinstance(item, ToolAnswerItem):  # the server's own question
                    state.answer(item, None)
                else:
                    script.asked += 1
                    state.approve(item)
            result = await Runner.run(agent, state, run_config=RunConfig(after_untrusted="allow"))
        assert result.final_output == "done"

    async def close(self, server: Server) -> None:
        await server.aclose()


def reply(script: Script, request: ModelRequest) -> str | FunctionCall:
    """What the script says to a request."""
    offered = [Offered(spec.name, spec.description, spec.parameters) for spec in request.tools if isinstance(spec, ToolSpec)]
    results = [item for item in request.all_items if isinstance(item, FunctionCallOutput)]
    said = script.turn(offered, request.instructions, shown(results[-1]) if results else "")
    return "done" if said is None else FunctionCall("", *said)


def shown(result: FunctionCallOutput) -> str:
    """A result as text; of other parts their kinds."""
    if isinstance(result.output, str):
        return result.output
    return " ".join(part.text if isinstance(part, InputText) else f"[{part.type}]" for part in result.output)
