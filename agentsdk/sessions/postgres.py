"""A session in PostgreSQL: one database holds any number of sessions, for any number of processes and machines."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from typing import TypeVar

import msgspec

from agentsdk.databases.asyncpg_types import Connection, Pool, Row
from agentsdk.databases.postgres import PostgresDatabase, Tables
from agentsdk.ports.session import ReplacingSession, check_limit, check_session_id
from agentsdk.sessions.stored_items import decode_item, encode_items, session_error
from agentsdk.types.errors import SessionError, StoreError
from agentsdk.types.items import InputItem, Item, items_from_input

T = TypeVar("T")

# Ids and items are kept as JSON, in which NUL is escaped: PostgreSQL's text cannot hold it.
_TABLES = Tables(
    name="session",
    version=1,
    statements=(
        """
        CREATE TABLE IF NOT EXISTS agentsdk_sessions (
            id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
            session_id text COLLATE "C" NOT NULL UNIQUE,
            next bigint NOT NULL
        ) WITH (fillfactor = 70)
        """,
        """
        CREATE TABLE IF NOT EXISTS agentsdk_session_items (
            session bigint NOT NULL REFERENCES agentsdk_sessions ON DELETE CASCADE,
            number bigint NOT NULL,
            item text NOT NULL,
            PRIMARY KEY (session, number)
        )
        """,
    ),
)

# Taking numbers locks the session's row, so batches neither mix nor become visible out of order.
_ADD = """
    WITH head AS (
        INSERT INTO agentsdk_sessions (session_id, next) VALUES ($1, cardinality($2::text[]))
        ON CONFLICT (session_id) DO UPDATE SET next = agentsdk_sessions.next + EXCLUDED.next
        RETURNING id, next
    )
    INSERT INTO agentsdk_session_items (session, number, item)
    SELECT head.id, head.next - cardinality($2::text[]) + place - 1, item
    FROM head, unnest($2::text[]) WITH ORDINALITY AS new (item, place)
"""
_LATEST = """
    SELECT number, item FROM agentsdk_session_items JOIN agentsdk_sessions ON session = id
    WHERE session_id = $1 ORDER BY number DESC LIMIT $2
"""
_LOCK = "SELECT id FROM agentsdk_sessions WHERE session_id = $1 FOR NO KEY UPDATE"
_REMOVE_FROM = """
    DELETE FROM agentsdk_session_items USING agentsdk_sessions WHERE session = id AND session_id = $1 AND number >= $2
"""
_CLEAR = "DELETE FROM agentsdk_sessions WHERE session_id = $1"


class PostgresSession(ReplacingSession):
    """Keeps a conversation in the PostgreSQL database at a URL, or of an `asyncpg` pool that you close yourself.

    Any text is a safe `session_id`: it is a value in the database. The tables, the durability of a write, `busy_timeout`,
    `max_connections` and what PgBouncer needs are as for `PostgresRunStore`.

    Every method raises `SessionError` for a database that cannot be reached or used, and `SessionBusyError` when a lock did not
    come free in time. The conversation is then as it was before; only where the connection broke may a write have been done.
    """

    def __init__(
        self, session_id: str, url_or_pool: str | Pool, *, busy_timeout: float = 10.0, max_connections: int = 10
    ) -> None:
        self.session_id = check_session_id(session_id)
        self._key = msgspec.json.encode(session_id).decode()
        self._database = PostgresDatabase(
            url_or_pool, _TABLES, repr(self), busy_timeout=busy_timeout, max_connections=max_connections
        )

    def __repr__(self) -> str:
        return f"PostgresSession({self.session_id!r})"

    async def get_items(self, limit: int | None = None) -> list[Item]:
        """All items, or the latest `limit` of them. Raises `UserError` for a negative limit."""
        check_limit(limit)

        async def read(connection: Connection) -> list[Item]:
            return [self._decode(row) for row in reversed(await connection.fetch(_LATEST, self._key, limit))]

        return await self._do(read)

    async def add_items(self, items: Sequence[InputItem]) -> None:
        """Append `items` in one statement. Raises `UserError` for an entry that is not an item."""
        texts = _texts(items)
        if texts:
            await self._do(lambda connection: connection.fetch(_ADD, self._key, texts))

    async def pop_item(self) -> Item | None:
        """Remove the latest item and return it; `None` when there is none."""

        async def pop(connection: Connection) -> Item | None:
            async with connection.transaction():
                latest = await self._locked(connection, 1)
                if not latest:
                    return None
                item = self._decode(latest[0])
                await connection.fetch(_REMOVE_FROM, self._key, latest[0][0])
                return item

        return await self._do(pop)

    async def replace_latest(self, expected: Sequence[Item], items: Sequence[InputItem]) -> bool:
        """Put `items` in the place of the latest items, if those are `expected`, in one transaction.

        True if they were; False if not, and nothing has changed. Raises `UserError` for an entry that is not an item.
        """
        wanted = list(items_from_input(expected))
        texts = _texts(items)

        async def replace(connection: Connection) -> bool:
            async with connection.transaction():
                latest = await self._locked(connection, len(wanted))
                if [self._decode(row) for row in reversed(latest)] != wanted:
                    return False
                if latest:
                    await connection.fetch(_REMOVE_FROM, self._key, latest[-1][0])
                if texts:
                    await connection.fetch(_ADD, self._key, texts)
                return True

        return await self._do(replace)

    async def clear_session(self) -> None:
        """Remove every item of this session; others in the database stay."""
        await self._do(lambda connection: connection.fetch(_CLEAR, self._key))

    async def aclose(self) -> None:
        """Release the connections of the running event loop; a second call does nothing."""
        await self._database.aclose()

    async def _do(self, job: Callable[[Connection], Awaitable[T]]) -> T:
        try:
            return await self._database.run(job)
        except SessionError:  # of an item, raised by the job
            raise
        except StoreError as error:
            raise session_error(error) from error.__cause__

    async def _locked(self, connection: Connection, limit: int) -> Sequence[Row]:
        """The latest rows. Until the transaction ends nobody else adds or removes one; of a session that is not there, none."""
        if not await connection.fetch(_LOCK, self._key):
            return ()
        return await connection.fetch(_LATEST, self._key, limit)

    def _decode(self, row: Row) -> Item:
        return decode_item(row[1], f"row {row[0]} of {self!r}")


def _texts(items: Sequence[InputItem]) -> list[str]:
    return [item.decode() for item in encode_items(items)]
