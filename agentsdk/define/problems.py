"""What is wrong with a JSON value, in words a model can act on: where, and what was expected; never the value."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pydantic import ValidationError

MAX_PROBLEMS = 20
"""How many problems are listed one by one."""


def list_problems(problems: list[str]) -> str:
    """The problems, one to a line."""
    more = len(problems) - MAX_PROBLEMS
    told = problems[:MAX_PROBLEMS] + ([f"and {more} more"] if more > 0 else [])
    return "\n".join(f"- {problem}" for problem in told)


def problems_of(error: ValidationError) -> list[str]:
    """What pydantic found, each with its path in the JSON."""
    return [
        f"{_path(detail['loc'])}: {detail['msg']}"
        for detail in error.errors(include_url=False, include_context=False, include_input=False)
    ]


def _path(location: tuple[int | str, ...]) -> str:
    path = ""
    for step in location:
        path += f"[{step}]" if isinstance(step, int) else f".{step}" if path else step
    return path or "the whole"
