"""`SandlockSandbox`: commands confined by Landlock and seccomp, without namespaces, by the package sandlock.

A command sees the machine's file system, and may open what it is given only; names of files, and what `stat` says of them, are
not hidden. It cannot send signals outside, connect to sockets, or see other processes. `sandlock_server` starts the commands.
"""

from __future__ import annotations

import asyncio
import importlib.util
import json
import os
import socket
import sys
from collections.abc import Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

from agentsdk.ports.sandbox import SandboxLimits
from agentsdk.sandboxes import sandlock_server, seccomp
from agentsdk.sandboxes.isolating import IsolatingSandbox
from agentsdk.sandboxes.process import Child
from agentsdk.sandboxes.readable import ETC, command_user, interpreter_folders, is_own
from agentsdk.types.declared import shown
from agentsdk.types.errors import SandboxError, UserError

_READABLE = ("/usr", "/bin", "/sbin", "/lib", "/lib32", "/lib64", "/dev/urandom", "/dev/random", "/dev/zero", "/proc/self")
_MACHINE = ("cpuinfo", "meminfo", "stat", "loadavg", "uptime", "version", "filesystems", "sys/vm/overcommit_memory")
"""What programs read of /proc to see how large the machine is."""


_LOADER = """
import ctypes, os, sys
code = bytes.fromhex(sys.argv[1])
class Program(ctypes.Structure):
    _fields_ = (("length", ctypes.c_ushort), ("code", ctypes.c_char_p))
if ctypes.CDLL(None).prctl(22, 2, ctypes.byref(Program(len(code) // 8, code)), 0, 0) != 0:
    sys.exit("the filter of system calls could not be loaded")
try:
    os.execvp(sys.argv[2], sys.argv[2:])
except OSError as error:
    print(f"{sys.argv[2]}: {error.strerror}", file=sys.stderr)
    sys.exit(127 if isinstance(error, FileNotFoundError) else 126)
"""
"""Loads a filter (PR_SET_SECCOMP, SECCOMP_MODE_FILTER), and becomes the command."""


class SandlockSandbox(IsolatingSandbox):
    """A sandbox by sandlock (`pip install 'agentsdk[sandbox]'`): Linux 6.12 or newer, with Landlock, on x86_64 or aarch64.

    `workspace`, `readable` and `limits` are as for `BubblewrapSandbox`. `allow_net` are the hosts that commands may connect to,
    as "host:port", by TCP and UDP; none by default. /tmp is not to be had: TMPDIR is a folder of the sandbox's own. As root,
    commands run as a user of the sandbox's own if it made the workspace, else as whom the workspace belongs to.
    """

    def __init__(
        self,
        workspace: str | Path | None = None,
        *,
        readable: Sequence[str | Path] = (),
        allow_net: Sequence[str] = (),
        limits: SandboxLimits | None = None,
    ) -> None:
        self._allow_net = _hosts(allow_net)
        super().__init__(workspace, readable=readable, limits=limits, private_tmp=True)
        self._user = command_user(self._workspace.root, self._made)
        self._server: asyncio.Task[_Server] | None = None

    @property
    def unavailable(self) -> str:
        """What to do where the sandbox cannot isolate."""
        return "pip install 'agentsdk[sandbox]' on Linux 6.12 or newer with Landlock"

    async def start(
        self, argv: Sequence[str], stdio: tuple[int, int, int], env: Mapping[str, str], cwd: str, limits: SandboxLimits
    ) -> Child:
        """See `HostSandbox.start`."""
        if self._server is None:
            self._server = asyncio.create_task(_Server.start(self._user), name="agentsdk sandlock server")
        server = await asyncio.shield(self._server)
        request = {
            "argv": [*self._loader(), *argv],
            "policy": self._policy(env, cwd, limits),
            "rlimits": {"RLIMIT_FSIZE": limits.file_size, "RLIMIT_CORE": 0, "RLIMIT_NOFILE": 4096},
        }
        return server.command(request, stdio)

    def _loader(self) -> list[str]:
        """What starts a command in a workspace that other users may enter: a Python that first refuses set-user-ID bits to it.

        Sandlock has no rule for them, and it could not work under such a filter itself. Nobody gets at the other workspaces.
        """
        if self._made is not None and self._made in self._workspace.root.parents:
            return []
        code = seccomp.no_setid()
        if code is None:
            raise SandboxError("the numbers of system calls are not known on this architecture")
        python = sys.executable if interpreter_folders(self._user) else "python3"
        return [python, "-I", "-S", "-c", _LOADER, code.hex()]

    def _policy(self, env: Mapping[str, str], cwd: str, limits: SandboxLimits) -> dict[str, Any]:
        readable = [*_READABLE, *(f"/proc/{name}" for name in _MACHINE), *(f"/etc/{name}" for name in ETC)]
        readable += self.read_only
        return {
            "fs_readable": [path for path in readable if os.path.exists(path)],
            "fs_writable": [self.workdir, self.tmpdir, "/dev/null", "/dev/full"],
            "cwd": cwd,
            "clean_env": True,
            "env": dict(env),
            "net_allow": list(self._allow_net),
            "max_memory": limits.memory,
            "max_processes": limits.processes,
            "extra_deny_syscalls": ["memfd_create"],  # memory that no limit counts
        }

    async def _close(self) -> None:
        await super()._close()
        starting, self._server = self._server, None
        if starting is not None:
            with suppress(SandboxError, OSError):  # that it could not be started has been said
                await (await starting).aclose()


