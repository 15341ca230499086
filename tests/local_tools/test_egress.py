"""The proxy of a browser: which connections it makes, and which not, asked for over its own protocol."""

from __future__ import annotations

import asyncio
import socket
import struct
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import pytest

from agentsdk.local_tools.egress import Egress
from agentsdk.local_tools.host_rules import HostRules
from tests.local_tools.web_server import page, web_server

pytestmark = pytest.mark.anyio
GRANTED, NOT_ALLOWED, UNREACHABLE, NO_SUCH_COMMAND = 0, 2, 4, 7


class Proxy:
    def __init__(self, port: int, refused: list[str]) -> None:
        self.port, self.refused = port, refused

    async def asked(self, host: bytes, port: int, kind: int = 3, command: int = 1) -> tuple[int, Any, Any]:
        """The answer, and the connection."""
        reader, writer = await asyncio.open_connection("127.0.0.1", self.port)
        writer.write(b"\x05\x01\x00")
        assert await reader.readexactly(2) == b"\x05\x00"
        writer.write(
            bytes((5, command, 0, kind)) + (bytes((len(host),)) + host if kind == 3 else host) + struct.pack(">H", port)
        )
        answer = await reader.readexactly(10)
        return answer[1], reader, writer

    async def answer(self, *asked: Any, **more: Any) -> int:
        answer, reader, writer = await self.asked(*asked, **more)
        if answer != GRANTED:
            assert await reader.read() == b"", "closed"
        writer.close()
        return answer


@asynccontextmanager
async def proxy(**rules: Any) -> AsyncIterator[Proxy]:
    refused: list[str] = []
    given = {"allowed_hosts": (), "blocked_hosts": (), "allowed_networks": ("127.0.0.1",), **rules}
    egress = Egress(HostRules(**given), refused.append)
    try:
        yield Proxy(await egress.start(), refused)
    finally:
        await egress.aclose()
        await egress.aclose()


async def test_what_is_allowed_is_passed_on_both_ways() -> None:
    async with web_server() as web, proxy() as through:
        web.pages["/a"] = page("hello")
        port = int(web.url.rpartition(":")[2])
        for host, kind in ((b"127.0.0.1", 3), (socket.inet_aton("127.0.0.1"), 1)):
            answer, reader, writer = await through.asked(host, port, kind)
            assert answer == GRANTED
            writer.write(b"GET /a HTTP/1.1\r\nhost: x\r\n\r\n")
            assert (await reader.read()).endswith(b"hello")
            writer.close()
        assert len(web.asked) == 2 and through.refused == []


@pytest.mark.parametrize(
    ("host", "kind"),
    [
        (b"169.254.169.254", 3),
        (b"10.0.0.1", 3),
        (b"[::1]", 3),
        (b"::ffff:10.0.0.1", 3),
        (socket.inet_aton("192.168.1.1"), 1),
        (socket.inet_pton(socket.AF_INET6, "fd00::1"), 4),
        (socket.inet_pton(socket.AF_INET6, "::ffff:169.254.169.254"), 4),
    ],
)
async def test_an_address_that_is_not_public_is_refused(host: bytes, kind: int) -> None:
    async with proxy() as through:
        assert await through.answer(host, 80, kind) == NOT_ALLOWED
        assert len(through.refused) == 1


async def test_hosts_are_allowed_and_blocked_by_name() -> None:
    async with web_server() as web, proxy(allowed_hosts=["127.0.0.1"], blocked_hosts=["bad.example"]) as through:
        port = int(web.url.rpartition(":")[2])
        assert await through.answer(b"127.0.0.1", port) == GRANTED
        assert await through.answer(b"Bad.Example.", port) == NOT_ALLOWED
        assert await through.answer(b"other.example", port) == NOT_ALLOWED
        assert through.refused == ["Bad.Example.", "other.example"]


async def test_what_is_not_there_is_unreachable_and_not_refused() -> None:
    with socket.socket() as unused:
        unused.bind(("127.0.0.1", 0))
        async with proxy() as through:
            assert await through.answer(b"127.0.0.1", unused.getsockname()[1]) == UNREACHABLE
            assert through.refused == []


async def test_nothing_but_connections_is_made() -> None:
    async with proxy() as through:
        assert await through.answer(b"127.0.0.1", 80, command=3) == NO_SUCH_COMMAND


@pytest.mark.parametrize("sent", [b"GET / HTTP/1.1\r\n\r\n", b"\x05\x01\x02", b"\x05\x01\x00\x05\x01\x00\x09", b"\x05"])
async def test_what_is_not_the_protocol_is_closed(sent: bytes) -> None:
    async with proxy() as through:
        reader, writer = await asyncio.open_connection("127.0.0.1", through.port)
        writer.write(sent)
        writer.write_eof()
        assert await reader.read() in (b"", b"\x05\x00")
        writer.close()


async def test_closing_ends_connections_that_are_open() -> None:
    async def silent(writer: asyncio.StreamWriter) -> None:
        await web.closing.wait()

    async with web_server() as web:
        web.pages["/"] = silent
        async with proxy() as through:
            _, reader, writer = await through.asked(b"127.0.0.1", int(web.url.rpartition(":")[2]))
            writer.write(b"GET / HTTP/1.1\r\n\r\n")
        assert await reader.read() == b""
        writer.close()
