"""HTTP for the model adapters: one shared client per event loop, deadlines, typed failures.

```
adapter -> Exchange (admission, deadlines, size cap, errors) -> Transport -> HttpxTransport -> httpx -> ConnectionPool
```
This module and `connections` alone know httpx. Redirects are never followed, so a key goes only to the origin it was configured
for.
"""

from __future__ import annotations

import asyncio
import errno
import zlib
from collections.abc import AsyncGenerator, AsyncIterator, Awaitable, Iterator, Mapping
from contextlib import suppress
from functools import cache
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol, cast
from weakref import WeakKeyDictionary

import msgspec
from msgspec import Struct

from agentsdk.models.admission import Admission
from agentsdk.models.loose import as_object
from agentsdk.models.network import RequestHeaders, refuse_real_request
from agentsdk.models.prefix import Body
from agentsdk.models.sse import ServerSentEvent, SSEDecoder
from agentsdk.models.undisturbed import undisturbed
from agentsdk.models.watchdog import DeadlinePassed, Watchdog
from agentsdk.types.declared import Fields, number, optional
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

MAX_CONNECTIONS = 1000
"""How many connections the shared client of an event loop opens at most, unless `set_max_connections` says otherwise."""
MAX_BODY_BYTES = 64 * 1024 * 1024
"""How large the body of an answer may be; of an error's body, far less is read."""
_MAX_ERROR_BYTES = 64 * 1024
# Long enough for the end of the body that follows the last event, and far too short to be noticed where it never comes.
_END_GRACE = 0.02
_KEPT_URLS = 64
_SLICE = 256 * 1024


class ModelTimeouts(Struct, frozen=True, kw_only=True):
    """Deadlines of one request attempt in seconds; None is no deadline.

    `pool`: to wait until a connection is free, where all are in use. `connect`: to open a connection. `read`: silence on the
    socket, of any kind. `idle`: a stream without an event that carries data (comments and pings do not count, nor does time in
    which the stream is not read). `total`: from sending to the end of the answer, without the wait for a connection.
    Raises `UserError` for what is no number above 0.
    """

    pool: float | None = 600.0
    connect: float | None = 10.0
    read: float | None = 600.0
    idle: float | None = 300.0
    total: float | None = 1800.0

    def __post_init__(self) -> None:
        _TIMEOUTS.check(self)


