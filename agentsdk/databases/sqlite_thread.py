"""The thread and the connection that all adapters of one kind share for a SQLite file.

One thread of the process uses a file: writers never wait for each other's locks, and a job begins and ends on that thread,
whatever becomes of the task that asked for it. The thread lives as long as an adapter holds it.

What is asked for while the thread is at work waits in its queue, and is done together then: the reads in their order, and after
them the writes in theirs, in one transaction. So a thousand runs that append at once wait for the disk a few times, and nobody
is kept waiting for others to come.

Three things break SQLite silently and are guarded against here. A fork: the child's SQLite would take the parent's locks for
its own, so no connection is open while the process forks. A file that was deleted or moved while it was open: what is written
then is lost, so the file's identity is compared before every job. A second descriptor of the file: closing it would drop the
locks of this process, so a new file is made in one place, before it is opened.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
import queue
import threading
import time
from collections.abc import Callable, Sequence
from copy import copy
from typing import TYPE_CHECKING, Any, ClassVar, Literal, NamedTuple, TypeVar

from agentsdk.databases.sqlite_jobs import Job, tell, write
from agentsdk.types.errors import StoreError

if TYPE_CHECKING:
    import sqlite3

T = TypeVar("T")
MOST_TOGETHER = 200
"""How many jobs are done together. While a transaction lasts, other processes cannot write."""

Synchronous = Literal["FULL", "NORMAL"]
"""When a commit is on the disk itself. `FULL`: before it returns. `NORMAL`: later; a power loss may take the latest back."""

_VERSIONS = "CREATE TABLE IF NOT EXISTS agentsdk_schema (kind TEXT PRIMARY KEY, version INTEGER NOT NULL)"


class Tables(NamedTuple):
    """What one kind of adapter keeps in a file, and the errors it raises.

    `kind` is its noun in messages ("run", "session"). `create` makes what is missing of the tables, all named `agentsdk_*`;
    a file whose tables are of a newer `version` is refused. `busy` is for a lock that did not come free, `error` for the rest.
    `columns` (table, name, declaration) came later: with a default, so that programs that do not know them can still write.
    `upgrade` needs them, indexes and triggers say, and may be executed again each time the file is opened.
    """

    kind: str
    version: int
    create: tuple[str, ...]
    error: type[StoreError]
    busy: type[StoreError]
    columns: tuple[tuple[str, str, str], ...] = ()
    upgrade: tuple[str, ...] = ()


class SQLiteFile(NamedTuple):
    """A file as it is opened. Those that are equal share a thread; `use` tells one apart that is to have its own."""

    path: str
    tables: Tables
    busy_timeout: float
    synchronous: Synchronous
    use: str = ""

    def __str__(self) -> str:
        return f"{self.tables.kind} database {self.path!r}"


class SQLiteThread:
    """A connection to a file, the thread of this process that alone uses it, and how many adapters hold it.

    Letting go is a message to the thread like any job, so a finalizer, which may run in the middle of anything, takes no lock.

    No connection to a file is open while the process forks: the child would lose what it commits. The parent's next job
    connects again.
    """

    _shared: ClassVar[dict[SQLiteFile, SQLiteThread]] = {}
    _living: ClassVar[set[SQLiteThread]] = set()
    lock: ClassVar = threading.Lock()

    @classmethod
    def of(cls, file: SQLiteFile) -> SQLiteThread:
        """The worker of `file`, held once more; release it once. For a caller who has the lock."""
        worker = cls._shared.get(file)
        if worker is None:
            worker = cls(file)
            cls._living.add(worker)
            if file.path != ":memory:":
                cls._shared[file] = worker
        else:
            worker.hold()
        return worker

    @classmethod
    def before_fork(cls) -> None:
        """Let every job that runs end, and no other begin."""
        cls.lock.acquire()
        for worker in cls._living:
            worker._working.acquire()
            if worker._file.path != ":memory:":
                worker._disconnect()

    @classmethod
    def after_fork_in_parent(cls) -> None:
        """Go on."""
        for worker in cls._living:
            worker._working.release()
        cls.lock.release()

    @classmethod
    def after_fork_in_child(cls) -> None:
        """Forget the parent's workers: their threads do not exist here."""
        cls._shared.clear()
        cls._living.clear()
        cls.lock.release()

    def __init__(self, file: SQLiteFile) -> None:
        self.pid = os.getpid()
        self._file = file
        self._holders = 1
        self._connection: sqlite3.Connection | None = None
        self._opened: dict[str, tuple[int, int]] = {}
        self._working = threading.Lock()
        self._jobs: queue.SimpleQueue[Job[Any] | threading.Event] = queue.SimpleQueue()
        threading.Thread(target=self._serve, name=f"agentsdk {os.path.basename(file.path)}", daemon=True).start()

    def submit(self, work: Callable[[sqlite3.Connection], T], *, is_write: bool = False) -> asyncio.Future[T]:
        """Have `work` done on the thread; a write in a transaction, which it may share. For a coroutine."""
        job = Job(work, is_write=is_write)
        self._jobs.put(job)
        return job.future

    def hold(self) -> None:
        """Hold it once more. For a caller who has the lock, and holds it already or knows that another does."""
        self._holders += 1

    def release(self) -> threading.Event:
        """Release it once. The event is set when that is done, and the file closed if nobody else holds it."""
        released = threading.Event()
        self._jobs.put(released)
        return released

    def _serve(self) -> None:
        while True:
            released = self._work()
            if released is not None:
                is_last = self._let_go()
                if is_last:
                    with self._working:
                        self._disconnect()
                    with self.lock:
                        self._living.discard(self)
                released.set()
                if is_last:
                    return

    def _work(self) -> threading.Event | None:
        """Do what waits, or comes next, up to a release. It refers to no job when it is over: they hold adapters."""
        jobs, released = self._next()
        for together in ([job for job in jobs if not job.is_write], [job for job in jobs if job.is_write]):
            if together:
                self._do(together)
        return released

    def _next(self) -> tuple[list[Job[Any]], threading.Event | None]:
        """The jobs, and the release."""
        jobs: list[Job[Any]] = []
        while True:
            job = self._jobs.get()
            if isinstance(job, threading.Event):
                return jobs, job
            jobs.append(job)
            if len(jobs) == MOST_TOGETHER or self._jobs.empty():
                return jobs, None

    def _do(self, jobs: Sequence[Job[Any]]) -> None:
        """Do reads, or writes in one transaction, and tell those who wait."""
        try:
            with self._working:
                if self._connection is not None:
                    self._require_in_place()
                connection = self._connection or self._connect()
                if jobs[0].is_write:
                    write(connection, jobs)
                else:
                    for job in jobs:
                        job.do(connection)
        except BaseException as error:
            for job in jobs:
                job.outcome = copy(error)
        for job in jobs:
            if isinstance(job.outcome, BaseException):
                job.outcome = self._raised(job.outcome)
        tell(jobs)

    def _let_go(self) -> bool:
        with self.lock:
            self._holders -= 1
            if self._holders == 0:
                self._shared.pop(self._file, None)
            return self._holders == 0

    def _raised(self, error: BaseException) -> BaseException:
        """What is raised for `error`, which a job raised or SQLite."""
        import sqlite3

        raised = error
        if isinstance(error, sqlite3.Error):
            raised = self._explained(error)
            # What has no code is of Python's own, which quotes the stored text it could not decode.
            raised.__cause__ = error if hasattr(error, "sqlite_errorcode") else None
        elif isinstance(error, (OverflowError, UnicodeEncodeError)):
            raised = self._file.tables.error(
                f"{self._file} cannot keep this, expected whole numbers of at most 64 bits and text without lone surrogates"
            )
        return raised

    def _connect(self) -> sqlite3.Connection:
        import sqlite3

        if self._file.path != ":memory:":
            with contextlib.suppress(OSError):  # it is there, or SQLite names what is in the way
                create_private(self._file.path)
        connection = sqlite3.connect(
            self._file.path, timeout=self._file.busy_timeout, isolation_level=None, check_same_thread=False
        )
        try:
            self._use_wal(connection)
            connection.execute(f"PRAGMA synchronous = {self._file.synchronous}")
            self._create_tables(connection)
        except BaseException:
            connection.close()
            raise
        self._connection = connection
        self._opened = self._identities()
        return connection

    def _identities(self) -> dict[str, tuple[int, int]]:
        """Which files are at the database's paths now."""
        path = self._file.path
        found: dict[str, tuple[int, int]] = {}
        for name in () if path == ":memory:" else (path, f"{path}-wal"):
            with contextlib.suppress(OSError):
                stat = os.stat(name)
                found[name] = (stat.st_dev, stat.st_ino)
        return found

    def _require_in_place(self) -> None:
        """A file that was deleted or moved can be written on, and nobody finds what is in it."""
        if self._opened and self._identities() != self._opened:
            raise self._file.tables.error(
                f"{self._file} was deleted, moved or replaced while it was open, expected it and its -wal to stay where they "
                "are: nothing more is written; put them back, or close all that uses them and make it anew"
            )

    def _use_wal(self, connection: sqlite3.Connection) -> None:
        """Switch the file to WAL. SQLite does not wait for a lock here as it does elsewhere."""
        import sqlite3

        deadline = time.monotonic() + self._file.busy_timeout
        while True:
            try:
                connection.execute("PRAGMA journal_mode = WAL")
                return
            except sqlite3.OperationalError as error:
                if error.sqlite_errorcode != sqlite3.SQLITE_BUSY or time.monotonic() > deadline:
                    raise
            time.sleep(0.01)

    def _create_tables(self, connection: sqlite3.Connection) -> None:
        kind, version, create, error, _, columns, upgrade = self._file.tables
        with connection:
            connection.execute("BEGIN IMMEDIATE")
            connection.execute(_VERSIONS)
            newer = "SELECT 1 FROM agentsdk_schema WHERE kind = ? AND version > ?"
            if connection.execute(newer, (kind, version)).fetchone() is not None:
                raise error(
                    f"{self._file} was written by a newer version of agentsdk, expected tables of version {version} at most; "
                    "upgrade agentsdk, or give another db_path"
                )
            for statement in create:
                connection.execute(statement)
            for table, column, declaration in columns:
                if column not in (row[1] for row in connection.execute(f"PRAGMA table_info({table})")):
                    connection.execute(f"ALTER TABLE {table} ADD COLUMN {column} {declaration}")
            for statement in upgrade:
                connection.execute(statement)
            connection.execute("INSERT OR IGNORE INTO agentsdk_schema (kind, version) VALUES (?, ?)", (kind, version))

    def _disconnect(self) -> None:
        if self._connection is not None:
            self._connection.close()
            self._connection = None

    def _explained(self, error: sqlite3.Error) -> StoreError:
        import sqlite3

        file, tables = self._file, self._file.tables
        code = getattr(error, "sqlite_errorcode", 0) & 0xFF
        if code in (sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED):
            return tables.busy(
                f"{file} stayed locked for {file.busy_timeout:g} s; end the other writer, raise busy_timeout, or try again"
            )
        remedy = {
            sqlite3.SQLITE_NOTADB: "is not a SQLite database; give another db_path",
            sqlite3.SQLITE_CORRUPT: "is damaged; restore it from a backup, or give another db_path",
            sqlite3.SQLITE_FULL: "cannot grow: the disk is full; make room and try again",
            sqlite3.SQLITE_IOERR: "cannot be read or written; check the disk and its free space",
            sqlite3.SQLITE_CANTOPEN: "cannot be opened; expected a file in an existing folder that this user may write",
            sqlite3.SQLITE_READONLY: "may not be written by this user; permit it, -wal and -shm too, or give another db_path",
            sqlite3.SQLITE_PERM: "may not be opened by this user; permit it, -wal and -shm too, or give another db_path",
            sqlite3.SQLITE_TOOBIG: "cannot take a value of this size; keep large contents elsewhere and refer to them",
        }.get(code, "failed; expected its tables agentsdk_* to be as this version made them")
        return tables.error(f"{file} {remedy} ({getattr(error, 'sqlite_errorname', type(error).__name__)})")


_creating = threading.Lock()


def create_private(path: str) -> None:
    """Make a new file that only its owner may read or write; SQLite gives the files beside it the same mode.

    Raises `OSError`, also where there is one.
    """
    # Closing any descriptor of a file drops the process's locks on it: nobody may open it here until that is done.
    with _creating:
        os.close(os.open(path, os.O_CREAT | os.O_EXCL | os.O_RDWR, 0o600))


if hasattr(os, "register_at_fork"):
    os.register_at_fork(
        before=SQLiteThread.before_fork,
        after_in_parent=SQLiteThread.after_fork_in_parent,
        after_in_child=SQLiteThread.after_fork_in_child,
    )
