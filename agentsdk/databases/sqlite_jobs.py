"""What the thread of a SQLite file is asked for, and how writes share a transaction."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from contextlib import suppress
from typing import TYPE_CHECKING, Any, Generic, TypeVar, cast

if TYPE_CHECKING:
    import sqlite3

T = TypeVar("T")


class _Uncancelled(asyncio.Future[T]):
    """A future that nobody cancels: a task that is cancelled while it waits for it is cancelled once it is done."""

    def cancel(self, msg: object = None) -> bool:
        return False


class Job(Generic[T]):
    """What is to be done with the connection, and the future of who waits for it on an event loop."""

    def __init__(self, work: Callable[[sqlite3.Connection], T], *, is_write: bool) -> None:
        self.is_write = is_write
        self.loop = asyncio.get_running_loop()
        self.future: asyncio.Future[T] = _Uncancelled(loop=self.loop)
        self.outcome: T | BaseException = cast("T", None)
        self._work = work

    def do(self, connection: sqlite3.Connection) -> None:
        """Do it; its `outcome` is what it returned or raised."""
        try:
            self.outcome = self._work(connection)
        except BaseException as error:
            self.outcome = error

    def end(self) -> None:
        """On the event loop: that it is done."""
        outcome = self.outcome
        del self.outcome  # an error refers to the frame of `do`, and so to this job and its adapter
        if isinstance(outcome, BaseException):
            self.future.set_exception(outcome)
        else:
            self.future.set_result(outcome)


def write(connection: sqlite3.Connection, jobs: Sequence[Job[Any]]) -> bool:
    """Do writes in one transaction; what one of them raises undoes that one. False if the file's lock did not come free."""
    try:
        connection.execute("BEGIN IMMEDIATE")
    except Exception as error:
        for job in jobs:
            job.outcome = error
        return False
    try:
        with connection:
            for job in jobs:
                _write_one(connection, job, is_alone=len(jobs) == 1)
    except Exception as error:
        if len(jobs) == 1:
            jobs[0].outcome = error
        else:
            _write_each(connection, jobs)
    return True


def _write_each(connection: sqlite3.Connection, jobs: Sequence[Job[Any]]) -> None:
    """Do writes that something has undone together (the disk is full, say) in a transaction each: some may fit."""
    for number, job in enumerate(jobs):
        if not write(connection, (job,)):
            for other in jobs[number:]:  # they need not wait for the lock again
                other.outcome = job.outcome
            return


def _write_one(connection: sqlite3.Connection, job: Job[Any], *, is_alone: bool) -> None:
    """Do a write. Raises what undoes the whole transaction."""
    if not is_alone:
        connection.execute("SAVEPOINT job")
    job.do(connection)
    if isinstance(job.outcome, BaseException):
        if is_alone or not connection.in_transaction:  # SQLite has undone it
            raise job.outcome
        connection.execute("ROLLBACK TO job")
    if not is_alone:
        connection.execute("RELEASE job")


def tell(jobs: Sequence[Job[Any]]) -> None:
    """Have those who wait for `jobs` go on, each on its event loop."""
    waiting: dict[asyncio.AbstractEventLoop, list[Job[Any]]] = {}
    for job in jobs:
        waiting.setdefault(job.loop, []).append(job)
    for loop, done in waiting.items():
        with suppress(RuntimeError):  # the loop is closed
            loop.call_soon_threadsafe(_end, done)


def _end(jobs: Sequence[Job[Any]]) -> None:
    for job in jobs:
        job.end()
