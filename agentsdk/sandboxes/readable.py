"""What of the host a command may read, and as whom it runs where this program is root."""

from __future__ import annotations

import os
import secrets
import stat
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import cast

from agentsdk.types.declared import shown
from agentsdk.types.errors import SandboxError, UserError

ETC = (
    "alternatives",
    "fonts",
    "ld.so.cache",
    "ld.so.conf",
    "ld.so.conf.d",
    "localtime",
    "magic",
    "mime.types",
    "ssl/certs",
    "ssl/openssl.cnf",
)
"""What programs need of /etc, none of it secret."""

_FIRST_UID, _UIDS = 1_900_000_000, 90_000_000
"""Above the ids that distributions give to users and to containers (docs: systemd's UIDS-GIDS)."""


def readable_folders(given: Sequence[str | Path]) -> tuple[str, ...]:
    """The absolute paths of folders that a user names. Raises `UserError` for what is none."""
    folders: object = given
    if isinstance(folders, str | bytes) or not isinstance(folders, Sequence):
        raise UserError(f"readable is {shown(folders)}, expected a list of folders")
    found: list[str] = []
    for folder in cast("Sequence[object]", folders):
        path = Path(folder).expanduser().absolute() if isinstance(folder, str | Path) and str(folder) else None
        if path is None or "\0" in str(path) or not path.exists() or len(path.parts) < 2:
            raise UserError(f"readable has {shown(folder)}, expected a folder that exists, and not the root of all")
        found.append(str(path))
    return tuple(found)


def interpreter_folders(user: int | None = None) -> list[str]:
    """Where the Python that runs this program is, if not under /usr: the environment's folder, and its base's.

    None where `user` (None: this program's own) may not enter one of them: a command could not start it.
    """
    folders = dict.fromkeys(os.path.realpath(folder) for folder in (sys.prefix, sys.base_prefix))
    found = [folder for folder in folders if not folder.startswith("/usr/") and folder != "/usr"]
    return found if all(may_read(folder, user) for folder in found) else []


def may_read(folder: str, user: int | None) -> bool:
    """Whether `user` may list and enter a folder: by the permissions of everybody, for another user than this one."""
    if user is None:
        return os.access(folder, os.R_OK | os.X_OK)
    path = Path(folder)
    modes = [place.stat().st_mode for place in (path, *path.parents)]
    return bool(modes[0] & stat.S_IROTH) and all(mode & stat.S_IXOTH for mode in modes)


def command_user(workspace: Path, made: Path | None) -> int | None:
    """As `own_uid`; None where commands run as this program does: it is not root, or there is no other user for them."""
    if os.geteuid() != 0:
        return None
    try:
        return own_uid(workspace, made)
    except SandboxError:
        return None


def own_uid(workspace: Path, made: Path | None) -> int:
    """Whom commands run as on the host, where this program is root: whom the workspace belongs to, or a user of its own.

    The latter where the workspace is in the folder that the sandbox has `made`, which is given to that user with all it holds.
    Raises `SandboxError` where the workspace is root's, and where no other user can be had.
    """
    uid = workspace.stat().st_uid or _new_uid(workspace, made)
    if made is not None:
        os.chown(made, uid, uid)
        for _, folders, files, opened in os.fwalk(made):
            for name in (*folders, *files):
                os.chown(name, uid, uid, dir_fd=opened, follow_symlinks=False)
    return uid


def is_own(uid: int) -> bool:
    """Whether the user is one that `own_uid` has made up: of one sandbox alone, and of nobody else on this machine."""
    return _FIRST_UID <= uid < _FIRST_UID + _UIDS


def _new_uid(workspace: Path, made: Path | None) -> int:
    if made is None or made not in workspace.parents:
        raise SandboxError(
            "as root, on a workspace of root's, the number of processes can be limited by control groups only, and none can be "
            "made; give the workspace to another user, or leave it out"
        )
    uid = _FIRST_UID + secrets.randbelow(_UIDS)
    if not _mapped(uid):
        raise SandboxError("this program is root of a container that has no other users to run commands as")
    return uid


def _mapped(uid: int) -> bool:
    """Whether the user namespace of this process knows the user."""
    for line in Path("/proc/self/uid_map").read_text().splitlines():
        first, _, count = map(int, line.split())
        if first <= uid < first + count:
            return True
    return False
