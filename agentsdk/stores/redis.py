"""A run store in Redis: for many processes on many machines.

Each call is one Lua script, which the server runs with nothing in between: that is what makes an append a compare-and-set (it
compares revision and lease, then writes) and what keeps a run and the indexes it is in consistent after a crash. A store is a
hash of summaries by run id, a list of events for each run, and sorted sets of run ids that `list` reads: one for each status,
by start, and one of running runs, by the end of their lease. Times are sent as text, since Lua would round them.
"""

from __future__ import annotations

import logging
import math
from collections.abc import Iterable, Sequence
from functools import partial
from typing import TYPE_CHECKING, cast, get_args

import msgspec

from agentsdk.databases.redis import Listening, RedisDatabase, Script, Word, check_prefix
from agentsdk.ports.run_store import RunStore, conflict, not_found
from agentsdk.stores.waiters import REVISION, LoopWaiters, Waiters
from agentsdk.types.errors import StoreBusyError, StoreError, StoreUnavailableError, UserError
from agentsdk.types.summary import RunQuery, RunStatus, RunSummary, check_run_id

if TYPE_CHECKING:
    from redis.asyncio import Redis

logger = logging.getLogger("agentsdk")

_STATUSES: tuple[RunStatus, ...] = get_args(RunStatus)
_PAGE = 500

# KEYS 1 to 7 of every script: the version; a hash of summaries by run id; for each status, the run ids by when they began; and
# those in work by when their lease passes.
_BEGIN = """
local version = redis.call('GET', KEYS[1])
if version and version ~= '1' then return redis.error_reply('NEWERVERSION') end
redis.call('HLEN', KEYS[2])
for index = 3, 7 do redis.call('ZCARD', KEYS[index]) end
local runs, running, held = KEYS[2], KEYS[3], KEYS[7]
"""

_APPEND = Script(
    _BEGIN
    + """
local log, run, expected, owner, now = KEYS[8], ARGV[1], tonumber(ARGV[2]), ARGV[3], tonumber(ARGV[4])
local index, started, held_until, summary, channel = tonumber(ARGV[5]), ARGV[6], ARGV[7], ARGV[8], ARGV[9]
local stored, length = redis.call('HGET', runs, run), redis.call('LLEN', log)
local rev, refused = 0, false
if stored then
  local present = cjson.decode(stored)
  rev = present.rev
  refused = present.owner ~= owner and present.held_until > now
end
if rev ~= expected or rev ~= length or refused then return {stored, length} end
redis.call('SETNX', KEYS[1], '1')
redis.call('HSET', runs, run, summary)
redis.call('ZADD', KEYS[index], started, run)
for other = 3, 6 do
  if other ~= index then redis.call('ZREM', KEYS[other], run) end
end
if KEYS[index] == running then redis.call('ZADD', held, held_until, run) else redis.call('ZREM', held, run) end
for first = 10, #ARGV, 1000 do
  redis.call('RPUSH', log, unpack(ARGV, first, math.min(first + 999, #ARGV)))
end
-- The work is done: a user who may not publish must not be told that it has failed.
if #ARGV > 9 then redis.pcall('PUBLISH', channel, rev + #ARGV - 9 .. ' rev:' .. run) end
return false
"""
)

_READ = Script(
    _BEGIN
    + """
local stored = redis.call('HGET', runs, ARGV[1])
return stored and {stored, redis.call('LRANGE', KEYS[8], ARGV[2], -1)}
"""
)

_SUMMARY = Script(_BEGIN + "return redis.call('HGET', runs, ARGV[1])")

# From each index its first runs, and all that began at the same time as the last of those. Those of one index that began
# before the last of another are not all there yet: `floor` is where the answer is complete down to.
_LIST = Script(
    _BEGIN
    + """
local top, bottom, size = ARGV[1], ARGV[2], tonumber(ARGV[3])
local floor, found = false, {}
for at = 8, #KEYS do
  local page = redis.call('ZREVRANGEBYSCORE', KEYS[at], top, bottom, 'WITHSCORES', 'LIMIT', 0, size)
  if #page == 2 * size then
    local last = page[#page]
    page = redis.call('ZREVRANGEBYSCORE', KEYS[at], top, last, 'WITHSCORES')
    if not floor or tonumber(last) > tonumber(floor) then floor = last end
  end
  for one = 1, #page, 2 do found[#found + 1] = redis.call('HGET', runs, page[one]) end
end
return {floor, found}
"""
)