_DEADLINE = optional(number("finite seconds above 0", above=0))
_TIMEOUTS = Fields("ModelTimeouts", pool=_DEADLINE, connect=_DEADLINE, read=_DEADLINE, idle=_DEADLINE, total=_DEADLINE)


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

    `post` and `get`, each an `async def`, and the reply's `chunks` may raise anything: `failure` says what it means. Redirects
    must not be followed.
    """

    def post(self, url: str, headers: Mapping[str, str], body: bytes, timeouts: ModelTimeouts) -> Awaitable[Reply]:
        """Send the request; return when the headers of the answer are there. Keeps `timeouts.connect` and `.read`."""
        ...

    def get(self, url: str, headers: Mapping[str, str], timeouts: ModelTimeouts) -> Awaitable[Reply]:
        """The same for a GET request: the rest of a background reply."""
        ...

    def failure(self, error: Exception) -> ModelError | UserError:
        """The typed error for what `post` or `chunks` raised."""
        ...


class Exchange:
    """One request and its answer, under deadlines. Use `async with`: leaving closes the connection at once.

    Every method raises only `ModelError`s (`UserError` for a client that is closed or a locked network).
    """

    __slots__ = ("_chunks", "_ended", "_may_end", "_place", "_reply", "_size", "_transport", "_watchdog", "headers", "status")

    def __init__(self, transport: Transport, reply: Reply, watchdog: Watchdog, place: Admission | None) -> None:
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
        """Wait for a connection, send the request, and return when the headers of the answer are there.

        `body` None makes it a GET request. `stream` puts the idle deadline on.
        """
        refuse_real_request(url)
        admission = await transport.admission(url) if isinstance(transport, HttpxTransport) else None
        if admission is not None:
            try:
                await admission.enter(timeouts.pool)
            except TimeoutError:
                raise _timeout("pool") from None
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
                raise _timeout(error.which) from None
            if isinstance(error, Exception) and not isinstance(error, ModelError | UserError):
                raise transport.failure(error) from error
            raise
        return cls(transport, reply, watchdog, admission)

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

    def end_within(self, seconds: float, *, anew: bool = False) -> None:
        """Nothing more is needed: in `seconds` the body counts as ended even if the socket stays open, at once if it breaks.

        With `anew` the seconds count from now although they were counted before.
        """
        self._may_end = True
        self._watchdog.end_within(seconds, anew=anew)

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
        try:
            await self._reply.aclose()
        finally:
            place, self._place = self._place, None
            if place is not None:
                place.leave()


def _timeout(which: str) -> ModelTimeoutError:
    if which == "idle":
        return ModelTimeoutError(
            "the stream sent no data within the idle deadline; raise ModelTimeouts(idle=...) if the model needs longer",
            retryable=True,
        )
    if which == "pool":
        return ModelTimeoutError(
            "all connections were in use for the whole pool deadline; raise ModelTimeouts(pool=...), or the number of "
            "connections: set_max_connections(...), or httpx.Limits(max_connections=...) of an http_client of your own"
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
                if not all(map(_is_ping, events)):
                    self._exchange.progress()
                return events
        return []


_PINGS = ("ping", "keepalive", "heartbeat")


def _is_ping(event: ServerSentEvent) -> bool:
    """Whether the event says no more than that the connection stands."""
    if event.event != "message":
        return event.event in _PINGS
    data = event.data
    return len(data) < 100 and data.startswith("{") and _type_of(data) in _PINGS


def _type_of(data: str) -> object:
    try:
        return as_object(msgspec.json.decode(data)).get("type")
    except (msgspec.DecodeError, UnicodeError):
        return None


class HttpxTransport:
    """httpx behind the `Transport` protocol. `client` None is the shared client of the running event loop."""

    def __init__(self, client: httpx.AsyncClient | None = None) -> None:
        self._client = client
        self._urls: dict[str, httpx.URL] = {}

    async def admission(self, url: str) -> Admission | None:
        """What a request to `url` has to pass before it is sent; None where requests are not counted."""
        if self._client is None:
            return (await _shared()).admission
        from agentsdk.models.connections import admission_to

        return admission_to(self._client, self._parsed(url))

    def post(self, url: str, headers: Mapping[str, str], body: Body, timeouts: ModelTimeouts) -> Awaitable[Reply]:
        return self._send("POST", self._parsed(url), headers, body, timeouts)

    def get(self, url: str, headers: Mapping[str, str], timeouts: ModelTimeouts) -> Awaitable[Reply]:
        return self._send("GET", self._parsed(url), headers, None, timeouts)

    def _parsed(self, url: str) -> httpx.URL:
        parsed = self._urls.get(url)
        if parsed is None:
            import httpx

            if len(self._urls) >= _KEPT_URLS:
                self._urls.clear()
            parsed = self._urls[url] = httpx.URL(url)
        return parsed

    async def _send(
        self, method: str, url: httpx.URL, headers: Mapping[str, str], body: Body | None, timeouts: ModelTimeouts
    ) -> Reply:
        import httpx

        timeout = httpx.Timeout(timeouts.read, connect=timeouts.connect, pool=timeouts.pool)
        headers = {**headers, "accept-encoding": "gzip, deflate"}
        extensions: dict[str, object] = {"timeout": timeout.as_dict()}
        opened = None
        if url.scheme == "https":
            opened = extensions["trace"] = _Opened()
        if self._client is None:  # ours has no defaults to merge in, which would cost more than the rest of the request
            client = (await _shared()).client
            if body is not None and len(body) > _SLICE:
                headers["content-length"] = str(len(body))  # httpx cannot see it
                content: bytes | _Slices | None = _Slices(body)
            else:
                content = None if body is None else bytes(body)
            request = httpx.Request(method, url, content=content, headers=headers, extensions=extensions)
        else:
            client = self._client
            content = None if body is None else bytes(body)  # what a user's own hooks and transports may look at
            request = client.build_request(method, url, content=content, headers=headers, extensions=extensions)
            if content is not None and len(content) > _SLICE:
                request.stream = httpx.Request(method, url, content=_Slices(content)).stream
        del headers  # they hold the key, and an error's traceback this frame
        try:
            response = await client.send(request, stream=True, follow_redirects=False)
        except asyncio.CancelledError:
            if opened is not None or self._client is not None:
                await undisturbed(self._clean_up(url, opened))
            raise
        return HttpxReply(response, self._client)

    async def _clean_up(self, url: httpx.URL, opened: _Opened | None) -> None:
        """Close what a request left open that was cancelled before its answer."""
        if opened is not None:
            await opened.aclose()
        if self._client is not None:
            from agentsdk.models.connections import reclaim

            await reclaim(self._client, url)

    def failure(self, error: Exception) -> ModelError | UserError:
        import httpx

        kind = type(error).__name__
        if isinstance(error, httpx.TransportError):
            for cause in _chain(error):
                cause.__traceback__ = None  # its frames hold the request's headers as they were sent
        if isinstance(error, httpx.ConnectTimeout):
            return ModelTimeoutError(
                "no connection within the connect deadline; check base_url, or raise ModelTimeouts(connect=...)", retryable=True
            )
        if isinstance(error, httpx.PoolTimeout):
            return _timeout("pool")
        if isinstance(error, httpx.TimeoutException):
            return ModelTimeoutError(
                "the provider was silent for longer than the read deadline; raise ModelTimeouts(read=...)", retryable=True
            )
        if isinstance(error, httpx.ConnectError) and any(_is_full(cause) for cause in _chain(error)):
            return ModelConnectionError(
                "this process may open no more sockets; raise its limit of open files (ulimit -n), or lower the number of "
                "connections: set_max_connections(...)",
                retryable=True,
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


@cache
def _nothing() -> httpx.ByteStream:
    import httpx

    return httpx.ByteStream(b"")


class _Slices:
    """A long body a slice at a time: of one that is handed over whole, asyncio copies what the socket does not take at once."""

    __slots__ = ("_body",)

    def __init__(self, body: Body) -> None:
        self._body = body

    async def __aiter__(self) -> AsyncIterator[bytes]:
        for part in (self._body,) if isinstance(self._body, bytes) else self._body.parts:
            for start in range(0, len(part), _SLICE):
                yield part[start : start + _SLICE]


class _Opened:
    """The socket that a request over TLS opens: httpcore forgets it where the handshake is cancelled."""

    _socket: Any = None

    async def __call__(self, event: str, details: dict[str, Any]) -> None:
        if event == "connection.connect_tcp.complete":
            self._socket = details["return_value"]

    async def aclose(self) -> None:
        if self._socket is not None:
            with suppress(Exception):
                await self._socket.aclose()


def _chain(error: BaseException) -> Iterator[BaseException]:
    """`error` and what it comes from."""
    known: set[int] = set()
    found: BaseException | None = error
    while found is not None and id(found) not in known:
        yield found
        known.add(id(found))
        found = found.__cause__ or found.__context__


def _is_full(error: BaseException) -> bool:
    return isinstance(error, OSError) and error.errno in (errno.EMFILE, errno.ENFILE)


def as_transport(client: httpx.AsyncClient | Transport | None) -> Transport:
    """The transport for what a model was given as `http_client`."""
    given: object = client
    if client is None or hasattr(client, "build_request"):
        return HttpxTransport(cast("httpx.AsyncClient | None", given))
    return cast(Transport, given)


class HttpxReply:
    """An httpx response behind the `Reply` protocol, and the iterator over its body. `client` is one that a user gave."""

    __slots__ = ("_chunks", "_client", "_ended", "_response", "headers", "status")

    def __init__(self, response: httpx.Response, client: httpx.AsyncClient | None) -> None:
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
        # The body, its response and its request hold each other: they, and all that was sent, would wait for the collector.
        self._response.stream = self._response.request.stream = _nothing()

    async def _close(self) -> None:
        with suppress(Exception):
            await self._response.aclose()
        if self._client is not None:
            from agentsdk.models.connections import reclaim

            await reclaim(self._client, self._response.request.url, self._response)
        if "network_stream" in self._response.extensions:
            # httpx reads through several nested generators. Dropped halfway, each would be finished later by a task of the
            # event loop; reading on from the closed connection fails at once and ends them all here.
            with suppress(Exception):
                async for _ in self._chunks:
                    pass


class _Inflated:
    """gzip or zlib data, inflated. (httpx could do it, but would leave a generator behind where the data is broken.)

    The body ends where the data does; what a server sends after it is not read.
    """

    def __init__(self, chunks: AsyncIterator[bytes]) -> None:
        self._chunks = chunks
        self._inflate = zlib.decompressobj(wbits=47)
        self._size = 0

    def __aiter__(self) -> AsyncIterator[bytes]:
        return self

    async def __anext__(self) -> bytes:
        if self._inflate.eof:
            if not self._inflate.unused_data:  # only HTTP's own end can follow: with it the connection can be used again
                with suppress(TimeoutError):
                    async with asyncio.timeout(_END_GRACE):
                        await self._chunks.__anext__()
            raise StopAsyncIteration
        try:
            chunk = await self._chunks.__anext__()
        except StopAsyncIteration:
            raise zlib.error("cut short") from None
        self._size += len(chunk)
        if self._size > MAX_BODY_BYTES:  # data may go on for ever without inflating to anything
            raise zlib.error("too long")
        return self._inflate.decompress(chunk)


class _Shared(NamedTuple):
    """What the models of an event loop share."""

    client: httpx.AsyncClient
    admission: Admission
    keeper: AsyncGenerator[None, None]


_shared_by_loop: WeakKeyDictionary[asyncio.AbstractEventLoop, _Shared] = WeakKeyDictionary()
_ssl: list[ssl.SSLContext] = []
_max_connections: list[int] = []


def set_max_connections(count: int) -> None:
    """How many connections the models of an event loop open at most, over all providers; further requests wait for one.

    Unless this is called it is 1,000, or half of the files that the process may open (`ulimit -n`) where that is less. It
    counts for event loops in which no request has been made yet, and for others after `aclose()`. A model with an `http_client`
    of its own is not concerned. Raises `UserError` for a count below 1.
    """
    given: object = count
    if not isinstance(given, int) or isinstance(given, bool) or given < 1:
        raise UserError(f"set_max_connections({given!r}), expected a whole number from 1; give how many may be open at once")
    _max_connections[:] = [count]


def _default_connections() -> int:
    try:
        from resource import RLIMIT_NOFILE, getrlimit
    except ImportError:  # Windows
        return MAX_CONNECTIONS
    files = getrlimit(RLIMIT_NOFILE)[0]
    return MAX_CONNECTIONS if files < 0 else max(1, min(MAX_CONNECTIONS, files // 2))


async def shared_client() -> httpx.AsyncClient:
    """The bounded client that all models of the running event loop share."""
    return (await _shared()).client


async def _shared() -> _Shared:
    loop = asyncio.get_running_loop()
    shared = _shared_by_loop.get(loop)
    if shared is None or shared.client.is_closed:
        for other in list(_shared_by_loop):  # a connection holds its loop, so an abandoned entry would never go by itself
            if other.is_closed():
                del _shared_by_loop[other]
        places = _max_connections[0] if _max_connections else _default_connections()
        client = _new_client(places)
        keeper = _close_with_loop(client)
        await keeper.__anext__()
        shared = _shared_by_loop[loop] = _Shared(client, Admission(places), keeper)
    return shared


async def _close_with_loop(client: httpx.AsyncClient) -> AsyncGenerator[None, None]:
    """`asyncio.run` finishes the generators that are still suspended when its main function ends: this one closes `client`."""
    try:
        yield
    finally:
        await client.aclose()


def _new_client(max_connections: int) -> httpx.AsyncClient:
    import httpx

    from agentsdk.models.connections import ConnectionPool, NoCookies

    if not _ssl:  # loading the certificates costs more than all else here
        _ssl.append(httpx.create_ssl_context())
    pool = ConnectionPool(max_connections, _ssl[0])
    return httpx.AsyncClient(transport=pool, verify=_ssl[0], follow_redirects=False, cookies=NoCookies())


async def aclose() -> None:
    """Close the shared client of the running event loop. A model used afterwards opens a new one.

    `asyncio.run` and `asyncio.Runner` do it by themselves; call it where the loop lives on, or is closed by hand.
    """
    shared = _shared_by_loop.pop(asyncio.get_running_loop(), None)
    if shared is not None:
        await shared.keeper.aclose()
