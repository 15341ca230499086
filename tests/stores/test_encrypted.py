"""What encryption adds to a run store."""

from __future__ import annotations

import asyncio
import functools
from collections.abc import Callable
from contextlib import aclosing
from copy import deepcopy
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agentsdk.ports.run_store import RunStore
from agentsdk.stores import encrypted
from agentsdk.stores.encrypted import EncryptedRunStore
from agentsdk.stores.memory import MemoryRunStore
from agentsdk.stores.sqlite import SQLiteRunStore
from agentsdk.testing.store_conformance import CHECKS, Check
from agentsdk.types.errors import RunConflictError, RunNotFoundError, StateTamperedError, StoreError, UserError
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
    with pytest.raises(RunConflictError):
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


async def two_pasts(shared: int, one: int, other: int) -> tuple[list[bytes], list[bytes]]:
    """The records of a log that went on in one way, was put back, and went on in another."""
    inner = MemoryRunStore()
    await add(EncryptedRunStore(inner, KEY), "r", *[b"shared %d" % number for number in range(shared)])
    pasts: list[list[bytes]] = []
    for name, length in ((b"one", one), (b"other", other)):
        twin = deepcopy(inner)
        for number in range(length):
            await add(EncryptedRunStore(twin, KEY), "r", b"%b %d" % (name, number), rev=shared + number)
        pasts.append(await twin.read("r"))
    return pasts[0], pasts[1]


@given(st.integers(1, 3), st.integers(0, 4), st.integers(0, 4), st.lists(st.booleans(), max_size=7))
def test_a_log_mixed_of_two_of_its_pasts_is_refused(shared: int, one: int, other: int, choices: list[bool]) -> None:
    async def main() -> None:
        first, second = await two_pasts(shared, one, other)
        mixed: list[bytes] = []
        for number, choice in enumerate(choices):
            past = first if choice else second
            mixed += past[number : number + 1]
        inner = MemoryRunStore()
        await add(inner, "r", *mixed)
        store = EncryptedRunStore(inner, KEY)
        if mixed in (first[: len(mixed)], second[: len(mixed)]):
            assert len(await store.read("r")) == len(mixed)
            return
        with pytest.raises(StateTamperedError):
            await store.read("r")

    asyncio.run(main())


@pytest.mark.parametrize("back", ["replaced", "cut", "read from its end"])
async def test_what_an_object_has_seen_is_not_put_back_behind_its_back(back: str) -> None:
    inner = MemoryRunStore()
    store = EncryptedRunStore(inner, KEY)
    await add(store, "r", b"asked")
    before = deepcopy(inner)
    twin = EncryptedRunStore(before, KEY)
    await add(twin, "r", b"approved", rev=1)
    if back != "cut":
        await add(store, "r", b"rejected", rev=1)
    else:
        await add(store, "r", b"rejected", b"more", rev=1)
    inner.__dict__.update(before.__dict__)
    with pytest.raises(StateTamperedError, match="the log of run 'r' was replaced by an earlier one"):
        await store.read("r", 1 if back == "read from its end" else 0)
    assert await EncryptedRunStore(inner, KEY).read("r") == [b"asked", b"approved"], "another process cannot know"


async def test_a_run_begun_anew_under_its_id_is_another_run() -> None:
    inner = MemoryRunStore()
    store, elsewhere = EncryptedRunStore(inner, KEY), EncryptedRunStore(inner, KEY)
    await add(store, "r", b"one", b"two")
    await elsewhere.delete("r")
    await add(elsewhere, "r", b"new", b"run")
    assert await store.read("r", 1) == [b"run"]
    assert await store.read("r") == [b"new", b"run"]
    await add(store, "r", b"goes on", rev=2)
    assert await elsewhere.read("r") == [b"new", b"run", b"goes on"]


async def test_no_more_runs_are_remembered_than_the_bound(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(encrypted, "MAX_SEEN", 2)
    inner = MemoryRunStore()
    store = EncryptedRunStore(inner, KEY)
    for run_id in ("a", "b", "c"):
        await add(store, run_id, b"one")
    for run_id in ("a", "b", "c"):
        await add(store, run_id, b"two", rev=1)
        assert await store.read(run_id) == [b"one", b"two"]


async def test_an_append_that_overtakes_a_read_is_no_tampering() -> None:
    class Slow(MemoryRunStore):
        async def read(self, run_id: str, from_rev: int = 0) -> list[bytes]:
            found = await super().read(run_id, from_rev)
            reading.set()
            await go_on.wait()
            return found

    reading, go_on = asyncio.Event(), asyncio.Event()
    inner = Slow()
    store = EncryptedRunStore(inner, KEY)
    await add(store, "r", b"one")
    slow = asyncio.create_task(store.read("r"))
    await reading.wait()
    await add(store, "r", b"two", rev=1)
    go_on.set()
    assert await slow == [b"one"]
    await add(store, "r", b"three", rev=2)
    assert await store.read("r") == [b"one", b"two", b"three"]


WRITTEN_BY_0_1_0 = [
    bytes.fromhex("0149d2e0e5013a48e09e8fd9b342bb8d3485c2195bd996656c4bed46c0f8cb2c57d2b4664c2d10bff0"),
    bytes.fromhex("0149d2e0e5013a48e04834e53686dd4217d5bf3253a230e2c55717cb9241d8fcdf018f1381cda6ed"),
]


async def test_a_log_of_an_earlier_version_is_read_and_goes_on() -> None:
    inner = MemoryRunStore()
    await add(inner, "r", *WRITTEN_BY_0_1_0)
    image = "0149d2e0e5013a48e03d127460e0b685d518368641cb749daf213d9fd7f791848ca117e24da9fbafa3"
    await inner.attach("r", "image", bytes.fromhex(image))
    store = EncryptedRunStore(inner, KEY)
    assert await store.attachment("r", "image") == b"data"
    assert await store.read("r") == [b"zero", b"one"]
    await add(store, "r", b"two", b"three", rev=2)
    for from_rev in range(5):
        assert await EncryptedRunStore(inner, KEY).read("r", from_rev) == [b"zero", b"one", b"two", b"three"][from_rev:]
    records = await inner.read("r")
    for mixed in ([records[0], WRITTEN_BY_0_1_0[0], *records[2:]], [*records[:2], b"\x01" + records[2][1:], records[3]]):
        other = MemoryRunStore()
        await add(other, "r", *mixed)
        with pytest.raises(StateTamperedError):
            await EncryptedRunStore(other, KEY).read("r")


async def test_a_record_of_an_earlier_version_does_not_follow_one_of_this() -> None:
    inner = MemoryRunStore()
    await add(EncryptedRunStore(inner, KEY), "r", b"zero")
    await add(inner, "r", WRITTEN_BY_0_1_0[1], rev=1)
    with pytest.raises(StateTamperedError, match="event 1 of run 'r' was replaced by an earlier one"):
        await EncryptedRunStore(inner, KEY).read("r")
