"""Patterns are made of agents, and are agents: one stands where another is asked for."""

from __future__ import annotations

import json
from typing import Any

import pytest

from agentsdk import Agent, UserError
from agentsdk.patterns import Documents, Routed, Vote, VoteCount, debate, map_reduce, router, supervisor, vote
from agentsdk.testing import ScriptedModel, workflow_check
from agentsdk.workflow import Workflow, flow, workflow

pytestmark = pytest.mark.anyio


def agent(name: str, *replies: str) -> Agent[None, str]:
    return Agent(name=name, model=ScriptedModel(replies))


def poll(*replies: int) -> Workflow[str, Vote[int]]:
    model = ScriptedModel([f'{{"response": {reply}}}' for reply in replies])
    return vote(Agent[None, int](name="Solver", output_type=int, model=model), samples=2, name="Poll")


FOUR = Vote(4, False, (VoteCount(4, 2),), 0, 2)


async def test_a_router_chooses_between_patterns() -> None:
    reception = agent("Reception", '{"agent": "Poll", "confidence": 1.0}')
    desk = Agent[Any, Vote[int]](name="Desk", output_type=Vote[int], model=ScriptedModel([]))
    result = await router(reception, [poll(4, 4)], default=desk).run("2 + 2?")
    answer: Routed[Vote[int]] = result.final_output
    assert (answer.agent, answer.answer) == ("Poll", FOUR)
    assert result.usage.requests == 3


async def test_a_pattern_debates_and_works_and_reads() -> None:
    held = await debate([poll(4, 4)], agent("Judge", "Four."), rounds=1).run("2 + 2?")
    assert json.loads(held.final_output.statements[0].text)["answer"] == 4

    start = '{"start": [{"worker": "Poll", "input": "2 + 2?"}], "cancel": [], "note": "", "then": "finish"}'
    worked = await supervisor(agent("Lead", start, "Four."), [poll(4, 4)]).run("Add.")
    assert json.loads(worked.final_output.tasks[0].result)["answer"] == 4

    read = await map_reduce(poll(4, 4), agent("Editor", "Four.")).run(Documents({"sum": "2 + 2"}))
    assert read.final_output.answer == "Four."


async def test_a_workflow_is_asked_as_an_agent_is() -> None:
    polled = poll(*[4] * 20)

    @workflow
    async def ask(question: str) -> int:
        return (await flow.agent(polled, question)).answer

    assert (await ask.run("2 + 2?")).final_output == 4
    assert (await workflow_check(ask, "2 + 2?", orders=2)).steps == 1

    @workflow
    async def doubt(question: str) -> int:
        return (await flow.agent(polled, question, check=lambda given: None)).answer

    with pytest.raises(UserError, match="check="):
        await doubt.run("2 + 2?")
