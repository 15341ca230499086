"""Usage of Bedrock's models: its token counts as `Usage`."""

from __future__ import annotations

from agentsdk.models.loose import as_count
from agentsdk.types.base import JsonObject
from agentsdk.types.usage import Usage


def read_usage(usage: JsonObject) -> Usage:
    """The usage of one reply; not `known` unless both input and output tokens are reported.

    Bedrock counts cached tokens beside `inputTokens`, `Usage` within them.
    """
    read, written = as_count(usage.get("cacheReadInputTokens")), as_count(usage.get("cacheWriteInputTokens"))
    fresh, output = as_count(usage.get("inputTokens")), as_count(usage.get("outputTokens"))
    return Usage(
        requests=1,
        input_tokens=(fresh or 0) + (read or 0) + (written or 0),
        output_tokens=output or 0,
        cached_tokens=read or 0,
        cache_write_tokens=written or 0,
        known=fresh is not None and output is not None,
    )
