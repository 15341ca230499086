"""What a server says while it is connected: that its tools have changed, how far a call is, what it logs."""

from __future__ import annotations

import asyncio
import logging
from pathlib import Path

import pytest
from mcp.server.mcpserver import Context, MCPServer

from agentsdk import Agent, RunConfig, Runner
from agentsdk.mcp import MCPProgress, MCPServerInProcess, MCPServerStreamableHttp
from agentsdk.testing import ScriptedModel, call
from tests.mcp.misbehaving.servers.base import HANDSHAKE, MODERN, Message, Server, tool
from tests.mcp.misbehaving.servers.http_front import HttpFront, Request
from tests.mcp.servers import little

pytestmark = pytest.mark.anyio


async def test_a_changed_list_enters_at_the_next_turn() -> None:
    async with little(trusted=True) as server:
        model = ScriptedModel([call("echo", text="x"), call("change", text="Second."), call("echo", text="y"), "done"])
        await Runner.run(Agent[None, str](name="A", model=model, toolsets=[server]), "go")
    described = [{tool.name: tool.description for tool in request.tools}["mutable"] for request in model.requests]
    assert described == ["First.", "First.", "Second.", "Second."]


async def test_progress_is_in_the_stream() -> None:
    async with little() as server:
        agent = Agent[None, str](name="A", model=ScriptedModel([call("slow"), "done"]), toolsets=[server])
        stream = Runner.run_streamed(agent, "go")
        seen = [event.data async for event in stream.stream_events() if event.type == "tool_progress_stream_event"]
    assert seen == [MCPProgress("little", "slow", float(step), 3.0, f"step {step}") for step in (1, 2, 3)]


async def test_a_server_is_told_of_a_call_that_is_cancelled() -> None:
    async with little() as server:
        agent = Agent[None, str](name="A", model=ScriptedModel([call("hang"), "done"]), toolsets=[server])
        stream = Runner.run_streamed(agent, "go")
        async for event in stream.stream_events():
            if event.type == "tool_progress_stream_event":
                break
        await stream.aclose()
        again = Agent[None, str](name="A", model=ScriptedModel([call("echo", text="on"), "done"]), toolsets=[server])
        assert (await Runner.run(again, "go")).final_output == "done"
        assert server.health.connections == 1
    assert any(line.startswith("cancelled") for line in server.health.stderr)


async def test_a_modern_server_is_asked_to_tell_of_changes() -> None:
    official = MCPServer("shop")

    @official.tool()
    async def learn(ctx: Context) -> str:
        """Learn."""
        official.add_tool(later)
        await ctx.notify_tools_changed()
        return "learnt"

    def later() -> str:
        """Later."""
        return "late"

    async with MCPServerInProcess(official, trusted=True) as server:
        model = ScriptedModel([call("learn"), call("later"), "done"])
        await Runner.run(Agent[None, str](name="A", model=model, toolsets=[server]), "go")
    assert [[tool.name for tool in request.tools] for request in model.requests] == [
        ["learn"],
        ["learn", "later"],
        ["learn", "later"],
    ]


class Fresh(Server):
    """Says how many milliseconds its list holds."""

    says = 0

    def on_list(self, message: Message) -> None:
        self.answer(message, {"tools": self.tools, "ttlMs": self.says})


@pytest.mark.parametrize(
    ("era", "says", "lists"), [(MODERN, 0, 3), (MODERN, 3_600_000, 1), (HANDSHAKE, 0, 1)], ids=["never", "an hour", "handshake"]
)
async def test_a_list_holds_for_as_long_as_a_modern_server_says(era: str, says: int, lists: int, tmp_path: Path) -> None:
    """In the handshake era a server says nothing of that, only that its list has changed."""
    front = HttpFront(era, str(tmp_path / "journal"), type("Saying", (Fresh,), {"says": says}))
    async with MCPServerStreamableHttp({"url": await front.start()}, name="fresh", trusted=True) as server:
        model = ScriptedModel([call("ping"), call("ping"), "done"])
        await Runner.run(Agent[None, str](name="A", model=model, toolsets=[server]), "go")
    await front.stop()
    assert front.inner.count("tools/list") == lists


class Held(HttpFront):
    """Lists another version of its tool each time; its first answer is on its way until `arrives` is set."""

    def __init__(self, journal: Path) -> None:
        super().__init__(HANDSHAKE, str(journal))
        self.lists = 0
        self.listed, self.arrives = asyncio.Event(), asyncio.Event()

    async def post(self, request: Request, out: asyncio.StreamWriter) -> None:
        if request.method != "tools/list":
            return await super().post(request, out)
        self.lists += 1
        self.inner.tools = [tool(description=f"version {self.lists}")]
        answers = self.handled(request.message)
        self.listed.set()
        if self.lists == 1:
            await self.arrives.wait()
        return await self.messages(request, answers, out)


async def test_a_list_that_is_under_way_when_the_tools_are_to_be_listed_anew(tmp_path: Path) -> None:
    front = Held(tmp_path / "journal")
    async with MCPServerStreamableHttp({"url": await front.start()}, name="held", trusted=True) as server:
        first = asyncio.create_task(server.list_tools())
        await front.listed.wait()
        server.invalidate_tools_cache()
        async with asyncio.timeout(60):
            second = await server.list_tools()
        front.arrives.set()
        third = await server.list_tools()
        versions = [tools[0].description for tools in (await first, second, third)]
    await front.stop()
    assert versions == ["version 1", "version 2", "version 2"]
    assert front.lists == 2


def warned(caplog: pytest.LogCaptureFixture, what: str) -> int:
    return sum(what in entry.getMessage() for entry in caplog.records if entry.name == "agentsdk.mcp")


async def test_what_is_left_out_is_said_once(caplog: pytest.LogCaptureFixture) -> None:
    async with little(env={"DEEP": "30"}, cache_tools_list=False) as server:
        model = ScriptedModel([call("echo", text="x"), call("echo", text="y"), "done"])
        await Runner.run(
            Agent[None, str](name="A", model=model, toolsets=[server]), "go", run_config=RunConfig(after_untrusted="allow")
        )
        health = server.health
    assert warned(caplog, "was left out: its schema nests more than 64 deep") == 30
    assert len(health.warnings) == 20 and health.tools == 46


async def test_a_server_that_writes_what_is_no_message_does_not_fill_the_log(caplog: pytest.LogCaptureFixture) -> None:
    async with little(env={"BANNER": "1000"}) as server:
        await server.list_tools()
        assert "starting 999" in server.health.warnings[-1]
    assert warned(caplog, "a line that is no message") == 200
    assert warned(caplog, "only server.health has what more there is") == 1


async def test_what_a_server_logs_goes_to_the_log(caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.DEBUG, logger="agentsdk.mcp"):
        async with little(log_level="warning") as server:
            agent = Agent[None, str](name="A", model=ScriptedModel([call("log"), "done"]), toolsets=[server])
            await Runner.run(agent, "go")
    logged = [(entry.levelname, entry.getMessage()) for entry in caplog.records if entry.name == "agentsdk.mcp"]
    assert logged == [("WARNING", "MCP server 'little': stock: low on\\nstock (asked for warning)")]
