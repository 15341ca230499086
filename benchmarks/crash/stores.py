"""The stores of the benchmark: real servers, and how a process opens each."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from agentsdk.ports.run_store import RunStore
from tests import postgres_server, redis_server

Address = tuple[str, str]
"""A kind of store, and its file, folder or URL."""

STORES = ("sqlite", "file", "postgres", "redis")

MODULES = {
    "sqlite": ("agentsdk.stores.sqlite", "sqlite3"),
    "file": ("agentsdk.stores.file", "concurrent.futures.thread"),
    "postgres": ("agentsdk.stores.postgres", "asyncpg"),
    "redis": ("agentsdk.stores.redis", "redis.asyncio"),
}
"""What a process needs for each, so that it can be imported once for many."""


def open_store(address: Address) -> RunStore:
    """A handle of the store."""
    kind, place = address
    if kind == "postgres":
        from agentsdk.stores.postgres import PostgresRunStore

        return PostgresRunStore(place)
    if kind == "redis":
        from agentsdk.stores.redis import RedisRunStore

        return RedisRunStore(place)
    if kind == "file":
        from agentsdk.stores.file import FileRunStore

        return FileRunStore(place)
    from agentsdk.stores.sqlite import SQLiteRunStore

    return SQLiteRunStore(place)


@contextmanager
def running(kind: str, folder: Path) -> Iterator[Address]:
    """The store's server, if it needs one, during the `with`."""
    if kind == "postgres":
        with postgres_server.running() as postgres:
            yield kind, postgres.url
    elif kind == "redis":
        with redis_server.running() as redis:
            yield kind, redis.url
    else:
        yield kind, str(folder / ("runs.db" if kind == "sqlite" else "runs"))
