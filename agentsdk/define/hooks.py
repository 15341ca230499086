"""`RunHooks`: callbacks at the lifecycle events of a whole run (those of one agent are `AgentHooks`, in `agent.py`).

None is called again on resume; one that raises stops the run with a `HookError`.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Generic

from agentsdk.define.agent import Agent
from agentsdk.define.context import RunContextWrapper, ToolContext
from agentsdk.define.tool import FunctionTool
from agentsdk.types.generics import TContext
from agentsdk.types.items import Item
from agentsdk.types.response import ModelResponse


class RunHooks(Generic[TContext]):
    """Hooks of a whole run. Override what you need."""

    async def on_agent_start(self, context: RunContextWrapper[TContext], agent: Agent[TContext, Any]) -> None:
        """An agent takes over: at the start of the run and after each handoff."""

    async def on_agent_end(self, context: RunContextWrapper[TContext], agent: Agent[TContext, Any], output: Any) -> None:
        """An agent gave the final output."""

    async def on_llm_start(
        self, context: RunContextWrapper[TContext], agent: Agent[TContext, Any], system_prompt: str, input_items: Sequence[Item]
    ) -> None:
        """The model is about to be asked."""

    async def on_llm_end(
        self, context: RunContextWrapper[TContext], agent: Agent[TContext, Any], response: ModelResponse
    ) -> None:
        """The model replied, and the reply is recorded."""

    async def on_handoff(
        self, context: RunContextWrapper[TContext], from_agent: Agent[TContext, Any], to_agent: Agent[TContext, Any]
    ) -> None:
        """An agent handed over, and the handoff is recorded."""

    async def on_tool_start(
        self, context: ToolContext[TContext], agent: Agent[TContext, Any], tool: FunctionTool[TContext]
    ) -> None:
        """A tool is about to run; the intent is recorded."""

    async def on_tool_end(
        self, context: ToolContext[TContext], agent: Agent[TContext, Any], tool: FunctionTool[TContext], result: object
    ) -> None:
        """A tool's result is recorded."""
