"""Databases of which the sessions can be listed, one of each kind, which no other test uses."""

from __future__ import annotations

import sqlite3
from collections.abc import Mapping, Sequence
from contextlib import AsyncExitStack
from pathlib import Path

import asyncpg
import msgspec
import pytest
import redis

from agentsdk.ports.session import ManagedSession
from agentsdk.sessions.encrypted import EncryptedSession
from agentsdk.sessions.postgres import PostgresSession
from agentsdk.sessions.redis import RedisSession
from agentsdk.sessions.sqlite import SQLiteSession
from agentsdk.types.items import Message
from agentsdk.types.session import SessionQuery, SessionSummary

KINDS = ("sqlite", "encrypted", "postgres", "redis")
PREFIX = "a prefix [of*many?characters\\^-]"

_OLD_SQLITE = """
    CREATE TABLE agentsdk_schema (kind TEXT PRIMARY KEY, version INTEGER NOT NULL);
    INSERT INTO agentsdk_schema VALUES ('session', 1);
    CREATE TABLE agentsdk_session_items (id INTEGER PRIMARY KEY, session_id TEXT NOT NULL, item TEXT NOT NULL);
    CREATE INDEX agentsdk_session_items_of ON agentsdk_session_items (session_id, id);
"""
_OLD_POSTGRES = """
    CREATE TABLE agentsdk_tables (name text PRIMARY KEY, version integer NOT NULL);
    INSERT INTO agentsdk_tables VALUES ('session', 1);
    CREATE TABLE agentsdk_sessions (
        id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY, session_id text COLLATE "C" NOT NULL UNIQUE, next bigint NOT NULL
    ) WITH (fillfactor = 70);
    CREATE TABLE agentsdk_session_items (
        session bigint NOT NULL REFERENCES agentsdk_sessions ON DELETE CASCADE,
        number bigint NOT NULL, item text NOT NULL, PRIMARY KEY (session, number)
    );
"""


class Place:
    """A database at `address`: `session` opens a session in it, `listed` says which there are."""

    def __init__(self, kind: str, address: str) -> None:
        self.kind = kind
        self.address = address
        self.opened = AsyncExitStack()

    def session(self, session_id: str, *, user: str | None = None, metadata: Mapping[str, str] | None = None) -> ManagedSession:
        inner: PostgresSession | RedisSession | SQLiteSession
        if self.kind == "postgres":
            inner = PostgresSession(session_id, self.address, user=user, metadata=metadata)
        elif self.kind == "redis":
            inner = RedisSession(session_id, self.address, user=user, metadata=metadata, prefix=PREFIX)
        else:
            inner = SQLiteSession(session_id, self.address, user=user, metadata=metadata)
        self.opened.push_async_callback(inner.aclose)
        return EncryptedSession(inner, bytes(32)) if self.kind == "encrypted" else inner

    async def listed(self, query: SessionQuery | None = None) -> list[SessionSummary]:
        if self.kind == "postgres":
            return await PostgresSession.list(self.address, query)
        if self.kind == "redis":
            return await RedisSession.list(self.address, query, prefix=PREFIX)
        return await SQLiteSession.list(self.address, query)

    async def ids(self, query: SessionQuery | None = None) -> list[str]:
        return [summary.session_id for summary in await self.listed(query)]

    async def begin_as_before(self, session_ids: Sequence[str]) -> None:
        """Begin sessions with an item each, in a new database, as version 0.1.0 did: it knew nothing of them but items."""
        item = msgspec.json.encode(Message("user", "hello")).decode()
        if self.kind == "postgres":
            connection = await asyncpg.connect(self.address)
            await connection.execute(_OLD_POSTGRES)
            for session_id in session_ids:
                key = msgspec.json.encode(session_id).decode()
                await connection.execute("INSERT INTO agentsdk_sessions (session_id, next) VALUES ($1, 1)", key)
            await connection.execute("INSERT INTO agentsdk_session_items SELECT id, 0, $1 FROM agentsdk_sessions", item)
            await connection.close()
        elif self.kind == "redis":
            with redis.Redis.from_url(self.address) as client:
                for session_id in session_ids:
                    client.rpush(f"{{{PREFIX}}}:session:{session_id}", item)
        else:
            connection = sqlite3.connect(self.address)
            connection.executescript(_OLD_SQLITE)
            insert = "INSERT INTO agentsdk_session_items (session_id, item) VALUES (?, ?)"
            connection.executemany(insert, [(session_id, item) for session_id in session_ids])
            connection.commit()
            connection.close()


async def place_of(kind: str, folder: Path, request: pytest.FixtureRequest) -> Place:
    """An empty database of the kind."""
    if kind == "postgres":
        return Place(kind, await request.getfixturevalue("running_postgres").fresh_url())
    if kind == "redis":
        address = str(request.getfixturevalue("redis_url"))
        with redis.Redis.from_url(address) as client:
            for key in client.keys(f"*{PREFIX[:8]}*"):
                client.delete(key)
        return Place(kind, address)
    return Place(kind, str(folder / "sessions.db"))
