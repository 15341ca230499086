"""A run store in SQLite: one file holds any number of runs, for any number of processes.

Events lie in the order in which they came, whatever their run, and an index finds a run's: an append writes to the end of the
file's table. Ordered by run, or with the events in the index itself, it would rewrite their neighbors on every append.
"""

from __future__ import annotations

import asyncio
import functools
import json
import os
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

import msgspec

from agentsdk.databases.sqlite import SQLiteDatabase, Synchronous, Tables
from agentsdk.ports.run_store import RunStore, conflict, not_found
from agentsdk.stores.waiters import REVISION, LoopWaiters, Waiters
from agentsdk.types.errors import StoreBusyError, StoreError
from agentsdk.types.summary import RunQuery, RunStatus, RunSummary

if TYPE_CHECKING:
    import sqlite3

_TABLES = Tables(
    kind="run",
    version=1,
    create=(
        """CREATE TABLE IF NOT EXISTS agentsdk_runs (
            key INTEGER PRIMARY KEY, run_id TEXT NOT NULL UNIQUE, rev INTEGER NOT NULL,
            status TEXT NOT NULL, agent TEXT NOT NULL, started_at REAL NOT NULL, updated_at REAL NOT NULL,
            turns INTEGER NOT NULL, requests INTEGER NOT NULL, input_tokens INTEGER NOT NULL, output_tokens INTEGER NOT NULL,
            waiting INTEGER NOT NULL, reason TEXT NOT NULL, forked_from TEXT NOT NULL,
            owner TEXT NOT NULL, held_until REAL NOT NULL)""",
        "CREATE INDEX IF NOT EXISTS agentsdk_runs_started ON agentsdk_runs (started_at, run_id)",
        "CREATE INDEX IF NOT EXISTS agentsdk_runs_status ON agentsdk_runs (status, started_at, run_id)",
        "CREATE INDEX IF NOT EXISTS agentsdk_runs_agent ON agentsdk_runs (agent, started_at, run_id)",
        """CREATE TABLE IF NOT EXISTS agentsdk_run_events (
            run INTEGER NOT NULL, number INTEGER NOT NULL, data BLOB NOT NULL, PRIMARY KEY (run, number))""",
        """CREATE TABLE IF NOT EXISTS agentsdk_run_attachments (
            run INTEGER NOT NULL, name TEXT NOT NULL, data BLOB NOT NULL, PRIMARY KEY (run, name))""",
        """CREATE TRIGGER IF NOT EXISTS agentsdk_runs_deleted AFTER DELETE ON agentsdk_runs BEGIN
            DELETE FROM agentsdk_run_events WHERE run = OLD.key;
            DELETE FROM agentsdk_run_attachments WHERE run = OLD.key;
        END""",
    ),
    error=StoreError,
    busy=StoreBusyError,
    columns=(
        ("agentsdk_runs", "first_agent", "TEXT NOT NULL DEFAULT ''"),
        ("agentsdk_runs", "paid", "TEXT NOT NULL DEFAULT ''"),
    ),
)
_FIELDS = RunSummary.__struct_fields__
_COLUMNS = ", ".join(_FIELDS)
_BEGIN_RUN = f"INSERT INTO agentsdk_runs ({_COLUMNS}) VALUES ({', '.join('?' * len(_FIELDS))})"
_SUMMARY = f"SELECT {_COLUMNS} FROM agentsdk_runs WHERE run_id = ?"
_ADD = "INSERT INTO agentsdk_run_events (run, number, data) SELECT key, ?, ? FROM agentsdk_runs WHERE run_id = ?"
# One statement, so that it sees one state of the file. A run without such events is one row whose data is NULL.
_READ = """SELECT rev, data FROM agentsdk_runs LEFT JOIN agentsdk_run_events ON run = key AND number >= ?
    WHERE run_id = ? ORDER BY number"""
_ATTACH = """INSERT OR REPLACE INTO agentsdk_run_attachments (run, name, data)
    SELECT key, ?, ? FROM agentsdk_runs WHERE run_id = ?"""
_ATTACHED = "SELECT data FROM agentsdk_run_attachments JOIN agentsdk_runs ON key = run WHERE run_id = ? AND name = ?"
_DELETE = "DELETE FROM agentsdk_runs WHERE run_id = ?"
_REV = "SELECT rev FROM agentsdk_runs WHERE run_id = ?"
_REVS = (
    f"SELECT topic.value, rev FROM json_each(?) topic JOIN agentsdk_runs ON run_id = substr(topic.value, {len(REVISION) + 1})"
)

