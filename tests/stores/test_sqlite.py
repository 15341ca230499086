"""What SQLite adds to a run store: files, processes, locks, damage, and what an append costs."""

from __future__ import annotations

import asyncio
import contextlib
import os
import re
import sqlite3
import subprocess
import sys
import threading
from collections.abc import AsyncIterator, Callable
from pathlib import Path
from typing import Any

import pytest

from agentsdk import Agent, RunConfig, Runner, function_tool
from agentsdk.sessions.sqlite import SQLiteSession
from agentsdk.stores.sqlite import SQLiteRunStore
from agentsdk.testing import ScriptedModel, call
from agentsdk.types.errors import RunConflictError, StoreBusyError, StoreError, UserError
from agentsdk.types.items import Message
from agentsdk.types.summary import RunQuery, RunStatus, RunSummary

pytestmark = pytest.mark.anyio

SECRET = "correct horse battery staple"


def run(run_id: str, rev: int, *, status: RunStatus = "running", agent: str = "a", started_at: float = 1.0) -> RunSummary:
    return RunSummary(run_id=run_id, rev=rev, status=status, agent=agent, started_at=started_at, updated_at=2.0)


@contextlib.asynccontextmanager
async def opened(path: Path, **settings: float) -> AsyncIterator[SQLiteRunStore]:
    async with contextlib.aclosing(SQLiteRunStore(path, **settings)) as store:
        yield store


def threads() -> list[threading.Thread]:
    return [thread for thread in threading.enumerate() if thread.name.startswith("agentsdk ")]


async def python(script: str, *arguments: str) -> asyncio.subprocess.Process:
    return await asyncio.create_subprocess_exec(
        sys.executable, "-W", "error", "-c", PRELUDE + script, *arguments, stdout=subprocess.PIPE
    )


PRELUDE = """
import asyncio, os, sys
from agentsdk.stores.sqlite import SQLiteRunStore
from agentsdk.types.errors import RunConflictError, StoreError
from agentsdk.types.summary import RunSummary

def run(run_id, rev):
    return RunSummary(run_id=run_id, rev=rev, status="running", agent="a", started_at=1.0, updated_at=2.0)
"""


async def test_runs_outlive_the_store_and_leave_one_file(tmp_path: Path) -> None:
    run_ids = ["../../x", "/etc/passwd", "'; DROP TABLE agentsdk_runs; --", "%", "a", "A", "a ", "日本"]
    async with opened(tmp_path / "r.db") as store:
        for run_id in run_ids:
            await store.append(run_id, 0, [run_id.encode()], run(run_id, 1))
        assert len(threads()) == 1
    assert threads() == []
    assert [path.name for path in tmp_path.iterdir()] == ["r.db"]
    async with opened(tmp_path / "r.db") as store:
        for run_id in run_ids:
            assert await store.read(run_id) == [run_id.encode()]
        assert {summary.run_id for summary in await store.list(RunQuery())} == set(run_ids)


async def test_memory_is_the_stores_own() -> None:
    async with opened(Path(":memory:")) as one, opened(Path(":memory:")) as other:
        await one.append("r", 0, [b"1"], run("r", 1))
        assert await one.read("r") == [b"1"]
        assert await other.summary("r") is None


async def test_runs_and_sessions_share_a_file(tmp_path: Path) -> None:
    async with opened(tmp_path / "r.db") as store, contextlib.aclosing(SQLiteSession("s", tmp_path / "r.db")) as session:
        for number in range(10):
            await asyncio.gather(
                store.append("r", number, [b"1"], run("r", number + 1)), session.add_items([Message("user", str(number))])
            )
        assert await store.read("r") == [b"1"] * 10
        assert len(await session.get_items()) == 10


WRITER = """
async def main(path, name):
    store = SQLiteRunStore(path)
    for number in range(50):
        await store.append(name, number, [b"%d" % number], run(name, number + 1))
        while True:
            standing = await store.summary("shared")
            rev = 0 if standing is None else standing.rev
            try:
                await store.append("shared", rev, [f"{name} {number}".encode()], run("shared", rev + 1))
                break
            except RunConflictError:
                pass
    await store.aclose()

asyncio.run(main(*sys.argv[1:]))
"""


