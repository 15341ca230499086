"""What the database has done: counters of PostgreSQL itself, and the processor time of its processes."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass
from typing import Any

import asyncpg
import psutil

from tests.postgres_server import PostgresServer

_COUNTERS = """
    SELECT
        (SELECT xact_commit + xact_rollback FROM pg_stat_database WHERE datname = current_database()) AS statements,
        pg_snapshot_xmax(pg_current_snapshot())::text::bigint AS commits,
        pg_wal_lsn_diff(pg_current_wal_insert_lsn(), '0/0')::bigint AS wal_bytes,
        (SELECT coalesce(sum(fsyncs), 0)::bigint FROM pg_stat_io WHERE object = 'wal') AS syncs,
        (SELECT count(*) FROM pg_stat_activity WHERE backend_type = 'client backend' AND pid <> pg_backend_pid()) AS connections
"""
_FLUSHED_S = 1.1
"""A backend reports what it has done at most once a second."""


@dataclass(frozen=True)
class Load:
    """What the database did in a while; `connections` at its end. A statement is a transaction; a commit is one that wrote."""

    statements: int
    commits: int
    syncs: int
    wal_bytes: int
    cpu_s: float
    connections: int

    def since(self, before: Load) -> Load:
        """What came after `before`."""
        return Load(
            self.statements - before.statements,
            self.commits - before.commits,
            self.syncs - before.syncs,
            self.wal_bytes - before.wal_bytes,
            self.cpu_s - before.cpu_s,
            self.connections,
        )


class Database:
    """A look at the server from outside."""

    def __init__(self, server: PostgresServer) -> None:
        self._server = server
        self._connection: Any = None

    async def __aenter__(self) -> Database:
        self._connection = await asyncpg.connect(self._server.url)
        return self

    async def __aexit__(self, *_: object) -> None:
        await self._connection.close()

    async def load(self) -> Load:
        """All it has done so far."""
        row = await self._connection.fetchrow(_COUNTERS)
        return Load(
            row["statements"],
            row["commits"],
            row["syncs"],
            row["wal_bytes"],
            cpu_seconds(self._server.processes()),
            row["connections"],
        )

    async def settle(self) -> None:
        """Return when what was done before is in the counters."""
        await asyncio.sleep(_FLUSHED_S)

    async def tidy(self) -> None:
        """What autovacuum does now and then in production: statistics, and no dead rows."""
        await self._connection.execute("VACUUM ANALYZE")

    async def finished(self, since: float, until: float) -> int:
        """How many runs ended between two times (Unix timestamps)."""
        counting = "SELECT count(*) FROM agentsdk_runs WHERE status = 'finished' AND ended_at >= $1 AND ended_at < $2"
        return await self._connection.fetchval(counting, since, until)

    async def ready(self) -> int:
        """How many runs wait for a worker."""
        return await self._connection.fetchval("SELECT count(*) FROM agentsdk_runs WHERE ready_at > 0")

    async def in_work(self, run_ids: list[str]) -> list[str]:
        """Which of these runs are in work, or were left by a worker that died."""
        in_work = "SELECT run_id FROM agentsdk_runs WHERE status = 'running' AND run_id = ANY ($1::text[])"
        return [row[0] for row in await self._connection.fetch(in_work, run_ids)]


def cpu_seconds(processes: list[psutil.Process]) -> float:
    """The processor time they have used; of one that is gone, none."""
    seconds = 0.0
    for process in processes:
        try:
            times = process.cpu_times()
        except psutil.NoSuchProcess:
            continue
        seconds += times.user + times.system
    return seconds
