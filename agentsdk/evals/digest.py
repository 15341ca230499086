"""What an agent under test is, as a digest: a run of it is taken up again only by the same agent."""

from __future__ import annotations

import inspect
from typing import Any

from agentsdk.core.keys import digest
from agentsdk.define.agent import Agent
from agentsdk.define.declaration import Declaration
from agentsdk.engine.stored import fingerprint_of
from agentsdk.workflow import Workflow


def agent_digest(first: Agent[Any, Any]) -> str:
    """A digest of `first` and every agent it can reach: instructions, model, settings, tools and their code, output.

    Of what is no plain data it knows the source, or else the name: of a model object its name, of a workflow its function and
    version, and not the agents that the program asks. Raises `UserError` for a wrong declaration.
    """
    seen: dict[int, Agent[Any, Any]] = {}
    waiting, parts = [first], [fingerprint_of(first)]
    while waiting:
        agent = waiting.pop()
        if id(agent) in seen:
            continue
        seen[id(agent)] = agent
        program: Any = agent  # to a type checker a workflow of something unknown
        if isinstance(agent, Workflow):
            parts += [program.version, _source(program.function)]
            continue
        declared = Declaration.of(agent)
        parts += [_source(agent.instructions), _source(agent.model), repr(agent.model_settings)]
        parts += [tool.fingerprint for tool in declared.tools.values()]
        waiting += [handoff.agent for handoff in declared.handoffs.values()]
        waiting += declared.nested_agents
    return digest("agentsdk.evals.agent", *parts)


def _source(given: object) -> str:
    """A text as it is, of a function its source, of an object its name."""
    if isinstance(given, str):
        return given
    name = getattr(given, "name", None)
    if isinstance(name, str):
        return name
    try:
        return inspect.getsource(given) if callable(given) else ""
    except (OSError, TypeError):
        return getattr(given, "__qualname__", type(given).__qualname__)
