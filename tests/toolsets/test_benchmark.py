"""A sample of `benchmarks.selection`: what is chosen, and that nothing which is asked again is computed again."""

from __future__ import annotations

import pytest

from benchmarks.selection import LEAST_RIGHT, conversations, public_tools, ranked
from benchmarks.selection_cases import CASES, HARD
from tests.shown import show

pytestmark = pytest.mark.anyio


def test_the_tools_are_two_hundred_and_none_is_there_twice() -> None:
    assert len(CASES) == len({case.name for case in CASES}) == len({case.request for case in CASES}) == 200
    assert {name for name, _ in HARD} <= {case.name for case in CASES}
    assert all(case.request not in case.description and case.description not in case.request for case in CASES)
    assert [tool.spec.name for tool in public_tools()] == [case.name for case in CASES]


async def test_the_right_tool_is_among_the_eight_that_rank_best(pytestconfig: pytest.Config) -> None:
    share = await ranked([(case.name, case.request) for case in CASES])
    assert share >= LEAST_RIGHT
    show(pytestconfig, [f"tool selection: {share:.1%} of 200 requests have their tool among the best 8 of 200"])


async def test_most_tokens_are_saved_and_lists_only_grow() -> None:
    saved, kept, same = await conversations(switches=True)
    assert saved > 0.85
    assert kept == 1
    assert same > 0.5
