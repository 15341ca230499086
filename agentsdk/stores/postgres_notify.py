"""LISTEN and NOTIFY for `PostgresRunStore.wait`, `wait_signals` and `wait_due`.

PostgreSQL commits transactions that notify one after the other, in all of the server. An append that notified would keep all
others waiting for its disk. So it is notified right after it, together with others, by a statement that waits for no disk; so
is a post. A process that is killed in between has not notified: who listens also reads, now and then.

A notification wakes the server's process of everybody who listens, whatever the channel. Every worker listens for what is due,
and a revision, which changes with every append, is of interest to those alone who watch runs. So revisions have a channel of
their own, and are notified only while somebody listens there: who does holds a lock, shared, that is tried before.
"""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from contextlib import suppress

from agentsdk.databases.asyncpg_types import Connection
from agentsdk.databases.postgres import Listening, PostgresDatabase
from agentsdk.stores.waiters import DUE, REVISION, LoopWaiters
from agentsdk.types.errors import StoreError

_RUNS = "'agentsdk_runs'::regclass::oid"
_WATCHED_LOCK = f"{0x6167656E74776368} + {_RUNS}::bigint"  # any number that nobody else takes
CHANNELS = f"SELECT 'agentsdk_runs_' || {_RUNS}, 'agentsdk_runs_' || {_RUNS} || '_revisions', {_WATCHED_LOCK}"
"""The channel of signals and of what is due, that of revisions, and the lock of who listens to the latter."""
_NOTIFY = f"""
    WITH watched AS MATERIALIZED (SELECT NOT pg_try_advisory_xact_lock({_WATCHED_LOCK}) AS so)
    SELECT pg_notify('agentsdk_runs_' || {_RUNS} || '_revisions', message) FROM unnest($1::text[]) AS message, watched WHERE so
    UNION ALL SELECT pg_notify('agentsdk_runs_' || {_RUNS}, message) FROM unnest($2::text[]) AS message
"""
_NUMBERS = f"""
    SELECT topic, CASE WHEN starts_with(topic, '{REVISION}') THEN rev ELSE signals END
    FROM unnest($1::text[]) AS topic JOIN agentsdk_runs ON run_id = substr(topic, strpos(topic, ':') + 1)
"""

_SEND_INTERVAL = 0.02
"""Seconds from one sending of an event loop to the next."""

_READ_INTERVAL = 1.0
"""Seconds between two reads of all that is waited for on an event loop."""

_CLOSE_TIMEOUT = 1.0
"""Seconds that closing waits for what is still to be sent."""


class Notifier:
    """Sends the notifications of one store, by a task for each event loop that ends when there are none."""

    def __init__(self, database: PostgresDatabase) -> None:
        self._database = database
        self._outboxes: dict[asyncio.AbstractEventLoop, _Outbox] = {}

    async def add(self, numbers: Mapping[str, int], connection: Connection) -> None:
        """The topics have come to these numbers, which are to be sent once the caller has called `start`. `DUE` has none.

        Where the task waits for a connection although it is time, all is sent now, through the caller's `connection`. Raises
        nothing: what cannot be sent is lost.
        """
        if not numbers:
            return
        loop = asyncio.get_running_loop()
        outbox = self._outboxes.get(loop)
        if outbox is None:
            for other in list(self._outboxes):
                if other.is_closed():
                    self._outboxes.pop(other, None)
            outbox = self._outboxes[loop] = _Outbox(self._database)
        await outbox.add(numbers, connection)

    def start(self) -> None:
        """Let the task send what was added, at once or 20 ms after it did before. Call it with the connection given back."""
        outbox = self._outboxes.get(asyncio.get_running_loop())
        if outbox is not None:
            outbox.start()

    async def aclose(self) -> None:
        """Send what the running event loop has still to send."""
        outbox = self._outboxes.pop(asyncio.get_running_loop(), None)
        if outbox is not None:
            await outbox.aclose()


class _Outbox:
    """What is still to be sent from one event loop, and the task that sends it."""

    def __init__(self, database: PostgresDatabase) -> None:
        self._database = database
        self._pending: dict[str, int] = {}
        self._next = 0.0
        self._closing = asyncio.Event()
        self._task: asyncio.Task[None] | None = None

    async def add(self, numbers: Mapping[str, int], connection: Connection) -> None:
        self._pending |= numbers
        if self._is_running() and asyncio.get_running_loop().time() >= self._next:
            with suppress(Exception):
                await self._send(connection)

    def start(self) -> None:
        if self._pending and not self._is_running():
            self._task = asyncio.create_task(self._run(), name="agentsdk PostgresRunStore.append")

    async def aclose(self) -> None:
        self._closing.set()
        if self._task is not None and self._is_running():
            await asyncio.wait((self._task,), timeout=_CLOSE_TIMEOUT)
            self._task.cancel()
            await asyncio.wait((self._task,))

    def _is_running(self) -> bool:
        return self._task is not None and not self._task.done()

    async def _run(self) -> None:
        try:
            while self._pending:
                with suppress(TimeoutError):
                    async with asyncio.timeout_at(self._next):
                        await self._closing.wait()
                await self._send_all()
        except asyncio.CancelledError:
            if self._pending and not self._closing.is_set():  # the event loop ends, maybe with its process
                with suppress(TimeoutError):
                    async with asyncio.timeout(_CLOSE_TIMEOUT):
                        await self._send_all()
            raise

    async def _send_all(self) -> None:
        try:
            await self._database.run(self._send)
        except StoreError:
            self._pending.clear()

    async def _send(self, connection: Connection) -> None:
        pending, self._pending = self._pending, {}
        self._next = asyncio.get_running_loop().time() + _SEND_INTERVAL
        if not pending:
            return
        try:
            revisions = [f"{number} {topic}" for topic, number in pending.items() if topic.startswith(REVISION)]
            others = [
                topic if topic == DUE else f"{number} {topic}"
                for topic, number in pending.items()
                if not topic.startswith(REVISION)
            ]
            await connection.fetch(_NOTIFY, revisions, others)
        except asyncio.CancelledError:
            self._pending = pending | self._pending
            raise


async def subscribe(database: PostgresDatabase, revisions: bool, waiters: LoopWaiters) -> Subscription:
    """Have `waiters` notified from now on: of revisions, or of all else.

    Raises `StoreError`s, and `UserError` for a given pool of one connection.
    """
    row = (await database.fetch(CHANNELS))[0]
    channel, lock = (row[1], row[2]) if revisions else (row[0], None)
    return Subscription(database, waiters, await database.listen(channel, waiters.on_message, waiters.recheck, lock))


class Subscription:
    """Listens, and once a second reads all that is waited for, in one statement."""

    def __init__(self, database: PostgresDatabase, waiters: LoopWaiters, listening: Listening) -> None:
        self._database = database
        self._waiters = waiters
        self._listening = listening
        self._task = asyncio.create_task(self._read(), name="agentsdk PostgresRunStore.wait")

    def is_open(self) -> bool:
        """Whether it was neither closed nor lost."""
        return self._listening.is_open()

    async def aclose(self) -> None:
        """Neither listen nor read any more."""
        self._task.cancel()
        await asyncio.wait((self._task,))
        await self._listening.aclose()

    async def _read(self) -> None:
        while True:
            await asyncio.sleep(_READ_INTERVAL)
            topics = self._waiters.topics
            with suppress(StoreError):  # that the server is away is seen by who listens
                for row in await self._database.fetch(_NUMBERS, topics) if topics else ():
                    self._waiters.notify(row[0], row[1])
