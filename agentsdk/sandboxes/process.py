"""Processes of this machine: started, fed, read and ended, whatever they do with their ends of the pipes."""

from __future__ import annotations

import asyncio
import functools
import os
import signal
from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack, suppress
from typing import BinaryIO, Protocol, Self

from agentsdk.types.errors import SandboxError

_GRACE = 2.0
"""Seconds that the end of a stream may take once every process of a command is killed."""


class Child(Protocol):
    """A command that runs."""

    async def wait(self) -> int:
        """Its exit code, 128 + n where signal n ended it, once none of its processes is left."""
        ...

    def kill(self) -> None:
        """End every process of it; does nothing where none is left."""
        ...


class Pipes:
    """The three pipes of a command."""

    def __init__(self, stdout: Callable[[bytes], None], stderr: Callable[[bytes], None]) -> None:
        self._sinks = (stdout, stderr)
        self._opened = ExitStack()
        self._child: list[BinaryIO] = []
        self._ended: list[asyncio.Future[None]] = []
        self.stdin: asyncio.WriteTransport

    async def __aenter__(self) -> Self:
        try:
            await self._connect()
        except BaseException:
            self._opened.close()
            raise
        return self

    async def _connect(self) -> None:
        loop = asyncio.get_running_loop()
        (child_in, ours_in), (ours_out, child_out), (ours_err, child_err) = (self._pipe() for _ in range(3))
        self._child = [child_in, child_out, child_err]
        self.stdin, _ = await loop.connect_write_pipe(asyncio.BaseProtocol, ours_in)
        self._opened.callback(self._abort)
        for end, sink in zip((ours_out, ours_err), self._sinks, strict=True):
            over = loop.create_future()
            self._ended.append(over)
            reader, _ = await loop.connect_read_pipe(functools.partial(_same, _Reading(sink, over)), end)
            self._opened.callback(reader.close)

    def _pipe(self) -> tuple[BinaryIO, BinaryIO]:
        """Its end to read from, and that to write to. Programs that are started inherit neither."""
        try:
            reading, writing = os.pipe()
        except OSError as error:
            raise SandboxError(f"no pipe could be made: {error.strerror}; run fewer commands side by side") from error
        ends = os.fdopen(reading, "rb", 0), os.fdopen(writing, "wb", 0)
        for end in ends:
            self._opened.callback(end.close)
        return ends

    def _abort(self) -> None:
        if not self.stdin.is_closing() or self.stdin.get_write_buffer_size():
            self.stdin.abort()  # close() would wait until all is read

    async def __aexit__(self, *_: object) -> None:
        self._opened.close()
        await asyncio.sleep(0)  # transports end in the loop's next step

    @property
    def child(self) -> tuple[int, int, int]:
        """The command's ends, to be closed by `started` once it has them."""
        stdin, stdout, stderr = (end.fileno() for end in self._child)
        return stdin, stdout, stderr

    def started(self) -> None:
        """The command has its ends: close them here, or reading would never end."""
        for end in self._child:
            end.close()

    def feed(self, stdin: bytes) -> None:
        """Write all of stdin, and its end, as fast as the command reads it."""
        if stdin:
            self.stdin.write(stdin)
        if not self.stdin.is_closing():
            self.stdin.write_eof()

    async def ended(self) -> None:
        """Both streams have come to their end. A process that outlives its command is not waited for long."""
        await asyncio.wait(self._ended, timeout=_GRACE)


class _Reading(asyncio.Protocol):
    """Passes what comes from a pipe to `sink` until `over`."""

    def __init__(self, sink: Callable[[bytes], None], over: asyncio.Future[None]) -> None:
        self._sink = sink
        self._over = over

    def data_received(self, data: bytes) -> None:
        self._sink(data)

    def connection_lost(self, exc: Exception | None) -> None:
        if not self._over.done():
            self._over.set_result(None)


def _same(protocol: _Reading) -> _Reading:
    return protocol


class Group(Protocol):
    """What holds all processes of a command together."""

    def kill(self) -> None:
        """End every process in it."""
        ...

    async def gone(self) -> None:
        """Wait until it is empty, and remove it."""
        ...


class HostProcess:
    """A program that was started on this machine, in a session of its own, and in `group` if there is one."""

    def __init__(self, process: asyncio.subprocess.Process, group: Group | None) -> None:
        self._process = process
        self._group = group

    @classmethod
    async def start(
        cls,
        argv: Sequence[str],
        stdio: tuple[int, int, int],
        *,
        env: Mapping[str, str],
        cwd: str | None = None,
        pass_fds: Sequence[int] = (),
        user: int | None = None,
        group: Group | None = None,
    ) -> Self:
        """Start it, as `user` (an id; only root can) if one is given. Raises `OSError`."""
        process = await asyncio.create_subprocess_exec(
            *argv,
            stdin=stdio[0],
            stdout=stdio[1],
            stderr=stdio[2],
            env=dict(env),
            cwd=cwd,
            pass_fds=tuple(pass_fds),
            start_new_session=True,
            user=user,
            group=user,
            extra_groups=None if user is None else (),
        )
        return cls(process, group)

    async def wait(self) -> int:
        """See `Child.wait`."""
        ended = self._process.returncode is not None
        code = await self._process.wait()
        if not ended:
            self._kill_session()  # what it left in the background has its session's number still; nobody else can have it
        if self._group is not None:
            self._group.kill()
            await self._group.gone()
        return exit_code(code)

    def kill(self) -> None:
        """See `Child.kill`."""
        if self._process.returncode is None:
            self._kill_session()
            if self._group is not None:
                self._group.kill()

    def _kill_session(self) -> None:
        with suppress(ProcessLookupError, PermissionError):
            os.killpg(self._process.pid, signal.SIGKILL)


async def ended(pid: int) -> None:
    """Wait until a process that was killed is gone; not for long, as its number may be another's by now."""
    try:
        watched = os.pidfd_open(pid)
    except (OSError, AttributeError):  # gone already; a system without such files
        return
    loop = asyncio.get_running_loop()
    over = asyncio.Event()
    loop.add_reader(watched, over.set)
    try:
        async with asyncio.timeout(_GRACE):
            await over.wait()
    except TimeoutError:
        pass
    finally:
        loop.remove_reader(watched)
        os.close(watched)


def exit_code(code: int) -> int:
    """As a shell has it: 128 + n for signal n, which Python gives as -n."""
    return 128 - code if code < 0 else code
