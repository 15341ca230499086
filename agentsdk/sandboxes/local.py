"""`LocalSandbox`: no sandbox at all, behind the same port."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from pathlib import Path

from agentsdk.ports.sandbox import SandboxLimits
from agentsdk.sandboxes.host import HostSandbox
from agentsdk.sandboxes.process import Child, HostProcess
from agentsdk.types.errors import UserError


class LocalSandbox(HostSandbox):
    """Runs commands on this machine, as this user: nothing is isolated, and of the limits only time and output hold.

    For tests, and for what runs inside a sandbox already: a container, a virtual machine. `unsafe=True` says that this is
    known. Raises `UserError` without it.
    """

    def __init__(
        self, workspace: str | Path | None = None, *, unsafe: bool = False, limits: SandboxLimits | None = None
    ) -> None:
        if unsafe is not True:
            raise UserError(
                "LocalSandbox isolates nothing, expected unsafe=True from who knows that; "
                "await best_sandbox() gives one that does"
            )
        super().__init__(workspace, limits=limits)

    @property
    def unavailable(self) -> str:
        """What to do where the sandbox cannot isolate."""
        return "it needs a system with sh"

    def path_folders(self) -> list[str]:
        """Where programs are looked for: where this program looks for them."""
        return os.environ.get("PATH", os.defpath).split(":")

    async def prove(self) -> None:
        """There is nothing to prove."""

    async def start(
        self, argv: Sequence[str], stdio: tuple[int, int, int], env: Mapping[str, str], cwd: str, limits: SandboxLimits
    ) -> Child:
        """See `HostSandbox.start`."""
        launcher = ["/bin/sh", "-c", 'exec "$@"', "sh", *argv]  # it has the exit code of a program that is not there
        return await HostProcess.start(launcher, stdio, env=env, cwd=cwd)
