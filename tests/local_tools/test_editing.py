"""Edits of text: line ends, line numbers and places, against plain models of what they should do."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agentsdk.errors import InvalidArgumentsError
from agentsdk.local_tools.editing import MAX_FOUND, inserted, listed, numbered_lines, replaced

LINES = st.lists(st.text(st.sampled_from("ab\x0c\u2028 \r"), max_size=4).map(lambda line: line.rstrip("\r")), max_size=6)
ENDS = st.sampled_from(["\n", "\r\n"])


@given(LINES, ENDS, st.booleans())
def test_every_line_is_shown_with_the_number_that_grep_gives_it(lines: list[str], end: str, whole: bool) -> None:
    text = end.join([*lines, ""]) if whole else end.join(lines)
    count = len(lines) if whole else len(lines) - (bool(lines) and not lines[-1])
    shown = numbered_lines(text).split("\n")
    if count == 0:
        assert shown == ["[no line 1: the file has 0]"]
    else:
        assert shown == [f"{number:6}\t{line}" for number, line in enumerate(lines[:count], 1)]


@given(LINES.filter(bool), ENDS, st.integers(0, 6), st.booleans())
def test_lines_come_behind_the_one_that_is_named(lines: list[str], end: str, after: int, ended: bool) -> None:
    text = end.join([*lines, ""])
    after = min(after, len(lines))
    expected = end.join([*lines[:after], "new", "er", *lines[after:], ""])
    assert inserted(text, "a", after, "new\ner\n" if ended else "new\ner") == expected


def test_lines_come_behind_a_last_one_that_has_no_end() -> None:
    assert inserted("a\nb", "f", 2, "c") == "a\nb\nc\n"
    assert inserted("", "f", 0, "a") == "a\n"
    assert inserted("a\n", "f", 1, "") == "a\n"
    for after in (-1, 2):
        with pytest.raises(InvalidArgumentsError, match=f"insert_line is {after}, expected 0 to 1"):
            inserted("a\n", "f", after, "x")


@given(st.text("ab\n"), st.text("ab\n", min_size=1), st.text("ab\n"), st.text("ab\n"), ENDS)
def test_what_stands_once_is_replaced_whatever_the_line_ends(before: str, old: str, new: str, after: str, end: str) -> None:
    plain = before + old + after
    end = end if "\n" in plain else "\n"
    text = plain.replace("\n", end)
    if plain.count(old) == 1 and plain.find(old) == plain.rfind(old):
        assert replaced(text, "f", old, new) == (before + new + after).replace("\n", end)
    elif plain.count(old) > 1:
        with pytest.raises(InvalidArgumentsError, match=f"stands {text.count(old.replace(chr(10), end))} times in f"):
            replaced(text, "f", old, new)


def test_a_file_of_mixed_line_ends_is_changed_to_the_letter() -> None:
    assert replaced("a\r\nb\nc", "f", "b\nc", "x\ny") == "a\r\nx\ny"
    assert inserted("a\r\nb\n", "f", 1, "x") == "a\r\nx\nb\n"


def test_the_model_is_told_where_a_text_stands() -> None:
    with pytest.raises(InvalidArgumentsError, match="stands 3 times in f, in lines 1, 1, 3, expected once"):
        replaced("x x\n\nx", "f", "x", "y")
    with pytest.raises(InvalidArgumentsError, match="in lines 1, 2, 3, 4, 5, 6, 7, 8, 9, 10 and more"):
        replaced("x\n" * 11, "f", "x", "y")
    assert replaced("x x", "f", "x", "y", every=True) == "y y"
    with pytest.raises(InvalidArgumentsError, match="stands 0 times"):
        replaced("x", "f", "", "y")


def test_a_view_is_as_long_as_it_may_be() -> None:
    text = "aaaa\nbb\ncc\n"
    assert numbered_lines(text, max_characters=20) == "     1\taaaa\n[... 2 more lines, from 2 on ...]"
    assert numbered_lines(text, max_characters=21) == "     1\taaaa\n     2\tbb\n[... 1 more lines, from 3 on ...]"
    assert numbered_lines(text, max_characters=1).startswith("     1\taaaa\n"), "one line at least"


def test_of_many_entries_the_first_are_listed() -> None:
    assert listed([]) == "[nothing]"
    assert len(listed(["x"] * (MAX_FOUND + 1)).split("\n")) == MAX_FOUND + 1
