"""A log of a run as a file of JSON lines: appended to by any number of processes, readable with `cat` and `grep`.

An append is one line for each event, and a last line that commits them and holds the summary:

    [2,["run_started",...]]
    {"version":1,"summary":{"run_id":"r","rev":1,...},"bytes":24,"crc32":3735928559}

`bytes` is the length of the event lines, `crc32` the checksum of those and of the last line up to it. An event that is not a
JSON array on one line, an encrypted one say, is kept as `{"base64":"..."}`.

Why an append is atomic and durable:

- Events count only with the commit line behind them, and the summary is in that line. So there is no moment at which one is
  seen without the other, and nothing beside the log could disagree with it.
- A process that dies leaves a beginning of what it wrote, which lacks the commit line. A power loss may leave any part of it,
  which its checksum does not fit. Neither was acknowledged, as that is done after `fsync`; neither is read; and the next append
  cuts it off before it writes.
- Who appends holds `flock` on the file, and has seen that it still is the one at its path. The system releases the lock of a
  process that dies. A forked child closes what it inherited, or it would go on holding its parent's lock.
- Readers take no lock. They read from the end, back to the last complete append: before it nothing changes any more. One who
  reads while a torn end is replaced may see parts of both, so damage counts only when it is seen twice.
"""

from __future__ import annotations

import binascii
import contextlib
import errno
import os
import threading
import time
import zlib
from collections.abc import Callable, Generator, Sequence
from math import isfinite
from types import ModuleType
from typing import TypeVar

import msgspec
from msgspec import Struct
from msgspec.structs import astuple

from agentsdk.databases.summary_json import decode_summary
from agentsdk.types.errors import StoreBusyError, StoreError, StoreUnavailableError
from agentsdk.types.summary import RunSummary

T = TypeVar("T")

VERSION = 1
"""Of the commit line. A later one keeps its first and its last two fields, so that this version can tell."""

_FIRST_READ = 16_384
_MOST_PAUSE = 0.02
_COMMIT = b'{"version":'
_CHECKSUM = b',"crc32":'
_WRAPPED = b'{"base64":"'


class DamagedLogError(StoreError):
    """A complete append has none before it that it can follow."""


class Append(Struct, frozen=True):
    """A complete append: `lines` are its events as they stand from `start` on, and its commit line ends at `end`."""

    summary: RunSummary
    lines: bytes
    start: int
    end: int

    def events(self) -> list[bytes]:
        """The events as they were given."""
        return [_unwrapped(line) for line in self.lines.split(b"\n")[:-1]]


class _CommitLine(Struct, frozen=True):
    version: int
    summary: msgspec.Raw
    bytes: int
    crc32: int


