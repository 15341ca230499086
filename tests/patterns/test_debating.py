"""A debate: rounds in which agents read each other, none longer than the one before, and a judge at the end."""

from __future__ import annotations

import pytest

from agentsdk import Agent, ModelRequest, RunConfig
from agentsdk.errors import UserError, WorkflowFailedError
from agentsdk.patterns import Debate, Statement, debate
from agentsdk.testing import ScriptedModel, workflow_check
from agentsdk.testing.scripted import ScriptedReply

pytestmark = pytest.mark.anyio


def debater(name: str, *replies: ScriptedReply) -> Agent[None, str]:
    return Agent(name=name, model=ScriptedModel(replies))


def judge(*replies: int) -> Agent[None, int]:
    said = [f'{{"response": {reply}}}' for reply in replies]
    return Agent(name="Judge", output_type=int, model=ScriptedModel(said))


def shown(agent: Agent[None, str] | Agent[None, int], number: int) -> str:
    model = agent.model
    assert isinstance(model, ScriptedModel)
    request: ModelRequest = model.requests[number]
    return str(request.items[-1])


async def test_who_debates_reads_what_the_others_have_said_last_and_the_judge_reads_all() -> None:
    ann, ben, chair = debater("Ann", "4, I think", "4, and no doubt"), debater("Ben", "5, surely", "4 it is"), judge(4)
    result = await debate([ann, ben], chair).run("2 + 2?")
    assert result.final_output == Debate(4, (Statement("Ann", "4, and no doubt"), Statement("Ben", "4 it is")), 2, ())
    assert "5, surely" not in shown(ann, 0)
    assert "You have said:\\n4, I think" in shown(ann, 1)
    assert "Ben: 5, surely" in shown(ann, 1)
    assert "Ann: 4" not in shown(ann, 1)
    assert "Ann: 4, and no doubt" in shown(chair, 0)
    assert "surely" not in shown(chair, 0)
    assert result.usage.requests == 5


async def test_it_ends_once_they_agree() -> None:
    result = await debate([debater("Ann", "Four"), debater("Ben", "four.")], judge(4), rounds=9).run("2 + 2?")
    assert (result.final_output.rounds, result.usage.requests) == (1, 3)


async def test_what_is_shown_of_a_statement_is_bounded() -> None:
    ben = debater("Ben", "b", "b")
    await debate([debater("Ann", "a" * 9_000, "c"), ben], judge(1), max_chars=100).run("Well?")
    assert len(shown(ben, 1)) < 600


async def test_who_fails_is_absent_and_is_asked_again_in_the_next_round() -> None:
    strict = Agent[None, int](name="Ben", output_type=int, model=ScriptedModel(["x", '{"response": 5}', "x"]))
    config = RunConfig(max_output_retries=0)
    result = await debate([debater("Ann", "4", "4", "4"), strict], judge(4), rounds=3).run("2 + 2?", run_config=config)
    assert result.final_output == Debate(4, (Statement("Ann", "4"),), 3, ("Ben",))
    assert result.usage.requests == 7


async def test_where_nobody_has_anything_to_say_it_fails() -> None:
    strict = Agent[None, int](name="Ben", output_type=int, model=ScriptedModel(["x"]))
    with pytest.raises(WorkflowFailedError):
        await debate([strict], judge()).run("2 + 2?", run_config=RunConfig(max_output_retries=0))


async def test_it_is_deterministic() -> None:
    debaters = [debater("Ann", "4", "4"), debater("Ben", "5", "6")]
    checked = await workflow_check(debate(debaters, judge(4)), "2 + 2?")
    assert checked.steps == 5


def test_what_is_no_debate_is_refused() -> None:
    with pytest.raises(UserError, match="name of its own"):
        debate([debater("Ann"), debater("Ann")], judge())
    with pytest.raises(UserError, match="rounds=0"):
        debate([debater("Ann")], judge(), rounds=0)
