"""HTTP for the model adapters: one shared client per event loop, deadlines, typed failures. The only module that knows httpx.

```
adapter -> Exchange (deadlines, size cap, errors) -> Transport -> HttpxTransport -> httpx
```
Redirects are never followed, so a key goes only to the origin it was configured for.
"""

from __future__ import annotations

import asyncio
import zlib
from collections.abc import AsyncGenerator, AsyncIterator, Coroutine, Mapping
from contextlib import suppress
from typing import TYPE_CHECKING, Any, Protocol, cast
from weakref import WeakKeyDictionary

from msgspec import Struct

from agentsdk.models.network import refuse_real_request
from agentsdk.models.sse import ServerSentEvent, SSEDecoder
from agentsdk.models.watchdog import DeadlinePassed, Watchdog
from agentsdk.types.errors import (
    MalformedResponseError,
    ModelConnectionError,
    ModelError,
    ModelTimeoutError,
    UserError,
)

if TYPE_CHECKING:
    import ssl

    import httpx

MAX_CONNECTIONS = 100
"""How many connections the shared client of an event loop opens at most; further requests wait for one."""
MAX_BODY_BYTES = 64 * 1024 * 1024
"""How large the body of an answer may be; of an error's body, far less is read."""
_MAX_ERROR_BYTES = 64 * 1024
# Long enough for the end of the body that follows the last event, and far too short to be noticed where it never comes.
_END_GRACE = 0.02


class ModelTimeouts(Struct, frozen=True, kw_only=True):
    """Deadlines of one request attempt in seconds; None is no deadline.

    `connect`: to open a connection. `read`: silence on the socket, of any kind. `idle`: a stream without an event that carries
    data (comments do not count, nor does time in which the stream is not read). `total`: from sending to the end of the answer.
    """

    connect: float | None = 10.0
    read: float | None = 600.0
    idle: float | None = 300.0
    total: float | None = 1800.0


class Reply(Protocol):
    """An answer whose body is still to be read. `headers` finds names in lower case."""

    @property
    def status(self) -> int:
        """The HTTP status."""
        ...

    @property
    def headers(self) -> Mapping[str, str]:
        """The headers."""
        ...

    def chunks(self) -> AsyncIterator[bytes]:
        """The body's bytes as they come, content encodings undone. Called once."""
        ...

    async def aclose(self) -> None:
        """Close the connection, unless the body was read to its end. Raises only a cancellation, and that when it is done."""
        ...


class Transport(Protocol):
    """Sends requests. Give one as `http_client=` to use another HTTP library than httpx.

    `post` and the reply's `chunks` may raise anything: `failure` says what it means. Redirects must not be followed.
    """

    async def post(self, url: str, headers: Mapping[str, str], body: bytes, timeouts: ModelTimeouts) -> Reply:
        """Send the request; return when the headers of the answer are there. Keeps `timeouts.connect` and `.read`."""
        ...

    async def get(self, url: str, headers: Mapping[str, str], timeouts: ModelTimeouts) -> Reply:
        """The same for a GET request: the rest of a background reply."""
        ...

    def failure(self, error: Exception) -> ModelError | UserError:
        """The typed error for what `post` or `chunks` raised."""
        ...


