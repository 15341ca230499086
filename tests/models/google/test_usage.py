from __future__ import annotations

import pytest

from agentsdk.models.google.usage import read_usage
from agentsdk.types.usage import Usage


def test_all_numbers() -> None:
    told = {
        "promptTokenCount": 100,
        "cachedContentTokenCount": 60,
        "toolUsePromptTokenCount": 7,
        "candidatesTokenCount": 20,
        "thoughtsTokenCount": 30,
        "totalTokenCount": 157,
    }
    usage = read_usage(told)
    assert usage == Usage(1, input_tokens=107, output_tokens=50, cached_tokens=60, reasoning_tokens=30)
    assert usage.total_tokens == 157


def test_zeros_are_left_out_by_the_provider() -> None:
    assert read_usage({"promptTokenCount": 3, "totalTokenCount": 3}) == Usage(1, input_tokens=3)


@pytest.mark.parametrize(
    "told", [{}, [], "x", {"promptTokenCount": None}, {"promptTokenCount": -1}, {"promptTokenCount": True}]
)
def test_a_usage_that_is_not_told_is_not_known(told: object) -> None:
    assert read_usage(told) == Usage(1, known=False)
