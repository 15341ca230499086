"""What encryption adds to a session. That it is one, test_session.py checks."""

from __future__ import annotations

import asyncio
import base64
import string
from collections.abc import Callable
from contextlib import aclosing
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agentsdk.databases.cipher import Cipher
from agentsdk.ports.session import ReplacingSession, Session
from agentsdk.sessions.encrypted import EncryptedSession
from agentsdk.sessions.memory import MemorySession
from agentsdk.sessions.sqlite import SQLiteSession
from agentsdk.types.errors import SessionError, UserError
from agentsdk.types.items import Item, Message, ProviderItem, Reasoning
from tests.core.histories import items as any_item

pytestmark = pytest.mark.anyio

KEY, OTHER_KEY = bytes(range(32)), bytes(range(1, 33))
BASE64 = string.ascii_letters + string.digits + "+/="
CANARY = "correct horse battery staple"
CONVERSATION: list[Item] = [*(Message("user", str(number)) for number in range(4)), Reasoning(CANARY, provider="p")]


def said(*texts: str) -> list[Item]:
    return [Message("user", text) for text in texts]


class Yielding(MemorySession):
    """Lets others go first between reading and writing, as one on a disk does."""

    async def get_items(self, limit: int | None = None) -> list[Item]:
        found = await super().get_items(limit)
        await asyncio.sleep(0)
        return found


class Plain(Session):
    """Has only the four methods every session has."""

    def __init__(self, inner: MemorySession) -> None:
        self.session_id = inner.session_id
        self.get_items = inner.get_items
        self.add_items = inner.add_items
        self.pop_item = inner.pop_item
        self.clear_session = inner.clear_session


async def stored(session_id: str = "s") -> list[Item]:
    """The conversation as it is kept: added in parts, its end replaced."""
    inner = MemorySession(session_id)
    session = EncryptedSession(inner, KEY)
    await session.add_items(CONVERSATION[:2])
    await session.add_items([CONVERSATION[2], *said("for now")])
    assert await session.replace_latest(said("for now"), CONVERSATION[3:])
    return await inner.get_items()


async def opened(items: list[Item], session_id: str = "s", limit: int | None = None) -> list[Item]:
    inner = MemorySession(session_id)
    await inner.add_items(items)
    return await EncryptedSession(inner, KEY).get_items(limit)


def sealed(text: str) -> ProviderItem:
    return ProviderItem("agentsdk.encrypted", {"sealed": text})


def sealed_text(item: Item) -> str:
    assert isinstance(item, ProviderItem)
    return str(item.data["sealed"])


@given(st.lists(st.lists(any_item, max_size=4), max_size=4), st.booleans())
def test_items_come_back_as_from_the_session_within(batches: list[list[Item]], can_replace: bool) -> None:
    async def main() -> None:
        inner, plain = MemorySession("s"), MemorySession("s")
        for batch in batches:
            await EncryptedSession(inner if can_replace else Plain(inner), KEY).add_items(batch)
            await plain.add_items(batch)
        session = EncryptedSession(inner, [OTHER_KEY, KEY])
        assert await session.get_items() == await plain.get_items()
        assert await session.get_items(2) == await plain.get_items(2)
        if await plain.get_items():
            assert await session.replace_latest(await plain.get_items(2), said("end"))
            assert (await session.get_items())[:-1] == (await plain.get_items())[:-2]
        assert await session.pop_item() == (said("end")[0] if await plain.get_items() else None)

    asyncio.run(main())


async def test_what_is_kept_holds_no_secret(tmp_path: Path) -> None:
    async with aclosing(SQLiteSession("s", tmp_path / "s.db")) as inner:
        session = EncryptedSession(inner, KEY)
        await session.add_items(CONVERSATION)
        assert await session.get_items() == CONVERSATION
        files = b"".join(path.read_bytes() for path in tmp_path.iterdir())
        assert b"agentsdk.encrypted" in files
        assert CANARY.encode() not in files
        assert base64.b64encode(CANARY.encode())[:-4] not in files
        assert repr(session) == f"EncryptedSession({inner!r})"