# The same for the runs in work whose lease has passed. A program of an earlier version keeps no list of leases: what it has
# taken out of work is taken off here once that lease has passed, and where the list is of another length then, what it has
# begun is put on.
_ABANDONED = Script(
    _BEGIN
    + """
local top, bottom, size, now = ARGV[1], ARGV[2], tonumber(ARGV[3]), ARGV[4]
local is_open = string.sub(top, 1, 1) == '('
local high, low = tonumber(is_open and string.sub(top, 2) or top) or math.huge, tonumber(bottom) or -math.huge
local function passed()
  local found = {}
  for _, run in ipairs(redis.call('ZRANGEBYSCORE', held, '-inf', now)) do
    local text = redis.call('ZSCORE', running, run)
    local started = tonumber(text)
    if not text then
      redis.call('ZREM', held, run)
    elseif started >= low and (started < high or (started == high and not is_open)) then
      found[#found + 1] = {run = run, started = started, text = text}
    end
  end
  return found
end
local found = passed()
if redis.call('ZCARD', held) ~= redis.call('ZCARD', running) then
  for _, run in ipairs(redis.call('ZRANGE', running, 0, -1)) do
    local stored = not redis.call('ZSCORE', held, run) and redis.call('HGET', runs, run)
    if stored then redis.call('ZADD', held, string.format('%.17g', cjson.decode(stored).held_until), run) end
  end
  found = passed()
end
table.sort(found, function(one, other) return one.started > other.started end)
local floor, page = false, {}
for place, one in ipairs(found) do
  if place > size and one.started < found[size].started then
    floor = found[size].text
    break
  end
  page[place] = redis.call('HGET', runs, one.run)
end
return {floor, page}
"""
)

_ATTACH = Script(
    _BEGIN
    + """
if redis.call('HEXISTS', runs, ARGV[1]) == 0 then return 0 end
redis.call('HSET', KEYS[8], ARGV[2], ARGV[3])
return 1
"""
)

_ATTACHMENT = Script(_BEGIN + "return redis.call('HGET', KEYS[8], ARGV[1])")

# Without a time, whatever the runs are; else those that still have the status, last updated before it.
_DELETE = Script(
    _BEGIN
    + """
local before, status, deleted = tonumber(ARGV[1]), ARGV[2], 0
for at = 3, #ARGV do
  local run = ARGV[at]
  local goes = true
  if before then
    local stored = redis.call('HGET', runs, run)
    local present = stored and cjson.decode(stored)
    goes = present and present.updated_at < before and present.status == status
  end
  if goes then
    redis.call('HDEL', runs, run)
    for index = 3, 7 do redis.call('ZREM', KEYS[index], run) end
    redis.call('UNLINK', KEYS[2 * at + 2], KEYS[2 * at + 3])
    deleted = deleted + 1
  end
end
return deleted
"""
)

_warned: set[str] = set()


