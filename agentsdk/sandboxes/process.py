"""Processes of this machine: started, fed, read and ended, whatever they do with their ends of the pipes."""

from __future__ import annotations

import asyncio
import functools
import os
import signal
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from typing import Protocol, Self

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
    """The three pipes of a command. `child` are its ends, to be closed by `started` once it has them."""

    def __init__(self, stdout: Callable[[bytes], None], stderr: Callable[[bytes], None]) -> None:
        self._sinks = (stdout, stderr)
        self._transports: list[asyncio.BaseTransport] = []
        self._ended: list[asyncio.Future[None]] = []
        self.stdin: asyncio.WriteTransport
        self._writing: _Writing
        self.child: tuple[int, int, int] = (-1, -1, -1)

    async def __aenter__(self) -> Self:
        loop = asyncio.get_running_loop()
        try:
            ends = [os.pipe() for _ in range(3)]  # each (to be read, to be written), both closed in programs that are started
        except OSError as error:
            raise SandboxError(f"no pipe could be made: {error.strerror}; run fewer commands side by side") from error
        (child_in, ours_in), (ours_out, child_out), (ours_err, child_err) = ends
        self.child = (child_in, child_out, child_err)
        self.stdin, self._writing = await loop.connect_write_pipe(_Writing, os.fdopen(ours_in, "wb", 0))
        for end, sink in zip((ours_out, ours_err), self._sinks, strict=True):
            over = loop.create_future()
            self._ended.append(over)
            reading = _Reading(sink, over)
            reader, _ = await loop.connect_read_pipe(functools.partial(_same, reading), os.fdopen(end, "rb", 0))
            self._transports.append(reader)
        return self

    async def __aexit__(self, *_: object) -> None:
        self.started()
        if self._writing.open:
            self.stdin.abort()  # close() would wait until all is read
        for transport in self._transports:
            transport.close()
        await asyncio.sleep(0)  # transports close their pipes in the loop's next step

    def started(self) -> None:
        """The command has its ends: close them here, or reading would never end."""
        for end in self.child:
            if end >= 0:
                os.close(end)
        self.child = (-1, -1, -1)

    def feed(self, stdin: bytes) -> None:
        """Write all of stdin, and its end, as fast as the command reads it."""
        if stdin:
            self.stdin.write(stdin)
        if not self.stdin.is_closing():
            self.stdin.write_eof()

    async def ended(self) -> None:
        """Both streams have come to their end. A process that outlives its command is not waited for long."""
        await asyncio.wait(self._ended, timeout=_GRACE)


class _Writing(asyncio.BaseProtocol):
    """Knows whether the pipe is open still."""

    open = True

    def connection_lost(self, exc: Exception | None) -> None:
        self.open = False


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
