"""Text made safe: lone surrogates go, everything else stays."""

from __future__ import annotations

import re
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agentsdk.types.text import clean_text, clean_value, shortened, storable_text

any_text = st.text(st.characters() | st.sampled_from(["\ud83d", "\ude00", "\ud800", "\udfff", "\ufeff", "\0", "😀"]))


def expected(text: str) -> str:
    """Two adjacent halves are one character; a half alone is U+FFFD."""

    def join(pair: re.Match[str]) -> str:
        high, low = (ord(half) for half in pair[0])
        return chr(0x10000 + ((high - 0xD800) << 10) + (low - 0xDC00))

    return re.sub("[\ud800-\udfff]", "\ufffd", re.sub("[\ud800-\udbff][\udc00-\udfff]", join, text))


@given(any_text)
def test_only_lone_surrogates_are_replaced(text: str) -> None:
    cleaned = clean_text(text)
    cleaned.encode()
    assert clean_text(cleaned) is cleaned
    if re.search("[\ud800-\udfff]", text):
        assert cleaned == expected(text)
    else:
        assert cleaned is text


@pytest.mark.parametrize(
    ("text", "cleaned"),
    [
        ("", ""),
        ("a\ud800", "a\ufffd"),
        ("\udc00a", "\ufffda"),
        ("\ud800a", "\ufffda"),
        ("\ud83d\ude00", "😀"),
        ("\ude00\ud83d", "\ufffd\ufffd"),
        ("\ufeff\ud800", "\ufeff\ufffd"),
        ("\0é\u2028", "\0é\u2028"),
    ],
)
def test_examples(text: str, cleaned: str) -> None:
    assert clean_text(text) == cleaned


def texts_in(value: Any) -> list[str]:
    if isinstance(value, str):
        return [value]
    if isinstance(value, dict):
        return [text for pair in value.items() for part in pair for text in texts_in(part)]
    return [text for inner in value for text in texts_in(inner)] if isinstance(value, list) else []


json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | any_text,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(any_text, inner, max_size=3),
    max_leaves=8,
)


@given(json_values)
def test_every_text_in_a_value_is_cleaned(value: Any) -> None:
    cleaned = clean_value(value)
    for text in texts_in(cleaned):
        text.encode()
    assert clean_value(cleaned) == cleaned
    if all(clean_text(text) == text for text in texts_in(value)):
        assert cleaned == value


def test_the_value_given_is_left_alone() -> None:
    value = {"a\ud800": ["b\ud800", ("c\ud800", 1)], "d": None}
    assert clean_value(value) == {"a\ufffd": ["b\ufffd", ["c\ufffd", 1]], "d": None}
    assert list(value) == ["a\ud800", "d"]


def test_storable_text_has_no_nul_either() -> None:
    assert storable_text("a\0b\ud800") == "a\ufffdb\ufffd"


def test_a_text_is_shortened_to_its_limit() -> None:
    assert shortened("12345", 5) == "12345"
    assert shortened("123456", 5) == "12..."
