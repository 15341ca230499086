"""A run store in Redis: for many processes on many machines.

Each call is one Lua script, which the server runs with nothing in between: that is what makes an append a compare-and-set (it
compares revision and lease, then writes) and what keeps a run and the indexes it is in consistent after a crash. They are in
`redis_scripts`, which says what is kept where.
"""

from __future__ import annotations

import logging
import math
from collections.abc import Iterable, Iterator, Sequence
from functools import partial
from operator import itemgetter
from typing import TYPE_CHECKING, cast, get_args

import msgspec

from agentsdk.databases.redis import Listening, RedisDatabase, Script, Word, check_prefix
from agentsdk.databases.summary_json import decode_summary
from agentsdk.ports.run_store import RunStore, conflict, not_found, not_open
from agentsdk.stores import redis_scripts as scripts
from agentsdk.stores.waiters import REVISION, SIGNALS, LoopWaiters, Waiters
from agentsdk.types.errors import StoreBusyError, StoreError, StoreUnavailableError, UserError
from agentsdk.types.summary import ALL_RUNS, DueRuns, RunQuery, RunStatus, RunSummary, check_run_id

if TYPE_CHECKING:
    from redis.asyncio import Redis

logger = logging.getLogger("agentsdk")

_STATUSES: tuple[RunStatus, ...] = get_args(RunStatus)
_TIMES = ("started_at", "updated_at", "held_until", "due_at", "elapsed", "ended_at")
_PAGE = 500

