"""Usage of the Responses API: what it calls the numbers of `Usage`."""

from __future__ import annotations

from agentsdk.models.loose import as_count, as_object
from agentsdk.types.usage import Usage

COUNTED = ("input_tokens", "output_tokens", "total_tokens", "cached_tokens", "cache_write_tokens", "reasoning_tokens")
"""What is counted in a `Usage`."""


def read_usage(data: object) -> Usage:
    """The usage of one reply; not `known` unless both input and output tokens are reported."""
    usage = as_object(data)
    given, made = as_object(usage.get("input_tokens_details")), as_object(usage.get("output_tokens_details"))
    sent, written = as_count(usage.get("input_tokens")), as_count(usage.get("output_tokens"))
    return Usage(
        requests=1,
        input_tokens=sent or 0,
        output_tokens=written or 0,
        cached_tokens=as_count(given.get("cached_tokens")) or 0,
        cache_write_tokens=as_count(given.get("cache_write_tokens")) or 0,
        reasoning_tokens=as_count(made.get("reasoning_tokens")) or 0,
        known=sent is not None and written is not None,
    )