class LogFile:
    """An open log, read from its end backward, and no further than is asked for.

    `name` says in errors whose it is. Raises `StoreError` for a log of a newer version.
    """

    def __init__(self, file: int, name: str, *, whole: bool = False) -> None:
        self._file = file
        self._name = name
        self._size = os.fstat(file).st_size
        self._start: int = self._size
        self._data = b""
        if whole:
            self._reach(0)

    def last(self) -> Append | None:
        """The last complete append; None in a log that has none. What lies behind it was never acknowledged."""
        end = self._line_start(self._size + 1)
        while end > 0:
            start = self._line_start(end)
            if (found := self._append(start, end)) is not None:
                return found
            end = start
        return None

    def before(self, append: Append) -> Append | None:
        """The append before it; None for the first. Raises `DamagedLogError` where `append` does not follow it."""
        found = self._append(self._line_start(append.start), append.start) if append.start else None
        rev = 0 if found is None else found.summary.rev
        if (found is None and append.start) or rev + append.lines.count(b"\n") != append.summary.rev:
            raise DamagedLogError(
                f"{self._name} is damaged before byte {append.start}, expected what the store has written; restore a backup"
            )
        return found

    def events(self, last: Append, start: int) -> list[bytes]:
        """The events from number `start` on, up to those of `last`. Raises `DamagedLogError`."""
        parts: list[list[bytes]] = []
        append: Append | None = last
        while append is not None and append.summary.rev > start:
            parts.append(append.events())
            append = self.before(append)
        events = [event for part in reversed(parts) for event in part]
        return events[max(len(events) - (last.summary.rev - start), 0) :]

    def write(self, events: Sequence[bytes], summary: RunSummary, after: Append | None, *, sync: bool) -> None:
        """Append to a log whose last append is `after`; `sync` waits for the disk. Only with the lock.

        Raises `OSError`, with nothing appended, and `StoreUnavailableError` where that cannot be said.
        """
        end = 0 if after is None else after.end
        data = _encoded(events, summary)
        try:
            if self._size > end:
                os.ftruncate(self._file, end)
            position = 0
            while position < len(data):
                position += os.pwrite(self._file, memoryview(data)[position:], end + position)
            if sync:
                synced(self._file)
        except OSError as error:
            try:
                os.ftruncate(self._file, end)
            except OSError:
                raise StoreUnavailableError(
                    f"{self._name} can neither be written nor cut back, expected a working disk; check it and try again"
                ) from error
            raise

    def _append(self, start: int, end: int) -> Append | None:
        """The append whose commit line is here, if one is, and all of it."""
        line = self._slice(start, end)
        if not line.startswith(_COMMIT):
            return None
        head, _, _ = line.rpartition(_CHECKSUM)
        try:
            commit = msgspec.json.decode(line, type=_CommitLine)
        except (msgspec.MsgspecError, UnicodeDecodeError):
            return None
        if not 0 <= commit.bytes <= start:
            return None
        lines = self._slice(start - commit.bytes, start)
        if zlib.crc32(head, zlib.crc32(lines)) != commit.crc32:
            return None
        if commit.version != VERSION:
            raise StoreError(
                f"{self._name} was written by a newer version of agentsdk, expected logs of version {VERSION} at most; "
                "upgrade agentsdk, or give another directory"
            )
        try:
            summary = decode_summary(bytes(commit.summary))
        except msgspec.MsgspecError:
            raise StoreError(f"{self._name} holds no summary of a run: it was changed by others; restore a backup") from None
        return Append(summary, lines, start - commit.bytes, end)

    def _line_start(self, end: int) -> int:
        """Where the line starts whose newline is the last byte before `end`."""
        self._reach(max(end - 1, 0))
        while True:
            found = self._data.rfind(b"\n", 0, max(end - 1 - self._start, 0))
            if found >= 0 or self._start == 0:
                return self._start + found + 1
            self._reach(self._start - 1)

    def _slice(self, start: int, end: int) -> bytes:
        self._reach(start)
        return self._data[start - self._start : end - self._start]

    def _reach(self, start: int) -> None:
        """Have the bytes from `start` on. Each read doubles what is there, so that reading all costs as much as the log."""
        if start < self._start:
            have = self._size - self._start
            start = max(0, min(start, self._size - max(2 * have, _FIRST_READ)))
            self._data = _read(self._file, start, self._start) + self._data
            self._start = start


def _read(file: int, start: int, end: int) -> bytes:
    parts: list[bytes] = []
    while start < end and (part := os.pread(file, end - start, start)):
        parts.append(part)
        start += len(part)
    # A torn end that was cut off meanwhile: what was there is no part of an append.
    return b"".join([*parts, bytes(end - start)])


def _encoded(events: Sequence[bytes], summary: RunSummary) -> bytes:
    lines = b"".join([line for event in events for line in (_line(event), b"\n")])
    try:
        text = msgspec.json.encode(summary)
    except (UnicodeEncodeError, OverflowError):
        text = b""
    if not text or not all(isfinite(value) for value in astuple(summary) if isinstance(value, float)):
        raise StoreError(
            "the summary of the run cannot be kept as JSON, expected whole numbers of at most 64 bits, finite times, and text "
            "without lone surrogates"
        )
    head = b'%b%d,"summary":%b,"bytes":%d' % (_COMMIT, VERSION, text, len(lines))
    return b"%b%b%b%d}\n" % (lines, head, _CHECKSUM, zlib.crc32(head, zlib.crc32(lines)))


