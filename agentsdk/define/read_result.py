"""`read_result`: the tool with which a model reads the rest of a truncated result."""

from __future__ import annotations

from typing import Any

from agentsdk.core.overflow import READ_RESULT
from agentsdk.define.context import ToolContext
from agentsdk.define.function_tool import function_tool
from agentsdk.types.errors import ToolError

MAX_PIECE = 4_000
"""The most characters of a result that are read at once."""

_HEADER_CHARS = 64


@function_tool(name_override=READ_RESULT, effect="none")
async def read_result(context: ToolContext[Any], result_id: str, offset: int = 0, length: int = MAX_PIECE) -> str:
    """Read on in a tool result that was cut.

    Args:
        result_id: The id that stands where the result was cut.
        offset: The first character to read.
        length: How many characters to read, 4000 at most.
    """
    text = await context.full_result(result_id)
    if text is None:
        raise ToolError(f"no result has the id {result_id!r}; expected the id that stands where a result was cut")
    length = min(length, MAX_PIECE, context.max_result_chars - _HEADER_CHARS)  # so that it is not cut itself
    start = max(0, offset)
    end = min(start + max(1, length), len(text))
    if start >= end:
        raise ToolError(f"the result ends at character {len(text)}; expected a smaller offset than {offset}")
    return f"[characters {start} to {end} of {len(text)}]\n{text[start:end]}"
