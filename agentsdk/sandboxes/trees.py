"""Whole trees of files that a sandboxed command has made: removed however deep and unreadable they are."""

from __future__ import annotations

import os
import secrets
import stat
from contextlib import suppress


def remove_tree(name: str, above: int) -> None:
    """Remove the folder `name` in the open folder `above`, and all that it holds. Links are not followed.

    A folder inside is moved up beside `name` before it is emptied: so a tree of any depth takes no stack and few open files.
    """
    left = [name]
    while left:
        current = left.pop()
        _allow(current, above)
        folder = os.open(current, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC, dir_fd=above)
        try:
            left += [moved for entry in os.listdir(folder) if (moved := _unlinked(entry, folder, above))]
        finally:
            os.close(folder)
        os.rmdir(current, dir_fd=above)


def _unlinked(name: str, folder: int, above: int) -> str:
    """Remove what is no folder; the new name of what is one, moved to `above`."""
    with suppress(FileNotFoundError):
        if not stat.S_ISDIR(os.stat(name, dir_fd=folder, follow_symlinks=False).st_mode):
            os.unlink(name, dir_fd=folder)
            return ""
        _allow(name, folder)  # a folder that may not be written may not be moved
        moved = f".{secrets.token_hex(8)}.gone"
        os.rename(name, moved, src_dir_fd=folder, dst_dir_fd=above)
        return moved
    return ""


def _allow(name: str, above: int) -> None:
    """Give its owner every permission of a folder, which it may lack."""
    if stat.S_IMODE(os.stat(name, dir_fd=above, follow_symlinks=False).st_mode) & 0o700 == 0o700:
        return
    if not hasattr(os, "O_PATH"):
        os.chmod(name, 0o700, dir_fd=above)
        return
    found = os.open(name, os.O_PATH | os.O_NOFOLLOW | os.O_CLOEXEC, dir_fd=above)
    try:
        if stat.S_ISDIR(os.fstat(found).st_mode):  # and not a link put in its place meanwhile
            os.chmod(f"/proc/self/fd/{found}", 0o700)
    finally:
        os.close(found)