WAIT_INTERVAL = 0.02
"""Seconds between two looks whether another process has changed the file, while somebody waits."""


class SQLiteRunStore(RunStore):
    """Keeps runs in the SQLite file `db_path`; `":memory:"` is a database of this store's own.

    An append outlives a crash of the process, and with `synchronous="FULL"` a power loss too: it is one commit that waits for
    the disk. With `"NORMAL"` it does not wait, and a power loss may take back the latest appends, always complete ones. Another
    process may hold the file's lock for at most `busy_timeout` seconds: keep that well inside the lease of the runs.

    A new file may be read and written by its owner only. Every method raises `StoreError` for a file that is no database,
    damaged, full, unwritable, of a newer version, closed, or no longer in its place (deleted, moved or replaced while it was
    open), and `StoreBusyError` when its lock did not come free in time; every run is then as it was before.
    """

    def __init__(
        self, db_path: str | os.PathLike[str], *, busy_timeout: float = 10.0, synchronous: Synchronous = "FULL"
    ) -> None:
        self._database = SQLiteDatabase(db_path, _TABLES, busy_timeout=busy_timeout, synchronous=synchronous)
        self._waiters = Waiters()

    def __repr__(self) -> str:
        return f"SQLiteRunStore({self._database.path!r})"

    async def append(self, run_id: str, expected_rev: int, events: Sequence[bytes], summary: RunSummary) -> None:
        """Add events to a run's log in one transaction, if it is where expected. Raises `RunConflictError`."""

        def append(connection: sqlite3.Connection) -> None:
            row = connection.execute(_SUMMARY, (run_id,)).fetchone()
            stored = None if row is None else self._summary(row)
            refused = conflict(stored, expected_rev, summary)
            if refused is not None:
                raise refused
            if stored is None:
                connection.execute(_BEGIN_RUN, msgspec.structs.astuple(summary))
            else:
                _update(connection, stored, summary)
            connection.executemany(_ADD, [(number, event, run_id) for number, event in enumerate(events, expected_rev)])

        await self._database.write(append)
        self._waiters.notify(REVISION + run_id, summary.rev)

    async def read(self, run_id: str, from_rev: int = 0) -> list[bytes]:
        """A run's events. Raises `RunNotFoundError`, and `StoreError` if some are missing from the file."""
        rows = await self._database.run(lambda connection: connection.execute(_READ, (from_rev, run_id)).fetchall())
        if not rows:
            raise not_found(run_id)
        events: list[bytes] = [data for _, data in rows if data is not None]
        if len(events) != max(rows[0][0] - from_rev, 0):
            raise StoreError(
                f"the log of run {run_id!r} in {self!r} has {len(events)} events from {from_rev} on, expected {rows[0][0]} in "
                "all: the file was changed by others; restore a backup"
            )
        return events

    async def summary(self, run_id: str) -> RunSummary | None:
        """A run's summary."""
        row = await self._database.run(lambda connection: connection.execute(_SUMMARY, (run_id,)).fetchone())
        return None if row is None else self._summary(row)

    async def list(self, query: RunQuery) -> list[RunSummary]:
        """The runs that fit."""
        statement, values = _find(query)
        rows = await self._database.run(lambda connection: connection.execute(statement, values).fetchall())
        return [self._summary(row) for row in rows]

    async def attach(self, run_id: str, name: str, data: bytes) -> None:
        """Keep `data` beside a run's log. Raises `RunNotFoundError`."""
        if not await self._database.run(lambda connection: connection.execute(_ATTACH, (name, data, run_id)).rowcount):
            raise not_found(run_id)

    async def attachment(self, run_id: str, name: str) -> bytes | None:
        """What was attached under `name`."""
        row = await self._database.run(lambda connection: connection.execute(_ATTACHED, (run_id, name)).fetchone())
        return None if row is None else row[0]

    async def delete(self, run_id: str) -> None:
        """Remove a run."""
        await self._database.run(lambda connection: connection.execute(_DELETE, (run_id,)).rowcount)

    async def prune(self, before: float, statuses: Iterable[RunStatus] = ("finished",)) -> int:
        """Delete runs of these `statuses` last updated before `before`, a Unix timestamp in seconds, in one transaction."""
        chosen = tuple(statuses)
        statement = f"DELETE FROM agentsdk_runs WHERE updated_at < ? AND status IN ({', '.join('?' * len(chosen))})"
        return await self._database.run(lambda connection: connection.execute(statement, (before, *chosen)).rowcount)

    async def wait(self, run_id: str, after_rev: int, timeout: float) -> int:
        """A run's revision once it is above `after_rev`, or after `timeout` seconds.

        What this store appends is seen at once. What others append is seen within about 20 ms: one look at the file's
        `data_version` on that interval serves all who wait, and nobody looks while nobody waits.
        """
        return await self._waiters.wait(
            REVISION + run_id, after_rev, timeout, functools.partial(self._rev, run_id), self._watch
        )

    async def backup(self, path: str | os.PathLike[str]) -> None:
        """Write a consistent copy of the file, sessions in it included, to a new one at `path`; runs go on meanwhile.

        A copy of the file alone lacks what its `-wal` holds. Raises `UserError` where `path` exists or cannot be made.
        """
        await self._database.backup(path)

    async def aclose(self) -> None:
        """Release the file; it is closed when nothing else in this process holds it."""
        await self._waiters.aclose(f"{self!r} is closed; make a new one")
        await self._database.aclose()

    async def _rev(self, run_id: str) -> int:
        row = await self._database.run(lambda connection: connection.execute(_REV, (run_id,)).fetchone())
        return 0 if row is None else row[0]

    async def _watch(self, waiters: LoopWaiters) -> _Watch:
        return _Watch(self._database, waiters)

    def _summary(self, row: tuple[object, ...]) -> RunSummary:
        try:
            return msgspec.convert(dict(zip(_FIELDS, row, strict=True)), RunSummary)
        except msgspec.ValidationError:
            raise StoreError(
                f"a row of agentsdk_runs in {self!r} is no summary of a run: the file was changed by others; restore a backup"
            ) from None


