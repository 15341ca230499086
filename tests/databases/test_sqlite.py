"""What every adapter that keeps something in a SQLite file stands on: threads, forks, cancellation, versions."""

from __future__ import annotations

import asyncio
import contextlib
import gc
import os
import sqlite3
import subprocess
import sys
import threading
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from agentsdk.databases.sqlite import SQLiteDatabase, Tables
from agentsdk.types.errors import SessionBusyError, SessionError

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
