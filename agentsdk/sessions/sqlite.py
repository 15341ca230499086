"""A session in SQLite: one file holds any number of sessions, for any number of processes.

The sessions of one file share a connection and the one thread that uses it. That thread is the queue of this process: its
writers never wait for each other's locks, and what was asked for first is done first.
"""

from __future__ import annotations

import asyncio
import os
import queue
import threading
import time
import weakref
from collections.abc import Callable, Sequence
from concurrent.futures import Future
from typing import TYPE_CHECKING, ClassVar, TypeVar

import msgspec

from agentsdk.ports.session import ReplacingSession
from agentsdk.types.errors import SessionBusyError, SessionError, UserError
from agentsdk.types.items import InputItem, Item, items_from_input

if TYPE_CHECKING:
    import sqlite3

T = TypeVar("T")

_SCHEMA = (
    "CREATE TABLE IF NOT EXISTS agentsdk_session_items (id INTEGER PRIMARY KEY, session_id TEXT NOT NULL, item TEXT NOT NULL)",
    "CREATE INDEX IF NOT EXISTS agentsdk_session_items_of ON agentsdk_session_items (session_id, id)",
)
# Read as a blob: what is not UTF-8 is then found by our decoder, whose message holds no values.
_LATEST = "SELECT id, CAST(item AS BLOB) FROM agentsdk_session_items WHERE session_id = ? ORDER BY id DESC LIMIT ?"
_ADD = "INSERT INTO agentsdk_session_items (session_id, item) VALUES (?, ?)"
_REMOVE = "DELETE FROM agentsdk_session_items WHERE id = ?"


