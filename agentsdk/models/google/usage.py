"""Usage of Google's models: what Google calls the numbers of `Usage`. Numbers that are zero are left out."""

from __future__ import annotations

from agentsdk.models.loose import as_count, as_object
from agentsdk.types.usage import Usage


def read_usage(data: object) -> Usage:
    """The usage of one reply; not `known` unless the prompt's tokens are reported.

    What Google's own tools read counts as input, the thoughts as output.
    """
    usage = as_object(data)
    prompt, thoughts = as_count(usage.get("promptTokenCount")), as_count(usage.get("thoughtsTokenCount")) or 0
    return Usage(
        requests=1,
        input_tokens=(prompt or 0) + (as_count(usage.get("toolUsePromptTokenCount")) or 0),
        output_tokens=(as_count(usage.get("candidatesTokenCount")) or 0) + thoughts,
        cached_tokens=as_count(usage.get("cachedContentTokenCount")) or 0,
        reasoning_tokens=thoughts,
        known=prompt is not None,
    )
