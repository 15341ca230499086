"""A fake server in a process of its own: raw asyncio, HTTP/1.1 with keep-alive, JSON and server-sent events.

It speaks the protocols of `dialects.py`. The model's name names the script, the tool results in a request's history tell the
turn. Every request is checked: a missing, repeated or wrong tool result is answered with status 400, so a contestant cannot
save time by sending less history. `GET /count` tells how many requests were answered well.

Run as `python -m benchmarks.server`: it prints its URL, and ends when its standard input does.
"""

from __future__ import annotations

import asyncio
import json
import os
import sys
from math import inf
from typing import Any

from benchmarks import fake
from benchmarks.dialects import Asked, dialect_of


class BadRequest(Exception):
    """The request is not what the script calls for."""


class Connection(asyncio.Protocol):
    """One client connection."""

    answered = 0

    def __init__(self) -> None:
        self.buffer = bytearray()
        self.transport: asyncio.Transport | None = None

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        assert isinstance(transport, asyncio.Transport)
        self.transport = transport

    def data_received(self, data: bytes) -> None:
        self.buffer += data
        while (end := self.buffer.find(b"\r\n\r\n")) >= 0:
            lines = bytes(self.buffer[:end]).decode("latin-1").split("\r\n")
            headers = {name.lower(): value.strip() for name, _, value in (line.partition(":") for line in lines[1:])}
            size = int(headers.get("content-length", "0"))
            if len(self.buffer) < end + 4 + size:
                return
            body = bytes(self.buffer[end + 4 : end + 4 + size])
            del self.buffer[: end + 4 + size]
            self.answer(lines[0].split(" ")[1], body)

    def answer(self, path: str, body: bytes) -> None:
        if path == "/count":
            self.send_json(200, {"answered": Connection.answered})
            return
        dialect = dialect_of(path)
        try:
            request = json.loads(body)
            asked = dialect.read(path, request)
            reply = next_reply(asked)
        except BadRequest as error:
            self.send_json(400, {"error": {"message": str(error), "type": "invalid_request_error"}})
            return
        Connection.answered += 1

        def send() -> None:
            if asked.stream:
                self.send_events(dialect.events(asked.model, reply, request))
            else:
                self.send_json(200, dialect.whole(asked.model, reply))

        delay = fake.SCRIPTS[asked.model].delay_s
        if not delay:
            send()
        elif delay < inf:
            asyncio.get_running_loop().call_later(delay, send)

    def send_json(self, status: int, body: dict[str, Any]) -> None:
        content = json.dumps(body).encode()
        head = f"HTTP/1.1 {status} X\r\nContent-Type: application/json\r\nContent-Length: {len(content)}\r\n\r\n"
        self.send(head.encode() + content)

    def send_events(self, events: list[str]) -> None:
        """One chunk of the HTTP body per event, all in one write: what a client can take at most."""
        parts = [b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nTransfer-Encoding: chunked\r\n\r\n"]
        for event in events:
            data = f"data: {event}\n\n".encode()
            parts.append(b"%x\r\n%s\r\n" % (len(data), data))
        self.send(b"".join([*parts, b"0\r\n\r\n"]))

    def send(self, data: bytes) -> None:
        if self.transport is not None and not self.transport.is_closing():
            self.transport.write(data)


def next_reply(asked: Asked) -> fake.Reply:
    """The script's reply to this history, after checking it."""
    script = fake.SCRIPTS.get(asked.model)
    if script is None:
        raise BadRequest(f"unknown model {asked.model!r}")
    if asked.calls != [call_id for call_id, _ in asked.results]:
        raise BadRequest("the tool results do not answer the calls of the history")
    if not asked.tools:
        raise BadRequest("no tools were sent")
    done = 0
    for reply in script.replies:
        if done == len(asked.results):
            return reply
        for call, (call_id, text) in zip(reply.calls, asked.results[done:], strict=False):
            if call.id != call_id or call.expected not in text:
                raise BadRequest(f"wrong result for call {call.id}: {call_id}: {text}")
        done += len(reply.calls)
    raise BadRequest(f"{len(asked.results)} tool results do not fit the script {script.name!r}")


async def main() -> None:
    """Serve on a free port of loopback until standard input ends."""
    loop = asyncio.get_running_loop()
    server = await loop.create_server(Connection, "127.0.0.1", 0, backlog=4096)
    print(f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}/v1", flush=True)
    await loop.run_in_executor(None, sys.stdin.read)


if __name__ == "__main__":
    if hasattr(os, "sched_setaffinity"):
        os.sched_setaffinity(0, {max(os.sched_getaffinity(0))})
    asyncio.run(main())
