"""A run store in SQLite: one file holds any number of runs, for any number of processes.

Events lie in the order in which they came, whatever their run, and an index finds a run's: an append writes to the end of the
file's table. Ordered by run, or with the events in the index itself, it would rewrite their neighbors on every append.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Sequence
from functools import partial
from typing import TYPE_CHECKING, cast

import msgspec

from agentsdk.databases.sqlite import SQLiteDatabase, Synchronous
from agentsdk.ports.run_store import RunStore, conflict, not_found, not_open
from agentsdk.stores.sqlite_tables import TABLES
from agentsdk.stores.sqlite_watch import SQLiteWatch
from agentsdk.stores.waiters import REVISION, SIGNALS, LoopWaiters, Waiters
from agentsdk.types.errors import StoreError
from agentsdk.types.summary import ALL_RUNS, DueRuns, RunQuery, RunStatus, RunSummary

if TYPE_CHECKING:
    import sqlite3

_FIELDS = RunSummary.__struct_fields__
_METADATA = _FIELDS.index("metadata")
_COLUMNS = ", ".join(_FIELDS)
_ONES = ", ".join(f"one.{name}" for name in _FIELDS)
_BEGIN_RUN = f"INSERT INTO agentsdk_runs ({_COLUMNS}) VALUES ({', '.join('?' * len(_FIELDS))})"
_SUMMARY = f"SELECT {_COLUMNS} FROM agentsdk_runs WHERE run_id = ?"
_ADD = "INSERT INTO agentsdk_run_events (run, number, data) SELECT key, ?, ? FROM agentsdk_runs WHERE run_id = ?"
_POST = "INSERT INTO agentsdk_run_signals (run, number, data) SELECT key, ?, ? FROM agentsdk_runs WHERE run_id = ?"
# One statement each, so that it sees one state of the file. A run without such events is one row whose data is NULL.
_READ = """SELECT rev, data FROM agentsdk_runs LEFT JOIN agentsdk_run_events ON run = key AND number >= ?
    WHERE run_id = ? ORDER BY number"""
_SIGNALS = """SELECT signals, data FROM agentsdk_runs LEFT JOIN agentsdk_run_signals ON run = key AND number > ?
    WHERE run_id = ? ORDER BY number"""
_ATTACH = """INSERT OR REPLACE INTO agentsdk_run_attachments (run, name, data)
    SELECT key, ?, ? FROM agentsdk_runs WHERE run_id = ?"""
_ATTACHED = "SELECT data FROM agentsdk_run_attachments JOIN agentsdk_runs ON key = run WHERE run_id = ? AND name = ?"
_DELETE = "DELETE FROM agentsdk_runs WHERE run_id = ?"
_NUMBER = "SELECT rev, signals FROM agentsdk_runs WHERE run_id = ?"
_NOTIFY_READY = "UPDATE agentsdk_runs_ready SET number = number + 1"


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
        self._database = SQLiteDatabase(db_path, TABLES, busy_timeout=busy_timeout, synchronous=synchronous)
        self._waiters = Waiters()

    def __repr__(self) -> str:
        return f"SQLiteRunStore({self._database.path!r})"

    async def append(self, run_id: str, expected_rev: int, events: Sequence[bytes], summary: RunSummary) -> int:
        """Add events to a run's log in one transaction, if it is where expected. Raises `RunConflictError`."""

        def append(connection: sqlite3.Connection) -> RunSummary:
            stored = self._stored(connection, run_id)
            refused = conflict(stored, expected_rev, summary)
            if refused is not None:
                raise refused
            standing = summary.beside(0 if stored is None else stored.signals)
            _replace(connection, stored, standing)
            connection.executemany(_ADD, [(number, event, run_id) for number, event in enumerate(events, expected_rev)])
            return standing

        standing = await self._database.write(append)
        self._waiters.notify(REVISION + run_id, summary.rev)
        if standing.status == "ready":
            self._waiters.notify_due()
        return standing.signals

    async def read(self, run_id: str, from_rev: int = 0) -> list[bytes]:
        """A run's events. Raises `RunNotFoundError`, and `StoreError` if some are missing from the file."""
        return await self._kept(_READ, run_id, from_rev, "log", "events")

    async def summary(self, run_id: str) -> RunSummary | None:
        """A run's summary."""
        return await self._database.run(lambda connection: self._stored(connection, run_id))

    async def due(self, query: DueRuns) -> list[RunSummary]:
        """The runs that a worker may take."""
        return await self._find(*_due(query))

    async def signals(self, run_id: str, after: int = 0) -> list[bytes]:
        """What was posted to a run. Raises `RunNotFoundError`, and `StoreError` if some is missing from the file."""
        return await self._kept(_SIGNALS, run_id, after, "mailbox", "signals")

    async def _find(self, statement: str, values: Sequence[object]) -> list[RunSummary]:
        rows = await self._database.run(lambda connection: connection.execute(statement, values).fetchall())
        return [self._summary(row) for row in rows]

    async def _kept(self, statement: str, run_id: str, after: int, where: str, what: str) -> list[bytes]:
        """What lies in the log or the mailbox of a run behind the first `after`."""
        rows = await self._database.run(lambda connection: connection.execute(statement, (after, run_id)).fetchall())
        if not rows:
            raise not_found(run_id)
        kept: list[bytes] = [data for _, data in rows if data is not None]
        if len(kept) != max(rows[0][0] - after, 0):
            raise StoreError(
                f"the {where} of run {run_id!r} in {self!r} has {len(kept)} {what} from {after} on, expected {rows[0][0]} in "
                "all: the file was changed by others; restore a backup"
            )
        return kept

    async def list(self, query: RunQuery = ALL_RUNS) -> list[RunSummary]:
        """The runs that fit."""
        return await self._find(*_listed(query))

    async def post(self, run_id: str, signal: bytes) -> int:
        """Put a signal into a run's mailbox. Raises `RunNotFoundError`, and `RunConflictError` where it is over."""

        def post(connection: sqlite3.Connection) -> RunSummary:
            stored = self._stored(connection, run_id)
            if stored is None:
                raise not_found(run_id)
            if stored.is_over:
                raise not_open(stored)
            standing = stored.beside(stored.signals + 1)
            _replace(connection, stored, standing)
            connection.execute(_POST, (standing.signals, signal, run_id))
            return standing

        standing = await self._database.write(post)
        self._waiters.notify(SIGNALS + run_id, standing.signals)
        if standing.status == "ready":
            self._waiters.notify_due()
        return standing.signals

    async def attach(self, run_id: str, name: str, data: bytes) -> None:
        """Keep `data` beside a run's log. Raises `RunNotFoundError`."""
        if not await self._database.write(lambda connection: connection.execute(_ATTACH, (name, data, run_id)).rowcount):
            raise not_found(run_id)

    async def attachment(self, run_id: str, name: str) -> bytes | None:
        """What was attached under `name`."""
        row = await self._database.run(lambda connection: connection.execute(_ATTACHED, (run_id, name)).fetchone())
        return None if row is None else row[0]

    async def delete(self, run_id: str) -> None:
        """Remove a run."""
        await self._database.write(lambda connection: connection.execute(_DELETE, (run_id,)).rowcount)

    async def prune(self, before: float, statuses: Iterable[RunStatus] = ("finished",)) -> int:
        """Delete runs of these `statuses` last updated before `before`, a Unix timestamp in seconds, in one transaction."""
        chosen = tuple(statuses)
        statement = f"DELETE FROM agentsdk_runs WHERE updated_at < ? AND status IN ({', '.join('?' * len(chosen))})"
        return await self._database.write(lambda connection: connection.execute(statement, (before, *chosen)).rowcount)

    async def wait(self, run_id: str, after_rev: int, timeout: float) -> int:
        """A run's revision once it is above `after_rev`, or after `timeout` seconds.

        What this store appends is seen at once. What others append is seen within about 20 ms: one look at the file's `-wal`
        on that interval serves all who wait, and nobody looks while nobody waits.
        """
        return await self._waiters.wait(REVISION + run_id, after_rev, timeout, partial(self._number, run_id, 0), self._watch)

    async def wait_signals(self, run_id: str, after: int, timeout: float) -> int:
        """How many signals were posted to a run, once above `after`, or after `timeout` seconds. Seen as by `wait`."""
        return await self._waiters.wait(SIGNALS + run_id, after, timeout, partial(self._number, run_id, 1), self._watch)

    async def wait_due(self, seen: int, timeout: float) -> int:
        """Another number than `seen` once some run may have become due, or `seen` after `timeout` seconds.

        Seen as by `wait`. While no other process writes, waiting executes no statement.
        """
        return await self._waiters.wait_due(seen, timeout, self._watch)

    async def backup(self, path: str | os.PathLike[str]) -> None:
        """Write a consistent copy of the file, sessions in it included, to a new one at `path`; runs go on meanwhile.

        A copy of the file alone lacks what its `-wal` holds. Raises `UserError` where `path` exists or cannot be made.
        """
        await self._database.backup(path)

    async def aclose(self) -> None:
        """Release the file; it is closed when nothing else in this process holds it."""
        await self._waiters.aclose(f"{self!r} is closed; make a new one")
        await self._database.aclose()

    async def _number(self, run_id: str, column: int) -> int:
        row = await self._database.run(lambda connection: connection.execute(_NUMBER, (run_id,)).fetchone())
        return 0 if row is None else row[column]

    async def _watch(self, waiters: LoopWaiters) -> SQLiteWatch:
        return await SQLiteWatch(self._database, waiters).open()

    def _stored(self, connection: sqlite3.Connection, run_id: str) -> RunSummary | None:
        row = connection.execute(_SUMMARY, (run_id,)).fetchone()
        return None if row is None else self._summary(row)

    def _summary(self, row: tuple[object, ...]) -> RunSummary:
        fields = dict(zip(_FIELDS, row, strict=True))
        try:
            fields["metadata"] = msgspec.json.decode(cast("str", fields["metadata"]))
            return msgspec.convert(fields, RunSummary)
        except (msgspec.MsgspecError, TypeError):
            raise StoreError(
                f"a row of agentsdk_runs in {self!r} is no summary of a run: the file was changed by others; restore a backup"
            ) from None


