"""Compaction of a session: its first items are replaced in one step, and kept."""

from __future__ import annotations

import asyncio
import subprocess
import sys
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest
import redis
from hypothesis import given
from hypothesis import strategies as st

from agentsdk.ports.session import ManagedSession
from agentsdk.sessions.encrypted import EncryptedSession
from agentsdk.sessions.memory import MemorySession
from agentsdk.sessions.redis import RedisSession
from agentsdk.sessions.sqlite import SQLiteSession
from agentsdk.types.errors import SessionError, UserError
from agentsdk.types.items import Item, Message, ProviderItem
from tests import redis_server
from tests.sessions.places import KINDS, Place, place_of
from tests.sessions.test_encrypted import ADDED_BY_0_1_0

pytestmark = pytest.mark.anyio

KEY = bytes(32)


def said(*texts: str) -> list[Item]:
    return [Message("user", text) for text in texts]


@pytest.fixture(params=["memory", "encrypted in memory", *KINDS])
async def session(request: pytest.FixtureRequest, tmp_path: Path) -> AsyncIterator[ManagedSession]:
    if "memory" in request.param:
        memory = MemorySession("s")
        yield memory if request.param == "memory" else EncryptedSession(memory, KEY)
        return
    made = await place_of(request.param, tmp_path, request)
    async with made.opened:
        yield made.session("s")


@pytest.fixture(params=KINDS)
async def place(request: pytest.FixtureRequest, tmp_path: Path) -> AsyncIterator[Place]:
    made = await place_of(request.param, tmp_path, request)
    async with made.opened:
        yield made


async def test_the_first_items_are_replaced_and_kept(session: ManagedSession) -> None:
    await session.add_items(said("1", "2", "3", "4"))
    before = await session.summary()
    assert await session.get_original_items() == said("1", "2", "3", "4")
    assert await session.compact(said("1", "2", "3"), said("1 to 3"))
    assert await session.get_items() == said("1 to 3", "4")
    assert await session.get_original_items() == said("1", "2", "3", "4")
    after = await session.summary()
    assert before is not None and after is not None
    assert (after.items, after.updated_at) == (2, before.updated_at), "nobody has said anything"
    await session.add_items(said("5", "6"))
    assert await session.compact(said("1 to 3", "4", "5"), said("1 to 3", "4 and 5"))
    assert await session.get_items() == said("1 to 3", "4 and 5", "6")
    assert await session.get_items(2) == said("4 and 5", "6")
    assert await session.get_original_items() == said("1", "2", "3", "4", "5", "6")
    assert await session.compact(await session.get_items(), said("all"))
    assert await session.get_items() == said("all")
    await session.add_items(said("7"))
    assert await session.get_items() == said("all", "7")
    assert await session.get_original_items() == said("1", "2", "3", "4", "5", "6", "7")


async def test_more_items_may_take_the_place_of_fewer(session: ManagedSession) -> None:
    await session.add_items(said("1", "2"))
    assert await session.compact(said("1"), said("a", "b", "c"))
    assert await session.get_items() == said("a", "b", "c", "2")
    assert await session.compact(said("a"), said("d", "e"))
    assert await session.get_items() == said("d", "e", "b", "c", "2")
    await session.add_items(said("3"))
    assert await session.get_items() == said("d", "e", "b", "c", "2", "3")
    assert await session.get_original_items() == said("1", "2", "3")


@pytest.mark.parametrize(
    "expected",
    [said("2"), said("1", "3"), said("1", "2", "3", "4"), said("0", "1")],
    ids=["not first", "not together", "one more", "one before"],
)
async def test_other_items_than_the_expected_ones_stay(expected: list[Item], session: ManagedSession) -> None:
    assert not await session.compact(expected, said("never"))
    await session.add_items(said("1", "2", "3"))
    assert not await session.compact(expected, said("never"))
    assert await session.get_items() == await session.get_original_items() == said("1", "2", "3")


async def test_what_is_no_compaction_is_refused(session: ManagedSession) -> None:
    await session.add_items(said("1", "2"))
    for expected, items in ((said("1"), []), ([], said("never")), ([], [])):
        with pytest.raises(UserError, match=r"to have \d items in the place of \d, expected at least one of each"):
            await session.compact(expected, items)
    with pytest.raises(UserError, match=r"input\[1\]"):
        await session.compact(said("1"), [*said("a"), {"role": "nobody"}])
    assert await session.get_items() == await session.get_original_items() == said("1", "2")


