"""What every session does, whatever keeps it."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agentsdk.ports.session import ReplacingSession, Session
from agentsdk.sessions.encrypted import EncryptedSession
from agentsdk.sessions.memory import MemorySession
from agentsdk.sessions.postgres import PostgresSession
from agentsdk.sessions.redis import RedisSession
from agentsdk.sessions.sqlite import SQLiteSession
from agentsdk.types.errors import UserError
from agentsdk.types.items import FunctionCall, FunctionCallOutput, Item, Message, ProviderItem, Reasoning
from agentsdk.types.text import clean_text

CONVERSATION: list[Item] = [
    Message("user", "What is 2 + 2?"),
    Reasoning("Add them.", summary=("add",), signature="s", provider="p"),
    FunctionCall("call-1", "add", '{"a": 2, "b": 2}'),
    FunctionCallOutput("call-1", "4"),
    ProviderItem("p", {"nested": {"list": [1, 2.5, None, True]}}),
    Message("assistant", "4"),
]


@pytest.fixture(params=["memory", "sqlite", "sqlite file", "encrypted file", "postgres_url", "redis_url"])
def kind(request: pytest.FixtureRequest) -> str:
    return str(request.getfixturevalue(request.param) if request.param.endswith("_url") else request.param)


@contextlib.asynccontextmanager
async def opened(kind: str, folder: Path, session_id: str = "s") -> AsyncIterator[ReplacingSession]:
    if kind == "memory":
        yield MemorySession(session_id)
        return
    if kind.startswith("postgresql:"):
        async with contextlib.aclosing(PostgresSession(f"{folder} {session_id}", kind)) as session:
            yield session
        return
    if kind.startswith("redis:"):
        async with contextlib.aclosing(RedisSession(f"{folder} {session_id}", kind)) as session:
            yield session
        return
    async with contextlib.aclosing(SQLiteSession(session_id, folder / "s.db" if "file" in kind else ":memory:")) as session:
        yield EncryptedSession(session, bytes(32)) if "encrypted" in kind else session


def shared(kind: str) -> bool:
    """Whether two objects of one id are one conversation."""
    return kind not in ("memory", "sqlite")


@pytest.mark.anyio
async def test_items_come_back_in_order(kind: str, tmp_path: Path) -> None:
    async with opened(kind, tmp_path) as session:
        assert await session.get_items() == []
        await session.add_items(CONVERSATION[:2])
        await session.add_items(CONVERSATION[2:])
        await session.add_items([])
        assert await session.get_items() == CONVERSATION


@pytest.mark.anyio
async def test_limit_gives_the_latest(kind: str, tmp_path: Path) -> None:
    async with opened(kind, tmp_path) as session:
        await session.add_items(CONVERSATION)
        assert await session.get_items(2) == CONVERSATION[-2:]
        assert await session.get_items(100) == CONVERSATION
        assert await session.get_items(0) == []
        with pytest.raises(UserError, match="limit is -1"):
            await session.get_items(-1)


@pytest.mark.anyio
async def test_pop_takes_the_latest(kind: str, tmp_path: Path) -> None:
    async with opened(kind, tmp_path) as session:
        assert await session.pop_item() is None
        await session.add_items(CONVERSATION)
        assert await session.pop_item() == CONVERSATION[-1]
        assert await session.get_items() == CONVERSATION[:-1]
        await session.add_items(CONVERSATION[:1])
        assert await session.get_items() == [*CONVERSATION[:-1], CONVERSATION[0]]


@pytest.mark.anyio
async def test_clear_removes_everything(kind: str, tmp_path: Path) -> None:
    async with opened(kind, tmp_path) as session:
        await session.add_items(CONVERSATION)
        await session.clear_session()
        assert await session.get_items() == []


@pytest.mark.anyio
async def test_what_was_read_is_the_callers_own(kind: str, tmp_path: Path) -> None:
    async with opened(kind, tmp_path) as session:
        await session.add_items(CONVERSATION)
        (await session.get_items()).clear()
        assert await session.get_items() == CONVERSATION


@pytest.mark.anyio
async def test_dicts_are_items_too(kind: str, tmp_path: Path) -> None:
    async with opened(kind, tmp_path) as session:
        await session.add_items([{"role": "user", "content": "hi"}])
        assert await session.get_items() == [Message("user", "hi")]


@pytest.mark.anyio
async def test_one_bad_entry_keeps_all_out(kind: str, tmp_path: Path) -> None:
    async with opened(kind, tmp_path) as session:
        with pytest.raises(UserError, match=r"input\[1\]"):
            await session.add_items([{"role": "user", "content": "hi"}, {"role": "nobody"}])
        assert await session.get_items() == []


@pytest.mark.anyio
async def test_batches_of_two_runs_at_once_stay_whole(kind: str, tmp_path: Path) -> None:
    async def run(session: Session, name: str) -> None:
        for number in range(20):
            await session.add_items([Message("user", f"{name} {number}"), Message("assistant", f"{name} {number}")])

    async with opened(kind, tmp_path) as session, opened(kind, tmp_path) as other:
        second = other if shared(kind) else session
        await asyncio.gather(run(session, "a"), run(second, "b"))
        texts = [item.text for item in await session.get_items() if isinstance(item, Message)]
        assert texts[::2] == texts[1::2]
        assert len(texts) == 80


@pytest.mark.anyio
async def test_the_latest_items_are_replaced_if_they_are_the_expected_ones(kind: str, tmp_path: Path) -> None:
    async with opened(kind, tmp_path) as session:
        assert isinstance(session, ReplacingSession)
        await session.add_items(CONVERSATION)
        assert await session.replace_latest(CONVERSATION[-2:], [{"role": "assistant", "content": "five"}])
        assert await session.get_items() == [*CONVERSATION[:-2], Message("assistant", "five")]
        assert await session.replace_latest((), CONVERSATION[:1]), "nothing is always what stands last"
        assert await session.get_items(2) == [Message("assistant", "five"), CONVERSATION[0]]
        assert await session.replace_latest(await session.get_items(), [])
        assert await session.get_items() == []


@pytest.mark.anyio
@pytest.mark.parametrize(
    "expected",
    [CONVERSATION[-2:-1], CONVERSATION[:1], [*CONVERSATION[-2:], CONVERSATION[0]], [CONVERSATION[0], *CONVERSATION]],
    ids=["not last", "first", "one more at the end", "one more at the start"],
)
async def test_other_items_than_the_expected_ones_stay(kind: str, expected: list[Item], tmp_path: Path) -> None:
    async with opened(kind, tmp_path) as session:
        await session.add_items(CONVERSATION)
        assert not await session.replace_latest(expected, [Message("user", "never")])
        assert await session.get_items() == CONVERSATION


@pytest.mark.anyio
async def test_a_replacement_that_is_no_item_changes_nothing(kind: str, tmp_path: Path) -> None:
    async with opened(kind, tmp_path) as session:
        await session.add_items(CONVERSATION)
        with pytest.raises(UserError, match=r"input\[1\]"):
            await session.replace_latest(CONVERSATION[-1:], [Message("user", "never"), {"role": "nobody"}])
        assert await session.get_items() == CONVERSATION


@pytest.mark.anyio
async def test_of_replacements_of_the_same_items_one_wins(kind: str, tmp_path: Path) -> None:
    async with opened(kind, tmp_path) as session, opened(kind, tmp_path) as other:
        await session.add_items(CONVERSATION)
        sessions = [session, other if shared(kind) else session] * 10
        replaced = await asyncio.gather(
            *[one.replace_latest(CONVERSATION[-2:], [Message("user", str(at))]) for at, one in enumerate(sessions)]
        )
        assert replaced.count(True) == 1
        assert await session.get_items() == [*CONVERSATION[:-2], Message("user", str(replaced.index(True)))]


def test_a_session_of_four_methods_cannot_replace() -> None:
    class Plain(Session):
        pass

    assert not isinstance(Plain(), ReplacingSession)


@given(st.text(st.characters(), max_size=20), st.text(st.characters(), max_size=20))
def test_any_text_comes_back_with_lone_surrogates_replaced(text: str, name: str) -> None:
    async def main() -> None:
        for session in (MemorySession("s"), SQLiteSession("s")):
            await session.add_items([Message("user", text + "\0\ud800"), FunctionCall("c", name, text)])
            assert await session.get_items() == [
                Message("user", clean_text(text) + "\0\ufffd"),
                FunctionCall("c", clean_text(name), clean_text(text)),
            ]
            assert await session.replace_latest([FunctionCall("c", name, text)], []), "they are compared as they are kept"
            if isinstance(session, SQLiteSession):
                session.close()

    asyncio.run(main())


@pytest.mark.parametrize("session_id", ["", " ", "\t\n\u2003", None, 7, b"s", "\ud800"])
def test_an_id_that_names_no_conversation_is_refused(session_id: Any) -> None:
    """An id that was never set would be everybody's."""
    for make in (
        MemorySession,
        SQLiteSession,
        lambda given: PostgresSession(given, "postgresql://nobody@localhost/none"),
        lambda given: RedisSession(given, "redis://localhost:1/0"),
    ):
        with pytest.raises(UserError, match=r"session_id is .*, expected"):
            make(session_id)
    inner = MemorySession("s")
    inner.session_id = session_id
    with pytest.raises(UserError, match="session_id"):
        EncryptedSession(inner, bytes(32))