_Row = tuple[bytes | None, bytes | None]

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
        self._head = tuple(self._tag + name.encode() for name in scripts.HEAD)
        self._keys = (*self._head, *(self._tag + name.encode() for name in scripts.INDEXES))
        self._channel = self._tag + b"appended:" + self._database.number.encode()  # channels know no databases
        self._waiters = Waiters()
        self._asked = False

    def __repr__(self) -> str:
        return f"RedisRunStore({self._database!r})"

    async def append(self, run_id: str, expected_rev: int, events: Sequence[bytes], summary: RunSummary) -> int:
        """Add events to a run's log, if it is where expected. Raises `RunConflictError`."""
        check_run_id(run_id)
        keys = (*self._keys, self._of("log", run_id), self._of("signals", run_id))
        reply = await self._call(scripts.APPEND, keys, run_id, expected_rev, _written(summary), self._channel, *events)
        if isinstance(reply, int):
            return reply
        stored, length = cast("tuple[bytes | None, int]", reply)
        found = None if stored is None else self._decoded(stored)
        raise conflict(found, expected_rev, summary) or self._damaged(run_id, length, 0 if found is None else found.rev)

    async def read(self, run_id: str, from_rev: int = 0) -> list[bytes]:
        """A run's events. Raises `RunNotFoundError`."""
        reply = await self._call(scripts.READ, (*self._head, self._of("log", run_id)), _encoded(run_id), from_rev)
        if reply is None:
            raise not_found(run_id)
        stored, events = cast("tuple[bytes, list[bytes]]", reply)
        rev = self._decoded(stored).rev
        if len(events) != max(rev - from_rev, 0):
            raise self._damaged(run_id, from_rev + len(events), rev)
        return events

    async def summary(self, run_id: str) -> RunSummary | None:
        """A run's summary."""
        stored, signals = cast("_Row", await self._call(scripts.SUMMARY, self._head, _encoded(run_id)))
        return None if stored is None else self._decoded(stored, signals)

    async def due(self, query: DueRuns) -> list[RunSummary]:
        """The runs that a worker may take.

        Costs O(limit), whatever else is due, if there are few different priorities.
        """
        agents: tuple[Word, ...] = ("all",) if query.agents is None else ("chosen", *map(_encoded, set(query.agents)))
        rows = cast("list[bytes | None]", await self._find(scripts.FIND_DUE, repr(query.at), query.limit, *agents))
        return sorted(filter(query.fits, self._decoded_of(_paired(rows))), key=query.order)[: query.limit]

    async def post(self, run_id: str, signal: bytes) -> int:
        """Put a signal into a run's mailbox. Raises `RunNotFoundError`, and `RunConflictError` where it is over."""
        keys = (*self._keys, self._of("signals", run_id))
        reply = await self._call(scripts.POST, keys, _encoded(run_id), signal, self._channel)
        if isinstance(reply, int):
            return reply
        if reply is None:
            raise not_found(run_id)
        stored, length, signals = cast("tuple[bytes, int, int]", reply)
        summary = self._decoded(stored)
        raise not_open(summary) if summary.is_over else self._damaged(run_id, length, signals, "signals")

    async def signals(self, run_id: str, after: int = 0) -> list[bytes]:
        """What was posted to a run. Raises `RunNotFoundError`."""
        reply = await self._call(scripts.READ_SIGNALS, (*self._head, self._of("signals", run_id)), _encoded(run_id), after)
        if reply is None:
            raise not_found(run_id)
        count, signals = cast("tuple[int, list[bytes]]", reply)
        if len(signals) != max(count - after, 0):
            raise self._damaged(run_id, after + len(signals), count, "signals")
        return signals

    async def _list_by_metadata(self, query: RunQuery, statuses: Sequence[RunStatus]) -> list[RunSummary]:
        bounds = [query.before, None if query.started_before is None else (query.started_before, "")]
        before = min((bound for bound in bounds if bound is not None), default=None)
        started, run_id = ("", "") if before is None else (repr(before[0]), before[1])
        after = "" if query.started_after is None else repr(query.started_after)
        pairs = [_encoded(text) for pair in query.metadata.items() for text in pair]
        place, found = b"", list[RunSummary]()
        size = min(query.limit, _PAGE)
        while True:
            words = (place, started, run_id, after, size, len(statuses), *statuses, *pairs)
            pages = cast("list[tuple[list[bytes], list[bytes | None]]]", await self._find(scripts.BY_METADATA, *words))
            place = max((places[-1] for places, _ in pages if len(places) == size), default=b"")
            placed = [one for places, rows in pages for one in zip(places, _paired(rows), strict=True) if one[0] >= place]
            placed.sort(key=itemgetter(0), reverse=True)
            found += filter(query.fits, self._decoded_of(row for _, row in placed))
            if not place or len(found) >= query.limit:
                return found[: query.limit]
            size = min(2 * size, _PAGE)

    async def list(self, query: RunQuery = ALL_RUNS) -> list[RunSummary]:
        """The runs that fit."""
        if query.abandoned_at is not None and query.status not in (None, "running"):
            return []
        statuses = _STATUSES if query.status is None else (query.status,)
        if query.metadata and query.abandoned_at is None:
            return await self._list_by_metadata(query, statuses)
        before, started_before = query.before, query.started_before
        top = "+inf" if started_before is None else f"({started_before!r}"
        if before is not None and (started_before is None or before[0] < started_before):
            top = repr(before[0])
        bottom = "-inf" if query.started_after is None else repr(query.started_after)
        found: list[RunSummary] = []
        size = min(query.limit, _PAGE)
        while True:
            if query.abandoned_at is None:
                reply = await self._find(scripts.LIST, top, bottom, size, *statuses)
            else:
                reply = await self._find(scripts.ABANDONED, top, bottom, size, repr(query.abandoned_at))
            floor, rows = cast("tuple[bytes | None, list[bytes | None]]", reply)
            page = {one.run_id: one for one in self._decoded_of(_paired(rows)) if query.fits(one)}
            complete = [one for one in page.values() if floor is None or one.started_at >= float(floor)]
            found += sorted(complete, key=lambda one: (one.started_at, one.run_id), reverse=True)
            if floor is None or len(found) >= query.limit:
                return found[: query.limit]
            top, size = f"({floor.decode()}", min(2 * size, _PAGE)

    async def attach(self, run_id: str, name: str, data: bytes) -> None:
        """Keep `data` beside a run's log. Raises `RunNotFoundError`."""
        keys = (*self._head, self._of("attached", run_id))
        if not await self._call(scripts.ATTACH, keys, _encoded(run_id), _encoded(name), data):
            raise not_found(run_id)

    async def attachment(self, run_id: str, name: str) -> bytes | None:
        """What was attached under `name`."""
        keys = (*self._head, self._of("attached", run_id))
        return cast("bytes | None", await self._call(scripts.ATTACHMENT, keys, _encoded(name)))

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

        An append publishes on the channel `{prefix}:appended:<database>`, as part of its script; so does a post. While anybody
        waits, one connection of this store is subscribed to it, for all who wait on an event loop; if it is lost, they connect
        and look again. A user of the server needs the channel, both who appends or posts and who waits.
        """
        return await self._waiters.wait(REVISION + run_id, after_rev, timeout, partial(self._rev, run_id), self._listen)

    async def wait_signals(self, run_id: str, after: int, timeout: float) -> int:
        """How many signals were posted to a run, once above `after`, or after `timeout` seconds."""
        return await self._waiters.wait(SIGNALS + run_id, after, timeout, partial(self._posted, run_id), self._listen)

    async def wait_due(self, seen: int, timeout: float) -> int:
        """Another number than `seen` once some run may have become due, or `seen` after `timeout` seconds."""
        return await self._waiters.wait_due(seen, timeout, self._listen)

    async def aclose(self) -> None:
        """Release the connections of this event loop, unless another store or session uses them."""
        await self._waiters.aclose(f"{self!r} is closed; make a new one")
        await self._database.aclose()

    async def _rev(self, run_id: str) -> int:
        summary = await self.summary(run_id)
        return 0 if summary is None else summary.rev

    async def _posted(self, run_id: str) -> int:
        summary = await self.summary(run_id)
        return 0 if summary is None else summary.signals

    async def _listen(self, waiters: LoopWaiters) -> Listening:
        return await self._database.listen(self._channel, waiters.on_message, waiters.recheck)

    async def _delete(self, run_ids: Sequence[str], before: str, status: str) -> int:
        keys = [self._of(kind, run_id) for run_id in run_ids for kind in ("log", "attached", "signals")]
        return cast(int, await self._call(scripts.DELETE, (*self._keys, *keys), before, status, *map(_encoded, run_ids)))

    async def _find(self, script: Script, *args: Word) -> object:
        """What a script finds, once all that programs of earlier versions have written is found as today."""
        while (reply := await self._call(script, self._keys, *args)) is None:
            await self._call(scripts.ADOPT, self._keys)
        return reply

    async def _call(self, script: Script, keys: Sequence[bytes], *args: Word) -> object:
        if not self._asked:
            await self._warn_of_losses()
            self._asked = True
        return await self._database.call(script, keys, *args)

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

    def _of(self, kind: str, run_id: str) -> bytes:
        """The key of what belongs to one run."""
        return self._tag + kind.encode() + b":" + _encoded(run_id)

    def _decoded_of(self, rows: Iterable[_Row]) -> Iterator[RunSummary]:
        """The summaries of runs that are still there."""
        return (self._decoded(stored, signals) for stored, signals in rows if stored is not None)

    def _decoded(self, text: bytes, signals: bytes | None = None) -> RunSummary:
        try:
            stored = decode_summary(text)
        except (msgspec.MsgspecError, ValueError):
            raise StoreError(
                f"{self!r} has a summary that is none: damaged, or of a newer version; restore it from a backup"
            ) from None
        return stored.beside(int(signals or 0))

    def _damaged(self, run_id: str, length: int, expected: int, what: str = "events") -> StoreError:
        return StoreError(
            f"run {run_id!r} of {self!r} has {length} {what}, expected {expected}: keys were evicted or removed; "
            "restore it from a backup, and set maxmemory-policy noeviction"
        )


def _encoded(text: str) -> bytes:
    return text.encode("utf-8", "surrogatepass")


def _paired(rows: Sequence[bytes | None]) -> Iterator[_Row]:
    """Summaries, each with how many signals were posted, from a list in which one follows the other."""
    values = iter(rows)
    return zip(values, values, strict=True)


def _written(summary: RunSummary) -> bytes:
    if not all(math.isfinite(getattr(summary, field)) for field in _TIMES):
        raise UserError(
            f"the summary of run {summary.run_id!r} has a time that is not finite, expected a Unix timestamp in seconds"
        )
    try:
        return msgspec.json.encode(summary)
    except (UnicodeEncodeError, OverflowError):
        raise StoreError(
            f"the summary of run {summary.run_id!r} cannot be kept, expected no lone surrogates and numbers of at most 64 bits"
        ) from None
