"""Hooks: those of the program, called by the hooks of the run beneath."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from agentsdk.compat.openai_agents._bridge.replies import response_of
from agentsdk.compat.openai_agents._bridge.scope import RunScope, scope_of
from agentsdk.compat.openai_agents.items import ItemHelpers
from agentsdk.compat.openai_agents.lifecycle import AgentHooksBase, RunHooksBase
from agentsdk.compat.openai_agents.run_context import AgentHookContext, RunContextWrapper
from agentsdk.define.agent import Agent as OwnAgent
from agentsdk.define.agent import AgentHooks as OwnAgentHooks
from agentsdk.define.agent import RunHooks as OwnRunHooks
from agentsdk.define.context import RunContextWrapper as OwnContext
from agentsdk.define.context import ToolContext as OwnToolContext
from agentsdk.define.tool import FunctionTool as OwnTool
from agentsdk.engine.hooks import agent_ended
from agentsdk.engine.run import Run
from agentsdk.types.items import Item
from agentsdk.types.response import ModelResponse as OwnResponse


def _hook_context(scope: RunScope) -> AgentHookContext[Any]:
    wrapper = scope.wrapper
    given = wrapper.turn_input or ItemHelpers.input_to_new_input_list(scope.original_input)  # what the first turn will be sent
    made = AgentHookContext(wrapper.context, wrapper.usage, given, wrapper.tool_input)
    made.decisions = wrapper.decisions
    return made


class _Bridged:
    """What hooks of a run and of an agent have in common."""

    def __init__(self, hooks: Any, base: type) -> None:
        self._hooks = hooks
        self._kind: Any = hooks.__class__
        self._base = base

    def _has(self, name: str) -> bool:
        return getattr(self._kind, name, None) is not getattr(self._base, name) or name in vars(self._hooks)

    async def on_llm_start(
        self, context: OwnContext[Any], agent: OwnAgent[Any, Any], system_prompt: str, input_items: Sequence[Item]
    ) -> None:
        scope = scope_of(context)
        if not self._has("on_llm_start"):
            return
        entries = [scope.originals.entry(item) for item in input_items]
        prompt = system_prompt if system_prompt or isinstance(agent.instructions, str) else None
        await self._hooks.on_llm_start(scope.wrapper, scope.translation.given(agent), prompt, entries)

    async def on_llm_end(self, context: OwnContext[Any], agent: OwnAgent[Any, Any], response: OwnResponse) -> None:
        if self._has("on_llm_end"):
            scope = scope_of(context)
            await self._hooks.on_llm_end(scope.wrapper, scope.translation.given(agent), response_of(scope, response))

    async def on_tool_start(self, context: OwnToolContext[Any], agent: OwnAgent[Any, Any], tool: OwnTool[Any]) -> None:
        if self._has("on_tool_start"):
            scope = scope_of(context)
            given = scope.translation.given(agent)
            await self._hooks.on_tool_start(scope.context_of(context, given), given, scope.translation.tool(tool))

    async def on_tool_end(
        self, context: OwnToolContext[Any], agent: OwnAgent[Any, Any], tool: OwnTool[Any], result: object
    ) -> None:
        if self._has("on_tool_end"):
            scope = scope_of(context)
            given = scope.translation.given(agent)
            output = scope.outputs.get(context.tool_call_id, result)
            await self._hooks.on_tool_end(scope.context_of(context, given), given, scope.translation.tool(tool), output)


class BridgedRunHooks(_Bridged, OwnRunHooks[Any]):
    """Hooks of a run."""

    def __init__(self, hooks: RunHooksBase[Any, Any]) -> None:
        super().__init__(hooks, RunHooksBase)

    async def on_llm_start(
        self, context: OwnContext[Any], agent: OwnAgent[Any, Any], system_prompt: str, input_items: Sequence[Item]
    ) -> None:
        scope = scope_of(context)
        if scope.starts_anew:
            await self.on_agent_start(context, agent)
            if agent.hooks is not None:
                await agent.hooks.on_start(context, agent)
        await super().on_llm_start(context, agent, system_prompt, input_items)

    async def on_llm_end(self, context: OwnContext[Any], agent: OwnAgent[Any, Any], response: OwnResponse) -> None:
        if isinstance(agent.hooks, BridgedAgentHooks):
            await agent.hooks.told_reply(context, agent, response)
        await super().on_llm_end(context, agent, response)

    async def on_agent_start(self, context: OwnContext[Any], agent: OwnAgent[Any, Any]) -> None:
        scope_of(context).starts_anew = False
        if self._has("on_agent_start"):
            scope = scope_of(context)
            given = scope.translation.given(agent)
            await self._hooks.on_agent_start(_hook_context(scope), given)
            scope.translation.refresh(given)

    async def on_agent_end(self, context: OwnContext[Any], agent: OwnAgent[Any, Any], output: Any) -> None:
        scope = scope_of(context)
        if self._has("on_agent_end") and not scope.is_end_told:
            await self._hooks.on_agent_end(_hook_context(scope), scope.translation.given(agent), scope_output(scope, output))

    async def on_handoff(self, context: OwnContext[Any], from_agent: OwnAgent[Any, Any], to_agent: OwnAgent[Any, Any]) -> None:
        scope = scope_of(context)
        if scope.is_handoff_told:
            scope.is_handoff_told = False
        else:
            await self.handed_over(scope, from_agent, to_agent)

    async def handed_over(self, scope: RunScope, from_agent: OwnAgent[Any, Any], to_agent: OwnAgent[Any, Any]) -> None:
        """An agent handed over."""
        if self._has("on_handoff"):
            given = scope.translation.given
            await self._hooks.on_handoff(context=scope.wrapper, from_agent=given(from_agent), to_agent=given(to_agent))
        # Theirs ask the hooks of the agent that hands over, whatever their documentation says.
        bridged = from_agent.hooks
        if isinstance(bridged, BridgedAgentHooks):
            await bridged.handed_over(scope, from_agent, to_agent)


class BridgedAgentHooks(_Bridged, OwnAgentHooks[Any]):
    """Hooks of an agent."""

    def __init__(self, hooks: AgentHooksBase[Any, Any]) -> None:
        super().__init__(hooks, AgentHooksBase)

    async def on_start(self, context: OwnContext[Any], agent: OwnAgent[Any, Any]) -> None:
        if self._has("on_start"):
            scope = scope_of(context)
            given = scope.translation.given(agent)
            await self._hooks.on_start(_hook_context(scope), given)
            scope.translation.refresh(given)

    async def on_llm_end(self, context: OwnContext[Any], agent: OwnAgent[Any, Any], response: OwnResponse) -> None:
        """Nothing: they were told before those of the run."""

    async def told_reply(self, context: OwnContext[Any], agent: OwnAgent[Any, Any], response: OwnResponse) -> None:
        """A reply has come."""
        await super().on_llm_end(context, agent, response)

    async def on_end(self, context: OwnContext[Any], agent: OwnAgent[Any, Any], output: Any) -> None:
        scope = scope_of(context)
        if self._has("on_end") and not scope.is_end_told:
            await self._hooks.on_end(_hook_context(scope), scope.translation.given(agent), scope_output(scope, output))

    async def handed_over(self, scope: RunScope, from_agent: OwnAgent[Any, Any], to_agent: OwnAgent[Any, Any]) -> None:
        """The agent of these hooks handed over."""
        if self._has("on_handoff"):
            given = scope.translation.given
            await self._hooks.on_handoff(context=scope.wrapper, agent=given(to_agent), source=given(from_agent))


async def tell_end(run: Run, output: object) -> None:
    """Tell the hooks of the final output before it is judged."""
    scope = scope_of(run.context)
    scope.is_end_told = False  # a run may go on behind an output, and have another
    await agent_ended(run, output)
    scope.is_end_told = True


def scope_output(scope: RunScope, output: Any) -> Any:
    """The final output: what a tool returned, where that is it."""
    from agentsdk.compat.openai_agents._bridge.scope import NOTHING

    return output if scope.final_output is NOTHING else scope.final_output


def wrapper_of(context: OwnContext[Any]) -> RunContextWrapper[Any]:
    """What the program's callbacks are given."""
    return scope_of(context).wrapper
