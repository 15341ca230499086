"""`Memory.tool()`: a model views and edits the memory's own file, within what a dream may do."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest

from agentsdk import Agent, FunctionCall, FunctionCallOutput, RunConfig, Runner
from agentsdk.context_window import EstimatingCounter
from agentsdk.items import CallKind
from agentsdk.models import AnthropicModel
from agentsdk.patterns import Memory
from agentsdk.testing import FakeAnthropicServer, ScriptedModel
from agentsdk.tools import ToolContext

pytestmark = pytest.mark.anyio

FILE = "/memories/MEMORY.md"


@pytest.fixture
async def memory(tmp_path: Path) -> AsyncIterator[Memory]:
    config = RunConfig(token_counter=EstimatingCounter())
    memory = Memory(tmp_path / "memories", user="ada", max_tokens=100, run_config=config)
    yield memory
    await memory.aclose()


async def told(memory: Memory, command: str, kind: CallKind = "memory", **arguments: object) -> tuple[str, bool]:
    """What the model is told, and whether as an error."""
    given = json.dumps({"command": command, **arguments})
    model = ScriptedModel([FunctionCall("c1", "memory", given, kind=kind), "Done."])
    await Runner.run(Agent[Any, str](name="Clerk", model=model, tools=[memory.tool()]), "Go.")
    (result,) = [item for item in model.requests[-1].items if isinstance(item, FunctionCallOutput)]
    return str(result.output), result.is_error


@pytest.mark.parametrize("kind", ["memory", "function"])
async def test_its_commands_work_on_the_memory_itself(memory: Memory, kind: CallKind) -> None:
    assert await told(memory, "view", kind, path="/memories") == ("-\t/memories/", False)
    created = await told(memory, "create", kind, path=FILE, file_text="- Likes tea.\n")
    assert created == (f"Created {FILE}", False) and memory.path.read_text() == "- Likes tea.\n"
    assert await told(memory, "view", kind, path="/memories") == (f"-\t/memories/\n13\t{FILE}", False)
    assert await told(memory, "view", kind, path="MEMORY.md") == ("     1\t- Likes tea.", False)
    await told(memory, "str_replace", kind, path=FILE, old_str="tea", new_str="green tea")
    await told(memory, "insert", kind, path=FILE, insert_line=1, insert_text="- Lives in Bonn.")
    (message,) = await memory.recall()
    assert "- Likes green tea.\n- Lives in Bonn.\n" in message.text
    assert await told(memory, "delete", kind, path=FILE) == (f"Deleted {FILE}", False)
    assert not memory.path.exists() and [change.kind for change in await memory.history()] == ["tool"] * 4
    await memory.undo()
    await memory.undo()
    assert memory.path.read_text() == "- Likes green tea.\n"


@pytest.mark.parametrize(
    ("command", "arguments", "says"),
    [
        ("create", {"path": "/memories/tea.md", "file_text": "x"}, "expected /memories/MEMORY.md"),
        ("create", {"path": "/memories/../MEMORY.md", "file_text": "x"}, "expected /memories/MEMORY.md"),
        ("create", {"path": FILE, "file_text": "x"}, "is there already"),
        ("view", {"path": "/etc/passwd"}, "expected /memories/MEMORY.md"),
        ("view", {"path": "/memories/users/ben.md"}, "expected /memories/MEMORY.md"),
        ("view", {"path": "../.state/memory.db"}, "expected /memories/MEMORY.md"),
        ("str_replace", {"path": FILE, "old_str": "Likes", "new_str": "word " * 200}, "tokens, expected 100 at most"),
        ("rename", {"old_path": FILE, "new_path": "/memories/x"}, "cannot be moved"),
        ("delete", {"path": "/memories"}, "expected /memories/MEMORY.md"),
    ],
)
async def test_what_is_refused_is_told_and_changes_nothing(
    memory: Memory, command: str, arguments: dict[str, Any], says: str
) -> None:
    memory.path.parent.mkdir()
    memory.path.write_text("- Likes tea.\n")
    text, is_error = await told(memory, command, **arguments)
    assert (says in text, is_error) == (True, True), text
    assert memory.path.read_text() == "- Likes tea.\n" and await memory.history() == []
    assert sorted(path.name for path in memory.path.parent.parent.iterdir()) == [".state", "users"]


async def test_a_model_with_a_memory_tool_of_its_own_uses_that(memory: Memory) -> None:
    given = json.dumps({"command": "create", "path": FILE, "file_text": "- Likes tea.\n"})
    async with FakeAnthropicServer([FunctionCall("", "memory", given, kind="memory"), "Noted."]) as server:
        model = AnthropicModel("claude-x", base_url=server.base_url, api_key="k")
        await Runner.run(Agent[Any, str](name="Clerk", model=model, tools=[memory.tool()]), "I like tea.")
    assert server.requests[0].json["tools"] == [{"type": "memory_20250818", "name": "memory"}]
    assert memory.path.read_text() == "- Likes tea.\n"


async def test_what_it_writes_holds_no_secrets(memory: Memory) -> None:
    await told(memory, "create", path=FILE, file_text="- The password is hunter22.\n")
    assert memory.path.read_text() == "- The password is [secret left out]\n"


async def test_an_edit_of_somebody_else_in_the_middle_is_not_lost(tmp_path: Path) -> None:
    def edits(text: str) -> str:
        memory.path.write_text("- By hand.\n")
        return text

    memory = Memory(tmp_path / "memories", redact=edits, run_config=RunConfig(token_counter=EstimatingCounter()))
    memory.path.write_text("- Likes tea.\n")
    text, is_error = await told(memory, "str_replace", path=FILE, old_str="tea", new_str="milk")
    assert is_error and "was changed by others meanwhile" in text and str(tmp_path) not in text
    assert memory.path.read_text() == "- By hand.\n"
    await memory.aclose()


async def test_a_file_that_cannot_be_used_is_told(memory: Memory, tmp_path: Path) -> None:
    memory.path.parent.mkdir()
    memory.path.symlink_to("/etc/passwd")
    for command in ("view", "create", "delete", "str_replace"):
        text, is_error = await told(memory, command, path=FILE, file_text="x", old_str="x")
        assert is_error and "root:" not in text and str(tmp_path) not in text


async def test_a_call_that_was_cut_is_done_once(memory: Memory) -> None:
    memory.path.parent.mkdir()
    memory.path.write_text("- Likes tea.\n")
    context = ToolContext[Any](None)
    for _ in range(2):
        given = {"command": "insert", "path": FILE, "insert_line": 1, "insert_text": "- Lives in Bonn."}
        assert await memory.tool().invoke(context, given) == f"Edited {FILE}"
    assert memory.path.read_text() == "- Likes tea.\n- Lives in Bonn.\n" and len(await memory.history()) == 1


def test_what_it_declares(tmp_path: Path) -> None:
    tool = Memory(tmp_path).tool(needs_approval=True)
    assert (tool.name, tool.kind, tool.effect, tool.untrusted) == ("memory", "memory", "idempotent", False)
    assert Memory(tmp_path, untrusted=True).tool().untrusted