class _Server:
    """A process of `sandlock_server`."""

    def __init__(self, process: asyncio.subprocess.Process, connection: socket.socket) -> None:
        self._process = process
        self._connection = connection

    @classmethod
    async def start(cls, user: int | None) -> _Server:
        """Start one whose commands run as `user`. Raises `SandboxError` where sandlock is not installed."""
        found = importlib.util.find_spec("sandlock")
        if found is None or found.origin is None:
            raise SandboxError("sandlock is not installed")
        ours, its = socket.socketpair()
        with its:
            script, folder = sandlock_server.__file__, str(Path(found.origin).parents[1])
            whose = [] if user is None else [str(user), *(["own"] if is_own(user) else [])]
            process = await asyncio.create_subprocess_exec(
                *(sys.executable, "-I", "-S", script, str(its.fileno()), folder, *whose),
                stdin=asyncio.subprocess.DEVNULL,
                stdout=asyncio.subprocess.DEVNULL,
                stderr=asyncio.subprocess.DEVNULL,
                pass_fds=(its.fileno(),),
                env={},
                start_new_session=True,
            )
        return cls(process, ours)

    def command(self, request: Mapping[str, object], stdio: tuple[int, int, int]) -> _Command:
        """Start a command."""
        ours, its = socket.socketpair()
        asked = os.memfd_create("agentsdk")
        try:
            with its, os.fdopen(os.dup(asked), "w", encoding="utf-8") as file:
                json.dump(request, file)
                file.flush()
                os.lseek(asked, 0, os.SEEK_SET)
                socket.send_fds(self._connection, [b"x"], [asked, *stdio, its.fileno()])
        except OSError as error:
            ours.close()
            raise SandboxError("the process that starts commands has ended; make another sandbox") from error
        finally:
            os.close(asked)
        return _Command(ours)

    async def aclose(self) -> None:
        """End it."""
        self._connection.close()
        await self._process.wait()


class _Command:
    """A command, known by the socket on which it is said how it ended."""

    def __init__(self, told: socket.socket) -> None:
        told.setblocking(False)
        self._told = told
        self._killed = False
        self._ended = asyncio.ensure_future(self._end())

    async def wait(self) -> int:
        """See `Child.wait`. Raises `SandboxError` if the command could not be started."""
        return await asyncio.shield(self._ended)

    def kill(self) -> None:
        """See `Child.kill`."""
        if not self._ended.done():
            self._killed = True
            self._told.shutdown(socket.SHUT_WR)

    async def _end(self) -> int:
        with self._told:
            said = await asyncio.get_running_loop().sock_recv(self._told, 4096)
        result: dict[str, Any] = json.loads(said or b"{}")
        if "exit_code" in result:
            return int(result["exit_code"])
        if self._killed:
            return 137
        raise SandboxError(f"sandlock could not make the sandbox ({result.get('error', 'it ended without a reason')})")


def _hosts(given: Sequence[str]) -> tuple[str, ...]:
    if isinstance(given, str) or not isinstance(given, Sequence):
        raise UserError(f"allow_net is {shown(given)}, expected a list of texts; ['pypi.org:443'], say")
    for host in given:
        if not isinstance(host, str) or not host.rpartition(":")[2].isdigit() or not host.rpartition(":")[0] or "*" in host:
            raise UserError(f"allow_net has {shown(host)}, expected a host and a port, 'pypi.org:443', say")
    return tuple(given)
