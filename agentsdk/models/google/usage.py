"""What Google calls the numbers of `Usage`. Numbers that are zero are left out."""

from __future__ import annotations

from agentsdk.models.loose import as_object
from agentsdk.types.usage import Usage


def read_usage(data: object) -> Usage:
    """The usage of one reply; not `known` unless the prompt's tokens are told.

    What Google's own tools read counts as input, the thoughts as output.
    """
    usage = as_object(data)
    thoughts = _count(usage.get("thoughtsTokenCount"))
    return Usage(
        requests=1,
        input_tokens=_count(usage.get("promptTokenCount")) + _count(usage.get("toolUsePromptTokenCount")),
        output_tokens=_count(usage.get("candidatesTokenCount")) + thoughts,
        cached_tokens=_count(usage.get("cachedContentTokenCount")),
        reasoning_tokens=thoughts,
        known=_is_count(usage.get("promptTokenCount")),
    )


def _is_count(value: object) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool) and 0 <= value < 2**53


def _count(value: object) -> int:
    return int(value) if isinstance(value, int | float) and _is_count(value) else 0