def _replace(connection: sqlite3.Connection, stored: RunSummary | None, summary: RunSummary) -> None:
    """Write the columns that have changed: SQLite rewrites every index that names a column it is told to write."""
    values = _values(summary)
    if stored is None:
        connection.execute(_BEGIN_RUN, values)
    else:
        changed = [(name, new) for name, old, new in zip(_FIELDS, _values(stored), values, strict=True) if new != old]
        if changed:
            columns = ", ".join(f"{name} = ?" for name, _ in changed)
            values = (*(value for _, value in changed), stored.run_id)
            connection.execute(f"UPDATE agentsdk_runs SET {columns} WHERE run_id = ?", values)
    if summary.status == "ready":
        connection.execute(_NOTIFY_READY)


def _values(summary: RunSummary) -> tuple[object, ...]:
    values = list(msgspec.structs.astuple(summary))
    values[_METADATA] = msgspec.json.encode(summary.metadata).decode()
    return tuple(values)


def _due(query: DueRuns) -> tuple[str, Sequence[object]]:
    """One part is read along the index of what is due, the other is of the runs in work, which are few."""
    condition = "due_at > 0 AND due_at <= ?"
    values: list[object] = [query.at]
    if query.agents is not None:
        condition += f" AND first_agent IN ({', '.join('?' * len(query.agents))})"
        values += query.agents
    values.append(query.limit)
    order = "ORDER BY priority DESC, due_at, run_id LIMIT ?"
    part = f"SELECT * FROM (SELECT {_COLUMNS} FROM agentsdk_runs WHERE status {{}} 'running' AND {condition} {order})"
    return f"{part.format('<>')} UNION ALL {part.format('=')} {order}", [*values, *values, query.limit]


