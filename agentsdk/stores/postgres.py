"""A run store in PostgreSQL: for runs that any number of processes and machines share.

An append is one statement, so it is a transaction of its own and one round trip: it updates the run's row only if revision and
lease are as expected, and inserts the events for the row it updated. Two that race update the same row, so the second waits for
the first, and then finds the revision changed. A post updates the row too, for its number, but not the revision.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from functools import partial
from typing import Any

import msgspec

from agentsdk.databases.asyncpg_types import Connection, Pool, Row
from agentsdk.databases.postgres import PostgresDatabase
from agentsdk.ports.run_store import RunStore, conflict, not_found, not_open
from agentsdk.stores import postgres_statements as statements
from agentsdk.stores.postgres_notify import Notifier, subscribe
from agentsdk.stores.waiters import DUE, REVISION, SIGNALS, Waiters
from agentsdk.types.queue import QueueStatus
from agentsdk.types.summary import ALL_RUNS, DueRuns, RunQuery, RunStatus, RunSummary


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
            url_or_pool, statements.TABLES, repr(self), busy_timeout=busy_timeout, max_connections=max_connections
        )
        self._waiters, self._watchers = Waiters(), Waiters()
        self._subscribe = partial(subscribe, self._database, False)
        self._subscribe_revisions = partial(subscribe, self._database, True)
        self._notifier = Notifier(self._database)

    def __repr__(self) -> str:
        return "PostgresRunStore()"

    async def append(self, run_id: str, expected_rev: int, events: Sequence[bytes], summary: RunSummary) -> int:
        """Add events to a run's log, if it is where expected, in one statement. Raises `RunConflictError`."""
        statement = statements.GO_ON if expected_rev else statements.BEGIN
        values = [getattr(summary, field) for field in statements.FIELDS]
        values[statements.METADATA] = json.dumps(summary.metadata)
        topic = REVISION + run_id if events else ""
        while True:
            signals = await self._change(statement, *values, expected_rev, events, topic=topic, rev=summary.rev)
            if signals is not None:
                return signals
            refused = conflict(await self.summary(run_id), expected_rev, summary)
            if refused is not None:
                raise refused  # else it has become free meanwhile

    async def read(self, run_id: str, from_rev: int = 0) -> list[bytes]:
        """A run's events. Raises `RunNotFoundError`."""
        return await self._kept(statements.READ, run_id, from_rev)

    async def summary(self, run_id: str) -> RunSummary | None:
        """A run's summary."""
        rows = await self._database.fetch(statements.SUMMARY, run_id)
        return _summary(rows[0]) if rows else None

    async def due(self, query: DueRuns) -> list[RunSummary]:
        """The runs that a worker may take."""
        if query.agents is None:
            rows = await self._database.fetch(statements.DUE, query.at, query.limit)
        else:
            rows = await self._database.fetch(statements.DUE_OF_AGENTS, query.at, query.limit, list(set(query.agents)))
        return [_summary(row) for row in rows]

    async def claim(self, query: DueRuns, owner: str, until: float, besides: Sequence[str] = ()) -> list[RunSummary]:
        """Hold runs that are due, but none of `besides`; each as it stood before. One statement, which waits for no other."""
        values = [query.at, query.limit, owner, until, list(besides)]
        if query.agents is None:
            rows = await self._database.fetch(statements.CLAIM, *values)
        else:
            rows = await self._database.fetch(statements.CLAIM_OF_AGENTS, *values, list(set(query.agents)))
        return [_summary(row) for row in rows]

    async def queue(self, query: DueRuns) -> QueueStatus:
        """How many runs are due, since when, and how many are in work, counted up to `query.limit` of each: one statement."""
        agents = None if query.agents is None else list(query.agents)
        row = (await self._database.fetch(statements.QUEUE, query.at, query.limit, agents))[0]
        oldest = 0.0 if row["since"] is None else query.at - row["since"]
        return QueueStatus(due=row["due"], oldest_seconds=oldest, in_work=row["in_work"])

    async def post(self, run_id: str, signal: bytes) -> int:
        """Put a signal into a run's mailbox. Raises `RunNotFoundError`, and `RunConflictError` where it is over."""
        while True:
            number = await self._change(statements.POST, run_id, signal, topic=SIGNALS + run_id)
            if number is not None:
                return number
            summary = await self.summary(run_id)
            if summary is None:
                raise not_found(run_id)
            if summary.is_over:
                raise not_open(summary)

    async def signals(self, run_id: str, after: int = 0) -> list[bytes]:
        """What was posted to a run. Raises `RunNotFoundError`."""
        return await self._kept(statements.READ_SIGNALS, run_id, after)

    async def _kept(self, statement: str, run_id: str, after: int) -> list[bytes]:
        """What belongs to a run: one row for each, or one with NULL. Raises `RunNotFoundError`."""
        rows = await self._database.fetch(statement, run_id, after)
        if not rows:
            raise not_found(run_id)
        return [row[0] for row in rows if row[0] is not None]

    async def list(self, query: RunQuery = ALL_RUNS) -> list[RunSummary]:
        """The runs that fit."""
        statement, values = _selecting(query)
        return [_summary(row) for row in await self._database.fetch(statement, *values)]

    async def attach(self, run_id: str, name: str, data: bytes) -> None:
        """Keep `data` beside a run's log. Raises `RunNotFoundError`."""
        if not await self._database.fetch(statements.ATTACH, run_id, name, data):
            raise not_found(run_id)

    async def attachment(self, run_id: str, name: str) -> bytes | None:
        """What was attached under `name`."""
        rows = await self._database.fetch(statements.ATTACHMENT, run_id, name)
        return rows[0][0] if rows else None

    async def delete(self, run_id: str) -> None:
        """Remove a run."""
        await self._database.fetch(statements.DELETE, run_id)

    async def prune(self, before: float, statuses: Iterable[RunStatus] = ("finished",)) -> int:
        """Delete runs of these `statuses` that were last updated before `before`, a Unix timestamp in seconds."""
        rows = await self._database.fetch(statements.PRUNE, before, list(statuses))
        return int(rows[0][0])

    async def wait(self, run_id: str, after_rev: int, timeout: float) -> int:
        """A run's revision once it is above `after_rev`, or after `timeout` seconds.

        An append notifies right after its transaction, where anybody waits. While somebody does, one connection of this store
        listens, for all who wait on an event loop; if it is lost, they connect and look again. It must reach the server itself,
        or a PgBouncer in session mode. What does not arrive, through others or from a process that was killed meanwhile, is
        found by one statement a second for all who wait.
        """
        read = partial(self._rev, run_id)
        return await self._watchers.wait(REVISION + run_id, after_rev, timeout, read, self._subscribe_revisions)

    async def wait_signals(self, run_id: str, after: int, timeout: float) -> int:
        """How many signals were posted to a run, once above `after`, or after `timeout` seconds. Otherwise as `wait`."""
        return await self._waiters.wait(SIGNALS + run_id, after, timeout, partial(self._posted, run_id), self._subscribe)

    async def wait_due(self, seen: int, timeout: float) -> int:
        """Another number than `seen` once some run may have become due, or `seen` after `timeout` seconds."""
        return await self._waiters.wait_due(seen, timeout, self._subscribe)

    async def aclose(self) -> None:
        """Release the connections of the running event loop. Those of other loops close with their loops."""
        for waiters in (self._waiters, self._watchers):
            await waiters.aclose(f"{self!r} is closed; make a new one")
        await self._notifier.aclose()
        await self._database.aclose()

    async def _rev(self, run_id: str) -> int:
        rows = await self._database.fetch(statements.REV, run_id)
        return rows[0][0] if rows else 0

    async def _posted(self, run_id: str) -> int:
        rows = await self._database.fetch(statements.POSTED, run_id)
        return rows[0][0] if rows else 0

    async def _change(self, statement: str, *values: object, topic: str, rev: int | None = None) -> int | None:
        """How many signals are in the mailbox of the run that `statement` has changed; None if it has changed none.

        Notifies that the topic has come to `rev`, without it to that number, and that the run is ready, if it is.
        """

        numbers: dict[str, int] = {}

        async def change(connection: Connection) -> int | None:
            for row in await connection.fetch(statement, *values):
                signals: int = row["signals"]
                if topic:
                    numbers[topic] = signals if rev is None else rev
                if row["status"] == "ready":
                    numbers[DUE] = 0
                await self._notifier.add(numbers, connection)
                return signals
            return None

        try:
            return await self._database.run(change)
        finally:  # also where the caller was cancelled once it was done
            for one, number in numbers.items():
                (self._watchers if one.startswith(REVISION) else self._waiters).notify(one, number)
            if DUE in numbers:
                self._waiters.notify_due()
            self._notifier.start()


def _summary(row: Row) -> RunSummary:
    return msgspec.convert({**dict(row.items()), "metadata": json.loads(row["metadata"])}, RunSummary)


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
    require("(started_at, run_id) < ({}, {})", *(query.before or (None,)))
    if query.metadata:
        require("metadata <> '{{}}' AND metadata @> {}", json.dumps(dict(query.metadata)))
    where = f"WHERE {' AND '.join(conditions)}" if conditions else ""
    values.append(query.limit)
    return f"{statements.SUMMARIES} {where} ORDER BY started_at DESC, run_id DESC LIMIT ${len(values)}", values
