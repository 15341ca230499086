"""What the tools for text files share: lines with their numbers, and edits that are made once.

Before a file is written the digests of it, as it is and as it will be, are saved as the call's checkpoint. So a call that was
cut in the middle knows when it runs again whether its edit is made.
"""

from __future__ import annotations

import hashlib
import posixpath
from collections.abc import Callable, Sequence
from typing import Any, Protocol

from agentsdk.define.context import ToolContext
from agentsdk.ports.sandbox import FileInfo
from agentsdk.types.errors import InvalidArgumentsError, SandboxFileError

MAX_LINES = 2_000
"""Lines of a file that one call gives at most."""

MAX_FOUND = 200
"""Files, entries or lines that one call finds at most."""

MAX_LINE_CHARS = 2_000

_PLACES = 10
"""Of a text that stands in several places, how many the model is told."""


class EditableFiles(Protocol):
    """Files that can be edited: those of a sandbox, or of a folder. `SandboxFiles` says more."""

    async def read(self, path: str) -> bytes:
        """The content of a file."""
        ...

    async def write(self, path: str, data: bytes) -> None:
        """Make `data` the content of a file, in one step."""
        ...

    async def list(self, path: str = ".", *, max_entries: int = 10_000) -> list[FileInfo]:
        """What a folder holds, by name."""
        ...

    async def stat(self, path: str) -> FileInfo:
        """What is at `path`."""
        ...


async def text_of(files: EditableFiles, path: str) -> str:
    """A file's text as it is, its line ends too. Raises `SandboxFileError` for one that is no text."""
    return _decoded(path, await files.read(path))


def numbered_lines(text: str, first: int = 1, count: int = MAX_LINES, max_characters: int | None = None) -> str:
    """`count` lines from `first` on, each with its number in front, and how many follow.

    No more than `max_characters` are given, but one line at least.
    """
    every = _lines(text)
    shown: list[str] = []
    room = max_characters
    for number, line in enumerate(every[first - 1 : first - 1 + min(count, MAX_LINES)], first):
        bare = line.removesuffix("\n").removesuffix("\r")
        entry = f"{number:6}\t{short_line(bare)}"
        if room is not None:
            if shown and len(entry) > room:
                break
            room -= len(entry) + 1
        shown.append(entry)
    if not shown:
        return f"[no line {first}: the file has {len(every)}]"
    following = first + len(shown)
    if following <= len(every):
        shown.append(f"[... {len(every) - following + 1} more lines, from {following} on ...]")
    return "\n".join(shown)


def short_line(line: str) -> str:
    """A line, without the end of one that is too long."""
    left_out = len(line) - MAX_LINE_CHARS
    return line if left_out <= 0 else f"{line[:MAX_LINE_CHARS]} [... {left_out} more characters ...]"


def listed(found: Sequence[str]) -> str:
    """What was found, a line for each, and whether there is more."""
    shown = list(found[:MAX_FOUND])
    if len(found) > MAX_FOUND:
        shown.append(f"[... more than {MAX_FOUND}: look for less ...]")
    return "\n".join(shown) or "[nothing]"


async def below(files: EditableFiles, path: str, depth: int, *, limit: int, hidden: bool = False) -> list[FileInfo]:
    """The first `limit` files and folders in a folder, `depth` levels of them; those not meant to be seen if `hidden`."""
    found: list[FileInfo] = []
    for entry in await files.list(path):
        if len(found) >= limit:
            break
        name = posixpath.basename(entry.path)
        if hidden or not (name.startswith(".") or name == "node_modules"):
            found.append(entry)
            if entry.kind == "directory" and depth > 1:
                found += await below(files, entry.path, depth - 1, limit=limit - len(found), hidden=hidden)
    return found


