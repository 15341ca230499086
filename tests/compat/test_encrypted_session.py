"""`EncryptedSession`: what it reads, and what it leaves where it is."""

from __future__ import annotations

from typing import Any

import pytest
from cryptography.fernet import InvalidToken

from agentsdk.compat.openai_agents import SQLiteSession
from agentsdk.compat.openai_agents.extensions.memory import EncryptedSession
from agentsdk.compat.openai_agents.memory import SessionSettings

pytestmark = pytest.mark.anyio


def said(*texts: str) -> list[Any]:
    return [{"role": "user", "content": text} for text in texts]


@pytest.fixture
def beneath() -> SQLiteSession:
    return SQLiteSession("s")


async def test_another_key_takes_nothing_away(beneath: SQLiteSession) -> None:
    right, wrong = EncryptedSession("s", beneath, "right"), EncryptedSession("s", beneath, "wrong")
    await right.add_items(said("one", "two"))
    assert await wrong.get_items() == []
    with pytest.raises(InvalidToken):
        await wrong.pop_item()
    assert await right.get_items() == said("one", "two")
    assert await right.pop_item() == said("two")[0]
    assert await right.get_items() == said("one")


async def test_what_another_program_adds_before_the_item_is_taken_is_put_back(
    beneath: SQLiteSession, monkeypatch: pytest.MonkeyPatch
) -> None:
    right, other = EncryptedSession("s", beneath, "right"), EncryptedSession("s", beneath, "other")
    await right.add_items(said("one"))
    pop = beneath.pop_item

    async def pops_later() -> Any:
        await other.add_items(said("between"))
        return await pop()

    monkeypatch.setattr(beneath, "pop_item", pops_later)
    with pytest.raises(InvalidToken):
        await right.pop_item()
    assert await right.get_items() == said("one") and await other.get_items() == said("between")


async def test_what_is_not_encrypted_is_no_part_of_the_history(beneath: SQLiteSession) -> None:
    session = EncryptedSession("s", beneath, "key")
    await session.add_items(said("mine"))
    cut = {name: value for name, value in (await beneath.get_items())[0].items() if name != "payload"}
    await beneath.add_items([*said("put in by somebody"), cut])
    assert await session.get_items() == said("mine")
    assert await session.pop_item() == said("mine")[0]


async def test_what_is_too_old_is_left_out_and_goes_when_it_is_popped(beneath: SQLiteSession) -> None:
    await EncryptedSession("s", beneath, "key").add_items(said("old"))
    session = EncryptedSession("s", beneath, "key", ttl=-1)
    assert await session.get_items() == []
    assert await session.pop_item() is None and await beneath.get_items() == []


async def test_a_limit_counts_what_can_be_read(beneath: SQLiteSession) -> None:
    session = EncryptedSession("s", beneath, "key")
    await session.add_items(said("one", "two", "three"))
    await beneath.add_items(said(*"abcde"))
    assert await session.get_items(2) == said("two", "three")
    assert await session.get_items(9) == said("one", "two", "three")
    assert await session.get_items(0) == []
    session.session_settings = SessionSettings(limit=1)
    assert await session.get_items() == said("three")


async def test_a_read_looks_at_so_many_items(beneath: SQLiteSession) -> None:
    session = EncryptedSession("s", beneath, "key", max_scan_items=4)
    await session.add_items(said("one", "two"))
    assert await session.get_items() == said("one", "two") == await session.get_items(2)
    await beneath.add_items(said(*"abcde"))
    for limit in (None, 1):
        with pytest.raises(RuntimeError, match="max_scan_items=4"):
            await session.get_items(limit)
    with pytest.raises(ValueError, match="0 or more"):
        await session.get_items(-1)
    assert await session.get_items(0) == []


@pytest.mark.parametrize("wrong", [{"encryption_key": ""}, {"encryption_key": "key", "max_scan_items": 0}])
def test_what_fits_nothing_is_refused(wrong: dict[str, Any], beneath: SQLiteSession) -> None:
    with pytest.raises(ValueError, match="expected"):
        EncryptedSession("s", beneath, **wrong)


def test_the_rest_is_asked_of_the_session_beneath(beneath: SQLiteSession) -> None:
    session: Any = EncryptedSession("s", beneath, "key")
    assert session.db_path is beneath.db_path
    for name in ("run_compaction", "nothing"):
        assert not hasattr(session, name)
