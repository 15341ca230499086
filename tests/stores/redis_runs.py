"""Runs in a Redis, and a look at its keys, for the tests of its store."""

from __future__ import annotations

import contextlib
from collections.abc import AsyncIterator, Iterator

import redis
from msgspec.structs import replace
from redis.asyncio import Redis

from agentsdk.stores.redis import RedisRunStore
from agentsdk.types.summary import RunStatus, RunSummary

SECRET = "correct horse battery staple"


@contextlib.asynccontextmanager
async def opened(url: str | Redis, prefix: str = "agentsdk", timeout: float = 10.0) -> AsyncIterator[RedisRunStore]:
    async with contextlib.aclosing(RedisRunStore(url, prefix=prefix, timeout=timeout)) as store:
        yield store


def summed(run_id: str, rev: int, status: RunStatus = "running", at: float = 1.0, **fields: object) -> RunSummary:
    summary = RunSummary(run_id=run_id, rev=rev, status=status, agent="a", started_at=at, updated_at=at)
    return replace(summary, **fields)


async def append(store: RedisRunStore, run_id: str, rev: int, *events: bytes) -> None:
    await store.append(run_id, rev, events, summed(run_id, rev + len(events)))


def admin(url: str) -> redis.Redis:
    """A client that sees the bare keys."""
    return redis.Redis.from_url(url, protocol=2)


def everything(url: str) -> dict[bytes, bytes]:
    with admin(url) as client:
        return {key: client.dump(key) for key in client.keys("*")}


@contextlib.contextmanager
def counted(url: str, calls: dict[str, int]) -> Iterator[None]:
    """Counts the commands that the server carries out meanwhile, those of scripts included."""
    with admin(url) as client:
        client.config_resetstat()
        yield
        stats = client.info("commandstats")
        calls.update({name.removeprefix("cmdstat_"): given["calls"] for name, given in stats.items()})
