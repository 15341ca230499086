"""`DockerSandbox`: commands in containers, by the program `docker`.

Each command is a container of its own, so that its limits, and the end of all its processes, are the container's. Variables
reach it by a file that its shell reads: as options they would stand in the machine's list of processes, and in the environment
of `docker` they would act on `docker` itself.
"""

from __future__ import annotations

import asyncio
import os
import re
import secrets
import shlex
import shutil
import tempfile
import time
from collections.abc import Mapping, Sequence
from pathlib import Path

from agentsdk.ports.sandbox import SandboxLimits
from agentsdk.sandboxes.host import HostSandbox
from agentsdk.sandboxes.process import Child, HostProcess
from agentsdk.sandboxes.readable import command_user, readable_folders
from agentsdk.types.declared import Fields, a_name
from agentsdk.types.errors import SandboxError, UserError

LABEL = "agentsdk.sandbox"
"""What every container of a sandbox is labelled with."""

_FIELDS = Fields("DockerSandbox", image=a_name("the name of an image; write 'python:3.12-slim'"))
_VARIABLES = "/run/agentsdk-variables"
_ENTER = f'. {_VARIABLES}; exec "$@"'
_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
_IMAGE = re.compile(r"[A-Za-z0-9][A-Za-z0-9._/:@-]*")
_NOT_RUN = 125
"""The exit code of `docker run` where it could not start the container; a command may have it too."""

_GRACE = 10.0
"""Seconds that a container which is being removed may take."""

_WALLS = (
    *("--network=none", "--read-only", "--cap-drop=ALL", "--security-opt=no-new-privileges", "--ipc=private"),
    *("--hostname=sandbox", "--log-driver=none", f"--label={LABEL}"),
)


class DockerSandbox(HostSandbox):
    """A sandbox by Docker 25 or newer, or what has its command line, whose daemon runs on this machine.

    `image` is where the commands' programs come from; it must be there already, and have `sh`, and `grep` and `find` for the
    tools that search. `workspace`, `readable` and `limits` are as for `BubblewrapSandbox`. There is no network. Commands run
    as the user of this program; where that is root, as one of the sandbox's own if it made the workspace, else as whom the
    workspace belongs to. Raises `UserError` for a folder that is none, and for what cannot be an image's name.
    """

    def __init__(
        self,
        workspace: str | Path | None = None,
        *,
        image: str,
        readable: Sequence[str | Path] = (),
        limits: SandboxLimits | None = None,
    ) -> None:
        _FIELDS.check_given(image=image)
        if not _IMAGE.fullmatch(image):  # one that begins with '-' would be an option
            raise UserError(f"image is {image[:80]!r}, expected the name of an image; write 'python:3.12-slim'")
        self._image = image
        self._readable = readable_folders(readable)
        super().__init__(workspace, limits=limits)
        user = command_user(self._workspace.root, self._made)
        self._user = f"{os.geteuid()}:{os.getegid()}" if user is None else f"{user}:{user}"

    @property
    def unavailable(self) -> str:
        """What to do where the sandbox cannot isolate."""
        return f"install Docker, start its daemon, and docker pull {self._image}"

    def shown_folders(self) -> list[str]:
        """See `HostSandbox.shown_folders`."""
        return [*super().shown_folders(), *self._readable]

    async def start(
        self, argv: Sequence[str], stdio: tuple[int, int, int], env: Mapping[str, str], cwd: str, limits: SandboxLimits
    ) -> Child:
        """See `HostSandbox.start`."""
        docker = shutil.which("docker")
        if docker is None:
            raise SandboxError("there is no docker on the path")
        name = f"agentsdk-{secrets.token_hex(8)}"
        folder = Path(tempfile.mkdtemp(prefix="agentsdk-docker-"))
        try:
            (folder / "variables").write_text(_exports(env), encoding="utf-8")
            (folder / "variables").chmod(0o644)  # for whom the command runs as; nobody else may enter the folder
            line = [docker, "run", f"--name={name}", f"--cidfile={folder / 'id'}", *self._options(folder, cwd, limits)]
            line += [self._image, "sh", "-c", _ENTER, "sh", *argv]
            process = await HostProcess.start(line, stdio, env=os.environ)
        except BaseException:
            shutil.rmtree(folder)
            raise
        return _Container(process, docker, name, folder)

    def _options(self, folder: Path, cwd: str, limits: SandboxLimits) -> list[str]:
        memory = f"{limits.memory}b"
        options = ["--rm", "--interactive", "--init", "--pull=never", *_WALLS, f"--user={self._user}", f"--workdir={cwd}"]
        options += [f"--memory={memory}", f"--memory-swap={memory}", f"--shm-size={memory}"]
        options += [f"--tmpfs=/tmp:exec,mode=1777,size={limits.memory}", f"--pids-limit={limits.processes + 1}"]
        options += [f"--ulimit=fsize={limits.file_size}", "--ulimit=core=0", "--ulimit=nofile=4096"]
        options.append(_mounted(self.workdir, self.workdir))
        options += [f"{_mounted(readable, readable)},readonly" for readable in self._readable]
        return [*options, f"{_mounted(str(folder / 'variables'), _VARIABLES)},readonly"]


class _Container:
    """A command in a container, which `docker run` waits for."""

    def __init__(self, process: HostProcess, docker: str, name: str, folder: Path) -> None:
        self._process = process
        self._docker = docker
        self._name = name
        self._folder = folder
        self._killed = False
        self._ended = asyncio.create_task(self._end(), name="agentsdk sandbox container")

    async def wait(self) -> int:
        """See `Child.wait`. Raises `SandboxError` if the container could not be started, or is not gone."""
        return await asyncio.shield(self._ended)

    async def _end(self) -> int:
        try:
            code = await self._process.wait()
            if self._killed:
                await self._remove()
            elif code == _NOT_RUN and not (self._folder / "id").exists():
                raise SandboxError("docker could not start a container")
            return code
        finally:
            shutil.rmtree(self._folder)

    def kill(self) -> None:
        """See `Child.kill`. That `docker run` ends does not end the container: it is removed then."""
        if not self._ended.done():
            self._killed = True
            self._process.kill()

    async def _remove(self) -> None:
        """End the container, and wait until it is gone. It may be on its way already: it is removed where it ends by itself."""
        quiet = asyncio.subprocess.DEVNULL
        deadline = time.monotonic() + _GRACE
        while True:
            line = (self._docker, "rm", "--force", "--volumes", self._name)
            removing = await asyncio.create_subprocess_exec(*line, stdin=quiet, stdout=quiet, stderr=asyncio.subprocess.PIPE)
            _, said = await removing.communicate()
            if removing.returncode == 0 or b"No such container" in said:
                return
            if b"already in progress" not in said or time.monotonic() > deadline:
                reason = said.decode(errors="replace").strip()[-300:]
                raise SandboxError(f"the container {self._name!r} could not be removed ({reason}); docker rm --force it")
            await asyncio.sleep(0.05)


def _exports(env: Mapping[str, str]) -> str:
    """The variables as a script of sh."""
    for name in env:
        if not _NAME.fullmatch(name):
            raise UserError(f"env has a variable {name[:80]!r}, expected letters, digits and '_' in a name; rename it")
    return "".join(f"export {name}={shlex.quote(value)}\n" for name, value in env.items())


def _mounted(source: str, target: str) -> str:
    """The option that shows a file or folder of the machine. Its value is a line of CSV."""
    source, target = (path.replace('"', '""') for path in (source, target))
    return f'--mount=type=bind,"src={source}","dst={target}"'
