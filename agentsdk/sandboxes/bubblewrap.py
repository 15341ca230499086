"""`BubblewrapSandbox`: commands in Linux namespaces of their own, made by the program `bwrap`.

A command sees the host's programs, read-only, its workspace, and empty folders for the rest; its own processes only; no
network, not even the host's loopback; no other user, and no privilege to change any of it. `bwrap` needs no privilege itself
where users may make user namespaces.

How a command is started, one program calling the next:

    sh       enters the control group, where one could be made
    bwrap    makes the namespaces and mounts, drops privileges, loads the filter of system calls
    prlimit  sets the limits that are each process's own
    command

What the caller gives (environment, paths) reaches `bwrap` as arguments only, through a file that has no name: an environment of
the command's, LD_PRELOAD say, would act on `bwrap` itself, outside of the sandbox.
"""

from __future__ import annotations

import asyncio
import json
import os
import secrets
import shutil
from collections.abc import Mapping, Sequence
from pathlib import Path

from agentsdk.ports.sandbox import SandboxLimits
from agentsdk.sandboxes import cgroups, seccomp
from agentsdk.sandboxes.isolating import IsolatingSandbox
from agentsdk.sandboxes.process import Child, HostProcess, ended
from agentsdk.sandboxes.readable import ETC, own_uid
from agentsdk.types.errors import SandboxError

_UID = 1000
"""Whom a command takes itself for; on the host it is the user of this program, or one of its own."""

_OVERHEAD = 3
"""Processes of bwrap itself in the control group."""

_ENTER = 'for file in $1; do echo $$ >"$file" || exit 125; done; shift; exec "$@"'

_NAMESPACES = ("--unshare-all", "--unshare-user", "--disable-userns", "--die-with-parent", "--new-session", "--cap-drop", "ALL")


class BubblewrapSandbox(IsolatingSandbox):
    """A sandbox by bubblewrap 0.8 or newer (Debian and Ubuntu: `apt install bubblewrap`). Linux on x86_64 or aarch64.

    `workspace` is the one folder that commands can change; without it a new one is made, and removed at the end. `readable` are
    further folders they can read, at the same paths; the Python that runs this program is among them. There is no network.
    `limits` hold for each command. Memory and processes are counted for all processes of a command together where control
    groups can be made. Raises `UserError` for a folder that is none.
    """

    def __init__(
        self,
        workspace: str | Path | None = None,
        *,
        readable: Sequence[str | Path] = (),
        limits: SandboxLimits | None = None,
    ) -> None:
        super().__init__(workspace, readable=readable, limits=limits)
        self._filter = seccomp.full()

    @property
    def unavailable(self) -> str:
        """What to do where the sandbox cannot isolate."""
        return (
            "install bubblewrap 0.8 or newer (Debian and Ubuntu: apt install bubblewrap) on a Linux that lets this user make "
            "user namespaces, or pip install 'agentsdk[sandbox]' and use SandlockSandbox"
        )

    async def start(
        self, argv: Sequence[str], stdio: tuple[int, int, int], env: Mapping[str, str], cwd: str, limits: SandboxLimits
    ) -> Child:
        """See `HostSandbox.start`."""
        bwrap, prlimit = shutil.which("bwrap"), shutil.which("prlimit")
        if bwrap is None or prlimit is None:
            missing = "bwrap" if bwrap is None else "prlimit (of util-linux)"
            raise SandboxError(f"there is no {missing} on the path")
        if self._filter is None:
            raise SandboxError("the numbers of system calls are not known on this architecture")
        group = cgroups.make(limits, _OVERHEAD)
        if group is None:
            self._become_own_user()
        told, tell = os.pipe()
        opened = [tell]
        try:
            opened += [rules := _unnamed(self._filter), options := _unnamed(b"")]
            words = [*self._options(env, cwd, limits), "--seccomp", str(rules), "--json-status-fd", str(tell)]
            _fill(options, "\0".join(words).encode())
            line = [bwrap, "--args", str(options), "--", prlimit, *_limits(limits, group is not None), "--", *argv]
            if group is not None:
                line = ["/bin/sh", "-c", _ENTER, "sh", " ".join(group.entries), *line]
            fds = (rules, options, tell)
            process = await HostProcess.start(line, stdio, env={}, pass_fds=fds, user=self._user, group=group)
        except BaseException:
            os.close(told)
            if group is not None:
                group.remove()
            raise
        finally:
            for fd in opened:
                os.close(fd)
        return _Wrapped(process, told)

    def _become_own_user(self) -> None:
        """As root without control groups: a limit of processes holds for other users only."""
        if os.geteuid() == 0 and self._user is None:
            self._user = own_uid(self._workspace.root, self._made)

    def _options(self, env: Mapping[str, str], cwd: str, limits: SandboxLimits) -> list[str]:
        room = str(limits.memory)  # what is written to a file in memory is memory
        options = [*_NAMESPACES, "--uid", str(_UID), "--gid", str(_UID), "--hostname", "sandbox", *_programs()]
        options += [
            "--proc",
            "/proc",
            "--dev",
            "/dev",
            "--size",
            room,
            "--tmpfs",
            "/dev/shm",
            "--size",
            room,
            "--tmpfs",
            "/tmp",
        ]
        for folder in self.read_only:
            options += ["--ro-bind", folder, folder]
        options += ["--bind", self.workdir, self.workdir]
        # /proc/sys too: its files are root's, and who is root outside could write them.
        for place in ("/proc", "/dev", "/"):
            options += ["--remount-ro", place]
        options += ["--chdir", cwd, "--clearenv"]
        for name, value in env.items():
            options += ["--setenv", name, value]
        return options


