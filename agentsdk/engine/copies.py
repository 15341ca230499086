"""Copies of an agent and of all it can reach, by handoff, as a tool or by a validator, each part replaced on the way."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import TYPE_CHECKING, Any, cast

from agentsdk.define.agent import Agent, AgentTool, HandoffDeclaration
from agentsdk.define.declaration import Declaration
from agentsdk.define.tool import FunctionTool

if TYPE_CHECKING:
    from agentsdk.define.output_validator import AskedAgent
    from agentsdk.define.toolset import Toolset


def copied(
    first: Agent[Any, Any],
    changes: Callable[[Agent[Any, Any]], dict[str, Any]],
    tool: Callable[[FunctionTool[Any]], FunctionTool[Any]],
    handoff: Callable[[HandoffDeclaration[Any]], HandoffDeclaration[Any]],
    toolset: Callable[[Toolset[Any]], Toolset[Any]],
    in_place_of: Agent[Any, Any],
) -> Agent[Any, Any]:
    """A copy of `first` with `changes` to each agent's fields, and `tool`, `handoff` and `toolset` in place of each of theirs.

    A handoff back to `in_place_of`, the agent that `first` is a changed copy of, leads to the copy of `first`.
    What `tool` gives for an agent as a tool still holds the agent; it is replaced by that agent's copy, and neither its
    `on_stream` nor its `hooks` are called. No originals change.
    """
    copies: dict[int, Agent[Any, Any]] = {}

    def agent_copy(agent: Agent[Any, Any]) -> Agent[Any, Any]:
        if (known := copies.get(id(agent))) is not None:
            return known
        declared = Declaration.of(agent)
        copies[id(agent)] = twin = agent.clone(
            **changes(agent), tools=[], handoffs=[], toolsets=list(map(toolset, agent.toolsets))
        )
        if agent is first:
            copies[id(in_place_of)] = twin
        twin.tools = [*declared.hosted, *[tool_copy(one) for one in declared.tools.values()]]
        twin.handoffs = [replace(handoff(one), agent=agent_copy(one.agent)) for one in declared.handoffs.values()]
        if twin.output_validators:
            from agentsdk.define.output_validator import validators_of  # most agents have none

            validators = validators_of(twin.output_validators)
            twin.output_validators = [replace(one, agents=list(map(asked_copy, one.agents))) for one in validators]
        return twin

    def asked_copy(asked: AskedAgent[Any]) -> Agent[Any, Any]:
        return agent_copy(cast("Agent[Any, Any]", asked))

    def tool_copy(one: FunctionTool[Any]) -> FunctionTool[Any]:
        twin = tool(one)
        if isinstance(twin, AgentTool):
            twin = twin.clone(agent=agent_copy(twin.agent), on_stream=None, hooks=None)
        return twin

    return agent_copy(first)
