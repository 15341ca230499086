"""The programs of the migration guides run before and after, say the same, and ask the model the same.

Where a conversation differs its page says so, and the test names the words of both.
"""

from __future__ import annotations

import asyncio
import json
import os
import sys
from collections.abc import AsyncGenerator, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from agentsdk.testing import FakeOpenAIServer, FakeResponsesServer, call
from agentsdk.testing.scripted import Say
from agentsdk.testing.server import FakeServer
from benchmarks.envs import found
from tests.asgi_server import listening
from tests.assistants_server import Assistants

ROOT = Path(__file__).parents[1]
PROGRAMS = ROOT / "examples" / "migration"

Words = list[tuple[str, ...]]


@dataclass
class Guide:
    """A program before and after: what the model says, and what is printed."""

    says: Sequence[Say]
    prints: str
    differs: dict[str, str] = field(default_factory=dict[str, str])
    """Words of the conversation before, and what stands in their place after."""
    prints_before: str = ""
    """What was printed before, where that is not the same."""
    server: type[FakeServer] = FakeOpenAIServer


GUIDES = {
    "openai_agents": Guide(
        [
            call("transfer_to_billing"),
            call("look_up", order=1815),
            call("refund", order=1815),
            '{"order": 1815, "refunded": true, "message": "You have your 40 euros back."}',
            '{"order": 1815, "refunded": true, "message": "It was order 1815."}',
        ],
        '[Triage]\n[Billing]\ncalls look_up({"order":1815})\ncalls refund({"order":1815})\n'
        'approved: refund({"order":1815})\n'
        "You have your 40 euros back. [1815]\nIt was order 1815.\n",
        prints_before='[Triage]\n[Billing]\ncalls look_up({"order":1815})\ncalls refund({"order":1815})\n'
        'approved: refund({"order":1815})\n[Billing]\n'
        "You have your 40 euros back. [1815]\nIt was order 1815.\n",
        differs={
            "Handoff to the Billing agent to handle the request.": "Give the conversation to the agent Billing.",
            '{"assistant": "Billing"}': "Handed over to Billing.",
        },
        server=FakeResponsesServer,
    ),
    "pydantic_ai": Guide(
        [
            call("balance", account="savings"),
            [call("balance", account="main"), call("block_card", card="11")],
            call("final_result", reply="The card is blocked, 420 euros are there.", risk=3),
            call("final_result", reply="Nothing more to do.", risk=1),
        ],
        'approved: block_card({"card":"11"})\n'
        "The card is blocked, 420 euros are there. [risk 3] ['11']\nNothing more to do. [risk 1]\n",
        differs={
            "What the customer is told.": "Give the final answer, and end with it.",
            '{"error":"There is no such account, only main."}': "Error while running the tool: LookupError: "
            "There is no such account, only main.",
            "Final result processed.": "The final answer was taken.",
        },
    ),
    "langgraph": Guide(
        [
            call("look_up", order="o-17"),
            '{"score": 8, "why": "a new customer"}',
            "Dear Ada, you have 40 euros back.",
        ],
        'step: Analyst\nstep: ask\nasked: {"question":"Refund o-17 in spite of the risk?","about":null}\n'
        "step: pay\nstep: Writer\nDear Ada, you have 40 euros back.\n",
        prints_before="node: assess\nasked: Refund o-17 in spite of the risk?\n"
        "node: approve\nnode: pay\nnode: write\nDear Ada, you have 40 euros back.\n",
    ),
    "assistants": Guide(
        [
            call("show_order", number=1815),
            "Two chairs.",
            call("cancel_order", number=1815),
            "It is cancelled.",
        ],
        'Two chairs.\napproved: cancel_order({"number":1815})\nIt is cancelled.\n',
    ),
}


@pytest.mark.parametrize("name", GUIDES)
def test_after(name: str, tmp_path: Path) -> None:
    printed, _ = asyncio.run(run(name, PROGRAMS / f"{name}_after.py", tmp_path))
    assert printed == GUIDES[name].prints


@pytest.mark.slow
@pytest.mark.parametrize("name", GUIDES)
def test_before_is_the_same(name: str, tmp_path: Path) -> None:
    python = sys.executable if name == "assistants" else found("peers")  # it needs OpenAI's client alone
    if python is None:
        pytest.skip("the peers are not there: make .venv/.peers")
    printed, before = asyncio.run(run(name, PROGRAMS / f"{name}_before.py", tmp_path / "theirs", str(python)))
    _, after = asyncio.run(run(name, PROGRAMS / f"{name}_after.py", tmp_path / "ours"))
    assert printed == (GUIDES[name].prints_before or GUIDES[name].prints)
    for was, is_now in GUIDES[name].differs.items():
        assert was in str(before) and is_now in str(after), "what is said to differ does not occur"
    assert [worded(request, GUIDES[name].differs) for request in before] == after


