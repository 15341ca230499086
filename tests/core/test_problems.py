"""What is wrong with a value, in words."""

from __future__ import annotations

from agentsdk.core.problems import MAX_PROBLEMS, describe_kind, list_problems


def test_long_lists_are_cut() -> None:
    told = list_problems([f"p{number}" for number in range(MAX_PROBLEMS + 3)]).splitlines()
    assert told[0] == "- p0"
    assert told[-1] == "- and 3 more"
    assert len(told) == MAX_PROBLEMS + 1


def test_kinds_in_words() -> None:
    assert [describe_kind(value) for value in ("", None, True, 1, 1.5, [], {}, object(), "four")] == [
        *("a string", "null", "true or false", "an integer", "a number", "an array", "an object", "something else"),
        "a string of 4 characters",
    ]
