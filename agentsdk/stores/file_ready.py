"""The file that tells workers that a run of a `FileRunStore` has become ready, though none of them has to read any log."""

from __future__ import annotations

import asyncio
import contextlib
import os

from agentsdk.stores.waiters import LoopWaiters

LOOK_INTERVAL = 0.02
"""Seconds between two looks at the file, while somebody waits for what is due."""

_MOST_BYTES = 1_000_000


class ReadyFile:
    """The file at `path`, which has another size each time."""

    def __init__(self, path: str) -> None:
        self._path = path

    def change(self) -> None:
        """Tell all who look. Best effort: a worker that is told nothing finds the run later."""
        with contextlib.suppress(OSError):
            file = os.open(self._path, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
            try:
                if os.fstat(file).st_size >= _MOST_BYTES:
                    os.ftruncate(file, 0)
                os.write(file, b"\n")
            finally:
                os.close(file)

    def size(self) -> int:
        """What to compare."""
        try:
            return os.stat(self._path).st_size
        except OSError:
            return 0


class ReadyWatch:
    """Looks at the file on an interval, and notifies those who wait on one event loop."""

    def __init__(self, file: ReadyFile, waiters: LoopWaiters) -> None:
        self._file = file
        self._waiters = waiters
        self._size = file.size()
        self._task = asyncio.create_task(self._look(), name="agentsdk FileRunStore.wait_due")

    def is_open(self) -> bool:
        """Whether it still looks."""
        return not self._task.done()

    async def aclose(self) -> None:
        """Look no more."""
        self._task.cancel()
        await asyncio.wait((self._task,))

    async def _look(self) -> None:
        while True:
            await asyncio.sleep(LOOK_INTERVAL)
            before, self._size = self._size, self._file.size()
            if self._size != before:
                self._waiters.notify_due()