def test_openai_agents_by_its_import_line_alone(tmp_path: Path) -> None:
    """The one-line way of `docs/openai_agents.md`."""
    before = (PROGRAMS / "openai_agents_before.py").read_text(encoding="utf-8")
    assert before.count("\nfrom agents import ") == 1
    program = tmp_path / "program.py"
    program.write_text(before.replace("\nfrom agents import ", "\nfrom agentsdk.compat.openai_agents import "))
    printed, by_compat = asyncio.run(run("openai_agents", program, tmp_path / "compat"))
    _, after = asyncio.run(run("openai_agents", PROGRAMS / "openai_agents_after.py", tmp_path / "ours"))
    assert printed == GUIDES["openai_agents"].prints_before  # what openai-agents itself prints
    handed = '{"assistant": "Billing"}'  # what openai-agents says of a handoff
    assert handed in str(by_compat)
    assert [worded(request, {handed: "Handed over to Billing."}) for request in by_compat] == after


def test_every_program_is_here() -> None:
    assert {path.name for path in PROGRAMS.glob("*.py")} == {
        f"{name}_{when}.py" for name in GUIDES for when in ("before", "after")
    }


async def run(name: str, program: Path, folder: Path, python: str = sys.executable) -> tuple[str, list[Words]]:
    """What a program prints, and what its model was asked, request by request."""
    folder.mkdir(exist_ok=True)
    guide = GUIDES[name]
    async with guide.server(guide.says) as model, served(model, is_assistants=program.name == "assistants_before.py") as url:
        environment = {**os.environ, "PYTHONPATH": str(ROOT), "OPENAI_BASE_URL": url, "OPENAI_API_KEY": "a key"}
        environment |= {"OPENAI_AGENTS_DISABLE_TRACING": "1", "LANGSMITH_TRACING": "false"}  # both would send to their makers
        process = await asyncio.create_subprocess_exec(
            *(python, "-m", "tests.offline", str(program)),
            cwd=folder,
            env=environment,
            stdin=asyncio.subprocess.DEVNULL,
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.PIPE,
        )
        async with asyncio.timeout(120):
            out, err = await process.communicate()
        assert process.returncode == 0, out.decode() + err.decode()
        return out.decode(), [conversation(request.json) for request in model.requests]


@asynccontextmanager
async def served(model: FakeServer, *, is_assistants: bool) -> AsyncGenerator[str, None]:
    """Where the program finds its provider."""
    if is_assistants:
        async with listening(Assistants(model.base_url).app) as url:
            yield f"{url}/v1"
    else:
        yield model.base_url


def conversation(request: dict[str, Any]) -> Words:
    """What a request says to the model, in one form for both of OpenAI's protocols."""
    tools = sorted((*_tool(tool.get("function", tool)),) for tool in request.get("tools", ()))
    said: Words = [("tool", *tool) for tool in tools]
    if "instructions" in request:
        said.append(("system", request["instructions"]))
    for entry in request.get("messages", request.get("input")):
        said += _entry(entry)
    return _joined(said)


def _joined(said: Words) -> Words:
    """With instructions that stand in several messages in one, as providers read them."""
    system = [words[1] for words in said if words[0] == "system"]
    return [("system", "\n\n".join(system)), *[words for words in said if words[0] != "system"]]


def _tool(tool: dict[str, Any]) -> tuple[str, ...]:
    properties = tool["parameters"].get("properties", {})
    return tool["name"], tool["description"], *properties


def _entry(entry: dict[str, Any]) -> Words:
    kind = entry.get("type", "message")
    if kind == "function_call":
        return [("call", entry["name"], _compact(entry["arguments"]))]
    if kind == "function_call_output":
        return [("result", _text(entry["output"]))]
    if entry["role"] == "tool":
        return [("result", _text(entry["content"]))]
    said: Words = [(entry["role"], _text(entry["content"]))] if entry.get("content") else []
    calls = [one["function"] for one in entry.get("tool_calls") or ()]
    return said + [("call", one["name"], _compact(one["arguments"])) for one in calls]


def _compact(arguments: str) -> str:
    return json.dumps(json.loads(arguments), separators=(",", ":"))


def _text(content: str | list[dict[str, Any]]) -> str:
    return content if isinstance(content, str) else "".join(part["text"] for part in content)


def worded(words: Words, differs: dict[str, str]) -> Words:
    """The words of a request before, as they are after."""
    worded: Words = []
    for said in words:
        for was, is_now in differs.items():
            said = tuple(part.replace(was, is_now) for part in said)
        worded.append(said)
    return worded
