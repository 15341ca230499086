"""Our MCP server driven by the official TypeScript client, a program of others in another language."""

from __future__ import annotations

import asyncio
import json
import shutil
import signal
import subprocess
from pathlib import Path
from typing import Any

import pytest

from tests.mcp.test_serve_durable import journal, serving, until
from tests.mcp.test_serve_stdio import command

ROOT = Path(__file__).parents[2]
PACKAGE = ROOT / ".venv" / "npm" / "node_modules" / "@modelcontextprotocol" / "client"

pytestmark = [
    pytest.mark.anyio,
    pytest.mark.skipif(
        shutil.which("node") is None or not PACKAGE.exists(),
        reason="needs node, and @modelcontextprotocol/client from npm: make .venv/.npm",
    ),
]
both = pytest.mark.parametrize("era", ["legacy", "auto"])
MODERN = {"legacy": "legacy", "auto": "modern"}


async def client(**given: Any) -> asyncio.subprocess.Process:
    script = str(ROOT / "tests" / "mcp" / "client.mjs")
    argument = json.dumps({"package": str(PACKAGE), "calls": [], **given})
    return await asyncio.create_subprocess_exec(
        "node", script, argument, cwd=ROOT, stdout=subprocess.PIPE, stderr=subprocess.PIPE
    )


async def outcome(**given: Any) -> dict[str, Any]:
    process = await client(**given)
    out, err = await process.communicate()
    assert process.returncode == 0, err.decode()
    found: dict[str, Any] = json.loads(out)
    return found


@both
async def test_tools_errors_and_approvals_over_stdio(era: str) -> None:
    calls = [
        {"name": "weather", "arguments": {"city": "Rome"}},
        {"name": "add", "arguments": {"a": 1, "b": "x"}},
        {"name": "refund", "arguments": {"order": 1}},
    ]
    answers = [{"action": "accept", "content": {"approve": True}}]
    found = await outcome(command=command("tools"), era=era, calls=calls, answers=answers)
    assert (found["era"], found["tools"]) == (MODERN[era], ["add", "weather", "refund", "broken", "ask_user"])
    weather, wrong, refund = found["results"]
    assert weather["structuredContent"] == {"city": "Rome", "degrees": 24}
    assert wrong["isError"] and "b: expected an integer" in wrong["content"][0]["text"]
    assert refund["content"][0]["text"] == "order 1 is paid back"
    assert found["asked"] == ['call of refund: may refund({"order":1}) run?']


@both
async def test_a_durable_run_whose_server_is_killed_goes_on_at_the_next_call(era: str, tmp_path: Path) -> None:
    calls = [{"name": "Shop", "arguments": {"input": "Order 7, please.", "run_id": "order-7"}}]
    with serving(tmp_path, "shop", "--lease", "1", hangs=True) as (server, address):
        cut = await client(url=address, era=era, calls=calls)
        await until(tmp_path, "shipping 7")
        server.send_signal(signal.SIGKILL)
        cut.kill()  # it would wait for its request's deadline
        await cut.communicate()
    with serving(tmp_path, "shop", "--lease", "1") as (_, address):
        found = await outcome(url=address, era=era, calls=[*calls, {"name": "get_run", "arguments": {"run_id": "order-7"}}])
    assert [result["content"][0]["text"] for result in found["results"]] == ["All done.", "All done."]
    assert found["results"][0]["_meta"]["agentsdk/run_id"] == "order-7"
    assert journal(tmp_path) == ["paid 7", "shipping 7", "shipping 7"]
