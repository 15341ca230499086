"""`EventStream`: server-sent events to one client, for as long as it reads them."""

from __future__ import annotations

import asyncio
import logging
from collections import Counter
from collections.abc import AsyncGenerator, Generator, Mapping
from contextlib import aclosing, contextmanager

from starlette.responses import Response
from starlette.types import Receive, Scope, Send

from agentsdk.types.errors import AgentsException
from agentsdk.web.limits import Client

logger = logging.getLogger("agentsdk")

_FIRST = b"retry: 1000\n\n"
"""A browser that was cut off comes again after a second."""


class Streams:
    """How many streams each client has open."""

    def __init__(self) -> None:
        self._open: Counter[Client] = Counter()

    def of(self, client: Client) -> int:
        """How many the client has."""
        return self._open[client]

    @contextmanager
    def one(self, client: Client) -> Generator[None, None, None]:
        """One more, while it is open."""
        self._open[client] += 1
        try:
            yield
        finally:
            self._open[client] -= 1
            if not self._open[client]:
                del self._open[client]


class EventStream(Response):
    """`pieces` for a client. One that takes none of them for `stall_seconds` is left, and so is one that has gone.

    `headers` are sent beside those that every stream has.
    """

    media_type = "text/event-stream"

    def __init__(
        self,
        pieces: AsyncGenerator[bytes, None],
        stall_seconds: float,
        streams: Streams,
        client: Client,
        headers: Mapping[str, str] | None = None,
    ) -> None:
        super().__init__(headers={"cache-control": "no-store", "x-accel-buffering": "no", **(headers or {})})
        del self.headers["content-length"]
        self._pieces = pieces
        self._stall_seconds = stall_seconds
        self._streams = streams
        self._client = client

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """The ASGI application that answers."""
        tasks = (asyncio.ensure_future(self._send(send)), asyncio.ensure_future(_gone(receive)))
        with self._streams.one(self._client):
            try:
                await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
            finally:
                for task in tasks:
                    task.cancel()
                await asyncio.wait(tasks)
        if tasks[0].cancelled():
            return
        try:
            tasks[0].result()
        except _StalledError:  # the answer is left without an end, so the server closes the connection
            logger.info("a client of events took none for %g seconds, and was left", self._stall_seconds)

    async def _send(self, send: Send) -> None:
        async with aclosing(self._pieces) as pieces:
            try:
                await send({"type": "http.response.start", "status": 200, "headers": self.raw_headers})
                await self._sent(send, _FIRST)
                async for piece in pieces:
                    await self._sent(send, piece)
            except AgentsException as error:
                logger.warning("a stream of events ended early: %s", error)
            await self._sent(send, b"", more=False)

    async def _sent(self, send: Send, piece: bytes, *, more: bool = True) -> None:
        try:
            async with asyncio.timeout(self._stall_seconds):
                await send({"type": "http.response.body", "body": piece, "more_body": more})
        except TimeoutError:
            raise _StalledError from None


class _StalledError(Exception):
    """The client does not read."""


async def _gone(receive: Receive) -> None:
    while (await receive())["type"] != "http.disconnect":
        pass
