"""`HostShell`: one shell that runs command after command, so that folder and variables last.

The shell reads its commands from a pipe. Behind each it prints a line with a number that nobody can know before, on stdout
with the exit code and on stderr: what came before that line is the command's output. A command that finds the number out
deceives only whoever let it run, about its own output.
"""

from __future__ import annotations

import asyncio
import secrets
import shlex
import time
from collections.abc import Mapping, Sequence
from contextlib import AsyncExitStack
from typing import Protocol

from agentsdk.ports.sandbox import DEFAULT_TIMEOUT, Completed, SandboxLimits, SandboxShell, check_command
from agentsdk.sandboxes.output import HeadTail
from agentsdk.sandboxes.process import Child, Pipes
from agentsdk.types.errors import SandboxError

_START = ["sh", "-c", "command -v bash >/dev/null && exec bash --noprofile --norc; exec sh"]
_EXIT_CODE_DIGITS = 8


class Host(Protocol):
    """What a shell needs of its sandbox, a `HostSandbox`."""

    limits: SandboxLimits

    async def prove(self) -> None:
        """See `HostSandbox.prove`."""
        ...

    async def begin(
        self, pipes: Pipes, argv: Sequence[str], env: Mapping[str, str] | None, cwd: str, limits: SandboxLimits
    ) -> Child:
        """See `HostSandbox.begin`."""
        ...

    async def end(self, child: Child) -> None:
        """See `HostSandbox.end`."""
        ...


class HostShell(SandboxShell):
    """A shell of a `HostSandbox`."""

    def __init__(self, sandbox: Host) -> None:
        self._sandbox = sandbox
        self._session: _Session | None = None
        self._one = asyncio.Lock()
        self._closed = False

    async def run(self, command: str, *, timeout: float = DEFAULT_TIMEOUT) -> Completed:
        """See `SandboxShell.run`."""
        check_command(["sh", "-c", command], "", None, ".", timeout)
        async with self._one:
            session = await self._living()
            done = False
            try:
                completed = await session.run(command, timeout)
                done = not session.over
            finally:
                if not done:
                    await self._end()
            if not done:
                self._check_open()
            return completed

    async def _living(self) -> _Session:
        """The session; a new one where there is none, or where it has died since the last command."""
        self._check_open()
        if self._session is not None and self._session.died:
            await self._end()
        if self._session is None:
            await self._sandbox.prove()
            session = _Session(self._sandbox)
            await session.begin()
            self._session = session
            if self._closed:
                await self._end()
                self._check_open()
        return self._session

    def _check_open(self) -> None:
        if self._closed:
            raise SandboxError("the shell is closed, expected an open one; make another with Sandbox.shell()")

    async def restart(self) -> None:
        """See `SandboxShell.restart`."""
        async with self._one:
            await self._end()

    async def aclose(self) -> None:
        """See `SandboxShell.aclose`."""
        self._closed = True
        await self._end()
        async with self._one:
            pass  # a command that was about to start the shell ends it

    async def _end(self) -> None:
        session, self._session = self._session, None
        if session is not None:
            await session.end()


class _Session:
    """One life of the shell."""

    def __init__(self, sandbox: Host) -> None:
        self._sandbox = sandbox
        self._streams = (_Stream(), _Stream())
        self._stack = AsyncExitStack()
        self._pipes: Pipes
        self._child: Child
        self._ended: asyncio.Task[int]
        self.over = False

    @property
    def died(self) -> bool:
        """Whether the shell has ended by itself."""
        return self._ended.done()

    async def begin(self) -> None:
        """Start the shell."""
        out, err = self._streams
        pipes = await self._stack.enter_async_context(Pipes(out.feed, err.feed))
        try:
            self._child = await self._sandbox.begin(pipes, _START, None, ".", self._sandbox.limits)
        except BaseException:
            await self._stack.aclose()
            raise
        self._pipes = pipes
        self._ended = asyncio.create_task(self._child.wait(), name="agentsdk sandbox shell")

    async def run(self, command: str, timeout: float) -> Completed:
        """Run one command line; the session is over if it took too long, or ended the shell."""
        begun, mark = time.monotonic(), secrets.token_hex(16)
        waits = [stream.expect(mark, self._sandbox.limits.output) for stream in self._streams]
        # `command` takes from eval that a wrong syntax ends the shell. The mark is printed by a format, so that it stands
        # nowhere in what the shell is given as a text of its own: `set -v` and `set -x` print that.
        half = len(mark) // 2
        report = f"printf '\\n%s%s %{_EXIT_CODE_DIGITS}d\\n' {mark[:half]} {mark[half:]}"
        line = f"{{ command eval {shlex.quote(command)}\n}} </dev/null; {{ {report} $?; {report} 0 >&2; }}\n"
        self._pipes.stdin.write(line.encode())
        timed_out = False
        try:
            async with asyncio.timeout(timeout):
                code = await self._reported(waits)
        except TimeoutError:
            timed_out = True
            code = None
        if code is None:
            self.over = True
            self._child.kill()
            code = await self._ended
            await self._pipes.ended()
        out, err = (stream.kept for stream in self._streams)
        for stream in self._streams:
            stream.finish()
        return Completed(
            code, out.text(), err.text(), timed_out, out.truncated or err.truncated, round(time.monotonic() - begun, 6)
        )

    async def _reported(self, marks: list[asyncio.Future[int]]) -> int | None:
        """The exit code, once both streams have come to their mark; None if the shell ends before."""
        for mark in marks:
            await asyncio.wait((mark, self._ended), return_when=asyncio.FIRST_COMPLETED)
            if not mark.done():
                return None
        return marks[0].result()

    async def end(self) -> None:
        """End the shell, and all that it started."""
        await self._sandbox.end(self._child)
        await asyncio.wait((self._ended,))
        self._ended.exception()  # who ran a command was told
        await self._stack.aclose()


class _Stream:
    """One stream of the shell, cut at the mark that ends a command's output."""

    def __init__(self) -> None:
        self.kept = HeadTail(2)
        self._mark = b""
        self._held = b""  # the end of what has come, which may be the beginning of a mark
        self._found: asyncio.Future[int] | None = None

    def expect(self, mark: str, size: int) -> asyncio.Future[int]:
        """Keep what comes until the mark; done with the number behind it."""
        self.kept = HeadTail(size)
        self._mark = f"\n{mark} ".encode()
        held, self._held = self._held, b""
        self._found = asyncio.get_running_loop().create_future()
        self.feed(held)
        return self._found

    def feed(self, data: bytes) -> None:
        """What has come."""
        data = self._held + data
        if self._found is None or self._found.done():
            self._held = data[-65536:]  # printed between two commands, by what runs in the background
            return
        at = data.find(self._mark)
        if at < 0:
            keep = len(self._mark) - 1
            self.kept.feed(data[:-keep])
            self._held = data[-keep:]
            return
        end = at + len(self._mark) + _EXIT_CODE_DIGITS + 1
        if len(data) < end:
            self.kept.feed(data[:at])
            self._held = data[at:]
            return
        self.kept.feed(data[:at])
        self._held = data[end:]
        self._found.set_result(int(data[at + len(self._mark) : end]))

    def finish(self) -> None:
        """Nothing more comes of this command."""
        if self._found is not None and not self._found.done():
            self.kept.feed(self._held)
            self._held = b""
            self._found.cancel()
