"""Arguments of a call: strict JSON, one canonical form, one digest."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agentsdk.core.arguments import (
    MAX_ARGUMENTS_CHARS,
    MAX_ARGUMENTS_DEPTH,
    approval_digest,
    canonical_arguments,
    parse_arguments,
)
from agentsdk.types.errors import InvalidArgumentsError, ModelBehaviorError

texts = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0"), max_size=12)
values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | texts,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(texts, inner, max_size=4),
    max_leaves=12,
)
objects = st.dictionaries(texts, values, max_size=5)


def reason(text: str) -> str:
    with pytest.raises(InvalidArgumentsError) as caught:
        parse_arguments(text)
    assert isinstance(caught.value, ModelBehaviorError)
    return caught.value.reason


@given(objects, st.booleans(), st.sampled_from([None, 1]))
def test_reads_every_json_object(arguments: dict[str, Any], ascii_only: bool, indent: int | None) -> None:
    assert parse_arguments(json.dumps(arguments, ensure_ascii=ascii_only, indent=indent)) == arguments


@given(objects, texts, st.integers(), st.sampled_from([":", " :", "\n:"]), st.booleans())
def test_refuses_a_key_given_twice_at_any_level(
    arguments: dict[str, Any], key: str, value: int, colon: str, escaped: bool
) -> None:
    again = "".join(f"\\u{ord(char):04x}" for char in key) if escaped and all(ord(c) < 0x10000 for c in key) else None
    first = json.dumps(key)
    second = first if again is None else f'"{again}"'
    twice = f"{{{first}{colon}{value}, {second}{colon} 1}}"
    assert "twice" in reason(twice)
    wrapped = json.dumps({**arguments, "x": 0})[:-1] + f', "inside" : [{twice}]}}'
    if "inside" not in arguments:
        assert "twice" in reason(wrapped)


def test_a_key_repeated_in_another_object_or_a_string_is_fine() -> None:
    assert parse_arguments('{"a":{"a":1},"b":[{"a":1},{"a":2}]}') == {"a": {"a": 1}, "b": [{"a": 1}, {"a": 2}]}
    assert parse_arguments('{"a":"\\"a\\":1, \\"a\\":2"}') == {"a": '"a":1, "a":2'}
    assert parse_arguments('{"at":"10:30","url":"http://x"}') == {"at": "10:30", "url": "http://x"}


@pytest.mark.parametrize("text", ["", " ", "\n\t "])
def test_blank_text_is_no_arguments(text: str) -> None:
    assert parse_arguments(text) == {}


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("[1]", "an array"),
        ('"a"', "a string"),
        ("1", "a number"),
        ("1.5", "a number"),
        ("true", "true or false"),
        ("null", "null"),
    ],
)
def test_refuses_what_is_no_object(text: str, told: str) -> None:
    assert reason(text).startswith(f"the arguments are {told}, expected one JSON object")


@pytest.mark.parametrize("text", ['{"a":1', '{"a":1}}', "{'a':1}", '{"a":1,}', '{"a":"\x01"}', "{}{}", '\ufeff{"a":1}', "x"])
def test_refuses_what_is_no_json(text: str) -> None:
    assert "not valid JSON" in reason(text)


@pytest.mark.parametrize("number", ["NaN", "Infinity", "-Infinity", "1e999", "-1e999"])
def test_refuses_numbers_that_are_not_finite(number: str) -> None:
    assert "not finite" in reason(f'{{"a":[{number}]}}')


def test_refuses_an_integer_python_will_not_read() -> None:
    assert "too many digits" in reason('{"a":' + "9" * 5_000 + "}")
    assert parse_arguments('{"a":' + "9" * 40 + "}") == {"a": int("9" * 40)}


@pytest.mark.parametrize("braces", ['{"a":', "["])
def test_nesting_is_capped(braces: str) -> None:
    def nested(depth: int) -> str:
        if braces == "[":
            return '{"a":' + "[" * (depth - 1) + "]" * (depth - 1) + "}"
        return braces * (depth - 1) + "{}" + "}" * (depth - 1)

    assert parse_arguments(nested(MAX_ARGUMENTS_DEPTH))
    assert "nest deeper" in reason(nested(MAX_ARGUMENTS_DEPTH + 1))
    assert "nest deeper" in reason(nested(100_000))


def test_breadth_is_not_depth() -> None:
    wide = {"rows": [[number] for number in range(MAX_ARGUMENTS_DEPTH * 3)]}
    assert parse_arguments(json.dumps(wide)) == wide


def test_length_is_capped() -> None:
    fits = '{"a":"' + "x" * (MAX_ARGUMENTS_CHARS - 8) + '"}'
    assert len(fits) == MAX_ARGUMENTS_CHARS
    assert parse_arguments(fits)
    assert "expected at most" in reason(fits + " ")


def test_lone_surrogates_and_nul_are_replaced() -> None:
    assert parse_arguments('{"\\ud800":"\\udc00x","b":["\\u0000"],"c":"\\ud83d\\ude00","d":1}') == {
        "\ufffd": "\ufffdx",
        "b": ["\ufffd"],
        "c": "😀",
        "d": 1,
    }
    assert parse_arguments('{"a":"\ud800"}') == {"a": "\ufffd"}
    assert parse_arguments('{"a\\u0000":{"b":"c"}}') == {"a\ufffd": {"b": "c"}}


def test_keys_that_cleaning_makes_equal_are_given_twice() -> None:
    assert "twice" in reason('{"\\ud800":1,"\\udc00":2}')


def test_reasons_show_no_values() -> None:
    for text in ('{"a":"sk-secret","a":"sk-secret"}', '{"a":sk-secret}', '"sk-secret"', '{"a":"sk-secret","b":NaN}'):
        assert "secret" not in reason(text)


@given(objects)
def test_the_canonical_form_is_that_of_every_order_and_spacing(arguments: dict[str, Any]) -> None:
    turned = dict(reversed(arguments.items()))
    canonical = canonical_arguments(json.dumps(arguments))
    assert canonical_arguments(json.dumps(turned, ensure_ascii=False, indent=2)) == canonical
    assert canonical_arguments(canonical) == canonical
    assert json.loads(canonical) == arguments


@given(objects, objects)
def test_the_digest_is_equal_only_for_equal_arguments(one: dict[str, Any], other: dict[str, Any]) -> None:
    first, second = json.dumps(one), json.dumps(other)
    assert (approval_digest("t", "c", first) == approval_digest("t", "c", second)) == (
        canonical_arguments(first) == canonical_arguments(second)
    )


def test_the_digest_covers_tool_call_and_arguments() -> None:
    digests = {
        approval_digest(*subject)
        for subject in [("t", "c", "{}"), ("u", "c", "{}"), ("t", "d", "{}"), ("t", "c", '{"a":1}'), ("tc", "", "{}")]
    }
    assert len(digests) == 5
    assert all(len(digest) == 64 for digest in digests)
    assert approval_digest("t", "c", "") == approval_digest("t", "c", " {} ")


def test_invalid_arguments_stand_for_themselves() -> None:
    assert canonical_arguments('{"a":\ud800') == '{"a":\ufffd'
    assert approval_digest("t", "c", '{"a":1,"a":2}') != approval_digest("t", "c", '{"a":2}')
    assert approval_digest("\ud800", "\ud800", "x") == approval_digest("\ufffd", "\ufffd", "x")
