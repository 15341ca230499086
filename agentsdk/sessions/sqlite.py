"""A session in SQLite: one file holds any number of sessions, for any number of processes."""

from __future__ import annotations

import copy
import os
import time
import warnings
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from agentsdk.databases.sqlite import SQLiteDatabase, Tables
from agentsdk.ports.session import (
    ManagedSession,
    check_compaction,
    check_labels,
    check_limit,
    check_session_id,
    has_begun,
    unchanged,
)
from agentsdk.sessions.stored_items import decode_item, decode_metadata, encode_items, encode_metadata
from agentsdk.types.errors import SessionBusyError, SessionError
from agentsdk.types.items import InputItem, Item, items_from_input
from agentsdk.types.session import SessionQuery, SessionSummary

if TYPE_CHECKING:
    import sqlite3

_TABLES = Tables(
    kind="session",
    version=1,
    create=(
        """CREATE TABLE IF NOT EXISTS agentsdk_session_items (
            id INTEGER PRIMARY KEY, session_id TEXT NOT NULL, item TEXT NOT NULL)""",
        "CREATE INDEX IF NOT EXISTS agentsdk_session_items_of ON agentsdk_session_items (session_id, id)",
        """CREATE TABLE IF NOT EXISTS agentsdk_sessions (
            session_id TEXT PRIMARY KEY, user TEXT NOT NULL DEFAULT '', metadata TEXT NOT NULL DEFAULT '{}',
            created_at REAL NOT NULL DEFAULT 0, updated_at REAL NOT NULL DEFAULT 0,
            branched_from TEXT NOT NULL DEFAULT '') WITHOUT ROWID""",
        "CREATE INDEX IF NOT EXISTS agentsdk_sessions_of_user ON agentsdk_sessions (user)",
        # Versions that know items only: the sessions that they left in the file, and those they begin from now on.
        """INSERT INTO agentsdk_sessions (session_id)
            SELECT DISTINCT session_id FROM agentsdk_session_items WHERE NOT EXISTS (SELECT 1 FROM agentsdk_sessions)""",
        """CREATE TRIGGER IF NOT EXISTS agentsdk_session_items_added AFTER INSERT ON agentsdk_session_items BEGIN
            INSERT OR IGNORE INTO agentsdk_sessions (session_id) VALUES (NEW.session_id);
        END""",
        """CREATE TABLE IF NOT EXISTS agentsdk_session_archive (
            id INTEGER PRIMARY KEY, session_id TEXT NOT NULL, item TEXT NOT NULL)""",
        "CREATE INDEX IF NOT EXISTS agentsdk_session_archive_of ON agentsdk_session_archive (session_id, id)",
    ),
    error=SessionError,
    busy=SessionBusyError,
    # Whether an item stands for those in the archive.
    columns=(("agentsdk_session_items", "compacted", "INTEGER NOT NULL DEFAULT 0"),),
)
# Read as a blob: what is not UTF-8 is then found by our decoder, whose message holds no values.
_LATEST = "SELECT id, CAST(item AS BLOB) FROM agentsdk_session_items WHERE session_id = ? ORDER BY id DESC LIMIT ?"
_ADD = "INSERT INTO agentsdk_session_items (session_id, item) VALUES (?, ?)"
_REMOVE = "DELETE FROM agentsdk_session_items WHERE id = ?"
_CLEAR = (
    "DELETE FROM agentsdk_session_items WHERE session_id = ?",
    "DELETE FROM agentsdk_session_archive WHERE session_id = ?",
    "DELETE FROM agentsdk_sessions WHERE session_id = ?",
)
_FIRST = "SELECT id, CAST(item AS BLOB) FROM agentsdk_session_items WHERE session_id = ? ORDER BY id LIMIT ?"
_NEWEST = "SELECT max(id) FROM agentsdk_session_items WHERE session_id = ?"
_ARCHIVE = """
    INSERT INTO agentsdk_session_archive (session_id, item)
    SELECT session_id, item FROM agentsdk_session_items WHERE session_id = ? AND id <= ? AND NOT compacted ORDER BY id"""
