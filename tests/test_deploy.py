"""A sample of `benchmarks.deploy`: workers that are stopped and killed at work, by how far the work has come."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest

from agentsdk import RunQuery, RunStore
from benchmarks.crash.stores import running
from benchmarks.deploy.service import WORKFLOW, Service
from tests import postgres_server, redis_server

pytestmark = pytest.mark.anyio

RUNS = 14


@pytest.fixture(params=["sqlite", "file", "postgres", "redis"])
def kind(request: pytest.FixtureRequest) -> Iterator[str]:
    if request.param == "postgres" and not postgres_server.installed():
        pytest.skip("needs PostgreSQL's programs")
    if request.param == "redis" and redis_server.program() is None:
        pytest.skip("needs Redis's program")
    yield request.param


async def end_some(service: Service, store: RunStore) -> None:
    """End a worker each time that so many effects are there."""
    for effects in (1, 6, 12, 18):
        async with asyncio.timeout(60):
            while len(service.effects()) < effects:
                latest = await store.list(RunQuery(status="running", limit=1))
                await store.wait(latest[0].run_id if latest else "none", latest[0].rev if latest else 0, 0.1)
        await service.end_one(store)


async def test_every_run_reaches_its_end_and_each_effect_happens_once(kind: str, tmp_path: Path) -> None:
    with ExitStack() as stack:
        service = Service(stack.enter_context(running(kind, tmp_path)), tmp_path, workers=2)
        outcome = await service.play(RUNS, end_some)
    assert (outcome.lost, outcome.repeated, outcome.stranded) == (0, 0, 0), outcome.notes
    assert outcome.finished == RUNS and outcome.stopped + outcome.killed == 4


@pytest.mark.parametrize("kind", ["postgres"], indirect=True)
async def test_three_workers_that_are_killed_bring_each_workflow_to_its_end(kind: str, tmp_path: Path) -> None:
    with ExitStack() as stack:
        address = stack.enter_context(running(kind, tmp_path))
        service = Service(address, tmp_path, workers=3, plans=(WORKFLOW,), stopped=0.0)
        outcome = await service.play(6, end_some)
    assert (outcome.lost, outcome.repeated, outcome.stranded) == (0, 0, 0), outcome.notes
    assert (outcome.finished, outcome.killed) == (6, 4)