class Exchange:
    """One request and its answer, under deadlines. Use `async with`: leaving closes the connection at once.

    Every method raises only `ModelError`s (`UserError` for a client that is closed or a locked network).
    """

    __slots__ = ("_chunks", "_ended", "_may_end", "_reply", "_size", "_transport", "_watchdog", "headers", "status")

    def __init__(self, transport: Transport, reply: Reply, watchdog: Watchdog) -> None:
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
        headers: Mapping[str, str],
        body: bytes | None,
        timeouts: ModelTimeouts,
        *,
        stream: bool,
    ) -> Exchange:
        """Send the request; return when the headers of the answer are there.

        `body` None makes it a GET request. `stream` puts the idle deadline on.
        """
        refuse_real_request(url)
        watchdog = Watchdog(idle=timeouts.idle if stream else None, total=timeouts.total)
        try:
            if body is None:
                reply = await watchdog.wait(transport.get(url, headers, timeouts))
            else:
                reply = await watchdog.wait(transport.post(url, headers, body, timeouts))
        except BaseException as error:
            watchdog.close()
            if isinstance(error, DeadlinePassed):
                raise _timeout(error.which) from None
            if isinstance(error, Exception) and not isinstance(error, ModelError | UserError):
                raise transport.failure(error) from error
            raise
        return cls(transport, reply, watchdog)

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
                raise _timeout(passed.which) from None
            except Exception as error:
                if self._may_end:
                    break
                raise self._transport.failure(error) from error
            self._size += len(chunk)
            if self._size > MAX_BODY_BYTES:
                raise MalformedResponseError(f"the answer exceeds {MAX_BODY_BYTES} bytes; expected a model's reply")
            if chunk:
                return chunk
        return b""

    async def read_all(self) -> bytes:
        """The whole body; of an error's body, as much as says what is wrong."""
        parts: list[bytes] = []
        while chunk := await self.read():
            parts.append(chunk)
            if self.status >= 400 and self._size > _MAX_ERROR_BYTES:
                break
        return b"".join(parts)

    def progress(self) -> None:
        """Data came: the idle deadline starts again."""
        self._watchdog.progress()

    def end_within(self, seconds: float) -> None:
        """Nothing more is needed: in `seconds` the body counts as ended even if the socket stays open, at once if it breaks."""
        self._may_end = True
        self._watchdog.end_within(seconds)

    async def finish(self) -> None:
        """Let the body end, so that the connection can be used again; close it if it does not end at once."""
        if not self._ended:
            self.end_within(_END_GRACE)
            with suppress(ModelError):
                while await self.read():
                    pass
        await self.aclose()

    async def aclose(self) -> None:
        """Close the connection, unless the body was read to its end."""
        self._watchdog.close()
        await self._reply.aclose()


def _timeout(which: str) -> ModelTimeoutError:
    if which == "idle":
        return ModelTimeoutError(
            "the stream sent no data within the idle deadline; raise ModelTimeouts(idle=...) if the model needs longer",
            retryable=True,
        )
    return ModelTimeoutError("the answer was not complete within the total deadline; raise ModelTimeouts(total=...)")


class EventStream:
    """The server-sent events of an exchange, as many at a time as came."""

    __slots__ = ("_decoder", "_exchange", "done")

    def __init__(self, exchange: Exchange) -> None:
        self._decoder = SSEDecoder()
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
                self._exchange.progress()
                return events
        return []


