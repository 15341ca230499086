from __future__ import annotations

from agentsdk.models.anthropic.usage import read_usage
from agentsdk.types.usage import Usage


def test_cached_tokens_are_within_the_input() -> None:
    told: dict[str, object] = {
        "input_tokens": 3,
        "cache_read_input_tokens": 100,
        "cache_creation_input_tokens": 20,
        "output_tokens": 7,
        "output_tokens_details": {"thinking_tokens": 4},
    }
    assert read_usage(told) == Usage(1, 123, 7, 100, 20, 4)


def test_what_is_missing_or_no_count_is_not_known() -> None:
    for told in (
        {},
        {"input_tokens": 1},
        {"input_tokens": None, "output_tokens": 1},
        {"input_tokens": -1, "output_tokens": True},
    ):
        assert not read_usage(told).known
