"""Locks, races to open, wrong files, damage, full disks: a typed error, and the conversation is as it was."""

from __future__ import annotations

import asyncio
import functools
import os
import sqlite3
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

import pytest

from agentsdk.sessions.sqlite import SQLiteSession
from agentsdk.types.errors import SessionBusyError, SessionError
from agentsdk.types.items import Message

SECRET = "correct horse battery staple"


def said(*texts: str) -> list[Message]:
    return [Message("user", text) for text in texts]


@pytest.mark.anyio
async def test_a_lock_held_too_long_is_a_busy_session(tmp_path: Path) -> None:
    path = tmp_path / "s.db"
    session = SQLiteSession("s", path, busy_timeout=0.01)
    await session.add_items(said("before"))
    blocker = sqlite3.connect(path, isolation_level=None)
    blocker.execute("BEGIN EXCLUSIVE")
    with pytest.raises(SessionBusyError, match=r"stayed locked for 0\.01 s") as caught:
        await session.add_items(said(SECRET))
    assert SECRET not in f"{caught.value!r} {caught.value.__cause__!r}"
    blocker.close()
    assert await session.get_items() == said("before")
    await session.add_items(said("after"))
    assert await session.get_items() == said("before", "after")
    await session.aclose()


@pytest.mark.anyio
async def test_a_lock_while_opening_is_a_busy_session(tmp_path: Path) -> None:
    blocker = sqlite3.connect(tmp_path / "s.db", isolation_level=None)
    blocker.execute("BEGIN EXCLUSIVE")
    session = SQLiteSession("s", tmp_path / "s.db", busy_timeout=0.01)
    with pytest.raises(SessionBusyError):
        await session.get_items()
    blocker.close()
    assert await session.get_items() == [], "the next call opens the file anew"
    await session.aclose()


@pytest.mark.anyio
@pytest.mark.parametrize("lock", [("BEGIN EXCLUSIVE",), ("CREATE TABLE t (x)", "BEGIN", "SELECT * FROM t")])
async def test_a_lock_while_opening_is_waited_for(lock: tuple[str, ...], tmp_path: Path) -> None:
    blocker = sqlite3.connect(tmp_path / "s.db", isolation_level=None)
    for statement in lock:
        blocker.execute(statement)
    session = SQLiteSession("s", tmp_path / "s.db")
    write = asyncio.create_task(session.add_items(said("one")))
    done, _ = await asyncio.wait((write,), timeout=0.05)
    assert not done
    blocker.execute("COMMIT")
    assert blocker.execute("PRAGMA journal_mode").fetchone() == ("delete",)
    blocker.close()
    await write
    other = sqlite3.connect(tmp_path / "s.db")
    assert other.execute("PRAGMA journal_mode").fetchone() == ("wal",)
    other.close()
    await session.aclose()


class LosesTheRace(sqlite3.Connection):
    """Of connections that switch a new file to WAL at once SQLite lets some fail without a wait: about one in a hundred."""

    lost = 0

    def execute(self, sql: str, parameters: Sequence[object] = (), /) -> sqlite3.Cursor:
        if "journal_mode" in sql and LosesTheRace.lost < 2:
            LosesTheRace.lost += 1
            error = sqlite3.OperationalError("database is locked")
            error.sqlite_errorcode = sqlite3.SQLITE_BUSY
            raise error
        return super().execute(sql, parameters)


@pytest.mark.anyio
async def test_a_lost_race_to_open_a_new_file_is_run_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sqlite3, "connect", functools.partial(sqlite3.connect, factory=LosesTheRace))
    session = SQLiteSession("s", tmp_path / "s.db")
    await session.add_items(said("one"))
    await session.aclose()
    assert LosesTheRace.lost == 2


def not_a_database(path: Path) -> None:
    path.write_text("a letter to nobody\n" * 100)


def a_folder(path: Path) -> None:
    path.mkdir()


