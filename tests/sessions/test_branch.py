"""Branches: sessions that begin as another one did."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack
from pathlib import Path
from typing import Any

import pytest

from agentsdk.ports.session import ManagedSession
from agentsdk.sessions.encrypted import EncryptedSession
from agentsdk.sessions.memory import MemorySession
from agentsdk.sessions.sqlite import SQLiteSession
from agentsdk.types.errors import SessionError, UserError
from agentsdk.types.items import Item, Message
from agentsdk.types.session import SessionQuery
from tests.sessions.places import KINDS, Place, place_of

pytestmark = pytest.mark.anyio


@pytest.fixture
async def opened() -> AsyncIterator[AsyncExitStack]:
    async with AsyncExitStack() as stack:
        yield stack


@pytest.fixture(params=["memory", "sqlite in memory", *KINDS])
async def session(request: pytest.FixtureRequest, opened: AsyncExitStack, tmp_path: Path) -> ManagedSession:
    labels: dict[str, Any] = {"user": "ada", "metadata": {"topic": "taxes"}}
    if request.param == "memory":
        return MemorySession("s", **labels)
    if request.param == "sqlite in memory":
        session = SQLiteSession("s", **labels)
        opened.push_async_callback(session.aclose)
        return session
    place = await place_of(request.param, tmp_path, request)
    await opened.enter_async_context(place.opened)
    return place.session("s", **labels)


@pytest.fixture(params=KINDS)
async def place(request: pytest.FixtureRequest, tmp_path: Path) -> AsyncIterator[Place]:
    made = await place_of(request.param, tmp_path, request)
    async with made.opened:
        yield made


def said(*texts: str) -> list[Item]:
    return [Message("user", text) for text in texts]


async def branched(
    session: ManagedSession, opened: AsyncExitStack, name: str = "b", items: int | None = None
) -> ManagedSession:
    branch = await session.branch(name, items=items)
    opened.push_async_callback(branch.aclose)
    return branch


@pytest.mark.parametrize("items", [None, 0, 1, 2, 3, 4])
async def test_a_branch_begins_with_the_first_items(items: int | None, session: ManagedSession, opened: AsyncExitStack) -> None:
    await session.add_items(said("one", "two", "three"))
    before = await session.summary()
    branch = await branched(session, opened, items=items)
    assert type(branch) is type(session)
    assert branch.session_id == "b"
    assert await branch.get_items() == said("one", "two", "three")[:items]
    assert await session.summary() == before
    summary = await branch.summary()
    assert summary is not None and before is not None
    assert (summary.user, summary.metadata, summary.branched_from) == ("ada", {"topic": "taxes"}, "s")
    assert summary.items == len(said("one", "two", "three")[:items])
    assert summary.updated_at >= summary.created_at > before.created_at


async def test_neither_changes_the_other(session: ManagedSession, opened: AsyncExitStack) -> None:
    await session.add_items(said("one", "two", "three"))
    branch = await branched(session, opened, items=2)
    await branch.add_items(said("other"))
    await session.add_items(said("four"))
    assert await branch.get_items() == said("one", "two", "other")
    assert await session.get_items() == said("one", "two", "three", "four")
    assert await branch.replace_latest(said("two", "other"), said("2"))
    assert await session.pop_item() == said("four")[0]
    await branch.update(user="bob", metadata={})
    await session.clear_session()
    assert await branch.get_items() == said("one", "2")
    assert await session.summary() is None
    summary = await branch.summary()
    assert summary is not None
    assert (summary.user, summary.metadata, summary.branched_from) == ("bob", {}, "s")


async def test_a_branch_has_what_the_session_was_given_last(session: ManagedSession, opened: AsyncExitStack) -> None:
    await session.add_items(said("one"))
    await session.update(user="bob", metadata={"topic": "cats"})
    twig = await branched(await branched(session, opened), opened, "t")
    summary = await twig.summary()
    assert summary is not None
    assert (summary.user, summary.metadata, summary.branched_from, summary.items) == ("bob", {"topic": "cats"}, "b", 1)


async def test_a_branch_of_a_session_that_has_not_begun_is_empty(session: ManagedSession, opened: AsyncExitStack) -> None:
    branch = await branched(session, opened)
    assert await branch.get_items() == []
    summary = await branch.summary()
    assert summary is not None
    assert (summary.user, summary.metadata, summary.items, summary.branched_from) == ("ada", {"topic": "taxes"}, 0, "s")
    assert await session.summary() is None


async def test_what_cannot_be_a_branch_is_refused(session: ManagedSession) -> None:
    await session.add_items(said("one"))
    for name in ("", " ", "\ud800"):
        with pytest.raises(UserError, match="session_id is"):
            await session.branch(name)
    for items in (-1, 1.5, "1", True):
        with pytest.raises(UserError, match=r"items is .*, expected None or 0 and more"):
            await session.branch("b", items=items)  # type: ignore[arg-type]


async def test_a_session_that_has_begun_is_never_overwritten(place: Place) -> None:
    session, other = place.session("s"), place.session("b")
    await session.add_items(said("one", "two"))
    await other.update(user="bob")
    for name in ("b", "s"):
        with pytest.raises(SessionError, match=f"session '{name}' has begun already"):
            await session.branch(name)
    assert await other.get_items() == []
    assert await session.get_items() == said("one", "two")
    assert sorted(await place.ids()) == ["b", "s"]
    await other.clear_session()
    branch = await session.branch("b")
    assert await other.get_items() == said("one", "two"), "what is cleared is free again"
    await branch.aclose()


async def test_a_session_of_an_earlier_version_is_branched_and_not_overwritten(place: Place) -> None:
    if place.kind == "encrypted":
        pytest.skip("its items are not encrypted")
    await place.begin_as_before(["old", "older"])
    session = place.session("old")
    with pytest.raises(SessionError, match="has begun already"):
        await session.branch("older")
    branch = await session.branch("new")
    assert await branch.get_items() == said("hello")
    assert (await place.ids())[0] == "new"
    await branch.aclose()


async def test_of_branches_of_one_id_at_once_one_is_made(place: Place) -> None:
    sessions = [place.session(f"s{number}", user=f"user {number}") for number in range(6)]
    for session in sessions:
        await session.add_items(said(*[session.session_id] * 3))
    made = await asyncio.gather(*(session.branch("b") for session in sessions), return_exceptions=True)
    branches = [branch for branch in made if not isinstance(branch, BaseException)]
    assert [type(error) for error in made if isinstance(error, BaseException)] == [SessionError] * 5
    [branch] = branches
    origin = sessions[made.index(branch)]
    assert await branch.get_items() == await origin.get_items()
    assert await place.ids(SessionQuery(user=f"user {made.index(branch)}")) == ["b", origin.session_id]
    await branch.aclose()


async def test_a_branch_beside_runs_that_add_has_whole_batches(place: Place) -> None:
    session = place.session("s")
    await session.add_items(said("0", "0", "0"))

    async def add() -> None:
        for number in range(1, 20):
            await place.session("s").add_items(said(*[str(number)] * 3))

    async def branch(name: str) -> list[Item]:
        branch = await session.branch(name)
        items = await branch.get_items()
        await branch.aclose()
        return items

    _, *found = await asyncio.gather(add(), *(branch(f"b{number}") for number in range(10)))
    whole = await session.get_items()
    for items in found:
        assert items is not None and len(items) % 3 == 0
        assert items == whole[: len(items)]


async def test_a_long_session_is_branched_whole(place: Place) -> None:
    """Redis takes only so many values at once."""
    items = said(*map(str, range(2_500)))
    session = place.session("s")
    await session.add_items(items)
    for name, count in (("all", None), ("some", 1_001), ("a thousand", 1_000)):
        branch = await session.branch(name, items=count)
        assert await branch.get_items() == items[:count]
        await branch.aclose()


async def test_each_is_closed_by_itself(session: ManagedSession) -> None:
    await session.add_items(said("one"))
    branch = await session.branch("b")
    twig = await branch.branch("t")
    await session.aclose()
    await twig.aclose()
    assert await branch.get_items() == said("one")
    await branch.aclose()
    for closed in () if isinstance(session, MemorySession) else (session, branch, twig):
        with pytest.raises(SessionError, match="closed"):
            await closed.get_items()


class Failing(SQLiteSession):
    """Its branches cannot be added to."""

    async def add_items(self, items: Any) -> None:
        if self.session_id == "b":
            raise SessionError("the disk is full")
        await super().add_items(items)


async def test_an_encrypted_branch_that_cannot_be_written_is_none(tmp_path: Path) -> None:
    inner = Failing("s", tmp_path / "s.db")
    session = EncryptedSession(inner, bytes(32))
    await session.add_items(said("one"))
    with pytest.raises(SessionError, match="the disk is full"):
        await session.branch("b")
    assert [known.session_id for known in await SQLiteSession.list(tmp_path / "s.db")] == ["s"]
    await session.aclose()
    with pytest.raises(SessionError, match="is closed"):
        await inner.get_items()
