"""What every adapter that keeps something in a SQLite file stands on: threads, forks, cancellation, versions."""

from __future__ import annotations

import asyncio
import contextlib
import gc
import os
import sqlite3
import stat
import subprocess
import sys
import threading
from collections.abc import AsyncIterator, Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from agentsdk.databases.sqlite import SQLiteDatabase, Tables
from agentsdk.databases.sqlite_thread import MOST_TOGETHER
from agentsdk.types.errors import SessionBusyError, SessionError, UserError

pytestmark = pytest.mark.anyio

TABLES = Tables("letter", 3, ("CREATE TABLE IF NOT EXISTS agentsdk_letters (text)",), SessionError, SessionBusyError)


def database(path: str | Path, tables: Tables = TABLES) -> SQLiteDatabase:
    return SQLiteDatabase(path, tables, busy_timeout=30.0, synchronous="NORMAL")


def post(connection: sqlite3.Connection) -> None:
    connection.execute("INSERT INTO agentsdk_letters VALUES ('hi')")


def letters(connection: sqlite3.Connection) -> int:
    (count,) = connection.execute("SELECT count(*) FROM agentsdk_letters").fetchone()
    assert isinstance(count, int)
    return count


def threads() -> list[threading.Thread]:
    return [thread for thread in threading.enumerate() if thread.name.startswith("agentsdk ")]


async def test_jobs_are_done_in_the_order_in_which_they_were_asked_for(tmp_path: Path) -> None:
    done: list[int] = []
    other_name = f"{tmp_path}/../{tmp_path.name}/x.db"
    async with contextlib.aclosing(database(tmp_path / "x.db")) as one, contextlib.aclosing(database(other_name)) as two:
        await asyncio.gather(*((one, two)[n % 2].run(lambda connection, n=n: done.append(n)) for n in range(50)))  # type: ignore[misc]
        assert len(threads()) == 1
    assert done == list(range(50))
    assert threads() == []


async def test_a_write_that_raises_is_undone(tmp_path: Path) -> None:
    def half(connection: sqlite3.Connection) -> None:
        post(connection)
        raise LookupError

    async with contextlib.aclosing(database(tmp_path / "x.db")) as held:
        await held.write(post)
        with pytest.raises(LookupError):
            await held.write(half)
        assert await held.run(letters) == 1


@contextlib.asynccontextmanager
async def waiting(held: SQLiteDatabase) -> AsyncIterator[list[str]]:
    """What is asked for inside waits until the end, for the thread is at work; the statements from then on."""
    statements: list[str] = []
    began, may_end = threading.Event(), threading.Event()

    def work(connection: sqlite3.Connection) -> None:
        began.set()
        may_end.wait(30)
        connection.set_trace_callback(statements.append)

    working = asyncio.create_task(held.run(work))
    await asyncio.to_thread(began.wait, 30)
    yield statements
    await asyncio.sleep(0)
    may_end.set()
    await working


def transactions(statements: list[str]) -> list[str]:
    return [one for one in statements if one.startswith(("BEGIN", "COMMIT", "ROLLBACK"))]


async def test_writes_that_wait_share_a_transaction_and_no_failure(tmp_path: Path) -> None:
    def half(connection: sqlite3.Connection) -> None:
        post(connection)
        raise LookupError

    async with contextlib.aclosing(database(tmp_path / "x.db")) as held:
        async with waiting(held) as statements:
            tasks = [asyncio.create_task(held.write(half if n == 7 else post)) for n in range(50)]
        outcomes = await asyncio.gather(*tasks, return_exceptions=True)
        assert transactions(statements) == ["BEGIN IMMEDIATE", "ROLLBACK TO job", "COMMIT"]
        assert [type(outcome) for outcome in outcomes] == [LookupError if n == 7 else type(None) for n in range(50)]
        assert await held.run(letters) == 49


async def test_no_more_writes_share_a_transaction_than_others_can_wait_for(tmp_path: Path) -> None:
    async with contextlib.aclosing(database(tmp_path / "x.db")) as held:
        async with waiting(held) as statements:
            tasks = [asyncio.create_task(held.write(post)) for _ in range(MOST_TOGETHER + 1)]
        await asyncio.gather(*tasks)
        assert transactions(statements) == ["BEGIN IMMEDIATE", "COMMIT"] * 2