class RedisRunStore(RunStore):
    """Keeps runs in Redis 6 or later, for any number of processes. Give a URL, or a `redis.asyncio.Redis` for its connections.

    What `append` has returned from is as durable as the server makes it:

    - `appendonly yes` and `appendfsync always`: it is on the server's disk, and outlives a crash and a power loss.
    - `appendfsync everysec`, the default with `appendonly yes`: it outlives a crash of the server's process; a power loss takes
      about the last second, with `appendfsync no` more.
    - `appendonly no`, the default: a restart takes all since the last snapshot.
    - Replicas get it a moment later: a failover loses what they had not got yet. `min-replicas-to-write` narrows that only.
    - A `maxmemory-policy` of `allkeys-*` may remove runs at any time; use `noeviction`.

    The first use logs a warning where the server says that it can lose an append, once for each server.

    The keys are `{prefix}:...`, braces included, so that a cluster keeps all runs of a store on one node: each call is one
    script over a run and the lists it is in, done completely or not at all, also after a crash. Stores of other prefixes can be
    on other nodes. A client of the node is needed; `redis.asyncio.RedisCluster` is not accepted.

    A call may take `timeout` seconds. One that raised `StoreUnavailableError` may have been done, or be done later by a server
    that hangs: read the run, and append at its revision, where only one of the two can succeed. Raises `UserError` for a bad
    argument, and without the package `redis`.
    """

    def __init__(self, url_or_client: str | Redis, *, prefix: str = "agentsdk", timeout: float = 10.0) -> None:
        self._database = RedisDatabase(url_or_client, timeout=timeout)
        self._tag = b"{%s}:" % check_prefix(prefix)
        self._keys = tuple(self._tag + name.encode() for name in ("version", "runs", *_STATUSES, "held"))
        self._channel = self._tag + b"appended:" + self._database.number.encode()  # channels know no databases
        self._waiters = Waiters()
        self._asked = False

    def __repr__(self) -> str:
        return f"RedisRunStore({self._database!r})"

    async def append(self, run_id: str, expected_rev: int, events: Sequence[bytes], summary: RunSummary) -> None:
        """Add events to a run's log, if it is where expected. Raises `RunConflictError`."""
        check_run_id(run_id)
        written = _written(summary)
        index = 3 + _STATUSES.index(summary.status)
        now, started, held_until = repr(summary.updated_at), repr(summary.started_at), repr(summary.held_until)
        refused = await self._call(
            _APPEND,
            [self._log(run_id)],
            run_id,
            expected_rev,
            summary.owner,
            now,
            index,
            started,
            held_until,
            written,
            self._channel,
            *events,
        )
        if refused is not None:
            stored, length = cast("tuple[bytes | None, int]", refused)
            found = None if stored is None else self._decoded(stored)
            raise conflict(found, expected_rev, summary) or self._damaged(run_id, length, 0 if found is None else found.rev)

    async def read(self, run_id: str, from_rev: int = 0) -> list[bytes]:
        """A run's events. Raises `RunNotFoundError`."""
        reply = await self._call(_READ, [self._log(run_id)], _encoded(run_id), from_rev)
        if reply is None:
            raise not_found(run_id)
        stored, events = cast("tuple[bytes, list[bytes]]", reply)
        rev = self._decoded(stored).rev
        if len(events) != max(rev - from_rev, 0):
            raise self._damaged(run_id, from_rev + len(events), rev)
        return events

    async def summary(self, run_id: str) -> RunSummary | None:
        """A run's summary."""
        stored = cast("bytes | None", await self._call(_SUMMARY, [], _encoded(run_id)))
        return None if stored is None else self._decoded(stored)

    async def list(self, query: RunQuery) -> list[RunSummary]:
        """The runs that fit."""
        if query.abandoned_at is not None and query.status not in (None, "running"):
            return []
        statuses = _STATUSES if query.status is None else (query.status,)
        indexes = [self._tag + status.encode() for status in statuses]
        top = "+inf" if query.started_before is None else f"({query.started_before!r}"
        if query.after is not None and (query.started_before is None or query.after.started_at < query.started_before):
            top = repr(query.after.started_at)
        bottom = "-inf" if query.started_after is None else repr(query.started_after)
        found: list[RunSummary] = []
        size = min(query.limit, _PAGE)
        while True:
            if query.abandoned_at is None:
                reply = await self._call(_LIST, indexes, top, bottom, size)
            else:
                reply = await self._call(_ABANDONED, [], top, bottom, size, repr(query.abandoned_at))
            floor, stored = cast("tuple[bytes | None, list[bytes | None]]", reply)
            page = [self._decoded(one) for one in stored if one is not None]
            page = [one for one in page if query.fits(one) and (floor is None or one.started_at >= float(floor))]
            found += sorted(page, key=lambda one: (one.started_at, one.run_id), reverse=True)
            if floor is None or len(found) >= query.limit:
                return found[: query.limit]
            top, size = f"({floor.decode()}", min(2 * size, _PAGE)

    async def attach(self, run_id: str, name: str, data: bytes) -> None:
        """Keep `data` beside a run's log. Raises `RunNotFoundError`."""
        if not await self._call(_ATTACH, [self._attached(run_id)], _encoded(run_id), _encoded(name), data):
            raise not_found(run_id)

    async def attachment(self, run_id: str, name: str) -> bytes | None:
        """What was attached under `name`."""
        return cast("bytes | None", await self._call(_ATTACHMENT, [self._attached(run_id)], _encoded(name)))

    async def delete(self, run_id: str) -> None:
        """Remove a run."""
        await self._delete([run_id], "", "")

    async def prune(self, before: float, statuses: Iterable[RunStatus] = ("finished",)) -> int:
        """Delete runs of these `statuses` that were last updated before `before`, a Unix timestamp in seconds.

        Reads the summaries of all that have one of the statuses.
        """
        deleted = 0
        for status in set(statuses):
            page: list[RunSummary] | None = None
            while page is None or len(page) == _PAGE:
                page = await self.list(RunQuery(status=status, limit=_PAGE, after=page[-1] if page else None))
                old = [one.run_id for one in page if one.updated_at < before]
                deleted += await self._delete(old, repr(before), status)
        return deleted

    async def wait(self, run_id: str, after_rev: int, timeout: float) -> int:
        """A run's revision once it is above `after_rev`, or after `timeout` seconds.

        An append publishes on the channel `{prefix}:appended:<database>`, as part of its script. While anybody waits, one
        connection of this store is subscribed to it, for all who wait on an event loop; if it is lost, they connect and look
        again. A user of the server needs the channel, both who appends and who waits.
        """
        return await self._waiters.wait(REVISION + run_id, after_rev, timeout, partial(self._rev, run_id), self._listen)

    async def aclose(self) -> None:
        """Release the connections of this event loop, unless another store or session uses them."""
        await self._waiters.aclose(f"{self!r} is closed; make a new one")
        await self._database.aclose()

    async def _rev(self, run_id: str) -> int:
        summary = await self.summary(run_id)
        return 0 if summary is None else summary.rev

    async def _listen(self, waiters: LoopWaiters) -> Listening:
        return await self._database.listen(self._channel, waiters.on_message, waiters.recheck)

    async def _delete(self, run_ids: Sequence[str], before: str, status: str) -> int:
        keys = [key for run_id in run_ids for key in (self._log(run_id), self._attached(run_id))]
        return cast(int, await self._call(_DELETE, keys, before, status, *map(_encoded, run_ids)))

    async def _call(self, script: Script, keys: Sequence[bytes], *args: Word) -> object:
        if not self._asked:
            await self._warn_of_losses()
            self._asked = True
        return await self._database.call(script, (*self._keys, *keys), *args)

    async def _warn_of_losses(self) -> None:
        """Say in the log how the server can lose what `append` has returned from."""
        name = repr(self._database)
        try:
            settings = await self._database.settings("append*") | await self._database.settings("maxmemory-policy")
        except (StoreBusyError, StoreUnavailableError):
            raise
        except StoreError:  # it keeps its settings to itself
            return
        if name in _warned:
            return
        _warned.add(name)
        advice = {
            "appendonly": ("yes", "loses at a restart what was appended since its last snapshot; set appendonly yes"),
            "appendfsync": ("always", "loses at a power loss what was appended last; set appendfsync always"),
            "maxmemory-policy": ("noeviction", "may remove runs when it is short of memory; set maxmemory-policy noeviction"),
        }
        if settings.get("appendonly") == "no":
            del advice["appendfsync"]  # without effect then
        for setting, (safe, says) in advice.items():
            if settings.get(setting, safe) != safe:
                logger.warning("%s %s", name, says)

    def _log(self, run_id: str) -> bytes:
        return self._tag + b"log:" + _encoded(run_id)

    def _attached(self, run_id: str) -> bytes:
        return self._tag + b"attached:" + _encoded(run_id)

    def _decoded(self, text: bytes) -> RunSummary:
        try:
            return msgspec.json.decode(text, type=RunSummary)
        except (msgspec.DecodeError, UnicodeDecodeError):
            raise StoreError(
                f"{self!r} has a summary that is none: damaged, or of a newer version; restore it from a backup"
            ) from None

    def _damaged(self, run_id: str, length: int, rev: int) -> StoreError:
        return StoreError(
            f"run {run_id!r} of {self!r} has {length} events, expected {rev}: keys were evicted or removed; "
            "restore it from a backup, and set maxmemory-policy noeviction"
        )


def _encoded(text: str) -> bytes:
    return text.encode("utf-8", "surrogatepass")


def _written(summary: RunSummary) -> bytes:
    if not all(map(math.isfinite, (summary.started_at, summary.updated_at, summary.held_until))):
        raise UserError(
            f"the summary of run {summary.run_id!r} has a time that is not finite, expected a Unix timestamp in seconds"
        )
    try:
        return msgspec.json.encode(summary)
    except (UnicodeEncodeError, OverflowError):
        raise StoreError(
            f"the summary of run {summary.run_id!r} cannot be kept, expected no lone surrogates and numbers of at most 64 bits"
        ) from None
