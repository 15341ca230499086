"""The tape against a plain list: whatever is appended where, every tape reads what it always read."""

from __future__ import annotations

import itertools

import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.stateful import Bundle, RuleBasedStateMachine, initialize, invariant, rule

from agentsdk.types.tape import Tape

values = st.lists(st.integers(0, 9), max_size=4)
positions = st.none() | st.integers(-12, 12)
slices = st.builds(slice, positions, positions, positions.filter(lambda step: step != 0))


class Tapes(RuleBasedStateMachine):
    """Tapes that fork from one another, each beside the list it must equal."""

    tapes: Bundle[int] = Bundle("tapes")

    def __init__(self) -> None:
        super().__init__()
        self.all: list[tuple[Tape[int], list[int]]] = []

    def keep(self, tape: Tape[int], cells: list[int]) -> int:
        self.all.append((tape, cells))
        return len(self.all) - 1

    @initialize(target=tapes, cells=values)
    def begin(self, cells: list[int]) -> int:
        return self.keep(Tape(cells), list(cells))

    @rule(target=tapes, at=tapes, more=values)
    def extend(self, at: int, more: list[int]) -> int:
        tape, cells = self.all[at]
        return self.keep(tape.extended(tuple(more)), [*cells, *more])

    @rule(target=tapes, at=tapes, other=tapes)
    def extend_by_a_tape(self, at: int, other: int) -> int:
        tape, cells = self.all[at]
        more, more_cells = self.all[other]
        return self.keep(tape.extended(more), [*cells, *more_cells])

    @rule(at=tapes, where=slices)
    def cut(self, at: int, where: slice) -> None:
        tape, cells = self.all[at]
        assert tape[where] == cells[where]

    @rule(at=tapes, index=st.integers(-12, 12))
    def look(self, at: int, index: int) -> None:
        tape, cells = self.all[at]
        if -len(cells) <= index < len(cells):
            assert tape[index] == cells[index]
        else:
            with pytest.raises(IndexError):
                tape[index]

    @rule(at=tapes, other=tapes)
    def compare(self, at: int, other: int) -> None:
        assert (self.all[at][0] == self.all[other][0]) == (self.all[at][1] == self.all[other][1])

    @rule(at=tapes, value=st.integers(0, 9))
    def search(self, at: int, value: int) -> None:
        tape, cells = self.all[at]
        assert (value in tape, tape.count(value)) == (value in cells, cells.count(value))
        assert list(reversed(tape)) == cells[::-1]

    @invariant()
    def every_tape_reads_what_it_always_read(self) -> None:
        for tape, cells in self.all:
            assert (len(tape), list(tape), bool(tape)) == (len(cells), cells, bool(cells))


TestTapes = Tapes.TestCase


def test_every_slice_of_a_tape_that_others_have_outgrown() -> None:
    bounds = (None, *range(-6, 7))
    for length in range(5):
        tape = Tape(range(length))
        tape.extended(range(90, 99))
        for start, stop, step in itertools.product(bounds, bounds, (None, -3, -2, -1, 1, 2, 3)):
            assert tape[start:stop:step] == list(range(length))[start:stop:step]


@given(values, values)
def test_reading_while_it_grows_ends_where_it_began(cells: list[int], more: list[int]) -> None:
    tape = Tape(cells)
    seen = []
    for value in tape:
        seen.append(value)
        tape.extended([*more, 1])
    assert seen == cells


def test_at_the_tip_cells_are_shared_and_behind_it_copied() -> None:
    first = Tape([1])
    second = first.extended([2])
    assert second.derived is first.derived
    fork = first.extended([3])
    assert fork.derived is not first.derived
    assert fork.derived == {}
    assert (list(first), list(second), list(fork)) == ([1], [1, 2], [1, 3])


def test_the_first_cells_are_a_tape_of_the_same_list() -> None:
    whole = Tape([1, 2, 3])
    first = whole.up_to(2)
    assert (list(first), list(first.extended([4])), list(whole)) == ([1, 2], [1, 2, 4], [1, 2, 3])
    assert first.derived is whole.derived
    assert list(whole.up_to(9)) == [1, 2, 3]


def test_a_tape_owns_its_cells() -> None:
    cells = [1, 2]
    tape = Tape(cells)
    cells.append(3)
    tape[:].append(4)
    assert list(tape) == [1, 2]


def test_equal_to_tapes_only_and_no_key() -> None:
    assert Tape([1]) != [1]
    assert Tape([1]) == Tape([0, 1, 2][1:2])
    with pytest.raises(TypeError, match="unhashable"):
        hash(Tape())
    assert repr(Tape([1, 2]).extended([3])) == "Tape([1, 2, 3])"
