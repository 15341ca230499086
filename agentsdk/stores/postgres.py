"""A run store in PostgreSQL: for runs that any number of processes and machines share.

An append is one statement, so it is a transaction of its own and one round trip: it updates the run's row only if revision and
lease are as expected, and inserts the events for the row it updated. Two that race update the same row, so the second waits for
the first, and then finds the revision changed.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from functools import partial
from typing import Any

import msgspec

from agentsdk.databases.asyncpg_types import Connection, Pool, Row
from agentsdk.databases.postgres import PostgresDatabase, Tables
from agentsdk.ports.run_store import RunStore, conflict, not_found
from agentsdk.stores.postgres_notify import Notifier, subscribe
from agentsdk.stores.waiters import REVISION, Waiters
from agentsdk.types.summary import RunQuery, RunStatus, RunSummary

# "C" sorts by code point, as Python does. Room in the pages lets a summary be replaced without a change to any index. An
# entry of an index has a bound, an agent's name has none.
_TABLES = Tables(
    name="run",
    version=1,
    statements=(
        """
        CREATE TABLE IF NOT EXISTS agentsdk_runs (
            id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
            run_id text COLLATE "C" NOT NULL UNIQUE,
            rev bigint NOT NULL,
            status text NOT NULL,
            agent text NOT NULL,
            started_at double precision NOT NULL,
            updated_at double precision NOT NULL,
            turns bigint NOT NULL,
            requests bigint NOT NULL,
            input_tokens bigint NOT NULL,
            output_tokens bigint NOT NULL,
            waiting bigint NOT NULL,
            reason text NOT NULL,
            forked_from text NOT NULL,
            owner text NOT NULL,
            held_until double precision NOT NULL
        ) WITH (fillfactor = 70)
        """,
        "CREATE INDEX IF NOT EXISTS agentsdk_runs_by_start ON agentsdk_runs (started_at, run_id)",
        "CREATE INDEX IF NOT EXISTS agentsdk_runs_by_status ON agentsdk_runs (status, started_at, run_id)",
        "CREATE INDEX IF NOT EXISTS agentsdk_runs_by_agent ON agentsdk_runs (left(agent, 100), started_at, run_id)",
        """
        CREATE TABLE IF NOT EXISTS agentsdk_run_events (
            run bigint NOT NULL REFERENCES agentsdk_runs ON DELETE CASCADE,
            number bigint NOT NULL,
            event bytea NOT NULL,
            PRIMARY KEY (run, number)
        )
        """,
        """
        CREATE TABLE IF NOT EXISTS agentsdk_run_attachments (
            run bigint NOT NULL REFERENCES agentsdk_runs ON DELETE CASCADE,
            name text NOT NULL,
            data bytea NOT NULL,
            PRIMARY KEY (run, name)
        )
        """,
    ),
    columns=(
        ("agentsdk_runs", "first_agent", "text NOT NULL DEFAULT ''"),
        ("agentsdk_runs", "paid", "text NOT NULL DEFAULT ''"),
    ),
)

_FIELDS = RunSummary.__struct_fields__
_COLUMNS = ", ".join(_FIELDS)
_VALUES = ", ".join(f"${number}" for number, _ in enumerate(_FIELDS, 1))
_OF = {field: f"${number}" for number, field in enumerate(_FIELDS, 1)}
_EXPECTED = f"${len(_FIELDS) + 1}"
_EVENTS = f"${len(_FIELDS) + 2}"

# Who updates a run waits for the one before, and then looks again whether the run is where it should be.
_IF_EXPECTED = f"""
    agentsdk_runs.rev = {_EXPECTED}
    AND (agentsdk_runs.owner = {_OF["owner"]} OR agentsdk_runs.held_until <= {_OF["updated_at"]})
"""
_ADD_EVENTS = f"""
    , added AS (
        INSERT INTO agentsdk_run_events (run, number, event)
        SELECT head.id, {_EXPECTED} + place - 1, event
        FROM head, unnest({_EVENTS}::bytea[]) WITH ORDINALITY AS new (event, place)
    )
    SELECT id FROM head
