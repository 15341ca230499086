"""A workspace that is a folder of this machine, whose files a sandboxed command may change at any moment.

A path is walked folder by folder, each opened from the one before it without following links: what a link says is read and
walked in the same way, and `..` goes back to the folder that was come from. So nothing outside is ever opened, also where a
command puts a link in the place of a folder meanwhile: the kernel then refuses, and so does this.
"""

from __future__ import annotations

import errno
import os
import posixpath
import secrets
import stat
from collections import deque
from collections.abc import Generator, MutableSequence
from contextlib import contextmanager, suppress
from pathlib import Path

from agentsdk.ports.sandbox import FileInfo, FileKind
from agentsdk.sandboxes.trees import remove_tree
from agentsdk.types.errors import SandboxError, SandboxFileError, UserError

_FOLDER = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
_FILE = os.O_RDONLY | os.O_NOFOLLOW | os.O_CLOEXEC | os.O_NONBLOCK  # the last: opening a pipe must not wait for a writer
_MAX_LINKS = 40
"""Links followed on one path, as many as the kernel follows."""

_SYSTEM = ("/bin", "/boot", "/dev", "/etc", "/lib", "/lib64", "/proc", "/root", "/run", "/sbin", "/sys", "/usr", "/var/lib")
_FORBIDDEN = ("/dev", "/proc", "/sys")


class Workspace:
    """The folder `root`, which commands know as `workdir`. As root its new files get the folder's owner."""

    def __init__(self, root: Path, workdir: str) -> None:
        self.root = root
        self.workdir = workdir

    def read(self, path: str, max_bytes: int) -> bytes:
        """See `SandboxFiles.read`."""
        with self.at(path) as (folder, name):
            file = os.open(name, _FILE, dir_fd=folder)
            with os.fdopen(file, "rb") as opened:
                self._expect(path, os.fstat(file).st_mode, "file")
                data = opened.read(max_bytes + 1)
        if len(data) > max_bytes:
            raise SandboxFileError(
                f"file {path!r} has more than {max_bytes} bytes; read it with a larger max_bytes, or a part of it by a command",
                path=path,
            )
        return data

    def write(self, path: str, data: bytes, mode: int | None = None) -> None:
        """See `SandboxFiles.write`."""
        with self.at(path, make=True) as (folder, name):
            kept = 0o644
            with suppress(FileNotFoundError):
                there = os.stat(name, dir_fd=folder, follow_symlinks=False)
                self._expect(path, there.st_mode, "file")
                kept = there.st_mode & 0o777
            part = f".{secrets.token_hex(8)}.part"  # beside it: a rename is one step only within a file system
            try:
                with os.fdopen(os.open(part, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600, dir_fd=folder), "wb") as opened:
                    opened.write(data)
                    self.own(opened.fileno())
                    os.fchmod(opened.fileno(), kept if mode is None else mode)
                os.rename(part, name, src_dir_fd=folder, dst_dir_fd=folder)
            except BaseException:
                with suppress(OSError):
                    os.unlink(part, dir_fd=folder)
                raise

    def list(self, path: str, max_entries: int) -> list[FileInfo]:
        """See `SandboxFiles.list`."""
        entries: list[FileInfo] = []
        with self.open_folder(path) as folder:
            for name in sorted(os.listdir(folder))[:max_entries]:
                with suppress(FileNotFoundError):  # gone meanwhile
                    found = os.stat(name, dir_fd=folder, follow_symlinks=False)
                    entries.append(_info(posixpath.normpath(posixpath.join(self.relative(path), name)), found))
        return entries

    def stat(self, path: str) -> FileInfo:
        """See `SandboxFiles.stat`."""
        with self.at(path) as (folder, name):
            return _info(self.relative(path), os.stat(name, dir_fd=folder, follow_symlinks=False))

    def remove(self, path: str, recursive: bool) -> None:
        """See `SandboxFiles.remove`."""
        with self.at(path, follow=False) as (folder, name):
            if name == ".":
                raise SandboxFileError(f"path {path!r} is the workspace itself, expected something in it", path=path)
            if not stat.S_ISDIR(os.stat(name, dir_fd=folder, follow_symlinks=False).st_mode):
                os.unlink(name, dir_fd=folder)
            elif recursive:
                remove_tree(name, folder)
            else:
                os.rmdir(name, dir_fd=folder)

    def rename(self, path: str, new_path: str) -> None:
        """Give a file or a folder another path; what is there is not replaced."""
        with self.at(path, follow=False) as (folder, name):
            os.stat(name, dir_fd=folder, follow_symlinks=False)
            with self.at(new_path, follow=False, make=True) as (target, new_name):
                if "." in (name, new_name):
                    raise SandboxFileError(f"path {path!r} cannot be moved, expected something in the workspace", path=path)
                with suppress(FileNotFoundError):
                    os.stat(new_name, dir_fd=target, follow_symlinks=False)
                    raise SandboxFileError(f"path {new_path!r} is there already, expected a new one", path=new_path)
                os.rename(name, new_name, src_dir_fd=folder, dst_dir_fd=target)

    def make_folder(self, path: str) -> None:
        """Make a folder, and those on the way to it; one that is there is left as it is."""
        with self.at(path, make=True) as (folder, name):
            os.close(self._entered(name, folder, make=True))

    def check_folder(self, path: str) -> str:
        """The absolute path of a folder, as commands know it."""
        with self.open_folder(path):
            return posixpath.normpath(posixpath.join(self.workdir, self.relative(path)))

    def relative(self, path: str) -> str:
        """`path` from the workspace on; `.` for itself. Links and `..` are left as they are."""
        if not isinstance(path, str) or "\0" in path:
            raise UserError("path is no text without NUL, expected a path of the workspace, 'src/main.py', say")
        if not path.startswith("/"):
            return path or "."
        if path != self.workdir and not path.startswith(self.workdir.rstrip("/") + "/"):
            raise _outside(path)
        return path[len(self.workdir) :].strip("/") or "."

    @contextmanager
    def open_folder(self, path: str) -> Generator[int, None, None]:
        """A folder, open; closed at the end."""
        with self.at(path) as (above, name):
            folder = os.open(name, _FOLDER, dir_fd=above)
            try:
                yield folder
            finally:
                os.close(folder)

    @contextmanager
    def at(self, path: str, *, follow: bool = True, make: bool = False) -> Generator[tuple[int, str], None, None]:
        """The open folder in which the last part of `path` is, and that part, which is no link; `.` for the workspace itself.

        With `make` the folders on the way are made; without `follow` the last part may be a link.
        """
        parts = self.relative(path)
        folders = [os.open(self.root, _FOLDER)]
        try:
            yield self._walk(folders, path, deque(parts.split("/")), follow, make)
        except OSError as error:
            raise _failed(path, error) from error
        finally:
            for folder in folders:
                os.close(folder)

    def _walk(self, folders: MutableSequence[int], path: str, parts: deque[str], follow: bool, make: bool) -> tuple[int, str]:
        links = 0
        while parts:
            part = parts.popleft()
            last = not any(rest not in ("", ".") for rest in parts)
            if part in ("", "."):
                continue
            if part == "..":
                if len(folders) == 1:
                    raise _outside(path)
                os.close(folders.pop())
                continue
            target = _link(part, folders[-1]) if follow or not last else None
            if target is not None:
                if (links := links + 1) > _MAX_LINKS:
                    raise OSError(errno.ELOOP, os.strerror(errno.ELOOP))
                if target.startswith("/"):
                    target = self._inner(path, target)
                    while len(folders) > 1:
                        os.close(folders.pop())
                parts.extendleft(reversed(target.split("/")))
                continue
            if last:
                return folders[-1], part
            folders.append(self._entered(part, folders[-1], make))
        return folders[-1], "."

    def _inner(self, path: str, target: str) -> str:
        try:
            return self.relative(target)
        except SandboxFileError:
            raise _outside(path) from None

    def _entered(self, name: str, above: int, make: bool) -> int:
        if make:
            with suppress(FileExistsError):
                os.mkdir(name, 0o755, dir_fd=above)
                folder = os.open(name, _FOLDER, dir_fd=above)
                self.own(folder)
                return folder
        return os.open(name, _FOLDER, dir_fd=above)

    def own(self, opened: int) -> None:
        """What root makes belongs to whom the workspace belongs to, or a command could not change it."""
        if os.geteuid() == 0:
            owner = os.stat(self.root)
            os.fchown(opened, owner.st_uid, owner.st_gid)

    def _expect(self, path: str, mode: int, kind: FileKind) -> None:
        if (found := _kind(mode)) != kind:
            noun = "device, pipe or socket" if found == "other" else found
            raise SandboxFileError(f"path {path!r} is a {noun}, expected a {kind}", path=path)


