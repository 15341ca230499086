from __future__ import annotations

from typing import Any

import msgspec
import pytest

from agentsdk.models.openai_chat.calls import CallAssembler, WireCall


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
