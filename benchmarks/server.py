"""A fake OpenAI chat-completions server in a process of its own: raw asyncio, HTTP/1.1 with keep-alive, JSON and
server-sent events.

The model's name in the request names the script, the tool results in its messages tell the turn. Every request is checked:
a missing, repeated or wrong tool result is answered with status 400, so a contestant cannot save time by sending less
history. `GET /count` tells how many requests were answered well.

Run as `python -m benchmarks.server`: it prints its URL, and ends when its standard input does.
"""

from __future__ import annotations

import asyncio
import json
import os
import sys
from typing import Any

from benchmarks import fake

USAGE = {"prompt_tokens": 100, "completion_tokens": 10, "total_tokens": 110}


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
        try:
            request = json.loads(body)
            reply = next_reply(request)
        except BadRequest as error:
            self.send_json(400, {"error": {"message": str(error), "type": "invalid_request_error"}})
            return
        Connection.answered += 1
        if request.get("stream"):
            self.send_events(request["model"], reply, with_usage(request))
        else:
            self.send_json(200, completion(request["model"], reply))

    def send_json(self, status: int, body: dict[str, Any]) -> None:
        content = json.dumps(body).encode()
        head = f"HTTP/1.1 {status} X\r\nContent-Type: application/json\r\nContent-Length: {len(content)}\r\n\r\n"
        self.send(head.encode() + content)

    def send_events(self, model: str, reply: fake.Reply, usage: bool) -> None:
        """One chunk of the HTTP body per event, all in one write: what a client can take at most."""
        parts = [b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nTransfer-Encoding: chunked\r\n\r\n"]
        for event in [*(json.dumps(chunk) for chunk in chunks(model, reply, usage)), "[DONE]"]:
            data = f"data: {event}\n\n".encode()
            parts.append(b"%x\r\n%s\r\n" % (len(data), data))
        self.send(b"".join([*parts, b"0\r\n\r\n"]))

    def send(self, data: bytes) -> None:
        if self.transport is not None:
            self.transport.write(data)


def with_usage(request: dict[str, Any]) -> bool:
    """Whether the client wants a last chunk with the usage."""
    options: dict[str, Any] = request.get("stream_options") or {}
    return bool(options.get("include_usage"))


def next_reply(request: dict[str, Any]) -> fake.Reply:
    """The script's reply to this history, after checking it."""
    script = fake.SCRIPTS.get(request.get("model", ""))
    if script is None:
        raise BadRequest(f"unknown model {request.get('model')!r}")
    results = [message for message in request["messages"] if message["role"] == "tool"]
    asked = [call["id"] for message in request["messages"] for call in message.get("tool_calls") or ()]
    if asked != [message["tool_call_id"] for message in results]:
        raise BadRequest("the tool results do not answer the calls of the history")
    if not request.get("tools"):
        raise BadRequest("no tools were sent")
    done = 0
    for reply in script.replies:
        if done == len(results):
            return reply
        for call, result in zip(reply.calls, results[done:], strict=False):
            if call.id != result["tool_call_id"] or call.expected not in json.dumps(result["content"]):
                raise BadRequest(f"wrong result for call {call.id}: {result}")
        done += len(reply.calls)
    raise BadRequest(f"{len(results)} tool results do not fit the script {script.name!r}")


def completion(model: str, reply: fake.Reply) -> dict[str, Any]:
    """A chat completion."""
    message: dict[str, Any] = {"role": "assistant", "content": reply.text or None}
    if reply.calls:
        message["tool_calls"] = [tool_call(call) for call in reply.calls]
    choice = {"index": 0, "message": message, "finish_reason": "tool_calls" if reply.calls else "stop", "logprobs": None}
    return {"id": "chatcmpl-1", "object": "chat.completion", "created": 1, "model": model, "choices": [choice], "usage": USAGE}


def chunks(model: str, reply: fake.Reply, usage: bool) -> list[dict[str, Any]]:
    """The same completion as stream chunks."""
    deltas: list[dict[str, Any]] = [{"role": "assistant", "content": None if reply.calls else ""}]
    deltas += [{"tool_calls": [{"index": index, **tool_call(call)}]} for index, call in enumerate(reply.calls)]
    deltas += [{"content": delta} for delta in reply.deltas]
    choices: list[list[dict[str, Any]]] = [[{"index": 0, "delta": delta, "finish_reason": None}] for delta in deltas]
    choices.append([{"index": 0, "delta": {}, "finish_reason": "tool_calls" if reply.calls else "stop"}])
    head = {"id": "chatcmpl-1", "object": "chat.completion.chunk", "created": 1, "model": model}
    result: list[dict[str, Any]] = [{**head, "choices": choice} for choice in choices]
    if usage:
        result.append({**head, "choices": [], "usage": USAGE})
    return result


def tool_call(call: fake.Call) -> dict[str, Any]:
    """A call on the wire."""
    return {"id": call.id, "type": "function", "function": {"name": call.name, "arguments": call.arguments}}


async def main() -> None:
    """Serve on a free port of loopback until standard input ends."""
    loop = asyncio.get_running_loop()
    server = await loop.create_server(Connection, "127.0.0.1", 0)
    print(f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}/v1", flush=True)
    await loop.run_in_executor(None, sys.stdin.read)


if __name__ == "__main__":
    if hasattr(os, "sched_setaffinity"):
        os.sched_setaffinity(0, {max(os.sched_getaffinity(0))})
    asyncio.run(main())