class SQLiteSession(ReplacingSession):
    """Keeps a conversation in the SQLite file `db_path`; `":memory:"` is a database of this session's own.

    Any text is a safe `session_id`: it is a value in the database, never part of a path. A write outlives a crash of the
    process at once, a power loss a moment later. Another process may hold the file's lock for at most `busy_timeout` seconds.

    Every method raises `SessionError` for a file that is no database, damaged, full, unwritable or closed, and
    `SessionBusyError` when its lock did not come free in time; the conversation is then as it was before.
    """

    def __init__(self, session_id: str, db_path: str | os.PathLike[str] = ":memory:", *, busy_timeout: float = 30.0) -> None:
        path = os.fspath(db_path)
        if not path:
            raise UserError("db_path is '', expected the path of a file, or ':memory:'")
        try:
            session_id.encode()
        except UnicodeEncodeError:
            raise UserError(f"session_id is {session_id!r}, expected text without lone surrogates") from None
        self.session_id = session_id
        self._path = path if path == ":memory:" else os.path.realpath(path)
        self._busy_timeout = busy_timeout
        self._database: _Database | None = None
        self._release: Callable[[], threading.Event | None] = lambda: None
        self._closed = False

    def __repr__(self) -> str:
        return f"SQLiteSession({self.session_id!r}, {self._path!r})"

    async def get_items(self, limit: int | None = None) -> list[Item]:
        """All items, or the latest `limit` of them. Raises `UserError` for a negative limit."""
        if limit is not None and limit < 0:
            raise UserError(f"limit is {limit!r}, expected None or 0 and more")

        def read(connection: sqlite3.Connection) -> list[Item]:
            rows = connection.execute(_LATEST, (self.session_id, -1 if limit is None else limit)).fetchall()
            return [self._decode(row) for row in reversed(rows)]

        return await self._do(read)

    async def add_items(self, items: Sequence[InputItem]) -> None:
        """Append `items` in one transaction. Raises `UserError` for an entry that is not an item."""
        rows = self._rows(items)

        def add(connection: sqlite3.Connection) -> None:
            with connection:
                connection.execute("BEGIN IMMEDIATE")
                connection.executemany(_ADD, rows)

        if rows:
            await self._do(add)

    async def pop_item(self) -> Item | None:
        """Remove the latest item and return it; `None` when there is none."""

        def pop(connection: sqlite3.Connection) -> Item | None:
            with connection:
                connection.execute("BEGIN IMMEDIATE")
                row = connection.execute(_LATEST, (self.session_id, 1)).fetchone()
                if row is None:
                    return None
                item = self._decode(row)
                connection.execute(_REMOVE, row[:1])
                return item

        return await self._do(pop)

    async def replace_latest(self, expected: Sequence[Item], items: Sequence[InputItem]) -> bool:
        """Put `items` in the place of the latest items, if those are `expected`, in one transaction.

        True if they were; False if not, and nothing has changed. Raises `UserError` for an entry that is not an item.
        """
        wanted = list(items_from_input(expected))
        rows = self._rows(items)

        def replace(connection: sqlite3.Connection) -> bool:
            with connection:
                connection.execute("BEGIN IMMEDIATE")
                latest = connection.execute(_LATEST, (self.session_id, len(wanted))).fetchall()
                if [self._decode(row) for row in reversed(latest)] != wanted:
                    return False
                connection.executemany(_REMOVE, [row[:1] for row in latest])
                connection.executemany(_ADD, rows)
                return True

        return await self._do(replace)

    async def clear_session(self) -> None:
        """Remove every item of this session; others in the file stay."""

        def clear(connection: sqlite3.Connection) -> None:
            connection.execute("DELETE FROM agentsdk_session_items WHERE session_id = ?", (self.session_id,))

        await self._do(clear)

    def close(self) -> None:
        """Finish what was asked for and let go of the file; a second call does nothing. May block: see `aclose`."""
        self._closed = True
        released = self._release()
        if released is not None:
            released.wait()

    async def aclose(self) -> None:
        """`close`, without blocking the event loop."""
        await asyncio.to_thread(self.close)

    async def _do(self, job: Callable[[sqlite3.Connection], T]) -> T:
        """Run `job` on the database's thread. A cancelled caller goes on only once the job has ended, done or undone."""
        if self._closed:
            raise SessionError(f"{self!r} is closed; make a new one")
        # A connection must not cross a fork, and the thread does not: a child gets its own.
        if self._database is None or self._database.pid != os.getpid():
            self._database = _Database.of(self._path, self._busy_timeout)
            self._release = weakref.finalize(self, self._database.release)
        future = asyncio.wrap_future(self._database.submit(job))
        try:
            return await asyncio.shield(future)
        except asyncio.CancelledError:
            future.add_done_callback(_retrieve)
            await asyncio.wait((future,))
            raise

    def _rows(self, items: Sequence[InputItem]) -> list[tuple[str, str]]:
        return [(self.session_id, msgspec.json.encode(item).decode()) for item in items_from_input(items)]

    def _decode(self, row: tuple[int, bytes]) -> Item:
        try:
            item: Item = msgspec.json.decode(row[1], type=Item)
        except (msgspec.DecodeError, UnicodeDecodeError):
            raise SessionError(
                f"row {row[0]} of {self!r} is not an item: damaged, or of a newer version; remove the row or the session"
            ) from None
        return item


def _retrieve(future: asyncio.Future[T]) -> None:
    if not future.cancelled():
        future.exception()


