"""`--probe HOST:PORT`: how a worker and its queue stand, over plain HTTP, for what supervises and scales workers.

`GET /health`: the process works. `/ready`: it takes runs; 503 while it hands them back. `/queue`: figures as JSON. `/metrics`:
the same for Prometheus. It asks nobody who they are, and tells nothing of what is in a run: let only the cluster reach it.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager, suppress

import msgspec

from agentsdk.types.errors import StoreError, UserError
from agentsdk.worker import Worker

_TIMEOUT = 5.0
"""Seconds for a request to come, and for the store to answer."""

_REASONS = {200: "OK", 404: "Not Found", 405: "Method Not Allowed", 503: "Service Unavailable"}
_JSON, _TEXT = "application/json", "text/plain; version=0.0.4"
_HELP = {
    "due": "Runs of the worker's agents that wait for a worker.",
    "oldest_seconds": "How long the one that is due longest has waited.",
    "in_work": "Runs of these agents that workers hold.",
    "worker_concurrency": "Runs that this worker takes at once.",
    "worker_in_work": "Runs that this worker drives.",
    "worker_free": "Runs that this worker could take now.",
}


@asynccontextmanager
async def probe(worker: Worker, address: str) -> AsyncGenerator[tuple[str, int]]:
    """Answer at `address` meanwhile; the host and the port, which is free to choose if it is 0. Raises `UserError`."""
    host, colon, port = address.rpartition(":")
    if not (colon and port.isdecimal() and int(port) < 65536):
        raise UserError(f"--probe is {address!r}, expected HOST:PORT, such as 0.0.0.0:8080; give both")

    async def answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        with suppress(OSError, TimeoutError, ValueError, asyncio.IncompleteReadError, asyncio.LimitOverrunError):
            async with asyncio.timeout(_TIMEOUT):
                line = (await reader.readuntil(b"\r\n\r\n")).split(b"\r\n", 1)[0].decode("ascii")
                writer.write(_response(*await _answer(worker, line)))
                await writer.drain()
        writer.close()

    try:
        server = await asyncio.start_server(answer, host.strip("[]") or None, int(port))
    except OSError as error:
        raise UserError(
            f"--probe {address!r} cannot be listened at ({error.strerror}), expected a free one of this host"
        ) from error
    async with server:
        yield server.sockets[0].getsockname()[:2]


async def _answer(worker: Worker, line: str) -> tuple[int, str, bytes]:
    """Status, type and body for a request line."""
    method, _, rest = line.partition(" ")
    if method != "GET":
        return 405, _JSON, b"{}"
    path = rest.partition(" ")[0].partition("?")[0]
    if path == "/health":
        return 200, _JSON, b'{"status":"ok"}'
    if path == "/ready":
        return (200, _JSON, b'{"status":"ok"}') if worker.status().working else (503, _JSON, b'{"status":"stopping"}')
    if path not in ("/queue", "/metrics"):
        return 404, _JSON, b"{}"
    try:
        figures = await _figures(worker)
    except StoreError:
        return 503, _JSON, b'{"status":"the store does not answer"}'
    return (200, _JSON, msgspec.json.encode(figures)) if path == "/queue" else (200, _TEXT, _exposed(figures))


async def _figures(worker: Worker) -> dict[str, float]:
    queue, status = await worker.queue(), worker.status()
    return {
        "due": queue.due,
        "oldest_seconds": round(queue.oldest_seconds, 3),
        "in_work": queue.in_work,
        "worker_concurrency": status.concurrency,
        "worker_in_work": status.in_work,
        "worker_free": status.free,
    }


def _exposed(figures: dict[str, float]) -> bytes:
    """In the text format of Prometheus."""
    return "".join(
        f"# HELP agentsdk_{name} {_HELP[name]}\n# TYPE agentsdk_{name} gauge\nagentsdk_{name} {value}\n"
        for name, value in figures.items()
    ).encode()


def _response(status: int, kind: str, body: bytes) -> bytes:
    lines = (
        f"HTTP/1.1 {status} {_REASONS[status]}",
        f"content-type: {kind}",
        f"content-length: {len(body)}",
        "connection: close",
    )
    return "\r\n".join((*lines, "", "")).encode("ascii") + body
