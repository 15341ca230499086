"""`CachedModel`: an equal request is answered from a cache; and the caches for it."""

from __future__ import annotations

import hashlib
import logging
import os
from collections import OrderedDict
from collections.abc import AsyncGenerator
from contextlib import aclosing
from typing import TYPE_CHECKING, Protocol

import msgspec
from msgspec import structs

from agentsdk.core.deltas import deltas_of
from agentsdk.core.process import is_empty
from agentsdk.databases.sqlite import SQLiteDatabase, Tables
from agentsdk.ports.model import MODEL, Model, ModelRequest
from agentsdk.types.declared import Fields, any_text, having, whole
from agentsdk.types.deltas import ModelStreamEvent, ResponseCompleted
from agentsdk.types.errors import StoreBusyError, StoreError
from agentsdk.types.items import Message
from agentsdk.types.response import ModelResponse
from agentsdk.types.usage import Usage

if TYPE_CHECKING:
    import sqlite3

logger = logging.getLogger("agentsdk")

_SCHEME = 1  # of keys and entries: raised when either changes
_decode = msgspec.json.Decoder(ModelResponse).decode


class ResponseCache(Protocol):
    """Keeps texts by their keys, for as long as it likes. One that raises is passed over: the model is asked."""

    async def get(self, key: str) -> str | None:
        """The text kept under `key`, None where there is none."""
        ...

    async def set(self, key: str, value: str) -> None:
        """Keep `value` under `key`."""
        ...


_FIELDS = Fields(
    "CachedModel",
    model=MODEL,
    cache=having(("get", "set"), "a ResponseCache; pass MemoryResponseCache() or SQLiteResponseCache('replies.db')"),
    namespace=any_text("a str; it tells caches of different servers apart"),
)
_SIZE = Fields("ResponseCache", max_entries=whole("at least 1; let one reply in", 1))


class CachedModel:
    """Answers a request that is equal to an earlier one from `cache`; asks `model` for the others.

    Equal is what has the same model, history, instructions, tools, output type and settings. Only a whole reply is kept: no
    error, refusal or empty reply, none that was cut or filtered. A reply from the cache has no new tokens in its usage, and one
    `unsent`. `namespace` is part of each key: give one to models of one name on different servers that share a cache.

    Raises `UserError` for what is no model or cache.
    """

    def __init__(self, model: Model, cache: ResponseCache, *, namespace: str = "") -> None:
        _FIELDS.check_given(model=model, cache=cache, namespace=namespace)
        self._model = model
        self._cache = cache
        self._namespace = namespace
        self.name = model.name

    def __repr__(self) -> str:
        return f"CachedModel({self._model!r}, {self._cache!r})"

    async def stream(self, request: ModelRequest) -> AsyncGenerator[ModelStreamEvent, None]:
        """Ask for one reply: any deltas, then one `ResponseCompleted`."""
        key = self._key(request)
        known = await self._known(key)
        if known is not None:
            if request.stream:
                for delta in deltas_of(known):
                    yield delta
            yield ResponseCompleted(structs.replace(known, usage=Usage(unsent=1)))
            return
        async with aclosing(self._model.stream(request)) as events:
            async for event in events:
                if isinstance(event, ResponseCompleted) and _is_whole(event.response):
                    await self._keep(key, event.response)
                yield event

    def _key(self, request: ModelRequest) -> str:
        """A digest of all that is sent, in JSON, so that no two requests share it by chance of how their parts are joined."""
        settings = request.settings.given()
        settings.pop("retry", None)  # says how it is sent
        sent = {name: getattr(request, name) for name in request.__struct_fields__ if name not in _NOT_SENT}
        place = [getattr(self._model, name, "") for name in ("base_url", "provider")]
        parts = (_SCHEME, self._namespace, type(self._model).__qualname__, self.name, list(map(str, place)), settings)
        return hashlib.sha256(msgspec.json.encode((*parts, list(request.items), sent))).hexdigest()

    async def _known(self, key: str) -> ModelResponse | None:
        try:
            text = await self._cache.get(key)
            return None if text is None else _decode(text)
        except Exception as error:
            logger.warning("the cache of model %r gave no reply (%s): it is asked", self.name, type(error).__name__)
            return None

    async def _keep(self, key: str, response: ModelResponse) -> None:
        try:
            await self._cache.set(key, msgspec.json.encode(response).decode())
        except Exception as error:
            logger.warning("the cache of model %r did not keep a reply (%s)", self.name, type(error).__name__)