async def test_eight_processes_write_one_new_file_without_an_error(tmp_path: Path) -> None:
    writers = [await python(WRITER, str(tmp_path / "r.db"), f"w{name}") for name in range(8)]
    assert [await writer.wait() for writer in writers] == [0] * 8
    async with opened(tmp_path / "r.db") as store:
        for name in range(8):
            assert await store.read(f"w{name}") == [b"%d" % number for number in range(50)]
        shared = [event.decode().split() for event in await store.read("shared")]
    assert len(shared) == 8 * 50
    for name in range(8):
        assert [int(number) for writer, number in shared if writer == f"w{name}"] == list(range(50))


KILLED = """
async def main(path, run_id):
    store = SQLiteRunStore(path)
    for number in range(100_000):
        events = [b"%d %d" % (number, part) + b"." * 500 for part in range(3)]
        await store.append(run_id, number * 3, events, run(run_id, number * 3 + 3))
        print(number + 1, flush=True)

asyncio.run(main(*sys.argv[1:]))
"""


async def test_a_killed_process_leaves_every_append_it_was_told_of_whole(tmp_path: Path) -> None:
    for run_id in ("one", "two", "three"):
        writer = await python(KILLED, str(tmp_path / "r.db"), run_id)
        assert writer.stdout
        async for line in writer.stdout:
            if int(line) == 20:
                writer.kill()
        await writer.wait()
        async with opened(tmp_path / "r.db") as store:
            events = await store.read(run_id)
            standing = await store.summary(run_id)
            assert standing is not None and standing.rev == len(events) >= 60
            assert events == [b"%d %d" % (at // 3, at % 3) + b"." * 500 for at in range(len(events))]
            assert len(events) % 3 == 0
            await store.append(run_id, len(events), [b"on"], run(run_id, len(events) + 1))


LEFT = """
async def main(path):
    store = SQLiteRunStore(path)
    for number in range(20):
        await store.append("r", number, [b"%d" % number], run("r", number + 1))
    os._exit(0)

asyncio.run(main(*sys.argv[1:]))
"""


async def test_an_append_is_committed_when_it_returns(tmp_path: Path) -> None:
    writer = await python(LEFT, str(tmp_path / "r.db"))
    assert await writer.wait() == 0
    async with opened(tmp_path / "r.db") as store:
        assert await store.read("r") == [b"%d" % number for number in range(20)]


@pytest.mark.parametrize(("synchronous", "level"), [("FULL", 2), ("NORMAL", 1)])
async def test_how_far_a_commit_waits_is_the_callers_choice(synchronous: str, level: int, tmp_path: Path) -> None:
    async with contextlib.aclosing(SQLiteRunStore(tmp_path / "r.db", synchronous=synchronous)) as store:  # type: ignore[arg-type]
        asked = await store._database.run(lambda connection: connection.execute("PRAGMA synchronous").fetchone())
        assert asked == (level,)
        assert await store._database.run(lambda connection: connection.execute("PRAGMA journal_mode").fetchone()) == ("wal",)


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


async def test_an_append_writes_as_much_at_the_end_of_a_long_log_as_of_a_short_one(tmp_path: Path) -> None:
    wal = tmp_path / "r.db-wal"
    cost: list[int] = []
    for run_id, rev in (("short", 10), ("long", 10_000)):
        async with opened(tmp_path / "r.db") as store:
            await store.append(run_id, 0, [b"x" * 500] * rev, run(run_id, rev))
        async with opened(tmp_path / "r.db") as store:
            await store.summary(run_id)
            before = wal.stat().st_size
            for _ in range(20):
                await store.append(run_id, rev, [b"x" * 500] * 3, run(run_id, rev + 3))
                rev += 3
            cost.append((wal.stat().st_size - before) // 20)
    short, long = cost
    assert long < short * 1.1
    assert long < 24_000, "the events, the end of their index and the run's row: no index of the runs"


@pytest.mark.parametrize(
    "query",
    [
        RunQuery(),
        RunQuery(status="waiting"),
        RunQuery(agent="a"),
        RunQuery(started_after=1.0, started_before=9.0),
        RunQuery(abandoned_at=9.0),
        RunQuery(status="waiting", min_tokens=1, after=run("r", 1)),
        RunQuery(agent="a", status="waiting", after=run("r", 1)),
    ],
)
async def test_a_page_of_runs_is_read_along_an_index(query: RunQuery, tmp_path: Path) -> None:
    asked: list[str] = []
    async with opened(tmp_path / "r.db") as store:
        await store._database.run(lambda connection: connection.set_trace_callback(asked.append))
        assert await store.list(query) == []
        (statement,) = asked
        plan = await store._database.run(lambda connection: connection.execute(f"EXPLAIN QUERY PLAN {statement}").fetchall())
    ((*_, step),) = plan
    assert "USING INDEX agentsdk_runs_" in step, "no scan of the table, no sort"


async def test_a_log_is_read_along_its_index(tmp_path: Path) -> None:
    asked: list[str] = []
    async with opened(tmp_path / "r.db") as store:
        await store.append("r", 0, [b"0", b"1"], run("r", 2))
        await store._database.run(lambda connection: connection.set_trace_callback(asked.append))
        assert await store.read("r", 1) == [b"1"]
        plan = await store._database.run(lambda connection: connection.execute(f"EXPLAIN QUERY PLAN {asked[0]}").fetchall())
    assert len(plan) == 2 and all("SEARCH" in step for *_, step in plan)


def test_settings_that_cannot_be() -> None:
    for path in ("", "a\0b", "\ud800"):
        with pytest.raises(UserError, match="db_path is "):
            SQLiteRunStore(path)
    for timeout in (-1.0, float("nan"), float("inf")):
        with pytest.raises(UserError, match=f"busy_timeout is {timeout}"):
            SQLiteRunStore(":memory:", busy_timeout=timeout)
    with pytest.raises(UserError, match="synchronous is 'OFF'"):
        SQLiteRunStore(":memory:", synchronous="OFF")  # type: ignore[arg-type]


async def test_closing_is_final_and_may_be_repeated(tmp_path: Path) -> None:
    store = SQLiteRunStore(tmp_path / "r.db")
    await store.aclose()
    await store.aclose()
    with pytest.raises(StoreError, match="is closed; make a new one"):
        await store.summary("r")
    assert not (tmp_path / "r.db").exists()


async def test_a_run_whose_file_is_deleted_does_not_finish_as_if_it_were_kept(tmp_path: Path) -> None:
    def lose() -> str:
        for file in tmp_path.iterdir():
            file.unlink()
        return "ok"

    agent = Agent[Any, str](name="a", tools=[function_tool(lose)], model=ScriptedModel([call("lose"), "done"]))
    async with contextlib.aclosing(SQLiteRunStore(tmp_path / "runs.db")) as store:
        with pytest.raises(StoreError, match="was deleted, moved or replaced while it was open"):
            await Runner.run(agent, "go", run_config=RunConfig(store=store, run_id="r"))


async def test_a_backup_holds_the_runs_that_a_copy_of_the_file_lacks(tmp_path: Path) -> None:
    agent = Agent[Any, str](name="a", model=ScriptedModel(["done"]))
    async with contextlib.aclosing(SQLiteRunStore(tmp_path / "runs.db")) as store:
        await Runner.run(agent, "go", run_config=RunConfig(store=store, run_id="r"))
        await store.backup(tmp_path / "backup.db")
    async with contextlib.aclosing(SQLiteRunStore(tmp_path / "backup.db")) as kept:
        assert [run.run_id for run in await kept.list(RunQuery())] == ["r"]
        assert (await Runner.resume(agent, "r", run_config=RunConfig(store=kept))).final_output == "done"
