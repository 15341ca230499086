"""What is known of sessions beside their items, and which there are."""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest

from agentsdk.ports.session import ManagedSession, Session
from agentsdk.sessions.encrypted import EncryptedSession
from agentsdk.sessions.memory import MemorySession
from agentsdk.types.errors import SessionError, UserError
from agentsdk.types.items import Item, Message
from agentsdk.types.session import SessionQuery, SessionSummary
from tests.sessions.places import KINDS, Place, place_of

pytestmark = pytest.mark.anyio


@pytest.fixture(params=KINDS)
async def place(request: pytest.FixtureRequest, tmp_path: Path) -> AsyncIterator[Place]:
    made = await place_of(request.param, tmp_path, request)
    async with made.opened:
        yield made


@pytest.fixture(params=["memory", *KINDS])
async def session(request: pytest.FixtureRequest, tmp_path: Path) -> AsyncIterator[ManagedSession]:
    labels: dict[str, Any] = {"user": "ada", "metadata": {"topic": "taxes"}}
    if request.param == "memory":
        yield MemorySession("s", **labels)
        return
    made = await place_of(request.param, tmp_path, request)
    async with made.opened:
        yield made.session("s", **labels)


def said(*texts: str) -> list[Item]:
    return [Message("user", text) for text in texts]


async def summary_of(session: ManagedSession) -> SessionSummary:
    summary = await session.summary()
    assert summary is not None
    return summary


async def test_a_session_says_whose_it_is_and_when_it_changed(session: ManagedSession) -> None:
    before = time.time()
    assert await session.summary() is None
    await session.add_items([])
    assert await session.replace_latest([], []) and await session.pop_item() is None
    assert await session.summary() is None, "nothing has begun"
    await session.add_items(said("one", "two", "three"))
    begun = await summary_of(session)
    assert begun == SessionSummary(
        session_id="s",
        user="ada",
        metadata={"topic": "taxes"},
        created_at=begun.created_at,
        updated_at=begun.created_at,
        items=3,
    )
    assert before - 1 < begun.created_at < time.time() + 1
    latest = begun
    for change, items in (
        (session.add_items(said("four")), 4),
        (session.pop_item(), 3),
        (session.replace_latest(said("three"), said("3", "4", "5")), 5),
        (session.replace_latest(said("5"), []), 4),
    ):
        await change
        summary = await summary_of(session)
        assert (summary.items, summary.created_at) == (items, begun.created_at)
        assert summary.updated_at > latest.updated_at
        latest = summary
    assert not await session.replace_latest(said("other"), [])
    await session.get_items()
    assert await session.summary() == latest


async def test_user_and_metadata_can_be_changed(session: ManagedSession) -> None:
    await session.add_items(said("one"))
    begun = await summary_of(session)
    await session.update()
    assert await session.summary() == begun
    await session.update(metadata={"topic": "cats", "title": 'A "cat"'})
    changed = await summary_of(session)
    assert (changed.user, changed.metadata) == ("ada", {"topic": "cats", "title": 'A "cat"'})
    assert (changed.created_at, changed.updated_at) == (begun.created_at, begun.updated_at), "its items are as they were"
    await session.update(user="bob", metadata={})
    await session.add_items(said("two"))
    changed = await summary_of(session)
    assert (changed.user, changed.metadata, changed.items) == ("bob", {}, 2)


async def test_a_session_may_begin_without_items(session: ManagedSession) -> None:
    await session.update(metadata={"title": "New chat"})
    begun = await summary_of(session)
    assert (begun.user, begun.metadata, begun.items) == ("ada", {"title": "New chat"}, 0)
    assert begun.created_at == begun.updated_at > 0


async def test_what_is_cleared_is_gone_and_begins_anew(session: ManagedSession) -> None:
    await session.add_items(said("one"))
    begun = await summary_of(session)
    await session.update(user="bob")
    await session.clear_session()
    assert await session.summary() is None
    await session.add_items(said("two"))
    again = await summary_of(session)
    assert (again.user, again.metadata, again.items) == ("ada", {"topic": "taxes"}, 1)
    assert again.created_at > begun.created_at


