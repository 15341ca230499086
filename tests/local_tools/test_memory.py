"""`MemoryTool` on a real folder: what a model keeps, what it cannot reach, and how much there is room for."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from agentsdk import Agent, Runner, UserError
from agentsdk.items import CallKind, FunctionCall, FunctionCallOutput
from agentsdk.testing import ScriptedModel
from agentsdk.tools import MemoryTool, ToolContext

pytestmark = pytest.mark.anyio


async def told(tool: MemoryTool, kind: CallKind = "memory", **arguments: object) -> tuple[str, bool]:
    """What the model is told, and whether as an error."""
    model = ScriptedModel([FunctionCall("c1", "memory", json.dumps(arguments), kind=kind), "Done."])
    await Runner.run(Agent[Any, str](name="Clerk", model=model, tools=[tool]), "Go.")
    (result,) = [item for item in model.requests[-1].items if isinstance(item, FunctionCallOutput)]
    return str(result.output), result.is_error


@pytest.mark.parametrize("kind", ["memory", "function"])
async def test_what_is_noted_is_there_in_the_next_run(tmp_path: Path, kind: CallKind) -> None:
    folder = tmp_path / "of" / "ann"
    tool = MemoryTool(folder)
    assert await told(tool, kind, command="view", path="/memories") == ("-\t/memories/", False)
    note = {"path": "/memories/tea.md", "file_text": "Ann likes tea.\n"}
    assert await told(tool, kind, command="create", **note) == ("Created /memories/tea.md", False)
    later = MemoryTool(folder)
    assert await told(later, kind, command="view", path="/memories") == ("-\t/memories/\n15\t/memories/tea.md", False)
    assert await told(later, kind, command="view", path="/memories/tea.md") == ("     1\tAnn likes tea.", False)
    edit = {"path": "/memories/tea.md", "old_str": "tea", "new_str": "green tea"}
    assert await told(later, kind, command="str_replace", **edit) == ("Edited /memories/tea.md", False)
    more = {"path": "/memories/tea.md", "insert_line": 1, "insert_text": "No sugar."}
    assert await told(later, kind, command="insert", **more) == ("Edited /memories/tea.md", False)
    moved = {"old_path": "/memories/tea.md", "new_path": "/memories/likes/tea.md"}
    assert await told(later, kind, command="rename", **moved) == (
        "Renamed /memories/tea.md to /memories/likes/tea.md",
        False,
    )
    assert (folder / "likes" / "tea.md").read_text() == "Ann likes green tea.\nNo sugar.\n"
    assert await told(later, kind, command="delete", path="/memories/likes") == ("Deleted /memories/likes", False)
    assert list(folder.iterdir()) == []


@pytest.fixture
def tool(tmp_path: Path) -> MemoryTool:
    """A memory with a note, a folder, and links that lead out of it."""
    (tmp_path / "secret").write_text("secret")
    folder = tmp_path / "memory"
    (folder / "sub").mkdir(parents=True)
    (folder / "note.md").write_text("note\n")
    (folder / "out").symlink_to(tmp_path)
    (folder / "leak").symlink_to(tmp_path / "secret")
    return MemoryTool(folder, max_file_bytes=100, max_files=8)


OUTSIDE = ["/etc/passwd", "../secret", "/memories/../secret", "/memories/out/secret", "/memories/leak", "/memories-2/x", "/"]


@pytest.mark.parametrize("path", OUTSIDE)
@pytest.mark.parametrize("command", ["view", "create", "str_replace", "insert", "rename"])
async def test_no_path_leads_out_of_the_folder(tool: MemoryTool, tmp_path: Path, command: str, path: str) -> None:
    given = {"file_text": "x", "old_str": "secret", "insert_line": 0, "insert_text": "x"}
    places = [{"old_path": "/memories/note.md", "new_path": path}, {"old_path": path, "new_path": "/memories/got"}]
    for place in places if command == "rename" else [{"path": path}]:
        text, is_error = await told(tool, command=command, **place, **given)
        if command == "rename" and path == "/memories/leak":  # the link itself is in the folder
            continue
        assert is_error and "secret" not in text.replace(path, ""), text
    assert (tmp_path / "secret").read_text() == "secret"
    assert sorted(entry.name for entry in tmp_path.iterdir()) == ["memory", "secret"]


async def test_a_link_is_deleted_and_not_what_it_leads_to(tool: MemoryTool, tmp_path: Path) -> None:
    for name in ("leak", "out"):
        assert await told(tool, command="delete", path=f"/memories/{name}") == (f"Deleted /memories/{name}", False)
    assert (tmp_path / "secret").read_text() == "secret"


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        ({"command": "create", "path": "/memories/note.md", "file_text": ""}, "is there already"),
        ({"command": "create", "path": "/memories", "file_text": ""}, "is there already"),
        ({"command": "create", "path": "/memories/big", "file_text": "x" * 101}, "would have 101 bytes, expected 100 at most"),
        ({"command": "create", "path": "/memories/a/b/c/d/e", "file_text": ""}, "there is no room"),
        ({"command": "insert", "path": "note.md", "insert_line": 0, "insert_text": "x" * 99}, "would have 105 bytes"),
        ({"command": "rename", "old_path": "/memories/note.md", "new_path": "/memories/sub"}, "is there already"),
        ({"command": "rename", "old_path": "/memories/note.md", "new_path": "/memories/a/b/c/d/e"}, "there is no room"),
        ({"command": "rename", "old_path": "/memories/absent", "new_path": "/memories/x/y"}, "is not there"),
        ({"command": "rename", "old_path": "/memories", "new_path": "/memories/x"}, "cannot be moved"),
        ({"command": "rename", "old_path": "/memories/note.md"}, "new_path is missing"),
        ({"command": "delete", "path": "/memories"}, "is the workspace itself"),
        ({"command": "delete", "path": "/memories/absent"}, "is not there"),
        ({"command": "view"}, "path is missing"),
    ],
)
async def test_what_does_not_fit_is_told_and_changes_nothing(
    tool: MemoryTool, tmp_path: Path, arguments: dict[str, object], says: str
) -> None:
    text, is_error = await told(tool, **arguments)
    assert (says in text, is_error) == (True, True), text
    assert (tmp_path / "memory" / "note.md").read_text() == "note\n"
    assert sorted(entry.name for entry in (tmp_path / "memory").iterdir()) == ["leak", "note.md", "out", "sub"]


async def test_a_call_that_was_cut_is_done_once(tool: MemoryTool, tmp_path: Path) -> None:
    renamed, deleted = ToolContext[Any](None), ToolContext[Any](None)
    rename = {"command": "rename", "old_path": "/memories/note.md", "new_path": "/memories/sub/note.md"}
    for _ in range(2):
        assert await tool.invoke(renamed, rename) == "Renamed /memories/note.md to /memories/sub/note.md"
        assert (tmp_path / "memory" / "sub" / "note.md").read_text() == "note\n"
    for _ in range(2):
        assert await tool.invoke(deleted, {"command": "delete", "path": "/memories/sub"}) == "Deleted /memories/sub"
    assert not (tmp_path / "memory" / "sub").exists()


def test_what_it_declares(tmp_path: Path) -> None:
    tool = MemoryTool(str(tmp_path), untrusted=True)
    assert (tool.name, tool.kind, tool.effect, tool.untrusted) == ("memory", "memory", "idempotent", True)


@pytest.mark.parametrize(
    ("given", "says"),
    [
        ({"folder": 3}, "folder"),
        ({"folder": ""}, "folder"),
        ({"folder": "/dev/null/x"}, "cannot be made"),
        ({"max_file_bytes": 0}, "max_file_bytes"),
        ({"max_files": 0}, "max_files"),
    ],
)
def test_a_wrong_option_is_refused(given: dict[str, Any], says: str, tmp_path: Path) -> None:
    with pytest.raises(UserError, match=says):
        MemoryTool(**{"folder": tmp_path, **given})
    with pytest.raises(UserError, match="holds more than a workspace may"):
        MemoryTool("/")
