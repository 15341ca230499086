"""`ApplyPatchTool` on the files of a real workspace: all of a patch or nothing, also where the call was cut and runs again."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Mapping
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from agentsdk import Agent, Runner, UserError
from agentsdk.core.patch import FileChange, parse_patch
from agentsdk.errors import PatchError, SandboxFileError
from agentsdk.items import FunctionCall, FunctionCallOutput
from agentsdk.local_tools.apply_patch import apply_changes
from agentsdk.sandboxes import FileInfo, LocalSandbox, Sandbox, SandboxFiles
from agentsdk.testing import ScriptedModel
from agentsdk.tools import ApplyPatchTool, ToolContext

pytestmark = pytest.mark.anyio
SHOP = b"class Shop:\n    def total(self):\n        return 0\n"
UPDATE = "@@ class Shop:\n     def total(self):\n-        return 0\n+        return 1\n"


@pytest.fixture
async def sandbox() -> AsyncIterator[Sandbox]:
    async with LocalSandbox(unsafe=True) as made:
        await made.files.write("shop.py", SHOP)
        yield made


async def contents(files: SandboxFiles, path: str = ".") -> dict[str, bytes]:
    found: dict[str, bytes] = {}
    for info in await files.list(path):
        if info.kind == "directory":
            found |= await contents(files, info.path)
        elif info.kind == "file":
            found[info.path] = await files.read(info.path, max_bytes=2**25)
    return found


def patch(*lines: str) -> list[FileChange]:
    return parse_patch("\n".join(["*** Begin Patch", *lines, "*** End Patch"]))


async def answers(sandbox: Sandbox, *calls: FunctionCall, **options: Any) -> list[FunctionCallOutput]:
    model = ScriptedModel([*calls, "Done."])
    await Runner.run(Agent[Any, str](name="Coder", model=model, tools=[ApplyPatchTool(sandbox, **options)]), "Mend it.")
    return [item for item in model.requests[-1].items if isinstance(item, FunctionCallOutput)]


def operation(call_id: str, **arguments: str) -> FunctionCall:

    return FunctionCall(call_id, "apply_patch", json.dumps(arguments), kind="apply_patch")


async def test_a_model_changes_files_by_the_providers_own_calls(sandbox: Sandbox) -> None:
    outputs = await answers(
        sandbox,
        operation("1", type="update_file", path="shop.py", diff=UPDATE),
        operation("2", type="create_file", path="src/new.py", diff="+x = 1\n+"),
        operation("3", type="update_file", path="shop.py", diff="", move_to="src/shop.py"),
        operation("4", type="delete_file", path="src/new.py"),
        operation("5", type="update_file", path="src/shop.py", diff="-nowhere\n+x\n"),
    )
    assert [str(output.output) for output in outputs[:4]] == [
        "Updated shop.py",
        "Created src/new.py",
        "Updated src/shop.py",
        "Deleted src/new.py",
    ]
    assert outputs[4].is_error and "stands nowhere in the file after line 0" in str(outputs[4].output)
    assert await contents(sandbox.files) == {"src/shop.py": SHOP.replace(b"0", b"1")}


async def test_a_model_writes_a_whole_patch_as_text(sandbox: Sandbox) -> None:
    text = f"*** Begin Patch\n*** Update File: shop.py\n{UPDATE}*** Add File: a.txt\n+a\n*** End Patch\n"

    call = FunctionCall("1", "apply_patch", json.dumps({"input": text}), kind="custom")
    (output,) = await answers(sandbox, call, freeform=True)
    assert str(output.output) == "Updated shop.py\nCreated a.txt"
    assert await contents(sandbox.files) == {"shop.py": SHOP.replace(b"0", b"1"), "a.txt": b"a"}


REFUSED: Mapping[str, tuple[list[str], str]] = {
    "create over a file": (["*** Add File: shop.py", "+x"], "'shop.py' is there already"),
    "update of nothing": (["*** Update File: no.py", "-x", "+y"], "'no.py' is not there"),
    "delete of nothing": (["*** Delete File: no.py"], "'no.py' is not there"),
    "delete of a folder": (["*** Delete File: folder"], "'folder' is a directory, expected a file"),
    "move onto a file": (["*** Update File: shop.py", "*** Move to: a.txt"], "'a.txt' is there already"),
    "move onto a folder": (["*** Update File: shop.py", "*** Move to: folder"], "'folder' is a directory"),
    "a file that is no text": (["*** Update File: binary", "-x", "+y"], "'binary' is no UTF-8 text"),
    "twice": (["*** Delete File: a.txt", "*** Delete File: ./a.txt"], "'a.txt' is not there"),
    "out of the workspace": (["*** Add File: ../x", "+x"], "out"),
    "an absolute path": (["*** Add File: /etc/cron.d/x", "+x"], "'/etc/cron.d/x'"),
    "a link that leads out": (["*** Add File: out/x", "+x"], "out"),
    "a file as a folder": (["*** Add File: a.txt/x", "+x"], "a.txt"),
    "the same file by a link": (
        ["*** Update File: a.txt", "-a", "+b", "*** Update File: same", "-a", "+c"],
        "changed meanwhile",
    ),
    "a file too large": (["*** Update File: large", "-x", "+y"], "more than"),
    "an empty name": (["*** Delete File: "], "'.' is a directory"),
    "again after a move": (
        ["*** Update File: a.txt", "*** Move to: b.txt", "*** Add File: a.txt", "+a"],
        "uses 'a.txt' again after a move",
    ),
}


@pytest.mark.parametrize("case", REFUSED)
async def test_what_does_not_fit_changes_nothing(case: str, sandbox: Sandbox) -> None:
    lines, said = REFUSED[case]
    await sandbox.files.write("a.txt", b"a")
    await sandbox.files.write("binary", b"\xff\xfe")
    await sandbox.files.write("large", b"x" * (10 * 2**20 + 1))
    await sandbox.run(["sh", "-c", "mkdir folder; ln -s /tmp out; ln -s a.txt same"])
    before = await contents(sandbox.files)
    change = patch("*** Add File: first.txt", "+1", "*** Update File: shop.py", *UPDATE.splitlines(), *lines)
    with pytest.raises((PatchError, SandboxFileError)) as refused:
        await apply_changes(sandbox.files, change, ToolContext[Any](None))
    assert said in str(refused.value)
    assert await contents(sandbox.files) == before


async def test_line_endings_stay_as_they_are(sandbox: Sandbox) -> None:
    await sandbox.files.write("dos.txt", b"one\r\ntwo\r\n")
    await apply_changes(sandbox.files, patch("*** Update File: dos.txt", " one", "-two", "+2", "+3"), ToolContext[Any](None))
    assert await sandbox.files.read("dos.txt") == b"one\r\n2\r\n3\r\n"


async def test_permissions_stay_where_a_file_moves(sandbox: Sandbox) -> None:
    await sandbox.files.write("run.sh", b"echo 1\n", mode=0o750)
    lines = ["*** Update File: run.sh", "*** Move to: bin/run.sh", "-echo 1", "+echo 2"]
    await apply_changes(sandbox.files, patch(*lines), ToolContext[Any](None))
    assert (await sandbox.files.stat("bin/run.sh")).mode == 0o750


async def test_permissions_stay_where_a_file_is_put_back(sandbox: Sandbox) -> None:
    class Refusing(DyingFiles):
        async def remove(self, path: str) -> None:
            if path == "second.sh":
                raise SandboxFileError("it may not be removed", path=path)
            await self._files.remove(path)

    for name in ("first.sh", "second.sh"):
        await sandbox.files.write(name, b"echo", mode=0o700)
    files: Any = Refusing(sandbox.files, -1)
    with pytest.raises(SandboxFileError):
        await apply_changes(files, patch("*** Delete File: first.sh", "*** Delete File: second.sh"), ToolContext[Any](None))
    assert (await sandbox.files.stat("first.sh")).mode == 0o700


class Cut(BaseException):
    """The process ends here."""


class DyingFiles:
    """Files of a process that ends after so many changes: from then on nothing is written, or put back."""

    def __init__(self, files: SandboxFiles, changes: int) -> None:
        self._files, self._left = files, changes

    def _change(self) -> None:
        if self._left == 0:
            raise Cut
        self._left -= 1

    async def read(self, path: str, *, max_bytes: int = 0) -> bytes:
        return await self._files.read(path, max_bytes=max_bytes)

    async def stat(self, path: str) -> FileInfo:
        return await self._files.stat(path)

    async def write(self, path: str, data: bytes, *, mode: int | None = None) -> None:
        self._change()
        await self._files.write(path, data, mode=mode)

    async def remove(self, path: str) -> None:
        self._change()
        await self._files.remove(path)


FULL = patch(
    "*** Update File: shop.py",
    "*** Move to: src/shop.py",
    *UPDATE.splitlines(),
    "*** Add File: new.py",
    "+x = 1",
    "*** Delete File: old.py",
    "*** Update File: a.txt",
    "@@",
    "+import os",
    "*** Update File: b.txt",
    " b",
    "-b2",
)


@pytest.mark.parametrize("changes", range(7))
async def test_a_patch_that_was_cut_is_finished_by_the_second_run(changes: int, sandbox: Sandbox) -> None:
    files: Any = DyingFiles(sandbox.files, changes)
    for path, data in {"old.py": b"old", "a.txt": b"a\n", "b.txt": b"b\nb2\n"}.items():
        await sandbox.files.write(path, data)
    context = ToolContext[Any](None)
    try:
        await apply_changes(files, FULL, context)
    except Cut:
        assert changes < 6
    await apply_changes(sandbox.files, FULL, context)
    assert await contents(sandbox.files) == {
        "src/shop.py": SHOP.replace(b"0", b"1"),
        "new.py": b"x = 1",
        "a.txt": b"import os\na\n",
        "b.txt": b"b\n",
    }


async def test_a_patch_that_was_cut_does_not_go_on_where_somebody_else_has_changed_a_file(sandbox: Sandbox) -> None:
    files: Any = DyingFiles(sandbox.files, 0)
    context = ToolContext[Any](None)
    change = patch("*** Update File: shop.py", *UPDATE.splitlines())
    with pytest.raises(Cut):
        await apply_changes(files, change, context)
    await sandbox.files.write("shop.py", b"other")
    with pytest.raises(PatchError, match=r"'shop\.py' is neither as it was nor as the patch makes it"):
        await apply_changes(sandbox.files, change, context)
    assert await sandbox.files.read("shop.py") == b"other"


WORDS = st.lists(st.sampled_from(["a", "b", "c", ""]), min_size=1, max_size=6)


@settings(max_examples=60)
@given(st.lists(st.tuples(WORDS, WORDS, st.booleans()), min_size=1, max_size=3), st.lists(st.integers(0, 4), max_size=3))
async def test_a_patch_is_made_once_however_often_it_was_cut(
    edits: list[tuple[list[str], list[str], bool]], cuts: list[int]
) -> None:
    async with LocalSandbox(unsafe=True) as made:
        todo: list[FileChange] = []
        for number, (old, new, moves) in enumerate(edits):
            await made.files.write(f"{number}.txt", "\n".join(old).encode())
            diff = "\n".join([*(f"-{x}" for x in old), *(f"+{x}" for x in new)])
            todo.append(FileChange("update_file", f"{number}.txt", diff, f"to/{number}.txt" if moves else None))
        context = ToolContext[Any](None)
        for changes in cuts:
            files: Any = DyingFiles(made.files, changes)
            try:
                await apply_changes(files, todo, context)
            except Cut:
                continue
        await apply_changes(made.files, todo, context)
        wanted = {f"to/{n}.txt" if moves else f"{n}.txt": "\n".join(new).encode() for n, (_, new, moves) in enumerate(edits)}
        assert await contents(made.files) == wanted


async def test_a_cancelled_patch_is_put_back(sandbox: Sandbox) -> None:
    class Slow(DyingFiles):
        async def write(self, path: str, data: bytes, *, mode: int | None = None) -> None:
            if path == "second.txt" and data == b"2":
                running.cancel()
                await asyncio.sleep(0)
            await self._files.write(path, data, mode=mode)

    files: Any = Slow(sandbox.files, -1)
    running = asyncio.ensure_future(
        apply_changes(files, patch("*** Add File: first.txt", "+1", "*** Add File: second.txt", "+2"), ToolContext[Any](None))
    )
    with pytest.raises(asyncio.CancelledError):
        await running
    assert await contents(sandbox.files) == {"shop.py": SHOP}


def test_what_is_no_sandbox_is_refused() -> None:
    nothing: Any = object()
    with pytest.raises(UserError, match="expected a Sandbox"):
        ApplyPatchTool(nothing)
