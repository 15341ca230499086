"""`SQLiteSession`: a session in a SQLite file, or in memory."""

from __future__ import annotations

import asyncio
import json
import sqlite3
import threading
from collections.abc import Callable, Generator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, TypeVar

from agentsdk.compat.openai_agents.exceptions import UserError
from agentsdk.compat.openai_agents.memory.session import SessionABC
from agentsdk.compat.openai_agents.memory.session_settings import (
    SessionSettings,
    coerce_session_settings,
    resolve_session_limit,
)

T = TypeVar("T")


class SQLiteSession(SessionABC):
    """The items of one conversation in a SQLite database: `db_path`, or without one in memory, as long as the object lives."""

    def __init__(
        self,
        session_id: str,
        db_path: str | Path = ":memory:",
        sessions_table: str = "agent_sessions",
        messages_table: str = "agent_messages",
        session_settings: SessionSettings | dict[str, Any] | None = None,
    ) -> None:
        for table in (sessions_table, messages_table):
            if not table.replace("_", "").isalnum():
                raise UserError(f"table {table!r} has other characters than letters, digits and '_'; name it so")
        self.session_id = session_id
        self.session_settings: SessionSettings | None = coerce_session_settings(session_settings or SessionSettings())
        self.db_path = db_path
        self.sessions_table = sessions_table
        self.messages_table = messages_table
        self._lock = threading.RLock()
        self._connection: sqlite3.Connection | None = None
        self._closed = False
        self._connected()

    def _connected(self) -> sqlite3.Connection:
        if self._closed:
            raise RuntimeError(f"SQLiteSession is closed; session {self.session_id!r} was used after close()")
        if self._connection is None:
            connection = sqlite3.connect(str(self.db_path), check_same_thread=False, timeout=30)
            try:
                if str(self.db_path) != ":memory:":
                    connection.execute("PRAGMA journal_mode=WAL")
                with connection:
                    self._make_tables(connection)
            except BaseException:
                connection.close()
                raise
            self._connection = connection
        return self._connection

    def _make_tables(self, connection: sqlite3.Connection) -> None:
        connection.execute(
            f"""
            CREATE TABLE IF NOT EXISTS {self.sessions_table} (
                session_id TEXT PRIMARY KEY,
                created_at TIMESTAMP DEFAULT CURRENT_TIMESTAMP,
                updated_at TIMESTAMP DEFAULT CURRENT_TIMESTAMP
            )
            """
        )
        connection.execute(
            f"""
            CREATE TABLE IF NOT EXISTS {self.messages_table} (
                id INTEGER PRIMARY KEY AUTOINCREMENT,
                session_id TEXT NOT NULL,
                message_data TEXT NOT NULL,
                created_at TIMESTAMP DEFAULT CURRENT_TIMESTAMP
            )
            """
        )
        connection.execute(
            f"CREATE INDEX IF NOT EXISTS idx_{self.messages_table}_session_id ON {self.messages_table} (session_id, id)"
        )

    @contextmanager
    def _locked_connection(self) -> Generator[sqlite3.Connection]:
        """The connection for one thread: what is done with it is kept as a whole, or not at all."""
        with self._lock:
            connection = self._connected()
            with connection:
                yield connection

    async def _with(self, work: Callable[[sqlite3.Connection], T]) -> T:
        def locked() -> T:
            with self._locked_connection() as connection:
                return work(connection)

        return await asyncio.to_thread(locked)

    async def get_items(self, limit: int | None = None) -> list[Any]:
        """All items, or the latest `limit` of them. Rows that are no JSON are left out."""
        most = resolve_session_limit(limit, self.session_settings)
        if most is not None and most <= 0:
            return []

        def read(connection: sqlite3.Connection) -> list[str]:
            query = f"SELECT message_data FROM {self.messages_table} WHERE session_id = ? ORDER BY id DESC LIMIT ?"
            rows = connection.execute(query, (self.session_id, -1 if most is None else most)).fetchall()
            return [row[0] for row in reversed(rows)]

        items: list[Any] = []
        for text in await self._with(read):
            try:
                items.append(json.loads(text))
            except ValueError:
                continue
        return items

    async def add_items(self, items: list[Any]) -> None:
        """Add items at the end, all or none."""
        if not items:
            self._connected()  # raises where the session is closed
            return
        rows = [(self.session_id, json.dumps(item, default=_plain)) for item in items]

        def write(connection: sqlite3.Connection) -> None:
            connection.execute(f"INSERT OR IGNORE INTO {self.sessions_table} (session_id) VALUES (?)", (self.session_id,))
            connection.executemany(f"INSERT INTO {self.messages_table} (session_id, message_data) VALUES (?, ?)", rows)
            connection.execute(
                f"UPDATE {self.sessions_table} SET updated_at = CURRENT_TIMESTAMP WHERE session_id = ?", (self.session_id,)
            )

        await self._with(write)

    async def pop_item(self) -> Any | None:
        """Take the latest item away and give it; None where there is none."""

        def take(connection: sqlite3.Connection) -> str | None:
            connection.execute("BEGIN IMMEDIATE")  # or another process might read the same row
            query = f"SELECT id, message_data FROM {self.messages_table} WHERE session_id = ? ORDER BY id DESC LIMIT 1"
            row = connection.execute(query, (self.session_id,)).fetchone()
            if row is None:
                return None
            connection.execute(f"DELETE FROM {self.messages_table} WHERE id = ?", (row[0],))
            return str(row[1])

        while (text := await self._with(take)) is not None:
            try:
                return json.loads(text)
            except ValueError:
                continue
        return None

    async def clear_session(self) -> None:
        """Take all items away."""

        def clear(connection: sqlite3.Connection) -> None:
            for table in (self.messages_table, self.sessions_table):
                connection.execute(f"DELETE FROM {table} WHERE session_id = ?", (self.session_id,))

        await self._with(clear)

    def close(self) -> None:
        """Close the database."""
        with self._lock:
            self._closed = True
            if self._connection is not None:
                self._connection.close()
                self._connection = None

    def __del__(self) -> None:
        connection = getattr(self, "_connection", None)
        if connection is not None:
            connection.close()


def _plain(value: Any) -> Any:
    dump = getattr(value, "model_dump", None)
    if dump is None:
        raise TypeError(f"{type(value).__name__} has no JSON form")
    return dump(exclude_unset=True)
