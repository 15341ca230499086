"""One rule of the suite: `Check`, the `Ground` it stands on, and how it says what it saw."""

from __future__ import annotations

import asyncio
import os
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
from collections.abc import Awaitable, Callable
from contextlib import AsyncExitStack, suppress
from pathlib import Path
from types import TracebackType
from typing import Literal, Self
from unittest import SkipTest
from uuid import uuid4

from msgspec import Struct

from agentsdk.ports.sandbox import Completed, Sandbox, SandboxLimits
from agentsdk.types.errors import AgentsException, SandboxFileError, SandboxUnavailableError, UserError

Factory = Callable[[], Sandbox]
Kind = Literal["escape", "limit", "command", "shell", "files"]

SECRET = "agentsdk-conformance-secret"
VARIABLE = "AGENTSDK_CONFORMANCE_SECRET"

_PF_EXITING = 4  # of a process' flags in /proc


class Ground:
    """What a check stands on: a sandbox, and things of the host that no command may reach.

    `outside` is a folder that everybody may enter and write, with a file `secret`, a socket `socket`, and a folder `empty`.
    `victim` is a process of this user's, `port` one of 127.0.0.1 where TCP and UDP are heard, `name` an abstract socket's.
    """

    def __init__(self, factory: Factory, python: str) -> None:
        self.factory = factory
        self.python = python
        self.nonce = uuid4().hex
        self.heard: list[str] = []
        self.sandbox: Sandbox
        self.outside: Path
        self.victim: subprocess.Popen[bytes]
        self.port = 0
        self.name = f"agentsdk-{self.nonce}"
        self._stack = AsyncExitStack()

    async def __aenter__(self) -> Self:
        self.outside = Path(tempfile.mkdtemp(prefix="agentsdk-outside-", dir="/var/tmp"))
        self._stack.callback(shutil.rmtree, self.outside, ignore_errors=True)
        self.outside.chmod(0o777)
        (self.outside / "secret").write_text(f"{SECRET} {self.nonce}")
        (self.outside / "empty").mkdir()
        (self.outside / "empty").chmod(0o777)
        os.environ[VARIABLE] = SECRET
        self._stack.callback(os.environ.pop, VARIABLE, None)
        self.sandbox = self.factory()
        self._stack.push_async_callback(self.sandbox.aclose)
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self._stack.__aexit__(kind, error, trace)

    def start_victim(self) -> int:
        """Start a process that a command may try to reach; its id."""
        self.victim = subprocess.Popen(
            [sys.executable, "-c", "import sys; sys.stdin.read()"], stdin=subprocess.PIPE, env={VARIABLE: SECRET}
        )
        self._stack.callback(self.victim.wait)
        self._stack.callback(self.victim.kill)
        self._stack.callback(lambda: self.victim.stdin and self.victim.stdin.close())
        return self.victim.pid

    async def listen(self) -> None:
        """Hear whoever connects: `heard` says on what."""
        server = await asyncio.start_server(self._hear("tcp"), "127.0.0.1", 0)
        self.port = server.sockets[0].getsockname()[1]
        udp = await asyncio.get_running_loop().create_datagram_endpoint(
            lambda: _Datagrams(self.heard), ("127.0.0.1", self.port)
        )
        self._stack.callback(udp[0].close)
        servers = [server, await asyncio.start_unix_server(self._hear("unix"), str(self.outside / "socket"))]
        (self.outside / "socket").chmod(0o777)
        if sys.platform == "linux":
            abstract = socket.socket(socket.AF_UNIX)
            abstract.bind(f"\0{self.name}")
            servers.append(await asyncio.start_unix_server(self._hear("abstract"), sock=abstract))
        for one in servers:
            self._stack.callback(one.close)

    def _hear(self, what: str) -> Callable[[asyncio.StreamReader, asyncio.StreamWriter], Awaitable[None]]:
        async def connected(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
            self.heard.append(what)
            writer.close()

        return connected

    def remove_later(self, path: Path) -> None:
        """Remove a file at the end, should there be one."""
        self._stack.callback(path.unlink, missing_ok=True)

    async def run(self, script: str, *given: object, timeout: float = 30.0, limits: SandboxLimits | None = None) -> Completed:
        """Run a shell script in the sandbox; its arguments are `given`, the name of each of its processes has the nonce."""
        argv = ["sh", "-c", script, self.nonce, *map(str, given)]
        return await self.sandbox.run(argv, timeout=timeout, limits=limits)

    async def run_python(
        self, script: str, *given: object, timeout: float = 30.0, limits: SandboxLimits | None = None
    ) -> Completed:
        """The same of a Python script, whose arguments begin at `sys.argv[1]`."""
        argv = [self.python, "-I", "-S", "-c", f"# {self.nonce}\n{script}", *map(str, given)]
        return await self.sandbox.run(argv, timeout=timeout, limits=limits)

    async def wait_for(self, path: str, sandbox: Sandbox | None = None) -> None:
        """Wait until a command has made this file of the workspace."""
        async with asyncio.timeout(30):
            while True:
                with suppress(SandboxFileError):
                    await (sandbox or self.sandbox).files.stat(path)
                    return
                await asyncio.sleep(0.01)

    def expect_nothing_left(self, what: str) -> None:
        """Raises `AssertionError` if a process of the host has the nonce in its command line."""
        expect(left_running(self.nonce), [], f"processes that {what} left running")


class _Datagrams(asyncio.DatagramProtocol):
    def __init__(self, heard: list[str]) -> None:
        self._heard = heard

    def datagram_received(self, data: bytes, addr: object) -> None:
        self._heard.append("udp")


class Check(Struct, frozen=True):
    """One rule: its name in the table, what it is about, and the body.

    `await check(factory)` raises `AssertionError` where the rule is broken, and `unittest.SkipTest`, which pytest knows, where
    it cannot be tried. `python` is the interpreter that the sandbox's commands find.
    """

    name: str
    kind: Kind
    body: Callable[[Ground], Awaitable[None]]

    async def __call__(self, factory: Factory, *, python: str = "python3") -> None:
        """Run it on a sandbox of `factory`."""
        try:
            async with Ground(factory, python) as ground:
                await self.body(ground)
        except (SkipTest, UserError, SandboxUnavailableError):
            raise
        except Exception as error:
            seen = error if isinstance(error, AssertionError) else f"saw {type(error).__name__}: {error}, expected no error"
            raise AssertionError(f"{self.name}: {seen}") from error


def rule(kind: Kind) -> Callable[[Callable[[Ground], Awaitable[None]]], Check]:
    """Make a function a `Check` of its name."""

    def made(body: Callable[[Ground], Awaitable[None]]) -> Check:
        return Check(body.__name__, kind, body)

    return made


def left_running(nonce: str) -> list[int]:
    """The processes of this machine whose command line has `nonce` in it, this one aside; none where /proc cannot tell."""
    found: list[int] = []
    for entry in Path("/proc").glob("[0-9]*/cmdline"):
        with suppress(OSError):
            named, process = nonce.encode() in entry.read_bytes(), entry.parent
            if named and int(process.name) != os.getpid() and not _is_ending(process):
                found.append(int(process.name))
    return found


def _is_ending(process: Path) -> bool:
    """Whether a process, a folder of /proc, has ended or is ending: it was killed, and has had no processor since."""
    state, *fields = (process / "stat").read_text().rpartition(")")[2].split()
    pending = [
        line.split()[1] for line in (process / "status").read_text().splitlines() if line.startswith(("SigPnd", "ShdPnd"))
    ]
    is_killed = any(int(signals, 16) & 1 << signal.SIGKILL - 1 for signals in pending)
    return state in "ZX" or is_killed or bool(int(fields[5]) & _PF_EXITING)


def is_there(*parts: object) -> bool:
    """Whether this machine has something at a path."""
    return os.path.lexists(os.path.join(*map(str, parts)))


def expect(seen: object, expected: object, what: str) -> None:
    """Raises `AssertionError` if they differ."""
    if seen != expected:
        raise AssertionError(f"{what}: saw {_short(seen)}, expected {_short(expected)}")


async def expect_error(kind: type[AgentsException], call: Awaitable[object], what: str) -> AgentsException:
    """Raises `AssertionError` unless `call` raises a `kind`, which is returned."""
    try:
        seen = await call
    except kind as error:
        return error
    except Exception as error:
        raise AssertionError(f"{what}: saw {type(error).__name__}: {error}, expected {kind.__name__}") from error
    raise AssertionError(f"{what}: saw {_short(seen)} returned, expected {kind.__name__}")


def _short(value: object) -> str:
    text = repr(value)
    return text if len(text) <= 600 else f"{text[:600]}... ({len(text)} characters)"
