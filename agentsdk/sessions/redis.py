"""A session in Redis: one server holds any number of sessions, for any number of processes.

A session is a list of items and a hash of what else is known of it. Sorted sets hold the ids by when they changed last: one
all of them, one for each user that user's.
"""

from __future__ import annotations

import copy
import re
import sys
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, cast

from agentsdk.databases.redis import RedisDatabase, Script, Word, check_prefix
from agentsdk.ports.session import ManagedSession, check_labels, check_limit, check_session_id, has_begun
from agentsdk.sessions.stored_items import decode_item, decode_metadata, encode_items, encode_metadata, session_error
from agentsdk.types.errors import StoreError
from agentsdk.types.items import InputItem, Item, items_from_input
from agentsdk.types.session_summary import SessionQuery, SessionSummary

if TYPE_CHECKING:
    from redis.asyncio import Redis

_PAGE = 500

_LATEST = Script("return redis.call('LRANGE', KEYS[1], ARGV[1], -1)")

# KEYS of a session's scripts: the items, the hash, the ids of all sessions, and what the key of a user's ids begins with.
# ARGV 1 to 3: the id, and the user and the metadata that it begins with.
_BEGIN = """
local items, info, all, of_user, id = KEYS[1], KEYS[2], KEYS[3], KEYS[4], ARGV[1]
local length, known = redis.call('LLEN', items), redis.call('ZSCORE', all, id)
local kept = redis.call('HGET', info, 'user') or ''
local user = kept == '' and ARGV[2] or kept
redis.call('ZCARD', of_user .. user)
local time = redis.call('TIME')
local now = string.format('%s.%06d', time[1], time[2])

local function begin(changed_at)
  if user ~= kept then redis.call('HSET', info, 'user', user) end
  if not known and length == 0 then
    redis.call('HSET', info, 'metadata', ARGV[3], 'created_at', now)
    known = now
  end
  known = changed_at or known or '0'
  redis.call('ZADD', all, known, id)
  if user ~= '' then redis.call('ZADD', of_user .. user, known, id) end
end
"""

# ARGV[4] says how many of the next are expected at the end of the list; the others take their place.
_REPLACE = Script(
    _BEGIN
    + """
local count = tonumber(ARGV[4])
if count > 0 then
  local latest = redis.call('LRANGE', items, -count, -1)
  for at = 1, count do
    if latest[at] ~= ARGV[4 + at] then return 0 end
  end
  redis.call('LTRIM', items, 0, -count - 1)
end
for first = count + 5, #ARGV, 1000 do
  redis.call('RPUSH', items, unpack(ARGV, first, math.min(first + 999, #ARGV)))
end
begin(now)
return 1
"""
)

# ARGV 4 and 5: the new user and metadata, `''` where they stay.
_UPDATE = Script(
    _BEGIN
    + """
redis.call('ZCARD', of_user .. ARGV[4])
begin()
if ARGV[4] ~= '' and ARGV[4] ~= user then
  redis.call('HSET', info, 'user', ARGV[4])
  redis.call('ZREM', of_user .. user, id)
  redis.call('ZADD', of_user .. ARGV[4], known, id)
end
if ARGV[5] ~= '' then redis.call('HSET', info, 'metadata', ARGV[5]) end
"""
)

# KEYS 5 and 6: the new items and hash. ARGV 4 and 5: the new id, and the last position to copy.
_BRANCH = Script(
    _BEGIN
    + """
local copy, branch, last = KEYS[5], ARGV[4], tonumber(ARGV[5])
if redis.call('EXISTS', copy, KEYS[6]) > 0 or redis.call('ZSCORE', all, branch) then return 0 end
local metadata = redis.call('HGET', info, 'metadata') or ARGV[3]
redis.call('HSET', KEYS[6], 'user', user, 'metadata', metadata, 'created_at', now, 'branched_from', id)
redis.call('ZADD', all, now, branch)
if user ~= '' then redis.call('ZADD', of_user .. user, now, branch) end
for first = 0, math.min(last, length - 1), 1000 do
  redis.call('RPUSH', copy, unpack(redis.call('LRANGE', items, first, math.min(first + 999, last))))
end
return 1
"""
)

_CLEAR = Script(
    _BEGIN
    + """
redis.call('UNLINK', items, info)
redis.call('ZREM', all, id)
redis.call('ZREM', of_user .. user, id)
"""
)

_SUMMARY = Script(
    _BEGIN
    + """
if not known and length == 0 then return false end
return {id, known or '0', length, redis.call('HMGET', info, 'user', 'metadata', 'created_at', 'branched_from')}
"""
)

