"""SQLite files of earlier versions, and programs of earlier versions that still write to a file of this one."""

from __future__ import annotations

import contextlib
import shutil
import sqlite3
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from msgspec.structs import replace

from agentsdk.stores.sqlite import SQLiteRunStore
from agentsdk.types.summary import DueRuns, RunQuery
from tests.stores.released import FIXTURES
from tests.stores.sqlite_runs import opened, run

pytestmark = pytest.mark.anyio

EARLIER_FIELDS: dict[str, Any] = {
    "run_id": "r",
    "rev": 1,
    "status": "running",
    "agent": "a",
    "started_at": 1.0,
    "updated_at": 2.0,
    "turns": 0,
    "requests": 0,
    "input_tokens": 0,
    "output_tokens": 0,
    "waiting": 0,
    "reason": "",
    "forked_from": "",
    "owner": "old",
    "held_until": 30.0,
    "first_agent": "a",
    "paid": "",
}
"""What version 2 knows of a run."""


class EarlierProgram:
    """Writes as version 2 did: a row of its own fields, and later those that have changed."""

    def __init__(self, connection: sqlite3.Connection) -> None:
        self.connection = connection

    def begin(self, **fields: Any) -> None:
        row = EARLIER_FIELDS | fields
        self.connection.execute(
            f"INSERT INTO agentsdk_runs ({', '.join(row)}) VALUES ({', '.join('?' * len(row))})", [*row.values()]
        )

    def update(self, **fields: Any) -> None:
        columns = ", ".join(f"{name} = ?" for name in fields)
        self.connection.execute(f"UPDATE agentsdk_runs SET {columns} WHERE run_id = 'r'", [*fields.values()])


@contextlib.contextmanager
def earlier_program(path: Path) -> Iterator[EarlierProgram]:
    with contextlib.closing(sqlite3.connect(path, isolation_level=None)) as connection:
        yield EarlierProgram(connection)


async def status_and_due(store: SQLiteRunStore) -> tuple[str, float]:
    summary = await store.summary("r")
    assert summary is not None
    due = await store.due(DueRuns(at=1e9))
    assert due == ([summary] if summary.due_at else [])
    return summary.status, summary.due_at


@pytest.mark.parametrize("version", sorted(folder.name for folder in FIXTURES.iterdir() if folder.name < "v3"))
async def test_runs_that_a_released_version_left_are_due_as_theirs_status_says(version: str, tmp_path: Path) -> None:
    path = tmp_path / "runs.db"
    shutil.copy(FIXTURES / version / "runs.db", path)
    with earlier_program(path) as before:
        left = before.connection.execute("SELECT run_id, status, reason, held_until, updated_at FROM agentsdk_runs").fetchall()
    async with opened(path) as store:
        first = await store.list(RunQuery())
    async with opened(path) as store:
        runs = {summary.run_id: summary for summary in await store.list(RunQuery())}
    assert list(runs.values()) == first, "opened again, they are what they were made"
    assert {status for _, status, *_ in left} >= {"running", "waiting", "finished"}
    for run_id, status, reason, held_until, updated_at in left:
        summary = runs[run_id]
        expected = {
            "stopped": ("ready", updated_at) if reason in ("", "CancelledError") else ("failed", 0.0),
            "running": ("running", held_until),
        }.get(status, (status, 0.0))
        assert (summary.status, summary.due_at) == expected


async def test_a_run_in_work_by_an_earlier_version_is_due_when_its_lease_passes(tmp_path: Path) -> None:
    async with opened(tmp_path / "r.db") as store:
        await store.list(RunQuery())
        with earlier_program(tmp_path / "r.db") as earlier:
            earlier.begin()
            assert await status_and_due(store) == ("running", 30.0)
            earlier.update(held_until=60.0, rev=2)
            assert await status_and_due(store) == ("running", 60.0)
            earlier.update(status="waiting", held_until=0.0)
            assert await status_and_due(store) == ("waiting", 0.0)
            earlier.update(status="running", held_until=90.0)
            assert await status_and_due(store) == ("running", 90.0)
            earlier.update(status="finished", held_until=90.0)
            assert await status_and_due(store) == ("finished", 0.0)


@pytest.mark.parametrize(
    ("reason", "expected"), [("", ("ready", 9.0)), ("CancelledError", ("ready", 9.0)), ("ModelError", ("failed", 0.0))]
)
@pytest.mark.parametrize("fork", [False, True])
async def test_a_run_that_an_earlier_version_stopped_is_ready_or_failed(
    reason: str, expected: tuple[str, float], fork: bool, tmp_path: Path
) -> None:
    async with opened(tmp_path / "r.db") as store:
        seen = await store.wait_due(0, 3600.0)
        with earlier_program(tmp_path / "r.db") as earlier:
            if fork:
                earlier.begin(status="stopped", reason=reason, updated_at=9.0)
            else:
                earlier.begin()
                earlier.update(status="stopped", reason=reason, updated_at=9.0, held_until=0.0)
            assert await status_and_due(store) == expected
            assert await store.wait_due(seen, 3600.0) != seen


async def test_a_run_that_an_earlier_version_leaves_waiting_is_ready_if_it_was_signalled(tmp_path: Path) -> None:
    async with opened(tmp_path / "r.db") as store:
        await store.append("r", 0, [b"a"], replace(run("r", 1), held_until=30.0, due_at=30.0))
        await store.post("r", b"signal")
        with earlier_program(tmp_path / "r.db") as earlier:
            earlier.update(status="waiting", held_until=0.0, updated_at=9.0)
            assert await status_and_due(store) == ("ready", 9.0)


async def test_what_an_earlier_version_deletes_is_gone_with_its_mailbox_and_metadata(tmp_path: Path) -> None:
    async with opened(tmp_path / "r.db") as store:
        for run_id in ("r", "other"):
            await store.append(run_id, 0, [], replace(run(run_id, 0), metadata={"user": "ada"}))
            await store.post(run_id, b"signal")
        with earlier_program(tmp_path / "r.db") as earlier:
            earlier.connection.execute("DELETE FROM agentsdk_runs WHERE run_id = 'r'")
            for table in ("agentsdk_run_signals", "agentsdk_run_metadata"):
                assert earlier.connection.execute(f"SELECT count(*) FROM {table}").fetchone() == (1,)
        assert [one.run_id for one in await store.list(RunQuery(metadata={"user": "ada"}))] == ["other"]
        assert await store.signals("other") == [b"signal"]