_ADD_COMPACTED = "INSERT INTO agentsdk_session_items (session_id, item, compacted) VALUES (?, ?, 1)"
_MOVE = """
    INSERT INTO agentsdk_session_items (session_id, item, compacted)
    SELECT session_id, item, compacted FROM agentsdk_session_items
    WHERE session_id = ? AND id > ? AND id <= ? ORDER BY id"""
_REMOVE_UP_TO = "DELETE FROM agentsdk_session_items WHERE session_id = ? AND id <= ?"
_ORIGINALS = """
    SELECT id, CAST(item AS BLOB), 0 AS part FROM agentsdk_session_archive WHERE session_id = ?
    UNION ALL SELECT id, CAST(item AS BLOB), 1 FROM agentsdk_session_items WHERE session_id = ? AND NOT compacted
    ORDER BY part, id"""
# What a write changes of a session that has begun and has its user: no column that an index is of.
_CHANGED = "UPDATE agentsdk_sessions SET updated_at = ? WHERE session_id = ? AND (user <> '' OR ? = '')"
_BEGIN = """
    INSERT INTO agentsdk_sessions (session_id, user, metadata, created_at, updated_at) VALUES (?, ?, ?, ?, ?)
    ON CONFLICT (session_id) DO UPDATE SET user = CASE user WHEN '' THEN excluded.user ELSE user END"""
_UPDATE = "UPDATE agentsdk_sessions SET user = coalesce(?, user), metadata = coalesce(?, metadata) WHERE session_id = ?"
_BRANCH = """
    INSERT INTO agentsdk_sessions (session_id, user, metadata, created_at, updated_at, branched_from)
    SELECT ?, coalesce(max(user), ?), coalesce(max(metadata), ?), ?, ?, ? FROM agentsdk_sessions WHERE session_id = ?
    ON CONFLICT (session_id) DO NOTHING"""
_COPY = """
    INSERT INTO agentsdk_session_items (session_id, item)
    SELECT ?, item FROM agentsdk_session_items WHERE session_id = ? ORDER BY id LIMIT ?"""
# The items of a page only are counted.
_SUMMARIES = """
    SELECT session_id, user, metadata, created_at, updated_at, branched_from,
        (SELECT count(*) FROM agentsdk_session_items AS item WHERE item.session_id = page.session_id)
    FROM (SELECT * FROM agentsdk_sessions WHERE {} ORDER BY updated_at DESC, session_id DESC LIMIT ?) AS page
    ORDER BY updated_at DESC, session_id DESC"""


_SUFFIXES = (".db", ".sqlite", ".sqlite3")
"""How the names of SQLite files end, and ids of conversations seldom do."""