# A page of the ids in KEYS[1], behind the one of ARGV 2 and 3 (when it changed, and its id), or from the latest on. KEYS 2 and
# 3: what the keys of hashes and of items begin with.
_LIST = Script(
    """
local ids, size, score, last = KEYS[1], tonumber(ARGV[1]), ARGV[2], ARGV[3]

local function is_before(one, other)
  for at = 1, math.min(#one, #other) do
    local a, b = string.byte(one, at), string.byte(other, at)
    if a ~= b then return a < b end
  end
  return #one < #other
end

local start = 0
if score then
  local now = redis.call('ZSCORE', ids, last)
  if now and tonumber(now) == tonumber(score) then
    start = redis.call('ZREVRANK', ids, last) + 1
  else
    start = redis.call('ZCOUNT', ids, '(' .. score, '+inf')
    while true do
      local one = redis.call('ZREVRANGE', ids, start, start, 'WITHSCORES')
      if not one[1] or tonumber(one[2]) ~= tonumber(score) or is_before(one[1], last) then break end
      start = start + 1
    end
  end
end
local page, found = redis.call('ZREVRANGE', ids, start, start + size - 1, 'WITHSCORES'), {}
for one = 1, #page, 2 do
  local info = redis.call('HMGET', KEYS[2] .. page[one], 'user', 'metadata', 'created_at', 'branched_from')
  found[#found + 1] = {page[one], page[one + 1], redis.call('LLEN', KEYS[3] .. page[one]), info}
end
return found
"""
)

# The sessions that versions without such a list have left: some keys at a time, until the cursor is 0 again.
_ADOPT = Script(
    """
if ARGV[1] == '0' and redis.call('EXISTS', KEYS[2]) == 1 then return '0' end
local page = redis.call('SCAN', ARGV[1], 'MATCH', ARGV[2], 'COUNT', 1000)
for _, key in ipairs(page[2]) do redis.call('ZADD', KEYS[1], 'NX', 0, string.sub(key, #KEYS[3] + 1)) end
if page[1] == '0' then redis.call('SET', KEYS[2], '1') end
return page[1]
"""
)


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
            await self._replace([], texts)

    async def pop_item(self) -> Item | None:
        """Remove the latest item and return it; `None` when there is none."""
        while latest := await self._latest(1):
            item = self._decoded(latest[0])
            if await self._replace(latest, []):
                return item
        return None

    async def replace_latest(self, expected: Sequence[Item], items: Sequence[InputItem]) -> bool:
        """Put `items` in the place of the latest items, if those are `expected`, in one step.

        True if they were; False if not, and nothing has changed. Raises `UserError` for an entry that is not an item.
        """
        wanted = list(items_from_input(expected))
        texts = encode_items(items)
        while True:  # equal items may be written differently, so they are compared here, and the server compares what was read
            latest = await self._latest(len(wanted))
            if [self._decoded(text) for text in latest] != wanted:
                return False
            if not (latest or texts) or await self._replace(latest, texts):
                return True

    async def clear_session(self) -> None:
        """Remove every item, and what else is kept of the session."""
        await self._call(_CLEAR)

    async def summary(self) -> SessionSummary | None:
        """What is known of the session; None for one that has not begun."""
        row = cast("_Row | None", await self._call(_SUMMARY))
        return None if row is None else _summary(row)

    async def update(self, *, user: str | None = None, metadata: Mapping[str, str] | None = None) -> None:
        """Put another user and other metadata in the place of those kept. Raises `UserError` for what cannot be kept."""
        check_labels(user, metadata)
        await self._call(_UPDATE, user or "", "" if metadata is None else encode_metadata(metadata))

    async def branch(self, session_id: str, *, items: int | None = None) -> RedisSession:
        """A new session on the server that begins with the first `items` items of this one, or all. To be closed by itself.

        Raises `SessionError` where a session of that id has begun.
        """
        check_limit(items, "items")
        branch = copy.copy(self)
        branch.session_id = check_session_id(session_id)
        key = session_id.encode()
        last = sys.maxsize if items is None else items - 1
        if not await self._call(_BRANCH, key, last, keys=(self._names.items + key, self._names.info + key)):
            raise has_begun(session_id)
        branch._database = self._database.another()
        return branch

    async def aclose(self) -> None:
        """Release the connections of this event loop, unless another session or store uses them."""
        await self._database.aclose()

    async def _latest(self, count: int | None) -> Sequence[bytes]:
        if count == 0:
            return []
        names = [self._names.items + self.session_id.encode()]
        return cast("Sequence[bytes]", await _called(self._database, _LATEST, names, 0 if count is None else -count))

    async def _replace(self, expected: Sequence[bytes], texts: Sequence[bytes]) -> bool:
        return bool(await self._call(_REPLACE, len(expected), *expected, *texts))

    async def _call(self, script: Script, *args: Word, keys: Sequence[bytes] = ()) -> object:
        session_id, names = self.session_id.encode(), self._names
        own = (names.items + session_id, names.info + session_id, names.all, names.of_user)
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
            while (cursor := await _called(database, _ADOPT, names.to_adopt, cast(bytes, cursor), names.pattern)) != b"0":
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
        rows = cast("Sequence[_Row]", await _called(database, _LIST, [ids, names.info, names.items], size, *after))
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
