"""Patches in the V4A format, as models write them: which lines of which file become which.

A diff is a list of *chunks*. A chunk is found by its *anchors* (`@@ class Shop`, then `@@ def total`: each a line of the file,
looked for after the one before) and by its old lines, those that begin with a space or `-`; in their place come its new lines,
those that begin with a space or `+`. An anchor that has been passed, or that the chunk before had too, is where the search
stands already. There are no line numbers, and chunks stand in the order of the file.

Models miscopy white space. So the old lines are compared as they are, then without white space at their ends, then without any
around them; a line of the context stays as the file has it. What stands nowhere is refused, never guessed: a patch that cannot
be placed as a whole changes nothing.

An index of the lines says where a search may begin, or that it is in vain, for a look-up for each line of a chunk.
Where they are all there, but not in a row where the index has them first, the text behind is searched, up to the place.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from itertools import accumulate, takewhile
from typing import Literal

from agentsdk.types.errors import PatchError

PatchOperation = Literal["create_file", "update_file", "delete_file"]

_ANCHOR = "@@"
_END_OF_FILE = "*** End of File"
_BEGIN, _END = "*** Begin Patch", "*** End Patch"
_MOVE = "*** Move to: "
_HEADINGS: dict[str, PatchOperation] = {
    "*** Add File: ": "create_file",
    "*** Update File: ": "update_file",
    "*** Delete File: ": "delete_file",
}


@dataclass(frozen=True, slots=True)
class FileChange:
    """What a patch does to one file: `path` is relative to the workspace, `move_to` where an updated file goes, if it moves."""

    type: PatchOperation
    path: str
    diff: str = ""
    move_to: str | None = None


def parse_patch(text: str) -> list[FileChange]:
    """The changes of a patch in its text form, `*** Begin Patch` to `*** End Patch`. Raises `PatchError` for anything else."""
    lines = [line.removesuffix("\r") for line in text.strip().split("\n")]
    if lines[0].rstrip() != _BEGIN or lines[-1].rstrip() != _END or len(lines) < 2:
        raise PatchError(f"the patch is no patch, expected {_BEGIN!r} as its first line and {_END!r} as its last")
    changes: list[FileChange] = []
    diff: list[str] = []
    for number, line in enumerate(lines[1:-1], 2):
        mode: PatchOperation | None = next((kind for heading, kind in _HEADINGS.items() if line.startswith(heading)), None)
        if mode is not None:
            _close(changes, diff)
            changes.append(FileChange(mode, line.partition(": ")[2].strip()))
        elif not changes:
            raise PatchError(
                f"line {number} of the patch belongs to no file, expected '*** Update File: PATH' or the like before it"
            )
        elif line.startswith(_MOVE) and changes[-1].type == "update_file" and not diff:
            changes[-1] = FileChange("update_file", changes[-1].path, move_to=line.removeprefix(_MOVE).strip())
        elif changes[-1].type == "delete_file" and line.strip():
            raise PatchError(f"line {number} of the patch follows the name of a file to delete, expected none; take it out")
        else:
            diff.append(line)
    _close(changes, diff)
    if not changes:
        raise PatchError("the patch changes no file, expected '*** Update File: PATH' or the like in it; name one")
    return changes


def created_text(diff: str) -> str:
    """The text of a new file: a diff of lines that all begin with `+`. Raises `PatchError` for another line."""
    lines = _lines(diff)
    for number, line in enumerate(lines, 1):
        if not line.startswith("+"):
            raise PatchError(f"line {number} of the diff does not begin with '+', expected only such lines for a new file")
    return "\n".join([line[1:] for line in lines])


def patched_text(text: str, diff: str) -> str:
    """The text with the diff's chunks applied. Each line keeps its ending, and a new one gets that of the line before it.

    Raises `PatchError` for a diff that cannot be read and for a chunk that stands nowhere in the text.
    """
    file = _File(text)
    changed: list[tuple[str, str | None]] = []
    at = 0
    for number, chunk in enumerate(_chunks(diff), 1):
        start = file.place(chunk, at, f"chunk {number} (line {chunk.line} of the diff)")
        changed += zip(file.lines[at:start], file.endings[at:start], strict=True)
        at = start
        for sign, line in chunk.lines:
            if sign == "+":
                changed.append((line, None))
                continue
            if sign == " ":
                changed.append((file.lines[at], file.endings[at]))
            at += 1
    changed += zip(file.lines[at:], file.endings[at:], strict=True)
    return _joined(changed, file.endings[0] or "\n")


@dataclass(slots=True)
class _Chunk:
    """`line` is where it begins in the diff; `lines` have their sign apart. `at_end`: its old lines are the file's last."""

    line: int
    anchors: list[str] = field(default_factory=list[str])
    lines: list[tuple[str, str]] = field(default_factory=list[tuple[str, str]])
    at_end: bool = False

    @property
    def old(self) -> list[str]:
        return [line for sign, line in self.lines if sign != "+"]