async def test_what_is_taken_back_after_a_compaction_stays_among_the_originals_if_it_was_replaced(
    session: ManagedSession,
) -> None:
    await session.add_items(said("1", "2", "3"))
    assert await session.compact(said("1", "2"), said("a", "b"))
    assert await session.pop_item() == said("3")[0]
    assert await session.pop_item() == said("b")[0]
    await session.add_items(said("4"))
    assert await session.get_items() == said("a", "4")
    assert await session.get_original_items() == said("1", "2", "4")
    assert await session.replace_latest(said("a", "4"), said("5", "6"))
    assert await session.get_items() == said("5", "6")
    assert await session.get_original_items() == said("1", "2", "5", "6")
    assert await session.compact(said("5"), said("five"))
    assert await session.get_original_items() == said("1", "2", "5", "6")


async def test_what_is_cleared_has_no_originals(session: ManagedSession) -> None:
    await session.add_items(said("1", "2", "3"))
    assert await session.compact(said("1", "2"), said("1 and 2"))
    await session.clear_session()
    assert await session.get_items() == await session.get_original_items() == []
    await session.add_items(said("4"))
    assert await session.get_original_items() == said("4")


async def test_a_branch_begins_with_what_stands_there_and_has_no_older_originals(session: ManagedSession) -> None:
    await session.add_items(said("1", "2", "3"))
    assert await session.compact(said("1", "2"), said("1 and 2"))
    branch = await session.branch("b")
    await branch.add_items(said("4"))
    assert await branch.get_items() == await branch.get_original_items() == said("1 and 2", "3", "4")
    assert await branch.compact(said("1 and 2", "3"), said("1 to 3"))
    assert await branch.get_original_items() == said("1 and 2", "3", "4")
    assert await session.get_original_items() == said("1", "2", "3")
    await branch.aclose()


async def test_a_long_session_is_compacted_whole(session: ManagedSession) -> None:
    """Redis takes only so many values at once."""
    items = said(*map(str, range(2_500)))
    await session.add_items(items)
    assert await session.compact(items[:2_100], said(*(f"new {number}" for number in range(1_050))))
    assert await session.get_items() == [*said(*(f"new {number}" for number in range(1_050))), *items[2_100:]]
    assert await session.get_original_items() == items


async def test_nothing_that_others_add_meanwhile_is_lost(place: Place) -> None:
    session = place.session("s")
    await session.add_items(said("0", "1"))

    async def add(name: str) -> None:
        mine = place.session("s")
        for number in range(12):
            await mine.add_items(said(f"{name} {number}", f"{name} {number}"))

    async def compact() -> int:
        done = 0
        while done < 12:
            items = await session.get_items()
            done += await session.compact(items, said(f"{len(items)} items"))
        return done

    await asyncio.gather(add("a"), add("b"), compact(), compact())
    originals = [item.text for item in await session.get_original_items() if isinstance(item, Message)]
    assert originals[:2] == ["0", "1"]
    assert originals[2::2] == originals[3::2], "batches stay whole"
    assert sorted(originals[2::2]) == sorted(f"{name} {number}" for name in "ab" for number in range(12))


async def test_of_compactions_of_the_same_items_one_wins(place: Place) -> None:
    sessions = [place.session("s") for _ in range(8)]
    await sessions[0].add_items(said("1", "2", "3"))
    done = await asyncio.gather(
        *(session.compact(said("1", "2"), said(str(number))) for number, session in enumerate(sessions))
    )
    assert done.count(True) == 1
    assert await sessions[0].get_items() == said(str(done.index(True)), "3")
    assert await sessions[0].get_original_items() == said("1", "2", "3")


COMPACTING = """
import asyncio, sys
from tests.sessions.places import Place
from tests.sessions.test_compact import said

async def main(kind, address):
    session = Place(kind, address).session("s")
    number = len(await session.get_original_items())
    while True:
        await session.add_items(said(*(str(number + part) for part in range(10))))
        number += 10
        items = await session.get_items()
        print(number, flush=True)
        assert await session.compact(items[:-1], said(f"{number - 1} before"))

asyncio.run(main(*sys.argv[1:]))
"""


async def test_a_process_killed_while_it_compacts_loses_nothing(place: Place) -> None:
    command = [sys.executable, "-c", COMPACTING, place.kind, place.address]
    confirmed = 0
    for _ in range(3):
        with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
            assert process.stdout
            confirmed = next(int(line) for line in process.stdout if int(line) >= confirmed + 50)
            process.kill()
            process.stdout.read()
        session = place.session("s")
        originals = await session.get_original_items()
        assert len(originals) >= confirmed
        assert originals == said(*map(str, range(len(originals))))
        first, *rest = await session.get_items()
        assert isinstance(first, Message)
        before = int(first.text.removesuffix(" before"))
        assert rest == originals[before:], "all of a compaction is there, or none of it"


