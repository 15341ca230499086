"""`Tape`: an append-only list that is also a value.

A tape is a shared list and a length. Appending at the tip extends the list in place, so a run of n events costs O(n), and the
older tape still reads what it always read. Appending to a tape that is no longer the tip copies its part first.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from itertools import islice
from typing import Any, Generic, TypeVar, cast, overload

T = TypeVar("T")
_new: Any = object.__new__


class Tape(Sequence[T], Generic[T]):
    """An immutable view of the first `len(tape)` cells of a list that only grows."""

    __slots__ = ("_cells", "_length", "derived")

    def __init__(self, cells: Iterable[T] = ()) -> None:
        self._cells: list[T] = list(cells)
        self._length = len(self._cells)
        self.derived: dict[object, object] = {}
        """Whatever grows with the cells (an encoded form, a token count), by its owner. Shared by all tapes of one list, so
        what stands here may already cover cells past this tape's length: check before use."""

    def extended(self, values: Sequence[T]) -> Tape[T]:
        """The tape with `values` after its last cell. O(len(values)) at the tip."""
        tape: Tape[T] = _new(Tape)  # `Tape[T].__new__` costs twice as much
        cells = self._cells
        if len(cells) == self._length:
            tape.derived = self.derived
        else:
            cells = cells[: self._length]
            tape.derived = {}
        cells.extend(values)
        tape._cells = cells
        tape._length = len(cells)
        return tape

    def up_to(self, length: int) -> Tape[T]:
        """The tape of the first `length` cells, in O(1)."""
        tape: Tape[T] = _new(Tape)
        tape._cells, tape._length, tape.derived = self._cells, min(length, self._length), self.derived
        return tape

    def since(self, position: int) -> list[T]:
        """The cells from `position` on."""
        return self._cells[position : self._length]

    def __len__(self) -> int:
        return self._length

    @overload
    def __getitem__(self, index: int) -> T: ...
    @overload
    def __getitem__(self, index: slice) -> list[T]: ...
    def __getitem__(self, index: int | slice) -> T | list[T]:
        if isinstance(index, slice):
            start, stop, step = index.indices(self._length)
            return self._cells[start:stop:step] if step > 0 else self._cells[: self._length][index]
        if index < 0:
            index += self._length
        if not 0 <= index < self._length:
            raise IndexError(index)
        return self._cells[index]

    def __iter__(self) -> Iterator[T]:
        return islice(self._cells, self._length)

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Tape):
            return NotImplemented
        return list(self) == list(cast(Tape[object], other))

    __hash__ = None  # type: ignore[assignment]

    def __repr__(self) -> str:
        return f"Tape({list(self)!r})"