"""
_BEGIN = f"""
    WITH head AS (
        INSERT INTO agentsdk_runs ({_COLUMNS}) VALUES ({_VALUES})
        ON CONFLICT (run_id) DO UPDATE SET ({_COLUMNS}) = ({_VALUES}) WHERE {_IF_EXPECTED}
        RETURNING id
    )
    {_ADD_EVENTS}
"""
_GO_ON = f"""
    WITH head AS (
        UPDATE agentsdk_runs SET ({_COLUMNS}) = ({_VALUES}) WHERE run_id = {_OF["run_id"]} AND {_IF_EXPECTED}
        RETURNING id
    )
    {_ADD_EVENTS}
"""
_READ = """
    SELECT event FROM agentsdk_runs LEFT JOIN agentsdk_run_events ON run = id AND number >= $2
    WHERE run_id = $1 ORDER BY number
"""
_SUMMARY = f"SELECT {_COLUMNS} FROM agentsdk_runs WHERE run_id = $1"
_ATTACH = """
    INSERT INTO agentsdk_run_attachments (run, name, data) SELECT id, $2, $3 FROM agentsdk_runs WHERE run_id = $1
    ON CONFLICT (run, name) DO UPDATE SET data = EXCLUDED.data
    RETURNING run
"""
_ATTACHMENT = "SELECT data FROM agentsdk_run_attachments JOIN agentsdk_runs ON run = id WHERE run_id = $1 AND name = $2"
_DELETE = "DELETE FROM agentsdk_runs WHERE run_id = $1"
_PRUNE = """
    WITH gone AS (DELETE FROM agentsdk_runs WHERE updated_at < $1 AND status = ANY ($2::text[]) RETURNING id)
    SELECT count(*) FROM gone
