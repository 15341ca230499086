"""A session in Redis: one server holds any number of sessions, for any number of processes."""

from __future__ import annotations

import copy
import re
import sys
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, cast

from agentsdk.databases.redis import RedisDatabase, Script, Word, check_prefix
from agentsdk.ports.session import (
    ManagedSession,
    check_compaction,
    check_labels,
    check_limit,
    check_session_id,
    has_begun,
    unchanged,
)
from agentsdk.sessions import redis_scripts as scripts
from agentsdk.sessions.stored_items import decode_item, decode_metadata, encode_items, encode_metadata, session_error
from agentsdk.types.errors import StoreError
from agentsdk.types.items import InputItem, Item, items_from_input
from agentsdk.types.session import SessionQuery, SessionSummary

if TYPE_CHECKING:
    from redis.asyncio import Redis

_PAGE = 500


class RedisSession(ManagedSession):
    """Keeps a conversation in Redis 6 or later. Give a URL, or a `redis.asyncio.Redis` for its connections.

    `user` and `metadata` are kept with the session when it begins, a user also with one that has none; `update` changes them.

    Any text is a safe `session_id`: it is the end of a key, `{prefix}:session:...`. How much of what was written outlives a
    crash is for the server's settings to say, as `RedisRunStore` explains. The sessions of one URL share their connections.

    A call may take `timeout` seconds. Every method raises `SessionError` for a server that cannot be reached or used, and
    `SessionBusyError` for one that is busy, where nothing was done. What was asked for when the connection broke was done
    completely or not at all.
    """

    def __init__(
        self,
        session_id: str,
        url_or_client: str | Redis,
        *,
        user: str | None = None,
        metadata: Mapping[str, str] | None = None,
        prefix: str = "agentsdk",
        timeout: float = 10.0,
    ) -> None:
        self.session_id = check_session_id(session_id)
        check_labels(user, metadata)
        self._labels = (user or "", encode_metadata(metadata))
        self._names = _Names(prefix)
        self._database = RedisDatabase(url_or_client, timeout=timeout)

    def __repr__(self) -> str:
        return f"RedisSession({self.session_id!r}, {self._database!r})"

    async def get_items(self, limit: int | None = None) -> list[Item]:
        """All items, or the latest `limit` of them. Raises `UserError` for a negative limit."""
        check_limit(limit)
        return [self._decoded(text) for text in await self._latest(limit)]

    async def add_items(self, items: Sequence[InputItem]) -> None:
        """Append `items`, all or none. Raises `UserError` for an entry that is not an item."""
        texts = encode_items(items)
        if texts:
            await self._replace([], 0, texts)

    async def pop_item(self) -> Item | None:
        """Remove the latest item and return it; `None` when there is none."""
        while latest := await self._latest(1):
            item = self._decoded(latest[0])
            if await self._replace(latest, 1, []):
                return item
        return None

    async def replace_latest(self, expected: Sequence[Item], items: Sequence[InputItem]) -> bool:
        """Put `items` in the place of the latest items, if those are `expected`, in one step.

        True if they were; False if not, and nothing has changed. Raises `UserError` for an entry that is not an item.
        """
        wanted, given = list(items_from_input(expected)), items_from_input(items)
        same = unchanged(wanted, given)
        texts = encode_items(given[same:])
        while True:  # equal items may be written differently, so they are compared here, and the server compares what was read
            latest = await self._latest(len(wanted))
            if [self._decoded(text) for text in latest] != wanted:
                return False
            gone = len(latest) - same
            if not (gone or texts) or await self._replace(latest, gone, texts):
                return True

    async def clear_session(self) -> None:
        """Remove every item, and what else is kept of the session."""
        await self._call(scripts.CLEAR)

    async def summary(self) -> SessionSummary | None:
        """What is known of the session; None for one that has not begun."""
        row = cast("_Row | None", await self._call(scripts.SUMMARY))
        return None if row is None else _summary(row)

    async def update(self, *, user: str | None = None, metadata: Mapping[str, str] | None = None) -> None:
        """Put another user and other metadata in the place of those kept. Raises `UserError` for what cannot be kept."""
        check_labels(user, metadata)
        await self._call(scripts.UPDATE, user or "", "" if metadata is None else encode_metadata(metadata))

    async def branch(self, session_id: str, *, items: int | None = None) -> RedisSession:
        """A new session on the server that begins with the first `items` items of this one, or all. To be closed by itself.

        Raises `SessionError` where a session of that id has begun.
        """
        check_limit(items, "items")
        branch = copy.copy(self)
        branch.session_id = check_session_id(session_id)
        key = session_id.encode()
        last = sys.maxsize if items is None else items - 1
        if not await self._call(scripts.BRANCH, key, last, keys=(self._names.items + key, self._names.info + key)):
            raise has_begun(session_id)
        branch._database = self._database.another()
        return branch

    async def compact(self, expected: Sequence[Item], items: Sequence[InputItem]) -> bool:
        """Put `items` in the place of the first items, if those are `expected`, in one step. What they were is kept.

        True if they were; False if not, and nothing has changed. Raises `UserError` for an entry that is not an item.
        """
        check_compaction(expected, items)
        wanted = list(items_from_input(expected))
        texts = encode_items(items)
        while True:
            first = cast("Sequence[bytes]", await self._call_on_items(scripts.FIRST, len(wanted) - 1))
            if [self._decoded(text) for text in first] != wanted:
                return False
            if await self._call(scripts.COMPACT, len(first), *first, *texts):
                return True

    async def get_original_items(self) -> list[Item]:
        """Every item as it was added: those that `compact` has replaced, and not those that it has put in their place."""
        archived, rest = cast("tuple[Sequence[bytes], Sequence[bytes]]", await self._call(scripts.ORIGINALS))
        return [self._decoded(text) for text in (*archived, *rest)]

    async def aclose(self) -> None:
        """Release the connections of this event loop, unless another session or store uses them."""
        await self._database.aclose()

    async def _latest(self, count: int | None) -> Sequence[bytes]:
        if count == 0:
            return []
        return cast("Sequence[bytes]", await self._call_on_items(scripts.LATEST, 0 if count is None else -count))

    async def _call_on_items(self, script: Script, position: int) -> object:
        return await _called(self._database, script, [self._names.items + self.session_id.encode()], position)

    async def _replace(self, expected: Sequence[bytes], gone: int, texts: Sequence[bytes]) -> bool:
        return bool(await self._call(scripts.REPLACE, len(expected), gone, *expected, *texts))

    async def _call(self, script: Script, *args: Word, keys: Sequence[bytes] = ()) -> object:
        session_id, names = self.session_id.encode(), self._names
        own = (names.items + session_id, names.info + session_id, names.archive + session_id, names.all, names.of_user)
        return await _called(self._database, script, (*own, *keys), session_id, *self._labels, *args)

    def _decoded(self, text: bytes) -> Item:
        return decode_item(text, f"an entry of {self!r}")

    @classmethod
    async def list(
        cls,
        url_or_client: str | Redis,
        query: SessionQuery | None = None,
        *,
        prefix: str = "agentsdk",
        timeout: float = 10.0,
    ) -> list[SessionSummary]:
        """The sessions on the server that fit `query`, the latest changed first. Raises `SessionError`.

        The first call on a server looks through its keys once, for sessions of earlier versions.
        """
        names, database = _Names(prefix), RedisDatabase(url_or_client, timeout=timeout)
        try:
            cursor: object = b"0"
            while (
                cursor := await _called(database, scripts.ADOPT, names.to_adopt, cast(bytes, cursor), names.pattern)
            ) != b"0":
                pass
            return await _find(database, names, query or SessionQuery())
        finally:
            await database.aclose()


