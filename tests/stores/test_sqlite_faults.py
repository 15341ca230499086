"""Locks, forks, cancellations, full disks, wrong and damaged files: a typed error, and nothing acknowledged is lost."""

from __future__ import annotations

import asyncio
import contextlib
import os
import re
import sqlite3
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from agentsdk.types.errors import RunConflictError, StoreBusyError, StoreError
from agentsdk.types.summary import RunQuery
from tests.stores.sqlite_runs import opened, python, run

pytestmark = pytest.mark.anyio

SECRET = "correct horse battery staple"


FORKED = """
import warnings

warnings.simplefilter("ignore")  # of a fork with threads, from Python 3.12 on
store = SQLiteRunStore(sys.argv[1])
asyncio.run(store.append("parent", 0, [b"1"], run("parent", 1)))
to_parent, to_child = os.pipe(), os.pipe()
child = os.fork()
if child == 0:
    asyncio.run(store.append("child", 0, [b"1"], run("child", 1)))
    os.write(to_parent[1], b"!")
    os.read(to_child[0], 1)
    asyncio.run(store.append("child", 1, [b"2"], run("child", 2)))
    os._exit(0)
os.read(to_parent[0], 1)
asyncio.run(store.append("parent", 1, [b"2"], run("parent", 2)))
asyncio.run(store.aclose())  # the last of a file's connections removes the write-ahead log
os.write(to_child[1], b"!")
assert os.waitpid(child, 0)[1] == 0
"""


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")
async def test_a_store_used_before_a_fork_works_in_both_processes(tmp_path: Path) -> None:
    process = await python(FORKED, str(tmp_path / "r.db"))
    assert await process.wait() == 0
    async with opened(tmp_path / "r.db") as store:
        assert [await store.read(run_id) for run_id in ("parent", "child")] == [[b"1", b"2"], [b"1", b"2"]]


async def test_a_cancelled_append_has_ended_when_the_cancel_goes_on(tmp_path: Path) -> None:
    async with opened(tmp_path / "r.db") as store:
        await store.append("r", 0, [b"1"], run("r", 1))
        blocker = sqlite3.connect(tmp_path / "r.db", isolation_level=None)
        blocker.execute("BEGIN IMMEDIATE")
        append = asyncio.create_task(store.append("r", 1, [b"2", b"3"], run("r", 3)))
        for _ in range(3):
            await asyncio.sleep(0)
            append.cancel()
        await asyncio.sleep(0)
        assert not append.done(), "the append waits for the lock, so its outcome is still open"
        blocker.execute("ROLLBACK")
        blocker.close()
        with pytest.raises(asyncio.CancelledError):
            await append
        assert await store.read("r") == [b"1", b"2", b"3"]


async def test_a_lock_held_too_long_is_a_busy_store(tmp_path: Path) -> None:
    async with opened(tmp_path / "r.db", busy_timeout=0.01) as store:
        await store.append("r", 0, [b"1"], run("r", 1))
        blocker = sqlite3.connect(tmp_path / "r.db", isolation_level=None)
        blocker.execute("BEGIN EXCLUSIVE")
        with pytest.raises(StoreBusyError, match=r"run database '.*r\.db' stayed locked for 0\.01 s") as caught:
            await store.append("r", 1, [SECRET.encode()], run("r", 2))
        assert SECRET not in f"{caught.value!r} {caught.value.__cause__!r}"
        assert await store.read("r") == [b"1"], "a writer does not keep readers out"
        blocker.close()
        await store.append("r", 1, [b"2"], run("r", 2))
        assert await store.read("r") == [b"1", b"2"]


