"""The httpx client that all models of an event loop share, and its bound on connections.

Connections belong to the event loop they were opened on, so there is one client per loop. It is closed with its loop, by
`asyncio.run` itself: a suspended generator of that loop closes it (`_close_with_loop`).
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator
from typing import TYPE_CHECKING, NamedTuple
from weakref import WeakKeyDictionary

from agentsdk.models.admission import Admission
from agentsdk.types.errors import UserError

if TYPE_CHECKING:
    import ssl

    import httpx

MAX_CONNECTIONS = 1000
"""How many connections the shared client of an event loop opens at most, unless `set_max_connections` says otherwise."""


class SharedConnections(NamedTuple):
    """What the models of an event loop share."""

    client: httpx.AsyncClient
    admission: Admission
    keeper: AsyncGenerator[None, None]


_shared_by_loop: WeakKeyDictionary[asyncio.AbstractEventLoop, SharedConnections] = WeakKeyDictionary()
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
    return (await shared_connections()).client


async def shared_connections() -> SharedConnections:
    """The shared client of the running event loop, made by the first request, and what bounds it."""
    loop = asyncio.get_running_loop()
    known = _shared_by_loop.get(loop)
    if known is None or known.client.is_closed:
        for other in list(_shared_by_loop):  # a connection holds its loop, so an abandoned entry would never go by itself
            if other.is_closed():
                del _shared_by_loop[other]
        places = _max_connections[0] if _max_connections else _default_connections()
        client = _new_client(places)
        keeper = _close_with_loop(client)
        await keeper.__anext__()
        known = _shared_by_loop[loop] = SharedConnections(client, Admission(places), keeper)
    return known


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
    known = _shared_by_loop.pop(asyncio.get_running_loop(), None)
    if known is not None:
        await known.keeper.aclose()