async def test_writes_see_those_before_them_and_reads_what_is_committed(tmp_path: Path) -> None:
    def post_and_count(connection: sqlite3.Connection) -> int:
        post(connection)
        return letters(connection)

    async with contextlib.aclosing(database(tmp_path / "x.db")) as held:
        async with waiting(held):
            reads = [asyncio.create_task(held.run(letters))]
            writes = [asyncio.create_task(held.write(post_and_count)) for _ in range(3)]
            reads.append(asyncio.create_task(held.run(lambda connection: connection.execute("no statement"))))  # type: ignore[arg-type]
        assert await asyncio.gather(*writes) == [1, 2, 3]
        read, failed = await asyncio.gather(*reads, return_exceptions=True)
        assert (read, type(failed)) == (0, SessionError)


def too_much(connection: sqlite3.Connection) -> None:
    connection.execute("INSERT INTO agentsdk_letters VALUES (zeroblob(1000000))")


def undo_all(connection: sqlite3.Connection) -> None:
    """As SQLite does by itself after some errors of the disk."""
    connection.execute("ROLLBACK")
    raise LookupError


@pytest.mark.parametrize(("failing", "error"), [(too_much, SessionError), (undo_all, LookupError)])
async def test_a_write_that_undoes_the_transaction_harms_no_other(
    failing: Callable[[sqlite3.Connection], None], error: type[Exception], tmp_path: Path
) -> None:
    async with contextlib.aclosing(database(tmp_path / "x.db")) as held:
        await held.run(lambda connection: connection.execute("PRAGMA max_page_count = 20").fetchone())
        async with waiting(held):
            tasks = [asyncio.create_task(held.write(failing if n == 3 else post)) for n in range(5)]
        outcomes = await asyncio.gather(*tasks, return_exceptions=True)
        assert [type(outcome) for outcome in outcomes] == [error if n == 3 else type(None) for n in range(5)]
        assert await held.run(letters) == 4


async def test_writes_that_wait_for_a_lock_wait_once(tmp_path: Path) -> None:
    """Also those that would be written again by themselves."""
    blocker = sqlite3.connect(tmp_path / "x.db", isolation_level=None, check_same_thread=False)

    def undo_and_lock(connection: sqlite3.Connection) -> None:
        connection.execute("ROLLBACK")
        blocker.execute("BEGIN IMMEDIATE")
        raise LookupError

    async with contextlib.aclosing(SQLiteDatabase(tmp_path / "x.db", TABLES, busy_timeout=0.01, synchronous="NORMAL")) as held:
        for first in (undo_and_lock, post):
            async with waiting(held) as statements:
                writes = [asyncio.create_task(held.write(job)) for job in (first, post, post)]
            outcomes = await asyncio.gather(*writes, return_exceptions=True)
            assert [type(outcome) for outcome in outcomes] == [SessionBusyError] * 3
            assert len({id(outcome) for outcome in outcomes}) == 3, "each raises its own"
            assert statements.count("BEGIN IMMEDIATE") == (2 if first is undo_and_lock else 1)
        blocker.close()
        assert await held.run(letters) == 0


async def test_one_cancelled_again_and_again_waits_for_its_job(tmp_path: Path) -> None:
    async with contextlib.aclosing(database(tmp_path / "x.db")) as held:
        may_end = threading.Event()
        task = asyncio.create_task(held.run(lambda connection: may_end.wait(30)))
        for _ in range(5):
            await asyncio.sleep(0)
            task.cancel()
        await asyncio.sleep(0)
        assert not task.done()
        may_end.set()
        with pytest.raises(asyncio.CancelledError):
            await task


async def test_one_cancelled_while_its_job_fails_leaves_no_error_behind(tmp_path: Path) -> None:
    unheard: list[object] = []
    asyncio.get_running_loop().set_exception_handler(lambda loop, context: unheard.append(context))
    async with contextlib.aclosing(database(tmp_path / "x.db")) as held:
        task = asyncio.create_task(held.run(lambda connection: connection.execute("no statement")))
        await asyncio.sleep(0)
        task.cancel()
        await asyncio.wait((task,))
        assert task.cancelled()
        del task
        gc.collect()
    assert unheard == []


