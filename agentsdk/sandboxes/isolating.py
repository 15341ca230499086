"""`IsolatingSandbox`: what `BubblewrapSandbox` and `SandlockSandbox` have in common."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from agentsdk.ports.sandbox import SandboxLimits
from agentsdk.sandboxes.host import HostSandbox
from agentsdk.sandboxes.readable import interpreter_folders, readable_folders


class IsolatingSandbox(HostSandbox):
    """A `HostSandbox` whose commands can read the folders `readable`, and may run as another user than this program."""

    def __init__(
        self,
        workspace: str | Path | None,
        *,
        readable: Sequence[str | Path],
        limits: SandboxLimits | None,
        private_tmp: bool = False,
    ) -> None:
        self._readable = readable_folders(readable)
        self._user: int | None = None
        """Whom commands run as on the host; None for whom this program runs as."""
        super().__init__(workspace, limits=limits, private_tmp=private_tmp)

    @property
    def read_only(self) -> list[str]:
        """The folders beside the system's that commands can read and not write."""
        return [*interpreter_folders(self._user), *self._readable]

    def path_folders(self) -> list[str]:
        """Where programs are looked for, in this order."""
        return [*(f"{folder}/bin" for folder in interpreter_folders(self._user)), *super().path_folders()]

    def shown_folders(self) -> list[str]:
        """See `HostSandbox.shown_folders`."""
        return [*super().shown_folders(), *self.read_only]
