"""Hooks of a run and of an agent: override what you need."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Any, Generic

from agentsdk.compat.openai_agents.run_context import AgentHookContext, RunContextWrapper, TContext

if sys.version_info >= (3, 13):
    from typing import TypeVar
else:
    from typing_extensions import TypeVar

if TYPE_CHECKING:
    from agentsdk.compat.openai_agents.agent import Agent
    from agentsdk.compat.openai_agents.items import ModelResponse
    from agentsdk.compat.openai_agents.tool import Tool

TAgent = TypeVar("TAgent", default=Any)


class RunHooksBase(Generic[TContext, TAgent]):
    """Hooks of a whole run."""

    async def on_llm_start(
        self, context: RunContextWrapper[TContext], agent: Agent[TContext], system_prompt: str | None, input_items: list[Any]
    ) -> None:
        """The model is about to be asked."""

    async def on_llm_end(self, context: RunContextWrapper[TContext], agent: Agent[TContext], response: ModelResponse) -> None:
        """The model replied."""

    async def on_agent_start(self, context: AgentHookContext[TContext], agent: TAgent) -> None:
        """An agent takes over."""

    async def on_agent_end(self, context: AgentHookContext[TContext], agent: TAgent, output: Any) -> None:
        """An agent gave the final output."""

    async def on_handoff(self, context: RunContextWrapper[TContext], from_agent: TAgent, to_agent: TAgent) -> None:
        """One agent handed over to another."""

    async def on_tool_start(self, context: RunContextWrapper[TContext], agent: TAgent, tool: Tool) -> None:
        """A tool is about to run. `context` is a `ToolContext`."""

    async def on_tool_end(self, context: RunContextWrapper[TContext], agent: TAgent, tool: Tool, result: object) -> None:
        """A tool has run. `context` is a `ToolContext`."""


class AgentHooksBase(Generic[TContext, TAgent]):
    """Hooks of one agent."""

    async def on_start(self, context: AgentHookContext[TContext], agent: TAgent) -> None:
        """This agent takes over."""

    async def on_end(self, context: AgentHookContext[TContext], agent: TAgent, output: Any) -> None:
        """This agent gave the final output."""

    async def on_handoff(self, context: RunContextWrapper[TContext], agent: TAgent, source: TAgent) -> None:
        """`source` handed over to this agent."""

    async def on_tool_start(self, context: RunContextWrapper[TContext], agent: TAgent, tool: Tool) -> None:
        """A tool is about to run. `context` is a `ToolContext`."""

    async def on_tool_end(self, context: RunContextWrapper[TContext], agent: TAgent, tool: Tool, result: object) -> None:
        """A tool has run. `context` is a `ToolContext`."""

    async def on_llm_start(
        self, context: RunContextWrapper[TContext], agent: Agent[TContext], system_prompt: str | None, input_items: list[Any]
    ) -> None:
        """The model is about to be asked."""

    async def on_llm_end(self, context: RunContextWrapper[TContext], agent: Agent[TContext], response: ModelResponse) -> None:
        """The model replied."""


if TYPE_CHECKING:

    class RunHooks(RunHooksBase[TContext, Agent[Any]]):
        """Hooks of a whole run."""

    class AgentHooks(AgentHooksBase[TContext, Agent[Any]]):
        """Hooks of one agent."""

else:

    class RunHooks(RunHooksBase[TContext, Any], Generic[TContext]):
        """Hooks of a whole run."""

    class AgentHooks(AgentHooksBase[TContext, Any], Generic[TContext]):
        """Hooks of one agent."""
