"""`python -m agentsdk mcp`: a process of its own, driven by the official client over its stdin and stdout."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import mcp_types as wire
import pytest
from mcp import Client, StdioServerParameters

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


def test_what_is_no_message_is_left_out_and_the_server_goes_on() -> None:
    """Written by hand: no client sends this."""
    opening = {"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": {"name": "raw", "version": "1"}}
    lines = [
        b"no json at all",
        b"\xff\xfe{}",
        b"[]",
        json.dumps({"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": opening}).encode(),
        b'{"jsonrpc": "2.0", "id": 2, "method": ',
        json.dumps({"jsonrpc": "2.0", "id": 3, "method": "tools/list"}).encode(),
    ]
    process = subprocess.Popen(
        command("tools"), cwd=ROOT, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE
    )
    with process:
        assert process.stdin is not None and process.stdout is not None
        process.stdin.write(b"\n".join(lines) + b"\n")
        process.stdin.flush()
        answers = {}
        while 3 not in answers:
            answer = json.loads(process.stdout.readline())
            answers[answer["id"]] = answer
        process.stdin.close()
        assert process.wait(30) == 0
    assert answers[3]["result"]["tools"][0]["name"] == "add"


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
