"""What SQLite adds: files, processes, locks, damage."""

from __future__ import annotations

import asyncio
import functools
import gc
import os
import sqlite3
import subprocess
import sys
import threading
import weakref
from collections.abc import Sequence
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from agentsdk.sessions.sqlite import SQLiteSession
from agentsdk.types.errors import SessionBusyError, SessionError, UserError
from agentsdk.types.items import Message

SECRET = "correct horse battery staple"


def said(*texts: str) -> list[Message]:
    return [Message("user", text) for text in texts]


def threads() -> list[threading.Thread]:
    return [thread for thread in threading.enumerate() if thread.name.startswith("agentsdk ")]


@pytest.mark.anyio
async def test_a_conversation_outlives_its_session_object(tmp_path: Path) -> None:
    first = SQLiteSession("s", tmp_path / "s.db")
    await first.add_items(said("one"))
    await first.aclose()
    second = SQLiteSession("s", tmp_path / "s.db")
    assert await second.get_items() == said("one")
    await second.aclose()
    assert threads() == []


@pytest.mark.anyio
async def test_sessions_of_one_file_do_not_see_each_other(tmp_path: Path) -> None:
    ids = ["a", "A", "a ", "a\0b", "a\0c", "../../etc/passwd", "'; DROP TABLE agentsdk_session_items; --", "%", "日本"]
    sessions = [SQLiteSession(session_id, tmp_path / "s.db") for session_id in ids]
    for session in sessions:
        await session.add_items(said(repr(session.session_id)))
    for session in sessions:
        assert await session.get_items() == said(repr(session.session_id))
    await sessions[0].clear_session()
    assert await sessions[0].get_items() == []
    assert await sessions[1].get_items() == said("'A'")
    assert len(threads()) == 1, "the sessions of a file share its thread"
    for session in sessions:
        await session.aclose()
    assert threads() == []
    assert [path.name for path in tmp_path.iterdir()] == ["s.db"]


@given(ids := st.text(st.characters(codec="utf-8"), max_size=30).filter(str.strip), ids)
@settings(max_examples=25)
def test_ids_are_told_apart(tmp_path: Path, one: str, other: str) -> None:
    async def main() -> None:
        path = tmp_path / "ids.db"
        a, b = SQLiteSession(one, path), SQLiteSession(other, path)
        await a.clear_session()
        await b.clear_session()
        await a.add_items(said("a"))
        assert await b.get_items() == (said("a") if one == other else [])
        a.close()
        b.close()

    asyncio.run(main())


def test_what_cannot_be_an_id_or_a_path() -> None:
    with pytest.raises(UserError, match="surrogates"):
        SQLiteSession("\ud800")
    with pytest.raises(UserError, match="db_path is ''"):
        SQLiteSession("s", "")


@pytest.mark.anyio
async def test_closing_is_final_and_may_be_repeated(tmp_path: Path) -> None:
    session = SQLiteSession("s", tmp_path / "s.db")
    session.close()
    session = SQLiteSession("s", tmp_path / "s.db")
    await session.get_items()
    session.close()
    await session.aclose()
    with pytest.raises(SessionError, match="is closed"):
        await session.get_items()


@pytest.mark.anyio
async def test_a_dropped_session_lets_go_of_its_file(tmp_path: Path) -> None:
    session = SQLiteSession("s", tmp_path / "s.db")
    await session.add_items(said("one"))
    await session.get_items()
    (thread,) = threads()
    gone = weakref.ref(session)
    del session
    gc.collect()
    assert gone() is None
    await asyncio.to_thread(thread.join, 10)
    assert not thread.is_alive()


WRITER = """
import asyncio, sys
from agentsdk.sessions.sqlite import SQLiteSession
from agentsdk.types.items import Message

async def main(path, name):
    for number in range(25):
        session = SQLiteSession("shared", path)
        await session.add_items([Message("user", f"{name} {number} {part}") for part in range(3)])
        await session.aclose()

asyncio.run(main(*sys.argv[1:]))
"""


@pytest.mark.anyio
async def test_eight_processes_write_one_new_file_without_an_error(tmp_path: Path) -> None:
    path = str(tmp_path / "s.db")
    writers = [
        await asyncio.create_subprocess_exec(sys.executable, "-W", "error", "-c", WRITER, path, str(name)) for name in range(8)
    ]
    assert [await writer.wait() for writer in writers] == [0] * 8
    session = SQLiteSession("shared", path)
    texts = [item.text for item in await session.get_items() if isinstance(item, Message)]
    await session.aclose()
    assert len(texts) == 8 * 25 * 3
    for at in range(0, len(texts), 3):
        name, number, _ = texts[at].split()
        assert texts[at : at + 3] == [f"{name} {number} {part}" for part in range(3)]


