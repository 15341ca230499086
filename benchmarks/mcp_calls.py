"""`python -m benchmarks.mcp_calls`: what a call of an MCP tool costs beside the official package alone, and a long line.

The server is raw JSON-RPC over stdio. Each answers `CALLS` calls one after the other, in rounds that alternate; CPU is this
process's. The package's session is used in the task that opened it, which is the least that anybody pays who uses it, and by a
task that owns it, which is what a session needs that tasks share. A long line is a result of so many MB of text, in wall-clock
seconds.
"""

from __future__ import annotations

import asyncio
import statistics
import sys
import time

from mcp import ClientSession
from mcp.client.stdio import StdioServerParameters, stdio_client

from agentsdk import ToolContext
from agentsdk.mcp import MCPServerStdio

CALLS, ROUNDS, LENGTHS = 400, 5, (8, 16, 32)

SERVER = """
import json, sys
TOOL = {"name": "say", "description": "Say.", "inputSchema": {"type": "object", "properties": {"size": {"type": "integer"}}}}
for line in sys.stdin:
    asked = json.loads(line)
    if "id" not in asked:
        continue
    method, answer = asked["method"], {"jsonrpc": "2.0", "id": asked["id"]}
    if method == "initialize":
        version = asked["params"]["protocolVersion"]
        info = {"name": "s", "version": "1"}
        answer["result"] = {"protocolVersion": version, "capabilities": {"tools": {}}, "serverInfo": info}
    elif method == "tools/list":
        answer["result"] = {"tools": [TOOL]}
    elif method == "tools/call":
        answer["result"] = {"content": [{"type": "text", "text": "a" * asked["params"]["arguments"]["size"]}]}
    else:
        answer["error"] = {"code": -32601, "message": "no such method"}
    print(json.dumps(answer), flush=True)
"""
COMMAND = {"command": sys.executable, "args": ["-c", SERVER]}


async def package(sizes: list[int]) -> tuple[float, float]:
    """CPU and wall-clock seconds that calls take with the official package alone."""
    async with stdio_client(StdioServerParameters.model_validate(COMMAND)) as streams, ClientSession(*streams) as session:
        await session.initialize()
        await session.call_tool("say", {"size": 1})
        cpu, wall = time.process_time(), time.perf_counter()
        for size in sizes:
            result = await session.call_tool("say", {"size": size})
            assert not result.is_error
        return time.process_time() - cpu, time.perf_counter() - wall


async def owned(sizes: list[int]) -> tuple[float, float]:
    """The same with the session in a task of its own, which is handed each call."""
    calls: asyncio.Queue[tuple[int, asyncio.Future[None]] | None] = asyncio.Queue()

    async def own() -> None:
        async with stdio_client(StdioServerParameters.model_validate(COMMAND)) as streams, ClientSession(*streams) as session:
            await session.initialize()
            while (call := await calls.get()) is not None:
                size, answered = call
                result = await session.call_tool("say", {"size": size})
                assert not result.is_error
                answered.set_result(None)

    async def call(size: int) -> None:
        answered: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        calls.put_nowait((size, answered))
        await answered

    async with asyncio.TaskGroup() as group:
        group.create_task(own())
        await call(1)
        cpu, wall = time.process_time(), time.perf_counter()
        for size in sizes:
            await call(size)
        took = time.process_time() - cpu, time.perf_counter() - wall
        calls.put_nowait(None)
    return took


async def ours(sizes: list[int]) -> tuple[float, float]:
    """The same with `MCPServerStdio`, a tool's arguments and results checked as in a run."""
    async with MCPServerStdio({"command": sys.executable, "args": ["-c", SERVER]}, max_result_chars=None) as server:
        [tool] = await server.list_tools()
        context = ToolContext[None](None, tool_name="say")
        await tool.invoke(context, {"size": 1})
        cpu, wall = time.process_time(), time.perf_counter()
        for size in sizes:
            await tool.invoke(context, {"size": size})
        return time.process_time() - cpu, time.perf_counter() - wall


def main() -> None:
    """Measure and print."""
    least: dict[str, list[float]] = {"the package alone": [], "in an owner task": [], "agentsdk": []}
    for _ in range(ROUNDS):
        for (_, cpu), work in zip(least.items(), (package, owned, ours), strict=True):
            cpu.append(asyncio.run(work([1] * CALLS))[0] / CALLS * 1e3)
    for name, cpu in least.items():
        times = statistics.median(cpu) / statistics.median(least["in an owner task"])
        print(f"{name:<20} {statistics.median(cpu):.2f} ms of CPU a call, least {min(cpu):.2f}; {times:.2f} of an owner task's")
    for name, work in (("the package alone", package), ("agentsdk", ours)):
        took = [asyncio.run(work([size * 1_000_000]))[1] for size in LENGTHS]
        print(f"{name:<20} {', '.join(f'{size} MB in {one:.1f} s' for size, one in zip(LENGTHS, took, strict=True))}")


if __name__ == "__main__":
    main()
