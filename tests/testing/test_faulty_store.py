"""A store that fails where it is told to: the work of that operation is done or not, as the fault says."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import get_args

import pytest

from agentsdk.stores.memory import MemoryRunStore
from agentsdk.testing.faulty_store import Fault, FaultyStore
from agentsdk.testing.store_conformance import check_store
from agentsdk.testing.store_conformance.check import append
from agentsdk.types.errors import RunConflictError, StoreBusyError, StoreError, StoreUnavailableError, UserError
from agentsdk.types.summary import RunQuery

pytestmark = pytest.mark.anyio

ERRORS = {"locked": StoreBusyError, "full": StoreError, "lost": StoreUnavailableError, "torn": StoreUnavailableError}
OPERATIONS: dict[str, Callable[[FaultyStore], Awaitable[object]]] = {
    "append": lambda store: append(store, "r", 1, b"b"),
    "read": lambda store: store.read("r"),
    "summary": lambda store: store.summary("r"),
    "list": lambda store: store.list(RunQuery()),
    "attach": lambda store: store.attach("r", "n", b"a"),
    "attachment": lambda store: store.attachment("r", "n"),
    "delete": lambda store: store.delete("r"),
    "prune": lambda store: store.prune(2_000_000.0, ("running",)),
}


async def contents(store: MemoryRunStore) -> object:
    """All that the store holds of run r."""
    log = await store.read("r") if await store.summary("r") else None
    return log, await store.attachment("r", "n")


@pytest.mark.parametrize("name", OPERATIONS)
@pytest.mark.parametrize("fault", get_args(Fault))
async def test_an_operation_fails_and_is_done_only_if_torn(fault: Fault, name: str) -> None:
    sound, within = MemoryRunStore(), MemoryRunStore()
    for store in (sound, within):
        await append(store, "r", 0, b"a")
    before = await contents(within)
    await OPERATIONS[name](FaultyStore(sound, fault, at=2))
    faulty = FaultyStore(within, fault, at=1)
    with pytest.raises(StoreError, match="operation 1 of FaultyStore") as caught:
        await OPERATIONS[name](faulty)
    assert type(caught.value) is ERRORS[fault]
    assert await contents(within) == (await contents(sound) if fault == "torn" else before)


async def test_only_that_operation_fails() -> None:
    faulty = FaultyStore(MemoryRunStore(), "lost", at=3)
    await append(faulty, "r", 0, b"a")
    await append(faulty, "r", 1, b"b")
    with pytest.raises(StoreUnavailableError, match="operation 3"):
        await append(faulty, "r", 2, b"c")
    await append(faulty, "r", 2, b"c")
    assert await faulty.read("r") == [b"a", b"b", b"c"]
    assert faulty.operations == 5


async def test_a_torn_append_shows_as_a_conflict_to_who_tries_again() -> None:
    faulty = FaultyStore(MemoryRunStore(), "torn", at=1)
    with pytest.raises(StoreUnavailableError):
        await append(faulty, "r", 0, b"a")
    with pytest.raises(RunConflictError):
        await append(faulty, "r", 0, b"a")
    assert await faulty.read("r") == [b"a"]


async def test_a_torn_operation_that_is_refused_says_so() -> None:
    with pytest.raises(RunConflictError):
        await append(FaultyStore(MemoryRunStore(), "torn", at=1), "r", 7, b"a")


async def test_until_it_fails_it_keeps_every_rule() -> None:
    await check_store(lambda: FaultyStore(MemoryRunStore(), "lost", at=1_000_000), shared=False)


@pytest.mark.parametrize(
    ("fault", "at", "says"), [("lost", 0, r"at=0\), expected at least 1"), ("lots", 1, "expected one of locked")]
)
def test_what_it_cannot_do_is_the_callers_error(fault: Fault, at: int, says: str) -> None:
    with pytest.raises(UserError, match=says):
        FaultyStore(MemoryRunStore(), fault, at)
