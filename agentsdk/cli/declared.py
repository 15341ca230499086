"""`agentsdk doctor --agent`: what is wrong with an agent, its tools and those that it leads to, before one of them runs."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, cast

from agentsdk.cli.findings import Finding
from agentsdk.define.agent import Agent, AgentTool
from agentsdk.define.declaration import Declaration
from agentsdk.define.tool import FunctionTool
from agentsdk.models.provider import default_model_name, find_model
from agentsdk.types.errors import UserError


def declared(agent: Agent[Any, Any]) -> Iterator[Finding]:
    """What is found of it and of each agent that it leads to, once. Tools that toolsets give while it runs are not seen."""
    waiting, seen = [agent], {id(agent)}
    while waiting:
        one = waiting.pop(0)
        if one.driver is not None:
            yield Finding(f"agent {one.name}", "ok", "a workflow")
            continue
        yield _model(one)
        try:
            parts = Declaration.of(one)
        except UserError as error:
            yield Finding(f"agent {one.name}", "fails", str(error))
            continue
        tools, handoffs = list(parts.tools.values()), list(parts.handoffs.values())
        says = f"tools: {', '.join(parts.tools) or 'none'}; handoffs: {', '.join(parts.handoffs) or 'none'}"
        yield Finding(f"agent {one.name}", "ok", says)
        yield from _undescribed(one, tools)
        known = [handoff.agent for handoff in handoffs] + [tool.agent for tool in tools if isinstance(tool, AgentTool)]
        for other in known:
            if id(other) not in seen:
                seen.add(id(other))
                waiting.append(other)


def _model(agent: Agent[Any, Any]) -> Finding:
    about, given = f"model of {agent.name}", agent.model
    if callable(given) and not hasattr(given, "stream"):
        return Finding(about, "ok", "is chosen each turn")
    try:
        found = find_model(cast(Any, given))
    except UserError as error:
        return Finding(about, "fails", str(error))
    return Finding(about, "ok", given if isinstance(given, str) else found.name if given else default_model_name())


def _undescribed(agent: Agent[Any, Any], tools: list[FunctionTool[Any]]) -> Iterator[Finding]:
    for tool in tools:
        if not tool.description.strip():
            says = "no description: the model is told its name and arguments alone; give the function a docstring"
            yield Finding(f"tool {tool.name} of {agent.name}", "missing", says)