def replaced(text: str, path: str, old: str, new: str, *, every: bool = False) -> str:
    """The text with `new` in place of `old`, which must stand there once; with `every`, once at least.

    Line ends are those of the text. Raises `InvalidArgumentsError` where it stands nowhere, or in several places.
    """
    old, new = _with_ends_of(text, old), _with_ends_of(text, new)
    times = text.count(old) if old else 0
    if times == 0:
        raise InvalidArgumentsError(f"the old text stands 0 times in {path}, expected once; read the file, and copy more of it")
    if times > 1 and not every:
        lines: list[int] = []
        at = -1
        while len(lines) < _PLACES and (at := text.find(old, at + 1)) >= 0:
            lines.append(text.count("\n", 0, at) + 1)
        raise InvalidArgumentsError(
            f"the old text stands {times} times in {path}, in lines {', '.join(map(str, lines))}"
            f"{' and more' if times > len(lines) else ''}, expected once; copy more of the lines around it"
        )
    return text.replace(old, new)


def inserted(text: str, path: str, after: int, piece: str) -> str:
    """The text with the lines of `piece` behind line `after`, 0 being the file's beginning.

    Raises `InvalidArgumentsError` where there is no such line.
    """
    lines = _lines(text)
    if not 0 <= after <= len(lines):
        raise InvalidArgumentsError(f"insert_line is {after}, expected 0 to {len(lines)}, the number of lines in {path}")
    piece, end = _with_ends_of(text, piece), _with_ends_of(text, "\n")
    if piece and not piece.endswith("\n"):
        piece += end
    if after and not lines[after - 1].endswith("\n"):
        lines[after - 1] += end
    return "".join([*lines[:after], piece, *lines[after:]])


async def change(files: EditableFiles, path: str, edit: Callable[[str], str], context: ToolContext[Any]) -> None:
    """Make a file's text what `edit` makes of it; nothing where the call of `context` was cut and has done so before.

    Raises `SandboxFileError` for what is no text, and where somebody else has changed the file meanwhile.
    """
    content = await files.read(path)
    if _is_done(path, content, context):
        return
    await _write(files, path, content, encoded(path, edit(_decoded(path, content))), context)


async def create(files: EditableFiles, path: str, text: str, context: ToolContext[Any]) -> None:
    """Make a new file. Raises as `change` does, and `SandboxFileError` where something is there."""
    try:
        there = await files.stat(path)
    except SandboxFileError:
        content = None
    else:
        content = await files.read(path) if there.kind == "file" else b""
    if _is_done(path, content, context):
        return
    if content is not None:
        raise SandboxFileError(f"path {path!r} is there already, expected a new one; change it, or name another", path=path)
    await _write(files, path, None, encoded(path, text), context)


def digest(content: bytes | None) -> str:
    """A digest of a file's content, `""` for one that is not there."""
    return "" if content is None else hashlib.sha256(content).hexdigest()


def encoded(path: str, text: str) -> bytes:
    """A file's new content. Raises `SandboxFileError` for a text that no file can hold."""
    try:
        return text.encode()
    except UnicodeEncodeError:
        raise SandboxFileError(f"the new text of {path!r} has lone surrogates, expected characters", path=path) from None


def _is_done(path: str, content: bytes | None, context: ToolContext[Any]) -> bool:
    if not context.checkpoint:
        return False
    before, _, after = context.checkpoint.partition(" ")
    found = digest(content)
    if found == after:
        return True
    if found == before:
        return False
    raise SandboxFileError(
        f"file {path!r} is neither as it was nor as this call makes it, expected nobody else to change it meanwhile; read it",
        path=path,
    )


async def _write(files: EditableFiles, path: str, before: bytes | None, after: bytes, context: ToolContext[Any]) -> None:
    await context.save_checkpoint(f"{digest(before)} {digest(after)}")
    await files.write(path, after)


def _decoded(path: str, content: bytes) -> str:
    try:
        return content.decode()
    except UnicodeDecodeError:
        raise SandboxFileError(f"file {path!r} is no UTF-8 text, expected one; look at it by a command", path=path) from None


def _lines(text: str) -> list[str]:
    """The lines with their ends, as grep and compilers count them."""
    lines = [f"{line}\n" for line in text.split("\n")]
    lines[-1] = lines[-1].removesuffix("\n")
    return lines if lines[-1] else lines[:-1]


def _with_ends_of(text: str, piece: str) -> str:
    """`piece`, which a model writes with plain line ends, as it is in a text whose lines all end in CRLF."""
    crlf = text.count("\r\n")
    return piece.replace("\r\n", "\n").replace("\n", "\r\n") if crlf and crlf == text.count("\n") else piece
