"""The stdio transport: a server as a child process, one JSON-RPC message a line.

The official package has one too. This one differs where a server misbehaves: a line is capped and costs time in proportion to
its length, bytes that are no UTF-8 are replaced, what is no message (a banner) is skipped and said, a response that cannot be
read fails its own request at once, and at the end what the server has started is killed, whether or not it left politely
itself, within some seconds.
"""

from __future__ import annotations

import asyncio
import codecs
import json
import os
import re
import signal
import weakref
from asyncio.subprocess import PIPE, SubprocessStreamProtocol
from collections.abc import AsyncGenerator, Callable, Iterator, Mapping, Sequence
from contextlib import asynccontextmanager, suppress
from typing import cast

import anyio
from anyio.streams.memory import MemoryObjectReceiveStream, MemoryObjectSendStream
from mcp.shared.message import SessionMessage
from mcp_types import INTERNAL_ERROR, ErrorData, JSONRPCError, JSONRPCMessage, RequestId, jsonrpc_message_adapter
from pydantic import ValidationError

from agentsdk.mcp.client.descendants import kill_marked, mark_variable, new_mark
from agentsdk.mcp.lines import CappedLines
from agentsdk.models.shield import shielded
from agentsdk.ports.mcp import STDERR_LINES, MCPEvents
from agentsdk.types.text import clean_value, escaped, shortened

MAX_LINE = 64 * 2**20
"""The longest line in bytes that a server may send: a longer one ends the connection."""

INHERITED = (
    ("APPDATA", "LOCALAPPDATA", "PATH", "PATHEXT", "SYSTEMDRIVE", "SYSTEMROOT", "TEMP", "USERNAME", "USERPROFILE")
    if os.name == "nt"
    else ("HOME", "LOGNAME", "PATH", "SHELL", "TERM", "USER")
)
"""The variables of this process that a server gets besides those it is given: without them few programs start."""

_RESPONSE = re.compile(
    rb'\s{0,9}\{\s{0,9}"jsonrpc"\s{0,9}:\s{0,9}"2\.0"\s{0,9},\s{0,9}"id"\s{0,9}:\s{0,9}(\d{1,15})\s{0,9},\s{0,9}"result"'
)
"""How a response begins, also one that is no JSON or nests too deep."""

_CHUNK = 256 * 1024
_WAITING = 256  # messages for a server that does not read: a request it does not take can still be called off
_LAST_WORDS = 0.5
_NOTICE = 0.5
_POLITE = 1.0
_TERMINATE = 1.0
_MAX_SHOWN = 200
_MAX_STDERR = 500

Streams = tuple[MemoryObjectReceiveStream[SessionMessage | Exception], MemoryObjectSendStream[SessionMessage]]


def child_environment(given: Mapping[str, str] | None) -> dict[str, str]:
    """The environment of a server: the variables it is given, and a minimal set of this process's."""
    known = {name: value for name in INHERITED if (value := os.environ.get(name)) is not None}
    return known | dict(given or {})


class _Child(SubprocessStreamProtocol):
    """Knows when the process has left, also while others hold its pipes."""

    def __init__(self, loop: asyncio.AbstractEventLoop) -> None:
        super().__init__(limit=_CHUNK, loop=loop)
        self.has_left = asyncio.Event()

    def process_exited(self) -> None:
        super().process_exited()
        self.has_left.set()


