"""Seven servers that others have written: each starts, lists, is called, fails and is closed; one over HTTP too."""

from __future__ import annotations

import asyncio
import os
import socket
import subprocess
from pathlib import Path
from typing import Any

import pytest

from agentsdk import Agent, Runner
from agentsdk.items import InputImage
from agentsdk.mcp import MCPProgress, MCPServer, MCPServerStreamableHttp
from agentsdk.testing import ScriptedModel, call
from tests.mcp.servers import npm_command, of_npm, of_pypi

pytestmark = pytest.mark.anyio


async def outputs(server: MCPServer, *calls: Any) -> list[Any]:
    """What calls of a server's tools give, in runs with the hints of the server."""
    found: list[Any] = []
    for one in calls:
        agent = Agent[None, str](name="A", model=ScriptedModel([one, "done"]), toolsets=[server])
        result = await Runner.run(agent, "go")
        found += [item.output for item in result.new_items if item.type == "tool_call_output_item"]
    assert server.health.connections == 1
    return found


async def test_time() -> None:
    async with of_pypi("time") as server:
        right, wrong = await outputs(
            server,
            call("convert_time", source_timezone="UTC", time="12:00", target_timezone="Asia/Tokyo"),
            call("convert_time", source_timezone="Nowhere", time="12:00", target_timezone="UTC"),
        )
        assert server.health.tools == 2
    assert "T21:00:00+09:00" in right and wrong.startswith("Error: ")


async def test_git(tmp_path: Path) -> None:
    subprocess.run(["git", "init", "-q", "-b", "main"], cwd=tmp_path, check=True)
    (tmp_path / "a.txt").write_text("a\n")
    async with of_pypi("git") as server:
        status, wrong = await outputs(
            server, call("git_status", repo_path=str(tmp_path)), call("git_status", repo_path=str(tmp_path / "none"))
        )
        assert server.health.tools >= 12
    assert "a.txt" in status and wrong.startswith("Error: ")


async def test_fetch() -> None:
    async with of_pypi("fetch") as server:
        [refused] = await outputs(server, call("fetch", url="http://127.0.0.1:9/"))
        assert server.health.tools == 1
    assert refused.startswith("Error: ")


async def test_filesystem(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text("Hello.\n")
    async with of_npm("filesystem", str(tmp_path), trusted=True) as server:
        read, outside = await outputs(
            server,
            call("read_text_file", path=str(tmp_path / "a.txt")),
            call("read_text_file", path="/etc/hostname"),
        )
        effects = {tool.name: tool.effect for tool in await server.list_tools()}
    assert read == "Hello.\n" and outside.startswith("Error: ")
    assert effects["read_text_file"] == "none" and len(effects) == 14


async def test_memory(tmp_path: Path) -> None:
    entity = {"name": "Ada", "entityType": "person", "observations": ["owes 3"]}
    async with of_npm("memory", env={"MEMORY_FILE_PATH": str(tmp_path / "memory.json")}) as server:
        _, found, wrong = await outputs(
            server, call("create_entities", entities=[entity]), call("search_nodes", query="Ada"), call("open_nodes", names=3)
        )
        assert server.health.tools == 9
    assert "owes 3" in found and "names: expected an array" in wrong


async def test_sequential_thinking() -> None:
    async with of_npm("sequential-thinking") as server:
        thought, wrong = await outputs(
            server,
            call("sequentialthinking", thought="First.", nextThoughtNeeded=True, thoughtNumber=1, totalThoughts=2),
            call("sequentialthinking", thought="First."),
        )
    assert '"thoughtNumber": 1' in thought and "thoughtNumber: missing" in wrong


async def exercise_everything(server: MCPServer) -> None:
    echoed, image, misfit = await outputs(
        server, call("echo", message="hi"), call("get-tiny-image"), call("get-sum", a="one", b=2)
    )
    assert echoed == "Echo: hi"
    assert any(isinstance(part, InputImage) for part in image)
    assert "a: expected a number" in misfit
    model = ScriptedModel([call("trigger-long-running-operation", duration=0.2, steps=2), "done"])
    stream = Runner.run_streamed(Agent[None, str](name="A", model=model, toolsets=[server]), "go")
    told = [event.data async for event in stream.stream_events() if event.type == "tool_progress_stream_event"]
    assert [(step.progress, step.total) for step in told if isinstance(step, MCPProgress)] == [(1, 2), (2, 2)]


async def test_everything() -> None:
    async with of_npm("everything") as server:
        await exercise_everything(server)


async def test_everything_over_http() -> None:
    command = npm_command("everything")
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    pipe = asyncio.subprocess.PIPE
    env = {**os.environ, "PORT": str(port)}
    process = await asyncio.create_subprocess_exec(*command, "streamableHttp", env=env, stdout=pipe, stderr=pipe)
    try:
        assert process.stderr is not None
        while b"listening" not in (line := await process.stderr.readline()):
            assert line, "it has left"
        async with MCPServerStreamableHttp({"url": f"http://127.0.0.1:{port}/mcp"}, name="everything") as server:
            await exercise_everything(server)
    finally:
        process.kill()
        await process.communicate()
