"""Self-consistency: several samples, the answer that came most often, and no sample that could change nothing."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass

import pytest

from agentsdk import Agent, MemoryRunStore, ModelRequest, RunConfig, RunLimits
from agentsdk.errors import MaxTurnsExceeded, RunCancelledError, UserError, WorkflowFailedError
from agentsdk.patterns import Vote, VoteCount, vote
from agentsdk.testing import ScriptedModel, workflow_check
from agentsdk.testing.scripted import ScriptedReply
from agentsdk.workflow import workflow

pytestmark = pytest.mark.anyio


@dataclass
class Sum:
    total: int
    why: str


def solver(*replies: ScriptedReply) -> Agent[None, str]:
    return Agent(name="Solver", model=ScriptedModel(replies))


def counter(*replies: int | str) -> Agent[None, int]:
    """Its model says these; a text is no number."""
    said = [f'{{"response": {given}}}' for given in replies]
    return Agent(name="Counter", output_type=int, model=ScriptedModel(said))


@pytest.mark.parametrize(
    ("replies", "outcome"),
    [
        (["42", "42", "42"], Vote("42", False, (VoteCount("42", 3),), 0, 3)),
        (["41", "42", "42", "42"], Vote("42", False, (VoteCount("42", 3), VoteCount("41", 1)), 0, 4)),
        (["a", "b", "c", "d", "d"], Vote("d", False, (VoteCount("d", 2), *[VoteCount(x, 1) for x in "abc"]), 0, 5)),
        (["a", "b", "a", "b", "c"], Vote("a", True, (VoteCount("a", 2), VoteCount("b", 2), VoteCount("c", 1)), 0, 5)),
        (["Rome", " rome.", "ROME"], Vote("Rome", False, (VoteCount("Rome", 3),), 0, 3)),
    ],
)
async def test_the_answer_with_the_most_votes_wins_and_who_cannot_change_it_is_not_asked(
    replies: list[str], outcome: Vote[str]
) -> None:
    result = await vote(solver(*replies)).run("Well?")
    assert result.final_output == outcome
    assert result.usage.requests == len(replies)


async def test_those_who_could_decide_are_asked_at_once() -> None:
    asked = 0
    all_asked = asyncio.Event()

    async def answer(request: ModelRequest) -> str:
        nonlocal asked
        asked += 1
        if asked == 4:
            all_asked.set()
        await all_asked.wait()
        return "yes"

    async with asyncio.timeout(10):
        assert (await vote(solver(*[answer] * 7), samples=7).run("Well?")).final_output.samples == 4


async def test_a_failed_sample_counts_for_nothing_and_is_said() -> None:
    config = RunConfig(max_output_retries=0)
    outcome = (await vote(counter("x", 4, 5, "x", 4)).run("2 + 2?", run_config=config)).final_output
    assert outcome == Vote(4, False, (VoteCount(4, 2), VoteCount(5, 1)), 2, 5)


async def test_where_no_sample_has_an_answer_it_fails() -> None:
    with pytest.raises(WorkflowFailedError, match="InvalidOutputError"):
        await vote(counter("x", "x", "x"), samples=3).run("2 + 2?", run_config=RunConfig(max_output_retries=0))


async def test_answers_are_alike_by_a_form_of_your_own() -> None:
    replies = ['{"total": 4, "why": "counted"}', '{"total": 4, "why": "known"}']
    agent = Agent[None, Sum](name="Solver", output_type=Sum, model=ScriptedModel(replies * 2))
    outcome = (await vote(agent, samples=2, form=lambda given: given.total).run("2 + 2?")).final_output
    assert outcome.counts == (VoteCount(Sum(4, "counted"), 2),)
    assert (await vote(agent, samples=2).run("2 + 2?")).final_output.is_tie


async def test_its_samples_share_the_limits_of_the_run() -> None:
    config = RunConfig(limits=RunLimits(turns=2))
    with pytest.raises(MaxTurnsExceeded):
        await vote(solver("a", "b", "c", "c", "c")).run("Well?", run_config=config)


async def test_a_killed_vote_asks_nobody_again_who_has_answered() -> None:
    begun = asyncio.Event()

    async def hang(request: ModelRequest) -> str:
        begun.set()
        await asyncio.Event().wait()
        raise AssertionError

    config = RunConfig(store=MemoryRunStore(), run_id="vote-1", lease=0.001)
    running = asyncio.create_task(vote(solver("a", "b", hang)).run("Well?", run_config=config))
    await begun.wait()
    running.cancel()
    with pytest.raises((asyncio.CancelledError, RunCancelledError)):
        await running
    result = await vote(solver("b", "b")).resume("vote-1", run_config=config)
    assert result.final_output == Vote("b", False, (VoteCount("b", 3), VoteCount("a", 1)), 0, 4)


async def test_it_is_a_step_of_a_workflow_and_a_tool() -> None:
    voted = vote(solver("yes", "yes"), samples=2, name="poll")

    @workflow
    async def decide(question: str) -> bool:
        return (await voted(question)).answer == "yes"

    result = await decide.run("Well?")
    assert result.final_output
    assert result.usage.requests == 2
    assert voted.as_tool().name == "poll"


async def test_it_is_deterministic() -> None:
    replies: list[int | str] = ["x", 1, 4, 1, 2, 5]
    agent = counter(*replies * 3)
    checked = await workflow_check(vote(agent, samples=6), "2 + 2?", run_config=RunConfig(max_output_retries=0))
    assert checked.steps == 6


def test_what_cannot_be_voted_on_is_refused() -> None:
    with pytest.raises(UserError, match="samples=0"):
        vote(solver(), samples=0)
