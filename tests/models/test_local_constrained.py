"""Grammars, bounds and the reader of constrained replies."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agentsdk.models.local.constrained import Bounds, ReplyReader, bound_schema, build_grammar, call_text, choose
from agentsdk.types.errors import BadRequestError, MalformedResponseError
from agentsdk.types.spec import OutputSpec, ToolSpec

WEATHER = ToolSpec("weather", "The weather.", {"type": "object", "properties": {"city": {"type": "string"}}})
ADD = ToolSpec("add", "Add.", {"type": "object", "properties": {"a": {"type": "integer"}}})
OUTPUT = OutputSpec("person", {"type": "object", "properties": {"name": {"type": "string"}}})
BOUNDS = Bounds()

texts = st.text() | st.text(alphabet='a"\\{}[]</>\n')
json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | texts,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(texts, inner, max_size=3),
    max_leaves=8,
)
json_objects = st.dictionaries(texts, json_values, max_size=4)
names = st.from_regex(r"[a-zA-Z0-9_-]{1,20}", fullmatch=True)


def read(text: str, cuts: list[int]) -> tuple[str, list[tuple[str, str]], bool]:
    """The text, the calls as (name, arguments), and whether it was whole, of a reply that comes cut at `cuts`."""
    reader, answer, calls = ReplyReader(), "", list[tuple[str, str]]()
    edges = [0, *sorted(cut % (len(text) + 1) for cut in cuts), len(text)]
    for begin, end in zip(edges, edges[1:], strict=False):
        for piece in reader.feed(text[begin:end]):
            if piece.kind == "text":
                answer += piece.text
            elif piece.kind == "name":
                calls.append((piece.text, ""))
            elif piece.kind == "arguments":
                calls[-1] = (calls[-1][0], calls[-1][1] + piece.text)
    return answer, calls, reader.whole


@given(st.lists(st.tuples(names, json_objects), min_size=1, max_size=3), st.lists(st.integers(0, 10_000), max_size=30))
def test_calls_read_the_same_however_they_are_cut(calls: list[tuple[str, dict[str, object]]], cuts: list[int]) -> None:
    written = [(name, json.dumps(arguments)) for name, arguments in calls]
    text = "\n".join(call_text(name, arguments) for name, arguments in written)
    assert read(text, cuts) == ("", written, True)


@given(names, json_objects, st.integers(0, 10_000))
def test_a_call_cut_anywhere_is_not_whole(name: str, arguments: dict[str, object], cut: int) -> None:
    text = call_text(name, json.dumps(arguments))
    assert not read(text[: 1 + cut % (len(text) - 1)], [])[2]


@given(st.text(min_size=1).filter(lambda text: not text.startswith("<")), st.lists(st.integers(0, 10_000), max_size=10))
def test_text_passes_through(text: str, cuts: list[int]) -> None:
    assert read(text, cuts) == (text, [], True)


def test_text_with_an_angle_bracket_that_is_no_call_is_text() -> None:
    assert read("<b>bold</b>", [1, 2, 3]) == ("<b>bold</b>", [], True)


@pytest.mark.parametrize(
    "text",
    [
        "<tool_call>get_weather()",
        '<tool_call>{"name": 7, "arguments": {}}</tool_call>',
        '<tool_call>{"name": "a", "args": {}}</tool_call>',
        '<tool_call>{"name": "a", "arguments": {}} and so on',
    ],
)
def test_what_the_grammar_forbids_is_noticed(text: str) -> None:
    with pytest.raises(MalformedResponseError, match="did not take the grammar"):
        read(text, [])


def test_tool_choice_decides_what_is_offered() -> None:
    tools = (WEATHER, ADD)
    assert choose(tools, None) == choose(tools, "auto") == (tools, True)
    assert choose(tools, "required") == (tools, False)
    assert choose(tools, "none") == ((), True)
    assert choose(tools, "add") == ([ADD], False)
    with pytest.raises(BadRequestError, match=r"tool_choice='subtract'.*'weather', 'add'"):
        choose(tools, "subtract")
    with pytest.raises(BadRequestError, match="none"):
        choose((), "required")


def test_grammar_holds_what_is_offered_and_nothing_else() -> None:
    def grammar(tools: tuple[ToolSpec, ...], *, answer: bool, output: OutputSpec | None = None, parallel: bool = False) -> str:
        return build_grammar(tools, answer, output, parallel=parallel, bounds=BOUNDS)

    assert "start: answer\n" in grammar((), answer=True) and "calls" not in grammar((), answer=True)
    assert "start: answer | calls" in grammar((WEATHER,), answer=True)
    assert "start: calls" in grammar((WEATHER,), answer=False) and "answer:" not in grammar((WEATHER,), answer=False)
    assert "start: answer\n" in grammar((), answer=True, output=OUTPUT)
    assert "answer: %json" in grammar((WEATHER,), answer=True, output=OUTPUT)
    assert "call: call0 | call1" in grammar((WEATHER, ADD), answer=True)
    assert "{0,7}" in grammar((WEATHER,), answer=True, parallel=True) and "{0," not in grammar((WEATHER,), answer=True)


def test_bounds_are_set_where_missing_and_kept_where_given() -> None:
    schema: dict[str, object] = {
        "type": "object",
        "properties": {
            "free": {"type": "string"},
            "held": {"type": "string", "maxLength": 5},
            "long": {"type": "string", "minLength": 2000},
            "list": {"type": "array", "items": {"type": "string"}},
            "count": {"type": "integer", "minimum": 5},
            "share": {"type": "number", "exclusiveMaximum": 1},
            "maybe": {"anyOf": [{"type": "string"}, {"type": "null"}]},
            "kind": {"type": "string", "enum": ["a", "b"]},
            "map": {"type": "object", "additionalProperties": {"type": "string"}},
            "ref": {"$ref": "#/$defs/Inner"},
        },
        "$defs": {"Inner": {"type": ["string", "null"]}},
    }
    before = json.dumps(schema)
    properties = bound_schema(schema, Bounds(string=10, items=3, magnitude=100))["properties"]
    assert properties == {
        "free": {"type": "string", "maxLength": 10},
        "held": {"type": "string", "maxLength": 5},
        "long": {"type": "string", "minLength": 2000, "maxLength": 2000},
        "list": {"type": "array", "items": {"type": "string", "maxLength": 10}, "maxItems": 3},
        "count": {"type": "integer", "minimum": 5, "maximum": 105},
        "share": {"type": "number", "exclusiveMaximum": 1, "minimum": -100, "multipleOf": 0.0001},
        "maybe": {"anyOf": [{"type": "string", "maxLength": 10}, {"type": "null"}]},
        "kind": {"type": "string", "enum": ["a", "b"]},
        "map": {"type": "object", "additionalProperties": {"type": "string", "maxLength": 10}, "maxProperties": 3},
        "ref": {"$ref": "#/$defs/Inner"},
    }
    assert bound_schema(schema, Bounds(string=10))["$defs"] == {"Inner": {"type": ["string", "null"], "maxLength": 10}}
    assert json.dumps(schema) == before
