"""A run store in files: a folder for each run, with its log and its mailbox as JSON lines and what is attached to it.

    runs/order-7/log.jsonl
    runs/order-7/mailbox.jsonl
    runs/order-7/attachments/call_1
    runs/.ready

How an append to a log is atomic and durable is said in `databases.log_file`. Of what is done to a whole run:

- A run exists from its first complete append on. A folder without one, left by a process that died, is none. Its folders are
  synced before that append, so whoever finds a run can rely on them.
- A run is deleted by one rename, of its folder into `.deleted`, with the lock of its log: whatever belongs to it goes at once,
  and one that is begun again under its id has a folder of its own. What a process that died left in `.deleted` goes with the
  next deletion.
- A signal is posted with the lock of the log, which it leaves as it is: the run's summary is that of its last append, beside
  as many signals as there are.
- What leaves a run ready changes `.ready` too, so that a worker that waits has one file to look at.
- An attachment is written beside its place and renamed to it, with the lock too, so that it never ends up in a deleted run.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
import sys
from collections.abc import Callable, Generator, Iterable, Sequence
from typing import TYPE_CHECKING, TypeVar, cast

from agentsdk.databases.finished import finished
from agentsdk.databases.log_file import Append, LogFile, file_error, fork_lock, locked, locking, read_twice, synced
from agentsdk.ports.run_store import RunStore, conflict, not_found, not_open
from agentsdk.stores.file_mailbox import Mailbox
from agentsdk.stores.file_names import file_name
from agentsdk.stores.file_ready import ReadyFile, ReadyWatch
from agentsdk.stores.waiters import LoopWaiters, Waiters
from agentsdk.types.declared import Expected, Fields, number, one_of
from agentsdk.types.errors import StoreBusyError, StoreError, UserError
from agentsdk.types.summary import ALL_RUNS, DueRuns, RunQuery, RunStatus, RunSummary

if TYPE_CHECKING:
    from concurrent.futures import Future, ThreadPoolExecutor

    from agentsdk.databases.sqlite import Synchronous

T = TypeVar("T")

_MOST_THREADS = 32
_LOG = "log.jsonl"
_MAILBOX = "mailbox.jsonl"
_ATTACHMENTS = "attachments"
_NEW = ".new"
_READY = ".ready"
_DELETED = ".deleted"


def _is_path(value: object) -> bool:
    path = os.fsencode(cast("str", value))  # raises for what is none
    return bool(path) and b"\0" not in path


_FIELDS = Fields(
    "FileRunStore",
    directory=Expected("the path of a folder; give 'runs', say", _is_path),
    busy_timeout=number("0 to 1000000 seconds", least=0, most=1_000_000),
    synchronous=one_of("'FULL' or 'NORMAL'", ("FULL", "NORMAL")),
)


class FileRunStore(RunStore):
    """Keeps each run in a folder in `directory`, its log as JSON lines: for one machine, to be read with `cat` and `grep`.

    An append outlives a crash of the process, and with `synchronous="FULL"` a power loss too: it waits for the disk. With
    `"NORMAL"` it does not wait: a power loss may take back the latest appends, always complete ones; a log of which the disk
    kept a later part and not an earlier one is refused with `StoreError`. Another process may hold the lock of a run for at
    most `busy_timeout` seconds: keep that well inside the lease of the runs.

    The directory must be on a local disk. It is made if the folder it is in exists; what is new may be read and written by its
    owner only. `list`, `due` and `prune` read the end of every log, so their time grows with the number of runs; and who waits
    looks every 50 ms. For many runs and workers take `SQLiteRunStore`.

    Raises `UserError` on a platform that cannot lock files (Windows). Every method raises `StoreError` for files that are
    damaged, unwritable or of a newer version, for a full disk, and once closed; and `StoreBusyError` when a lock did not come
    free in time. Every run is then as it was before.
    """

    def __init__(
        self, directory: str | os.PathLike[str], *, busy_timeout: float = 10.0, synchronous: Synchronous = "FULL"
    ) -> None:
        _FIELDS.check_given(directory=directory, busy_timeout=busy_timeout, synchronous=synchronous)
        if locking() is None:
            raise UserError(
                f"FileRunStore cannot lock files on {sys.platform!r}, expected a platform with fcntl (Linux, macOS); use "
                "SQLiteRunStore('runs.db')"
            )
        self._directory = os.path.realpath(os.fsdecode(directory))
        self._busy_timeout = busy_timeout
        self._sync = synchronous == "FULL"
        self._ready = ReadyFile(self._path(_READY))
        self._waiters = Waiters()
        self._threads: ThreadPoolExecutor | None = None
        self._pid = 0
        self._closed = False

    def __repr__(self) -> str:
        return f"FileRunStore({self._directory!r})"

    async def append(self, run_id: str, expected_rev: int, events: Sequence[bytes], summary: RunSummary) -> int:
        """Add events to a run's log, if it is where expected. Raises `RunConflictError`."""
        given = tuple(events)
        return self._told(await self._run(lambda: self._append(run_id, expected_rev, given, summary)))

    async def read(self, run_id: str, from_rev: int = 0) -> list[bytes]:
        """A run's events. Raises `RunNotFoundError`, and `StoreError` if the log is damaged."""
        name = file_name(run_id)

        def read() -> list[bytes]:
            with contextlib.suppress(FileNotFoundError), open(self._path(name, _LOG), "rb", buffering=0) as file:
                log = self._log(file.fileno(), name, whole=from_rev == 0)
                last = self._last(log, name)
                if last is not None:
                    return log.events(last, from_rev)
            raise not_found(run_id)

        return await self._run(lambda: read_twice(read))

    async def summary(self, run_id: str) -> RunSummary | None:
        """A run's summary."""
        return await self._run(lambda: self._summary(file_name(run_id)))

    async def due(self, query: DueRuns) -> list[RunSummary]:
        """The runs that a worker may take."""
        return await self._run(lambda: sorted(filter(query.fits, self._summaries()), key=query.order)[: query.limit])

    async def signals(self, run_id: str, after: int = 0) -> list[bytes]:
        """What was posted to a run. Raises `RunNotFoundError`, and `StoreError` if the mailbox is damaged."""
        name = file_name(run_id)

        def read() -> list[bytes]:
            if self._summary(name) is None:
                raise not_found(run_id)
            return self._mailbox(name).signals(after)

        return await self._run(lambda: read_twice(read))

    async def list(self, query: RunQuery = ALL_RUNS) -> list[RunSummary]:
        """The runs that fit."""

        def find() -> list[RunSummary]:
            found = [summary for summary in self._summaries() if query.fits(summary)]
            found.sort(key=lambda summary: (summary.started_at, summary.run_id), reverse=True)
            return found[: query.limit]

        return await self._run(find)

    async def post(self, run_id: str, signal: bytes) -> int:
        """Put a signal into a run's mailbox. Raises `RunNotFoundError`, and `RunConflictError` where it is over."""
        return self._told(await self._run(lambda: self._post(run_id, signal)))

    async def attach(self, run_id: str, name: str, data: bytes) -> None:
        """Keep `data` beside a run's log. Raises `RunNotFoundError`."""
        await self._run(lambda: self._attach(run_id, file_name(name), data))

    async def attachment(self, run_id: str, name: str) -> bytes | None:
        """What was attached under `name`."""

        def read() -> bytes | None:
            try:
                with open(self._path(file_name(run_id), _ATTACHMENTS, file_name(name)), "rb") as file:
                    return file.read()
            except FileNotFoundError:
                return None

        return await self._run(read)

    async def delete(self, run_id: str) -> None:
        """Remove a run."""
        await self._run(lambda: self._delete(run_id, lambda summary: True))

    async def prune(self, before: float, statuses: Iterable[RunStatus] = ("finished",)) -> int:
        """Delete runs of these `statuses` last updated before `before`, a Unix timestamp in seconds, one after the other."""
        chosen = frozenset(statuses)

        def is_old(summary: RunSummary) -> bool:
            return summary.updated_at < before and summary.status in chosen

        def prune() -> int:
            old = [summary.run_id for summary in self._summaries() if is_old(summary)]
            return sum([self._delete(run_id, is_old) for run_id in old])

        return await self._run(prune)

    async def wait_due(self, seen: int, timeout: float) -> int:
        """Another number than `seen` once some run may have become due, or `seen` after `timeout` seconds.

        What other processes leave ready is seen within about 20 ms, without a look at any log.
        """
        return await self._waiters.wait_due(seen, timeout, self._watch)

    async def aclose(self) -> None:
        """Finish what was asked for, and let go of the threads."""
        await self._waiters.aclose(self._closed_message)
        with fork_lock:
            self._closed = True
            threads, self._threads = self._threads, None
        if threads is not None and self._pid == os.getpid():
            await asyncio.to_thread(threads.shutdown)

    @property
    def _closed_message(self) -> str:
        return f"{self!r} is closed; make a new one"

    async def _watch(self, waiters: LoopWaiters) -> ReadyWatch:
        return ReadyWatch(self._ready, waiters)

    def _told(self, standing: RunSummary) -> int:
        """How many signals there are, once those who wait in this process know of the run."""
        if standing.status == "ready":
            self._waiters.notify_due()
        return standing.signals

    async def _run(self, job: Callable[[], T]) -> T:
        """What `job` returns, run on a thread. A cancelled caller goes on only once it has ended."""

        def work() -> T:
            try:
                return job()
            except OSError as error:
                raise file_error(f"{self!r}", error) from error

        return await finished(asyncio.wrap_future(self._submitted(work)))

    def _submitted(self, work: Callable[[], T]) -> Future[T]:
        """`work` on a thread of its own: those of the event loop may all be in tools, while a lease has to be renewed."""
        from concurrent.futures import ThreadPoolExecutor

        with fork_lock:
            if self._closed:
                raise StoreError(self._closed_message)
            if self._threads is None or self._pid != os.getpid():  # threads do not cross a fork
                self._pid = os.getpid()
                self._threads = ThreadPoolExecutor(_MOST_THREADS, f"agentsdk {os.path.basename(self._directory)}")
            return self._threads.submit(work)

    def _append(self, run_id: str, expected_rev: int, events: Sequence[bytes], summary: RunSummary) -> RunSummary:
        name = file_name(run_id)
        try:
            with self._created(name) if expected_rev == 0 else self._locked(name) as file:
                log = self._log(file, name)
                last = self._last(log, name)
                refused = conflict(None if last is None else last.summary, expected_rev, summary)
                if refused is not None:
                    raise refused
                rev = expected_rev + len(events)
                if (summary.run_id, summary.rev) != (run_id, rev):
                    raise StoreError(
                        f"the summary is of run {summary.run_id!r} at revision {summary.rev}, expected of {run_id!r} at {rev}, "
                        "where these events take it; pass that"
                    )
                if last is None:
                    self._sync_folders(self._path(name), self._directory)
                standing = summary.beside(self._mailbox(name).count())
                log.write(events, standing, last, sync=self._sync)
                return self._changed(standing)
        except FileNotFoundError:
            raise conflict(None, expected_rev, summary) or StoreBusyError(
                f"run {run_id!r} was just being deleted from {self!r}, expected it to be free; try again"
            ) from None

    def _changed(self, standing: RunSummary) -> RunSummary:
        if standing.status == "ready":
            self._ready.change()
        return standing

    def _post(self, run_id: str, signal: bytes) -> RunSummary:
        name = file_name(run_id)
        try:
            with self._locked(name) as log:
                last = self._last(self._log(log, name), name)
                if last is None:
                    raise not_found(run_id)
                if last.summary.is_over:
                    raise not_open(last.summary)
                number = self._mailbox(name).post(signal, last.summary, sync=self._sync)
                if number == 1:
                    self._sync_folders(self._path(name))
                return self._changed(last.summary.beside(number))
        except FileNotFoundError:
            raise not_found(run_id) from None

    def _attach(self, run_id: str, name: str, data: bytes) -> None:
        run = file_name(run_id)
        folder = self._path(run, _ATTACHMENTS)
        try:
            with self._locked(run) as log:
                if self._last(self._log(log, run), run) is None:
                    raise not_found(run_id)
                with contextlib.suppress(FileExistsError):
                    os.mkdir(folder, 0o700)
                with open(os.open(os.path.join(folder, _NEW), os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600), "wb") as file:
                    file.write(data)
                    file.flush()
                    if self._sync:
                        synced(file.fileno())
                os.replace(os.path.join(folder, _NEW), os.path.join(folder, name))
                self._sync_folders(folder, self._path(run))
        except FileNotFoundError:
            raise not_found(run_id) from None

    def _delete(self, run_id: str, wanted: Callable[[RunSummary], bool]) -> bool:
        """Delete the run if its summary is still `wanted`; whether that was done."""
        name, deleted = file_name(run_id), self._path(_DELETED)
        try:
            with self._locked(name) as file:
                last = self._last(self._log(file, name), name)
                if last is not None and not wanted(self._standing(last, name)):
                    return False
                with contextlib.suppress(FileExistsError):
                    os.mkdir(deleted, 0o700)
                os.rename(self._path(name), os.path.join(deleted, os.urandom(8).hex()))
                self._sync_folders(self._directory, deleted)
        except FileNotFoundError:
            return False
        import shutil

        for left in os.listdir(deleted):
            shutil.rmtree(os.path.join(deleted, left), ignore_errors=True)  # another process may be at it
        return True

    def _summaries(self) -> Generator[RunSummary]:
        try:
            names = os.listdir(self._directory)
        except FileNotFoundError:
            return
        for name in names:
            if not name.startswith("."):
                summary = self._summary(name)
                if summary is not None:
                    yield summary

    def _summary(self, name: str) -> RunSummary | None:
        try:
            with open(self._path(name, _LOG), "rb", buffering=0) as file:
                last = self._last(self._log(file.fileno(), name), name)
        except (FileNotFoundError, NotADirectoryError):
            return None
        return None if last is None else self._standing(last, name)

    def _standing(self, last: Append, name: str) -> RunSummary:
        """The summary of the run's last append, as it stands beside what was posted."""
        return last.summary.beside(self._mailbox(name).count())

    def _last(self, log: LogFile, name: str) -> Append | None:
        last = log.last()
        if last is not None and file_name(last.summary.run_id) != name:
            raise StoreError(
                f"{self._path(name)!r} holds run {last.summary.run_id!r}, expected that in a folder named "
                f"{file_name(last.summary.run_id)!r}: it was renamed or copied; move it back, or out of the directory"
            )
        return last

    def _log(self, file: int, name: str, *, whole: bool = False) -> LogFile:
        return LogFile(file, f"the log {self._path(name, _LOG)!r}", whole=whole)

    def _mailbox(self, name: str) -> Mailbox:
        return Mailbox(self._path(name, _MAILBOX))

    def _locked(self, name: str) -> contextlib.AbstractContextManager[int]:
        return locked(self._path(name, _LOG), timeout=self._busy_timeout)

    def _created(self, name: str) -> contextlib.AbstractContextManager[int]:
        """`_locked`, of a log that is made if there is none."""
        try:
            with contextlib.suppress(FileExistsError):
                os.mkdir(self._directory, 0o700)
            with contextlib.suppress(PermissionError):  # a folder that this user may not read is not where it was just made
                self._sync_folders(os.path.dirname(self._directory))
        except FileNotFoundError:
            raise StoreError(f"{self!r} cannot be made, expected a path in a folder that exists; make that first") from None
        with contextlib.suppress(FileExistsError):
            os.mkdir(self._path(name), 0o700)
        return locked(self._path(name, _LOG), timeout=self._busy_timeout, create=True)

    def _sync_folders(self, *folders: str) -> None:
        """Have what was made, renamed or removed in them outlive a power loss."""
        for folder in folders if self._sync else ():
            file = os.open(folder, os.O_RDONLY)
            try:
                synced(file)
            finally:
                os.close(file)

    def _path(self, *names: str) -> str:
        return os.path.join(self._directory, *names)