class HttpxTransport:
    """httpx behind the `Transport` protocol. `client` None is the shared client of the running event loop."""

    def __init__(self, client: httpx.AsyncClient | None = None) -> None:
        self._client = client
        self._urls: dict[str, httpx.URL] = {}

    async def post(self, url: str, headers: Mapping[str, str], body: bytes, timeouts: ModelTimeouts) -> Reply:
        import httpx

        parsed = self._urls.get(url)
        if parsed is None:
            parsed = self._urls[url] = httpx.URL(url)
        return await self._send("POST", parsed, headers, body, timeouts)

    async def get(self, url: str, headers: Mapping[str, str], timeouts: ModelTimeouts) -> Reply:
        import httpx

        return await self._send("GET", httpx.URL(url), headers, None, timeouts)

    async def _send(
        self, method: str, url: httpx.URL, headers: Mapping[str, str], body: bytes | None, timeouts: ModelTimeouts
    ) -> Reply:
        import httpx

        timeout = httpx.Timeout(timeouts.read, connect=timeouts.connect, pool=None)
        headers = {**headers, "accept-encoding": "gzip, deflate"}
        if self._client is None:  # ours has no defaults to merge in, which would cost more than the rest of the request
            client = await shared_client()
            request = httpx.Request(method, url, content=body, headers=headers, extensions={"timeout": timeout.as_dict()})
        else:
            client = self._client
            request = client.build_request(method, url, content=body, headers=headers, timeout=timeout)
        try:
            response = await client.send(request, stream=True, follow_redirects=False)
        except asyncio.CancelledError:
            await undisturbed(_reclaim(client))
            raise
        return HttpxReply(client, response)

    def failure(self, error: Exception) -> ModelError | UserError:
        import httpx

        kind = type(error).__name__
        if isinstance(error, httpx.ConnectTimeout):
            return ModelTimeoutError(
                "no connection within the connect deadline; check base_url, or raise ModelTimeouts(connect=...)", retryable=True
            )
        if isinstance(error, httpx.TimeoutException):
            return ModelTimeoutError(
                "the provider was silent for longer than the read deadline; raise ModelTimeouts(read=...)", retryable=True
            )
        if isinstance(error, httpx.ConnectError):
            return ModelConnectionError("cannot connect to the provider; check base_url and the network", retryable=True)
        if isinstance(error, zlib.error):
            return MalformedResponseError("the answer's content encoding is broken; expected whole gzip or deflate data")
        if isinstance(error, httpx.UnsupportedProtocol | httpx.LocalProtocolError):
            return ModelConnectionError(f"the request cannot be sent ({kind}); check base_url and headers")
        if isinstance(error, httpx.TransportError | OSError):
            return ModelConnectionError(f"the connection to the provider broke ({kind})", retryable=True)
        if self._client is not None and self._client.is_closed:
            return UserError("the http_client given to the model is closed; keep it open as long as the model is used")
        return ModelConnectionError(f"the HTTP client failed with {kind}")


async def _reclaim(client: httpx.AsyncClient, response: httpx.Response | None = None) -> None:
    """Close what a request that was broken off left in the client's pool: the connection of `response`, and those nobody owns.

    httpcore keeps a new connection whose request is cancelled before its first use, and a used one whose closing is cancelled
    (encode/httpcore#1093, open at 1.0.9). Each would hold a socket or a slot for ever, and only the pool's own lists show it.
    """
    stream = None if response is None else response.extensions.get("network_stream")
    transports: list[object] = [getattr(client, "_transport", None), *getattr(client, "_mounts", {}).values()]
    for transport in transports:
        pool = getattr(transport, "_pool", None)
        connections: list[Any] = getattr(pool, "_connections", [])
        requests: list[Any] = getattr(pool, "_requests", [])
        requests[:] = [one for one in requests if stream is None or _network_stream(one.connection) is not stream]
        owned = {id(request.connection) for request in requests}
        for orphan in [one for one in connections if id(one) not in owned and not one.is_idle() and not one.is_closed()]:
            connections.remove(orphan)
            with suppress(Exception):
                await orphan.aclose()


def _network_stream(connection: object) -> object:
    return getattr(getattr(connection, "_connection", None), "_network_stream", None)


async def undisturbed(closing: Coroutine[object, object, None]) -> None:
    """Let `closing` finish although the task is cancelled meanwhile; that cancellation goes on afterwards."""
    task = asyncio.ensure_future(closing)
    cancelled: asyncio.CancelledError | None = None
    while not task.done():
        try:
            await asyncio.wait({task})
        except asyncio.CancelledError as error:
            cancelled = error
    task.result()
    if cancelled is not None:
        raise cancelled


def as_transport(client: httpx.AsyncClient | Transport | None) -> Transport:
    """The transport for what a model was given as `http_client`."""
    given: object = client
    if client is None or hasattr(client, "build_request"):
        return HttpxTransport(cast("httpx.AsyncClient | None", given))
    return cast(Transport, given)


