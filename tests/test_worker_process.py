"""Workers as processes: one that drains, and two versions side by side."""

from __future__ import annotations

import asyncio
import contextlib
import os
import signal
import sys
from asyncio.subprocess import DEVNULL, PIPE, Process
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from agentsdk import PostgresRunStore, RunConfig, Runner, RunStore, RunSummary, SQLiteRunStore, ToolApprovalItem
from agentsdk.workflow import Workflow
from tests import postgres_server
from tests.versioned_app import agents_of

pytestmark = pytest.mark.anyio

ROOT = Path(__file__).parents[1]
PATIENCE = 120


@contextlib.asynccontextmanager
async def at_work(store: str, version: str = "1") -> AsyncIterator[Process]:
    """A worker of that version, at work; it drains at the end."""
    process = await asyncio.create_subprocess_exec(
        *(sys.executable, "-m", "agentsdk", "worker", "tests.versioned_app:agents", "--store", store, "--grace", "60"),
        stdin=DEVNULL,
        stdout=PIPE,
        cwd=ROOT,
        env={**os.environ, "APP_VERSION": version},
    )
    try:
        assert process.stdout is not None
        assert b"is at work" in await asyncio.wait_for(process.stdout.readline(), PATIENCE)
        yield process
        process.send_signal(signal.SIGTERM)
        await asyncio.wait_for(process.wait(), PATIENCE)
        assert process.returncode == 0
    finally:
        if process.returncode is None:
            process.kill()
        await process.communicate()


async def until(store: RunStore, run_id: str, status: str) -> RunSummary:
    """The run's summary once it says this."""
    async with asyncio.timeout(PATIENCE):
        while (summary := await store.summary(run_id)) is None or summary.status != status:
            await store.wait(run_id, 0 if summary is None else summary.rev, 1)
    return summary


async def approve(run_id: str, config: RunConfig) -> None:
    """Say yes to all that the run waits for."""
    state = await Runner.load(run_id, run_config=config)
    for item in state.interruptions:
        if isinstance(item, ToolApprovalItem):
            state.approve(item)
        else:
            state.answer(item, True)
    await Runner.decide(state, run_config=config)


@pytest.mark.skipif(not postgres_server.installed(), reason="needs PostgreSQL's programs")
async def test_a_run_goes_on_under_the_version_that_has_what_it_needs() -> None:
    clerk, trip, *_ = agents_of("1")
    _, trip_2, newcomer = agents_of("2")
    assert isinstance(trip, Workflow) and isinstance(trip_2, Workflow)
    with postgres_server.running() as server:
        store = PostgresRunStore(server.url)
        config = RunConfig(store=store)
        try:
            async with at_work(server.url, "1"):
                await Runner.submit(clerk, "go", run_id="pays", run_config=config)
                await Runner.submit(trip, trip.written("Rome"), run_id="trip-1", run_config=config)
                for run_id in ("pays", "trip-1"):
                    await until(store, run_id, "waiting")
                async with at_work(server.url, "2"):
                    await Runner.submit(newcomer, "go", run_id="new", run_config=config)
                    await Runner.submit(trip_2, trip_2.written("Rome"), run_id="trip-2", run_config=config)
                    await until(store, "trip-2", "waiting")
                    for run_id in ("pays", "trip-1", "trip-2"):
                        await approve(run_id, config)
                    for run_id in ("pays", "trip-1", "trip-2", "new"):
                        await until(store, run_id, "finished")
            results = {
                "pays": await Runner.drive(clerk, "pays", run_config=config),
                "trip-1": await Runner.drive(trip, "trip-1", run_config=config),
                "trip-2": await Runner.drive(trip_2, "trip-2", run_config=config),
                "new": await Runner.drive(newcomer, "new", run_config=config),
            }
        finally:
            await store.aclose()
    assert {run_id: result.final_output for run_id, result in results.items()} == {
        "pays": "paid by version 1",
        "trip-1": "Rome is booked by version 1",
        "trip-2": "Rome is booked by version 2",
        "new": "hello of version 2",
    }


async def test_what_no_worker_has_stays_due_and_is_in_its_queue_only(tmp_path: Path) -> None:
    clerk, *_ = agents_of("1")
    _, _, newcomer = agents_of("2")
    store = SQLiteRunStore(tmp_path / "runs.db")
    config = RunConfig(store=store)
    try:
        await Runner.submit(newcomer, "go", run_id="new", run_config=config)
        await Runner.submit(clerk, "go", run_id="pays", run_config=config)
        async with at_work(f"sqlite:{tmp_path / 'runs.db'}", "1"):
            await until(store, "pays", "waiting")
        assert (await until(store, "new", "ready")).owner == ""
    finally:
        await store.aclose()


@pytest.mark.parametrize(
    ("store", "told"),
    [
        ("sqlite:{folder}/none/runs.db", "cannot be opened; expected a file in an existing folder"),
        ("sqlite:{folder}/note.txt", "is not a SQLite database; give another db_path"),
        ("postgresql://ann:wrong@127.0.0.1:1/shop", "cannot be reached, or the connection broke (ConnectionRefusedError)"),
        ("redis://127.0.0.1:1", "cannot be reached, or the connection broke; check the url"),
    ],
)
async def test_a_store_that_cannot_be_opened_ends_the_command(store: str, told: str, tmp_path: Path) -> None:
    (tmp_path / "note.txt").write_text("no database" * 100)
    process = await asyncio.create_subprocess_exec(
        *(sys.executable, "-m", "agentsdk", "worker", "tests.versioned_app:agents"),
        *("--store", store.format(folder=tmp_path)),
        stdin=DEVNULL,
        stdout=PIPE,
        stderr=PIPE,
        cwd=ROOT,
        env={**os.environ, "APP_VERSION": "1"},
    )
    try:
        out, error = await asyncio.wait_for(process.communicate(), PATIENCE)
    finally:
        if process.returncode is None:
            process.kill()
    assert (process.returncode, out) == (1, b""), error
    line = error.decode().strip()
    assert line.startswith("agentsdk: ") and told in line and "\n" not in line