async def test_a_full_disk_keeps_what_was_there_and_the_store_goes_on(tmp_path: Path) -> None:
    async with opened(tmp_path / "r.db") as store:
        await store.append("r", 0, [b"1"], run("r", 1))
        await store.attach("r", "n", b"before")
        await store._database.run(lambda connection: connection.execute("PRAGMA max_page_count = 1").fetchone())
        too_much = SECRET.encode() * 1_000
        for call in (
            lambda: store.append("r", 1, [b"2", too_much], run("r", 3)),
            lambda: store.append("other", 0, [too_much], run("other", 1)),
            lambda: store.attach("r", "n", too_much),
        ):
            with pytest.raises(StoreError, match="the disk is full") as caught:
                await call()
            assert SECRET not in f"{caught.value!r} {caught.value.__cause__!r}"
        assert (await store.read("r"), await store.attachment("r", "n")) == ([b"1"], b"before")
        assert await store.list(RunQuery()) == [run("r", 1)]
        await store._database.run(lambda connection: connection.execute("PRAGMA max_page_count = 1000").fetchone())
        await store.append("r", 1, [b"2", too_much], run("r", 3))
        assert await store.read("r") == [b"1", b"2", too_much]


READ_ONLY = """
import concurrent.futures.thread, sqlite3, tempfile  # now: another user may not read Python's own files

async def main():
    if os.geteuid() == 0:  # root may write anything
        os.setuid(65534)
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "r.db")
        store = SQLiteRunStore(path)
        await store.append("r", 0, [b"1"], run("r", 1))
        await store.aclose()
        os.chmod(path, 0o444)
        store = SQLiteRunStore(path)
        try:
            await store.append("r", 1, [b"2"], run("r", 2))
        except StoreError as error:
            print(error)
        for name in os.listdir(folder):
            os.chmod(os.path.join(folder, name), 0o644)
        await store.append("r", 1, [b"3"], run("r", 2))
        assert await store.read("r") == [b"1", b"3"]
        await store.aclose()

asyncio.run(main())
"""


@pytest.mark.skipif(sys.platform == "win32", reason="needs the permissions of files")
async def test_a_file_that_may_not_be_written_is_a_typed_error() -> None:
    process = await python(READ_ONLY)
    said, _ = await process.communicate()
    assert process.returncode == 0
    assert re.fullmatch(rb"run database '.*' may not be written by this user; .* \(SQLITE_READONLY\)\n", said)


def not_a_database(path: Path) -> None:
    path.write_text("a letter to nobody\n" * 100)


def a_folder(path: Path) -> None:
    path.mkdir()


def another_table(path: Path) -> None:
    with contextlib.closing(sqlite3.connect(path)) as connection:
        connection.execute("CREATE TABLE agentsdk_runs (run_id TEXT)")


def a_newer_version(path: Path) -> None:
    asyncio.run(written(path))
    with contextlib.closing(sqlite3.connect(path)) as connection, connection:
        assert connection.execute("UPDATE agentsdk_schema SET version = version + 1 WHERE kind = 'run'").rowcount == 1


def damaged(path: Path) -> None:
    asyncio.run(written(path))
    content = bytearray(path.read_bytes())
    content[4096:] = b"\xa5" * (len(content) - 4096)
    path.write_bytes(content)


async def written(path: Path) -> None:
    async with opened(path) as store:
        await store.append("r", 0, [b"1"], run("r", 1))


@pytest.mark.parametrize(
    ("make", "says"),
    [
        (not_a_database, "is not a SQLite database"),
        (a_folder, "cannot be opened"),
        (another_table, "expected its tables agentsdk_"),
        (a_newer_version, "written by a newer version of agentsdk, expected tables of version 1 at most; upgrade"),
        (damaged, "is damaged"),
    ],
)
async def test_a_file_that_cannot_be_used_is_a_typed_error_and_stays_as_it_is(
    make: Callable[[Path], None], says: str, tmp_path: Path
) -> None:
    path = tmp_path / "x"
    await asyncio.to_thread(make, path)
    before = path.read_bytes() if path.is_file() else b""
    async with opened(path) as store:
        for call in (
            lambda: store.append("r", 0, [SECRET.encode()], run("r", 1)),
            lambda: store.read("r"),
            lambda: store.summary("r"),
            lambda: store.list(RunQuery()),
            lambda: store.attach("r", "n", SECRET.encode()),
            lambda: store.attachment("r", "n"),
            lambda: store.delete("r"),
            lambda: store.prune(9.0),
        ):
            with pytest.raises(StoreError, match=says) as caught:
                await call()
            assert SECRET not in f"{caught.value!r} {caught.value.__cause__!r}"
    if make is not another_table:  # which takes the change to WAL
        assert (path.read_bytes() if path.is_file() else b"") == before


