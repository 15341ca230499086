"""What is wrong with a JSON value, as who wrote it reads it: where, and what was expected; never the value itself."""

from __future__ import annotations

MAX_PROBLEMS = 20
"""How many problems are listed one by one."""

MAX_NAME = 100
"""How much of a name the model made up is repeated."""

_ENGLISH: dict[type, str] = {
    str: "a string",
    int: "an integer",
    float: "a number",
    bool: "true or false",
    type(None): "null",
    list: "an array",
    dict: "an object",
}


def list_problems(problems: list[str]) -> str:
    """The problems, one to a line."""
    more = len(problems) - MAX_PROBLEMS
    shown = problems[:MAX_PROBLEMS] + ([f"and {more} more"] if more > 0 else [])
    return "\n".join(f"- {problem}" for problem in shown)


def name_of_kind(kind: type) -> str:
    """What values of a JSON kind are called, with an article."""
    return _ENGLISH.get(kind, "something else")


def describe_kind(value: object) -> str:
    """The kind of a JSON value as text, with its article: never the value."""
    if isinstance(value, str) and value:
        return f"a string of {len(value)} characters"
    return name_of_kind(type(value))
