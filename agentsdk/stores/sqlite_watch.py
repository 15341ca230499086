"""How who waits on a `SQLiteRunStore` learns of other processes: by a look at the file on an interval, for all who wait.

A commit writes to the file's `-wal`, so a look at a file that nobody uses is one `os.stat` of that. The commit shows only when
the disk has it, which the `-wal` does not tell, so for a while after each change the database is asked.
"""

from __future__ import annotations

import asyncio
import functools
import json
import os
from collections.abc import Sequence
from typing import TYPE_CHECKING

from msgspec import Struct

from agentsdk.databases.sqlite import SQLiteDatabase
from agentsdk.stores.waiters import REVISION, LoopWaiters
from agentsdk.types.errors import StoreError

if TYPE_CHECKING:
    import sqlite3

LOOK_INTERVAL = 0.02
"""Seconds between two looks whether another process has changed the file, while somebody waits."""

SETTLE_TIME = 1.0
"""Seconds after a change of the `-wal` in which the database is asked at each look."""

READ_INTERVAL = 1.0
"""Seconds after which it is asked for who waits for a run, though the file system tells of no change."""

_READY = "SELECT number FROM agentsdk_runs_ready"
_NUMBERS = f"""SELECT topic.value, CASE WHEN substr(topic.value, 1, {len(REVISION)}) = '{REVISION}' THEN rev ELSE signals END
    FROM json_each(?) AS topic JOIN agentsdk_runs ON run_id = substr(topic.value, instr(topic.value, ':') + 1)"""


class _Seen(Struct, frozen=True):
    """The state of the file, and how often a run became ready."""

    state: object
    ready: int


class SQLiteWatch:
    """Notifies those who wait on one event loop, once it is opened."""

    def __init__(self, database: SQLiteDatabase, waiters: LoopWaiters) -> None:
        self._database = database
        self._waiters = waiters
        self._path = f"{database.path}-wal"
        self._seen: _Seen | None = None

    async def open(self) -> SQLiteWatch:
        """Look at the file from now on. Raises what `SQLiteDatabase.run` raises."""
        await self._read()
        self._task = asyncio.create_task(self._look(), name="agentsdk SQLiteRunStore.wait")
        return self

    def is_open(self) -> bool:
        """Whether it still looks."""
        return not self._task.done()

    async def aclose(self) -> None:
        """Look no more."""
        self._task.cancel()
        await asyncio.wait((self._task,))

    async def _look(self) -> None:
        now, stat = asyncio.get_running_loop().time, self._stat()
        changed_at = read_at = now()
        try:
            while True:
                await asyncio.sleep(LOOK_INTERVAL)
                before, stat = stat, self._stat()
                if stat != before:
                    changed_at = now()
                if now() - changed_at < SETTLE_TIME or (self._waiters.topics and now() - read_at >= READ_INTERVAL):
                    read_at = now()
                    await self._read()
        except StoreError:
            self._waiters.recheck()  # and so each waiter comes to the error itself

    def _stat(self) -> tuple[int, int, int] | None:
        try:
            stat = os.stat(self._path)
        except OSError:
            return None
        return stat.st_ino, stat.st_size, stat.st_mtime_ns

    async def _read(self) -> None:
        before = self._seen
        seen, numbers = await self._database.run(functools.partial(_changed, before, self._waiters.topics))
        self._seen = seen
        for topic, number in numbers:
            self._waiters.notify(topic, number)
        if before is not None and seen.ready != before.ready:
            self._waiters.notify_due()


def _changed(
    seen: _Seen | None, topics: Sequence[str], connection: sqlite3.Connection
) -> tuple[_Seen, Sequence[tuple[str, int]]]:
    """What there is to see, and, if the file is not as it was `seen`, the numbers of these topics."""
    # `data_version` is about all but this connection, and `total_changes` about what other stores of this process do on it.
    version = connection.execute("PRAGMA data_version").fetchone()[0]
    state = (connection, version, connection.total_changes)
    if seen is not None and state == seen.state:
        return seen, ()
    ready = connection.execute(_READY).fetchone()[0]
    return _Seen(state, ready), connection.execute(_NUMBERS, (json.dumps(topics),)).fetchall() if topics else ()
