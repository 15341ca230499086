"""A memory's file, as people, crashes and others find and leave it."""

from __future__ import annotations

import itertools
import os
import subprocess
import sys
from collections.abc import AsyncIterator, Callable
from pathlib import Path
from typing import Any

import pytest

from agentsdk.errors import MemoryFileError
from agentsdk.patterns import Memory
from agentsdk.testing import ScriptedModel
from tests.patterns.keeping import conversation, noting

pytestmark = pytest.mark.anyio


@pytest.fixture
async def memory(tmp_path: Path) -> AsyncIterator[Memory]:
    """One whose dreams would note something, with a conversation to take in."""
    memory = Memory(tmp_path / "memories", user="ada", model=ScriptedModel(noting("- A.")))
    await memory.remember(await conversation("Hello."), dream=False)
    memory.path.parent.mkdir()
    yield memory
    await memory.aclose()


def a_link(path: Path) -> None:
    (path.parent.parent.parent / "secret").write_text("secret")
    path.symlink_to(path.parent.parent.parent / "secret")


def a_link_to_nothing(path: Path) -> None:
    path.symlink_to(path.parent.parent.parent / "nothing")


def a_folder_that_is_a_link(path: Path) -> None:
    elsewhere = path.parent.parent.parent / "elsewhere"
    elsewhere.mkdir()
    (elsewhere / path.name).write_text("secret")
    path.parent.rmdir()
    path.parent.symlink_to(elsewhere)


def a_folder(path: Path) -> None:
    path.mkdir()


def a_pipe(path: Path) -> None:
    os.mkfifo(path)


@pytest.mark.parametrize("make", [a_link, a_link_to_nothing, a_folder_that_is_a_link, a_folder, a_pipe])
async def test_what_is_no_file_is_neither_read_nor_written(
    memory: Memory, make: Callable[[Path], None], tmp_path: Path
) -> None:
    make(memory.path)
    for use in (memory.recall, memory.dream):
        with pytest.raises(MemoryFileError, match="expected a f") as raised:
            await use()
        assert "secret" not in str(raised.value)
    assert not (tmp_path / "nothing").exists()
    for name in ("secret", "elsewhere/ada.md"):
        assert not (tmp_path / name).exists() or (tmp_path / name).read_text() == "secret"


GARBAGE = {
    "no UTF-8": (b"- Likes tea.\n\xff\xfe\x00\n- Lives in Bonn.\n", "is no UTF-8 text"),
    "20 MB": (b"- 2026-01-01: A line of many.\n" * 700_000 + b"- 2027-01-01: The last.\n", "more than 131072 bytes"),
    "a line of 20 MB": (b"x" * 20_000_000, "more than 131072 bytes"),
}


@pytest.mark.parametrize("kind", GARBAGE)
async def test_garbage_is_told_as_far_as_it_goes_and_left_as_it_is(memory: Memory, kind: str) -> None:
    content, why = GARBAGE[kind]
    memory.path.write_bytes(content)
    (message,) = await memory.recall()
    assert len(message.text) < 20_000
    if kind == "20 MB":
        assert "- 2027-01-01: The last.\n</memory-" in message.text and "older lines are left out" in message.text
    with pytest.raises(MemoryFileError, match=why):
        await memory.dream()
    with pytest.raises(MemoryFileError, match=why):
        await memory.undo()
    assert await memory.history() == []
    assert memory.path.read_bytes() == content
    memory.path.unlink()
    change = await memory.dream()
    assert change is not None and change.after == "- A.\n", "the conversation has waited"


async def test_permissions_of_a_file_are_left_as_they_are(memory: Memory) -> None:
    memory.path.write_text("- B.\n")
    memory.path.chmod(0o640)
    await memory.dream()
    assert memory.path.read_text() == "- B.\n- A.\n" and memory.path.stat().st_mode & 0o777 == 0o640


async def test_a_folder_that_is_gone_is_said(memory: Memory, tmp_path: Path) -> None:
    (tmp_path / "memories").rename(tmp_path / "away")
    assert await memory.recall() == []
    with pytest.raises(MemoryFileError):
        await memory.dream()