def _chunks(diff: str) -> list[_Chunk]:
    chunks: list[_Chunk] = []
    for number, line in enumerate(_lines(diff), 1):
        if line == _ANCHOR or line.startswith(_ANCHOR + " "):
            if not chunks or chunks[-1].lines or chunks[-1].at_end:
                chunks.append(_Chunk(number))
            if anchor := line[3:]:
                chunks[-1].anchors.append(anchor)
            continue
        if not chunks or chunks[-1].at_end:
            chunks.append(_Chunk(number))
        if line == _END_OF_FILE:
            chunks[-1].at_end = True
        elif not line or line[0] in " +-":  # a model leaves out the space of an empty line
            chunks[-1].lines.append((line[:1] or " ", line[1:]))
        else:
            raise PatchError(f"line {number} of the diff begins with neither ' ', '+', '-' nor '@@ ', expected one of them")
    return chunks


def _lines(diff: str) -> list[str]:
    """The lines of a diff; its last newline ends a line and begins none."""
    lines = [line.removesuffix("\r") for line in diff.split("\n")]
    return lines[:-1] if lines[-1] == "" else lines


def _close(changes: list[FileChange], diff: list[str]) -> None:
    """Give the lines read so far to the file they follow."""
    if changes and diff:
        last = changes[-1]
        changes[-1] = FileChange(last.type, last.path, "\n".join(diff), last.move_to)
    diff.clear()


class _File:
    """The lines of a text and the endings between them: the last has none, and is empty where the text ends in a newline."""

    def __init__(self, text: str) -> None:
        *ended, last = text.split("\n")
        self.lines = [line.removesuffix("\r") for line in ended] + [last]
        self.endings = ["\r\n" if line.endswith("\r") else "\n" for line in ended] + [""]
        self._searched: dict[int, _Searched] = {}
        self._anchors: Sequence[str] = ()

    def place(self, chunk: _Chunk, at: int, name: str) -> int:
        """Where the chunk's first old line is, at `at` or after it. Raises `PatchError` where it is nowhere."""
        after, missing = self._behind_anchors(chunk.anchors, at)
        old = chunk.old
        start = self._at_end(old, after) if chunk.at_end else None
        if start is None and (old or not chunk.at_end):
            start = self._find(old, after)
        if start is None:
            raise PatchError(
                f"{name} stands nowhere in the file after line {after}: {self._nearest(old, after)}; read it and write anew"
            )
        if missing and (not old or self._find(old, start + 1) is not None):
            raise PatchError(
                f"{name} has the anchor {missing[:_SHOWN]!r}, which is no line of the file, and its other lines do not say "
                "which place is meant, expected a line of the file behind '@@ '; copy one"
            )
        return start

    def _behind_anchors(self, anchors: Sequence[str], at: int) -> tuple[int, str]:
        """The line after the last anchor, and the first anchor that is no line of the file, or `""`."""
        missing = ""
        repeated = len(list(takewhile(lambda pair: pair[0] == pair[1], zip(anchors, self._anchors, strict=False))))
        self._anchors = anchors
        for depth, anchor in enumerate(anchors[repeated:], repeated):
            passed = self._find([anchor], 0) if depth == 0 else None
            if passed is not None and passed < at:
                continue
            found = self._find([anchor], at)
            if found is None:
                missing = missing or anchor
            else:
                at = found + 1
        return at, missing

    def _find(self, wanted: Sequence[str], after: int) -> int | None:
        for level, reading in enumerate(_READINGS):
            if level not in self._searched:
                self._searched[level] = _Searched([reading(line) for line in self.lines])
            if (found := self._searched[level].find([reading(line) for line in wanted], after)) is not None:
                return found
        return None

    def _at_end(self, old: Sequence[str], after: int) -> int | None:
        """Where the old lines begin if they are the last, with or without the empty line behind a last newline."""
        last = len(self.lines) - (self.lines[-1] == "")
        for end in (len(self.lines), last) if old else (last,):
            start = end - len(old)
            if start >= after and self._find(old, start) == start:
                return start
        return None

    def _nearest(self, old: Sequence[str], after: int) -> str:
        """How far the old lines can be followed, in words."""
        there = bisect_left(range(1, len(old)), True, key=lambda count: self._find(old[:count], after) is None)
        return f"of its {len(old)} old lines it has the first {there} in a row" if there else "it has not its first old line"


class _Searched:
    """Lines to search for runs of lines."""

    def __init__(self, lines: list[str]) -> None:
        self._text = "\n" + "\n".join(lines) + "\n"
        self._starts = [0, *accumulate(len(line) + 1 for line in lines)]
        self._places: dict[str, list[int]] = {}
        for place, line in enumerate(lines):
            self._places.setdefault(line, []).append(place)

    def find(self, wanted: Sequence[str], after: int) -> int | None:
        """The index of the first line at `after` or later from which the lines are `wanted`."""
        start = after
        for offset, line in enumerate(wanted):
            places = self._places.get(line, ())
            following = bisect_left(places, start + offset)
            if following == len(places):
                return None
            start = places[following] - offset
        if len(wanted) < 2:
            return start
        found = self._text.find("\n" + "\n".join(wanted) + "\n", self._starts[start])
        return None if found < 0 else bisect_left(self._starts, found)


def _joined(lines: Sequence[tuple[str, str | None]], ending: str) -> str:
    """The lines as a text. A line without an ending of its own, as it is new or was the last, gets that of the line before."""
    parts: list[str] = []
    for line, own in lines[:-1]:
        ending = own or ending
        parts += line, ending
    return "".join(parts) + (lines[-1][0] if lines else "")


def _as_it_is(line: str) -> str:
    return line


_READINGS: tuple[Callable[[str], str], ...] = (_as_it_is, str.rstrip, str.strip)
_SHOWN = 80