async def test_a_session_of_an_earlier_version_is_compacted(place: Place) -> None:
    if place.kind == "encrypted":
        return
    await place.begin_as_before(["s"])
    session = place.session("s")
    await session.add_items(said("2"))
    assert await session.compact(said("hello"), said("hi"))
    assert await session.get_items() == said("hi", "2")
    assert await session.get_original_items() == said("hello", "2")


STEPS = st.lists(
    st.one_of(
        st.tuples(st.just("add"), st.integers(1, 3)),
        st.tuples(st.just("pop"), st.just(0)),
        st.tuples(st.just("replace"), st.integers(1, 3)),
        st.tuples(st.just("compact"), st.tuples(st.integers(1, 4), st.integers(1, 3))),
    ),
    max_size=12,
)


@given(STEPS)
def test_every_kind_does_as_the_one_in_memory(steps: list[tuple[str, Any]]) -> None:
    async def main() -> None:
        sqlite = SQLiteSession("s")
        sessions: list[ManagedSession] = [MemorySession("s"), sqlite, EncryptedSession(MemorySession("s"), KEY)]
        for number, (step, how) in enumerate(steps):
            model = await sessions[0].get_items()
            for session in sessions:
                match step:
                    case "add":
                        await session.add_items(said(*(f"{number} {part}" for part in range(how))))
                    case "pop":
                        await session.pop_item()
                    case "replace":
                        assert await session.replace_latest(model[-how:], said(f"{number}", f"{number}"))
                    case _ if model:
                        first, count = how
                        assert await session.compact(model[:first], said(*(f"c{number} {part}" for part in range(count))))
                    case _:
                        pass
                assert await session.get_items() == await sessions[0].get_items()
                assert await session.get_items(2) == await sessions[0].get_items(2)
                assert await session.get_original_items() == await sessions[0].get_original_items()
        await sqlite.aclose()

    asyncio.run(main())


@pytest.mark.parametrize("change", ["left out", "put back", "swapped"])
async def test_a_compacted_conversation_that_was_changed_is_refused(change: str) -> None:
    inner = MemorySession("s")
    session = EncryptedSession(inner, KEY)
    await session.add_items(said("1", "2", "3", "4"))
    before = await inner.get_items()
    assert await session.compact(said("1", "2", "3"), said("a", "b"))
    a, b, fourth = await inner.get_items()
    changed = {"left out": [b, fourth], "put back": [*before[:2], b, fourth], "swapped": [b, a, fourth]}[change]
    other = MemorySession("s")
    await other.add_items(changed)
    with pytest.raises(SessionError, match="out of order"):
        await EncryptedSession(other, KEY).get_items()


async def test_originals_that_are_not_ours_are_refused() -> None:
    inner = MemorySession("s")
    session = EncryptedSession(inner, KEY)
    await inner.add_items(said("not encrypted", "neither"))
    assert await inner.compact(said("not encrypted"), said("a"))
    with pytest.raises(SessionError, match="not encrypted"):
        await session.get_original_items()
    await session.clear_session()
    await session.add_items(said("1", "2"))
    assert await session.compact(said("1"), said("one"))
    with pytest.raises(SessionError, match="another key"):
        await EncryptedSession(inner, bytes(range(32))).get_original_items()


@pytest.mark.parametrize("count", [1, 2])
async def test_an_encrypted_session_of_an_earlier_version_is_compacted(count: int) -> None:
    inner = MemorySession("user-1")
    await inner.add_items([ProviderItem("agentsdk.encrypted", {"sealed": text}) for text in ADDED_BY_0_1_0])
    session = EncryptedSession(inner, bytes(range(32)))
    before = await session.get_items()
    await session.add_items(said("3"))
    assert await session.compact(before[:count], said("a", "b"))
    assert await session.get_items() == [*said("a", "b"), *before[count:], *said("3")]
    assert await session.compact(said("a", "b"), said("c"))
    assert await session.get_items() == [*said("c"), *before[count:], *said("3")]
    await session.add_items(said("4"))
    assert await session.get_original_items() == [*before, *said("3", "4")]
    assert await session.get_items() == [*said("c"), *before[count:], *said("3", "4")]


async def test_a_full_redis_refuses_and_changes_nothing(redis_url: str) -> None:
    with redis_server.running() as server:
        session = RedisSession("s", server.url)
        await session.add_items(said("1", "2", "3"))
        with redis.Redis.from_url(server.url) as client:
            client.config_set("maxmemory", 1)
            with pytest.raises(SessionError, match="out of memory, and nothing was changed"):
                await session.compact(said("1", "2"), said("a"))
            client.config_set("maxmemory", 0)
        assert await session.get_items() == await session.get_original_items() == said("1", "2", "3")
        await session.aclose()
