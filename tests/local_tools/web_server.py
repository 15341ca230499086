"""A web server on loopback that answers each path as a test says, byte by byte."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager

Answer = bytes | Callable[[asyncio.StreamWriter], Awaitable[object]]


class WebServer:
    """`asked` has the head of each request; `closing` is set when the test is over."""

    def __init__(self) -> None:
        self.closing = asyncio.Event()
        self._serving: set[asyncio.Task[None]] = set()
        self.pages: dict[str, Answer] = {}
        self.asked: list[str] = []
        self.url = ""

    def accept(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self._serving.add(asyncio.create_task(self._serve(reader, writer)))

    async def close(self) -> None:
        self.closing.set()
        await asyncio.gather(*self._serving)

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            head = (await reader.readuntil(b"\r\n\r\n")).decode()
            self.asked.append(head)
            answer = self.pages.get(head.split(" ")[1], page("not here", status="404 Not Found"))
            if isinstance(answer, bytes):
                writer.write(answer)
                await writer.drain()
            else:
                await answer(writer)
        except (ConnectionError, asyncio.IncompleteReadError):
            pass
        finally:
            writer.close()


def page(body: str | bytes, kind: str = "text/html; charset=utf-8", *, status: str = "200 OK", **headers: str) -> bytes:
    """A whole answer."""
    content = body if isinstance(body, bytes) else body.encode()
    lines = [f"HTTP/1.1 {status}", f"content-type: {kind}", f"content-length: {len(content)}", "connection: close"]
    lines += [f"{name.replace('_', '-')}: {value}" for name, value in headers.items()]
    return "\r\n".join([*lines, "", ""]).encode() + content


@asynccontextmanager
async def web_server(host: str = "127.0.0.1") -> AsyncIterator[WebServer]:
    web = WebServer()
    server = await asyncio.start_server(web.accept, host, 0)
    web.url = f"http://{host}:{server.sockets[0].getsockname()[1]}"
    async with server:
        yield web
        await web.close()