class StdioProcess:
    """A server's process. `left_with` is its code where it left by itself."""

    def __init__(self, transport: asyncio.SubprocessTransport, child: _Child, mark: str) -> None:
        self._transport = transport
        self._child = child
        self.pid = transport.get_pid()
        self.left_with: int | None = None
        # A process must not outlive an interpreter that ends without closing its loop.
        self._at_exit = weakref.finalize(self, _kill_all, self.pid, mark)

    @property
    def has_left(self) -> bool:
        """Whether it has ended, also where the event loop has not been told yet."""
        waitid = getattr(os, "waitid", None)
        if waitid is None or self._child.has_left.is_set():
            return self._child.has_left.is_set()
        try:
            return waitid(os.P_PID, self.pid, os.WEXITED | os.WNOHANG | os.WNOWAIT) is not None
        except ChildProcessError:
            return True

    @property
    def returncode(self) -> int | None:
        """How the process left; None while it is there."""
        return self._transport.get_returncode()

    async def stop(self, is_silent: bool) -> None:
        """Close its input, wait, ask it to end, then kill it and what it has started.

        `is_silent`: its output has ended, so it is about to leave by itself.
        """
        if is_silent:
            await self._left_within(_NOTICE)
        self.left_with = self.returncode
        stdin = self._child.stdin
        if stdin is not None:
            stdin.close()
        try:
            if not await self._left_within(_POLITE):
                _kill_group(self.pid, signal.SIGTERM)
                await self._left_within(_TERMINATE)
        finally:
            self._at_exit()
            if self.returncode is None and not hasattr(os, "killpg"):
                # Elsewhere it is dead: the transport would look whether it is, and take its exit code from asyncio.
                with suppress(ProcessLookupError, PermissionError):
                    self._transport.kill()
            with suppress(asyncio.CancelledError):
                await self._left_within(_TERMINATE)
            self._transport.close()

    async def _left_within(self, seconds: float) -> bool:
        try:
            async with asyncio.timeout(seconds):
                await self._child.has_left.wait()
        except TimeoutError:
            return False
        return True


def _kill_group(pid: int, number: int | None = None) -> None:
    kill = getattr(os, "killpg", None)
    if kill is not None:
        with suppress(ProcessLookupError, PermissionError):
            kill(pid, signal.SIGKILL if number is None else number)


def _kill_all(pid: int, mark: str) -> None:
    _kill_group(pid)
    kill_marked(mark)


@asynccontextmanager
async def stdio_transport(
    command: str,
    args: Sequence[str],
    env: Mapping[str, str] | None,
    cwd: str | os.PathLike[str] | None,
    events: MCPEvents,
    started: Callable[[StdioProcess], None],
) -> AsyncGenerator[Streams]:
    """A server's process, and the streams of its messages. Raises `OSError` or `ValueError` where it cannot be started."""
    loop, mark = asyncio.get_running_loop(), new_mark()
    made, child = await loop.subprocess_exec(
        lambda: _Child(loop),
        command,
        *args,
        stdin=PIPE,
        stdout=PIPE,
        stderr=PIPE,
        env=child_environment(env) | mark_variable(mark),
        cwd=cwd,
        start_new_session=True,
    )
    process = StdioProcess(made, child, mark)
    assert child.stdin is not None and child.stdout is not None and child.stderr is not None
    started(process)
    sends, receives = anyio.create_memory_object_stream[SessionMessage | Exception](0)
    outgoing, to_write = anyio.create_memory_object_stream[SessionMessage](_WAITING)
    tasks = [
        loop.create_task(_read(child.stdout, sends, events.warn), name="mcp stdout"),
        loop.create_task(_write(child.stdin, to_write, sends), name="mcp stdin"),
        loop.create_task(_read_stderr(child.stderr, events.stderr), name="mcp stderr"),
    ]
    tasks.append(loop.create_task(_end_with(child, tasks[0]), name="mcp exit"))
    try:
        yield receives, outgoing
    finally:
        is_silent = tasks[0].done() and not tasks[0].cancelled()  # a loop that ends cancels all tasks: that is no silence
        for task in tasks[:2]:
            task.cancel()
        for stream in (sends, receives, outgoing, to_write):
            stream.close()
        drain = loop.create_task(_drain(child.stdout, tasks[0]), name="mcp drain")  # lets a server that writes come to its end
        tasks.append(drain)
        try:
            await shielded(process.stop(is_silent))
        finally:
            for task in tasks:
                task.cancel()
            await asyncio.gather(*tasks, return_exceptions=True)


