"""Usage of chat completions: what the vendors call the numbers of `Usage`."""

from __future__ import annotations

from agentsdk.models.loose import as_count, as_object
from agentsdk.types.usage import Usage

COUNTED = frozenset(
    {"prompt_tokens", "completion_tokens", "total_tokens", "cached_tokens", "cache_write_tokens", "cache_creation_tokens"}
    | {"reasoning_tokens", "prompt_cache_hit_tokens", "prompt_cache_miss_tokens", "num_cached_tokens"}
)
"""What is counted in a `Usage`."""


def read_usage(data: object) -> Usage:
    """The usage of one reply; not `known` unless both input and output tokens are reported."""
    usage = as_object(data)
    prompt, completion = as_object(usage.get("prompt_tokens_details")), as_object(usage.get("completion_tokens_details"))
    known = all(as_count(usage.get(name)) is not None for name in ("prompt_tokens", "completion_tokens"))
    return Usage(
        requests=1,
        input_tokens=_first(usage.get("prompt_tokens")),
        output_tokens=_first(usage.get("completion_tokens")),
        cached_tokens=_first(
            prompt.get("cached_tokens"),
            usage.get("prompt_cache_hit_tokens"),
            usage.get("num_cached_tokens"),
            usage.get("cached_tokens"),
        ),
        cache_write_tokens=_first(prompt.get("cache_write_tokens"), prompt.get("cache_creation_tokens")),
        reasoning_tokens=_first(completion.get("reasoning_tokens")),
        known=known,
    )


def _first(*values: object) -> int:
    """The first that is a count, 0 where none is."""
    return next((count for count in map(as_count, values) if count is not None), 0)
