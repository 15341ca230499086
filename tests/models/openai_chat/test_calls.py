from __future__ import annotations

from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from agentsdk.models.loose import is_object
from agentsdk.models.openai_chat.calls import CallAssembler
from agentsdk.models.openai_chat.wire import WireCall, WireFunction


def assembled(*pieces: dict[str, Any], whole: bool = False) -> list[tuple[str, str, str]]:
    calls = CallAssembler()
    for position, piece in enumerate(pieces):
        call, _, is_new = calls.add(msgspec.convert(piece, WireCall), position if whole else None)
        if is_new:
            call.fallback_id = f"made-{call.number}"
    return [(item.call_id, item.name, item.arguments) for item in calls.items()]


def piece(index: int | None = None, id: str | None = None, name: str | None = None, arguments: object = None) -> dict[str, Any]:
    return {"index": index, "id": id, "function": {"name": name, "arguments": arguments}}


@pytest.mark.parametrize(
    ("pieces", "expected"),
    [
        pytest.param(
            [piece(0, "a", "f", ""), piece(0, arguments="{"), piece(0, arguments="}")], [("a", "f", "{}")], id="plain"
        ),
        pytest.param(
            [piece(0, "a", "f", "")] + [piece(0, arguments=c) for c in '{"x":1}'], [("a", "f", '{"x":1}')], id="by-character"
        ),
        pytest.param(
            [piece(1, "b", "g", ""), piece(0, "a", "f", ""), piece(1, arguments="{}"), piece(0, arguments='{"x":1}')],
            [("a", "f", '{"x":1}'), ("b", "g", "{}")],
            id="interleaved-out-of-order",
        ),
        pytest.param(
            [piece(0, "a", "f", "{}"), piece(0, "b", "g", "{}")], [("a", "f", "{}"), ("b", "g", "{}")], id="same-index-new-id"
        ),
        pytest.param(
            [piece(0, "a", "f", "{"), piece(0, "a", "f", "}"), piece(0, "a", "f", "")], [("a", "f", "{}")], id="all-repeated"
        ),
        pytest.param([piece(None, "a", "f", "{"), piece(None, "a", None, "}")], [("a", "f", "{}")], id="no-index-by-id"),
        pytest.param([piece(None, "a", "f", "{"), piece(arguments="}")], [("a", "f", "{}")], id="no-index-last-open"),
        pytest.param(
            [piece(None, "a", "f", "{"), piece(None, "b", "g", "{"), piece(None, "a", None, "}"), piece(None, "b", None, "}")],
            [("a", "f", "{}"), ("b", "g", "{}")],
            id="no-index-interleaved-by-id",
        ),
        pytest.param(
            [piece(name="f", arguments='{"x":1}'), piece(name="f", arguments='{"x":2}')],
            [("made-0", "f", '{"x":1}'), ("made-1", "f", '{"x":2}')],
            id="neither-index-nor-id",
        ),
        pytest.param(
            [piece(name="f", arguments="{"), piece(name="f", arguments="}")], [("made-0", "f", "{}")], id="bare-pieces"
        ),
        pytest.param(
            [piece(0, "", "f", "{}"), piece(0, "", "g", "{}")], [("made-0", "f", "{}"), ("made-1", "g", "{}")], id="empty-ids"
        ),
        pytest.param([piece(0, None, "f", "{"), piece(0, "late", None, "}")], [("late", "f", "{}")], id="id-comes-late"),
        pytest.param(
            [piece(0, "a", "f", "{}"), piece(1, "a", "f", "{}")],
            [("a", "f", "{}"), ("a", "f", "{}")],
            id="duplicate-id-other-index",
        ),
        pytest.param(
            [piece(0, "a", "get_"), piece(0, None, "weather"), piece(0, arguments="{}")],
            [("a", "get_weather", "{}")],
            id="name-in-pieces",
        ),
        pytest.param(
            [piece(0, "a", "get"), piece(0, None, "get_it"), piece(0, arguments="{}")], [("a", "get_it", "{}")], id="name-grows"
        ),
        pytest.param([piece(0, "a", "f", {"x": [1]})], [("a", "f", '{"x": [1]}')], id="arguments-as-object"),
        pytest.param([piece(0, "a", "f")], [("a", "f", "{}")], id="no-arguments"),
        pytest.param([{"index": 0, "id": "a"}, piece(0, None, "f", "{}")], [("a", "f", "{}")], id="no-function-yet"),
        pytest.param([piece(0, "a", None, "{}"), piece(0, None, "f")], [("a", "f", "{}")], id="name-after-the-arguments"),
        pytest.param(
            [piece(0, "a", None, "{"), piece(0, None, "get_"), piece(0, None, "it"), piece(0, arguments="}")],
            [("a", "get_it", "{}")],
            id="name-in-pieces-amid-the-arguments",
        ),
        pytest.param([piece(arguments="{}"), piece(name="f")], [("made-0", "f", "{}")], id="bare-name-after-the-arguments"),
        pytest.param([piece(0, "a", "f\ud83d", '"\udc00"')], [("a", "f\ufffd", '"\ufffd"')], id="lone-surrogates"),
    ],
)
def test_pieces(pieces: list[dict[str, Any]], expected: list[tuple[str, str, str]]) -> None:
    assert assembled(*pieces) == expected


