"""A session in Redis: one server holds any number of sessions, for any number of processes."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, cast

from agentsdk.databases.redis import RedisDatabase, Script, Word, check_prefix
from agentsdk.ports.session import ReplacingSession, check_limit, check_session_id
from agentsdk.sessions.stored_items import decode_item, encode_items, session_error
from agentsdk.types.errors import StoreError
from agentsdk.types.items import InputItem, Item, items_from_input

if TYPE_CHECKING:
    from redis.asyncio import Redis

_LATEST = Script("return redis.call('LRANGE', KEYS[1], ARGV[1], -1)")

# The first of ARGV says how many of the next are expected at the end of the list; the others take their place.
_REPLACE = Script(
    """
local count = tonumber(ARGV[1])
if count > 0 then
  local latest = redis.call('LRANGE', KEYS[1], -count, -1)
  for at = 1, count do
    if latest[at] ~= ARGV[1 + at] then return 0 end
  end
  redis.call('LTRIM', KEYS[1], 0, -count - 1)
end
for first = count + 2, #ARGV, 1000 do
  redis.call('RPUSH', KEYS[1], unpack(ARGV, first, math.min(first + 999, #ARGV)))
end
return 1
"""
)

_CLEAR = Script("return redis.call('UNLINK', KEYS[1])")


class RedisSession(ReplacingSession):
    """Keeps a conversation in Redis 6 or later. Give a URL, or a `redis.asyncio.Redis` for its connections.

    Any text is a safe `session_id`: it is the end of one key, `{prefix}:session:...`. How much of what was written outlives a
    crash is for the server's settings to say, as `RedisRunStore` explains. The sessions of one URL share their connections.

    A call may take `timeout` seconds. Every method raises `SessionError` for a server that cannot be reached or used, and
    `SessionBusyError` for one that is busy, where nothing was done. What was asked for when the connection broke was done
    completely or not at all.
    """

    def __init__(self, session_id: str, url_or_client: str | Redis, *, prefix: str = "agentsdk", timeout: float = 10.0) -> None:
        self.session_id = check_session_id(session_id)
        self._key = b"{%s}:session:%s" % (check_prefix(prefix), session_id.encode())
        self._database = RedisDatabase(url_or_client, timeout=timeout)

    def __repr__(self) -> str:
        return f"RedisSession({self.session_id!r}, {self._database!r})"

    async def get_items(self, limit: int | None = None) -> list[Item]:
        """All items, or the latest `limit` of them. Raises `UserError` for a negative limit."""
        check_limit(limit)
        return [self._decoded(text) for text in await self._latest(limit)]

    async def add_items(self, items: Sequence[InputItem]) -> None:
        """Append `items`, all or none. Raises `UserError` for an entry that is not an item."""
        await self._replace([], encode_items(items))

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
            if await self._replace(latest, texts):
                return True

    async def clear_session(self) -> None:
        """Remove every item."""
        await self._call(_CLEAR)

    async def aclose(self) -> None:
        """Release the connections of this event loop, unless another session or store uses them."""
        await self._database.aclose()

    async def _latest(self, count: int | None) -> list[bytes]:
        if count == 0:
            return []
        return cast("list[bytes]", await self._call(_LATEST, 0 if count is None else -count))

    async def _replace(self, expected: Sequence[bytes], texts: Sequence[bytes]) -> bool:
        return bool(await self._call(_REPLACE, len(expected), *expected, *texts))

    async def _call(self, script: Script, *args: Word) -> object:
        try:
            return await self._database.call(script, [self._key], *args)
        except StoreError as error:
            raise session_error(error) from error.__cause__

    def _decoded(self, text: bytes) -> Item:
        return decode_item(text, f"an entry of {self!r}")
