"""An agent used as a tool: a run of its own inside the call, its events in its parent's log."""

from __future__ import annotations

from typing import Any

from agentsdk.core.limits import RunLimits
from agentsdk.core.next_step import FinalOutput
from agentsdk.core.overflow import cap_output
from agentsdk.define.agent import AgentTool
from agentsdk.define.context import ToolContext
from agentsdk.define.tool_output import to_output
from agentsdk.engine.callbacks import answer
from agentsdk.engine.prepare import find_agent
from agentsdk.engine.run import Run
from agentsdk.ports.tracer import Span
from agentsdk.types.base import JsonObject
from agentsdk.types.errors import GuardrailError, LimitReached, ModelError, StateMismatchError
from agentsdk.types.events import RunStarted, ToolFinished
from agentsdk.types.items import FunctionCall, Message
from agentsdk.types.text import clean_text


async def run_agent_tool(
    run: Run, call: FunctionCall, tool: AgentTool[Any], context: ToolContext[Any], arguments: JsonObject, span: Span | None
) -> ToolFinished | None:
    """The nested run's final output as the call's result, or None while it waits for a person.

    A limit of the whole run, and whatever is the caller's fault, ends the whole run; what went wrong with the nested agent's
    model or guardrails is told to the calling model. The nested run's spans hang under `span`, the call's own.
    """
    config = run.ports.config
    if run.depth + 1 > config.max_depth:
        return ToolFinished(call.call_id, f"Error: agents may call agents at most {config.max_depth} deep.", True)
    child = run.child(call.call_id, tool.agent)
    child.span = span
    try:
        if not child.state.log:
            asked = arguments.get("input")
            if not isinstance(asked, str):
                return ToolFinished(call.call_id, "Error: the argument 'input' is missing, expected a string.", True)
            items = (Message("user", clean_text(asked)),)
            await child.record(RunStarted("", tool.agent.name, items, 0, run.ports.now()))
        elif child.state.agent != child.agent.name:
            current = find_agent(tool.agent, child.state.agent)
            if current is None:
                raise StateMismatchError(
                    f"the nested run of tool {tool.name!r} is at agent {child.state.agent!r}, expected an agent that "
                    f"{tool.agent.name!r} can reach by handoffs; resume with the agents it was started with"
                )
            child.agent = current
        if tool.max_turns is not None:
            child.limits = RunLimits(turns=tool.max_turns)
        step = await run.ports.drive(child)
    except (ModelError, GuardrailError) as error:
        return ToolFinished(call.call_id, await tool.error_text(context, error), True)
    except LimitReached as error:
        if not child.is_at_limit:
            raise
        return ToolFinished(call.call_id, await tool.error_text(context, error), True)
    if not isinstance(step, FinalOutput):
        return None
    value = child.final_output
    if tool.custom_output_extractor is not None:
        value = await answer(f"custom_output_extractor of tool {tool.name!r}", tool.custom_output_extractor, value)
    output, overflow = cap_output(to_output(value), config.max_tool_result_chars)
    if overflow is not None:
        await run.keep(overflow)
    return ToolFinished(call.call_id, output, whole="" if overflow is None else overflow.id)
