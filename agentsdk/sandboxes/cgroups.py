"""Control groups (version 1 and 2): limits that hold for all processes of a command together, root's as well.

The kernel exempts root from RLIMIT_NPROC, and other limits of processes count each process alone. A control group has none of
these holes, but only who may write to the hierarchy can make one: root mostly, and a user whose session delegates it.
"""

from __future__ import annotations

import asyncio
import functools
import os
import secrets
import signal
import time
from contextlib import suppress
from pathlib import Path

from agentsdk.ports.sandbox import SandboxLimits

_PREFIX = "agentsdk-"
_GRACE = 5.0
"""Seconds that killed processes may take to end."""


class Cgroup:
    """A group for one command, which enters it by writing its id to each of `entries`."""

    def __init__(self, folders: list[Path]) -> None:
        self._folders = folders

    @property
    def entries(self) -> list[str]:
        """The files through which a process enters."""
        return [str(folder / "cgroup.procs") for folder in self._folders]

    def kill(self) -> None:
        """End every process in it."""
        for folder in self._folders:
            with suppress(OSError):
                if (everybody := folder / "cgroup.kill").exists():
                    everybody.write_text("1")
                for pid in (folder / "cgroup.procs").read_text().split():
                    os.kill(int(pid), signal.SIGKILL)

    async def gone(self) -> None:
        """Wait until it is empty, and remove it. A process takes a moment to end, above all one that had much memory."""
        pause = 0.0005
        deadline = time.monotonic() + _GRACE
        while not self.remove() and time.monotonic() < deadline:
            await asyncio.sleep(pause)
            pause = min(pause * 2, 0.05)

    def remove(self) -> bool:
        """Remove it, if it is empty; whether it is gone."""
        for folder in self._folders:
            with suppress(OSError):
                folder.rmdir()
        self._folders = [folder for folder in self._folders if folder.exists()]
        return not self._folders


def make(limits: SandboxLimits, overhead: int) -> Cgroup | None:
    """A group with these limits, and room for `overhead` processes of the sandbox itself; None where none can be made."""
    places = _places()
    if places is None:
        return None
    made: list[Path] = []
    name = f"{_PREFIX}{os.getpid()}-{secrets.token_hex(6)}"
    try:
        for folder in dict.fromkeys(places.values()):
            (folder / name).mkdir()
            made.append(folder / name)
        _limit(places["pids"] / name, {"pids.max": limits.processes + overhead})
        memory = places["memory"] / name
        if (memory / "memory.max").exists():
            _limit(memory, {"memory.max": limits.memory, "memory.swap.max": 0})
        else:
            _limit(memory, {"memory.limit_in_bytes": limits.memory, "memory.memsw.limit_in_bytes": limits.memory})
    except OSError:
        Cgroup(made).remove()
        return None
    return Cgroup(made)


def _limit(folder: Path, values: dict[str, int]) -> None:
    for name, value in values.items():
        if (folder / name).exists():  # there is no file for swap where there is none to count
            (folder / name).write_text(str(value))


@functools.cache
def _places() -> dict[str, Path] | None:
    """The folders of `pids` and `memory` in which groups can be made; None where one of them has none. Found once."""
    found = {name: place for name in ("pids", "memory") if (place := _writable(name)) is not None}
    if len(found) < 2:
        return None
    for folder in dict.fromkeys(found.values()):
        _sweep(folder)
    return found


def _writable(controller: str) -> Path | None:
    """The lowest folder at or above this process's own in which a group with this controller can be made."""
    try:
        own = Path("/proc/self/cgroup").read_text().splitlines()
        mounts = Path("/proc/self/mounts").read_text().splitlines()
    except OSError:
        return None
    mounted = {(kind, options): Path(where) for _, where, kind, options, *_ in (line.split() for line in mounts)}
    for line in own:
        number, controllers, inner = line.split(":", 2)
        old = controller in controllers.split(",")
        for (kind, options), top in mounted.items():
            ours = (kind == "cgroup2" and number == "0") or (kind == "cgroup" and old and controller in options.split(","))
            if not ours:
                continue
            place = top / inner.strip("/")
            for folder in (place, *place.parents):
                if folder.is_relative_to(top) and _can_hold(folder, controller, old):
                    return folder
    return None


def _can_hold(folder: Path, controller: str, old: bool) -> bool:
    if not os.access(folder, os.W_OK) or not os.access(folder / "cgroup.procs", os.W_OK):
        return False
    try:
        return old or controller in (folder / "cgroup.subtree_control").read_text().split()
    except OSError:
        return False


def _sweep(folder: Path) -> None:
    """Remove the empty groups of processes that were killed before they could."""
    for left in folder.glob(f"{_PREFIX}*-*"):
        pid = left.name.removeprefix(_PREFIX).partition("-")[0]
        if pid.isdigit() and not Path("/proc", pid).exists():
            with suppress(OSError):
                left.rmdir()
