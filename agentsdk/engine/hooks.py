"""Calling hooks: the run's, then the agent's; of a nested run first those of the runs around it.

One that raises is a typed error; the run has recorded everything before it.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Any

from agentsdk.define.agent import Agent
from agentsdk.define.context import ToolContext
from agentsdk.define.tool import FunctionTool
from agentsdk.engine.run import Run
from agentsdk.ports.model import ModelRequest
from agentsdk.types.errors import AgentsException, HookError
from agentsdk.types.response import ModelResponse


async def agent_started(run: Run) -> None:
    """The run's agent takes over."""
    for given in run.hooks:
        await _call("on_agent_start", run, given.on_agent_start, run.context, run.agent)
    if run.agent.hooks is not None:
        await _call("on_start", run, run.agent.hooks.on_start, run.context, run.agent)


async def agent_ended(run: Run, output: object) -> None:
    """The run's agent gave the final output."""
    for given in run.hooks:
        await _call("on_agent_end", run, given.on_agent_end, run.context, run.agent, output)
    if run.agent.hooks is not None:
        await _call("on_end", run, run.agent.hooks.on_end, run.context, run.agent, output)


async def llm_started(run: Run, request: ModelRequest) -> None:
    """The model is about to be asked."""
    if not run.hooks and run.agent.hooks is None:
        return
    sent = (run.context, run.agent, request.instructions, request.all_items)
    for given in run.hooks:
        await _call("on_llm_start", run, given.on_llm_start, *sent)
    if run.agent.hooks is not None:
        await _call("on_llm_start", run, run.agent.hooks.on_llm_start, *sent)


async def llm_ended(run: Run, response: ModelResponse) -> None:
    """The reply is recorded."""
    for given in run.hooks:
        await _call("on_llm_end", run, given.on_llm_end, run.context, run.agent, response)
    if run.agent.hooks is not None:
        await _call("on_llm_end", run, run.agent.hooks.on_llm_end, run.context, run.agent, response)


async def handed_off(run: Run, source: Agent[Any, Any]) -> None:
    """`source` handed over to the run's agent."""
    for given in run.hooks:
        await _call("on_handoff", run, given.on_handoff, run.context, source, run.agent)
    if run.agent.hooks is not None:
        await _call("on_handoff", run, run.agent.hooks.on_handoff, run.context, run.agent, source)


async def tool_started(run: Run, context: ToolContext[Any], tool: FunctionTool[Any]) -> None:
    """The intent is recorded."""
    for given in run.hooks:
        await _call("on_tool_start", run, given.on_tool_start, context, run.agent, tool)
    if run.agent.hooks is not None:
        await _call("on_tool_start", run, run.agent.hooks.on_tool_start, context, run.agent, tool)


async def tool_ended(run: Run, context: ToolContext[Any], tool: FunctionTool[Any], result: object) -> None:
    """The result is recorded."""
    for given in run.hooks:
        await _call("on_tool_end", run, given.on_tool_end, context, run.agent, tool, result)
    if run.agent.hooks is not None:
        await _call("on_tool_end", run, run.agent.hooks.on_tool_end, context, run.agent, tool, result)


async def _call(name: str, run: Run, hook: Callable[..., object], *args: object) -> None:
    try:
        called = hook(*args)
        if inspect.isawaitable(called):
            await called
    except AgentsException:
        raise
    except Exception as error:
        raise HookError(
            f"hook {name!r} raised {type(error).__name__} while agent {run.agent.name!r} ran, expected it to return; "
            "see the chained exception and resume error.state"
        ) from error
