"""Runs that programs of earlier versions keep in the same tables while this version runs beside them."""

from __future__ import annotations

import contextlib

import asyncpg
import pytest
from msgspec.structs import replace

from agentsdk.stores.postgres import PostgresRunStore
from agentsdk.types.summary import DueRuns, RunQuery, RunSummary
from tests.postgres_server import PostgresServer
from tests.stores.earlier import expect_found_as_todays, of_earlier

pytestmark = pytest.mark.anyio


class EarlierPostgres:
    """Carries out the statements of a program of 0.1.0, or of one before 0.2.0 which knew more columns."""

    def __init__(self, connection: asyncpg.Connection, *, oldest: bool) -> None:
        self._connection = connection
        self._without = ("first_agent", "paid") if oldest else ()

    async def append(self, summary: RunSummary, status: str) -> None:
        told = of_earlier(summary, status, self._without)
        columns, values = ", ".join(told), ", ".join(f"${number}" for number, _ in enumerate(told, 1))
        await self._connection.execute(
            f"INSERT INTO agentsdk_runs ({columns}) VALUES ({values}) "
            f"ON CONFLICT (run_id) DO UPDATE SET ({columns}) = ({values})",
            *told.values(),
        )

    async def delete(self, run_id: str) -> None:
        await self._connection.execute("DELETE FROM agentsdk_runs WHERE run_id = $1", run_id)

    async def list_abandoned(self) -> None:
        await self._connection.fetch("SELECT run_id FROM agentsdk_runs WHERE status = 'running' AND held_until <= 9")


@pytest.mark.parametrize("oldest", [True, False])
async def test_runs_of_earlier_programs_beside_this_one_are_found_as_its_own(
    running_postgres: PostgresServer, oldest: bool
) -> None:
    url = await running_postgres.fresh_url()
    async with contextlib.aclosing(PostgresRunStore(url)) as store, asyncpg.create_pool(url) as pool:
        assert await store.list(RunQuery()) == []
        await expect_found_as_todays(store, EarlierPostgres(pool, oldest=oldest), seed=1)


async def test_a_run_that_an_earlier_program_leaves_with_signals_is_ready(running_postgres: PostgresServer) -> None:
    url, due = await running_postgres.fresh_url(), DueRuns(at=9.0)
    run = RunSummary(run_id="r", rev=0, status="waiting", agent="a", started_at=1.0, updated_at=2.0)
    async with contextlib.aclosing(PostgresRunStore(url)) as store, asyncpg.create_pool(url) as pool:
        assert await store.due(due) == []
        earlier = EarlierPostgres(pool, oldest=False)
        await earlier.append(run, "waiting")
        await store.post("r", b"signal")
        for status, held_until, found in (("running", 99.0, []), ("waiting", 0.0, ["ready"]), ("finished", 0.0, [])):
            await earlier.append(replace(run, held_until=held_until), status)
            assert [one.status for one in await store.due(due)] == found
