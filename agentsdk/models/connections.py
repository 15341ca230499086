"""`ConnectionPool`: the connections of the shared client, an httpx transport over many of one connection each.

httpx's own pool goes through all its connections for every request that comes or goes, and a request that is cancelled at the
wrong moment leaves a connection that nobody closes. Here a request owns one connection from before it is sent until its body
was read to the end or closed. Whatever interrupts it, closing that connection leaves nothing behind, and no request costs more
the more connections there are. How many requests run at a time is decided before, by `Admission`, so the pool never queues.

A connection is busy or idle. Idle ones are listed by age, to close the oldest, and by origin, to use the latest again.
`admission_to` and `reclaim` give the same two properties, from outside, to an httpx client of the user's own.
"""

from __future__ import annotations

import sys
from collections import OrderedDict
from collections.abc import AsyncIterator, Callable
from http.cookiejar import CookieJar
from time import monotonic
from typing import Any, cast
from urllib.request import getproxies, proxy_bypass
from weakref import WeakKeyDictionary

import httpx

from agentsdk.models.admission import Admission
from agentsdk.models.network import is_loopback
from agentsdk.models.shield import shielded

KEEP_ALIVE = 30.0
"""How many seconds a connection may be idle before it is closed."""
_CLOSED_AT_ONCE = 2  # how many of those that were idle too long one request closes: none pays for all

_Origin = tuple[str, str, int | None]


class _Connection:
    """One connection."""

    __slots__ = ("idle_since", "origin", "transport")

    def __init__(self, origin: _Origin, transport: httpx.AsyncHTTPTransport) -> None:
        self.origin = origin
        self.transport = transport
        self.idle_since = 0.0


class ConnectionPool(httpx.AsyncBaseTransport):
    """Connections to any origins, used again while they last.

    The caller sends at most `max_connections` requests at a time. No more connections than that are open, busy or idle.
    """

    def __init__(self, max_connections: int, verify: Any, *, now: Callable[[], float] = monotonic) -> None:
        self._max = max_connections
        self._verify = verify
        self._now = now
        self._busy: set[_Connection] = set()
        self._idle: OrderedDict[_Connection, None] = OrderedDict()  # the oldest comes first
        self._by_origin: dict[_Origin, OrderedDict[_Connection, None]] = {}
        self._closed = False

    @property
    def open(self) -> int:
        """How many connections there are."""
        return len(self._busy) + len(self._idle)

    async def handle_async_request(self, request: httpx.Request) -> httpx.Response:
        """Send the request on the connection that became idle last, or on a new one."""
        connection = await self._take(request.url)
        try:
            response = await connection.transport.handle_async_request(request)
        except BaseException:
            await shielded(self._close(connection))
            raise
        response.stream = _Body(self, connection, cast(httpx.AsyncByteStream, response.stream))
        return response

    async def aclose(self) -> None:
        """Close all connections, those in use too."""
        self._closed = True
        for connection in [*self._busy, *self._idle]:
            await connection.transport.aclose()
        self._idle.clear()
        self._by_origin.clear()

    async def _take(self, url: httpx.URL) -> _Connection:
        origin = (url.scheme, url.host, url.port)
        idle = self._by_origin.get(origin)
        if idle:
            connection = next(reversed(idle))
            self._remove_idle(connection)
        else:
            connection = _Connection(origin, _one_connection(self._verify, proxy_for(url)))
        self._busy.add(connection)
        try:
            await self._make_room()
        except BaseException:
            self._keep(connection)
            raise
        return connection

    async def _make_room(self) -> None:
        """Close what is beyond the bound, and a few of those that were idle too long."""
        late = self._now() - KEEP_ALIVE
        for _ in range(_CLOSED_AT_ONCE):
            oldest = next(iter(self._idle), None)
            if oldest is None or (oldest.idle_since > late and self.open <= self._max):
                break
            self._remove_idle(oldest)
            await oldest.transport.aclose()

    def _remove_idle(self, connection: _Connection) -> None:
        del self._idle[connection]
        siblings = self._by_origin[connection.origin]
        del siblings[connection]
        if not siblings:
            del self._by_origin[connection.origin]

    def _keep(self, connection: _Connection) -> None:
        """Keep a connection whose request is over."""
        self._busy.discard(connection)
        connection.idle_since = self._now()
        self._idle[connection] = None
        self._by_origin.setdefault(connection.origin, OrderedDict())[connection] = None

    async def _close(self, connection: _Connection) -> None:
        self._busy.discard(connection)
        await connection.transport.aclose()

    async def finish(self, connection: _Connection, body: httpx.AsyncByteStream, *, ended: bool) -> None:
        """The request on `connection` is over: with its body at its end the connection can be used again."""
        if not ended or self._closed:
            await shielded(self._close(connection))
            return
        try:
            await body.aclose()
        except BaseException:
            await shielded(self._close(connection))
            raise
        self._keep(connection)