def workspace_at(given: str | Path) -> Path:
    """The folder a user names as a workspace, links resolved. Raises `UserError` for one that is none, or holds more."""
    try:
        path = Path(given or "\0").expanduser().resolve(strict=True)
    except (OSError, RuntimeError, ValueError, TypeError):
        raise UserError("the workspace is no path of a folder that exists, expected one; make it, or leave it out") from None
    held = [system for system in (*_SYSTEM, str(Path.home())) if Path(system) == path or path in Path(system).parents]
    if held or any(Path(outer) in path.parents for outer in _FORBIDDEN):
        raise UserError(f"workspace {str(path)!r} holds more than a workspace may, expected a folder made for the purpose")
    if not path.is_dir():
        raise UserError(f"workspace {str(path)!r} is no folder, expected one")
    return path


def _link(name: str, folder: int) -> str | None:
    """What a link says; None for what is none, or not there."""
    try:
        return os.readlink(name, dir_fd=folder)
    except OSError as error:
        if error.errno in (errno.EINVAL, errno.ENOENT):
            return None
        raise


def _kind(mode: int) -> FileKind:
    if stat.S_ISREG(mode):
        return "file"
    if stat.S_ISDIR(mode):
        return "directory"
    return "symlink" if stat.S_ISLNK(mode) else "other"


def _info(path: str, found: os.stat_result) -> FileInfo:
    return FileInfo(path, _kind(found.st_mode), found.st_size, found.st_mtime, found.st_mode & 0o777)


def _outside(path: str) -> SandboxFileError:
    return SandboxFileError(f"path {path!r} leads out of the workspace, expected one inside it", path=path)


_REASONS = {
    errno.ENOENT: "is not there, expected a file or folder; list() says what is",
    errno.ENOTDIR: "goes through what is no folder, expected one",
    errno.ELOOP: "goes through links without end, or one that changed meanwhile, expected a file or folder",
    errno.EISDIR: "is a folder, expected a file",
    errno.ENOTEMPTY: "is a folder that is not empty, expected an empty one; pass recursive=True",
    errno.EACCES: "may not be reached by the user this program runs as, expected one that may",
    errno.EPERM: "may not be changed by the user this program runs as, expected one that may",
    errno.ENAMETOOLONG: "is too long, expected a shorter one",
    errno.ENXIO: "is a device, pipe or socket, expected a file",
}


def _failed(path: str, error: OSError) -> SandboxError:
    if error.errno in _REASONS:
        return SandboxFileError(f"path {path[:200]!r} {_REASONS[error.errno]}", path=path)
    return SandboxError(f"the file system failed for path {path[:200]!r}: {error.strerror}")