CHANGES: dict[str, Callable[[list[Item]], list[Item]]] = {
    "swapped": lambda items: [items[1], items[0], *items[2:]],
    "turned round": lambda items: items[::-1],
    "repeated": lambda items: [*items, items[-1]],
    "repeated later": lambda items: [*items, items[0]],
    "not encrypted": lambda items: [*items, Message("user", CANARY)],
    "of a provider": lambda items: [*items, ProviderItem("p", {"sealed": sealed_text(items[0])})],
    "something beside it": lambda items: [
        *items[:-1],
        ProviderItem("agentsdk.encrypted", {"sealed": sealed_text(items[-1]), "a": 1}),
    ],
    "no text": lambda items: [*items, ProviderItem("agentsdk.encrypted", {"sealed": [1]})],
    "not base64": lambda items: [*items, sealed("é")],
    "cut": lambda items: [*items[:-1], sealed(sealed_text(items[-1])[:-4])],
    "empty": lambda items: [*items, sealed("")],
    "spaced": lambda items: [*items[:-1], sealed(" " + sealed_text(items[-1]))],
}


@pytest.mark.parametrize("change", CHANGES.values(), ids=CHANGES)
async def test_a_conversation_that_was_changed_is_refused(change: Callable[[list[Item]], list[Item]]) -> None:
    assert await opened(await stored()) == CONVERSATION
    with pytest.raises(SessionError, match="session 's'") as refused:
        await opened(change(await stored()))
    assert CANARY not in str(refused.value)


async def test_an_item_left_out_is_noticed() -> None:
    items = await stored()
    for position in range(len(items) - 1):
        with pytest.raises(SessionError, match="missing"):
            await opened(items[:position] + items[position + 1 :])


async def test_an_item_of_a_newer_version_is_refused() -> None:
    record = Cipher(KEY, "session").seal("s", "item", b'[0,{"type":"thought","text":"' + CANARY.encode() + b'"}]')
    with pytest.raises(SessionError, match="another version") as refused:
        await opened([sealed(base64.b64encode(record).decode())])
    assert CANARY not in str(refused.value)


@pytest.mark.parametrize("length", [0, 1, 2])
async def test_any_other_character_is_refused(length: int) -> None:
    inner = MemorySession("s")
    await EncryptedSession(inner, KEY).add_items(said("x" * length))
    text = sealed_text((await inner.get_items())[0])
    for position, char in enumerate(text):
        # Of the last characters some bits are not used: each character is tried there.
        for other in "AB" if position < len(text) - 4 else BASE64:
            if other != char:
                with pytest.raises(SessionError):
                    await opened([sealed(text[:position] + other + text[position + 1 :])])


async def test_an_item_of_another_session_is_refused() -> None:
    with pytest.raises(SessionError, match="item of session 'mine' was changed or belongs elsewhere"):
        await opened(await stored("theirs"), "mine")


async def test_with_a_limit_order_counts_too() -> None:
    items = await stored()
    assert await opened(items, limit=2) == CONVERSATION[-2:]
    assert await opened(items, limit=0) == []
    with pytest.raises(SessionError, match="out of order"):
        await opened([*items[:-2], items[-1]], limit=2)


async def test_another_key_reads_and_removes_nothing() -> None:
    inner = MemorySession("s")
    await EncryptedSession(inner, KEY).add_items(CONVERSATION)
    before = await inner.get_items()
    session = EncryptedSession(inner, OTHER_KEY)
    for doing in (
        session.get_items(),
        session.pop_item(),
        session.add_items(CONVERSATION),
        session.replace_latest(CONVERSATION[-1:], []),
    ):
        with pytest.raises(SessionError, match="another key"):
            await doing
    assert await inner.get_items() == before
    await session.clear_session()
    assert await inner.get_items() == []
    with pytest.raises(UserError, match="key 0 has 3 bytes"):
        EncryptedSession(inner, b"key")


async def test_a_conversation_goes_on_under_a_new_key() -> None:
    inner = MemorySession("s")
    await EncryptedSession(inner, KEY).add_items(CONVERSATION)
    both = EncryptedSession(inner, [OTHER_KEY, KEY])
    await both.add_items(said("new"))
    assert await both.get_items() == [*CONVERSATION, *said("new")]
    assert await EncryptedSession(inner, OTHER_KEY).get_items(1) == said("new"), "what is new is under the first key"