class SQLiteSession(ManagedSession):
    """Keeps a conversation in the SQLite file `db_path`; `":memory:"` is a database of this session's own.

    `user` and `metadata` are kept with the session when it begins, a user also with one that has none; `update` changes them.

    Any text is a safe `session_id`: it is a value in the database, never part of a path. A write outlives a crash of the
    process at once, a power loss a moment later. Another process may hold the file's lock for at most `busy_timeout` seconds.

    A new file may be read and written by its owner only. Every method raises `SessionError` for a file that is no database,
    damaged, full, unwritable, closed, or no longer in its place (deleted, moved or replaced while it was open), and
    `SessionBusyError` when its lock did not come free in time; the conversation is then as it was before.
    """

    def __init__(
        self,
        session_id: str,
        db_path: str | os.PathLike[str] = ":memory:",
        *,
        user: str | None = None,
        metadata: Mapping[str, str] | None = None,
        busy_timeout: float = 10.0,
    ) -> None:
        self.session_id = check_session_id(session_id)
        if isinstance(db_path, str) and db_path == ":memory:" and session_id.endswith(_SUFFIXES):
            warnings.warn(
                f"SQLiteSession({session_id!r}) is a conversation of that id, kept in memory; "
                f"to keep it in the file write SQLiteSession('id', {session_id!r})",
                RuntimeWarning,
                stacklevel=2,
            )
        check_labels(user, metadata)
        self._labels = (user or "", encode_metadata(metadata))
        self._database = SQLiteDatabase(db_path, _TABLES, busy_timeout=busy_timeout, synchronous="NORMAL")

    def __repr__(self) -> str:
        return f"SQLiteSession({self.session_id!r}, {self._database.path!r})"

    async def get_items(self, limit: int | None = None) -> list[Item]:
        """All items, or the latest `limit` of them. Raises `UserError` for a negative limit."""
        check_limit(limit)

        def read(connection: sqlite3.Connection) -> list[Item]:
            rows = connection.execute(_LATEST, (self.session_id, -1 if limit is None else limit)).fetchall()
            return [self._decode(row) for row in reversed(rows)]

        return await self._database.run(read)

    async def add_items(self, items: Sequence[InputItem]) -> None:
        """Append `items` in one transaction. Raises `UserError` for an entry that is not an item."""
        rows = self._rows(items)

        def add(connection: sqlite3.Connection) -> None:
            self._changed(connection)
            connection.executemany(_ADD, rows)

        if rows:
            await self._database.write(add)

    async def pop_item(self) -> Item | None:
        """Remove the latest item and return it; `None` when there is none."""

        def pop(connection: sqlite3.Connection) -> Item | None:
            row = connection.execute(_LATEST, (self.session_id, 1)).fetchone()
            if row is None:
                return None
            item = self._decode(row)
            self._changed(connection)
            connection.execute(_REMOVE, row[:1])
            return item

        return await self._database.write(pop)

    async def replace_latest(self, expected: Sequence[Item], items: Sequence[InputItem]) -> bool:
        """Put `items` in the place of the latest items, if those are `expected`, in one transaction.

        True if they were; False if not, and nothing has changed. Raises `UserError` for an entry that is not an item.
        """
        wanted, given = list(items_from_input(expected)), items_from_input(items)
        same = unchanged(wanted, given)
        rows = self._rows(given[same:])

        def replace(connection: sqlite3.Connection) -> bool:
            latest = connection.execute(_LATEST, (self.session_id, len(wanted))).fetchall()[::-1]
            if [self._decode(row) for row in latest] != wanted:
                return False
            if latest[same:] or rows:
                self._changed(connection)
            connection.executemany(_REMOVE, [row[:1] for row in latest[same:]])
            connection.executemany(_ADD, rows)
            return True

        return await self._database.write(replace)

    async def clear_session(self) -> None:
        """Remove every item of this session, and what else is kept of it; others in the file stay."""

        def clear(connection: sqlite3.Connection) -> None:
            for statement in _CLEAR:
                connection.execute(statement, (self.session_id,))

        await self._database.write(clear)

    async def summary(self) -> SessionSummary | None:
        """What is known of the session; None for one that has not begun."""
        found = await _summaries(self._database, ["session_id = ?"], [self.session_id], 1)
        return found[0] if found else None

    async def update(self, *, user: str | None = None, metadata: Mapping[str, str] | None = None) -> None:
        """Put another user and other metadata in the place of those kept. Raises `UserError` for what cannot be kept."""
        check_labels(user, metadata)

        def update(connection: sqlite3.Connection) -> None:
            self._begin(connection, time.time())
            connection.execute(_UPDATE, (user, metadata if metadata is None else encode_metadata(metadata), self.session_id))

        await self._database.write(update)

    async def branch(self, session_id: str, *, items: int | None = None) -> SQLiteSession:
        """A new session in the file that begins with the first `items` items of this one, or all. To be closed by itself.

        Raises `SessionError` where a session of that id has begun.
        """
        check_limit(items, "items")
        branch = copy.copy(self)
        branch.session_id = check_session_id(session_id)

        def write(connection: sqlite3.Connection) -> None:
            now = time.time()
            row = (session_id, *self._labels, now, now, self.session_id, self.session_id)
            if not connection.execute(_BRANCH, row).rowcount:
                raise has_begun(session_id)
            connection.execute(_COPY, (session_id, self.session_id, -1 if items is None else items))

        await self._database.write(write)
        branch._database = self._database.another()
        return branch

    async def compact(self, expected: Sequence[Item], items: Sequence[InputItem]) -> bool:
        """Put `items` in the place of the first items, if those are `expected`, in one transaction. What they were is kept.

        True if they were; False if not, and nothing has changed. Raises `UserError` for an entry that is not an item.
        """
        check_compaction(expected, items)
        wanted = list(items_from_input(expected))
        rows = self._rows(items)

        def compact(connection: sqlite3.Connection) -> bool:
            first = connection.execute(_FIRST, (self.session_id, len(wanted))).fetchall()
            if [self._decode(row) for row in first] != wanted:
                return False
            last = first[-1][0]
            newest = connection.execute(_NEWEST, (self.session_id,)).fetchone()[0]
            connection.execute(_ARCHIVE, (self.session_id, last))
            connection.executemany(_ADD_COMPACTED, rows)
            connection.execute(_MOVE, (self.session_id, last, newest))
            connection.execute(_REMOVE_UP_TO, (self.session_id, newest))
            return True

        return await self._database.write(compact)

    async def get_original_items(self) -> list[Item]:
        """Every item as it was added: those that `compact` has replaced, and not those that it has put in their place."""

        def read(connection: sqlite3.Connection) -> list[Item]:
            return [self._decode(row[:2]) for row in connection.execute(_ORIGINALS, (self.session_id,) * 2).fetchall()]

        return await self._database.run(read)

    def close(self) -> None:
        """Finish what was asked for and release the file; a second call does nothing. May block: see `aclose`."""
        self._database.close()

    async def aclose(self) -> None:
        """`close`, without blocking the event loop."""
        await self._database.aclose()

    def _changed(self, connection: sqlite3.Connection) -> None:
        now = time.time()
        row = (now, self.session_id, self._labels[0])
        if not connection.execute(_CHANGED, row).rowcount:
            self._begin(connection, now)
            connection.execute(_CHANGED, row)

    def _begin(self, connection: sqlite3.Connection, now: float) -> None:
        connection.execute(_BEGIN, (self.session_id, *self._labels, now, now))

    def _rows(self, items: Sequence[InputItem]) -> Sequence[tuple[str, str]]:
        return [(self.session_id, item.decode()) for item in encode_items(items)]

    def _decode(self, row: tuple[int, bytes]) -> Item:
        return decode_item(row[1], f"row {row[0]} of {self!r}")

    @classmethod
    async def list(
        cls, db_path: str | os.PathLike[str], query: SessionQuery | None = None, *, busy_timeout: float = 10.0
    ) -> list[SessionSummary]:
        """The sessions in the file that fit `query`, the latest changed first. Raises `SessionError`."""
        database = SQLiteDatabase(db_path, _TABLES, busy_timeout=busy_timeout, synchronous="NORMAL")
        try:
            return await _found(database, query or SessionQuery())
        finally:
            await database.aclose()