class _Body(httpx.AsyncByteStream):
    """A body, which gives its connection back once."""

    def __init__(self, pool: ConnectionPool, connection: _Connection, body: httpx.AsyncByteStream) -> None:
        self._pool = pool
        self._connection: _Connection | None = connection
        self._body = body
        self._parts = body.__aiter__()
        self._ended = False

    def __aiter__(self) -> AsyncIterator[bytes]:
        return self

    async def __anext__(self) -> bytes:
        try:
            return await self._parts.__anext__()
        except StopAsyncIteration:
            self._ended = True
            raise

    async def aclose(self) -> None:
        connection, self._connection = self._connection, None
        if connection is not None:
            await self._pool.finish(connection, self._body, ended=self._ended)


def _one_connection(verify: Any, proxy: str | None) -> httpx.AsyncHTTPTransport:
    limits = httpx.Limits(max_connections=1, max_keepalive_connections=1, keepalive_expiry=KEEP_ALIVE)
    return httpx.AsyncHTTPTransport(verify=verify, limits=limits, proxy=proxy)


def proxy_for(url: httpx.URL) -> str | None:
    """The proxy that the environment names for `url`. It is for the network: what runs on this machine is reached directly."""
    proxies = getproxies()
    if not proxies or is_loopback(str(url)) or proxy_bypass(url.netloc.decode("ascii")):
        return None
    proxy = proxies.get(url.scheme) or proxies.get("all")
    return proxy if proxy is None or "://" in proxy else f"http://{proxy}"


class NoCookies(CookieJar):
    """Keeps no cookie: the shared client would keep every one, and send it in the requests of other models."""

    def extract_cookies(self, response: object, request: object) -> None:
        pass

    def add_cookie_header(self, request: object) -> None:
        pass


_admissions: WeakKeyDictionary[object, Admission] = WeakKeyDictionary()


def admission_to(client: httpx.AsyncClient, url: httpx.URL) -> Admission | None:
    """What lets requests through a client of the user's own: as many at a time as its pool has connections.

    httpcore's own queue costs its length times the connections for every request that comes or goes. None where the bound
    cannot be known, or is none: another transport, no limit, HTTP/2.
    """
    pool = _pool_behind(client, url)
    places = getattr(pool, "_max_connections", sys.maxsize)
    if pool is None or places == sys.maxsize or getattr(pool, "_http2", False):
        return None
    found = _admissions.get(pool)
    if found is None:
        found = _admissions[pool] = Admission(places)
    return found


async def reclaim(client: httpx.AsyncClient, url: httpx.URL, response: httpx.Response | None = None) -> None:
    """Close what a request that was broken off left in the pool of a client of the user's own, and nothing else.

    httpcore keeps a new connection whose request is cancelled before its first use, and a request whose closing is cancelled
    (encode/httpcore#1093, open at 1.0.9): each would hold a connection for ever. What is closed here, its own scan takes off
    its lists.
    """
    pool = _pool_behind(client, url)
    requests: list[Any] | None = getattr(pool, "_requests", None)
    if pool is None or requests is None:
        return
    request = getattr(_body_in(response), "_pool_request", None)
    if request in requests:
        requests.remove(request)
        if not pool._http2:  # there the others on this connection go on
            await cast(Any, request).connection.aclose()
    used = {id(one.connection) for one in requests}
    for connection in pool.connections:
        if id(connection) not in used and not connection.is_idle() and not connection.is_closed():
            await connection.aclose()
    await pool._close_connections(pool._assign_requests_to_connections())


def _pool_behind(client: httpx.AsyncClient, url: httpx.URL) -> Any:
    find = getattr(client, "_transport_for_url", None)
    return getattr(find(url), "_pool", None) if find else None


def _body_in(response: httpx.Response | None) -> object:
    """httpcore's body, under those of httpx."""
    body: object = getattr(response, "stream", None)
    return getattr(getattr(body, "_stream", None), "_httpcore_stream", None)
