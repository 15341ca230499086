"""What tests of stored runs share."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable
from pathlib import Path

import pytest

from agentsdk import MemoryRunStore, RunStore, SQLiteRunStore

OpenStore = Callable[[], RunStore]
"""Opens a store of the test's runs, for one process of several."""


@pytest.fixture(params=["memory", "sqlite"])
async def open_store(request: pytest.FixtureRequest, tmp_path: Path) -> AsyncIterator[OpenStore]:
    memory = MemoryRunStore()
    opened: list[SQLiteRunStore] = []

    def open_one() -> RunStore:
        if request.param == "memory":
            return memory
        opened.append(SQLiteRunStore(tmp_path / "runs.db", synchronous="NORMAL"))
        return opened[-1]

    yield open_one
    for store in opened:
        await store.aclose()
