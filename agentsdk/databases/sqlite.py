"""A SQLite file, for the adapters that keep something in one.

Those of one kind in a process share a connection to their file and the one thread that uses it: see `sqlite_thread`.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
import threading
import weakref
from collections.abc import Callable
from typing import TYPE_CHECKING, TypeVar, cast

from agentsdk.databases.sqlite_thread import SQLiteFile, SQLiteThread, Synchronous, Tables, create_private
from agentsdk.types.declared import is_real, shown
from agentsdk.types.errors import UserError

if TYPE_CHECKING:
    import sqlite3

T = TypeVar("T")

__all__ = ["SQLiteDatabase", "Synchronous", "Tables"]
_MAX_BUSY_TIMEOUT = 1_000_000.0


class SQLiteDatabase:
    """The SQLite file `db_path` as one adapter holds it, opened when first used; `":memory:"` is a database of its own.

    It may be used on any event loop, and after a fork, which waits for the jobs that run. Dropping it releases the file, as
    closing it does. Raises `UserError` for what cannot be a path or a setting.
    """

    def __init__(
        self, db_path: str | os.PathLike[str], tables: Tables, *, busy_timeout: float, synchronous: Synchronous
    ) -> None:
        try:
            encoded = os.fsencode(db_path)
        except Exception:  # a surrogate, another type, a path-like object whose own method raises
            encoded = b""
        if not encoded or b"\0" in encoded:
            raise UserError(f"db_path is {shown(db_path)}, expected the path of a file, or ':memory:'")
        if not (is_real(busy_timeout) and 0 <= busy_timeout <= _MAX_BUSY_TIMEOUT):
            raise UserError(f"busy_timeout is {shown(busy_timeout)}, expected 0 to {_MAX_BUSY_TIMEOUT:.0f} seconds")
        if not isinstance(cast(object, synchronous), str) or synchronous not in ("FULL", "NORMAL"):
            raise UserError(f"synchronous is {shown(synchronous)}, expected 'FULL' or 'NORMAL'")
        path = os.fsdecode(encoded)
        self._hold(SQLiteFile(path if path == ":memory:" else os.path.realpath(path), tables, busy_timeout, synchronous))

    @classmethod
    def _of(cls, file: SQLiteFile) -> SQLiteDatabase:
        database = cls.__new__(cls)
        database._hold(file)
        return database

    def _hold(self, file: SQLiteFile) -> None:
        self.path = file.path
        self._file = file
        self._worker: SQLiteThread | None = None
        self._release: Callable[[], threading.Event | None] = lambda: None
        self._closed = False

    async def run(self, job: Callable[[sqlite3.Connection], T]) -> T:
        """What `job` returns, run on the file's thread. A cancelled caller goes on only once the job has ended, done or undone.

        Raises the tables' `error` and `busy` for whatever SQLite raises.
        """
        return await self._held().submit(job)

    async def write(self, job: Callable[[sqlite3.Connection], T]) -> T:
        """`run` in a transaction that holds the file's write lock from its beginning; undone if `job` raises.

        Writes that wait for the one before share a transaction, and so its wait for the disk: each sees what those before it
        did, is undone alone if it raises, and returns once it is committed.
        """
        return await self._held().submit(job, is_write=True)

    async def backup(self, path: str | os.PathLike[str]) -> None:
        """Write all that is in the file, as of one moment, to a new one at `path`; reads and writes go on meanwhile.

        Raises `UserError` where `path` cannot be made, or exists already, and like `run`.
        """
        target = os.fspath(path)

        def copy(connection: sqlite3.Connection) -> None:
            connection.execute("VACUUM INTO ?", (target,))
            with open(target, "rb+") as file:
                os.fsync(file.fileno())

        await self.run(lambda connection: None)  # the file is in its place
        try:
            create_private(target)
        except OSError as error:
            raise UserError(
                f"a backup to {target!r} cannot be made ({type(error).__name__}), expected no file there, in a folder that "
                "this user may write; give another path"
            ) from error
        # On a thread of its own, so that what is asked for meanwhile does not wait. What is in memory has only the one.
        apart = self if self.path == ":memory:" else SQLiteDatabase._of(self._file._replace(use="backup"))
        try:
            await apart.run(copy)
        except BaseException:
            with contextlib.suppress(OSError):
                os.unlink(target)
            raise
        finally:
            if apart is not self:
                await apart.aclose()

    def another(self) -> SQLiteDatabase:
        """The same database for one adapter more, to be closed by itself; of `":memory:"` too."""
        worker = self._held()
        database = SQLiteDatabase._of(self._file)
        with SQLiteThread.lock:
            self._require_open()
            worker.hold()
            database._use(worker)
        return database

    def close(self) -> None:
        """Finish what was asked for and release the file; a second call does nothing. May block: see `aclose`."""
        with SQLiteThread.lock:
            self._closed = True
            released = self._release()
        if released is not None and self._worker is not None and self._worker.pid == os.getpid():
            released.wait()

    async def aclose(self) -> None:
        """`close`, without blocking the event loop."""
        await asyncio.to_thread(self.close)

    def _held(self) -> SQLiteThread:
        with SQLiteThread.lock:
            self._require_open()
            # The thread does not cross a fork: a child gets its own.
            if self._worker is None or self._worker.pid != os.getpid():
                return self._use(SQLiteThread.of(self._file))
            return self._worker

    def _use(self, worker: SQLiteThread) -> SQLiteThread:
        self._worker = worker
        self._release = weakref.finalize(self, worker.release)
        return worker

    def _require_open(self) -> None:
        if self._closed:
            raise self._file.tables.error(f"{self._file} is closed; make a new one")