@pytest.mark.parametrize("user", ["", " \t", "a" * 201, "a\0", "\ud800", 5, b"ada"])
async def test_what_is_no_user_is_refused_everywhere(user: Any, session: ManagedSession) -> None:
    """A blank one is what an application hands over that does not know who is there."""
    for refused in (lambda: MemorySession("s", user=user), lambda: SessionQuery(user=user)):
        with pytest.raises(UserError, match=r"\(user=.*, expected text that is not blank, of at most 200 characters"):
            refused()
    with pytest.raises(UserError, match="user="):
        await session.update(user=user)
    assert await session.summary() is None


@pytest.mark.parametrize("metadata", [{"a": 1}, {1: "a"}, {"a\0": "b"}, {"a": "\ud800"}, ["a"], "a"])
async def test_what_is_no_metadata_is_refused_everywhere(metadata: Any, session: ManagedSession) -> None:
    for refused in (lambda: MemorySession("s", metadata=metadata), lambda: SessionQuery(metadata=metadata)):
        with pytest.raises(UserError, match=r"\(metadata=.*, expected a dict of texts"):
            refused()
    with pytest.raises(UserError, match="metadata="):
        await session.update(metadata=metadata)
    assert await session.summary() is None


async def test_sessions_are_listed_with_the_latest_changed_first(place: Place) -> None:
    assert await place.listed() == []
    a, b, c = sessions = [place.session(name) for name in "abc"]
    for session in sessions:
        await session.add_items(said("one"))
    assert await place.ids() == ["c", "b", "a"]
    await a.add_items(said("two"))
    await c.pop_item()
    assert await place.ids() == ["c", "a", "b"]
    await b.update(user="ada")
    assert await place.listed() == [await summary_of(session) for session in (c, a, b)]
    await a.clear_session()
    assert await place.ids() == ["c", "b"]


async def test_sessions_are_found_by_user_and_metadata(place: Place) -> None:
    strange = "x'); DROP TABLE agentsdk_sessions; --"
    for name, user, metadata in (
        ("a", "ada", {"topic": "taxes", "team": "blue"}),
        ("b", "ada", {"topic": "cats", "$.topic": "taxes"}),
        ("c", "bob", {"topic": "taxes", strange: strange}),
        ("d", strange, {}),
        ("e", None, None),
    ):
        await place.session(name, user=user, metadata=metadata).add_items(said("one"))
    found = {
        "a": await place.ids(SessionQuery(user="ada", metadata={"topic": "taxes"})),
        "ba": await place.ids(SessionQuery(user="ada")),
        "ca": await place.ids(SessionQuery(metadata={"topic": "taxes"})),
        "c": await place.ids(SessionQuery(metadata={strange: strange, "topic": "taxes"})),
        "d": await place.ids(SessionQuery(user=strange)),
        "edcba": await place.ids(SessionQuery(metadata={})),
        "": await place.ids(SessionQuery(user="Ada")) + await place.ids(SessionQuery(metadata={"topic": "dogs"})),
    }
    assert {"".join(ids) for ids in found.values()} == found.keys()
    await place.session("a").update(user="bob", metadata={"topic": "cats"})
    assert await place.ids(SessionQuery(user="ada")) == ["b"]
    assert await place.ids(SessionQuery(user="bob")) == ["c", "a"], "an update is no change of the items"
    assert await place.ids(SessionQuery(metadata={"topic": "cats"})) == ["b", "a"]
    await place.session("a").clear_session()
    assert await place.ids(SessionQuery(user="bob")) == ["c"]


async def test_pages_hold_every_session_once(place: Place) -> None:
    names = [f"{number:02}" for number in range(23)]
    for name in names:
        await place.session(name, user="ada", metadata={"even": str(int(name) % 2)}).add_items(said("one"))
    for query in (SessionQuery(limit=5), SessionQuery(limit=5, user="ada"), SessionQuery(limit=3, metadata={"even": "1"})):
        wanted = [name for name in reversed(names) if not query.metadata or int(name) % 2]
        found: list[SessionSummary] = []
        while page := await place.listed(
            SessionQuery(user=query.user, metadata=query.metadata, limit=query.limit, after=found[-1] if found else None)
        ):
            assert len(page) <= query.limit
            found += page
        assert [summary.session_id for summary in found] == wanted


