"""One request and its response: deadlines, size limit and typed errors around whatever `Transport` sends it.

```
adapter -> Exchange (admission, deadlines, size limit, errors) -> Transport -> HttpxTransport -> httpx -> ConnectionPool
```
An exchange is a context: leaving it closes the connection, whatever happened, unless the body was read to its end; then the
connection is used again. So a reply that is complete is still read to its end for a moment (`finish`), and no longer.
`EventStream` reads the body as server-sent events. Redirects are never followed, so a key goes only to the origin it was
configured for.
"""

from __future__ import annotations

from contextlib import suppress
from typing import Protocol

import msgspec

from agentsdk.models.admission import Admission
from agentsdk.models.httpx_transport import HttpxTransport
from agentsdk.models.loose import as_object
from agentsdk.models.network import RequestHeaders, refuse_real_request
from agentsdk.models.prefix import Body
from agentsdk.models.sse import ServerSentEvent, SSEDecoder
from agentsdk.models.transport import END_GRACE, MAX_BODY_BYTES, ModelTimeouts, Reply, Transport, deadline_error
from agentsdk.models.watchdog import DeadlinePassed, Watchdog
from agentsdk.types.errors import MalformedResponseError, ModelError, UserError

_MAX_ERROR_BYTES = 64 * 1024


class Exchange:
    """One request and its response, under deadlines. Use `async with`: leaving closes the connection at once.

    Every method raises only `ModelError`s (`UserError` for a client that is closed or a locked network).
    """

    __slots__ = (
        *("_chunks", "_ended", "_may_end", "_place", "_reply", "_size", "_transport", "_watchdog"),
        *("headers", "sent", "status"),
    )

    def __init__(
        self, transport: Transport, reply: Reply, watchdog: Watchdog, place: Admission | None, sent: RequestHeaders
    ) -> None:
        self.sent = sent
        self._place = place
        self._transport = transport
        self._reply = reply
        self._watchdog = watchdog
        self._chunks = reply.chunks()
        self._size = 0
        self._ended = False
        self._may_end = False  # all that is needed has come: a deadline or a broken connection is as good as the end
        self.status = reply.status
        self.headers = reply.headers

    @classmethod
    async def start(
        cls,
        transport: Transport,
        url: str,
        headers: RequestHeaders,
        body: Body | None,
        timeouts: ModelTimeouts,
        *,
        stream: bool,
    ) -> Exchange:
        """Wait for a connection, send the request, and return when the headers of the response are there.

        `body` None makes it a GET request. `stream` puts the idle deadline on.
        """
        refuse_real_request(url)
        admission = await transport.admission(url) if isinstance(transport, HttpxTransport) else None
        if admission is not None:
            try:
                await admission.enter(timeouts.pool)
            except TimeoutError:
                raise deadline_error("pool") from None
        watchdog = Watchdog(idle=timeouts.idle if stream else None, total=timeouts.total)
        try:
            if body is None:
                reply = await watchdog.wait(transport.get(url, headers.plain(), timeouts))
            else:
                posted = (
                    transport.post(url, headers.plain(), body, timeouts)
                    if isinstance(transport, HttpxTransport)
                    else transport.post(url, headers.plain(), bytes(body), timeouts)
                )
                reply = await watchdog.wait(posted)
        except BaseException as error:
            watchdog.close()
            if admission is not None:
                admission.leave()
            if isinstance(error, DeadlinePassed):
                raise deadline_error(error.which) from None
            if isinstance(error, Exception) and not isinstance(error, ModelError | UserError):
                raise transport.failure(error) from error
            raise
        return cls(transport, reply, watchdog, admission, headers)

    async def __aenter__(self) -> Exchange:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.aclose()

    async def read(self) -> bytes:
        """The next bytes of the body, `b""` at its end."""
        while not self._ended:
            try:
                chunk = await self._watchdog.wait(self._chunks.__anext__())
            except StopAsyncIteration:
                self._ended = True
                break
            except DeadlinePassed as passed:
                if self._may_end:
                    break
                raise deadline_error(passed.which) from None
            except Exception as error:
                if self._may_end:
                    break
                raise self._transport.failure(error) from error
            self._size += len(chunk)
            if self._size > MAX_BODY_BYTES:
                raise MalformedResponseError(f"the response exceeds {MAX_BODY_BYTES} bytes; expected a model's reply")
            if chunk:
                return chunk
        return b""

    async def read_all(self) -> bytes:
        """The complete body; of an error's body, as much as explains it."""
        parts: list[bytes] = []
        while chunk := await self.read():
            parts.append(chunk)
            if self.status >= 400 and self._size > _MAX_ERROR_BYTES:
                break
        return b"".join(parts)

    def progress(self) -> None:
        """Data came: the idle deadline starts again."""
        self._watchdog.progress()

    def end_within(self, seconds: float, *, restart: bool = False) -> None:
        """Nothing more is needed: in `seconds` the body counts as ended even if the socket stays open, at once if it breaks.

        With `restart` the seconds count from now although they were counted before.
        """
        self._may_end = True
        self._watchdog.end_within(seconds, restart=restart)

    async def finish(self) -> None:
        """Let the body end, so that the connection can be used again; close it if it does not end at once."""
        if not self._ended:
            self.end_within(END_GRACE)
            with suppress(ModelError):
                while await self.read():
                    pass
        await self.aclose()

    async def aclose(self) -> None:
        """Close the connection, unless the body was read to its end."""
        self._watchdog.close()
        try:
            await self._reply.aclose()
        finally:
            place, self._place = self._place, None
            if place is not None:
                place.leave()


class Decoder(Protocol):
    """Turns the bytes of a stream, divided anywhere, into its events. Both raise `ModelError`s for what is none."""

    def feed(self, chunk: bytes) -> list[ServerSentEvent]:
        """The events that `chunk` completes."""
        ...

    def close(self) -> list[ServerSentEvent]:
        """What the end of the stream completes."""
        ...


class EventStream:
    """The events of an exchange, as many at a time as came."""

    __slots__ = ("_decoder", "_exchange", "done")

    def __init__(self, exchange: Exchange, decoder: Decoder | None = None) -> None:
        self._decoder = SSEDecoder() if decoder is None else decoder
        self._exchange = exchange
        self.done = False
        """Whether nothing more is to be read. Set it when the protocol's own end mark has come."""

    async def read(self) -> list[ServerSentEvent]:
        """The next events, `[]` at the end. With `done` set they are what a body without a final blank line left over."""
        while not self.done:
            data = await self._exchange.read()
            if data:
                events = self._decoder.feed(data)
            else:
                self.done = True
                events = self._decoder.close()
            if events:
                if not all(map(_is_ping, events)):
                    self._exchange.progress()
                return events
        return []


_PINGS = ("ping", "keepalive", "heartbeat")


def _is_ping(event: ServerSentEvent) -> bool:
    """Whether the event says no more than that the connection is alive."""
    if event.event != "message":
        return event.event in _PINGS
    data = event.data
    return len(data) < 100 and data.startswith("{") and _type_of(data) in _PINGS


def _type_of(data: str) -> object:
    try:
        return as_object(msgspec.json.decode(data)).get("type")
    except (msgspec.DecodeError, UnicodeError):
        return None