async def test_of_a_session_that_cannot_replace_nothing_is_replaced() -> None:
    inner = MemorySession("s")
    session = EncryptedSession(Plain(inner), KEY)
    assert isinstance(session, ReplacingSession)
    await session.add_items(said("1"))
    await session.add_items(said("2", "3"))
    assert not await session.replace_latest(said("3"), said("never"))
    assert not await session.replace_latest([], said("never"))
    assert await session.pop_item() == said("3")[0]
    assert await session.get_items() == said("1", "2")


@pytest.mark.parametrize("can_replace", [True, False])
async def test_runs_that_begin_a_conversation_at_once_can_both_be_read(can_replace: bool) -> None:
    inner = Yielding("s")
    sessions = [EncryptedSession(inner if can_replace else Plain(inner), KEY) for _ in range(2)]
    for _ in range(3):
        await asyncio.gather(*(session.add_items(said("1", "2")) for session in sessions))
    assert await sessions[0].get_items() == said("1", "2") * 6


async def test_what_another_removes_meanwhile_leaves_no_gap() -> None:
    inner = Yielding("s")
    session, other = EncryptedSession(inner, KEY), EncryptedSession(inner, KEY)
    await session.add_items(said("1", "2"))
    await asyncio.gather(session.add_items(said("3")), inner.pop_item())
    assert await session.get_items() == said("1", "3")
    await asyncio.gather(session.add_items(said("4")), other.clear_session())
    assert await session.get_items() == said("4")


async def test_writers_of_one_file_stay_readable(tmp_path: Path) -> None:
    async def work(inner: SQLiteSession, name: str) -> None:
        session = EncryptedSession(inner, KEY)
        for number in range(15):
            await session.add_items(said(f"{name} {number}", f"{name} {number}"))
            if number % 5 == 4:
                await session.pop_item()

    async with (
        aclosing(SQLiteSession("s", tmp_path / "s.db")) as first,
        aclosing(SQLiteSession("s", tmp_path / "s.db", busy_timeout=31)) as second,
    ):
        await asyncio.gather(work(first, "a"), work(second, "b"))
        assert len(await EncryptedSession(first, KEY).get_items()) == 60 - 6


async def test_a_conversation_mixed_of_two_of_its_pasts_is_refused() -> None:
    inner = MemorySession("s")
    session = EncryptedSession(inner, KEY)
    await session.add_items(said("question", "yes", "so it goes"))
    first = await inner.get_items()
    for _ in range(2):
        await session.pop_item()
    await session.add_items(said("no", "so it stays"))
    second = await inner.get_items()
    for mixed in ([*first[:2], second[2]], [*second[:2], first[2]]):
        other = MemorySession("s")
        await other.add_items(mixed)
        with pytest.raises(SessionError, match="out of order"):
            await EncryptedSession(other, KEY).get_items()
    for whole in (first, second):
        other = MemorySession("s")
        await other.add_items(whole)
        assert len(await EncryptedSession(other, KEY).get_items()) == 3


ADDED_BY_0_1_0 = (
    "AUnS4OUBOkjgVilryP9735IiKuf1TpYrIcYcvv/WavRdEHWOSj8G36gBTfzweOCVxLZBHthr5T+ijKMxz9BfOPxIWGjjCoGnUa0EYMxh9qPfew5nvNMBqtFRMA==",
    "AUnS4OUBOkjgZ0O29pl9/9lbNO+w70qTHAqIEMtwZilx35frT3cJr5qiyZIFxceIcAbYw+TGPG0bsu5Ewted1uBXf1HGKbKBsjtHncOVUAY2mnc8YKjIYqcnx3mi",
)


async def test_a_conversation_of_an_earlier_version_is_read_and_goes_on() -> None:
    old = [ProviderItem("agentsdk.encrypted", {"sealed": text}) for text in ADDED_BY_0_1_0]
    inner = MemorySession("user-1")
    await inner.add_items(old)
    session = EncryptedSession(inner, bytes(range(32)))
    before = [Message("user", "hello"), Message("assistant", "hi")]
    assert await session.get_items() == before
    assert await session.replace_latest(before[1:], [Message("assistant", "hey")])
    await session.add_items(said("bye"))
    assert await session.get_items() == [before[0], Message("assistant", "hey"), *said("bye")]
    await inner.add_items(old[1:])
    with pytest.raises(SessionError, match="out of order"):
        await session.get_items()