async def test_a_file_with_tables_of_its_own_keeps_them(tmp_path: Path) -> None:
    with contextlib.closing(sqlite3.connect(tmp_path / "r.db")) as connection, connection:
        connection.execute("PRAGMA user_version = 7")
        connection.execute("CREATE TABLE theirs (x)")
    await written(tmp_path / "r.db")
    with contextlib.closing(sqlite3.connect(tmp_path / "r.db")) as connection:
        assert connection.execute("PRAGMA user_version").fetchone() == (7,)
        assert connection.execute("SELECT * FROM theirs").fetchall() == []


@pytest.mark.parametrize(
    "change",
    [
        "DELETE FROM agentsdk_run_events WHERE number = 1",
        "DELETE FROM agentsdk_run_events",
        "UPDATE agentsdk_runs SET rev = rev + 1",
        "INSERT INTO agentsdk_run_events (run, number, data) SELECT run, 3, data FROM agentsdk_run_events WHERE number = 0",
    ],
)
async def test_a_log_with_a_gap_is_never_given_out(change: str, tmp_path: Path) -> None:
    async with opened(tmp_path / "r.db") as store:
        await store.append("r", 0, [b"0", b"1", b"2"], run("r", 3))
        with contextlib.closing(sqlite3.connect(tmp_path / "r.db")) as connection, connection:
            connection.execute(change)
        with pytest.raises(StoreError, match=r"the log of run 'r' .* events .* changed by others"):
            await store.read("r")
        with pytest.raises(StoreError):
            await store.read("r", 1)


@pytest.mark.parametrize(
    "change",
    [f"status = '{SECRET}'", f"turns = '{SECRET}'", f"agent = CAST('{SECRET}' AS BLOB)", f"agent = '{SECRET}' || x'ff'"],
)
async def test_a_summary_that_is_none_is_a_typed_error_without_its_value(change: str, tmp_path: Path) -> None:
    async with opened(tmp_path / "r.db") as store:
        await store.append("r", 0, [b"0"], run("r", 1))
        with contextlib.closing(sqlite3.connect(tmp_path / "r.db")) as connection, connection:
            connection.execute(f"UPDATE agentsdk_runs SET {change}")
        for call in (
            lambda: store.summary("r"),
            lambda: store.list(RunQuery()),
            lambda: store.append("r", 1, [b"1"], run("r", 2)),
        ):
            with pytest.raises(StoreError) as caught:
                await call()
            assert not isinstance(caught.value, RunConflictError)
            assert SECRET not in f"{caught.value!r} {caught.value.__cause__!r}"
        assert await store.read("r") == [b"0"]


async def test_what_sqlite_cannot_keep_is_a_typed_error(tmp_path: Path) -> None:
    async with opened(tmp_path / "r.db") as store:
        with pytest.raises(StoreError, match="64 bits"):
            await store.append("r", 0, [b"0"], run("r", 2**63))
        with pytest.raises(StoreError, match="surrogates"):
            await store.append("r", 0, [b"0"], run("r", 1, agent="\ud800"))
        assert await store.list(RunQuery()) == []


async def test_a_run_deleted_by_hand_takes_its_log_and_attachments_with_it(tmp_path: Path) -> None:
    async with opened(tmp_path / "r.db") as store:
        await store.append("r", 0, [b"0"], run("r", 1))
        await store.attach("r", "n", b"x")
        with contextlib.closing(sqlite3.connect(tmp_path / "r.db")) as connection, connection:
            connection.execute("DELETE FROM agentsdk_runs")
        await store.append("other", 0, [b"1"], run("other", 1))
        assert await store.read("other") == [b"1"]
        assert await store.attachment("other", "n") is None
