"""A memory's file as the tool of a model finds it: alone in its folder, and changed only as everybody changes it."""

from __future__ import annotations

import asyncio
import posixpath
from collections.abc import Callable

from agentsdk.local_tools.memory import MEMORIES
from agentsdk.patterns.memory.keeper import NAME
from agentsdk.patterns.memory.ledger import Ledger
from agentsdk.patterns.memory.recall import Count
from agentsdk.ports.sandbox import FileInfo
from agentsdk.types.errors import MemoryBusyError, MemoryFileError, SandboxFileError


class ToolFiles:
    """The files of one call, which changes what it has read, or nothing."""

    def __init__(
        self, ledger: Ledger, *, most: int, count: Count, clean: Callable[[str], str], now: Callable[[], float]
    ) -> None:
        self._ledger = ledger
        self._most = most
        self._count = count
        self._clean = clean
        self._now = now
        self._read = ""

    async def read(self, path: str) -> bytes:
        """The content of the file."""
        self._require_file(path)
        text = await self._text()
        if not text:
            raise _absent(path)
        return text.encode()

    async def write(self, path: str, data: bytes) -> None:
        """Make `data` the content of the file. Raises `SandboxFileError` where that is too much."""
        self._require_file(path)
        text = self._clean(data.decode())
        tokens = await self._count(text)
        if tokens > self._most:
            raise SandboxFileError(
                f"file {path!r} would have {tokens} tokens, expected {self._most} at most; merge or drop some of it", path=path
            )
        await self._replace(path, text)

    async def list(self, path: str = ".", *, max_entries: int = 10_000) -> list[FileInfo]:
        """The file, where it is there."""
        return [await self.stat(NAME)] if await self._text() else []

    async def stat(self, path: str) -> FileInfo:
        """What is at `path`."""
        if _inner(path) == ".":
            return FileInfo(".", "directory")
        return FileInfo(NAME, "file", len(await self.read(path)))

    async def has(self, path: str) -> bool:
        """Whether it is there."""
        return _inner(path) in (".", NAME) and bool(await self._text())

    async def remove(self, path: str, *, recursive: bool = False) -> None:
        """Remove the file."""
        self._require_file(path)
        if not await self._text():
            raise _absent(path)
        await self._replace(path, "")

    async def rename(self, path: str, new_path: str) -> None:
        """Raises `SandboxFileError`."""
        raise SandboxFileError(f"path {path!r} cannot be moved, expected the one file {MEMORIES}/{NAME}; edit it", path=path)

    async def _text(self) -> str:
        try:
            self._read = await asyncio.to_thread(self._ledger.file.text)
        except MemoryFileError as error:
            raise _unusable(NAME) from error
        return self._read

    async def _replace(self, path: str, text: str) -> None:
        try:
            await self._ledger.replace("tool", self._read, text, self._now())
        except MemoryBusyError as error:
            why = f"file {path!r} was changed by others meanwhile, expected it to stay as it was; view it and try again"
            raise SandboxFileError(why, path=path) from error
        except MemoryFileError as error:
            raise _unusable(path) from error

    def _require_file(self, path: str) -> None:
        if _inner(path) != NAME:
            raise SandboxFileError(
                f"path {path!r} is another file or folder, expected {MEMORIES}/{NAME}: the memory is this one file", path=path
            )


def _inner(path: str) -> str:
    return posixpath.relpath(posixpath.join(MEMORIES, path), MEMORIES)


def _unusable(path: str) -> SandboxFileError:
    """The error for a file that a person must look at. What names it as this machine does is not for the model."""
    return SandboxFileError(f"file {path!r} cannot be used, expected a text file; leave it alone, and go on without", path=path)


def _absent(path: str) -> SandboxFileError:
    return SandboxFileError(f"path {path!r} is not there, expected a file; create it", path=path)
