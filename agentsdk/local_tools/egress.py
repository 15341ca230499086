"""`Egress`: the only way out for a browser, a SOCKS5 proxy on loopback that checks every connection.

A page's own requests, its frames, images, scripts and sockets, redirects, and what the browser fetches of itself all become
connections, and the browser looks no name up itself: each is asked for here by its name, which is looked up once, checked, and
connected to at the address that was checked. Other processes of this machine can use the proxy as well, and reach through it
what the rules allow and nothing else.
"""

from __future__ import annotations

import asyncio
import struct
from collections.abc import Callable
from contextlib import suppress
from ipaddress import ip_address

from agentsdk.local_tools.host_rules import HostRules
from agentsdk.types.errors import FetchError, TransientToolError, UserError

_VERSION, _NO_AUTHENTICATION, _CONNECT = 5, 0, 1
_IPV4, _NAME, _IPV6 = 1, 3, 4
_GRANTED, _NOT_ALLOWED, _UNREACHABLE, _NO_SUCH_COMMAND = 0, 2, 4, 7
_HANDSHAKE_SECONDS = 30.0
_CHUNK = 65_536


class Egress:
    """The proxy. `refused` is called with the name of each host that may not be reached."""

    def __init__(self, rules: HostRules, refused: Callable[[str], None]) -> None:
        self._rules = rules
        self._refused = refused
        self._server: asyncio.Server | None = None
        self._serving: set[asyncio.Task[None]] = set()

    async def start(self) -> int:
        """Listen, and return the port."""
        self._server = await asyncio.start_server(self._accept, "127.0.0.1", 0)
        port: int = self._server.sockets[0].getsockname()[1]
        return port

    async def aclose(self) -> None:
        """End all connections. A second call does nothing."""
        server, self._server = self._server, None
        if server is None:
            return
        server.close()
        for task in self._serving:
            task.cancel()
        await asyncio.gather(*self._serving, return_exceptions=True)  # not for whoever does not read what is left

    def _accept(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.create_task(self._serve(reader, writer))
        self._serving.add(task)
        task.add_done_callback(self._serving.discard)

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        far: _Streams | None = None
        try:
            async with asyncio.timeout(_HANDSHAKE_SECONDS):
                answer, far = await self._connected(reader, writer)
                writer.write(struct.pack(">BBBB4sH", _VERSION, answer, 0, _IPV4, bytes(4), 0))
                await writer.drain()
            if far is not None:
                await _joined((reader, writer), far)
        except (OSError, asyncio.IncompleteReadError, TimeoutError, _NotSocksError):
            pass  # the browser sees that its connection is closed
        finally:
            writer.close()
            if far is not None:
                far[1].transport.abort()

    async def _connected(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> tuple[int, _Streams | None]:
        """The answer to the browser, and the connection that it asked for."""
        version, methods = await reader.readexactly(2)
        if version != _VERSION or _NO_AUTHENTICATION not in await reader.readexactly(methods):
            raise _NotSocksError
        writer.write(bytes((_VERSION, _NO_AUTHENTICATION)))
        version, command, _, kind = await reader.readexactly(4)
        host = await _host(reader, kind)
        (port,) = struct.unpack(">H", await reader.readexactly(2))
        if version != _VERSION or command != _CONNECT:
            return _NO_SUCH_COMMAND, None
        try:
            addresses = await self._rules.addresses(host, port)
        except (FetchError, UserError):
            self._refused(host)
            return _NOT_ALLOWED, None
        except TransientToolError:
            return _UNREACHABLE, None
        for address in addresses:
            with suppress(OSError):
                return _GRANTED, await asyncio.open_connection(address, port)
        return _UNREACHABLE, None


class _NotSocksError(Exception):
    """What came is not the protocol."""


_Streams = tuple[asyncio.StreamReader, asyncio.StreamWriter]


async def _host(reader: asyncio.StreamReader, kind: int) -> str:
    if kind == _NAME:
        (length,) = await reader.readexactly(1)
        return (await reader.readexactly(length)).decode("ascii", "replace").strip("[]")
    if kind not in (_IPV4, _IPV6):
        raise _NotSocksError
    return str(ip_address(await reader.readexactly(4 if kind == _IPV4 else 16)))


async def _joined(near: _Streams, far: _Streams) -> None:
    """Pass on what comes from either side, until one has said all: a server then has answered, and a browser is gone."""
    ways = [asyncio.create_task(_pass_on(near[0], far[1])), asyncio.create_task(_pass_on(far[0], near[1]))]
    try:
        await asyncio.wait(ways, return_when=asyncio.FIRST_COMPLETED)
    finally:
        for way in ways:
            way.cancel()
        await asyncio.wait(ways)


async def _pass_on(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    with suppress(OSError):
        while data := await reader.read(_CHUNK):
            writer.write(data)
            await writer.drain()