async def _found(database: SQLiteDatabase, query: SessionQuery) -> list[SessionSummary]:
    conditions = ["TRUE"]
    values: list[object] = []
    if query.user is not None:
        conditions.append("user = ?")
        values.append(query.user)
    for entry in query.metadata.items():
        conditions.append("EXISTS (SELECT 1 FROM json_each(metadata) WHERE key = ? AND value = ?)")
        values += entry
    if query.after is not None:
        conditions.append("(updated_at, session_id) < (?, ?)")
        values += (query.after.updated_at, query.after.session_id)
    return await _summaries(database, conditions, values, query.limit)


async def _summaries(
    database: SQLiteDatabase, conditions: Sequence[str], values: Sequence[object], limit: int
) -> list[SessionSummary]:
    statement = _SUMMARIES.format(" AND ".join(conditions))
    rows = await database.run(lambda connection: connection.execute(statement, (*values, limit)).fetchall())
    return [
        SessionSummary(
            session_id=session_id,
            user=user,
            metadata=decode_metadata(metadata, f"the row of session {session_id!r} in {database.path!r}"),
            created_at=created_at,
            updated_at=updated_at,
            branched_from=branched_from,
            items=items,
        )
        for session_id, user, metadata, created_at, updated_at, branched_from, items in rows
    ]
