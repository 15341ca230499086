"""A session in PostgreSQL: one database holds any number of sessions, for any number of processes and machines."""

from __future__ import annotations

import copy
from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import TypeVar

import msgspec

from agentsdk.databases.asyncpg_types import Connection, Pool, Row
from agentsdk.databases.postgres import PostgresDatabase, Tables
from agentsdk.ports.session import (
    ManagedSession,
    check_compaction,
    check_labels,
    check_limit,
    check_session_id,
    has_begun,
    unchanged,
)
from agentsdk.sessions.stored_items import decode_item, decode_metadata, encode_items, encode_metadata, session_error
from agentsdk.types.errors import SessionError, StoreError
from agentsdk.types.items import InputItem, Item, items_from_input
from agentsdk.types.session import SessionQuery, SessionSummary

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
        """
        CREATE TABLE IF NOT EXISTS agentsdk_session_archive (
            session bigint NOT NULL REFERENCES agentsdk_sessions ON DELETE CASCADE,
            number bigint NOT NULL,
            item text NOT NULL,
            PRIMARY KEY (session, number)
        )
        """,
    ),
    columns=(
        ("agentsdk_sessions", "user_name", "text NOT NULL DEFAULT ''"),
        ("agentsdk_sessions", "metadata", "jsonb NOT NULL DEFAULT '{}'"),
        ("agentsdk_sessions", "created_at", "double precision NOT NULL DEFAULT 0"),
        ("agentsdk_sessions", "updated_at", "double precision NOT NULL DEFAULT 0"),
        ("agentsdk_sessions", "branched_from", "text NOT NULL DEFAULT ''"),
        # The items up to this number stand for those in the archive.
        ("agentsdk_sessions", "compacted_to", "bigint"),
    ),
    # None names what every write changes: such a row is replaced without a change to any index.
    on_columns=("CREATE INDEX IF NOT EXISTS agentsdk_sessions_by_user ON agentsdk_sessions (user_name)",),
)
_NOW = "extract(epoch FROM statement_timestamp())"

# Taking numbers locks the session's row, so batches neither mix nor become visible out of order.
_ADD = f"""
    WITH head AS (
        INSERT INTO agentsdk_sessions (session_id, next, user_name, metadata, created_at, updated_at)
        VALUES ($1, cardinality($2::text[]), $3, $4, {_NOW}, {_NOW})
        ON CONFLICT (session_id) DO UPDATE SET
            next = agentsdk_sessions.next + EXCLUDED.next,
            user_name = CASE agentsdk_sessions.user_name WHEN '' THEN $3 ELSE agentsdk_sessions.user_name END,
            updated_at = EXCLUDED.updated_at
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
_REMOVE_FROM = f"""
    WITH head AS (UPDATE agentsdk_sessions SET updated_at = {_NOW} WHERE session_id = $1 RETURNING id)
    DELETE FROM agentsdk_session_items USING head WHERE session = id AND number >= $2
"""
_FIRST = """
    SELECT number, item FROM agentsdk_session_items JOIN agentsdk_sessions ON session = id
    WHERE session_id = $1 ORDER BY number LIMIT $2
"""
_ARCHIVE = """
    WITH replaced AS (
        DELETE FROM agentsdk_session_items USING agentsdk_sessions WHERE session = id AND session_id = $1 AND number <= $2
        RETURNING session, number, item, compacted_to
    )
    INSERT INTO agentsdk_session_archive
    SELECT session, number, item FROM replaced WHERE (number <= compacted_to) IS NOT TRUE
"""
# The numbers up to the last one that was replaced are free, also those below 0.
_ADD_COMPACTED = """
    WITH head AS (
        UPDATE agentsdk_sessions SET compacted_to = greatest(compacted_to, $2::bigint) WHERE session_id = $1 RETURNING id
    )
    INSERT INTO agentsdk_session_items (session, number, item)
    SELECT id, $2 - cardinality($3::text[]) + place, item
    FROM head, unnest($3::text[]) WITH ORDINALITY AS new (item, place)
"""
_ORIGINALS = """
    SELECT number, item FROM agentsdk_session_archive JOIN agentsdk_sessions ON session = id WHERE session_id = $1
    UNION ALL
    SELECT number, item FROM agentsdk_session_items JOIN agentsdk_sessions ON session = id
    WHERE session_id = $1 AND (number <= compacted_to) IS NOT TRUE
    ORDER BY number
