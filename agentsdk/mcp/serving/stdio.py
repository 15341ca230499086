"""The server's end of stdin and stdout: a message a line.

The package's own transport reads in a thread that a cancelled server waits for until the client sends another line, takes lines
of any length, and leaves a line that is no message without an answer. Here the threads are daemons on descriptors of their own,
a line has a longest length, and what cannot be read is answered as JSON-RPC has it. While it is entered, what else the process
prints goes to stderr, and reads nothing.
"""

from __future__ import annotations

import asyncio
import logging
import os
import queue
import sys
import threading
from collections.abc import AsyncGenerator, Coroutine, Generator
from contextlib import asynccontextmanager, contextmanager

import anyio
import mcp_types as wire
import msgspec
from anyio.streams.memory import MemoryObjectReceiveStream, MemoryObjectSendStream
from mcp.shared.message import SessionMessage

from agentsdk.mcp.lines import CappedLines

logger = logging.getLogger("agentsdk")

LONGEST_LINE = 8_388_608
"""The bytes of the longest line that is read."""

_CHUNK = 65_536
_FLUSH = 5.0
"""Seconds for which what is still to be written is waited for at the end."""

AsyncCall = Coroutine[object, object, None]
_Written = tuple[bytes, asyncio.Future[None]]


@asynccontextmanager
async def stdio_streams() -> AsyncGenerator[
    tuple[MemoryObjectReceiveStream[SessionMessage | Exception], MemoryObjectSendStream[SessionMessage]], None
]:
    """What the client sends, and what it is sent. The one ends with stdin; the process's stdout is its own again afterwards."""
    arrived, incoming = anyio.create_memory_object_stream[SessionMessage | Exception](0)
    outgoing, to_write = anyio.create_memory_object_stream[SessionMessage](0)
    refusals = outgoing.clone()
    with _claimed() as (stdin, stdout):
        writing = asyncio.create_task(_write(to_write, stdout), name="mcp stdout")
        _read_in_thread(stdin, _Receiver(arrived, refusals))
        try:
            yield incoming, outgoing
        finally:
            refusals.close()
            await asyncio.wait((writing,), timeout=_FLUSH)
            writing.cancel()
            for stream in (incoming, arrived, outgoing):
                stream.close()


class _Receiver:
    """Takes lines from the reading thread into the event loop."""

    def __init__(
        self, arrived: MemoryObjectSendStream[SessionMessage | Exception], refusals: MemoryObjectSendStream[SessionMessage]
    ) -> None:
        self._loop = asyncio.get_running_loop()
        self._arrived = arrived
        self._refusals = refusals

    def take(self, line: bytes | None) -> bool:
        """Called in the thread: hand over a line, None for one that was too long; whether more is wanted."""
        return self._wait(self._taken(line))

    def end(self) -> None:
        """Called in the thread: there is no more."""
        self._wait(self._ended())

    def _wait(self, what: AsyncCall) -> bool:
        try:
            asyncio.run_coroutine_threadsafe(what, self._loop).result()
        except (RuntimeError, anyio.BrokenResourceError, anyio.ClosedResourceError):  # nobody listens any more
            what.close()
            return False
        return True

    async def _taken(self, line: bytes | None) -> None:
        if line is None:
            await self._refuse(
                None, wire.INVALID_REQUEST, f"a line is longer than {LONGEST_LINE} bytes, expected a shorter one"
            )
        elif line.strip():
            try:
                message = wire.jsonrpc_message_adapter.validate_json(line, by_name=False)
            except ValueError:
                await self._refuse_unread(line)
            else:
                await self._arrived.send(SessionMessage(message))

    async def _refuse_unread(self, line: bytes) -> None:
        try:
            given: object = msgspec.json.decode(line)
        except ValueError:
            await self._refuse(None, wire.PARSE_ERROR, "a line is no JSON, expected one message a line")
            return
        id_given = given.get("id") if isinstance(given, dict) else None  # pyright: ignore[reportUnknownVariableType,reportUnknownMemberType]
        request_id = id_given if isinstance(id_given, str | int) and not isinstance(id_given, bool) else None
        await self._refuse(
            request_id, wire.INVALID_REQUEST, "a line is no JSON-RPC message, expected a request or a notification"
        )

    async def _refuse(self, request_id: str | int | None, code: int, why: str) -> None:
        logger.warning("the client of the MCP server sent what cannot be read: %s", why)
        error = wire.JSONRPCError(jsonrpc="2.0", id=request_id, error=wire.ErrorData(code=code, message=why))
        await self._refusals.send(SessionMessage(error))

    async def _ended(self) -> None:
        self._arrived.close()


def _read_in_thread(descriptor: int, receiver: _Receiver) -> None:
    def read() -> None:
        lines = CappedLines(LONGEST_LINE)
        while chunk := os.read(descriptor, _CHUNK):
            if not all(map(receiver.take, lines.split(chunk))):
                return
        if receiver.take(lines.rest()):
            receiver.end()

    threading.Thread(target=read, name="agentsdk mcp stdin", daemon=True).start()


async def _write(messages: MemoryObjectReceiveStream[SessionMessage], descriptor: int) -> None:
    """Write each message as a line, in a thread that is not waited for: a client may have stopped reading."""
    loop = asyncio.get_running_loop()
    lines: queue.SimpleQueue[_Written | None] = queue.SimpleQueue()
    threading.Thread(target=_write_lines, args=(lines, descriptor, loop), name="agentsdk mcp stdout", daemon=True).start()
    try:
        async with messages:
            async for message in messages:
                line = message.message.model_dump_json(by_alias=True, exclude_unset=True).encode() + b"\n"
                written: asyncio.Future[None] = loop.create_future()
                lines.put((line, written))
                await written
    except OSError:  # the client is gone; so is its stdin, or soon
        logger.info("the client of the MCP server reads no more")
    finally:
        lines.put(None)


def _write_lines(lines: queue.SimpleQueue[_Written | None], descriptor: int, loop: asyncio.AbstractEventLoop) -> None:
    def tell(written: asyncio.Future[None], error: OSError | None) -> None:
        if written.done():
            return
        if error is None:
            written.set_result(None)
        else:
            written.set_exception(error)

    while (given := lines.get()) is not None:
        line, written = given
        error: OSError | None = None
        try:
            while line:
                line = line[os.write(descriptor, line) :]
        except OSError as failure:
            error = failure
        try:
            loop.call_soon_threadsafe(tell, written, error)
        except RuntimeError:  # the loop is closed
            return


@contextmanager
def _claimed() -> Generator[tuple[int, int], None, None]:
    """Descriptors of its own of stdin and stdout. Meanwhile 0 reads nothing, and 1 is stderr."""
    sys.stdout.flush()
    stdin, stdout = os.dup(0), os.dup(1)
    nothing = os.open(os.devnull, os.O_RDONLY)
    os.dup2(nothing, 0)
    os.close(nothing)
    os.dup2(2, 1)
    try:
        yield stdin, stdout
    finally:
        sys.stdout.flush()
        os.dup2(stdin, 0)
        os.dup2(stdout, 1)
