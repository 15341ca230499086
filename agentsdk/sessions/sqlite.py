"""A session in SQLite: one file holds any number of sessions, for any number of processes."""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import TYPE_CHECKING

from agentsdk.databases.sqlite import SQLiteDatabase, Tables
from agentsdk.ports.session import ReplacingSession, check_limit, check_session_id
from agentsdk.sessions.stored_items import decode_item, encode_items
from agentsdk.types.errors import SessionBusyError, SessionError
from agentsdk.types.items import InputItem, Item, items_from_input

if TYPE_CHECKING:
    import sqlite3

_TABLES = Tables(
    kind="session",
    version=1,
    create=(
        """CREATE TABLE IF NOT EXISTS agentsdk_session_items (
            id INTEGER PRIMARY KEY, session_id TEXT NOT NULL, item TEXT NOT NULL)""",
        "CREATE INDEX IF NOT EXISTS agentsdk_session_items_of ON agentsdk_session_items (session_id, id)",
    ),
    error=SessionError,
    busy=SessionBusyError,
)
# Read as a blob: what is not UTF-8 is then found by our decoder, whose message holds no values.
_LATEST = "SELECT id, CAST(item AS BLOB) FROM agentsdk_session_items WHERE session_id = ? ORDER BY id DESC LIMIT ?"
_ADD = "INSERT INTO agentsdk_session_items (session_id, item) VALUES (?, ?)"
_REMOVE = "DELETE FROM agentsdk_session_items WHERE id = ?"


class SQLiteSession(ReplacingSession):
    """Keeps a conversation in the SQLite file `db_path`; `":memory:"` is a database of this session's own.

    Any text is a safe `session_id`: it is a value in the database, never part of a path. A write outlives a crash of the
    process at once, a power loss a moment later. Another process may hold the file's lock for at most `busy_timeout` seconds.

    A new file may be read and written by its owner only. Every method raises `SessionError` for a file that is no database,
    damaged, full, unwritable, closed, or no longer in its place (deleted, moved or replaced while it was open), and
    `SessionBusyError` when its lock did not come free in time; the conversation is then as it was before.
    """

    def __init__(self, session_id: str, db_path: str | os.PathLike[str] = ":memory:", *, busy_timeout: float = 10.0) -> None:
        self.session_id = check_session_id(session_id)
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
            connection.execute(_REMOVE, row[:1])
            return item

        return await self._database.write(pop)

    async def replace_latest(self, expected: Sequence[Item], items: Sequence[InputItem]) -> bool:
        """Put `items` in the place of the latest items, if those are `expected`, in one transaction.

        True if they were; False if not, and nothing has changed. Raises `UserError` for an entry that is not an item.
        """
        wanted = list(items_from_input(expected))
        rows = self._rows(items)

        def replace(connection: sqlite3.Connection) -> bool:
            latest = connection.execute(_LATEST, (self.session_id, len(wanted))).fetchall()
            if [self._decode(row) for row in reversed(latest)] != wanted:
                return False
            connection.executemany(_REMOVE, [row[:1] for row in latest])
            connection.executemany(_ADD, rows)
            return True

        return await self._database.write(replace)

    async def clear_session(self) -> None:
        """Remove every item of this session; others in the file stay."""

        def clear(connection: sqlite3.Connection) -> None:
            connection.execute("DELETE FROM agentsdk_session_items WHERE session_id = ?", (self.session_id,))

        await self._database.run(clear)

    def close(self) -> None:
        """Finish what was asked for and release the file; a second call does nothing. May block: see `aclose`."""
        self._database.close()

    async def aclose(self) -> None:
        """`close`, without blocking the event loop."""
        await self._database.aclose()

    def _rows(self, items: Sequence[InputItem]) -> list[tuple[str, str]]:
        return [(self.session_id, item.decode()) for item in encode_items(items)]

    def _decode(self, row: tuple[int, bytes]) -> Item:
        return decode_item(row[1], f"row {row[0]} of {self!r}")