"""
_CLEAR = "DELETE FROM agentsdk_sessions WHERE session_id = $1"
_UPDATE = f"""
    INSERT INTO agentsdk_sessions (session_id, next, user_name, metadata, created_at, updated_at)
    VALUES ($1, 0, coalesce($4, $2), coalesce($5, $3::jsonb), {_NOW}, {_NOW})
    ON CONFLICT (session_id) DO UPDATE SET
        user_name = coalesce($4, CASE agentsdk_sessions.user_name WHEN '' THEN $2 ELSE agentsdk_sessions.user_name END),
        metadata = coalesce($5, agentsdk_sessions.metadata)
"""
# One statement, which sees one state of the session. What it copies keeps its numbers.
_BRANCH = f"""
    WITH source AS (SELECT id, next, user_name, metadata FROM agentsdk_sessions WHERE session_id = $1),
    head AS (
        INSERT INTO agentsdk_sessions (session_id, next, user_name, metadata, created_at, updated_at, branched_from)
        SELECT $4, coalesce(max(next), 0), coalesce(max(user_name), $2), coalesce(max(metadata::text), $3)::jsonb,
            {_NOW}, {_NOW}, $1 FROM source
        ON CONFLICT (session_id) DO NOTHING
        RETURNING id
    ),
    copied AS (
        INSERT INTO agentsdk_session_items (session, number, item)
        SELECT head.id, number, item FROM head, source JOIN agentsdk_session_items ON session = source.id
        ORDER BY number LIMIT $5
    )
    SELECT id FROM head
