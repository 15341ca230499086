"""What SQLite adds to a session: files, processes, forks, cancellations."""

from __future__ import annotations

import asyncio
import gc
import os
import sqlite3
import subprocess
import sys
import threading
import weakref
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from agentsdk.sessions.sqlite import SQLiteSession
from agentsdk.types.errors import SessionError, UserError
from agentsdk.types.items import Message


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
    async with asyncio.timeout(10):
        while gone() is not None:  # the thread says that a read is done just before it forgets it
            await asyncio.to_thread(gc.collect)
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


@pytest.mark.anyio
async def test_a_session_that_an_earlier_version_begins_meanwhile_is_listed(tmp_path: Path) -> None:
    path = tmp_path / "s.db"
    session = SQLiteSession("new", path)
    await session.add_items(said("one"))
    connection = sqlite3.connect(path)
    item = '{"type":"message","role":"user","content":"hello"}'
    connection.execute("INSERT INTO agentsdk_session_items (session_id, item) VALUES ('old', ?)", (item,))
    connection.commit()
    connection.close()
    assert [(known.session_id, known.items) for known in await SQLiteSession.list(path)] == [("new", 1), ("old", 1)]
    await session.aclose()


@pytest.mark.anyio
async def test_metadata_that_is_none_is_a_typed_error_without_its_value(tmp_path: Path) -> None:
    path = tmp_path / "s.db"
    session = SQLiteSession("s", path)
    await session.add_items(said("one"))
    connection = sqlite3.connect(path)
    connection.execute("UPDATE agentsdk_sessions SET metadata = '{\"secret\": 5'")
    connection.commit()
    connection.close()
    with pytest.raises(SessionError, match=r"row of session 's' in .* holds no metadata") as caught:
        await session.summary()
    assert "secret" not in str(caught.value)
    await session.aclose()


@pytest.mark.parametrize("path", ["chats.db", "data/chats.sqlite3"])
def test_a_path_in_place_of_the_id_is_told(path: str, tmp_path: Path) -> None:
    """The conversation would be kept in memory, and nobody would miss the file until the process has ended."""
    with pytest.warns(RuntimeWarning, match=rf"kept in memory; to keep it in the file write SQLiteSession\('id', '{path}'\)$"):
        SQLiteSession(path).close()
    SQLiteSession(path, tmp_path / "chats.db").close()
    SQLiteSession("ada.dbx").close()