DIES = """
import asyncio, os, sys
from pathlib import Path
from agentsdk.patterns import Memory
from agentsdk.patterns.memory.ledger import Ledger
from agentsdk.testing import ScriptedModel
from tests.patterns.keeping import conversation, noting

def dying(owner, name, when):
    real = getattr(owner, name)
    def call(*args, **kwargs):
        if when == "before":
            os._exit(9)
        real(*args, **kwargs)
        os._exit(9)
    setattr(owner, name, call)

places = {"rename": os, "fchmod": os, "_intended": Ledger, "_made": Ledger, "write_draft": Ledger}

async def main():
    memory = Memory(sys.argv[1], model=ScriptedModel(noting("- New.")))
    await memory.remember(await conversation("Hello."), dream=False)
    place, when = sys.argv[2:]
    dying(places[place], place, when)
    await memory.dream()

asyncio.run(main())
"""

PLACES = [
    ("write_draft", "before"),
    ("_intended", "before"),
    ("_intended", "after"),
    ("fchmod", "after"),
    ("rename", "before"),
    ("rename", "after"),
    ("_made", "after"),
]


@pytest.mark.parametrize(("place", "when"), PLACES, ids=[f"{when} {place}" for place, when in PLACES])
async def test_a_process_that_dies_leaves_the_old_file_or_the_new_one_whole(place: str, when: str, tmp_path: Path) -> None:
    folder = tmp_path / "memories"
    folder.mkdir()
    (folder / "MEMORY.md").write_text("- Old.\n")
    died = subprocess.run(
        [sys.executable, "-c", DIES, str(folder), place, when], capture_output=True, text=True, timeout=60, check=False
    )
    assert died.returncode == 9, died.stderr
    text = (folder / "MEMORY.md").read_text()
    is_made = (place, when) in (("rename", "after"), ("_made", "after"))
    assert text == ("- Old.\n- New.\n" if is_made else "- Old.\n")

    keeper = ScriptedModel(noting("- New."))
    memory = Memory(folder, model=keeper)
    change = await memory.dream()
    assert (folder / "MEMORY.md").read_text() == "- Old.\n- New.\n", "once"
    assert (change is None, len(keeper.requests)) == (is_made, 0 if is_made else 2), "a change that was made counts"
    history = await memory.history()
    assert [(change.before, change.after) for change in history] == [("- Old.\n", "- Old.\n- New.\n")]
    await memory.undo()
    assert (folder / "MEMORY.md").read_text() == "- Old.\n"
    await memory.aclose()
    assert {path.name for path in folder.iterdir()} == {"MEMORY.md", ".state"}


async def test_a_full_disk_leaves_the_old_file(memory: Memory, monkeypatch: pytest.MonkeyPatch) -> None:
    memory.path.write_text("- Old.\n")

    def full(*args: Any, **kwargs: Any) -> None:
        raise OSError(28, "No space left on device")

    with monkeypatch.context() as patched:
        patched.setattr(os, "fchmod", full)
        with pytest.raises(MemoryFileError, match="the disk is full"):
            await memory.dream()
    assert memory.path.read_text() == "- Old.\n" and [path.name for path in memory.path.parent.iterdir()] == ["ada.md"]
    assert await memory.history() == []


NOTES = """
import asyncio, sys
from agentsdk.errors import SandboxFileError
from agentsdk.patterns import Memory
from agentsdk.tools import ToolContext

async def main(folder, who):
    memory = Memory(folder, keep_changes=100)
    for number in range(15):
        given = {"command": "insert", "path": "MEMORY.md", "insert_line": 0, "insert_text": f"- {who} {number}."}
        while True:
            try:
                await memory.tool().invoke(ToolContext(None), given)
                break
            except SandboxFileError as error:
                assert "changed by others" in str(error)
    await memory.aclose()

asyncio.run(main(*sys.argv[1:]))
"""


async def test_no_change_of_several_processes_at_once_is_lost(tmp_path: Path) -> None:
    folder = tmp_path / "memories"
    folder.mkdir()
    (folder / "MEMORY.md").write_text("- First.\n")
    command = [sys.executable, "-c", NOTES, str(folder)]
    noting = [subprocess.Popen([*command, who], stderr=subprocess.PIPE, text=True) for who in ("ada", "ben", "eve")]
    for process in noting:
        _, said = process.communicate(timeout=60)
        assert process.returncode == 0, said
    lines = (folder / "MEMORY.md").read_text().splitlines()
    assert sorted(lines) == sorted(
        ["- First.", *[f"- {who} {number}." for who in ("ada", "ben", "eve") for number in range(15)]]
    )
    memory = Memory(folder)
    history = await memory.history()
    assert len(history) == 45
    assert all(earlier.after == later.before for earlier, later in itertools.pairwise(history))
    await memory.aclose()
