"""`Feeds`: what happens in the runs that clients follow, each run watched once for all who follow it.

A reader gets what is behind it from the store, and the rest from the feed. Its buffer is bounded: one that lags behind that is
cut off, and a client that comes again says which event it saw last, so nothing is lost and nothing comes twice.
"""

from __future__ import annotations

import asyncio
import logging
from collections import deque
from collections.abc import AsyncGenerator
from contextlib import aclosing

from agentsdk.core.codec import decode_events
from agentsdk.define.run_config import RunConfig
from agentsdk.define.stream_events import RecordedEvent
from agentsdk.engine.stored import store_of
from agentsdk.runner import Runner
from agentsdk.types.errors import AgentsException
from agentsdk.types.events import unnested
from agentsdk.web.shown import piece_of

logger = logging.getLogger("agentsdk")

PING = b": still here\n\n"
"""A comment: proxies end connections that are silent."""

CHUNK_BYTES = 65_536
"""How much of what is behind a client is sent at once: a send costs as much as ten events."""


class Reader:
    """What waits for one client. `revision` is that of the last event it has."""

    def __init__(self, revision: int, most_bytes: int) -> None:
        self.revision = revision
        self.is_over = False
        self._left = most_bytes
        self._waiting: deque[tuple[int, bytes]] = deque()
        self._arrived = asyncio.Event()

    def offer(self, revision: int, piece: bytes) -> None:
        """Give it an event; `revision` is 0 for one that is not recorded, which a reader that lags behind misses."""
        if self.is_over or 0 < revision <= self.revision:
            return
        if self._waiting and len(piece) > self._left:
            self.is_over = revision > 0
            return
        self._left -= len(piece)
        self._waiting.append((revision, piece))
        self._arrived.set()

    def close(self) -> None:
        """There is no more than what waits."""
        self.is_over = True
        self._arrived.set()

    async def take(self, timeout: float) -> bytes | None:
        """All that waits, None where there will be no more; a ping after `timeout` seconds."""
        if not self._waiting and not self.is_over:
            try:
                async with asyncio.timeout(timeout):
                    await self._arrived.wait()
            except TimeoutError:
                return PING
        self._arrived.clear()
        taken = [piece for revision, piece in self._waiting if not 0 < revision <= self.revision]
        self._left += sum(len(piece) for _, piece in self._waiting)
        self.revision = max([self.revision, *[revision for revision, _ in self._waiting]])
        self._waiting.clear()
        return b"".join(taken) if taken or not self.is_over else None


class _Feed:
    """One run, and who follows it."""

    def __init__(self) -> None:
        self.readers: set[Reader] = set()
        self.pumping: asyncio.Task[None] | None = None


class Feeds:
    """The feeds of a service's runs, in one event loop."""

    def __init__(self, config: RunConfig, most_bytes: int) -> None:
        self._config = config
        self._store = store_of(config)
        self._most_bytes = most_bytes
        self._feeds: dict[str, _Feed] = {}

    async def follow(self, run_id: str, after: int, revision: int, ping: float, seconds: float) -> AsyncGenerator[bytes, None]:
        """What happens in a run that is at `revision`, from revision `after` on, until it ends or `seconds` have passed.

        A ping comes where nothing else does for `ping` seconds. Raises `StoreError`.
        """
        loop = asyncio.get_running_loop()
        ends, reader = loop.time() + seconds, Reader(after, self._most_bytes)
        feed = self._join(run_id, revision, reader)
        try:
            behind = bytearray()
            for event in decode_events(await self._store.read(run_id, after)):
                path, inner = unnested(event)
                reader.revision += 1
                behind += self._piece(RecordedEvent(reader.revision, inner, path))
                if len(behind) >= CHUNK_BYTES:
                    yield bytes(behind)
                    behind.clear()
            if behind:
                yield bytes(behind)
            while (left := ends - loop.time()) > 0 and (pieces := await reader.take(min(ping, left))) is not None:
                if pieces:
                    yield pieces
            await asyncio.sleep(0)  # all get the end of a run before the first of them is let go
        finally:
            await self._leave(run_id, feed, reader)

    def _piece(self, event: RecordedEvent) -> bytes:
        return piece_of(event, hold_text=self._config.buffer_output)

    def _join(self, run_id: str, revision: int, reader: Reader) -> _Feed:
        feed = self._feeds.get(run_id)
        if feed is None:
            feed = self._feeds[run_id] = _Feed()
            feed.pumping = asyncio.create_task(self._pump(run_id, feed, revision), name=f"agentsdk.web follows {run_id}")
        feed.readers.add(reader)
        return feed

    async def _leave(self, run_id: str, feed: _Feed, reader: Reader) -> None:
        feed.readers.discard(reader)
        if not feed.readers and feed.pumping is not None:
            self._forget(run_id, feed)
            feed.pumping.cancel()
            await asyncio.wait((feed.pumping,))

    def _forget(self, run_id: str, feed: _Feed) -> None:
        if self._feeds.get(run_id) is feed:
            del self._feeds[run_id]

    async def _pump(self, run_id: str, feed: _Feed, revision: int) -> None:
        """Give all readers what happens from `revision` on. Where the store fails they are cut off, and come again."""
        try:
            async with aclosing(Runner.watch(run_id, run_config=self._config, after=revision)) as watching:
                async for event in watching:
                    number = event.revision if isinstance(event, RecordedEvent) else 0
                    piece = piece_of(event, hold_text=self._config.buffer_output)
                    for reader in feed.readers if piece else ():
                        reader.offer(number, piece)
        except AgentsException as error:
            logger.warning("run %r can no longer be followed: %s", run_id, error)
        finally:
            self._forget(run_id, feed)
            for reader in feed.readers:
                reader.close()
