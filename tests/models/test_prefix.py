from __future__ import annotations

from collections.abc import Sequence

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from agentsdk.models.prefix import PIECE, Group, Pieces, encode_growing, framed, to_json, usable_name
from agentsdk.types.items import Item, Message
from agentsdk.types.tape import Tape


def runs(items: Sequence[Item], start: int) -> Group:
    """A group per run of messages with the same role: the last one could always be joined."""
    end = start + 1
    while end < len(items) and items[end].role == items[start].role:  # type: ignore[union-attr]
        end += 1
    texts = [item.content for item in items[start:end] if isinstance(item, Message)]
    return end, [texts], True


MESSAGES = st.lists(st.builds(Message, st.sampled_from(["user", "assistant"]), st.sampled_from(["", "a", "é"])), max_size=4)


@given(st.lists(st.tuples(MESSAGES, MESSAGES, st.booleans()), max_size=8))
def test_what_grew_equals_what_is_encoded_anew(turns: list[tuple[list[Item], list[Item], bool]]) -> None:
    tape = Tape[Item]()
    tapes = [tape]
    for items, tail, fork in turns:
        tape = (tapes[len(tapes) // 2] if fork else tape).extended(items)
        tapes.append(tape)
        for one in (tape, tapes[len(tapes) // 2]):
            assert encode_growing("owner", one, tail, runs) == encode_growing("owner", Tape(one), tail, runs)


def values_of(items: Sequence[Item]) -> bytes:
    """The JSON values of `items`, as they are without any growing."""
    values: list[object] = []
    start = 0
    while start < len(items):
        start, more, _ = runs(items, start)
        values += more
    return b",".join(map(to_json, values))


LARGE = st.sampled_from(["", "a", "x" * PIECE, "é" * PIECE])
LARGE_MESSAGES = st.lists(st.builds(Message, st.sampled_from(["user", "assistant"]), LARGE), max_size=3)


@given(st.lists(st.tuples(LARGE_MESSAGES, LARGE_MESSAGES, st.booleans()), max_size=5), st.sampled_from([b"", b"]}"]))
@settings(max_examples=30)
def test_large_values_go_in_pieces_that_say_the_same(turns: list[tuple[list[Item], list[Item], bool]], after: bytes) -> None:
    tape = Tape[Item]()
    tapes = [tape]
    for items, tail, fork in turns:
        tape = (tapes[len(tapes) // 2] if fork else tape).extended(items)
        tapes.append(tape)
        for one in (tape, tapes[len(tapes) // 2]):
            body = framed(b"[", encode_growing("owner", one, tail, runs), after)
            assert bytes(body) == b"[%b%b" % (values_of([*one, *tail]), after)
            assert len(body) == len(bytes(body)) and body.startswith(b"[")
            assert isinstance(body, Pieces) is (len(body) > PIECE)


def test_a_large_value_is_the_same_object_in_every_request() -> None:
    tape = Tape[Item]([Message("user", "a"), Message("assistant", "x" * PIECE), Message("user", "b")])
    first = encode_growing("owner", tape, (), runs)
    second = encode_growing("owner", tape.extended([Message("assistant", "c"), Message("user", "d")]), (), runs)
    assert isinstance(first, Pieces) and isinstance(second, Pieces)
    assert first.parts[1] is second.parts[1] and len(first.parts[1]) >= PIECE
    assert first != second and first == Pieces([bytes(first)]) and first != bytes(first)


def test_a_closed_group_is_encoded_once() -> None:
    asked: list[int] = []

    def counted(items: Sequence[Item], start: int) -> Group:
        asked.append(len(items) - start)
        return start + 1, [1], False

    tape = Tape[Item]()
    for _ in range(50):
        tape = tape.extended([Message("user", "a")])
        encode_growing("owner", tape, (), counted)
    assert asked == [1] * 50
    encode_growing("another", tape, (), counted)
    assert len(asked) == 100


def test_a_group_may_make_nothing() -> None:
    tape = Tape[Item]([Message("user", "a"), Message("user", "b")])
    assert encode_growing("owner", tape, (), lambda items, start: (start + 1, [], False)) == b""
    assert encode_growing("other", tape, (), lambda items, start: (start + 1, [1][start:], False)) == b"1"


def test_lone_surrogates_are_replaced() -> None:
    assert to_json({"\udc00": ["\ud83d"]}) == '{"\ufffd":["\ufffd"]}'.encode()


@pytest.mark.parametrize(
    ("name", "usable"), [("add", "add"), ("a-b", "a-b"), ("wéird name", "w_ird_name"), ("", "unknown"), ("x" * 99, "x" * 64)]
)
def test_names_that_providers_take(name: str, usable: str) -> None:
    assert usable_name(name) == usable
