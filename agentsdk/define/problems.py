"""The problems that pydantic finds in a JSON value."""

from __future__ import annotations

from typing import TYPE_CHECKING

from agentsdk.core.problems import MAX_NAME

if TYPE_CHECKING:
    from pydantic import ValidationError
    from pydantic_core import ErrorDetails


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
