"""Usage adds up, and remembers that something was left out."""

from __future__ import annotations

from hypothesis import given

from agentsdk.types.usage import Usage
from tests.core.histories import usages


@given(usages, usages, usages)
def test_usage_adds_up_field_by_field(one: Usage, two: Usage, three: Usage) -> None:
    total = one + two
    for name in Usage.__struct_fields__:
        if name != "known":
            assert getattr(total, name) == getattr(one, name) + getattr(two, name)
    assert total.known == (one.known and two.known)
    assert total == two + one
    assert (one + two) + three == one + (two + three)
    assert one + Usage() == one


def test_total_tokens_count_cached_and_reasoning_ones_once() -> None:
    assert Usage(1, 10, 5, cached_tokens=4, cache_write_tokens=3, reasoning_tokens=2).total_tokens == 15