"""
_SUMMARIES = """
    SELECT session_id, user_name, metadata, created_at, updated_at, branched_from,
        (SELECT count(*) FROM agentsdk_session_items WHERE session = id)
    FROM agentsdk_sessions WHERE """


class PostgresSession(ManagedSession):
    """Keeps a conversation in the PostgreSQL database at a URL, or of an `asyncpg` pool that you close yourself.

    `user` and `metadata` are kept with the session when it begins, a user also with one that has none; `update` changes them.

    Any text is a safe `session_id`: it is a value in the database. The tables, the durability of a write, `busy_timeout`,
    `max_connections` and what PgBouncer needs are as for `PostgresRunStore`.

    Every method raises `SessionError` for a database that cannot be reached or used, and `SessionBusyError` when a lock did not
    come free in time. The conversation is then as it was before; only where the connection broke may a write have been done.
    """

    def __init__(
        self,
        session_id: str,
        url_or_pool: str | Pool,
        *,
        user: str | None = None,
        metadata: Mapping[str, str] | None = None,
        busy_timeout: float = 10.0,
        max_connections: int = 10,
    ) -> None:
        self.session_id = check_session_id(session_id)
        check_labels(user, metadata)
        self._labels = (user or "", encode_metadata(metadata))
        self._key = _encoded(session_id)
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
            await self._do(lambda connection: connection.fetch(_ADD, self._key, texts, *self._labels))

    async def pop_item(self) -> Item | None:
        """Remove the latest item and return it; `None` when there is none."""

        async def pop(connection: Connection) -> Item | None:
            async with connection.transaction():
                latest = await self._locked(connection, _LATEST, 1)
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
        wanted, given = list(items_from_input(expected)), items_from_input(items)
        same = unchanged(wanted, given)
        texts = _texts(given[same:])

        async def replace(connection: Connection) -> bool:
            async with connection.transaction():
                latest = (await self._locked(connection, _LATEST, len(wanted)))[::-1]
                if [self._decode(row) for row in latest] != wanted:
                    return False
                if latest[same:]:
                    await connection.fetch(_REMOVE_FROM, self._key, latest[same][0])
                if texts:
                    await connection.fetch(_ADD, self._key, texts, *self._labels)
                return True

        return await self._do(replace)

    async def clear_session(self) -> None:
        """Remove every item of this session, and what else is kept of it; others in the database stay."""
        await self._do(lambda connection: connection.fetch(_CLEAR, self._key))

    async def summary(self) -> SessionSummary | None:
        """What is known of the session; None for one that has not begun."""
        rows = await self._do(lambda connection: connection.fetch(f"{_SUMMARIES} session_id = $1", self._key))
        return _summary(rows[0]) if rows else None

    async def update(self, *, user: str | None = None, metadata: Mapping[str, str] | None = None) -> None:
        """Put another user and other metadata in the place of those kept. Raises `UserError` for what cannot be kept."""
        check_labels(user, metadata)
        given = (user, None if metadata is None else encode_metadata(metadata))
        await self._do(lambda connection: connection.fetch(_UPDATE, self._key, *self._labels, *given))

    async def branch(self, session_id: str, *, items: int | None = None) -> PostgresSession:
        """A new session in the database that begins with the first `items` items of this one, or all. To be closed by itself.

        Raises `SessionError` where a session of that id has begun.
        """
        check_limit(items, "items")
        branch = copy.copy(self)
        branch.session_id = check_session_id(session_id)
        branch._key = _encoded(session_id)
        row = (self._key, *self._labels, branch._key, items)
        if not await self._do(lambda connection: connection.fetch(_BRANCH, *row)):
            raise has_begun(session_id)
        branch._database = self._database.another(repr(branch))
        return branch

    async def compact(self, expected: Sequence[Item], items: Sequence[InputItem]) -> bool:
        """Put `items` in the place of the first items, if those are `expected`, in one transaction. What they were is kept.

        True if they were; False if not, and nothing has changed. Raises `UserError` for an entry that is not an item.
        """
        check_compaction(expected, items)
        wanted = list(items_from_input(expected))
        texts = _texts(items)

        async def compact(connection: Connection) -> bool:
            async with connection.transaction():
                first = await self._locked(connection, _FIRST, len(wanted))
                if [self._decode(row) for row in first] != wanted:
                    return False
                last = first[-1][0]
                await connection.fetch(_ARCHIVE, self._key, last)
                await connection.fetch(_ADD_COMPACTED, self._key, last, texts)
                return True

        return await self._do(compact)

    async def get_original_items(self) -> list[Item]:
        """Every item as it was added: those that `compact` has replaced, and not those that it has put in their place."""

        async def read(connection: Connection) -> list[Item]:
            return [self._decode(row) for row in await connection.fetch(_ORIGINALS, self._key)]

        return await self._do(read)

    async def aclose(self) -> None:
        """Release the connections of the running event loop; a second call does nothing."""
        await self._database.aclose()

    async def _do(self, job: Callable[[Connection], Awaitable[T]]) -> T:
        return await _done(self._database, job)

    async def _locked(self, connection: Connection, statement: str, limit: int) -> Sequence[Row]:
        """The rows that a statement finds. Until the transaction ends nobody else adds or removes one; no session has none."""
        if not await connection.fetch(_LOCK, self._key):
            return ()
        return await connection.fetch(statement, self._key, limit)

    def _decode(self, row: Row) -> Item:
        return decode_item(row[1], f"row {row[0]} of {self!r}")

    @classmethod
    async def list(
        cls,
        url_or_pool: str | Pool,
        query: SessionQuery | None = None,
        *,
        busy_timeout: float = 10.0,
        max_connections: int = 10,
    ) -> list[SessionSummary]:
        """The sessions in the database that fit `query`, the latest changed first. Raises `SessionError`."""
        statement, values = _find(query or SessionQuery())
        database = PostgresDatabase(
            url_or_pool, _TABLES, "PostgresSession.list", busy_timeout=busy_timeout, max_connections=max_connections
        )
        try:
            return [_summary(row) for row in await _done(database, lambda connection: connection.fetch(statement, *values))]
        finally:
            await database.aclose()


async def _done(database: PostgresDatabase, job: Callable[[Connection], Awaitable[T]]) -> T:
    try:
        return await database.run(job)
    except SessionError:  # of an item, raised by the job
        raise
    except StoreError as error:
        raise session_error(error) from error.__cause__


def _find(query: SessionQuery) -> tuple[str, Sequence[object]]:
    after = query.after
    values = [query.limit, encode_metadata(query.metadata)]
    conditions = ["metadata @> $2::jsonb"]
    if query.user is not None:
        values.append(query.user)
        conditions.append(f"user_name = ${len(values)}")
    if after is not None:
        values += [after.updated_at, _encoded(after.session_id)]
        conditions.append(f"(updated_at, session_id) < (${len(values) - 1}, ${len(values)})")
    where = " AND ".join(conditions)
    return f"{_SUMMARIES} {where} ORDER BY updated_at DESC, session_id DESC LIMIT $1", values


def _summary(row: Row) -> SessionSummary:
    session_id, user, metadata, created_at, updated_at, branched_from, items = (row[column] for column in range(7))
    return SessionSummary(
        session_id=msgspec.json.decode(session_id, type=str),
        user=user,
        metadata=decode_metadata(metadata, f"the row of session {session_id} in PostgreSQL"),
        created_at=created_at,
        updated_at=updated_at,
        branched_from=branched_from and msgspec.json.decode(branched_from, type=str),
        items=items,
    )


def _encoded(session_id: str) -> str:
    return msgspec.json.encode(session_id).decode()


def _texts(items: Sequence[InputItem]) -> list[str]:
    return [item.decode() for item in encode_items(items)]
