"""What a store in memory adds: it shares no list with its callers, and forgets."""

from __future__ import annotations

import pytest

from agentsdk.stores.memory import MemoryRunStore
from agentsdk.testing.store_conformance.check import append, summed
from agentsdk.types.errors import StoreError

pytestmark = pytest.mark.anyio


async def test_its_lists_are_its_own() -> None:
    store = MemoryRunStore()
    events = [b"a"]
    await store.append("r", 0, events, summed("r", 1))
    events.append(b"b")
    (await store.read("r")).append(b"c")
    assert await store.read("r") == [b"a"]


async def test_it_says_how_many_runs_it_holds_and_none_when_closed() -> None:
    store = MemoryRunStore()
    for run_id in ("r", "s"):
        await append(store, run_id, 0, b"secret")
    assert repr(store) == "MemoryRunStore(2 runs)"
    await store.aclose()
    assert repr(store) == "MemoryRunStore(0 runs)"
    with pytest.raises(StoreError, match="MemoryRunStore is closed; make a new one"):
        await store.summary("r")
