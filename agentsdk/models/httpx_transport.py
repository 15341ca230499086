"""httpx behind the `Transport` protocol.

Only this module, `shared_client` and `connections` know httpx. More than a plain call of httpx is done for three reasons: a
long body is not copied, a cancelled request leaves no socket open, and no error keeps the headers that were sent, key included.
"""

from __future__ import annotations

import asyncio
import errno
import zlib
from collections.abc import AsyncIterator, Awaitable, Iterator, Mapping
from contextlib import suppress
from functools import cache
from typing import TYPE_CHECKING, Any, cast

from agentsdk.models.admission import Admission
from agentsdk.models.network import is_loopback
from agentsdk.models.prefix import Body
from agentsdk.models.shared_client import shared_connections
from agentsdk.models.shield import shielded
from agentsdk.models.transport import END_GRACE, MAX_BODY_BYTES, ModelTimeouts, Reply, Transport, deadline_error
from agentsdk.types.errors import MalformedResponseError, ModelConnectionError, ModelError, ModelTimeoutError, UserError

if TYPE_CHECKING:
    import httpx

_KEPT_URLS = 64
_SLICE = 256 * 1024


def as_transport(client: httpx.AsyncClient | Transport | None) -> Transport:
    """The transport for what a model was given as `http_client`."""
    given: object = client
    if client is None or hasattr(client, "build_request"):
        return HttpxTransport(cast("httpx.AsyncClient | None", given))
    return cast(Transport, given)


class HttpxTransport:
    """httpx behind the `Transport` protocol. `client` None is the shared client of the running event loop."""

    def __init__(self, client: httpx.AsyncClient | None = None) -> None:
        self._client = client
        self._urls: dict[str, httpx.URL] = {}

    async def admission(self, url: str) -> Admission | None:
        """What a request to `url` has to pass before it is sent; None where requests are not counted."""
        if self._client is None:
            return (await shared_connections()).admission
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
        if self._client is None:  # ours has no defaults to merge in, which would cost more than all else of the request
            client = (await shared_connections()).client
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
                await shielded(self._clean_up(url, opened))
            raise
        return HttpxReply(response, self._client)

    async def _clean_up(self, url: httpx.URL, opened: _Opened | None) -> None:
        """Close what a request left open that was cancelled before its response came."""
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
            return deadline_error("pool")
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
            return ModelConnectionError(_refused(error), retryable=True)
        if isinstance(error, zlib.error):
            return MalformedResponseError("the response's content encoding is broken; expected whole gzip or deflate data")
        if isinstance(error, httpx.UnsupportedProtocol | httpx.LocalProtocolError):
            return ModelConnectionError(f"the request cannot be sent ({kind}); check base_url and headers")
        if isinstance(error, httpx.TransportError | OSError):
            return ModelConnectionError(f"the connection to the provider broke ({kind})", retryable=True)
        if self._client is not None and self._client.is_closed:
            return UserError("the http_client given to the model is closed; keep it open as long as the model is used")
        return ModelConnectionError(f"the HTTP client failed with {kind}")


def _refused(error: httpx.ConnectError) -> str:
    """Where nothing answers, and what to do there."""
    try:
        url = error.request.url
    except RuntimeError:  # a client of the user's that says nothing of its request
        return "cannot connect to the provider; check base_url and the network"
    where = f"{url.scheme}://{url.netloc.decode('ascii', 'replace')}"
    remedy = "start the server, or check base_url" if is_loopback(str(url)) else "check base_url and the network"
    return f"cannot connect to the provider at {where}; {remedy}"


@cache
def _nothing() -> httpx.ByteStream:
    import httpx

    return httpx.ByteStream(b"")


class _Slices:
    """A long body a slice at a time: of one that is handed over in one piece, asyncio copies what the socket does not take."""

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
            await shielded(self._close())
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
                    async with asyncio.timeout(END_GRACE):
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
