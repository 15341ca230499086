"""`SQLAlchemySession`: a session in any database that SQLAlchemy has an async driver for."""

from __future__ import annotations

import asyncio
import importlib
import json
from typing import Any, Self

from agentsdk.compat.openai_agents.exceptions import UserError
from agentsdk.compat.openai_agents.items import plain
from agentsdk.compat.openai_agents.memory.session import SessionABC
from agentsdk.compat.openai_agents.memory.session_settings import (
    SessionSettings,
    coerce_session_settings,
    resolve_session_limit,
)


def _library(module: str = "sqlalchemy") -> Any:
    try:
        return importlib.import_module(module)
    except ModuleNotFoundError as error:
        raise UserError(
            "SQLAlchemySession needs the package sqlalchemy and an async driver; pip install sqlalchemy[asyncio]"
        ) from error


class SQLAlchemySession(SessionABC):
    """The items of one conversation, in the tables `sessions_table` and `messages_table` of `engine`'s database.

    `create_tables` makes them where they are not there. `engine` is one of `sqlalchemy.ext.asyncio`.
    """

    def __init__(
        self,
        session_id: str,
        *,
        engine: Any,
        create_tables: bool = False,
        sessions_table: str = "agent_sessions",
        messages_table: str = "agent_messages",
        session_settings: SessionSettings | dict[str, Any] | None = None,
        ensure_ascii: bool = True,
    ) -> None:
        self.session_id = session_id
        self.session_settings = coerce_session_settings(session_settings or SessionSettings())
        self._engine = engine
        self._ensure_ascii = ensure_ascii
        self._waits_for_tables = create_tables
        self._lock = asyncio.Lock()
        self._metadata, self._sessions, self._messages = _tables(sessions_table, messages_table)

    @classmethod
    def from_url(
        cls,
        session_id: str,
        *,
        url: str,
        engine_kwargs: dict[str, Any] | None = None,
        session_settings: SessionSettings | dict[str, Any] | None = None,
        **kwargs: Any,
    ) -> Self:
        """A session with an engine of its own; dispose of `session.engine` when it is used no more."""
        engine = _library("sqlalchemy.ext.asyncio").create_async_engine(url, **(engine_kwargs or {}))
        return cls(session_id, engine=engine, session_settings=session_settings, **kwargs)

    @property
    def engine(self) -> Any:
        """The engine."""
        return self._engine

    async def _ready(self) -> None:
        async with self._lock:
            if self._waits_for_tables:
                async with self._engine.begin() as connection:
                    await connection.run_sync(self._metadata.create_all)
                self._waits_for_tables = False

    async def get_items(self, limit: int | None = None) -> list[Any]:
        """All items, or the latest `limit` of them. Rows that are no JSON are left out."""
        most = resolve_session_limit(limit, self.session_settings)
        if most is not None and most <= 0:
            return []
        await self._ready()
        rows = self._messages.c
        query = _library().select(rows.message_data).where(rows.session_id == self.session_id).order_by(rows.id.desc())
        async with self._engine.connect() as connection:
            texts = (await connection.execute(query if most is None else query.limit(most))).scalars().all()
        read = [_read(text) for text in reversed(texts)]
        return [item for item in read if item is not None]

    async def add_items(self, items: list[Any]) -> None:
        """Add items at the end, all or none."""
        if not items:
            return
        await self._ready()
        texts = [json.dumps(plain(item), ensure_ascii=self._ensure_ascii, separators=(",", ":")) for item in items]
        sessions, sql = self._sessions, _library()
        is_this = sessions.c.session_id == self.session_id
        async with self._engine.begin() as connection:
            known = (await connection.execute(sql.select(sessions.c.session_id).where(is_this))).first()
            if known is None:
                await connection.execute(sessions.insert().values(session_id=self.session_id))
            await connection.execute(
                self._messages.insert(), [{"session_id": self.session_id, "message_data": text} for text in texts]
            )
            await connection.execute(sessions.update().where(is_this).values(updated_at=sql.text("CURRENT_TIMESTAMP")))

    async def pop_item(self) -> Any | None:
        """Take the latest item away and give it; None where there is none."""
        await self._ready()
        rows = self._messages.c
        query = _library().select(rows.id, rows.message_data).where(rows.session_id == self.session_id)
        async with self._engine.begin() as connection:
            while (row := (await connection.execute(query.order_by(rows.id.desc()).limit(1))).first()) is not None:
                await connection.execute(self._messages.delete().where(rows.id == row[0]))
                if (item := _read(row[1])) is not None:
                    return item
        return None

    async def clear_session(self) -> None:
        """Take all items away."""
        await self._ready()
        async with self._engine.begin() as connection:
            for table in (self._messages, self._sessions):
                await connection.execute(table.delete().where(table.c.session_id == self.session_id))


def _tables(sessions: str, messages: str) -> tuple[Any, Any, Any]:
    """The tables as openai-agents lays them out."""
    sql = _library()
    metadata, now = sql.MetaData(), sql.text("CURRENT_TIMESTAMP")
    kept = sql.Table(
        sessions,
        metadata,
        sql.Column("session_id", sql.String, primary_key=True),
        sql.Column("created_at", sql.TIMESTAMP(timezone=False), server_default=now, nullable=False),
        sql.Column("updated_at", sql.TIMESTAMP(timezone=False), server_default=now, nullable=False),
    )
    owner = sql.ForeignKey(f"{sessions}.session_id", ondelete="CASCADE")
    told = sql.Table(
        messages,
        metadata,
        sql.Column("id", sql.Integer, primary_key=True, autoincrement=True),
        sql.Column("session_id", sql.String, owner, nullable=False),
        sql.Column("message_data", sql.Text, nullable=False),
        sql.Column("created_at", sql.TIMESTAMP(timezone=False), server_default=now, nullable=False),
        sql.Index(f"idx_{messages}_session_time", "session_id", "created_at"),
    )
    return metadata, kept, told


def _read(text: str) -> Any | None:
    try:
        return json.loads(text)
    except ValueError:
        return None