KILLED = """
import asyncio, sys
from agentsdk.sessions.sqlite import SQLiteSession
from agentsdk.types.items import Message

async def main(path):
    session = SQLiteSession("s", path)
    number = 0
    while True:
        await session.add_items([Message("user", f"{number} {part}") for part in range(50)])
        number += 1
        print(number, flush=True)

asyncio.run(main(sys.argv[1]))
"""


@pytest.mark.anyio
async def test_a_killed_process_leaves_whole_batches(tmp_path: Path) -> None:
    path = str(tmp_path / "s.db")
    for _ in range(3):
        with subprocess.Popen([sys.executable, "-c", KILLED, path], stdout=subprocess.PIPE, text=True) as process:
            assert process.stdout
            confirmed = 0
            for line in process.stdout:
                confirmed = int(line)
                if confirmed == 5:
                    process.kill()
                    break
            process.stdout.read()
        session = SQLiteSession("s", path)
        texts = [item.text for item in await session.get_items() if isinstance(item, Message)]
        await session.clear_session()
        await session.aclose()
        assert len(texts) >= confirmed * 50
        assert texts == [f"{number} {part}" for number in range(len(texts) // 50) for part in range(50)]


@pytest.mark.anyio
async def test_a_cancelled_write_has_ended_when_the_cancel_goes_on(tmp_path: Path) -> None:
    path = tmp_path / "s.db"
    session = SQLiteSession("s", path)
    await session.get_items()
    blocker = sqlite3.connect(path, isolation_level=None)
    blocker.execute("BEGIN IMMEDIATE")
    write = asyncio.create_task(session.add_items(said("one", "two")))
    for _ in range(3):
        await asyncio.sleep(0)
    write.cancel()
    for _ in range(3):
        await asyncio.sleep(0)
    assert not write.done(), "the write waits for the lock, so its outcome is still open"
    blocker.execute("ROLLBACK")
    blocker.close()
    with pytest.raises(asyncio.CancelledError):
        await write
    assert await session.get_items() == said("one", "two")
    await session.aclose()


@pytest.mark.anyio
async def test_a_cancelled_write_that_fails_leaves_nothing(tmp_path: Path) -> None:
    path = tmp_path / "s.db"
    session = SQLiteSession("s", path, busy_timeout=0.01)
    await session.get_items()
    blocker = sqlite3.connect(path, isolation_level=None)
    blocker.execute("BEGIN IMMEDIATE")
    write = asyncio.create_task(session.add_items(said("one", "two")))
    await asyncio.sleep(0)
    write.cancel()
    with pytest.raises(asyncio.CancelledError):
        await write
    blocker.close()
    assert await session.get_items() == []
    await session.aclose()


@pytest.mark.anyio
async def test_a_replacement_that_fails_halfway_changes_nothing(tmp_path: Path) -> None:
    path = tmp_path / "s.db"
    session = SQLiteSession("s", path)
    await session.add_items(said("one", "two"))
    connection = sqlite3.connect(path)
    connection.execute(
        "CREATE TRIGGER halfway BEFORE INSERT ON agentsdk_session_items WHEN NEW.item LIKE '%four%' "
        "BEGIN SELECT RAISE(ABORT, 'no'); END"
    )
    connection.close()
    with pytest.raises(SessionError):
        await session.replace_latest(said("two"), said("three", "four"))
    assert await session.get_items() == said("one", "two")
    await session.aclose()


REPLACER = """
import asyncio, sys
from agentsdk.sessions.sqlite import SQLiteSession
from agentsdk.types.items import Message

async def main(path, name):
    session = SQLiteSession("s", path)
    won = 0
    while won < 25:
        *_, first, second = await session.get_items()
        after = [Message("user", f"{name} {won} {part}") for part in range(2)]
        won += await session.replace_latest([first, second], [Message("user", "seen"), *after])
    await session.aclose()

asyncio.run(main(*sys.argv[1:]))
"""


@pytest.mark.anyio
async def test_processes_that_replace_at_once_lose_nothing(tmp_path: Path) -> None:
    path = str(tmp_path / "s.db")
    session = SQLiteSession("s", path)
    await session.add_items(said("first", "second"))
    replacers = [await asyncio.create_subprocess_exec(sys.executable, "-c", REPLACER, path, str(name)) for name in range(4)]
    assert [await replacer.wait() for replacer in replacers] == [0] * 4
    texts = [item.text for item in await session.get_items() if isinstance(item, Message)]
    await session.aclose()
    assert texts[:-2] == ["seen"] * 100, "each that won took away two and left one more than it found"
    assert texts[-2].split()[:2] == texts[-1].split()[:2]


KILLED_REPLACING = """
import asyncio, sys
from agentsdk.sessions.sqlite import SQLiteSession
from agentsdk.types.items import Message

async def main(path):
    session = SQLiteSession("s", path)
    items = []
    for number in range(100_000):
        after = [Message("user", f"{number} {part}") for part in range(50)]
        assert await session.replace_latest(items, after)
        items = after
        print(number, flush=True)

asyncio.run(main(sys.argv[1]))
"""


@pytest.mark.anyio
async def test_a_process_killed_while_it_replaces_leaves_the_one_or_the_other(tmp_path: Path) -> None:
    path = str(tmp_path / "s.db")
    for _ in range(3):
        with subprocess.Popen([sys.executable, "-c", KILLED_REPLACING, path], stdout=subprocess.PIPE, text=True) as process:
            assert process.stdout
            confirmed = next(int(line) for line in process.stdout if int(line) == 5)
            process.kill()
            process.stdout.read()
        session = SQLiteSession("s", path)
        texts = [item.text for item in await session.get_items() if isinstance(item, Message)]
        await session.clear_session()
        await session.aclose()
        number = int(texts[0].split()[0])
        assert number >= confirmed
        assert texts == [f"{number} {part}" for part in range(50)]


@pytest.mark.anyio
async def test_a_cancelled_replacement_has_ended_when_the_cancel_goes_on(tmp_path: Path) -> None:
    path = tmp_path / "s.db"
    session = SQLiteSession("s", path)
    await session.add_items(said("one", "two"))
    blocker = sqlite3.connect(path, isolation_level=None)
    blocker.execute("BEGIN IMMEDIATE")
    write = asyncio.create_task(session.replace_latest(said("two"), said("three", "four")))
    for _ in range(3):
        await asyncio.sleep(0)
    write.cancel()
    for _ in range(3):
        await asyncio.sleep(0)
    assert not write.done(), "the write waits for the lock, so its outcome is still open"
    blocker.execute("ROLLBACK")
    blocker.close()
    with pytest.raises(asyncio.CancelledError):
        await write
    assert await session.get_items() == said("one", "three", "four")
    await session.aclose()


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


FORKED = """
import asyncio, os, sys
from agentsdk.sessions.sqlite import SQLiteSession
from agentsdk.types.items import Message

session = SQLiteSession("s", sys.argv[1])
asyncio.run(session.add_items([Message("user", "parent")]))
child = os.fork()
asyncio.run(session.add_items([Message("user", "child" if child == 0 else "parent")]))
if child == 0:
    os._exit(0)
assert os.waitpid(child, 0)[1] == 0
print(sorted(item.text for item in asyncio.run(session.get_items())))
"""


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")
def test_a_session_used_before_a_fork_works_in_both_processes(tmp_path: Path) -> None:
    command = [sys.executable, "-c", FORKED, str(tmp_path / "s.db")]
    outcome = subprocess.run(command, capture_output=True, text=True, timeout=60, check=False)
    assert outcome.stdout == "['child', 'parent', 'parent']\n", outcome.stderr


def test_a_process_that_never_closes_ends_without_a_warning(tmp_path: Path) -> None:
    script = """
import asyncio, sys
from agentsdk.sessions.sqlite import SQLiteSession
session = SQLiteSession("s", sys.argv[1])
asyncio.run(session.add_items([{"role": "user", "content": "hi"}]))
"""
    command = [sys.executable, "-X", "dev", "-W", "error", "-c", script, str(tmp_path / "s.db")]
    outcome = subprocess.run(command, capture_output=True, text=True, timeout=60, check=False)
    assert (outcome.returncode, outcome.stdout, outcome.stderr) == (0, "", "")


@pytest.mark.anyio
async def test_reading_the_latest_reads_only_those(tmp_path: Path) -> None:
    path = tmp_path / "s.db"
    session = SQLiteSession("s", path)
    await session.add_items(said(*map(str, range(100))))
    connection = sqlite3.connect(path)
    plan = connection.execute(
        "EXPLAIN QUERY PLAN SELECT id FROM agentsdk_session_items WHERE session_id = 's' ORDER BY id DESC LIMIT 5"
    ).fetchall()
    connection.close()
    assert "SEARCH" in plan[0][3] and len(plan) == 1, "an index gives the rows in order: no scan, no sort"
    assert await session.get_items(5) == said("95", "96", "97", "98", "99")
    await session.aclose()