@pytest.mark.parametrize("becomes", ["changed", "cleared"])
async def test_a_page_goes_on_behind_a_session_that_has_moved(becomes: str, place: Place) -> None:
    for name in "abcdef":
        await place.session(name).add_items(said("one"))
    page = await place.listed(SessionQuery(limit=2))
    assert [summary.session_id for summary in page] == ["f", "e"]
    session = place.session("e")
    await (session.add_items(said("two")) if becomes == "changed" else session.clear_session())
    assert await place.ids(SessionQuery(limit=2, after=page[-1])) == ["d", "c"]


async def test_sessions_of_an_earlier_version_are_listed_with_nothing_known_of_them(place: Place) -> None:
    await place.begin_as_before(["a", "b", "日本", "%", "'", '"', "Z", *(f"old {number}" for number in range(20))])
    names = await place.ids()
    assert len(set(names)) == 27
    assert await place.listed() == [SessionSummary(session_id=name, items=1) for name in names]
    found: list[SessionSummary] = []
    while page := await place.listed(SessionQuery(limit=4, after=found[-1] if found else None)):
        found += page
    assert [summary.session_id for summary in found] == names
    gone = found[3]
    await place.session(gone.session_id).clear_session()
    assert await place.ids(SessionQuery(limit=4, after=gone)) == names[4:8]


async def test_a_session_of_an_earlier_version_is_given_a_user_with_the_next_write(place: Place) -> None:
    await place.begin_as_before(["a", "b", "c"])
    if place.kind != "encrypted":
        await place.session("b", user="ada", metadata={"topic": "cats"}).add_items(said("two"))
    await place.session("c", user="ada").update(metadata={"topic": "taxes"})
    *_, c, a = found = await place.listed()
    assert [summary.session_id for summary in found] == (["c", "b", "a"] if place.kind == "encrypted" else ["b", "c", "a"])
    assert a == SessionSummary(session_id="a", items=1)
    if place.kind != "encrypted":
        b = found[0]
        assert (b.user, b.metadata, b.items, b.created_at) == ("ada", {}, 2, 0.0)
        assert b.updated_at > 0
        assert c == SessionSummary(session_id="c", user="ada", metadata={"topic": "taxes"}, items=1)
        assert await place.ids(SessionQuery(user="ada")) == ["b", "c"]


async def test_of_users_that_begin_a_session_at_once_one_has_it(place: Place) -> None:
    for number in range(5):
        users = [f"user {one}" for one in range(6)]
        sessions = [place.session(f"s{number}", user=user) for user in users]
        await asyncio.gather(*(session.add_items(said("one")) for session in sessions))
        owner = (await summary_of(sessions[0])).user
        for user in users:
            assert (f"s{number}" in await place.ids(SessionQuery(user=user))) == (user == owner)


class Plain(Session):
    """Has only the four methods every session has."""

    def __init__(self) -> None:
        inner = MemorySession("s")
        self.session_id = "s"
        self.get_items = inner.get_items
        self.add_items = inner.add_items
        self.pop_item = inner.pop_item
        self.clear_session = inner.clear_session


async def test_an_encrypted_session_over_one_that_knows_only_items_says_so() -> None:
    session = EncryptedSession(Plain(), bytes(32))
    for call in (session.summary, session.update):
        with pytest.raises(UserError, match=r"holds a 'Plain', expected a ManagedSession"):
            await call()


async def test_a_list_of_what_is_no_database_is_a_typed_error(tmp_path: Path) -> None:
    from agentsdk.sessions import PostgresSession, RedisSession, SQLiteSession

    (tmp_path / "diary.txt").write_text("Dear diary. " * 100)
    with pytest.raises(SessionError, match="is not a SQLite database"):
        await SQLiteSession.list(tmp_path / "diary.txt")
    with pytest.raises(SessionError, match="cannot be reached"):
        await PostgresSession.list("postgresql://nobody@127.0.0.1:9/none")
    with pytest.raises(SessionError, match="cannot be reached"):
        await RedisSession.list("redis://127.0.0.1:9/0")
