"""The processes that a server has started, wherever they are.

A process group is ended by one call, but a daemon has left its group, and whoever started it may be there no more. Linux shows
the environment that a process began with: there a server is given a mark, which all that it starts inherits.
"""

from __future__ import annotations

import os
import signal
import sys
import uuid
from collections.abc import Iterator
from contextlib import suppress

VARIABLE = "AGENTSDK_MCP_SERVER"
"""The variable with the mark of a server, after those that this process has itself."""

_ROUNDS = 10


def new_mark() -> str:
    """A mark that no other server has."""
    return uuid.uuid4().hex


def mark_variable(mark: str) -> dict[str, str]:
    """The variable for the environment of a server."""
    return {VARIABLE: f"{os.environ.get(VARIABLE, '')} {mark}".strip()}


def kill_marked(mark: str) -> None:
    """Kill every process with the mark, as far as it shows its environment. Does nothing elsewhere than on Linux."""
    if sys.platform != "linux":
        return
    seen: set[int] = set()
    for _ in range(_ROUNDS):  # one that is started meanwhile is found in the next
        found = {pid for pid in _own_processes() if pid not in seen and _has(pid, mark)}
        if not found:
            return
        seen |= found
        for pid in found:
            with suppress(OSError):
                process = os.pidfd_open(pid)
                try:
                    if _has(pid, mark):  # else the number has become another process's
                        signal.pidfd_send_signal(process, signal.SIGKILL)
                finally:
                    os.close(process)


def _own_processes() -> Iterator[int]:
    user = os.getuid()
    with suppress(OSError), os.scandir("/proc") as entries:
        for entry in entries:
            with suppress(OSError):
                if entry.name.isdecimal() and entry.stat().st_uid == user:
                    yield int(entry.name)


def _has(pid: int, mark: str) -> bool:
    try:
        with open(f"/proc/{pid}/environ", "rb") as environment:
            return mark.encode() in environment.read()
    except OSError:
        return False
