"""Runs that programs of earlier versions keep in the same Redis, before this version comes and while they run beside it."""

from __future__ import annotations

from collections.abc import Sequence

import msgspec
import pytest
import redis

from agentsdk.types.summary import DueRuns, RunQuery, RunSummary
from tests.stores.earlier import STATUSES, expect_found_as_todays, of_earlier, of_today
from tests.stores.redis_runs import admin, opened, summed

pytestmark = pytest.mark.anyio


class EarlierRedis:
    """Does to the keys what a program of 0.1.0 does, or of a version before 0.2.0 which had `leases`."""

    def __init__(self, client: redis.Redis, prefix: str, *, leases: bool) -> None:
        self._client = client
        self._tag = f"{{{prefix}}}:"
        self._leases = leases

    async def append(self, summary: RunSummary, status: str) -> None:
        told = of_earlier(summary, status, () if self._leases else ("first_agent", "paid"))
        self._client.set(f"{self._tag}version", 1)
        self._client.hset(f"{self._tag}runs", summary.run_id, msgspec.json.encode(told).decode())
        for other in STATUSES:
            self._client.zrem(self._tag + other, summary.run_id)
        self._client.zadd(self._tag + status, {summary.run_id: summary.started_at})
        if self._leases:
            self._client.zrem(f"{self._tag}held", summary.run_id)
            if status == "running":
                self._client.zadd(f"{self._tag}held", {summary.run_id: summary.held_until})

    async def list_abandoned(self) -> None:
        for run_id in self._client.zrange(f"{self._tag}running", 0, -1) if self._leases else ():
            stored = self._client.hget(f"{self._tag}runs", run_id)
            self._client.zadd(f"{self._tag}held", {run_id: msgspec.json.decode(stored)["held_until"]})

    async def delete(self, run_id: str) -> None:
        self._client.hdel(f"{self._tag}runs", run_id)
        for name in (*STATUSES, "held"):
            self._client.zrem(self._tag + name, run_id)
        self._client.unlink(f"{self._tag}log:{run_id}", f"{self._tag}attached:{run_id}")


@pytest.mark.parametrize("leases", [False, True])
@pytest.mark.parametrize("seed", range(3))
async def test_runs_of_earlier_programs_beside_this_one_are_found_as_its_own(redis_url: str, leases: bool, seed: int) -> None:
    prefix = f"beside {leases} {seed}"
    async with opened(redis_url, prefix) as store:
        with admin(redis_url) as client:
            await expect_found_as_todays(store, EarlierRedis(client, prefix, leases=leases), seed)


async def test_a_run_that_an_earlier_program_leaves_with_signals_is_ready_at_the_next(redis_url: str) -> None:
    async with opened(redis_url, "signalled") as store:
        with admin(redis_url) as client:
            earlier, due = EarlierRedis(client, "signalled", leases=True), DueRuns(at=9.0)
            await earlier.append(summed("r", 0, held_until=99.0), "running")
            await store.post("r", b"signal")
            await earlier.append(summed("r", 0), "waiting")
            await store.post("r", b"signal")
            assert [(one.status, one.signals) for one in await store.due(due)] == [("ready", 2)]
            await earlier.append(summed("r", 0), "finished")
            assert await store.due(due) == []


async def test_many_runs_that_earlier_programs_left_are_found_at_once(redis_url: str) -> None:
    """More than are put into their places in one go."""
    async with opened(redis_url, "upgrade") as store:
        with admin(redis_url) as client:
            pipeline = client.pipeline()
            earlier = EarlierRedis(pipeline, "upgrade", leases=True)
            left: list[RunSummary] = []
            statuses: Sequence[str] = ("stopped", "running")
            for number, status in enumerate(statuses * 1_200):
                run = summed(f"r{number:04}", 0, at=float(number), held_until=1.0, updated_at=2.0)
                await earlier.append(run, status)
                left.append(of_today(run, status))
            pipeline.execute()
            assert await store.due(DueRuns(at=3.0, limit=5_000)) == sorted(left, key=DueRuns.order)
            assert [one.run_id for one in await store.list(RunQuery(status="ready", limit=2))] == ["r2398", "r2396"]
            assert await store.prune(3.0, ["ready", "running"]) == 2_400
            assert client.keys("{upgrade}:*") == [b"{upgrade}:version"]
