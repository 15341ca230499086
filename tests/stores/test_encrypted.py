"""What encryption adds to a run store."""

from __future__ import annotations

import asyncio
import functools
from collections.abc import Callable
from contextlib import aclosing
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agentsdk.ports.run_store import RunStore
from agentsdk.stores.encrypted import EncryptedRunStore
from agentsdk.stores.memory import MemoryRunStore
from agentsdk.stores.sqlite import SQLiteRunStore
from agentsdk.testing.store_conformance import CHECKS, Check
from agentsdk.types.errors import RunConflict, RunNotFoundError, StateTamperedError, StoreError, UserError
from agentsdk.types.summary import RunQuery, RunSummary

pytestmark = pytest.mark.anyio

KEY, OTHER_KEY = bytes(range(32)), bytes(range(1, 33))
CANARY = b"correct horse battery staple"
EVENTS = [b"zero", b"one", b"two", CANARY]


def summed(run_id: str, rev: int) -> RunSummary:
    return RunSummary(run_id=run_id, rev=rev, status="finished", agent="clerk", started_at=1.0, updated_at=2.0)


async def add(store: RunStore, run_id: str, *events: bytes, rev: int = 0) -> None:
    await store.append(run_id, rev, events, summed(run_id, rev + len(events)))


async def kept(run_id: str = "r") -> MemoryRunStore:
    """A store that holds `EVENTS` encrypted, and an attachment."""
    inner = MemoryRunStore()
    store = EncryptedRunStore(inner, KEY)
    await add(store, run_id, *EVENTS)
    await store.attach(run_id, "image", CANARY)
    return inner


def opened(path: Path) -> RunStore:
    return EncryptedRunStore(SQLiteRunStore(path), KEY)


@pytest.mark.parametrize("check", CHECKS, ids=lambda check: check.name)
async def test_it_is_a_run_store(check: Check, tmp_path: Path) -> None:
    await check(functools.partial(opened, tmp_path / "runs.db"), workers=2, rounds=3)


@given(st.text(max_size=20), st.lists(st.lists(st.binary(max_size=50), max_size=4), max_size=5), st.integers(0, 20))
def test_events_come_back_as_they_were_added(run_id: str, batches: list[list[bytes]], from_rev: int) -> None:
    async def main() -> None:
        inner = MemoryRunStore()
        log: list[bytes] = []
        for batch in [[b"start"], *batches]:
            await add(EncryptedRunStore(inner, KEY), run_id, *batch, rev=len(log))
            log += batch
        store = EncryptedRunStore(inner, [OTHER_KEY, KEY])
        assert await store.read(run_id) == log
        assert await store.read(run_id, from_rev) == log[from_rev:]

    asyncio.run(main())


@given(st.text(), st.binary())
def test_attachments_come_back(name: str, data: bytes) -> None:
    async def main() -> None:
        store = EncryptedRunStore(await kept(), KEY)
        await store.attach("r", name, b"before")
        await store.attach("r", name, data)
        assert await store.attachment("r", name) == data

    asyncio.run(main())


async def test_everything_else_is_the_store_within() -> None:
    inner = await kept()
    store = EncryptedRunStore(inner, KEY)
    assert await store.summary("r") == await inner.summary("r") == summed("r", 4)
    assert await store.list(RunQuery(agent="clerk")) == [summed("r", 4)]
    assert await store.attachment("r", "none") is None
    with pytest.raises(RunConflict):
        await add(store, "r", b"late", rev=3)
    with pytest.raises(RunNotFoundError):
        await store.read("unknown")
    with pytest.raises(RunNotFoundError):
        await store.attach("unknown", "image", b"")
    assert await store.prune(2.0) == 0
    assert await store.prune(3.0) == 1
    await add(store, "r", b"again")
    await store.delete("r")
    assert await store.summary("r") is None
    await store.aclose()
    with pytest.raises(StoreError, match="closed"):
        await store.summary("r")


async def test_what_is_kept_holds_no_secret() -> None:
    inner = await kept()
    stored = [*await inner.read("r"), await inner.attachment("r", "image")]
    assert len(stored) == 5
    assert all(record is not None and CANARY not in record for record in stored)
    assert KEY.hex() not in repr(EncryptedRunStore(inner, KEY))
    assert repr(KEY) not in repr(EncryptedRunStore(inner, KEY))


async def test_a_file_holds_no_secret(tmp_path: Path) -> None:
    async with aclosing(opened(tmp_path / "runs.db")) as store:
        await add(store, "run in the clear", *EVENTS)
        await store.attach("run in the clear", "image", CANARY)
        files = b"".join(path.read_bytes() for path in tmp_path.iterdir())
        assert b"run in the clear" in files
        assert CANARY not in files


CHANGES: dict[str, Callable[[list[bytes]], list[bytes]]] = {
    "swapped": lambda log: [log[1], log[0], *log[2:]],
    "repeated": lambda log: [*log, log[-1]],
    "repeated within": lambda log: [log[0], *log],
    "left out": lambda log: [log[0], *log[2:]],
    "first left out": lambda log: log[1:],
    "not encrypted": lambda log: [*log[:-1], CANARY],
    "empty": lambda log: [*log[:-1], b""],
    "one byte": lambda log: [*log[:-1], log[-1][:-1] + bytes([log[-1][-1] ^ 1])],
}


@pytest.mark.parametrize("change", CHANGES.values(), ids=CHANGES)
async def test_a_log_that_was_changed_is_refused(change: Callable[[list[bytes]], list[bytes]]) -> None:
    changed = change(await (await kept()).read("r"))
    inner = MemoryRunStore()
    await add(inner, "r", *changed)
    with pytest.raises(StateTamperedError, match=r"event [0-4] of run 'r'") as refused:
        await EncryptedRunStore(inner, KEY).read("r")
    assert CANARY.decode() not in str(refused.value)


async def test_a_log_of_another_run_is_refused() -> None:
    inner = MemoryRunStore()
    await add(inner, "mine", *await (await kept("theirs")).read("theirs"))
    with pytest.raises(StateTamperedError, match="event 0 of run 'mine'"):
        await EncryptedRunStore(inner, KEY).read("mine")


async def test_an_attachment_elsewhere_is_refused() -> None:
    inner = await kept()
    image = await inner.attachment("r", "image")
    assert image is not None
    await add(inner, "s", b"")
    for run_id, name, record in (
        ("r", "other", image),
        ("s", "image", image),
        ("r", "image", (await inner.read("r"))[0]),
        ("r", "image", CANARY),
    ):
        await inner.attach(run_id, name, record)
        with pytest.raises(StateTamperedError, match=f"attachment '{name}' of run '{run_id}'"):
            await EncryptedRunStore(inner, KEY).attachment(run_id, name)


async def test_another_key_reads_nothing() -> None:
    store = EncryptedRunStore(await kept(), OTHER_KEY)
    with pytest.raises(StateTamperedError, match="another key"):
        await store.read("r")
    with pytest.raises(StateTamperedError, match="another key"):
        await store.attachment("r", "image")
    with pytest.raises(UserError, match="key 0 has 3 bytes"):
        EncryptedRunStore(MemoryRunStore(), b"key")


async def test_a_run_goes_on_under_a_new_key() -> None:
    inner = await kept()
    both = EncryptedRunStore(inner, [OTHER_KEY, KEY])
    await add(both, "r", b"four", rev=4)
    assert await both.read("r") == [*EVENTS, b"four"]
    assert await EncryptedRunStore(inner, OTHER_KEY).read("r", 4) == [b"four"], "what is new is under the first key"