class HttpxReply:
    """An httpx response behind the `Reply` protocol, and the iterator over its body."""

    __slots__ = ("_chunks", "_client", "_ended", "_response", "headers", "status")

    def __init__(self, client: httpx.AsyncClient, response: httpx.Response) -> None:
        self._client = client
        self._response = response
        self._chunks = response.aiter_raw()
        self._ended = False
        self.status = response.status_code
        self.headers: Mapping[str, str] = response.headers

    def chunks(self) -> AsyncIterator[bytes]:
        encoding = self.headers.get("content-encoding", "identity")
        return self if encoding == "identity" else _Inflated(self)

    def __aiter__(self) -> AsyncIterator[bytes]:
        return self

    async def __anext__(self) -> bytes:
        try:
            return await self._chunks.__anext__()
        except StopAsyncIteration:
            self._ended = True
            raise

    async def aclose(self) -> None:
        if not self._ended:
            await undisturbed(self._close())

    async def _close(self) -> None:
        with suppress(Exception):
            await self._response.aclose()
        await _reclaim(self._client, self._response)
        if "network_stream" in self._response.extensions:
            # httpx reads through several nested generators. Dropped halfway, each would be finished later by a task of the
            # event loop; reading on from the closed connection fails at once and ends them all here.
            with suppress(Exception):
                async for _ in self._chunks:
                    pass


class _Inflated:
    """gzip or zlib data, inflated. (httpx could do it, but would leave a generator behind where the data is broken.)"""

    def __init__(self, chunks: AsyncIterator[bytes]) -> None:
        self._chunks = chunks
        self._inflate = zlib.decompressobj(wbits=47)

    def __aiter__(self) -> AsyncIterator[bytes]:
        return self

    async def __anext__(self) -> bytes:
        try:
            return self._inflate.decompress(await self._chunks.__anext__())
        except StopAsyncIteration:
            if not self._inflate.eof:
                raise zlib.error("cut short") from None
            raise


_clients: WeakKeyDictionary[asyncio.AbstractEventLoop, tuple[httpx.AsyncClient, AsyncGenerator[None, None]]] = (
    WeakKeyDictionary()
)
_ssl: list[ssl.SSLContext] = []


async def shared_client() -> httpx.AsyncClient:
    """The bounded client that all models of the running event loop share."""
    loop = asyncio.get_running_loop()
    entry = _clients.get(loop)
    if entry is None or entry[0].is_closed:
        for other in list(_clients):  # a connection holds its loop, so an abandoned entry would never go by itself
            if other.is_closed():
                del _clients[other]
        client = _new_client()
        keeper = _close_with_loop(client)
        await keeper.__anext__()
        entry = _clients[loop] = (client, keeper)
    return entry[0]


async def _close_with_loop(client: httpx.AsyncClient) -> AsyncGenerator[None, None]:
    """`asyncio.run` finishes the generators that are still suspended when its main function ends: this one closes `client`."""
    try:
        yield
    finally:
        await client.aclose()


def _new_client() -> httpx.AsyncClient:
    from urllib.request import getproxies

    import httpx

    if not _ssl:  # loading the certificates costs more than all else here
        _ssl.append(httpx.create_ssl_context())
    # A proxy from the environment is for the network: what runs on this machine is reached directly.
    local = ("all://localhost", "all://127.0.0.1", "all://[::1]") if getproxies() else ()
    return httpx.AsyncClient(
        verify=_ssl[0],
        follow_redirects=False,
        limits=httpx.Limits(max_connections=MAX_CONNECTIONS, max_keepalive_connections=MAX_CONNECTIONS, keepalive_expiry=30.0),
        mounts=dict.fromkeys(local),
    )


async def aclose() -> None:
    """Close the shared client of the running event loop. A model used afterwards opens a new one.

    `asyncio.run` and `asyncio.Runner` do it by themselves; call it where the loop lives on, or is closed by hand.
    """
    entry = _clients.pop(asyncio.get_running_loop(), None)
    if entry is not None:
        await entry[1].aclose()