def test_whole_calls_are_each_their_own() -> None:
    same = piece(None, "a", "f", "{}")
    assert assembled(same, same, whole=True) == [("a", "f", "{}")] * 2
    bare = piece(None, None, "f", '{"x":1')
    assert assembled(bare, bare, whole=True) == [("made-0", "f", '{"x":1'), ("made-1", "f", '{"x":1')]


@st.composite
def cut(draw: st.DrawFn) -> tuple[list[dict[str, Any]], list[tuple[str, str, str]]]:
    """Calls cut into pieces under their indexes, in any order but that of a call's own arguments."""
    texts = st.dictionaries(st.text(max_size=3), st.text(st.sampled_from('a"\\{}[]'), max_size=5), max_size=2)
    calls = [
        (f"id{n}", draw(st.sampled_from(["f", "get_it"])), msgspec.json.encode(draw(texts)).decode())
        for n in range(draw(st.integers(1, 4)))
    ]
    queues: list[list[dict[str, Any]]] = []
    for index, (call_id, name, arguments) in enumerate(calls):
        cuts = sorted(draw(st.lists(st.integers(0, len(arguments)), max_size=4)))
        parts = [arguments[a:b] for a, b in zip([0, *cuts], [*cuts, len(arguments)], strict=True)]
        pieces = [piece(index, None, None, part) for part in parts]
        named = draw(st.integers(0, len(pieces)))
        pieces.insert(named, piece(index, None, name))
        pieces[draw(st.integers(0, 0 if named else len(pieces) - 1))]["id"] = call_id
        queues.append(pieces)
    order = draw(st.permutations([n for n, queue in enumerate(queues) for _ in queue]))
    return [queues[n].pop(0) for n in order], calls


@given(cut())
def test_calls_come_out_however_they_were_cut(given_pieces: tuple[list[dict[str, Any]], list[tuple[str, str, str]]]) -> None:
    pieces, calls = given_pieces
    assert assembled(*pieces) == calls


@given(st.lists(st.text(st.sampled_from('{}[]"\\a: 1'), max_size=4), max_size=12))
def test_bare_pieces_that_name_their_function_again_split_where_an_object_ends(parts: list[str]) -> None:
    expected: list[str] = []
    for part in parts:
        if expected and not is_object(expected[-1]):
            expected[-1] += part
        else:
            expected.append(part)
    made = assembled(*[piece(None, None, "f", part) for part in parts])
    assert [arguments for _, _, arguments in made] == [text or "{}" for text in expected]


@pytest.mark.parametrize("by", ["index", "id"])
def test_the_work_of_finding_a_call_does_not_grow_with_their_number(by: str) -> None:
    compared = 0

    class Index(int):
        def __eq__(self, other: object) -> bool:
            nonlocal compared
            compared += 1
            return int(self) == other

        __hash__ = int.__hash__

    class Id(str):
        def __eq__(self, other: object) -> bool:
            nonlocal compared
            compared += 1
            return str(self) == other

        __hash__ = str.__hash__

    calls = CallAssembler()
    for number in [*range(200), *range(200)]:
        key: dict[str, Any] = {"index": Index(number)} if by == "index" else {"id": Id(number)}
        calls.add(WireCall(**key, function=WireFunction("f", "{")), None)
    assert len(calls.items()) == 200
    assert compared < 1_000