class _Names:
    """What the keys of a prefix are, or begin with."""

    def __init__(self, prefix: str) -> None:
        tag = b"{%s}:" % check_prefix(prefix)
        self.items = tag + b"session:"
        self.info = tag + b"session_info:"
        self.archive = tag + b"session_archive:"
        self.all = tag + b"sessions"
        self.of_user = tag + b"sessions_of:"
        self.to_adopt = (self.all, tag + b"sessions_adopted", self.items)
        self.pattern = re.sub(rb"([*?\[\]\\^-])", rb"\\\1", self.items) + b"*"


_Row = tuple[bytes, bytes, int, Sequence[bytes | None]]


async def _called(database: RedisDatabase, script: Script, keys: Sequence[bytes], *args: Word) -> object:
    try:
        return await database.call(script, keys, *args)
    except StoreError as error:
        raise session_error(error) from error.__cause__


async def _find(database: RedisDatabase, names: _Names, query: SessionQuery) -> list[SessionSummary]:
    ids = names.all if query.user is None else names.of_user + query.user.encode()
    after: tuple[Word, ...] = ()
    if query.after is not None:
        after = (repr(query.after.updated_at), query.after.session_id.encode())
    found: list[SessionSummary] = []
    size = _PAGE if query.metadata else min(query.limit, _PAGE)
    while True:
        rows = cast("Sequence[_Row]", await _called(database, scripts.LIST, [ids, names.info, names.items], size, *after))
        page = [_summary(row) for row in rows]
        found += [one for one in page if query.metadata.items() <= one.metadata.items()]
        if len(rows) < size or len(found) >= query.limit:
            return found[: query.limit]
        after = (rows[-1][1], rows[-1][0])


def _summary(row: _Row) -> SessionSummary:
    session_id, updated_at, items, (user, metadata, created_at, branched_from) = row
    return SessionSummary(
        session_id=session_id.decode(),
        user=(user or b"").decode(),
        metadata=decode_metadata(metadata or b"{}", f"session {session_id.decode()!r} in Redis"),
        created_at=float(created_at or 0),
        updated_at=float(updated_at),
        branched_from=(branched_from or b"").decode(),
        items=items,
    )
