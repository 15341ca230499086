"""What is outside of a run and stays when its process dies, and the processes that die.

No contestant's package is imported here: each runs this in its own environment.
"""

from __future__ import annotations

import asyncio
import json
import os
import signal
import traceback
from collections.abc import Callable, Coroutine
from pathlib import Path
from typing import Any


class Outside:
    """The outside of one run: a folder of files, a line of JSON for whatever happens."""

    def __init__(self, folder: str | Path) -> None:
        self.folder = Path(folder)

    def write(self, name: str, line: object, *, sync: bool = False) -> None:
        """Add a line to a file, at once; with `sync` it is on the disk when this returns."""
        file = os.open(self.folder / name, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
        try:
            os.write(file, json.dumps(line).encode() + b"\n")
            if sync:
                os.fsync(file)
        finally:
            os.close(file)

    def read(self, name: str) -> list[Any]:
        """The lines of a file."""
        path = self.folder / name
        return [json.loads(line) for line in path.read_bytes().splitlines()] if path.exists() else []


def die() -> None:
    """End this process as `kill -9` does."""
    os.kill(os.getpid(), signal.SIGKILL)


def forked(live: Callable[[], Coroutine[Any, Any, None]]) -> int:
    """Have a fork of this process, which may have no threads, run `live`; its exit code, negative for a signal."""
    pid = os.fork()
    if pid == 0:
        code = 1
        try:
            asyncio.run(live())
            code = 0
        except BaseException:
            traceback.print_exc()
        finally:
            os._exit(code)
    return os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])
