"""`CappedLines`: lines out of what arrives piece by piece, each of a bounded length."""

from __future__ import annotations

from collections.abc import Iterator


class CappedLines:
    """Splits what arrives into lines; `longest` is the most bytes of one. Costs time in proportion to what arrives."""

    def __init__(self, longest: int) -> None:
        self._longest = longest
        self._parts: list[bytes] = []
        self._size = 0

    def split(self, arrived: bytes) -> Iterator[bytes | None]:
        """The lines that have ended with it. None stands for one that is too long, as soon as it is so."""
        *ends, rest = arrived.split(b"\n")
        for end in ends:
            yield from self._add(end)
            if self._size <= self._longest:
                yield b"".join(self._parts)
            self._parts, self._size = [], 0
        yield from self._add(rest)

    def rest(self) -> bytes:
        """What has come of a line that has not ended."""
        return b"".join(self._parts)

    def _add(self, part: bytes) -> Iterator[None]:
        is_new = self._size <= self._longest
        self._size += len(part)
        if self._size <= self._longest:
            self._parts.append(part)
        elif is_new:
            self._parts = []
            yield None
