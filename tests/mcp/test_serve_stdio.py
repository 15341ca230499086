"""`python -m agentsdk mcp`: a process of its own, driven by the official client over its stdin and stdout."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import AsyncGenerator, Iterator
from contextlib import asynccontextmanager, contextmanager
from pathlib import Path
from typing import Any

import mcp_types as wire
import pytest
from mcp import Client, StdioServerParameters

from agentsdk import Agent, Runner, ToolCallOutputItem
from agentsdk.mcp import MCPServerStdio
from agentsdk.testing import ScriptedModel, call

ROOT = Path(__file__).parents[2]
pytestmark = pytest.mark.anyio
both = pytest.mark.parametrize("era", ["legacy", "auto"])  # 2025-11-25 and 2026-07-28


def command(thing: str, *options: str) -> list[str]:
    return [sys.executable, "-m", "agentsdk", "mcp", f"tests.mcp.served:{thing}", *options]


@asynccontextmanager
async def connected(thing: str, era: str, *options: str, **client: Any) -> AsyncGenerator[Client, None]:
    program, *arguments = command(thing, *options)
    environment = {"PYTHONPATH": str(ROOT), **{name: value for name, value in os.environ.items() if name.startswith("MCP_")}}
    server = StdioServerParameters(command=program, args=arguments, cwd=ROOT, env=environment)
    async with Client(server, mode=era, cache=None, **client) as one:
        yield one


def text(result: wire.CallToolResult) -> str:
    (block,) = result.content
    assert isinstance(block, wire.TextContent)
    return block.text


@both
async def test_an_agent_and_its_approval_over_stdio(era: str) -> None:
    async def approve(context: Any, params: Any) -> wire.ElicitResult:
        return wire.ElicitResult(action="accept", content={"approve": True})

    async with connected("clerk", era, elicitation_callback=approve) as client:
        assert client.protocol_version == {"legacy": "2025-11-25", "auto": "2026-07-28"}[era]
        assert [tool.name for tool in (await client.list_tools()).tools] == ["Clerk"]
        assert text(await client.call_tool("Clerk", {"input": "Pay order 1 back."})) == "Your money is on its way."


@both
async def test_progress_is_what_the_tool_emits(era: str) -> None:
    told: list[tuple[float, str | None]] = []

    async def on_progress(progress: float, total: float | None, message: str | None) -> None:
        told.append((progress, message))

    async with connected("tools", era) as client:
        await client.call_tool("weather", {"city": "Rome"}, progress_callback=on_progress)
    assert told == [(1, "looking"), (2, '{"found":"Rome"}')]


async def test_our_own_client_has_the_effects_and_the_types_back() -> None:
    program, *arguments = command("tools")
    params: Any = {"command": program, "args": arguments, "env": {"PYTHONPATH": str(ROOT)}, "cwd": str(ROOT)}
    asked = [[call("add", a=1, b=2), call("weather", city="Rome"), call("refund", order=1), call("add", a=1, b="x")]]
    async with MCPServerStdio(params, name="shop", trusted=True) as shop:
        model = ScriptedModel([*asked, "Done."])
        result = await Runner.run(Agent("Buyer", model=model, toolsets=[shop]), "Go.")
        assert [item.tool_name for item in result.interruptions] == ["refund"]  # its destructiveHint
        outputs = {item.raw_item.call_id: item for item in result.new_items if isinstance(item, ToolCallOutputItem)}
    assert outputs["call_1_1"].output == "3" and '"degrees":24' in str(outputs["call_1_2"].output)
    assert outputs["call_1_4"].raw_item.is_error


@contextmanager
def process(thing: str, *options: str, **environment: str) -> Iterator[subprocess.Popen[bytes]]:
    """The server, for messages written by hand: no client sends these."""
    given = {**os.environ, **environment}
    with subprocess.Popen(
        command(thing, *options), cwd=ROOT, env=given, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE
    ) as started:
        try:
            yield started
        finally:
            started.kill()


def send(to: subprocess.Popen[bytes], *messages: bytes | dict[str, Any]) -> None:
    assert to.stdin is not None
    for message in messages:
        line = message if isinstance(message, bytes) else json.dumps({"jsonrpc": "2.0", **message}).encode()
        to.stdin.write(line + b"\n")
    to.stdin.flush()


def answers(of: subprocess.Popen[bytes], number: int) -> list[dict[str, Any]]:
    assert of.stdout is not None
    return [json.loads(of.stdout.readline()) for _ in range(number)]


HELLO: dict[str, Any] = {
    "id": 1,
    "method": "initialize",
    "params": {"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": {"name": "raw", "version": "1"}},
}


def test_what_is_no_message_is_answered_as_json_rpc_has_it_and_the_server_goes_on() -> None:
    with process("tools") as server:
        send(server, HELLO)
        assert answers(server, 1)[0]["result"]["serverInfo"]["name"] == "agentsdk"
        bad = [
            b"no json at all",
            b"\xff\xfe{}",
            b"[]",
            b'{"id": 5, "method": 7}',
            b'{"jsonrpc": "2.0", "id": 2, "meth',
            b"",
            b" ",
        ]
        send(server, *bad, b'"' + b"x" * 9_000_000 + b'"', {"id": 3, "method": "tools/list"})
        refused = answers(server, 6)
        assert [answer["error"]["code"] for answer in refused] == [-32700, -32700, -32600, -32600, -32700, -32600]
        assert [answer["id"] for answer in refused] == [None, None, None, 5, None, None]
        assert "longer than 8388608 bytes" in refused[-1]["error"]["message"]
        assert answers(server, 1)[0]["result"]["tools"][0]["name"] == "add"
        assert server.stdin is not None
        server.stdin.close()
        assert server.wait(30) == 0


def test_two_requests_of_one_id_are_both_answered() -> None:
    called = {"id": 2, "method": "tools/call", "params": {"name": "add", "arguments": {"a": 1, "b": 2}}}
    with process("tools") as server:
        send(server, HELLO, called, called)
        assert [answer["id"] for answer in answers(server, 3)] == [1, 2, 2]


def test_what_a_tool_prints_is_not_taken_for_a_message() -> None:
    called = {"id": 2, "method": "tools/call", "params": {"name": "chatty", "arguments": {}}}
    with process("chatty") as server:
        send(server, HELLO, called)
        assert answers(server, 2)[1]["result"]["content"][0]["text"] == "read ''"


@pytest.mark.parametrize("end", ["eof", "SIGTERM", "SIGINT"])
def test_a_server_that_ends_in_the_middle_of_a_call_winds_its_run_down(end: str, tmp_path: Path) -> None:
    """The run is handed back: the next server goes on at once, though the lease is long."""
    store = f"sqlite:{tmp_path}/runs.db"
    given = {"name": "Shop", "arguments": {"input": "Order 7.", "run_id": "order-7"}}
    called = {"id": 2, "method": "tools/call", "params": given}
    journal = tmp_path / "journal"
    with process("shop", "--store", store, "--lease", "300", MCP_JOURNAL=str(journal), MCP_HANGS="1") as server:
        send(server, HELLO, called)
        while "shipping 7" not in (journal.read_text(encoding="utf-8") if journal.exists() else ""):
            assert server.poll() is None
            time.sleep(0.02)
        if end == "eof":
            assert server.stdin is not None
            server.stdin.close()
        else:
            server.send_signal(getattr(signal, end))
        assert server.wait(30) == 0
    with process("shop", "--store", store, MCP_JOURNAL=str(journal)) as server:
        send(server, HELLO, called)
        assert answers(server, 2)[1]["result"]["content"][0]["text"] == "All done."
    assert journal.read_text(encoding="utf-8").splitlines() == ["paid 7", "shipping 7", "shipping 7"]


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (["tests.mcp.served:nothing"], "has no 'nothing'"),
        (["tests.mcp.served:journal"], "a 'function' is to be served, expected an Agent"),
        (["tests.mcp.served:clerk", "--http", "nowhere"], "http is 'nowhere', expected a host and a port"),
        (["tests.mcp.served:clerk", "--store", "mongo://x"], "--store has the scheme 'mongo'"),
        (["tests.mcp.served:clerk", "--config", "tests.mcp.served:clerk"], "is a 'Agent', expected a RunConfig"),
    ],
)
def test_a_wrong_argument_is_named(arguments: list[str], says: str) -> None:
    whole = [sys.executable, "-m", "agentsdk", "mcp", *arguments]
    outcome = subprocess.run(whole, cwd=ROOT, capture_output=True, text=True, timeout=60, check=False, stdin=subprocess.DEVNULL)
    assert outcome.returncode == 2 and outcome.stdout == ""
    assert says in outcome.stderr and "Traceback" not in outcome.stderr
