"""A fake provider on a real loopback socket: its replies, and how they break, are scripted.

`FakeServer` speaks HTTP; what a reply looks like on the wire is a `Dialect`. `FakeOpenAIServer` speaks chat completions.
"""

from __future__ import annotations

import asyncio
import gzip
import random
import socket
import struct
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from types import TracebackType
from typing import Literal, Protocol, Self, runtime_checkable

import msgspec
from msgspec import Struct

from agentsdk.testing.chat_dialect import ChatDialect, count_tokens, request_tokens
from agentsdk.testing.scripted import Say, to_response
from agentsdk.types.base import JsonObject
from agentsdk.types.errors import UserError
from agentsdk.types.response import ModelResponse

Then = Literal["end", "reset", "refuse", "stall", "pings", "open"]


class CapturedRequest(Struct, frozen=True):
    """A request as it came; header names are in lower case."""

    method: str
    path: str
    headers: dict[str, str]
    body: bytes

    @property
    def json(self) -> JsonObject:
        """The body, parsed."""
        parsed: JsonObject = msgspec.json.decode(self.body)
        return parsed


@dataclass(frozen=True, slots=True)
class ServerReply:
    """What to say, and how it goes over the wire.

    `body` (bytes, text, or JSON) or `events` (the data of each event; bytes go out as they are) replace what `says` would
    give. `finish` and `usage` replace those of the reply: `""` and None leave them out.

    After `stops_after` events (or, without a stream, bytes), or when all was sent, `then` happens: `"end"` the body ends
    properly, `"reset"` the connection breaks, `"refuse"` it breaks before any header, `"stall"` nothing more comes, `"pings"`
    only comments come, `"open"` all was sent but the body is not ended.

    `chunks` divides the body: `"whole"`, `"bytes"` one byte at a time, or anywhere, by this random seed. `comments` puts
    comments between the events, `line_end` ends the lines. Nothing is sent before `wait` is set.
    """

    says: Say = "ok"
    status: int = 200
    headers: Mapping[str, str] = field(default_factory=dict[str, str])
    body: bytes | str | JsonObject | None = None
    events: Sequence[bytes | str | JsonObject] | None = None
    finish: str | None = None
    usage: JsonObject | Literal["default"] | None = "default"
    stops_after: int | None = None
    then: Then = "end"
    chunks: Literal["whole", "bytes"] | int = "whole"
    gzip: bool = False
    comments: bool = False
    line_end: str = "\n"
    wait: asyncio.Event | None = None


class Dialect(Protocol):
    """A provider's wire format."""

    @property
    def path(self) -> str:
        """Where requests go."""
        ...

    def whole(self, response: ModelResponse, request: JsonObject) -> JsonObject:
        """The body of a reply that is not streamed."""
        ...

    def events(self, response: ModelResponse, request: JsonObject) -> list[JsonObject | str]:
        """The data of each event of a streamed reply."""
        ...

    def adjust(self, message: JsonObject, finish: str | None, usage: JsonObject | str | None) -> JsonObject:
        """A body or an event with another finish reason or usage."""
        ...


@runtime_checkable
class Framing(Protocol):
    """What a dialect has besides where its streams are no server-sent events."""

    @property
    def stream_type(self) -> str:
        """The content type of a stream."""
        ...

    @property
    def ping(self) -> bytes:
        """An event that says nothing."""
        ...

    def frame(self, event: str | JsonObject) -> bytes:
        """An event as it goes over the wire."""
        ...


ServerScript = Iterable["Say | ServerReply | Callable[[CapturedRequest], Say | ServerReply]"]


def is_or_is_below(path: str, root: str) -> bool:
    """Whether `path` is `root` or goes on from it."""
    return path == root or path.startswith(f"{root}/")


