from __future__ import annotations

import pytest

from agentsdk.models.openai_chat.usage import read_usage
from agentsdk.types.usage import Usage


@pytest.mark.parametrize(
    ("data", "usage"),
    [
        ({"prompt_tokens": 3, "completion_tokens": 2}, Usage(1, 3, 2)),
        (
            {
                "prompt_tokens": 30,
                "completion_tokens": 20,
                "prompt_tokens_details": {"cached_tokens": 7, "cache_write_tokens": 4},
                "completion_tokens_details": {"reasoning_tokens": 5},
            },
            Usage(1, 30, 20, 7, 4, 5),
        ),
        ({"prompt_tokens": 3, "completion_tokens": 2, "prompt_cache_hit_tokens": 1}, Usage(1, 3, 2, 1)),
        ({"prompt_tokens": 3, "completion_tokens": 2, "num_cached_tokens": 1}, Usage(1, 3, 2, 1)),
        ({"prompt_tokens": 3.0, "completion_tokens": 2, "prompt_tokens_details": None}, Usage(1, 3, 2)),
        ({"prompt_tokens": 3, "completion_tokens": None}, Usage(1, 3, known=False)),
        ({"prompt_tokens": -3, "completion_tokens": True}, Usage(1, known=False)),
        ({}, Usage(1, known=False)),
        (None, Usage(1, known=False)),
        ("x", Usage(1, known=False)),
    ],
)
def test_read_usage(data: object, usage: Usage) -> None:
    assert read_usage(data) == usage