def _listed(query: RunQuery) -> tuple[str, Sequence[object]]:
    """A page is read along the index of what is asked for, which is in the order of the answer."""
    table, started_at, run_id = "agentsdk_runs AS one", "one.started_at", "one.run_id"
    pairs = list(query.metadata.items())
    if pairs:
        table = "agentsdk_run_metadata AS pair CROSS JOIN agentsdk_runs AS one ON one.run_id = pair.run_id"
        started_at, run_id = "pair.started_at", "pair.run_id"
    is_pair = "pair.name = ? AND pair.value = ?"
    has_pair = f"""EXISTS (SELECT 1 FROM agentsdk_run_metadata AS other WHERE other.name = ? AND other.value = ?
        AND other.started_at = {started_at} AND other.run_id = {run_id})"""
    conditions: list[tuple[str, Sequence[object | None]]] = [
        *((is_pair, pair) for pair in pairs[:1]),
        *((has_pair, pair) for pair in pairs[1:]),
        ("status = ?", (query.status,)),
        ("agent = ?", (query.agent,)),
        (f"{started_at} >= ?", (query.started_after,)),
        (f"{started_at} < ?", (query.started_before,)),
        ("input_tokens + output_tokens >= ?", (query.min_tokens,)),
        ("status = 'running' AND held_until <= ?", (query.abandoned_at,)),
        (f"({started_at}, {run_id}) < (?, ?)", query.before or (None,)),
    ]
    given = [(condition, values) for condition, values in conditions if values[0] is not None]
    where = " AND ".join(condition for condition, _ in given) or "TRUE"
    return (
        f"SELECT {_ONES} FROM {table} WHERE {where} ORDER BY {started_at} DESC, {run_id} DESC LIMIT ?",
        [*(value for _, values in given for value in values), query.limit],
    )
