"""What patterns ask about the agents that they are made of."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, TypeVar

from agentsdk.core.given_json import json_text
from agentsdk.define.agent import Agent
from agentsdk.define.declaration import Declaration
from agentsdk.define.output import one_type
from agentsdk.types.errors import UserError
from agentsdk.workflow import Workflow

T = TypeVar("T")


def output_type_of(*agents: Agent[Any, Any]) -> object:
    """What their final outputs are of, as which a pattern's result is recorded: of texts `str`, of several types the union.

    Raises `UserError` for a wrong declaration.
    """
    return one_type([_output_type(agent) for agent in agents])


def _output_type(agent: Agent[Any, Any]) -> object:
    given: Any = agent  # to a type checker a workflow of something unknown
    if isinstance(agent, Workflow):
        return given.signature.result.annotation
    output = Declaration.of(agent).output
    return str if output is None else output.output_type


def by_name(pattern: str, agents: Sequence[Agent[Any, T]]) -> dict[str, Agent[Any, T]]:
    """The agents by their names. Raises `UserError` where there are none, or two of one name; `pattern` is for them."""
    named = {agent.name: agent for agent in agents}
    if not named or len(named) < len(agents):
        names = [agent.name for agent in agents]
        raise UserError(
            f"{pattern} was given the agents {names}, expected one at least, each with a name of its own; rename some"
        )
    return named


def as_text(output: object) -> str:
    """A final output as other agents are shown it."""
    return output if isinstance(output, str) else json_text("a final output", output)