def _line(event: bytes) -> bytes:
    if event.startswith(b"[") and b"\n" not in event:
        with contextlib.suppress(msgspec.MsgspecError, UnicodeDecodeError, RecursionError):
            event.decode()
            msgspec.json.decode(event, type=msgspec.Raw)
            return event
    return b'%b%b"}' % (_WRAPPED, binascii.b2a_base64(event, newline=False))


def _unwrapped(line: bytes) -> bytes:
    return binascii.a2b_base64(line[len(_WRAPPED) : -2]) if line.startswith(_WRAPPED) else line


def read_twice(read: Callable[[], T]) -> T:
    """What `read` returns; damage that is seen once may have been a torn end that was just being replaced."""
    try:
        return read()
    except DamagedLogError:
        return read()


def synced(file: int) -> None:
    """Wait until what was written to `file`, or into a folder, outlives a power loss."""
    import fcntl

    full = getattr(fcntl, "F_FULLFSYNC", None)
    if full is not None:  # on macOS fsync leaves it in the cache of the drive
        try:
            fcntl.fcntl(file, full)
            return
        except OSError:
            pass  # not on this file system
    os.fsync(file)


def file_error(owner: str, error: OSError) -> StoreError:
    """What `error` means for a store of files, and what to do; `owner` names the store."""
    remedy = {
        errno.ENOSPC: "cannot grow: the disk is full; make room and try again",
        errno.EDQUOT: "cannot grow: the quota of this user is used up; make room and try again",
        errno.EACCES: "may not be used by this user; permit it, all folders and files in it too, or give another directory",
        errno.EPERM: "may not be used by this user; permit it, all folders and files in it too, or give another directory",
        errno.EROFS: "is on a disk that is read only; give another directory",
        errno.EMFILE: "cannot be opened: this process has too many files open; raise its limit (ulimit -n)",
        errno.ENOLCK: "cannot be locked; expected a folder on a local disk, give another directory",
        errno.ENOTSUP: "cannot be locked; expected a folder on a local disk, give another directory",
    }.get(error.errno or 0, "cannot be read or written; expected folders of logs as the store made them, on a disk that works")
    return StoreError(f"{owner} {remedy} ({errno.errorcode.get(error.errno or 0, type(error).__name__)})")


def locking() -> ModuleType | None:
    """The module that locks files; None on a platform that has none."""
    try:
        import fcntl
    except ImportError:
        return None
    return fcntl


_locked: set[int] = set()
fork_lock = threading.Lock()
"""Held during a fork, so that what it guards is never seen half done in the child."""


@contextlib.contextmanager
def locked(path: str, *, timeout: float, create: bool = False) -> Generator[int]:
    """The file at `path`, open, and locked until the end of the `with` against all others in this and other processes.

    Raises `OSError`, and `StoreBusyError` after `timeout` seconds.
    """
    import fcntl

    file = _lock(path, os.O_RDWR | (os.O_CREAT if create else 0), time.monotonic() + timeout, timeout)
    try:
        yield file
    finally:
        fcntl.flock(file, fcntl.LOCK_UN)  # closing alone does not, while a program that is being started has the file too
        _close(file)


def _lock(path: str, flags: int, deadline: float, timeout: float) -> int:
    import fcntl

    pause = 0.001
    while True:
        with fork_lock:
            file = os.open(path, flags, 0o600)
            _locked.add(file)
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            if _is_at(path, file):
                return file
        except BlockingIOError:
            pass
        except BaseException:
            _close(file)
            raise
        _close(file)
        if time.monotonic() >= deadline:
            raise StoreBusyError(
                f"{path!r} stayed locked for {timeout:g} s; end the other writer, raise busy_timeout, or try again"
            )
        time.sleep(pause)
        pause = min(2 * pause, _MOST_PAUSE)


def _is_at(path: str, file: int) -> bool:
    """Whether it was not deleted before the lock came free."""
    try:
        return os.path.samestat(os.stat(path), os.fstat(file))
    except FileNotFoundError:
        return False


def _close(file: int) -> None:
    with fork_lock:
        _locked.discard(file)
        os.close(file)


def _after_fork_in_child() -> None:
    for file in _locked:
        os.close(file)
    _locked.clear()
    fork_lock.release()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(before=fork_lock.acquire, after_in_parent=fork_lock.release, after_in_child=_after_fork_in_child)
