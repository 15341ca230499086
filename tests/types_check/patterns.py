"""Patterns are typed by the agents that they are made of."""

from __future__ import annotations

from dataclasses import dataclass
from typing import assert_type

from agentsdk.define.agent import Agent
from agentsdk.patterns import Debate, Documents, Reduced, Routed, Supervised, Vote, debate, map_reduce, router, supervisor, vote
from agentsdk.workflow import Workflow


@dataclass
class Risk:
    score: int


analyst = Agent[None, Risk](name="Analyst", output_type=Risk)

assert_type(vote(analyst), Workflow[str, Vote[Risk]])
assert_type(vote(Agent(name="Writer"), samples=3), Workflow[str, Vote[str]])
vote(analyst, form=lambda risk: risk.score)
vote(analyst, form=lambda risk: risk.points)  # type: ignore[attr-defined]  # pyright: ignore[reportAttributeAccessIssue,reportUnknownLambdaType,reportUnknownMemberType]

assert_type(debate([Agent(name="Ann"), analyst], analyst), Workflow[str, Debate[Risk]])
assert_type(router(Agent(name="Reception"), [analyst], default=analyst), Workflow[str, Routed[Risk]])
assert_type(supervisor(analyst, [Agent(name="Reader"), analyst]), Workflow[str, Supervised[Risk]])
assert_type(map_reduce(Agent(name="Reader"), analyst), Workflow[Documents, Reduced[Risk]])


async def called() -> None:
    assert_type((await vote(analyst).run("x")).final_output.answer, Risk)
    await map_reduce(analyst, analyst).run(Documents({"a": "text"}, task="Find risks."))
    await vote(analyst).run(3)  # type: ignore[arg-type]  # pyright: ignore[reportArgumentType]