class _Database:
    """One SQLite file in this process: a connection, the thread that alone uses it, and how many sessions hold it.

    Letting go is a message to the thread like any job, so a finalizer, which may run in the middle of anything, takes no lock.
    """

    _open: ClassVar[dict[tuple[int, str, float], _Database]] = {}
    _lock: ClassVar = threading.Lock()

    @classmethod
    def of(cls, path: str, busy_timeout: float) -> _Database:
        """The database at `path`, held once more; release it once."""
        if path == ":memory:":
            return cls(path, busy_timeout)
        key = (os.getpid(), path, busy_timeout)
        with cls._lock:
            database = cls._open.get(key)
            if database is None:
                database = cls._open[key] = cls(path, busy_timeout)
            else:
                database._holders += 1
            return database

    def __init__(self, path: str, busy_timeout: float) -> None:
        self.pid = os.getpid()
        self._path = path
        self._busy_timeout = busy_timeout
        self._holders = 1
        self._connection: sqlite3.Connection | None = None
        self._jobs: queue.SimpleQueue[Callable[[], None] | threading.Event] = queue.SimpleQueue()
        threading.Thread(target=self._serve, name=f"agentsdk {os.path.basename(path)}", daemon=True).start()

    def submit(self, job: Callable[[sqlite3.Connection], T]) -> Future[T]:
        """Have `job` run on the thread, after all that was submitted before."""
        future: Future[T] = Future()

        def work() -> None:
            if not future.set_running_or_notify_cancel():
                return
            try:
                future.set_result(self._run(job))
            except BaseException as error:
                future.set_exception(error)

        self._jobs.put(work)
        return future

    def release(self) -> threading.Event:
        """Let go once. The event is set when that is done, and the file closed if nobody else holds it."""
        released = threading.Event()
        self._jobs.put(released)
        return released

    def _serve(self) -> None:
        while True:
            job = self._jobs.get()
            if not isinstance(job, threading.Event):
                job()
            elif self._let_go():
                self._disconnect()
                job.set()
                return
            else:
                job.set()
            del job  # it holds a session, which must not wait for the next job to be collected

    def _let_go(self) -> bool:
        with self._lock:
            self._holders -= 1
            if self._holders == 0:
                self._open.pop((self.pid, self._path, self._busy_timeout), None)
            return self._holders == 0

    def _run(self, job: Callable[[sqlite3.Connection], T]) -> T:
        import sqlite3

        try:
            return job(self._connection or self._connect())
        except sqlite3.Error as error:
            raise self._explained(error) from error

    def _connect(self) -> sqlite3.Connection:
        import sqlite3

        connection = sqlite3.connect(self._path, timeout=self._busy_timeout, isolation_level=None)
        try:
            self._use_wal(connection)
            connection.execute("PRAGMA synchronous = NORMAL")
            with connection:
                connection.execute("BEGIN IMMEDIATE")
                for statement in _SCHEMA:
                    connection.execute(statement)
        except BaseException:
            connection.close()
            raise
        self._connection = connection
        return connection

    def _use_wal(self, connection: sqlite3.Connection) -> None:
        """Switch the file to WAL. SQLite does not wait for a lock here as it does elsewhere."""
        import sqlite3

        deadline = time.monotonic() + self._busy_timeout
        while True:
            try:
                connection.execute("PRAGMA journal_mode = WAL")
                return
            except sqlite3.OperationalError as error:
                if error.sqlite_errorcode != sqlite3.SQLITE_BUSY or time.monotonic() > deadline:
                    raise
            time.sleep(0.01)

    def _disconnect(self) -> None:
        if self._connection is not None:
            self._connection.close()
            self._connection = None

    def _explained(self, error: sqlite3.Error) -> SessionError:
        import sqlite3

        code = getattr(error, "sqlite_errorcode", 0) & 0xFF
        name = f"session database {self._path!r}"
        if code in (sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED):
            return SessionBusyError(
                f"{name} stayed locked for {self._busy_timeout:g} s; end the other writer, raise busy_timeout, or try again"
            )
        remedy = {
            sqlite3.SQLITE_NOTADB: "is not a SQLite database; give another db_path",
            sqlite3.SQLITE_CORRUPT: "is damaged; restore it from a backup, or give another db_path",
            sqlite3.SQLITE_FULL: "cannot grow: the disk is full; make room and try again",
            sqlite3.SQLITE_IOERR: "cannot be read or written; check the disk and its free space",
            sqlite3.SQLITE_CANTOPEN: "cannot be opened; expected a file in an existing folder that this user may write",
            sqlite3.SQLITE_READONLY: "may not be written by this user; change its permissions, or give another db_path",
            sqlite3.SQLITE_PERM: "may not be opened by this user; change its permissions, or give another db_path",
            sqlite3.SQLITE_TOOBIG: "cannot take an item of this size; keep large contents elsewhere and refer to them",
        }.get(code, "failed; expected a database whose table agentsdk_session_items is ours")
        return SessionError(f"{name} {remedy} ({getattr(error, 'sqlite_errorname', type(error).__name__)})")