def another_table(path: Path) -> None:
    connection = sqlite3.connect(path)
    connection.execute("CREATE TABLE agentsdk_session_items (id INTEGER PRIMARY KEY, other TEXT)")
    connection.close()


@pytest.mark.anyio
@pytest.mark.parametrize(
    ("make", "says"), [(not_a_database, "is not a SQLite database"), (a_folder, "cannot be opened"), (another_table, "table")]
)
async def test_a_wrong_file_is_a_typed_error_and_stays_as_it_is(make: object, says: str, tmp_path: Path) -> None:
    path = tmp_path / "x"
    assert callable(make)
    make(path)
    before = path.read_bytes() if path.is_file() else b""
    session = SQLiteSession("s", path)
    with pytest.raises(SessionError, match=says):
        await session.add_items(said(SECRET))
    await session.aclose()
    if make is not another_table:
        assert (path.read_bytes() if path.is_file() else b"") == before


@pytest.mark.anyio
async def test_a_missing_folder_is_a_typed_error(tmp_path: Path) -> None:
    session = SQLiteSession("s", tmp_path / "no" / "s.db")
    with pytest.raises(SessionError, match=r"existing folder.*SQLITE_CANTOPEN"):
        await session.get_items()
    await session.aclose()


@pytest.mark.anyio
async def test_a_damaged_file_is_a_typed_error(tmp_path: Path) -> None:
    path = tmp_path / "s.db"
    session = SQLiteSession("s", path)
    for _ in range(50):
        await session.add_items(said("x" * 500))
    await session.aclose()
    damaged = bytearray(path.read_bytes())
    damaged[4096:] = os.urandom(len(damaged) - 4096)
    path.write_bytes(damaged)
    session = SQLiteSession("s", path)
    with pytest.raises(SessionError, match="is damaged"):
        await session.get_items()
    await session.aclose()


@pytest.mark.anyio
@pytest.mark.parametrize("row", [b"{", b'{"type":"secret"}', b'{"type":"message","role":"user","content":"\xff"}', b"null"])
async def test_a_row_that_is_no_item_is_a_typed_error_without_its_value(row: bytes, tmp_path: Path) -> None:
    path = tmp_path / "s.db"
    session = SQLiteSession("s", path)
    await session.add_items(said("one"))
    connection = sqlite3.connect(path)
    with connection:
        connection.execute("INSERT INTO agentsdk_session_items (session_id, item) VALUES ('s', CAST(? AS TEXT))", (row,))
    connection.close()
    for call in (session.get_items, session.pop_item, lambda: session.replace_latest(said("one"), [])):
        with pytest.raises(SessionError, match=r"row 2 of .* is not an item") as caught:
            await call()
        assert "secret" not in str(caught.value)
    await session.clear_session()
    assert await session.get_items() == []
    await session.aclose()


FULL = """
import asyncio, resource, sys
from agentsdk.sessions.sqlite import SQLiteSession
from agentsdk.types.errors import SessionError
from agentsdk.types.items import Message

async def main(path):
    session = SQLiteSession("s", path)
    await session.add_items([Message("user", "kept")])
    resource.setrlimit(resource.RLIMIT_FSIZE, (200_000, 200_000))
    try:
        await session.add_items([Message("user", "x" * 1000) for _ in range(1000)])
    except SessionError as error:
        print(type(error).__name__, len(str(error)) < 300)
    assert await session.get_items() == [Message("user", "kept")]
    await session.add_items([Message("user", "small")])
    print(len(await session.get_items()))
    await session.aclose()

asyncio.run(main(sys.argv[1]))
"""


@pytest.mark.skipif(sys.platform == "win32", reason="needs a limit on the size of files")
def test_a_full_disk_is_a_typed_error_and_keeps_the_last_turn(tmp_path: Path) -> None:
    command = [sys.executable, "-W", "error", "-c", FULL, str(tmp_path / "s.db")]
    outcome = subprocess.run(command, capture_output=True, text=True, timeout=60, check=False)
    assert (outcome.stdout, outcome.stderr) == ("SessionError True\n2\n", "")
