"""The proxy of a browser: which connections it makes, and which not, asked for over its own protocol."""

from __future__ import annotations

import asyncio
import socket
import struct
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from typing import Any

import psutil
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


def rules_of(**given: Any) -> dict[str, Any]:
    return {"allowed_hosts": (), "blocked_hosts": (), "allowed_networks": ("127.0.0.1",), **given}


@asynccontextmanager
async def proxy(rules: HostRules | None = None, **given: Any) -> AsyncIterator[Proxy]:
    refused: list[str] = []
    egress = Egress(rules or HostRules(**rules_of(**given)), refused.append)
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


def listening() -> socket.socket:
    """A server that neither reads nor answers, nor closes a connection."""
    made = socket.socket()
    made.bind(("127.0.0.1", 0))
    made.listen()
    made.setblocking(False)
    return made


def connected_to(port: int) -> bool:
    """Whether this process has a connection to the port that it has not closed."""
    return any(one.raddr and one.raddr.port == port for one in psutil.Process().net_connections("tcp"))


def accepted_at(port: int) -> bool:
    return any(one.raddr and one.laddr.port == port for one in psutil.Process().net_connections("tcp"))


async def until_not(holds: Callable[[int], bool], port: int) -> None:
    async with asyncio.timeout(30):
        while holds(port):  # noqa: ASYNC110 - nobody tells when a connection is closed
            await asyncio.sleep(0.01)


@pytest.mark.parametrize("sent", [0, 3_000_000])
async def test_a_silent_server_is_left_when_the_browser_goes(sent: int) -> None:
    with listening() as server:
        port = server.getsockname()[1]
        async with proxy() as through:
            _, _, writer = await through.asked(b"127.0.0.1", port)
            assert connected_to(port)
            writer.write(bytes(sent))
            writer.transport.abort()
            await until_not(connected_to, port)


async def test_a_browser_that_goes_before_it_is_connected_leaves_no_connection() -> None:
    asked, go_on = asyncio.Event(), asyncio.Event()

    class Slow(HostRules):
        async def addresses(self, host: str, port: int) -> list[str]:
            asked.set()
            await go_on.wait()
            return await super().addresses(host, port)

    with listening() as server:
        port = server.getsockname()[1]
        async with proxy(Slow(**rules_of())) as through:
            with socket.create_connection(("127.0.0.1", through.port)) as browser:
                browser.sendall(b"\x05\x01\x00\x05\x01\x00\x01" + socket.inet_aton("127.0.0.1") + struct.pack(">H", port))
                await asked.wait()
                browser.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))  # it is reset
            await until_not(accepted_at, through.port)
            go_on.set()
            far, _ = await asyncio.get_running_loop().sock_accept(server)
            with far:
                await until_not(connected_to, port)
