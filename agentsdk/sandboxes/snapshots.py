"""A workspace as one gzipped tar file, and back."""

from __future__ import annotations

import io
import os
import posixpath
import stat
import tarfile
from collections.abc import Iterator

from agentsdk.sandboxes.trees import remove_tree
from agentsdk.sandboxes.workspace import Workspace
from agentsdk.types.errors import SandboxError

_MAX_DEPTH = 200


def take(workspace: Workspace) -> bytes:
    """The snapshot of a workspace. Raises `SandboxError` for folders nested deeper than 200."""
    packed = io.BytesIO()
    with tarfile.open(fileobj=packed, mode="w:gz", compresslevel=1, format=tarfile.PAX_FORMAT) as archive:
        for path in _walk(workspace):
            _add(archive, workspace, path)
    return packed.getvalue()


def _walk(workspace: Workspace) -> Iterator[str]:
    """Every path below the root, a folder before what it holds."""
    left = ["."]
    while left:
        folder = left.pop()
        if folder.count("/") > _MAX_DEPTH:
            raise SandboxError(f"the workspace has folders more than {_MAX_DEPTH} deep, expected fewer; remove them")
        with workspace.open_folder(folder) as opened:
            for name in sorted(os.listdir(opened)):
                path = posixpath.normpath(posixpath.join(folder, name))
                yield path
                if stat.S_ISDIR(os.stat(name, dir_fd=opened, follow_symlinks=False).st_mode):
                    left.append(path)


def _add(archive: tarfile.TarFile, workspace: Workspace, path: str) -> None:
    with workspace.at(path, follow=False) as (folder, name):
        found = os.stat(name, dir_fd=folder, follow_symlinks=False)
        entry = tarfile.TarInfo(path)
        entry.mode, entry.mtime = stat.S_IMODE(found.st_mode), found.st_mtime
        if stat.S_ISDIR(found.st_mode):
            entry.type = tarfile.DIRTYPE
            archive.addfile(entry)
        elif stat.S_ISLNK(found.st_mode):
            entry.type, entry.linkname = tarfile.SYMTYPE, os.readlink(name, dir_fd=folder)
            archive.addfile(entry)
        elif stat.S_ISREG(found.st_mode):
            with os.fdopen(os.open(name, os.O_RDONLY | os.O_NOFOLLOW | os.O_CLOEXEC, dir_fd=folder), "rb") as opened:
                entry.size = os.fstat(opened.fileno()).st_size
                archive.addfile(entry, opened)


def put_back(workspace: Workspace, snapshot: bytes) -> None:
    """Make the workspace what it was. Raises `SandboxError` for what is no snapshot; nothing is changed then."""
    try:
        with tarfile.open(fileobj=io.BytesIO(snapshot), mode="r:gz") as archive:
            entries = archive.getmembers()  # reads all of it once, so that half an archive is found before anything is changed
            for entry in entries:
                _check(entry)
            _clear(workspace)
            folders = [entry for entry in entries if entry.isdir()]
            for entry in folders:
                workspace.make_folder(entry.name)
            for entry in entries:
                if entry.isfile() and (content := archive.extractfile(entry)) is not None:
                    workspace.write(entry.name, content.read())
                    _date(workspace, entry)
            for entry in entries:
                if entry.issym():  # last, so that no file is written through one
                    with workspace.at(entry.name, follow=False) as (folder, name):
                        os.symlink(entry.linkname, name, dir_fd=folder)
            for entry in reversed(folders):
                _date(workspace, entry)
    except (tarfile.TarError, EOFError, ValueError) as error:
        raise SandboxError(f"the snapshot cannot be read ({error}), expected what Sandbox.snapshot() gave") from error
    except OSError as error:
        raise SandboxError(f"the snapshot could not be restored: {error.strerror or error}") from error


def _check(entry: tarfile.TarInfo) -> None:
    named = entry.name.split("/")
    if not (entry.isdir() or entry.isfile() or entry.issym()) or entry.name.startswith("/") or ".." in named:
        raise SandboxError("the snapshot holds what no workspace does, expected what Sandbox.snapshot() gave")


def _clear(workspace: Workspace) -> None:
    with workspace.open_folder(".") as root:
        for name in os.listdir(root):
            if stat.S_ISDIR(os.stat(name, dir_fd=root, follow_symlinks=False).st_mode):
                remove_tree(name, root)
            else:
                os.unlink(name, dir_fd=root)


def _date(workspace: Workspace, entry: tarfile.TarInfo) -> None:
    """Give what was written its permissions (no set-user-ID bits) and its time."""
    with workspace.at(entry.name, follow=False) as (folder, name):
        opened = os.open(name, os.O_RDONLY | os.O_NOFOLLOW | os.O_CLOEXEC | os.O_NONBLOCK, dir_fd=folder)
        try:
            os.utime(opened, (entry.mtime, entry.mtime))
            os.fchmod(opened, entry.mode & 0o1777)
        finally:
            os.close(opened)
