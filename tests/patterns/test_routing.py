"""A router: one typed choice, then exactly one agent; the default where the choice is none."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest

from agentsdk import Agent, ModelRequest, RunConfig, UserError
from agentsdk.patterns import Route, Routed, router
from agentsdk.testing import ScriptedModel, workflow_check
from agentsdk.workflow import Workflow

pytestmark = pytest.mark.anyio

CONFIG = RunConfig(max_output_retries=0)


def routed(choice: str, times: int = 1) -> tuple[Workflow[str, Routed[Any]], ScriptedModel]:
    classifier = ScriptedModel([choice] * times)
    billing = Agent[None, Any](name="Billing", handoff_description="Invoices.", model=ScriptedModel(["paid"] * times))
    counting = Agent[None, Any](name="Counting", output_type=int, model=ScriptedModel(['{"response": 3}'] * times))
    desk = Agent[None, Any](name="Desk", model=ScriptedModel(["ask me"] * times))
    return router(Agent(name="Reception", model=classifier), [billing, counting], default=desk), classifier


@pytest.mark.parametrize(
    ("choice", "outcome"),
    [
        ('{"agent": "Billing", "confidence": 0.9}', Routed("paid", "Billing", False, Route("Billing", 0.9))),
        ('{"agent": "Counting", "confidence": 0.5}', Routed(3, "Counting", False, Route("Counting", 0.5))),
        ('{"agent": "Billing", "confidence": 0.4}', Routed("ask me", "Desk", True, Route("Billing", 0.4))),
        ('{"agent": "nobody", "confidence": 1.0}', Routed("ask me", "Desk", True, Route("nobody", 1.0))),
        ('{"agent": "Chef", "confidence": 1.0}', Routed("ask me", "Desk", True, None)),
        ("Billing, I think", Routed("ask me", "Desk", True, None)),
    ],
)
async def test_exactly_one_agent_answers(choice: str, outcome: Routed[Any]) -> None:
    route, _ = routed(choice)
    result = await route.run("Was I charged twice?", run_config=CONFIG)
    assert result.final_output == outcome
    assert result.usage.requests == 2


async def test_the_classifier_is_shown_the_agents_and_can_name_no_other() -> None:
    route, classifier = routed('{"agent": "nobody", "confidence": 0.9}')
    await route.run("Was I charged twice?")
    request: ModelRequest = classifier.requests[0]
    assert "- Billing: Invoices." in str(request.items[-1])
    assert request.output is not None
    assert '"enum":["Billing","Counting","nobody"]' in msgspec.json.encode(request.output.schema).decode()


async def test_it_is_deterministic() -> None:
    route, _ = routed('{"agent": "Billing", "confidence": 0.9}', 3)
    assert (await workflow_check(route, "Charged twice?")).steps == 2


def test_what_is_no_router_is_refused() -> None:
    agent, typed = Agent[None, str](name="A"), Agent[None, int](name="B", output_type=int)
    with pytest.raises(UserError, match="expected one without"):
        router(typed, [agent], default=agent)
    with pytest.raises(UserError, match="name of its own"):
        router(agent, [agent, agent], default=agent)
