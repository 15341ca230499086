"""Validation errors of a JSON value as the model reads them: where, and what was expected; never the value itself."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pydantic import ValidationError
    from pydantic_core import ErrorDetails

MAX_PROBLEMS = 20
"""How many problems are listed one by one."""

MAX_NAME = 100
"""How much of a name the model made up is repeated."""


def list_problems(problems: list[str]) -> str:
    """The problems, one to a line."""
    more = len(problems) - MAX_PROBLEMS
    shown = problems[:MAX_PROBLEMS] + ([f"and {more} more"] if more > 0 else [])
    return "\n".join(f"- {problem}" for problem in shown)


def problems_of(error: ValidationError) -> list[str]:
    """What pydantic found, each with its path in the JSON."""
    return [f"{_path(detail['loc'])}: {_message(detail)}" for detail in error.errors(include_url=False, include_input=False)]


def _message(detail: ErrorDetails) -> str:
    context = detail.get("ctx", {})
    if detail["type"] == "union_tag_invalid":  # the one message of pydantic's that repeats what it was given
        return f"Input should have one of the tags {context['expected_tags']} as its {context['discriminator']}"
    return detail["msg"]


def _path(location: tuple[int | str, ...]) -> str:
    path = ""
    for step in location:
        path += f"[{step}]" if isinstance(step, int) else f".{step[:MAX_NAME]}" if path else step[:MAX_NAME]
    return path or "the whole"