def test_one_in_memory_is_the_same_on_every_loop_and_thread() -> None:
    held = database(":memory:")
    together = threading.Barrier(8)

    def use(number: int) -> None:
        together.wait()
        asyncio.run(held.run(post))

    with ThreadPoolExecutor(8) as pool:
        list(pool.map(use, range(8)))
    assert asyncio.run(held.run(letters)) == 8
    assert len(threads()) == 1
    held.close()
    assert threads() == []


async def test_kinds_of_tables_have_versions_of_their_own(tmp_path: Path) -> None:
    parcels = Tables("parcel", 1, (), SessionError, SessionBusyError)
    async with contextlib.aclosing(database(tmp_path / "x.db")) as held:
        await held.write(post)
    async with contextlib.aclosing(database(tmp_path / "x.db", parcels)) as held:
        assert await held.run(letters) == 1
    async with contextlib.aclosing(database(tmp_path / "x.db", TABLES._replace(version=2))) as held:
        with pytest.raises(
            SessionError, match=r"letter database '.*x\.db' was written by a newer version .* version 2 at most"
        ):
            await held.run(letters)
    async with contextlib.aclosing(database(tmp_path / "x.db")) as held:
        assert await held.run(letters) == 1


async def test_a_file_of_before_gets_the_columns_that_came_later(tmp_path: Path) -> None:
    more = TABLES._replace(columns=(("agentsdk_letters", "sender", "TEXT NOT NULL DEFAULT 'me'"),))
    async with contextlib.aclosing(database(tmp_path / "x.db")) as before:
        await before.write(post)
        for _ in range(2):
            async with contextlib.aclosing(database(tmp_path / "x.db", more)) as held:
                rows = await held.run(lambda connection: connection.execute("SELECT * FROM agentsdk_letters").fetchall())
                assert rows == [("hi", "me")]
        await before.write(lambda connection: connection.execute("INSERT INTO agentsdk_letters (text) VALUES ('still')"))


def delete(path: Path) -> None:
    for file in path.parent.iterdir():
        file.unlink()


def delete_wal(path: Path) -> None:
    Path(f"{path}-wal").unlink()


def move(path: Path) -> None:
    path.rename(path.with_suffix(".moved"))


def replace(path: Path) -> None:
    move(path)
    path.write_bytes(b"")


@pytest.mark.parametrize("lose", [delete, delete_wal, move, replace])
async def test_nothing_is_written_to_a_file_that_is_not_in_its_place(lose: Callable[[Path], None], tmp_path: Path) -> None:
    path = tmp_path / "x.db"
    async with contextlib.aclosing(database(path)) as held, contextlib.aclosing(database(path)) as other:
        await held.write(post)
        lose(path)
        for one in (held, other, held):
            with pytest.raises(SessionError, match=r"was deleted, moved or replaced while it was open, expected it"):
                await one.write(post)
            with pytest.raises(SessionError, match=r"was deleted, moved or replaced"):
                await one.run(letters)
        with pytest.raises(SessionError, match=r"was deleted, moved or replaced"):
            await held.backup(tmp_path / "backup.db")
        if lose is move:
            path.with_suffix(".moved").rename(path)
            await held.write(post)
            assert await other.run(letters) == 2
    if lose is delete:
        async with contextlib.aclosing(database(path)) as anew:
            assert await anew.run(letters) == 0


async def test_each_that_waits_for_a_file_that_is_lost_raises_an_error_of_its_own(tmp_path: Path) -> None:
    async with contextlib.aclosing(database(tmp_path / "x.db")) as held:
        async with waiting(held):
            delete(tmp_path / "x.db")
            tasks = [asyncio.create_task(held.write(post)) for _ in range(2)]
        one, other = await asyncio.gather(*tasks, return_exceptions=True)
        assert isinstance(one, SessionError)
        assert isinstance(other, SessionError)
        assert one is not other


@pytest.mark.skipif(os.name != "posix", reason="modes are POSIX's")
async def test_a_new_file_is_its_owners_only_and_an_old_one_keeps_its_mode(tmp_path: Path) -> None:
    path, given = tmp_path / "x.db", tmp_path / "given.db"
    given.touch(0o644)
    given.chmod(0o644)
    umask = os.umask(0o022)
    try:
        for at, mode in ((path, 0o600), (given, 0o644)):
            async with contextlib.aclosing(database(at)) as held:
                await held.write(post)
                modes = {file.name: stat.S_IMODE(file.stat().st_mode) for file in tmp_path.glob(f"{at.stem}.db*")}
                assert modes == {f"{at.stem}.db{end}": mode for end in ("", "-wal", "-shm")}
    finally:
        os.umask(umask)