class _Watch:
    """Looks at the file on an interval, and notifies who waits whenever it has changed."""

    def __init__(self, database: SQLiteDatabase, waiters: LoopWaiters) -> None:
        self._database = database
        self._waiters = waiters
        self._task = asyncio.create_task(self._look(), name="agentsdk SQLiteRunStore.wait")

    def is_open(self) -> bool:
        """Whether it still looks."""
        return not self._task.done()

    async def aclose(self) -> None:
        """Look no more."""
        self._task.cancel()
        await asyncio.wait((self._task,))

    async def _look(self) -> None:
        seen: object = None
        try:
            while True:
                await asyncio.sleep(WAIT_INTERVAL)
                look = functools.partial(_changed, seen, self._waiters.topics)
                seen, numbers = await self._database.run(look)
                for topic, number in numbers:
                    self._waiters.notify(topic, number)
        except StoreError:
            self._waiters.recheck()  # and so each waiter comes to the error itself


def _changed(seen: object, topics: Sequence[str], connection: sqlite3.Connection) -> tuple[object, Sequence[tuple[str, int]]]:
    """The file's state, and, if it is not the one `seen`, the numbers of these topics."""
    # `data_version` is about all but this connection, and `total_changes` about what other stores of this process do on it.
    version = connection.execute("PRAGMA data_version").fetchone()[0]
    state = (connection, version, connection.total_changes)
    return state, [] if state == seen else connection.execute(_REVS, (json.dumps(topics),)).fetchall()


def _update(connection: sqlite3.Connection, stored: RunSummary, summary: RunSummary) -> None:
    """Write the columns that have changed: SQLite rewrites every index that names a column it is told to write."""
    changed = [name for name in _FIELDS if getattr(stored, name) != getattr(summary, name)]
    if changed:
        columns = ", ".join(f"{name} = ?" for name in changed)
        values = [getattr(summary, name) for name in changed]
        connection.execute(f"UPDATE agentsdk_runs SET {columns} WHERE run_id = ?", (*values, stored.run_id))


def _find(query: RunQuery) -> tuple[str, Sequence[object]]:
    after = query.after
    conditions: dict[str, Sequence[object | None]] = {
        "status = ?": (query.status,),
        "agent = ?": (query.agent,),
        "started_at >= ?": (query.started_after,),
        "started_at < ?": (query.started_before,),
        "input_tokens + output_tokens >= ?": (query.min_tokens,),
        "status = 'running' AND held_until <= ?": (query.abandoned_at,),
        "(started_at, run_id) < (?, ?)": (None,) if after is None else (after.started_at, after.run_id),
    }
    given = {condition: values for condition, values in conditions.items() if values[0] is not None}
    where = " AND ".join(given) or "TRUE"
    return (
        f"SELECT {_COLUMNS} FROM agentsdk_runs WHERE {where} ORDER BY started_at DESC, run_id DESC LIMIT ?",
        [*(value for values in given.values() for value in values), query.limit],
    )
