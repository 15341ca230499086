"""`file_tools` on a real workspace: what the model is shown, what is changed, and what is refused."""

from __future__ import annotations

import os
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest

from agentsdk import Agent, Runner, UserError
from agentsdk.items import FunctionCallOutput
from agentsdk.local_tools.editing import MAX_FOUND, MAX_LINES
from agentsdk.sandboxes import LocalSandbox, Sandbox, SandboxLimits
from agentsdk.testing import ScriptedModel, call
from agentsdk.tools import file_tools

pytestmark = pytest.mark.anyio


@pytest.fixture
async def sandbox() -> AsyncIterator[Sandbox]:
    async with LocalSandbox(unsafe=True) as made:
        await made.files.write("src/a.py", b"import os\r\nprint(os.name)\r\nprint(1)\r\n")
        await made.files.write("src/in/b.py", b"import sys\n")
        await made.files.write("notes.txt", b"one\ntwo\n")
        yield made


async def told(sandbox: Sandbox, name: str, **arguments: object) -> tuple[str, bool]:
    """What the model is told, and whether as an error."""
    model = ScriptedModel([call(name, **arguments), "Done."])
    await Runner.run(Agent[Any, str](name="Coder", model=model, tools=file_tools(sandbox)), "Go.")
    (result,) = [item for item in model.requests[-1].items if isinstance(item, FunctionCallOutput)]
    return str(result.output), result.is_error


async def test_lines_have_their_numbers(sandbox: Sandbox) -> None:
    assert await told(sandbox, "read_file", path="notes.txt") == ("     1\tone\n     2\ttwo", False)
    assert await told(sandbox, "read_file", path="src/a.py", start_line=2, lines=1) == (
        "     2\tprint(os.name)\n[... 1 more lines, from 3 on ...]",
        False,
    )
    assert (await told(sandbox, "read_file", path="notes.txt", start_line=9))[0] == "[no line 9: the file has 2]"


async def test_long_files_and_lines_are_cut(sandbox: Sandbox) -> None:
    await sandbox.files.write("long", b"x\n" * 5_000)
    text, _ = await told(sandbox, "read_file", path="long", lines=10_000)
    assert text.count("\n") == MAX_LINES
    assert text.endswith(f"[... 3000 more lines, from {MAX_LINES + 1} on ...]")
    await sandbox.files.write("wide", b"x" * 5_000)
    assert (await told(sandbox, "read_file", path="wide"))[0].endswith("[... 3000 more characters ...]")


async def test_folders_are_listed(sandbox: Sandbox) -> None:
    assert (await told(sandbox, "list_files"))[0] == "notes.txt\nsrc/"
    assert (await told(sandbox, "list_files", path="src"))[0] == "src/a.py\nsrc/in/"
    for number in range(MAX_FOUND + 5):
        await sandbox.files.write(f"many/{number:03}", b"")
    assert (await told(sandbox, "list_files", path="many"))[0].endswith(f"[... more than {MAX_FOUND}: look for less ...]")


async def test_files_are_found_by_name_and_lines_by_pattern(sandbox: Sandbox) -> None:
    assert (await told(sandbox, "glob", pattern="*.py"))[0] == "src/a.py\nsrc/in/b.py"
    assert (await told(sandbox, "glob", pattern="*.py", path="src/in"))[0] == "src/in/b.py"
    assert (await told(sandbox, "glob", pattern="src/*.py"))[0] == "src/a.py\nsrc/in/b.py"
    assert (await told(sandbox, "glob", pattern="*.md"))[0] == "[nothing]"
    assert (await told(sandbox, "grep", pattern="^import [a-z]+", files="b.*"))[0] == "src/in/b.py:1:import sys"
    assert (await told(sandbox, "grep", pattern="a("))[1]


def program(folder: Path, name: str, script: str) -> None:
    """A program of that name in `folder`."""
    path = folder / name
    path.write_text(f"#!/bin/sh\n{script}\n")
    path.chmod(0o755)


async def test_a_list_of_files_that_is_cut_is_no_list(
    sandbox: Sandbox, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Names out of the middle of a cut output, or those found until the search was killed, are not all there are."""
    async with LocalSandbox(sandbox.workdir, unsafe=True, limits=SandboxLimits(output=20)) as small:
        assert await told(small, "glob", pattern="*.txt") == ("notes.txt", False)
        text, is_error = await told(small, "glob", pattern="*")
        assert ("more files fit than can be listed" in text, is_error) == (True, True)
    monkeypatch.setenv("PATH", f"{tmp_path}:{os.environ['PATH']}")
    program(tmp_path, "find", "printf './notes.txt\\0'; kill -9 $$")
    text, is_error = await told(sandbox, "glob", pattern="*")
    assert ("exit code 137" in text, is_error) == (True, True)
    program(tmp_path, "find", "printf './notes.txt\\0'; exit 1")
    assert await told(sandbox, "glob", pattern="*") == ("notes.txt\n[... not every folder could be read ...]", False)


async def test_files_are_written_and_edited(sandbox: Sandbox) -> None:
    assert await told(sandbox, "write_file", path="new/c.txt", content="ü\n") == ("Wrote new/c.txt", False)
    assert await sandbox.files.read("new/c.txt") == "ü\n".encode()
    edit = {"path": "src/a.py", "old_text": "print(1)", "new_text": "print(2)"}
    assert await told(sandbox, "edit_file", **edit) == ("Edited src/a.py", False)
    assert await sandbox.files.read("src/a.py") == b"import os\r\nprint(os.name)\r\nprint(2)\r\n"
    both = {"path": "src/a.py", "old_text": "print", "new_text": "show", "replace_all": True}
    assert await told(sandbox, "edit_file", **both) == ("Edited src/a.py", False)


@pytest.mark.parametrize(
    ("name", "arguments", "says"),
    [
        ("edit_file", {"path": "src/a.py", "old_text": "absent", "new_text": ""}, "stands 0 times"),
        ("edit_file", {"path": "src/a.py", "old_text": "print", "new_text": ""}, "stands 2 times"),
        ("edit_file", {"path": "src/a.py", "old_text": "", "new_text": "x"}, "stands 0 times"),
        ("read_file", {"path": "/etc/passwd"}, "leads out of the workspace"),
        ("write_file", {"path": "../x", "content": ""}, "leads out of the workspace"),
        ("list_files", {"path": ".."}, "leads out of the workspace"),
        ("glob", {"pattern": "*", "path": ".."}, "leads out of the workspace"),
        ("read_file", {"path": "missing"}, "is not there"),
        ("read_file", {"path": "binary"}, "is no UTF-8 text"),
        ("read_file", {"path": "src/a.py", "start_line": 0}, "1 or more"),
    ],
)
async def test_what_does_not_fit_is_told_and_changes_nothing(
    sandbox: Sandbox, name: str, arguments: dict[str, object], says: str
) -> None:
    await sandbox.files.write("binary", b"\xff\xfe")
    before = await sandbox.files.read("src/a.py")
    text, is_error = await told(sandbox, name, **arguments)
    assert (says in text, is_error) == (True, True)
    assert await sandbox.files.read("src/a.py") == before


async def test_what_they_declare(sandbox: Sandbox) -> None:
    effects = {tool.name: tool.effect for tool in file_tools(sandbox)}
    reading = dict.fromkeys(("read_file", "list_files", "glob", "grep"), "none")
    assert effects == {**reading, "write_file": "idempotent", "edit_file": "idempotent"}
    with pytest.raises(UserError, match="sandbox"):
        file_tools("workspace")  # type: ignore[arg-type]