class FakeServer:
    """Serves `script`, one entry per request, on 127.0.0.1 while entered with `async with`.

    A request beyond the script is answered with status 400, which no client repeats.
    """

    def __init__(self, script: ServerScript, dialect: Dialect) -> None:
        self.requests: list[CapturedRequest] = []
        self.connections: int = 0
        """How many connections were made."""
        self.refused: int = 0
        """How many requests were too long for the context window, if there is one. They take nothing from the script."""
        self._script = list(script)
        self._dialect = dialect
        self._server: asyncio.Server | None = None
        self._handlers: dict[asyncio.Task[None], asyncio.StreamWriter] = {}
        self._idle = asyncio.Event()
        self._came = asyncio.Condition()

    @property
    def url(self) -> str:
        """Scheme, host and port. Raises `UserError` outside `async with`."""
        if self._server is None:
            raise UserError("the fake server does not run; enter it with 'async with' first")
        return f"http://127.0.0.1:{self._server.sockets[0].getsockname()[1]}"

    @property
    def base_url(self) -> str:
        """What to give a model as `base_url`."""
        return f"{self.url}/v1"

    @property
    def open_connections(self) -> int:
        """How many connections clients hold open."""
        return len(self._handlers)

    async def requested(self, count: int = 1) -> None:
        """Wait until `count` requests have come in all."""
        async with self._came:
            await self._came.wait_for(lambda: len(self.requests) >= count)

    async def all_closed(self) -> None:
        """Wait until no client holds a connection."""
        await self._idle.wait()

    async def __aenter__(self) -> Self:
        self._idle.set()
        self._server = await asyncio.start_server(self._connected, "127.0.0.1", 0)
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._server is not None:
            self._server.close()
            handlers = list(self._handlers)
            for handler in handlers:
                handler.cancel()
            await asyncio.gather(*handlers, return_exceptions=True)
            self._server = None

    async def _connected(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        assert task is not None
        self._handlers[task] = writer
        writer.transport.set_write_buffer_limits(
            0
        )  # so that what was drained has left: a reset comes after it, not in its place
        self._idle.clear()
        self.connections += 1
        try:
            # A client that goes away is what half of the tests are about.
            with suppress(ConnectionError, asyncio.IncompleteReadError, asyncio.CancelledError):
                while await self._serve(reader, writer):
                    pass
        finally:
            writer.transport.abort()
            del self._handlers[task]
            if not self._handlers:
                self._idle.set()

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> bool:
        """Answer one request; whether the connection can take another."""
        request = await _read_request(reader)
        async with self._came:
            self.requests.append(request)
            self._came.notify_all()
        reply = self._next_reply(request)
        if reply.wait is not None and not await _wait_or_gone(reply.wait, reader):
            return False
        if reply.then == "refuse":
            _reset(writer)
            return False
        return await _Answer(reply, self._dialect, len(self.requests), self._asked(request)).send(reader, writer)

    def _serves(self, path: str) -> bool:
        return path == self._dialect.path

    def _asked(self, request: CapturedRequest) -> JsonObject:
        """What the dialect gets of a request."""
        return request.json if request.body else {}

    def _next_reply(self, request: CapturedRequest) -> ServerReply:
        number = len(self.requests) - self.refused
        if not self._serves(request.path):
            return _refusal(404, f"no such path: {request.path}")
        if number > len(self._script):
            return _refusal(400, f"this is request number {number}, but the script of the fake server has {len(self._script)}")
        entry = self._script[number - 1]
        if callable(entry) and not isinstance(entry, ServerReply):
            entry = entry(request)
        return entry if isinstance(entry, ServerReply) else ServerReply(entry)


class FakeOpenAIServer(FakeServer):
    """A fake chat completions server.

    async with FakeOpenAIServer(["Hello!"]) as server:
        model = OpenAIChatCompletionsModel("gpt-test", base_url=server.base_url)

    With a `context_window`, in tokens, it refuses longer requests as OpenAI does, and bills what it counts: `count` gives the
    tokens of a text. At `/embeddings` it answers with the `body` of the script's next reply.
    """

    def __init__(
        self, script: ServerScript, *, context_window: int | None = None, count: Callable[[str], int] = count_tokens
    ) -> None:
        super().__init__(script, ChatDialect())
        self._context_window = context_window
        self._count = count

    def _serves(self, path: str) -> bool:
        return super()._serves(path) or path == "/v1/embeddings"

    def _next_reply(self, request: CapturedRequest) -> ServerReply:
        if self._context_window is None or request.path != self._dialect.path:
            return super()._next_reply(request)
        tokens = request_tokens(request.json, self._count)
        if tokens > self._context_window:
            self.refused += 1
            return _refusal(
                400,
                f"This model's maximum context length is {self._context_window} tokens. However, your messages resulted in "
                f"{tokens} tokens.",
                "context_length_exceeded",
            )
        reply = super()._next_reply(request)
        usage: JsonObject = {"prompt_tokens": tokens, "completion_tokens": 20, "total_tokens": tokens + 20}
        return replace(reply, usage=usage) if reply.usage == "default" else reply


class _Answer:
    """One reply on its way."""

    def __init__(self, reply: ServerReply, dialect: Dialect, number: int, asked: JsonObject) -> None:
        self._reply = reply
        self._pieces, self._type = _render(reply, dialect, number, asked)
        self._stream = self._type not in _WHOLE
        self._ping = dialect.ping if isinstance(dialect, Framing) else b": ping\n\n"
        # What is not sent completely, or not at once, is framed in chunks: each piece then reaches the client on its own.
        self._chunked = self._stream or reply.chunks != "whole"

    async def send(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> bool:
        """Send it; whether the connection can take another request."""
        reply = self._reply
        full = b"".join(self._pieces)
        kept = self._pieces[: reply.stops_after] if self._stream else [full[: reply.stops_after]]
        data = b"".join(kept)
        if reply.gzip:
            full = data = gzip.compress(data)
        framing = {} if self._chunked else {"content-length": str(len(full if reply.then != "end" else data))}
        writer.write(_head(reply, self._type, framing, chunked=self._chunked))
        for chunk in _cut(data, kept if self._stream and not reply.gzip else None, reply.chunks):
            writer.write(b"%x\r\n%b\r\n" % (len(chunk), chunk) if self._chunked else chunk)
            await writer.drain()
        match reply.then:
            case "end":
                if self._chunked:
                    writer.write(b"0\r\n\r\n")
                await writer.drain()
                return True
            case "reset" | "refuse":
                _reset(writer)
            case "pings":
                await _until_gone(reader, writer, self._ping)
            case "stall" | "open":
                await reader.read(1)
        return False


_WHOLE = ("application/json", "text/html")
"""The content types of a body in one piece: of JSON, and of text."""


def _render(reply: ServerReply, dialect: Dialect, number: int, asked: JsonObject) -> tuple[list[bytes], str]:
    """The events of a stream or the body in one piece, and the content type."""
    if reply.body is not None:
        body = reply.body if isinstance(reply.body, bytes | str) else msgspec.json.encode(reply.body)
        kind = _WHOLE[isinstance(reply.body, str)]
        return [body.encode() if isinstance(body, str) else body], kind
    if reply.events is None and not asked.get("stream"):
        whole = dialect.whole(to_response(reply.says, number), asked)
        return [msgspec.json.encode(dialect.adjust(whole, reply.finish, reply.usage))], _WHOLE[0]
    events = reply.events
    if events is None:
        messages = dialect.events(to_response(reply.says, number), asked)
        adjusted = [one if isinstance(one, str) else dialect.adjust(one, reply.finish, reply.usage) for one in messages]
        events = [event for event in adjusted if event]
    if not isinstance(dialect, Framing):
        return [_frame(event, reply) for event in events], "text/event-stream"
    ping = dialect.ping if reply.comments else b""
    frames = [event if isinstance(event, bytes) else ping + dialect.frame(event) for event in events]
    return frames, dialect.stream_type


def _frame(event: bytes | str | JsonObject, reply: ServerReply) -> bytes:
    if isinstance(event, bytes):
        return event
    end = reply.line_end
    data = event if isinstance(event, str) else msgspec.json.encode(event).decode()
    comment = f": keep-alive{end}{end}" if reply.comments else ""
    kind = "" if isinstance(event, str) else event.get("type")
    name = f"event: {kind}{end}" if kind else ""
    return f"{comment}{name}data: {data}{end}{end}".encode()


def _cut(data: bytes, pieces: Sequence[bytes] | None, how: Literal["whole", "bytes"] | int) -> Iterator[bytes]:
    if how == "whole":
        yield from pieces if pieces is not None else ([data] if data else [])
        return
    chance = random.Random(how)
    position = 0
    while position < len(data):
        size = 1 if how == "bytes" else chance.randint(1, 40)
        yield data[position : position + size]
        position += size


def _head(reply: ServerReply, kind: str, framing: Mapping[str, str], *, chunked: bool) -> bytes:
    headers = {"content-type": kind, **framing}
    if chunked:
        headers["transfer-encoding"] = "chunked"
    if reply.gzip:
        headers["content-encoding"] = "gzip"
    headers |= {name.lower(): value for name, value in reply.headers.items()}
    lines = [f"HTTP/1.1 {reply.status} Fake", *(f"{name}: {value}" for name, value in headers.items())]
    return ("\r\n".join(lines) + "\r\n\r\n").encode("latin-1")


async def _read_request(reader: asyncio.StreamReader) -> CapturedRequest:
    head = (await reader.readuntil(b"\r\n\r\n")).decode("latin-1")
    first, *lines = head.rstrip("\r\n").split("\r\n")
    method, path, _ = first.split(" ", 2)
    headers = {name.lower(): value.strip() for name, _, value in (line.partition(":") for line in lines)}
    body = await reader.readexactly(int(headers.get("content-length", "0")))
    return CapturedRequest(method, path, headers, body)


async def _wait_or_gone(event: asyncio.Event, reader: asyncio.StreamReader) -> bool:
    """Wait for `event`; False if the client went away first."""
    gone = asyncio.ensure_future(reader.read(1))
    happened = asyncio.ensure_future(event.wait())
    try:
        await asyncio.wait({gone, happened}, return_when=asyncio.FIRST_COMPLETED)
    finally:
        gone.cancel()
        happened.cancel()
        await asyncio.gather(gone, happened, return_exceptions=True)
    return event.is_set()


async def _until_gone(reader: asyncio.StreamReader, writer: asyncio.StreamWriter, ping: bytes) -> None:
    """Send `ping` until the client goes away."""
    gone = asyncio.ensure_future(reader.read(1))
    try:
        while not gone.done():
            writer.write(b"%x\r\n%b\r\n" % (len(ping), ping))
            await asyncio.wait({gone}, timeout=0.005)
    finally:
        gone.cancel()
        await asyncio.gather(gone, return_exceptions=True)


def _reset(writer: asyncio.StreamWriter) -> None:
    """Break the connection: with no time to linger, closing sends a reset."""
    held = writer.get_extra_info("socket")
    if held is not None:
        held.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
    writer.transport.abort()


def _refusal(status: int, message: str, code: str | None = None) -> ServerReply:
    return ServerReply(status=status, body={"error": {"message": message, "type": "invalid_request_error", "code": code}})
