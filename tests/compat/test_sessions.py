"""Sessions over libraries: SQLAlchemy and Redis, in runs and by hand."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest
from cryptography.fernet import Fernet

from agentsdk.compat.openai_agents import Agent, Runner, UserError
from agentsdk.compat.openai_agents.extensions.memory import EncryptedSession, RedisSession, SQLAlchemySession
from agentsdk.compat.openai_agents.memory import SessionABC, SessionSettings
from agentsdk.compat.openai_agents.testing import ScriptedModel, assistant_message

pytestmark = pytest.mark.anyio


async def tried(session: SessionABC) -> None:
    """What every session does."""
    agent = Agent("A", model=ScriptedModel([[assistant_message("one")], [assistant_message("two")]]))
    await Runner.run(agent, "first", session=session)
    await Runner.run(agent, "second", session=session)
    assert [item["role"] for item in await session.get_items()] == ["user", "assistant", "user", "assistant"]
    assert [item["role"] for item in await session.get_items(1)] == ["assistant"]
    popped = await session.pop_item()
    assert popped is not None and popped["content"][0]["text"] == "two"
    await session.add_items([])
    await session.add_items([{"role": "user", "content": "\u00fcber"}])
    assert (await session.get_items())[-1] == {"role": "user", "content": "\u00fcber"}
    await session.clear_session()
    assert await session.get_items() == [] and await session.pop_item() is None


async def test_a_session_of_sqlalchemy(tmp_path: Path) -> None:
    pytest.importorskip("sqlalchemy")
    pytest.importorskip("aiosqlite")
    url = f"sqlite+aiosqlite:///{tmp_path / 'sessions.db'}"
    session = SQLAlchemySession.from_url("s", url=url, create_tables=True)
    other = SQLAlchemySession("t", engine=session.engine, session_settings=SessionSettings(limit=1))
    try:
        await tried(session)
        await tried(EncryptedSession("s", session, Fernet.generate_key().decode()))
        await other.add_items([{"role": "user", "content": "1"}, {"role": "user", "content": "2"}])
        assert await other.get_items() == [{"role": "user", "content": "2"}] and await other.get_items(0) == []
        assert await session.get_items() == []
    finally:
        await session.engine.dispose()


async def test_a_session_of_redis(redis_url: str) -> None:
    session = RedisSession.from_url("s", url=redis_url, ttl=60)
    try:
        assert await session.ping()
        await tried(session)
    finally:
        await session.close()
    assert not await session.ping()
    with pytest.raises(RuntimeError, match="is closed"):
        await session.get_items()


async def test_a_library_that_is_not_there_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    for module in ("sqlalchemy", "redis.asyncio"):
        monkeypatch.setitem(sys.modules, module, None)
    with pytest.raises(UserError, match="needs the package sqlalchemy"):
        SQLAlchemySession("s", engine=None)
    with pytest.raises(UserError, match="needs the package redis"):
        RedisSession.from_url("s", url="redis://nowhere")
