"""`FolderFiles` and `HostFiles`: the files of a folder of this machine, and of a workspace, each operation on a thread."""

from __future__ import annotations

import posixpath
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import TypeVar, TypeVarTuple

from agentsdk.ports.sandbox import MIB, FileInfo, Match, Sandbox, SandboxFiles, SandboxLimits
from agentsdk.sandboxes.workspace import Workspace
from agentsdk.types.declared import is_whole, shown
from agentsdk.types.errors import SandboxError, UserError

T = TypeVar("T")
Arguments = TypeVarTuple("Arguments")

_SEARCH_TIMEOUT = 30.0
_SEARCH_OUTPUT = 4 * MIB


class FolderFiles:
    """The files of a folder. The methods are those of `SandboxFiles`, and a few that are for this machine only."""

    def __init__(self, workspace: Workspace) -> None:
        self._workspace = workspace

    async def read(self, path: str, *, max_bytes: int = 10 * MIB) -> bytes:
        """See `SandboxFiles.read`."""
        _check_count("max_bytes", max_bytes)
        return await self.on_thread(self._workspace.read, path, max_bytes)

    async def write(self, path: str, data: bytes, *, mode: int | None = None) -> None:
        """See `SandboxFiles.write`."""
        if not isinstance(data, bytes | bytearray | memoryview):
            raise UserError(f"data is {shown(data)}, expected bytes; text.encode(), say")
        if mode is not None and not (is_whole(mode, 0) and mode <= 0o777):
            raise UserError(f"mode is {shown(mode)}, expected permissions of at most 0o777, or None; 0o755, say")
        await self.on_thread(self._workspace.write, path, bytes(data), mode)

    async def list(self, path: str = ".", *, max_entries: int = 10_000) -> list[FileInfo]:
        """See `SandboxFiles.list`."""
        _check_count("max_entries", max_entries)
        return await self.on_thread(self._workspace.list, path, max_entries)

    async def stat(self, path: str) -> FileInfo:
        """See `SandboxFiles.stat`."""
        return await self.on_thread(self._workspace.stat, path)

    async def remove(self, path: str, *, recursive: bool = False) -> None:
        """See `SandboxFiles.remove`."""
        await self.on_thread(self._workspace.remove, path, recursive)

    async def rename(self, path: str, new_path: str) -> None:
        """Give a file or a folder another path, in one step. Raises `SandboxFileError` where something is there."""
        await self.on_thread(self._workspace.rename, path, new_path)

    async def on_thread(self, function: Callable[[*Arguments], T], *given: *Arguments) -> T:
        """Call it on a thread, and wait for its end also where the caller is cancelled: no operation is left half done."""
        from anyio import to_thread

        return await to_thread.run_sync(function, *given)


class HostFiles(FolderFiles, SandboxFiles):
    """Reads and writes here; searches in the sandbox, as a pattern may take for ever."""

    def __init__(self, workspace: Workspace, sandbox: Sandbox, limits: SandboxLimits) -> None:
        super().__init__(workspace)
        self._sandbox = sandbox
        self._search_limits = replace(limits, output=_SEARCH_OUTPUT)

    async def search(self, pattern: str, path: str = ".", *, glob: str = "*", max_matches: int = 200) -> Sequence[Match]:
        """See `SandboxFiles.search`."""
        _check_count("max_matches", max_matches)
        found = posixpath.normpath(posixpath.join(".", self._workspace.relative((await self.stat(path)).path)))
        # -Z ends a name with NUL, so that any name can be told from what follows.
        grep = ["grep", "-rnIZsE", f"--max-count={max_matches}", f"--include={glob}", "-e", pattern, "--", found]
        env = {"LC_ALL": "C.UTF-8"}
        done = await self._sandbox.run(grep, timeout=_SEARCH_TIMEOUT, limits=self._search_limits, env=env)
        said = done.stderr.strip()[-200:]
        if done.timed_out:
            raise SandboxError(f"the search took more than {_SEARCH_TIMEOUT:g} s; search fewer files")
        if done.exit_code > 2:
            raise SandboxError(f"the search was cut off (exit code {done.exit_code}; {said}); search fewer files")
        if done.exit_code == 2 and said:
            raise UserError(f"the pattern cannot be searched for ({said}), expected a POSIX expression")
        if done.truncated:
            raise SandboxError(f"more than {_SEARCH_OUTPUT} bytes of lines fit the pattern, expected fewer; search fewer files")
        matches = _matches(done.stdout)
        return sorted(matches, key=lambda match: (match.path, match.line))[:max_matches]


def _matches(printed: str) -> list[Match]:
    """What grep found, in lines `path NUL number : text`: a path may hold a new line, a text neither that nor NUL."""
    matches: list[Match] = []
    path, *rest = printed.split("\0")
    for piece in rest:
        number, _, line = piece.partition(":")
        text, whole, following = line.partition("\n")
        if number.isdigit() and whole:  # not so where output was cut
            matches.append(Match(posixpath.normpath(path), int(number), text))
        path = following
    return matches


def _check_count(name: str, count: int) -> None:
    if not is_whole(count, 1):
        raise UserError(f"{name} is {shown(count)}, expected a whole number, 1 or more")
