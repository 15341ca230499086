"""The file that a memory is: read and replaced whole, never through a link, private to its user.

A folder on the way to it is opened from the one before, and neither that nor the file where it is a link, also where somebody
puts one there meanwhile: that is an error, and nothing outside is read or written.
"""

from __future__ import annotations

import errno
import hashlib
import os
import stat
from collections.abc import Generator
from contextlib import contextmanager, suppress
from pathlib import Path

from agentsdk.databases.log_file import synced
from agentsdk.types.errors import MemoryFileError

_FOLDER = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
_FILE = os.O_RDONLY | os.O_NOFOLLOW | os.O_CLOEXEC | os.O_NONBLOCK  # the last: opening a pipe must not wait for a writer


class NoteFile:
    """The file `name` in the folder `below` of `root`, or in `root` itself where `below` is `""`. No file is an empty text.

    One that has more than `most` bytes, as somebody has made it so, is not changed, and read in part.
    """

    def __init__(self, root: Path, below: str, name: str, most: int) -> None:
        self.path = root / below / name
        self.most = most
        self._root = root
        self._below = below
        self._name = name

    def text(self) -> str:
        """All of it. Raises `MemoryFileError` for what is no text file, or a large one."""
        content = self._read(self.most + 1)
        if len(content) > self.most:
            raise self._error(f"has more than {self.most} bytes, expected that at most; make it smaller by hand")
        try:
            return content.decode()
        except UnicodeDecodeError:
            raise self._error("is no UTF-8 text, expected one; save it as that, or move it away") from None

    def end(self) -> tuple[str, bool]:
        """All of it or its end, with U+FFFD for what is no text, and whether that is all. Raises `MemoryFileError`."""
        content = self._read(self.most + 1, from_end=True)
        return content.decode(errors="replace"), len(content) <= self.most

    def replace(self, text: str) -> None:
        """Make `text` all of it, in one step that outlives a power loss; of an empty text there is no file.

        One caller at a time. Raises `MemoryFileError`.
        """
        with self._in_folder(make=True) as folder:
            if not text:
                with suppress(FileNotFoundError):
                    os.unlink(self._name, dir_fd=folder)
                synced(folder)
                return
            part = f".{self._name}.part"
            with suppress(FileNotFoundError):
                os.unlink(part, dir_fd=folder)  # of a process that died
            try:
                with os.fdopen(os.open(part, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600, dir_fd=folder), "wb") as opened:
                    opened.write(text.encode())
                    opened.flush()
                    os.fchmod(opened.fileno(), self._mode(folder))
                    synced(opened.fileno())
                os.rename(part, self._name, src_dir_fd=folder, dst_dir_fd=folder)
            except BaseException:
                with suppress(OSError):
                    os.unlink(part, dir_fd=folder)
                raise
            synced(folder)

    def _read(self, most: int, *, from_end: bool = False) -> bytes:
        with suppress(FileNotFoundError), self._in_folder() as folder:
            file = os.open(self._name, _FILE, dir_fd=folder)
            with os.fdopen(file, "rb") as opened:
                found = os.fstat(file)
                if not stat.S_ISREG(found.st_mode):
                    raise self._error("is a device, pipe or socket, expected a file; move it away")
                if from_end:
                    opened.seek(max(found.st_size - most, 0))
                return opened.read(most)
        return b""

    def _mode(self, folder: int) -> int:
        try:
            return os.stat(self._name, dir_fd=folder, follow_symlinks=False).st_mode & 0o777
        except FileNotFoundError:
            return 0o600

    @contextmanager
    def _in_folder(self, *, make: bool = False) -> Generator[int]:
        opened: list[int] = []
        try:
            opened.append(os.open(self._root, _FOLDER))
            if self._below:
                if make:
                    with suppress(FileExistsError):
                        os.mkdir(self._below, 0o700, dir_fd=opened[0])
                opened.append(os.open(self._below, _FOLDER, dir_fd=opened[0]))
            yield opened[-1]
        except FileNotFoundError as error:
            if not make:
                raise
            raise self._error("has lost its folder, expected that to stay; make it again") from error
        except OSError as error:
            raise self._error(_REASONS.get(error.errno or 0, f"cannot be used ({error.strerror})")) from error
        finally:
            for folder in opened:
                os.close(folder)

    def _error(self, what: str) -> MemoryFileError:
        return MemoryFileError(f"memory {str(self.path)!r} {what}")


_REASONS = {
    errno.ELOOP: "is a link, expected a file that is there itself; put one in its place",
    errno.ENOTDIR: "goes through a link, or through what is no folder, expected a folder; put one in its place",
    errno.EISDIR: "is a folder, expected a file; move it away",
    errno.EACCES: "may not be used by this user; permit it, the folder too, or give another folder",
    errno.EPERM: "may not be used by this user; permit it, the folder too, or give another folder",
    errno.ENOSPC: "cannot grow: the disk is full; make room and try again",
    errno.EROFS: "is on a disk that is read only; give another folder",
    errno.ENXIO: "is a device, pipe or socket, expected a file; move it away",
}


def digest(text: str) -> str:
    """What tells one content from another."""
    return hashlib.sha256(text.encode()).hexdigest()
