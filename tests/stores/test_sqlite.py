"""What SQLite adds to a run store: files, processes, and what an append costs."""

from __future__ import annotations

import asyncio
import contextlib
import re
import threading
from asyncio import CancelledError
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from agentsdk import Agent, RunConfig, Runner, function_tool
from agentsdk.sessions.sqlite import SQLiteSession
from agentsdk.stores.memory import MemoryRunStore
from agentsdk.stores.sqlite import SQLiteRunStore
from agentsdk.testing import ScriptedModel, call
from agentsdk.types.errors import RunConflictError, StoreError, UserError
from agentsdk.types.items import Message
from agentsdk.types.summary import DueRuns, RunQuery, RunSummary
from tests.stores.sqlite_runs import at_work, opened, python, run

pytestmark = pytest.mark.anyio


def threads() -> list[threading.Thread]:
    return [thread for thread in threading.enumerate() if thread.name.startswith("agentsdk ")]


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


async def test_appends_that_wait_share_a_commit_and_no_failure(tmp_path: Path) -> None:
    async with opened(tmp_path / "r.db") as store:
        await store.append("run-7", 0, [b"before"], run("run-7", 1))
        async with at_work(store) as statements:
            tasks = [asyncio.create_task(store.append(f"run-{n}", 0, [b"%d" % n], run(f"run-{n}", 1))) for n in range(50)]
        outcomes = await asyncio.gather(*tasks, return_exceptions=True)
        assert [type(outcome) for outcome in outcomes] == [RunConflictError if n == 7 else int for n in range(50)]
        assert [one for one in statements if one.startswith(("BEGIN", "COMMIT"))] == ["BEGIN IMMEDIATE", "COMMIT"]
        assert [await store.read(f"run-{n}") for n in range(50)] == [[b"before" if n == 7 else b"%d" % n] for n in range(50)]


async def test_an_append_that_is_cancelled_while_it_waits_is_done_with_the_others(tmp_path: Path) -> None:
    async with opened(tmp_path / "r.db") as store:
        async with at_work(store):
            tasks = [asyncio.create_task(store.append(f"run-{n}", 0, [b"0"], run(f"run-{n}", 1))) for n in range(3)]
            await asyncio.sleep(0)
            tasks[1].cancel()
            await asyncio.sleep(0)
            assert not tasks[1].done()
        assert [type(outcome) for outcome in await asyncio.gather(*tasks, return_exceptions=True)] == [int, CancelledError, int]
        assert [await store.read(f"run-{n}") for n in range(3)] == [[b"0"]] * 3


@given(
    rounds=st.lists(st.lists(st.tuples(st.sampled_from("abc"), st.integers(0, 3), st.integers(0, 2)), max_size=8), max_size=4)
)
@settings(deadline=None)
async def test_appends_at_once_are_as_appends_one_by_one(rounds: list[list[tuple[str, int, int]]]) -> None:
    one_by_one = MemoryRunStore()
    async with contextlib.aclosing(SQLiteRunStore(":memory:")) as store:
        for appends in rounds:
            given = [(name, rev, [b"%d" % n] * count, run(name, rev + count)) for n, (name, rev, count) in enumerate(appends)]
            async with at_work(store):
                tasks = [asyncio.create_task(store.append(*append)) for append in given]
            outcomes = await asyncio.gather(*tasks, return_exceptions=True)
            for append, outcome in zip(given, outcomes, strict=True):
                try:
                    assert await one_by_one.append(*append) == outcome
                except RunConflictError as error:
                    assert (type(outcome), str(outcome)) == (RunConflictError, str(error))
        runs = await one_by_one.list(RunQuery())
        assert await store.list(RunQuery()) == runs
        assert [await store.read(one.run_id) for one in runs] == [await one_by_one.read(one.run_id) for one in runs]


KILLED_AT_ONCE = """
async def main(path):
    store = SQLiteRunStore(path)

    async def append(run_id):
        for number in range(100_000):
            await store.append(run_id, number * 2, [b"%d" % number] * 2, run(run_id, number * 2 + 2))
            print(run_id, number + 1, flush=True)

    await asyncio.gather(*(append(f"run-{n}") for n in range(30)))

asyncio.run(main(*sys.argv[1:]))
"""


