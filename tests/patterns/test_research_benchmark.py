"""`benchmarks.research` with its model that follows rules: three ways to research come to answers that are rightly cited."""

from __future__ import annotations

import pytest

from benchmarks.librarian import librarian
from benchmarks.research import QUESTIONS, score, ways
from tests.shown import show

pytestmark = pytest.mark.anyio


async def test_each_way_cites_rightly_and_a_plan_takes_the_fewest_turns(pytestconfig: pytest.Config) -> None:
    scores = {name: await score(way, has_price=True) for name, way in ways(librarian()).items()}
    for name, total in scores.items():
        assert total.cited == len(QUESTIONS), name
        assert total.right >= len(QUESTIONS) - 1, name
        assert total.cost > 0, name
        assert not total.errors, name
    turns = [scores[name].turns for name in ("plan-then-execute", "ReAct", "hybrid")]
    assert turns == sorted(turns)
    lines = [
        f"{name}: {one.right} of {len(QUESTIONS)} right, {one.turns} turns, {one.cost:.4f} $" for name, one in scores.items()
    ]
    show(pytestconfig, lines)
