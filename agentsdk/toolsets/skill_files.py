"""The files of skills: listed and read below a folder, and nowhere else.

A path is opened name by name, each relative to the descriptor of the folder before it, and no symbolic link is followed. So
what is checked is what is read: a folder that is replaced by a link meanwhile leads nowhere.
"""

from __future__ import annotations

import errno
import os
import stat
from collections.abc import Generator, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from itertools import islice
from typing import NamedTuple

MOST_FILES = 100
"""How many files of a skill are listed."""

_MOST_FOLDERS = 200
_DEEPEST = 8

# Absent on Windows, where `can_open_below` is False.
_FOLDER = os.O_RDONLY | getattr(os, "O_DIRECTORY", 0) | getattr(os, "O_CLOEXEC", 0)
_FILE = os.O_RDONLY | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_CLOEXEC", 0)


class OutsideError(ValueError):
    """A path that names nothing which may be read. The text says why."""


class FileRead(NamedTuple):
    """The beginning of a file, its size in bytes, and what tells whether it has changed."""

    data: bytes
    size: int
    version: tuple[int, ...]


def can_open_below() -> bool:
    """Whether this platform opens files relative to a folder's descriptor."""
    return os.open in os.supports_dir_fd and hasattr(os, "O_NOFOLLOW") and hasattr(os, "fwalk")


def names_in(path: str) -> tuple[str, ...]:
    """The names that a relative path is made of. Raises `OutsideError` for one that leads out, or to what is hidden."""
    if path.startswith("/") or "\0" in path:
        raise OutsideError("is not a relative path")
    names = tuple([name for name in path.split("/") if name not in ("", ".")])
    if ".." in names:
        raise OutsideError("leads out of the folder")
    if any(name.startswith(".") for name in names):
        raise OutsideError("is hidden")
    if not names:
        raise OutsideError("names no file")
    return names


def read_below(folder: str, path: str, most: int) -> FileRead:
    """The first `most` bytes of a file below `folder`. Raises `OutsideError`, or an `OSError` where it cannot be read."""
    *folders, name = names_in(path)
    with _opened(folder, folders) as parent:
        file = os.open(name, _FILE, dir_fd=parent)
        try:
            found = os.fstat(file)
            if not stat.S_ISREG(found.st_mode):
                raise OutsideError("is not a file")
            with open(file, "rb", closefd=False) as reader:
                return FileRead(reader.read(most), found.st_size, version_of(found))
        finally:
            os.close(file)


def files_below(folder: str, name: str) -> tuple[list[tuple[str, int]], bool]:
    """The files below `folder/name` with their sizes, nothing hidden, and whether there may be more. Raises `OSError`."""
    files: list[tuple[str, int]] = []
    with _opened(folder, [name]) as top:
        walk = os.fwalk(".", dir_fd=top)
        for where, folders, names, here in islice(walk, _MOST_FOLDERS):
            depth = where.count("/")
            folders[:] = sorted(filter(_is_shown, folders)) if depth < _DEEPEST else []
            for file in sorted(filter(_is_shown, names)):
                try:
                    found = os.stat(file, dir_fd=here, follow_symlinks=False)
                except FileNotFoundError:  # since it was listed
                    continue
                if stat.S_ISREG(found.st_mode):
                    files.append((os.path.normpath(f"{where}/{file}"), found.st_size))
            if len(files) > MOST_FILES:
                break
        else:
            return files, next(walk, None) is not None
    return files[:MOST_FILES], True


def folders_in(folder: str, file: str) -> Iterator[tuple[str, tuple[int, ...] | None]]:
    """The folders in `folder` that have a file of this name, and its version: None where it cannot be told, or is a link's.

    Raises `OSError` where the folder cannot be read.
    """
    with _opened(folder, ()) as top, os.scandir(top) as entries:
        for entry in sorted(entries, key=lambda entry: entry.name):
            if entry.name.startswith("."):
                continue
            try:
                found = os.stat(f"{entry.name}/{file}", dir_fd=top, follow_symlinks=False)
            except (FileNotFoundError, NotADirectoryError):
                continue
            except OSError:
                yield entry.name, None
            else:
                yield entry.name, None if entry.is_symlink() else version_of(found)


def version_of(found: os.stat_result) -> tuple[int, ...]:
    """What changes with a file."""
    return found.st_dev, found.st_ino, found.st_size, found.st_mtime_ns, found.st_ctime_ns


def reason_of(error: Exception) -> str:
    """Why a file cannot be read, in words."""
    code = error.errno if isinstance(error, OSError) else None
    if code == errno.ELOOP:
        return "a symbolic link, which is not followed"
    if code in (errno.ENOENT, errno.ENOTDIR, errno.ENAMETOOLONG) or isinstance(error, UnicodeError):
        return "there is none"
    return (error.strerror if isinstance(error, OSError) else None) or str(error)


@contextmanager
def _opened(folder: str, names: Sequence[str]) -> Generator[int]:
    """The descriptor of a folder below `folder`, which may itself be a link: a person named it."""
    with ExitStack() as stack:
        opened = os.open(folder, _FOLDER)
        stack.callback(os.close, opened)
        for name in names:
            opened = os.open(name, _FOLDER | os.O_NOFOLLOW, dir_fd=opened)
            stack.callback(os.close, opened)
        yield opened


def _is_shown(name: str) -> bool:
    return not name.startswith(".") and name.isprintable()
