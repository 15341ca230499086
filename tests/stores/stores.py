"""The stores that the tests of all stores run on. The factories are called in other processes too."""

from __future__ import annotations

import functools
from collections.abc import Callable
from pathlib import Path

import pytest
from msgspec import Struct

from agentsdk.stores.encrypted import EncryptedRunStore
from agentsdk.stores.file import FileRunStore
from agentsdk.stores.memory import MemoryRunStore
from agentsdk.stores.postgres import PostgresRunStore
from agentsdk.stores.redis import RedisRunStore
from agentsdk.stores.sqlite import SQLiteRunStore
from agentsdk.testing.store_conformance import Factory


class Case(Struct, frozen=True):
    """A kind of store: `factory` of what belongs to a test, and whether several handles can open it."""

    factory: Callable[[pytest.FixtureRequest], Factory]
    shared: bool = True


def _encrypted(path: Path) -> EncryptedRunStore:
    """One handle: what several handles and processes see is up to the store within."""
    return EncryptedRunStore(SQLiteRunStore(path), bytes(range(32)))


def _file(request: pytest.FixtureRequest) -> Path:
    tmp_path: Path = request.getfixturevalue("tmp_path")
    return tmp_path / "runs.db"


STORES = {
    "memory": Case(lambda request: MemoryRunStore, shared=False),
    "file": Case(lambda request: functools.partial(FileRunStore, request.getfixturevalue("tmp_path") / "runs")),
    "sqlite": Case(lambda request: functools.partial(SQLiteRunStore, _file(request))),
    "postgres": Case(lambda request: functools.partial(PostgresRunStore, request.getfixturevalue("postgres_url"))),
    "redis": Case(lambda request: functools.partial(RedisRunStore, request.getfixturevalue("redis_url"), prefix="conformance")),
    "encrypted": Case(lambda request: functools.partial(_encrypted, _file(request)), shared=False),
}
