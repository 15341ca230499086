"""The servers over streamable HTTP, written by hand on sockets so that they can misbehave there too.

`HttpFront` serves one of the servers as the protocol says: a session a handshake, JSON for a single answer, an event stream for
several messages. `HTTP_CASES` are fronts that do one thing badly. It runs in the test's own event loop.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable
from typing import ClassVar, NamedTuple

from tests.mcp.misbehaving.servers.base import HANDSHAKE, PONG, Message, Server

HANDLER = "a handler of the misbehaving server"
"""The name of the tasks that are the server's, not the client's."""


class Request(NamedTuple):
    """A request as it came."""

    verb: str
    path: str
    headers: dict[str, str]
    message: Message

    @property
    def method(self) -> str:
        """The JSON-RPC method."""
        return self.message.get("method", "")


class HttpFront:
    """One server over HTTP; a case overrides `post`, `get` or `respond`."""

    serves: type[Server] = Server
    location: ClassVar[str] = ""

    def __init__(self, era: str, journal: str, serves: type[Server] | None = None) -> None:
        self.era, self.journal = era, journal
        self.inner = (serves or self.serves)(era, journal, lambda data: self.written.append(data))
        self.written: list[bytes] = []
        self.sessions: set[str] = set()
        self.opened = 0
        self.closing = asyncio.Event()
        self.tasks: set[asyncio.Task[None]] = set()

    async def start(self) -> str:
        """Listens; gives the address."""
        self.listener = await asyncio.start_server(self._connected, "127.0.0.1", 0, limit=2**20)
        port = self.listener.sockets[0].getsockname()[1]
        self.origin = f"http://127.0.0.1:{port}"
        return f"{self.origin}/mcp"

    async def stop(self) -> None:
        """Ends every connection."""
        self.closing.set()
        self.listener.close()
        for task in self.tasks:
            task.cancel()
        await asyncio.gather(*self.tasks, return_exceptions=True)

    async def _connected(self, reader: asyncio.StreamReader, out: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        assert task is not None
        task.set_name(HANDLER)
        self.tasks.add(task)
        self.inner.note("connected")
        try:
            while (request := await self._read(reader)) is not None:
                await self.respond(request, out)
                await out.drain()
        except (ConnectionError, asyncio.IncompleteReadError, asyncio.CancelledError):
            pass
        finally:
            self.tasks.discard(task)
            out.close()

    async def _read(self, reader: asyncio.StreamReader) -> Request | None:
        try:
            head = (await reader.readuntil(b"\r\n\r\n")).decode("latin-1")
        except asyncio.IncompleteReadError:
            return None
        first, *lines = head.strip().split("\r\n")
        headers = {key.lower(): value.strip() for key, _, value in (one.partition(":") for one in lines)}
        if "chunked" in headers.get("transfer-encoding", ""):
            body = b""
            while size := int(await reader.readline(), 16):
                body += (await reader.readexactly(size + 2))[:-2]
            await reader.readline()
        else:
            body = await reader.readexactly(int(headers.get("content-length", 0)))
        verb, path, _ = first.split(" ", 2)
        self.inner.note(f"http {verb} {path} {json.dumps(headers)}")
        return Request(verb, path, headers, json.loads(body) if body else {})

    async def respond(self, request: Request, out: asyncio.StreamWriter) -> None:
        """Answers one request of HTTP."""
        if request.verb == "POST":
            await self.post(request, out)
        elif request.verb == "GET":
            await self.get(request, out)
        else:
            await self.delete(request, out)

    async def get(self, request: Request, out: asyncio.StreamWriter) -> None:
        self.plain(out, 405)

    async def delete(self, request: Request, out: asyncio.StreamWriter) -> None:
        self.sessions.discard(request.headers.get("mcp-session-id", ""))
        self.plain(out, 200)

    async def post(self, request: Request, out: asyncio.StreamWriter) -> None:
        session, headers = request.headers.get("mcp-session-id", ""), ""
        if self.era == HANDSHAKE and request.method == "initialize":
            self.opened += 1
            session = f"session-{self.opened}"
            self.sessions.add(session)
            headers = f"mcp-session-id: {session}\r\n"
        elif self.era == HANDSHAKE and session not in self.sessions:
            return self.no_session(request, out, 404 if session else 400)
        return await self.messages(request, self.handled(request.message), out, headers)

    def no_session(self, request: Request, out: asyncio.StreamWriter, status: int) -> None:
        """Answers a request whose session it does not know."""
        self.plain(out, status)

    def handled(self, message: Message) -> list[bytes]:
        """What the server writes for a message."""
        self.written = []
        self.inner.receive(message)
        return [line for data in self.written for line in data.splitlines()]

    async def messages(self, request: Request, answers: list[bytes], out: asyncio.StreamWriter, headers: str = "") -> None:
        """Writes the answers of a request."""
        if not answers:
            self.plain(out, 202, headers=headers)
        elif len(answers) == 1:
            self.plain(out, 200, answers[0], "application/json", headers)
        else:
            self.stream(out, answers, headers)
            self.chunk(out, b"")

    def plain(
        self, out: asyncio.StreamWriter, status: int, body: bytes = b"", kind: str = "text/plain", headers: str = ""
    ) -> None:
        """Writes a whole response."""
        head = f"HTTP/1.1 {status} Said\r\ncontent-type: {kind}\r\ncontent-length: {len(body)}\r\n{headers}\r\n"
        out.write(head.encode() + body)

    def stream(self, out: asyncio.StreamWriter, messages: list[bytes], headers: str = "") -> None:
        """Begins an event stream with these messages."""
        head = f"HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\ntransfer-encoding: chunked\r\n{headers}\r\n"
        out.write(head.encode())
        for message in messages:
            self.chunk(out, b"event: message\ndata: " + message + b"\n\n")

    def chunk(self, out: asyncio.StreamWriter, data: bytes) -> None:
        """Writes a chunk; an empty one ends the body."""
        out.write(b"%x\r\n%b\r\n" % (len(data), data))

    def cut(self, out: asyncio.StreamWriter) -> None:
        """Ends the connection."""
        out.close()
        raise ConnectionResetError

    def answer(self, request: Request, result: object = PONG) -> bytes:
        """The bytes of an answer to this request."""
        return json.dumps(self.inner.answered(request.message, result)).encode()


HTTP_CASES: dict[str, type[HttpFront]] = {"healthy": HttpFront}


def http_case(name: str) -> Callable[[type[HttpFront]], type[HttpFront]]:
    """Registers a front."""

    def register(front: type[HttpFront]) -> type[HttpFront]:
        assert name not in HTTP_CASES, name
        HTTP_CASES[name] = front
        return front

    return register


def class_of(server: type[Server]) -> type[HttpFront]:
    """The front of a server that misbehaves in what it says, not in how."""
    return type(server.__name__, (HttpFront,), {"serves": server})
