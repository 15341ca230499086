"""`TextEditorTool` in a real workspace: the four commands by the provider's own call and as a function, each edit made once."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator
from typing import Any

import pytest

from agentsdk import Agent, Runner, UserError
from agentsdk.errors import SandboxFileError
from agentsdk.items import CallKind, FunctionCall, FunctionCallOutput
from agentsdk.sandboxes import LocalSandbox, Sandbox
from agentsdk.testing import ScriptedModel
from agentsdk.tools import TextEditorTool, ToolContext

pytestmark = pytest.mark.anyio
SHOP = b"class Shop:\n    def total(self):\n        return 0\n"


@pytest.fixture
async def sandbox() -> AsyncIterator[Sandbox]:
    async with LocalSandbox(unsafe=True) as made:
        await made.files.write("src/shop.py", SHOP)
        yield made


async def told(sandbox: Sandbox, kind: CallKind = "text_editor", **arguments: object) -> tuple[str, bool]:
    """What the model is told, and whether as an error."""
    model = ScriptedModel([FunctionCall("c1", "text_editor", json.dumps(arguments), kind=kind), "Done."])
    await Runner.run(Agent[Any, str](name="Coder", model=model, tools=[TextEditorTool(sandbox)]), "Go.")
    (result,) = [item for item in model.requests[-1].items if isinstance(item, FunctionCallOutput)]
    return str(result.output), result.is_error


@pytest.mark.parametrize("kind", ["text_editor", "function"])
async def test_a_file_is_viewed_created_and_edited(sandbox: Sandbox, kind: CallKind) -> None:
    shop = f"{sandbox.workdir}/src/shop.py"
    assert await told(sandbox, kind, command="view", path=shop, view_range=[3, -1]) == ("     3\t        return 0", False)
    edit = {"path": shop, "old_str": "return 0", "new_str": "return sum(self.prices)"}
    assert await told(sandbox, kind, command="str_replace", **edit) == (f"Edited {shop}", False)
    assert await told(sandbox, kind, command="insert", path=shop, insert_line=0, insert_text="import os") == (
        f"Edited {shop}",
        False,
    )
    assert await sandbox.files.read("src/shop.py") == b"import os\n" + SHOP.replace(b"0", b"sum(self.prices)")
    assert await told(sandbox, kind, command="create", path="new/a.txt", file_text="ü\n") == ("Created new/a.txt", False)
    assert await sandbox.files.read("new/a.txt") == "ü\n".encode()
    assert await told(sandbox, kind, command="str_replace", path="new/a.txt", old_str="ü\n") == ("Edited new/a.txt", False)
    assert await sandbox.files.read("new/a.txt") == b""


async def test_a_folder_is_viewed_two_levels_deep(sandbox: Sandbox) -> None:
    for path in ("a/b/c/deep", ".git/config", "node_modules/x.js", "src/.hidden"):
        await sandbox.files.write(path, b"x" * 2_000)
    text, _ = await told(sandbox, command="view", path=".")
    assert text.split("\n") == ["-\t./", "-\ta/", "-\ta/b/", "-\tsrc/", f"{len(SHOP)}\tsrc/shop.py"]
    assert "2.0K\ta/b/c/deep" in (await told(sandbox, command="view", path="a/b"))[0]


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        ({"command": "view", "path": "/etc/passwd"}, "leads out of the workspace"),
        ({"command": "create", "path": "../x", "file_text": ""}, "leads out of the workspace"),
        ({"command": "create", "path": "src/shop.py", "file_text": ""}, "is there already"),
        ({"command": "create", "path": "src", "file_text": ""}, "is there already"),
        ({"command": "create", "path": "a"}, "file_text is missing"),
        ({"command": "view", "path": "absent"}, "is not there"),
        ({"command": "view", "path": "binary"}, "is no UTF-8 text"),
        ({"command": "view", "path": "src/shop.py", "view_range": [0, 2]}, "view_range is no pair of lines"),
        ({"command": "view", "path": "src/shop.py", "view_range": [3, 2]}, "view_range is no pair of lines"),
        ({"command": "view", "path": "src/shop.py", "view_range": [3]}, "view_range is no pair of lines"),
        ({"command": "str_replace", "path": "src/shop.py", "new_str": "x"}, "old_str is missing"),
        ({"command": "str_replace", "path": "src/shop.py", "old_str": "absent"}, "stands 0 times"),
        ({"command": "str_replace", "path": "src/shop.py", "old_str": "t"}, "stands 3 times"),
        ({"command": "insert", "path": "src/shop.py", "insert_line": 1}, "insert_text is missing"),
        ({"command": "insert", "path": "src/shop.py", "insert_line": 4, "insert_text": "x"}, "insert_line is 4"),
        ({"command": "undo_edit", "path": "src/shop.py"}, "'view', 'create', 'str_replace', 'insert'"),
    ],
)
async def test_what_does_not_fit_is_told_and_changes_nothing(sandbox: Sandbox, arguments: dict[str, object], says: str) -> None:
    await sandbox.files.write("binary", b"\xff\xfe")
    text, is_error = await told(sandbox, **arguments)
    assert (says in text, is_error) == (True, True), text
    assert await sandbox.files.read("src/shop.py") == SHOP
    assert [entry.path for entry in await sandbox.files.list()] == ["binary", "src"]


EDITS = [
    {"command": "insert", "path": "src/shop.py", "insert_line": 1, "insert_text": "    pass"},
    {"command": "str_replace", "path": "src/shop.py", "old_str": "0", "new_str": "00"},
    {"command": "create", "path": "new.txt", "file_text": "x"},
]


@pytest.mark.parametrize("arguments", EDITS, ids=lambda arguments: arguments["command"])
async def test_a_call_that_was_cut_makes_its_edit_once(sandbox: Sandbox, arguments: dict[str, object]) -> None:
    tool, context = TextEditorTool(sandbox), ToolContext[Any](None)
    first = await tool.invoke(context, arguments)
    made = await sandbox.files.read(str(arguments["path"]))
    assert await tool.invoke(context, arguments) == first, "it runs again, as nobody recorded that it had ended"
    assert await sandbox.files.read(str(arguments["path"])) == made
    await sandbox.files.write(str(arguments["path"]), b"other")
    with pytest.raises(SandboxFileError, match="is neither as it was nor as this call makes it"):
        await tool.invoke(context, arguments)
    assert await sandbox.files.read(str(arguments["path"])) == b"other"


async def test_a_call_that_was_cut_before_its_edit_makes_it(sandbox: Sandbox) -> None:
    tool, context = TextEditorTool(sandbox), ToolContext[Any](None)
    await tool.invoke(context, EDITS[0])
    await sandbox.files.write("src/shop.py", SHOP)
    await tool.invoke(context, EDITS[0])
    assert await sandbox.files.read("src/shop.py") == b"class Shop:\n    pass\n    def total(self):\n        return 0\n"


async def test_what_it_declares(sandbox: Sandbox) -> None:
    tool = TextEditorTool(sandbox, max_characters=30, needs_approval=True)
    assert (tool.name, tool.kind, tool.effect, tool.needs_approval) == ("text_editor", "text_editor", "idempotent", True)
    assert tool.kind_settings == {"max_characters": 30}
    assert str(await tool.invoke(ToolContext[Any](None), {"command": "view", "path": "src/shop.py"})).count("\n") == 1
    with pytest.raises(UserError, match="max_characters"):
        TextEditorTool(sandbox, max_characters=0)
    with pytest.raises(UserError, match="sandbox"):
        TextEditorTool("workspace")  # type: ignore[arg-type]
