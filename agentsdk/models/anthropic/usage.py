"""Usage of Anthropic's models: its token counts as `Usage`."""

from __future__ import annotations

from agentsdk.models.loose import as_count, as_object
from agentsdk.types.base import JsonObject
from agentsdk.types.usage import Usage


def read_usage(usage: JsonObject) -> Usage:
    """The usage of one reply; not `known` unless both input and output tokens are reported.

    Anthropic counts cached tokens beside `input_tokens`, `Usage` within them.
    """
    read, written = as_count(usage.get("cache_read_input_tokens")), as_count(usage.get("cache_creation_input_tokens"))
    fresh, output = as_count(usage.get("input_tokens")), as_count(usage.get("output_tokens"))
    thinking = as_count(as_object(usage.get("output_tokens_details")).get("thinking_tokens"))
    return Usage(
        requests=1,
        input_tokens=(fresh or 0) + (read or 0) + (written or 0),
        output_tokens=output or 0,
        cached_tokens=read or 0,
        cache_write_tokens=written or 0,
        reasoning_tokens=thinking or 0,
        known=fresh is not None and output is not None,
    )
