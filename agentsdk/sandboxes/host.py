"""`HostSandbox`: what the sandboxes of this machine have in common. Each of them only says how a command is started."""

from __future__ import annotations

import asyncio
import os
import tempfile
import time
from abc import abstractmethod
from collections.abc import Mapping, Sequence
from contextlib import suppress
from pathlib import Path

from agentsdk.databases.finished import finished
from agentsdk.ports.sandbox import (
    DEFAULT_TIMEOUT,
    Completed,
    Sandbox,
    SandboxLimits,
    SandboxShell,
    check_command,
    check_limits,
)
from agentsdk.sandboxes.files import HostFiles
from agentsdk.sandboxes.output import HeadTail
from agentsdk.sandboxes.process import Child, Pipes
from agentsdk.sandboxes.shell import HostShell
from agentsdk.sandboxes.snapshots import put_back, take
from agentsdk.sandboxes.trees import remove_tree
from agentsdk.sandboxes.workspace import Workspace, workspace_at
from agentsdk.types.errors import SandboxError, SandboxUnavailableError

MAX_RUNNING = 32
"""How many commands of one sandbox run side by side; further ones wait for their turn."""


class HostSandbox(Sandbox):
    """A sandbox whose workspace is a folder of this machine: `workspace`, or a new one, removed with the sandbox."""

    def __init__(
        self, workspace: str | Path | None = None, *, limits: SandboxLimits | None = None, private_tmp: bool = False
    ) -> None:
        check_limits(limits)
        self.limits = limits or SandboxLimits()
        root = None if workspace is None else workspace_at(workspace)
        self._made: Path | None = None
        self.tmpdir = "/tmp"
        if root is None or private_tmp:
            # The folder above keeps other users of this machine out, whatever permissions a command gives its files.
            self._made = Path(tempfile.mkdtemp(prefix="agentsdk-sandbox-")).resolve()
        if self._made is not None and private_tmp:
            self.tmpdir = str(self._made / "tmp")
            os.mkdir(self.tmpdir)
        if self._made is not None and root is None:
            root = self._made / "workspace"
            root.mkdir()
        assert root is not None
        self.workdir = str(root)
        self._workspace = Workspace(root, self.workdir)
        self._files = HostFiles(self._workspace, self, self.limits)
        self._turns = asyncio.Semaphore(MAX_RUNNING)
        self._starting: set[asyncio.Task[Child]] = set()
        self._running: set[Child] = set()
        self._shells: set[SandboxShell] = set()
        self._ready = asyncio.Lock()
        self._proven = False
        self._closing: asyncio.Task[None] | None = None

    @property
    def files(self) -> HostFiles:
        """The files of the workspace."""
        return self._files

    @abstractmethod
    async def start(
        self, argv: Sequence[str], stdio: tuple[int, int, int], env: Mapping[str, str], cwd: str, limits: SandboxLimits
    ) -> Child:
        """Start a command on these ends of pipes. `cwd` is absolute, `env` all that it gets."""
        ...

    @property
    @abstractmethod
    def unavailable(self) -> str:
        """What to do where the sandbox cannot isolate."""
        ...

    def path_folders(self) -> list[str]:
        """Where programs are looked for, in this order."""
        return ["/usr/local/bin", "/usr/bin", "/bin"]

    def shown_folders(self) -> list[str]:
        """The folders whose files commands can read, those of the system's programs aside."""
        return [self.workdir]

    async def run(
        self,
        argv: Sequence[str],
        *,
        stdin: str = "",
        env: Mapping[str, str] | None = None,
        cwd: str = ".",
        timeout: float = DEFAULT_TIMEOUT,
        limits: SandboxLimits | None = None,
    ) -> Completed:
        """See `Sandbox.run`."""
        check_command(argv, stdin, env, cwd, timeout)
        check_limits(limits)
        await self.prove()
        return await self._run(argv, stdin, env, cwd, timeout, limits or self.limits)

    async def _run(
        self,
        argv: Sequence[str],
        stdin: str,
        env: Mapping[str, str] | None,
        cwd: str,
        timeout: float,
        limits: SandboxLimits,
    ) -> Completed:
        stdout, stderr = HeadTail(limits.output), HeadTail(limits.output)
        async with self._turns, Pipes(stdout.feed, stderr.feed) as pipes:
            begun = time.monotonic()
            child = await self.begin(pipes, argv, env, cwd, limits)
            timed_out = False
            try:
                pipes.feed(stdin.encode())
                try:
                    async with asyncio.timeout(timeout):
                        code = await child.wait()
                except TimeoutError:
                    timed_out = True
                    child.kill()
                    code = await child.wait()
                await pipes.ended()
            except SandboxError as error:
                await pipes.ended()
                raise SandboxError(f"{error}: {stderr.text().strip()[-300:]}") from error
            finally:
                await self.end(child)
        return Completed(
            code,
            stdout.text(),
            stderr.text(),
            timed_out,
            stdout.truncated or stderr.truncated,
            round(time.monotonic() - begun, 6),
        )

    async def begin(
        self, pipes: Pipes, argv: Sequence[str], env: Mapping[str, str] | None, cwd: str, limits: SandboxLimits
    ) -> Child:
        """Start a command on `pipes`; `end` it."""
        self._check_open()
        folder = self._workspace.check_folder(cwd)
        variables = {
            "PATH": ":".join(self.path_folders()),
            "HOME": self.workdir,
            "LANG": "C.UTF-8",
            "TMPDIR": self.tmpdir,
            "TERM": "dumb",
            **(env or {}),
        }
        # A caller that is cancelled while a process starts must not lose it: it could not be killed.
        starting = asyncio.create_task(self._started(argv, pipes, variables, folder, limits), name="agentsdk sandbox start")
        self._starting.add(starting)
        try:
            child = await finished(starting)
        except asyncio.CancelledError:
            if starting.exception() is None:
                await self.end(starting.result())
            raise
        except OSError as error:
            raise SandboxError(f"the command could not be started: {error.strerror or error}") from error
        finally:
            self._starting.discard(starting)
        if self._closing is not None:
            await self.end(child)
            self._check_open()
        return child

    async def _started(
        self, argv: Sequence[str], pipes: Pipes, env: Mapping[str, str], cwd: str, limits: SandboxLimits
    ) -> Child:
        try:
            child = await self.start(argv, pipes.child, env, cwd, limits)
        finally:
            pipes.started()
        self._running.add(child)
        return child

    async def end(self, child: Child) -> None:
        """Kill what is left of a command, and wait until it is gone, whoever is cancelled meanwhile."""
        child.kill()
        try:
            with suppress(SandboxError):  # the command did not start; who waits for it is told
                await finished(asyncio.ensure_future(child.wait()))
        finally:
            self._running.discard(child)

    def shell(self) -> SandboxShell:
        """See `Sandbox.shell`."""
        shell = HostShell(self)
        self._shells.add(shell)
        return shell

    async def snapshot(self) -> bytes:
        """See `Sandbox.snapshot`."""
        return await self._files.on_thread(take, self._workspace)

    async def restore(self, snapshot: bytes) -> None:
        """See `Sandbox.restore`."""
        await self._files.on_thread(put_back, self._workspace, snapshot)

    async def prove(self) -> None:
        """Try once, for each sandbox, that it isolates. Raises `SandboxUnavailableError` if it does not.

        The proof is a real command, which must run, and must fail to read a file that is outside of the workspace.
        """
        if self._proven:
            return
        async with self._ready:
            if self._proven:
                return
            await self._probe()
            self._proven = True

    async def _probe(self) -> None:
        script = 'cat "$1" > /dev/null 2>&1 && echo open; touch . && echo ready'
        try:
            with tempfile.NamedTemporaryFile(prefix="agentsdk-probe-", dir=self._hidden_folder()) as secret:
                os.fchmod(secret.fileno(), 0o644)
                tried = await self._run(["sh", "-c", script, "sh", secret.name], "", None, ".", 20.0, self.limits)
        except SandboxError as error:
            self._check_open()
            raise self._refused(str(error)) from error
        if tried.exit_code or tried.stdout != "ready\n":
            reason = tried.stderr.strip()[-300:] or "no reason given"
            raise self._refused("a file outside could be read" if "open" in tried.stdout else reason)

    def _hidden_folder(self) -> str:
        """A folder that this program may write to, and commands may not read."""
        shown = [os.path.realpath(folder) for folder in self.shown_folders()]
        for named in (tempfile.gettempdir(), "/var/tmp", "/dev/shm", str(Path.home())):
            folder = os.path.realpath(named)
            if os.access(folder, os.W_OK | os.X_OK) and not any(Path(folder).is_relative_to(each) for each in shown):
                return folder
        raise SandboxError("no folder of this program's is out of the commands' sight, expected one; leave it out of readable=")

    def _refused(self, reason: str) -> SandboxUnavailableError:
        return SandboxUnavailableError(f"{type(self).__name__} cannot isolate here ({reason}); {self.unavailable}")

    def _check_open(self) -> None:
        if self._closing is not None:
            raise SandboxError("the sandbox is closed, expected an open one; make another")

    async def aclose(self) -> None:
        """See `Sandbox.aclose`. It is done to its end, whoever is cancelled meanwhile."""
        if self._closing is None:
            self._closing = asyncio.create_task(self._close(), name="agentsdk sandbox close")
        if not self._closing.done():
            await finished(self._closing)

    async def _close(self) -> None:
        if self._starting:
            await asyncio.wait(self._starting)
        # Shells first: a command that ends with its shell is told so.
        closing = [*(shell.aclose() for shell in self._shells), *(self.end(child) for child in self._running)]
        await asyncio.gather(*closing)
        if self._made is not None:
            await self._files.on_thread(_remove, self._made)


def _remove(folder: Path) -> None:
    above = os.open(folder.parent, os.O_RDONLY | os.O_DIRECTORY)
    try:
        remove_tree(folder.name, above)
    finally:
        os.close(above)