async def _read(
    stdout: asyncio.StreamReader,
    sends: MemoryObjectSendStream[SessionMessage | Exception],
    warn: Callable[[str], None],
) -> None:
    """Pass on each line's message until the output ends."""
    with sends:
        lines = CappedLines(MAX_LINE)
        while chunk := await stdout.read(_CHUNK):
            for line in lines.split(chunk):
                if line is None:
                    warn(f"it sent a line of more than {MAX_LINE:,} bytes, so the connection was closed")
                    return
                for message in messages_of(line, warn):
                    await sends.send(SessionMessage(message))


async def _end_with(child: _Child, reader: asyncio.Task[None]) -> None:
    """End the reading with the process: what it has started may hold its output open for ever."""
    await child.has_left.wait()
    await asyncio.wait([reader], timeout=_LAST_WORDS)
    reader.cancel()


async def _write(
    stdin: asyncio.StreamWriter,
    to_write: MemoryObjectReceiveStream[SessionMessage],
    sends: MemoryObjectSendStream[SessionMessage | Exception],
) -> None:
    """Write each message as a line. Where the input is closed the connection has ended."""
    try:
        async for outgoing in to_write:
            text = outgoing.message.model_dump_json(by_alias=True, exclude_unset=True)
            stdin.write(text.encode(errors="replace") + b"\n")
            await stdin.drain()
    except OSError:
        sends.close()


async def _read_stderr(stderr: asyncio.StreamReader, tell: Callable[[Sequence[str]], None]) -> None:
    while chunk := await stderr.read(_CHUNK):
        lines = chunk.decode(errors="replace").splitlines()
        tell([shortened(escaped(line), _MAX_STDERR) for line in lines[-STDERR_LINES:] if line.strip()])


async def _drain(stdout: asyncio.StreamReader, reader: asyncio.Task[None]) -> None:
    await asyncio.wait([reader])
    with suppress(OSError):
        while await stdout.read(_CHUNK):
            pass


def messages_of(line: bytes, warn: Callable[[str], None]) -> Iterator[JSONRPCMessage]:
    """The messages of a line: one, those of a batch, none of what is no message."""
    line = line.removeprefix(codecs.BOM_UTF8)  # some runtimes write one first
    if not line.strip():
        return
    try:
        yield jsonrpc_message_adapter.validate_json(line, by_name=False)
        return
    except ValidationError:
        pass
    try:
        given: object = clean_value(json.loads(line.decode(errors="replace")))
    except (ValueError, RecursionError):
        begin = line[:_MAX_SHOWN].decode(errors="replace")
        warn(f"it wrote a line that is no message: {shortened(escaped(begin), _MAX_SHOWN)!r}")
        if (begins := _RESPONSE.match(line)) is not None:
            yield _unreadable(int(begins[1]))
        return
    for entry in cast("list[object]", given) if isinstance(given, list) else [given]:
        message = _mended(entry)
        if message is None:
            warn(f"it wrote JSON that is no message: {shortened(escaped(repr(entry)), _MAX_SHOWN)!r}")
        else:
            yield message


def _mended(entry: object) -> JSONRPCMessage | None:
    """A message of JSON that is nearly one. A response that cannot be read is an error response: its request must not hang."""
    try:
        return jsonrpc_message_adapter.validate_python(entry, by_name=False)
    except (ValidationError, RecursionError):
        pass
    if not isinstance(entry, dict):
        return None
    known = cast("dict[str, object]", entry)
    number = known.get("id")
    if "method" in known or isinstance(number, bool) or not isinstance(number, int | str):
        return None
    return _unreadable(number)


def _unreadable(request_id: RequestId) -> JSONRPCError:
    """What stands for a response that cannot be read: its request must not wait for another."""
    error = ErrorData(code=INTERNAL_ERROR, message="the response is not JSON-RPC", data={"malformed": True})
    return JSONRPCError(jsonrpc="2.0", id=request_id, error=error)
