"""`RedisSession`: a session in a Redis database."""

from __future__ import annotations

import importlib
import json
import time
from typing import Any, Self, cast

from agentsdk.compat.openai_agents.exceptions import UserError
from agentsdk.compat.openai_agents.items import plain
from agentsdk.compat.openai_agents.memory.session import SessionABC
from agentsdk.compat.openai_agents.memory.session_settings import (
    SessionSettings,
    coerce_session_settings,
    resolve_session_limit,
)


class RedisSession(SessionABC):
    """The items of one conversation, in a list of a Redis database. `redis_client` is one of `redis.asyncio`.

    With a `ttl` it is forgotten so many seconds after the last write.
    """

    def __init__(
        self,
        session_id: str,
        *,
        redis_client: Any,
        key_prefix: str = "agents:session",
        ttl: int | None = None,
        session_settings: SessionSettings | dict[str, Any] | None = None,
    ) -> None:
        if ttl is not None and ttl < 0:
            raise ValueError(f"ttl is {ttl!r}, expected seconds or None")
        self.session_id = session_id
        self.session_settings = coerce_session_settings(session_settings or SessionSettings())
        self._redis = redis_client
        self._ttl = ttl
        self._session_key = f"{key_prefix}:{session_id}"
        self._messages_key = f"{self._session_key}:messages"
        self._counter_key = f"{self._session_key}:counter"
        self._owns_client = False
        self._closed = False

    @classmethod
    def from_url(
        cls,
        session_id: str,
        *,
        url: str,
        redis_kwargs: dict[str, Any] | None = None,
        session_settings: SessionSettings | dict[str, Any] | None = None,
        **kwargs: Any,
    ) -> Self:
        """A session with a client of its own, which `close` closes."""
        try:
            redis: Any = importlib.import_module("redis.asyncio")
        except ModuleNotFoundError as error:
            raise UserError("RedisSession needs the package redis; pip install 'agentsdk[redis]'") from error
        client = redis.from_url(url, **(redis_kwargs or {}))
        made = cls(session_id, redis_client=client, session_settings=session_settings, **kwargs)
        made._owns_client = True
        return made

    def _client(self) -> Any:
        if self._closed:
            raise RuntimeError(f"session {self.session_id!r} is closed, expected it to be open")
        return self._redis

    async def get_items(self, limit: int | None = None) -> list[Any]:
        """All items, or the latest `limit` of them. What is no JSON is left out."""
        client, most = self._client(), resolve_session_limit(limit, self.session_settings)
        if most is not None and most <= 0:
            return []
        found = await client.lrange(self._messages_key, 0 if most is None else -most, -1)
        read = [_read(text) for text in cast("list[Any]", found)]
        return [item for item in read if item is not None]

    async def add_items(self, items: list[Any]) -> None:
        """Add items at the end, all or none."""
        client = self._client()
        if not items:
            return
        texts = [json.dumps(plain(item), separators=(",", ":")) for item in items]
        now = str(int(time.time()))
        async with client.pipeline(transaction=True) as pipeline:
            pipeline.hset(self._session_key, mapping={"session_id": self.session_id, "updated_at": now})
            pipeline.hsetnx(self._session_key, "created_at", now)
            pipeline.rpush(self._messages_key, *texts)
            if self._ttl is not None:
                for key in (self._session_key, self._messages_key, self._counter_key):
                    pipeline.expire(key, self._ttl)
            await pipeline.execute()

    async def pop_item(self) -> Any | None:
        """Take the latest item away and give it; None where there is none."""
        client = self._client()
        while (text := await client.rpop(self._messages_key)) is not None:
            item = _read(text)
            if item is not None:
                return item
        return None

    async def clear_session(self) -> None:
        """Take all items away."""
        await self._client().delete(self._session_key, self._messages_key, self._counter_key)

    async def ping(self) -> bool:
        """Whether the database answers."""
        if self._closed:
            return False
        try:
            await self._redis.ping()
        except Exception:
            return False
        return True

    async def close(self) -> None:
        """The session is used no more; a client of its own is closed."""
        if self._owns_client and not self._closed:
            await self._redis.aclose()
        self._closed = True


def _read(text: Any) -> Any | None:
    try:
        return json.loads(text)
    except ValueError:
        return None