class _Wrapped:
    """A command in bwrap, which reports on `told` as whom it started the command, and how that ended."""

    def __init__(self, process: HostProcess, told: int) -> None:
        self._process = process
        self._told = told
        self._killed = False
        self._ended = asyncio.ensure_future(self._end())

    async def wait(self) -> int:
        """See `Child.wait`. Raises `SandboxError` if bwrap ended before the command had begun."""
        return await asyncio.shield(self._ended)

    async def _end(self) -> int:
        code = await self._process.wait()
        reported = self._report()
        if "child-pid" in reported:
            await ended(reported["child-pid"])  # the first process of the namespace: it ends as the last one
        if "exit-code" not in reported and not self._killed and code < 128:
            raise SandboxError("bwrap could not make the sandbox")
        return code

    def kill(self) -> None:
        """See `Child.kill`."""
        self._killed = True
        self._process.kill()

    def _report(self) -> dict[str, int]:
        """What bwrap said, in a JSON object a line."""
        os.set_blocking(self._told, False)
        with os.fdopen(self._told, "rb") as told:
            said: dict[str, int] = {}
            for line in (told.read() or b"").splitlines():
                said.update(json.loads(line))
            return said


def _programs() -> list[str]:
    """The options that show the host's programs and libraries."""
    options = ["--ro-bind", "/usr", "/usr"]
    for name in ("bin", "sbin", "lib", "lib32", "lib64"):
        path = Path("/", name)
        if path.is_symlink():
            options += ["--symlink", os.readlink(path), str(path)]
        elif path.is_dir():
            options += ["--ro-bind", str(path), str(path)]
    for name in ETC:
        options += ["--ro-bind-try", f"/etc/{name}", f"/etc/{name}"]
    return options


def _limits(limits: SandboxLimits, grouped: bool) -> list[str]:
    """The options of prlimit. Without a control group, memory and processes are limited here as well."""
    options = [f"--fsize={limits.file_size}", "--core=0", "--nofile=4096:4096"]
    return options if grouped else [*options, f"--as={limits.memory}", f"--nproc={limits.processes}"]


def _unnamed(content: bytes) -> int:
    fd = os.memfd_create(f"agentsdk-{secrets.token_hex(4)}")
    _fill(fd, content)
    return fd


def _fill(fd: int, content: bytes) -> None:
    with os.fdopen(os.dup(fd), "wb") as file:
        file.write(content)
    os.lseek(fd, 0, os.SEEK_SET)