@pytest.mark.parametrize("path", ["x.db", ":memory:"])
async def test_a_backup_is_all_of_the_file_in_one(path: str, tmp_path: Path) -> None:
    at, target = path if path == ":memory:" else tmp_path / path, tmp_path / "backup.db"
    async with contextlib.aclosing(database(at)) as held:
        await held.write(post)
        await held.backup(target)
        await held.write(post)
        assert stat.S_IMODE(target.stat().st_mode) == 0o600 or os.name != "posix"
        with pytest.raises(UserError, match=r"a backup to '.*backup\.db' cannot be made \(FileExistsError\)"):
            await held.backup(target)
        with pytest.raises(UserError, match=r"cannot be made \(FileNotFoundError\)"):
            await held.backup(tmp_path / "no folder" / "backup.db")
        async with contextlib.aclosing(database(target)) as backup:
            assert await backup.run(letters) == 1
    assert threads() == []


async def test_a_backup_does_not_wait_for_writes_nor_they_for_it(tmp_path: Path) -> None:
    async with contextlib.aclosing(database(tmp_path / "x.db")) as held:
        await held.write(lambda connection: connection.execute("INSERT INTO agentsdk_letters VALUES (zeroblob(10000000))"))
        backup = asyncio.create_task(held.backup(tmp_path / "backup.db"))
        written = 0
        while not backup.done():
            await held.write(post)
            written += 1
        await backup
        assert written > 0
    async with contextlib.aclosing(database(tmp_path / "backup.db")) as kept:
        assert 1 <= await kept.run(letters) <= written + 1


async def test_a_backup_that_fails_leaves_no_file(tmp_path: Path) -> None:
    def break_page(file: Path) -> None:
        with file.open("rb+") as opened:
            opened.seek(4096 * 3)
            opened.write(b"x" * 4096 * 20)

    path = tmp_path / "x.db"
    async with contextlib.aclosing(database(path)) as held:
        await held.write(
            lambda connection: connection.executemany("INSERT INTO agentsdk_letters VALUES (?)", [("x" * 900,)] * 500)
        )
    break_page(path)
    async with contextlib.aclosing(database(path)) as held:
        with pytest.raises(SessionError, match="is damaged"):
            await held.backup(tmp_path / "backup.db")
    assert [file.name for file in tmp_path.iterdir()] == ["x.db"]


async def test_an_error_that_quotes_stored_text_is_not_its_cause(tmp_path: Path) -> None:
    async with contextlib.aclosing(database(tmp_path / "x.db")) as held:
        with pytest.raises(SessionError) as caught:
            await held.run(lambda connection: connection.execute("SELECT 'secret' || CAST(x'ff' AS TEXT)").fetchone())
        assert "secret" not in str(caught.value) and caught.value.__cause__ is None
        with pytest.raises(SessionError) as caught:
            await held.run(lambda connection: connection.execute("SELECT * FROM nothing"))
        assert isinstance(caught.value.__cause__, sqlite3.OperationalError)


FORKED = """
import asyncio, gc, os, sys
from tests.databases.test_sqlite import database, letters, post

held, dropped = database(sys.argv[1]), database(sys.argv[1])
for one in (held, dropped):
    asyncio.run(one.write(post))
child = os.fork()
if child == 0:
    del dropped, one
    gc.collect()
    held.close()  # not used here: its thread is the parent's
    os._exit(0)
assert os.waitpid(child, 0)[1] == 0
assert asyncio.run(held.run(letters)) == 2
held.close()
"""


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")
def test_a_fork_that_only_closes_does_not_wait_for_the_parents_thread(tmp_path: Path) -> None:
    # From Python 3.12 on a fork with threads warns.
    command = [sys.executable, "-W", "ignore", "-c", FORKED, str(tmp_path / "x.db")]
    outcome = subprocess.run(command, capture_output=True, text=True, timeout=60, check=False, cwd=Path(__file__).parents[2])
    assert (outcome.returncode, outcome.stderr) == (0, "")