_NOT_SENT = ("items", "settings", "stream", "request_id")


def _is_whole(response: ModelResponse) -> bool:
    refuses = any(isinstance(item, Message) and item.refusal for item in response.output)
    return response.finish in ("stop", "tool_calls") and not refuses and not is_empty(response)


class MemoryResponseCache:
    """The latest used `max_entries` replies, in this process. Raises `UserError` for fewer than one."""

    def __init__(self, max_entries: int = 1_000) -> None:
        _SIZE.check_given("MemoryResponseCache", max_entries=max_entries)
        self._max_entries = max_entries
        self._entries: OrderedDict[str, str] = OrderedDict()

    def __repr__(self) -> str:
        return f"MemoryResponseCache({len(self._entries)} of {self._max_entries})"

    async def get(self, key: str) -> str | None:
        """The text kept under `key`, None where there is none."""
        value = self._entries.get(key)
        if value is not None:
            self._entries.move_to_end(key)
        return value

    async def set(self, key: str, value: str) -> None:
        """Keep `value` under `key`; the one that was not used for longest goes where there are too many."""
        self._entries[key] = value
        self._entries.move_to_end(key)
        if len(self._entries) > self._max_entries:
            self._entries.popitem(last=False)


_TABLES = Tables(
    kind="response cache",
    version=1,
    create=(
        """CREATE TABLE IF NOT EXISTS agentsdk_replies (
            key TEXT PRIMARY KEY, used INTEGER NOT NULL, value TEXT NOT NULL) WITHOUT ROWID""",
        "CREATE INDEX IF NOT EXISTS agentsdk_replies_used ON agentsdk_replies (used)",
    ),
    error=StoreError,
    busy=StoreBusyError,
)


class SQLiteResponseCache:
    """The latest used `max_entries` replies in a SQLite file, for as many processes as like.

    What was asked is there as a digest, what was replied in full: keep the file as you keep the conversations. Raises
    `UserError` for what cannot be a path, and for fewer than one entry.
    """

    def __init__(self, db_path: str | os.PathLike[str], *, max_entries: int = 100_000) -> None:
        _SIZE.check_given("SQLiteResponseCache", max_entries=max_entries)
        self._database = SQLiteDatabase(db_path, _TABLES, busy_timeout=5.0, synchronous="NORMAL")
        self._max_entries = max_entries

    def __repr__(self) -> str:
        return f"SQLiteResponseCache({self._database.path!r})"

    async def get(self, key: str) -> str | None:
        """The text kept under `key`, None where there is none. Raises `StoreError`."""

        def read(connection: sqlite3.Connection) -> str | None:
            row = connection.execute("SELECT value FROM agentsdk_replies WHERE key = ?", (key,)).fetchone()
            if row is None:
                return None
            connection.execute(f"UPDATE agentsdk_replies SET used = {_NEXT} WHERE key = ?", (key,))
            return str(row[0])

        return await self._database.write(read)

    async def set(self, key: str, value: str) -> None:
        """Keep `value` under `key`; those that were not used for longest go where there are too many. Raises `StoreError`."""

        def write(connection: sqlite3.Connection) -> None:
            connection.execute(
                f"INSERT OR REPLACE INTO agentsdk_replies (key, used, value) VALUES (?, {_NEXT}, ?)", (key, value)
            )
            connection.execute(
                """DELETE FROM agentsdk_replies WHERE key IN (
                    SELECT key FROM agentsdk_replies ORDER BY used DESC LIMIT -1 OFFSET ?)""",
                (self._max_entries,),
            )

        await self._database.write(write)

    async def aclose(self) -> None:
        """Finish what was asked for and close the file."""
        await self._database.aclose()


_NEXT = "(SELECT COALESCE(MAX(used), 0) + 1 FROM agentsdk_replies)"
