"""A memory over many conversations: a sample of `python -m benchmarks.memory`."""

from __future__ import annotations

import pytest

from benchmarks.memory import CONTRADICTIONS, CONVERSATIONS, FACTS, FEW_TOKENS, MAX_TOKENS, facts, kept, scripted_keeper

pytestmark = pytest.mark.anyio


async def test_of_facts_that_contradict_each_other_the_newer_one_is_kept_within_the_budget() -> None:
    told = facts()
    assert len(told) == FACTS and len({fact.topic for fact in told}) == FACTS - CONTRADICTIONS
    outcome = await kept(scripted_keeper(), told, CONVERSATIONS)
    assert (outcome.newer, outcome.older, outcome.missing) == (FACTS - CONTRADICTIONS, 0, 0)
    assert 2_000 < outcome.largest <= MAX_TOKENS
    assert (outcome.dreams, outcome.failed, outcome.requests) == (17, 0, 34)
    assert outcome.shown == 2 * FACTS, "each fact is shown to one dream, in each of its two requests"


async def test_where_there_is_room_for_a_third_of_them_none_that_is_kept_is_an_older_one() -> None:
    outcome = await kept(scripted_keeper(), facts(), CONVERSATIONS, FEW_TOKENS)
    assert (outcome.older, outcome.failed) == (0, 0) and outcome.newer > 40 and outcome.largest <= FEW_TOKENS
    assert outcome.requests > 50, "it was told that its draft is too large"