"""

_REV = "SELECT rev FROM agentsdk_runs WHERE run_id = $1"


class PostgresRunStore(RunStore):
    """Keeps runs in the PostgreSQL database at a URL, or of an `asyncpg` pool that you close yourself.

    The tables, all named `agentsdk_...`, are made on first use, in the first schema of the `search_path`: the URL can set it
    (`...?search_path=name`). What an append has returned from is as durable as the server's `synchronous_commit` says: by
    default it survives a power loss. Any number of processes may share the runs.

    A lock may be waited for during `busy_timeout` seconds. Stores and sessions of one URL share `max_connections` connections
    on each event loop. Behind PgBouncer give a pool: `asyncpg.create_pool(url, statement_cache_size=0)`.

    Raises `UserError` for what is neither URL nor pool, and without the package `asyncpg`.
    """

    def __init__(self, url_or_pool: str | Pool, *, busy_timeout: float = 10.0, max_connections: int = 10) -> None:
        self._database = PostgresDatabase(
            url_or_pool, _TABLES, repr(self), busy_timeout=busy_timeout, max_connections=max_connections
        )
        self._waiters = Waiters()
        self._subscribe = partial(subscribe, self._database)
        self._notifier = Notifier(self._database)

    def __repr__(self) -> str:
        return "PostgresRunStore()"

    async def append(self, run_id: str, expected_rev: int, events: Sequence[bytes], summary: RunSummary) -> None:
        """Add events to a run's log, if it is where expected, in one statement. Raises `RunConflictError`."""
        statement = _GO_ON if expected_rev else _BEGIN
        values = [getattr(summary, field) for field in _FIELDS]

        async def append(connection: Connection) -> bool:
            rows = await connection.fetch(statement, *values, expected_rev, events)
            if rows and events:
                await self._notifier.add(REVISION + run_id, summary.rev, connection)
            return bool(rows)

        while not await self._database.run(append):
            refused = conflict(await self.summary(run_id), expected_rev, summary)
            if refused is not None:
                raise refused  # else it has become free meanwhile
        self._waiters.notify(REVISION + run_id, summary.rev)
        self._notifier.start()

    async def read(self, run_id: str, from_rev: int = 0) -> list[bytes]:
        """A run's events. Raises `RunNotFoundError`."""
        rows = await self._database.fetch(_READ, run_id, from_rev)
        if not rows:
            raise not_found(run_id)
        return [row[0] for row in rows if row[0] is not None]

    async def summary(self, run_id: str) -> RunSummary | None:
        """A run's summary."""
        rows = await self._database.fetch(_SUMMARY, run_id)
        return _summary(rows[0]) if rows else None

    async def list(self, query: RunQuery) -> list[RunSummary]:
        """The runs that fit."""
        statement, values = _selecting(query)
        return [_summary(row) for row in await self._database.fetch(statement, *values)]

    async def attach(self, run_id: str, name: str, data: bytes) -> None:
        """Keep `data` beside a run's log. Raises `RunNotFoundError`."""
        if not await self._database.fetch(_ATTACH, run_id, name, data):
            raise not_found(run_id)

    async def attachment(self, run_id: str, name: str) -> bytes | None:
        """What was attached under `name`."""
        rows = await self._database.fetch(_ATTACHMENT, run_id, name)
        return rows[0][0] if rows else None

    async def delete(self, run_id: str) -> None:
        """Remove a run."""
        await self._database.fetch(_DELETE, run_id)

    async def prune(self, before: float, statuses: Iterable[RunStatus] = ("finished",)) -> int:
        """Delete runs of these `statuses` that were last updated before `before`, a Unix timestamp in seconds."""
        rows = await self._database.fetch(_PRUNE, before, list(statuses))
        return int(rows[0][0])

    async def wait(self, run_id: str, after_rev: int, timeout: float) -> int:
        """A run's revision once it is above `after_rev`, or after `timeout` seconds.

        An append notifies right after its transaction. While anybody waits, one connection of this store listens, for all who
        wait on an event loop; if it is lost, they connect and look again. It must reach the server itself, or a PgBouncer in
        session mode. What does not arrive, through others or from a process that was killed meanwhile, is found by one
        statement a second for all who wait.
        """
        return await self._waiters.wait(REVISION + run_id, after_rev, timeout, partial(self._rev, run_id), self._subscribe)

    async def aclose(self) -> None:
        """Release the connections of the running event loop. Those of other loops close with their loops."""
        await self._waiters.aclose(f"{self!r} is closed; make a new one")
        await self._notifier.aclose()
        await self._database.aclose()

    async def _rev(self, run_id: str) -> int:
        rows = await self._database.fetch(_REV, run_id)
        return rows[0][0] if rows else 0


def _summary(row: Row) -> RunSummary:
    return msgspec.convert(dict(row.items()), RunSummary)


def _selecting(query: RunQuery) -> tuple[str, list[Any]]:
    """The statement that finds what `query` asks for, and its values."""
    conditions: list[str] = []
    values: list[Any] = []

    def require(condition: str, *given: object) -> None:
        if None not in given:
            numbers = [f"${len(values) + place}" for place, _ in enumerate(given, 1)]
            conditions.append(condition.format(*numbers))
            values.extend(given)

    require("status = {}", query.status)
    require("left(agent, 100) = left({0}, 100) AND agent = {0}", query.agent)
    require("started_at >= {}", query.started_after)
    require("started_at < {}", query.started_before)
    require("input_tokens + output_tokens >= {}", query.min_tokens)
    require("status = 'running' AND held_until <= {}", query.abandoned_at)
    if query.after is not None:
        require("(started_at, run_id) < ({}, {})", query.after.started_at, query.after.run_id)
    where = f"WHERE {' AND '.join(conditions)}" if conditions else ""
    values.append(query.limit)
    return f"SELECT {_COLUMNS} FROM agentsdk_runs {where} ORDER BY started_at DESC, run_id DESC LIMIT ${len(values)}", values
