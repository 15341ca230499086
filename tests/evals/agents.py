"""Agents whose models answer by what they are asked, however often and in whatever order."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from decimal import Decimal

from agentsdk import Agent, Message, ModelPrice, ModelRequest, RunConfig, RunStore
from agentsdk.evals import Case
from agentsdk.testing import ScriptedModel

CAPITALS = [Case("Rome?", "Italy"), Case("Paris?", "France"), Case("Oslo?", "Norway")]
PRICES = {"scripted": ModelPrice(input="2.50", output="10.00")}
A_RUN = Decimal("0.000075")
"""What a request to a scripted model costs."""


class StillClock:
    """It is always the same time."""

    def time(self) -> float:
        return 1_000.0

    async def sleep(self, seconds: float) -> None:
        raise AssertionError("nothing waits")


def answers(known: Mapping[str, str | Exception], default: str = "?") -> ScriptedModel:
    """A model that knows these questions."""

    def reply(request: ModelRequest) -> object:
        asked = request.items[0]
        assert isinstance(asked, Message)
        return known.get(asked.text, default)

    return model_of(reply)


def model_of(reply: Callable[[ModelRequest], object]) -> ScriptedModel:
    return ScriptedModel([reply] * 1_000)


def geographer(known: Mapping[str, str | Exception], name: str = "Geo") -> Agent[None, str]:
    return Agent(name=name, model=answers(known))


GOOD = {"Rome?": "Italy", "Paris?": "France", "Oslo?": "Norway"}
WEAK = {"Rome?": "Italy", "Paris?": "Gaul", "Oslo?": "Sweden"}


def asked(agent: Agent[None, str]) -> int:
    """How many requests its model got."""
    assert isinstance(agent.model, ScriptedModel)
    return len(agent.model.requests)


def config(store: RunStore | None = None) -> RunConfig:
    return RunConfig(store=store, prices=PRICES, clock=StillClock())
