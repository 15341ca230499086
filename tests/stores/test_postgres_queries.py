"""What queries and appends cost PostgreSQL: which indexes they use, and which they leave alone."""

from __future__ import annotations

import contextlib
from collections.abc import AsyncIterator

import asyncpg
import pytest
from msgspec.structs import replace

from agentsdk.stores import postgres_statements as statements
from agentsdk.stores.postgres import PostgresRunStore
from agentsdk.types.summary import RunQuery, RunSummary
from tests.postgres_server import PostgresServer
from tests.stores.queries import expect_answers_of_memory

pytestmark = pytest.mark.anyio


@pytest.fixture
async def url(running_postgres: PostgresServer) -> str:
    return await running_postgres.fresh_url()


@pytest.fixture
async def store(url: str) -> AsyncIterator[PostgresRunStore]:
    async with contextlib.aclosing(PostgresRunStore(url)) as store:
        yield store


@pytest.fixture
async def admin(url: str) -> AsyncIterator[asyncpg.Connection]:
    connection = await asyncpg.connect(url)
    yield connection
    await connection.close()


async def test_any_query_gives_what_fits_in_order_over_any_pages(store: PostgresRunStore) -> None:
    await expect_answers_of_memory(store)


async def test_what_is_due_is_read_in_the_order_of_an_index(store: PostgresRunStore, admin: asyncpg.Connection) -> None:
    """However many wait or are ready."""
    await store.list(RunQuery())
    await admin.execute("""
        INSERT INTO agentsdk_runs (run_id, status, due_at, priority, first_agent, rev, agent, started_at, updated_at, turns,
            requests, input_tokens, output_tokens, waiting, reason, forked_from, owner, held_until)
        SELECT number::text, CASE number % 2 WHEN 0 THEN 'waiting' ELSE 'ready' END, number % 2 * number, number % 3,
            'agent ' || number % 10, 0, '', number, number, 0, 0, 0, 0, 0, '', '', '', 0
        FROM generate_series(1, 10000) AS number
    """)
    for statement, values, index in (
        (statements.DUE, (1e9, 10), "agentsdk_runs_due"),
        (statements.DUE_OF_AGENTS, (1e9, 10, ["agent 1", "agent 3"]), "agentsdk_runs_due_by_agent"),
        (statements.CLAIM, (1e9, 5, "owner", 2e9, ["1", "3"]), "agentsdk_runs_due"),
        (statements.CLAIM_OF_AGENTS, (1e9, 5, "owner", 2e9, [], ["agent 1", "agent 3"]), "agentsdk_runs_due_by_agent"),
    ):
        plan = await admin.fetch(f"EXPLAIN (ANALYZE, TIMING off) {statement}", *values)
        lines = [line for (line,) in plan if " on agentsdk_runs" in line]
        assert any(f"using {index} on agentsdk_runs" in line for line in lines), lines
        assert not any("Seq Scan" in line for line in lines), lines
        read = [float(line.split("(actual rows=")[1].split()[0]) for line in lines if "never executed" not in line]
        assert sum(read) <= 20, lines


async def test_an_append_to_a_run_in_work_changes_no_index(
    url: str, store: PostgresRunStore, admin: asyncpg.Connection
) -> None:
    run = RunSummary(run_id="r", rev=0, status="running", agent="a", started_at=1.0, updated_at=1.0, metadata={"user": "ada"})
    for rev in range(21):
        run = replace(run, rev=rev + 1, updated_at=float(rev), held_until=rev + 30.0, due_at=rev + 30.0, turns=rev)
        await store.append("r", rev, [b"a"], run)
    await store.aclose()  # a connection says what it has done when it ends
    counts = "SELECT n_tup_upd, n_tup_hot_upd FROM pg_stat_user_tables WHERE relid = 'agentsdk_runs'::regclass"
    while (await admin.fetchrow(counts))["n_tup_upd"] < 20:
        pass
    assert tuple(await admin.fetchrow(counts)) == (20, 20)
