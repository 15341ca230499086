"""What every encoder owes: a history that grew is encoded like one that is new, and each of its items once."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Protocol

import pytest
from hypothesis import strategies as st

from agentsdk.models import prefix
from agentsdk.models.prefix import Body, to_json
from agentsdk.types.items import FunctionCall, FunctionCallOutput, Item, Message
from agentsdk.types.tape import Tape

Turns = list[tuple[list[Item], list[Item], bool]]
"""The items that each turn adds, the tail of its request, and whether it goes on from an older tape."""

TAILS: tuple[Sequence[Item], ...] = ((), (Message("assistant", "t", "x_1"),), (FunctionCallOutput("1", "x"),))


class Encoder(Protocol):
    """Encodes a history."""

    def encode(self, items: Tape[Item], tail: Sequence[Item] = ()) -> Body: ...


def turns_of(items: st.SearchStrategy[Item]) -> st.SearchStrategy[Turns]:
    """Any turns of such items."""
    return st.lists(st.tuples(st.lists(items, max_size=4), st.lists(items, max_size=2), st.booleans()), max_size=8)


def check_growth(make: Callable[[], Encoder], turns: Turns) -> None:
    """An encoder that knows a part of a history gives what a new one gives: for older tapes, for forks, and with a tail."""
    encoder, tape = make(), Tape[Item]()
    tapes = [tape]
    for items, tail, fork in turns:
        tape = (tapes[len(tapes) // 2] if fork else tape).extended(items)
        tapes.append(tape)
        assert encoder.encode(tape, tail) == make().encode(Tape(tape), tail)
    for tape in tapes:
        for tail in TAILS:
            assert encoder.encode(tape, tail) == make().encode(Tape(tape), tail)


def check_encoded_once(encoder: Encoder, monkeypatch: pytest.MonkeyPatch) -> None:
    """A final item is not encoded again, however many requests send it."""
    seen: list[object] = []

    def counted(value: object) -> bytes:
        seen.append(value)
        return to_json(value)

    monkeypatch.setattr(prefix, "to_json", counted)
    tape = Tape[Item]([Message("user", "hi")])
    for turn in range(50):
        tape = tape.extended([FunctionCall(str(turn), "f", "{}"), FunctionCallOutput(str(turn), "x")])
        encoder.encode(tape)
    assert len(seen) == 1 + 50 * 2