async def test_a_process_that_is_killed_with_many_runs_leaves_every_append_any_was_told_of(tmp_path: Path) -> None:
    writer = await python(KILLED_AT_ONCE, str(tmp_path / "r.db"))
    assert writer.stdout
    told: dict[str, int] = {}
    async for line in writer.stdout:
        if not line.endswith(b"\n"):
            continue  # it was killed while it wrote
        run_id, _, number = line.decode().partition(" ")
        told[run_id] = int(number)
        if sum(told.values()) == 500:
            writer.kill()
    await writer.wait()
    async with opened(tmp_path / "r.db") as store:
        assert len(told) == 30
        for run_id, number in told.items():
            events = await store.read(run_id)
            assert events == [b"%d" % (at // 2) for at in range(len(events))]
            assert len(events) % 2 == 0
            assert len(events) >= number * 2


@pytest.mark.parametrize(("synchronous", "level"), [("FULL", 2), ("NORMAL", 1)])
async def test_how_far_a_commit_waits_is_the_callers_choice(synchronous: str, level: int, tmp_path: Path) -> None:
    async with contextlib.aclosing(SQLiteRunStore(tmp_path / "r.db", synchronous=synchronous)) as store:  # type: ignore[arg-type]
        asked = await store._database.run(lambda connection: connection.execute("PRAGMA synchronous").fetchone())
        assert asked == (level,)
        assert await store._database.run(lambda connection: connection.execute("PRAGMA journal_mode").fetchone()) == ("wal",)


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
        RunQuery(agent="a", status="waiting", after=run("r", 1).cursor),
    ],
)
async def test_a_page_of_runs_is_read_along_an_index(query: RunQuery, tmp_path: Path) -> None:
    (step,) = await plan_of(tmp_path, lambda store: store.list(query))
    assert "USING INDEX agentsdk_runs_" in step, "no scan of the table, no sort"


@pytest.mark.parametrize("after", [None, run("r", 1)])
async def test_a_page_of_runs_by_metadata_is_read_along_the_index_of_one_pair(after: RunSummary | None, tmp_path: Path) -> None:
    query = RunQuery(metadata={"user": "ada", "tag": "x"}, status="waiting", started_after=0.0, after=after)
    plan = await plan_of(tmp_path, lambda store: store.list(query))
    assert plan[0].startswith("SEARCH pair USING PRIMARY KEY (name=? AND value=? AND ")
    assert all(re.match("SEARCH one USING INDEX |SEARCH other (EXISTS )?USING PRIMARY KEY |CORR", step) for step in plan[1:])


@pytest.mark.parametrize("agents", [None, ["a", "b"]])
async def test_what_is_due_is_read_along_an_index_that_runs_in_work_are_not_in(
    agents: list[str] | None, tmp_path: Path
) -> None:
    plan = await plan_of(tmp_path, lambda store: store.due(DueRuns(at=1.0, agents=agents)))
    scans = [step for step in plan if "agentsdk_runs" in step]
    assert len(scans) == 2
    assert scans[0].startswith("SCAN agentsdk_runs USING INDEX agentsdk_runs_due")
    assert scans[1].startswith("SEARCH agentsdk_runs USING INDEX agentsdk_runs_status (status=?")
    assert plan[plan.index(scans[0]) + 1].startswith("SCAN (subquery"), "no sort of what may be much"


async def plan_of(tmp_path: Path, call: Callable[[SQLiteRunStore], Awaitable[object]]) -> list[str]:
    """How SQLite goes about the one statement that `call` executes."""
    asked: list[str] = []
    async with opened(tmp_path / "r.db") as store:
        await store._database.run(lambda connection: connection.set_trace_callback(asked.append))
        await call(store)
        (statement,) = asked
        plan = await store._database.run(lambda connection: connection.execute(f"EXPLAIN QUERY PLAN {statement}").fetchall())
    return [step for *_, step in plan]


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
