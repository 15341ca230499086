"""Agents as tools: a run of its own inside a call. What waits for a person in it makes the caller's run wait."""

from __future__ import annotations

import inspect
from typing import TYPE_CHECKING, Any

from agentsdk.compat.openai_agents.tool_context import ToolContext
from agentsdk.define.answer_needed import AnswerNeededError

if TYPE_CHECKING:
    from agentsdk.compat.openai_agents.agent import Agent
    from agentsdk.compat.openai_agents.result import RunResult, RunResultStreaming

QUESTION = "nested run"


async def run_nested(
    agent: Agent[Any],
    given: str | list[Any],
    context: ToolContext[Any],
    *,
    tool_input: Any,
    extract: Any,
    on_stream: Any,
    run_config: Any,
    max_turns: int | None,
    hooks: Any,
    previous_response_id: str | None,
    conversation_id: str | None,
    session: Any,
) -> Any:
    """The final output of a nested run, or what `extract` takes of its result."""
    from agentsdk.compat.openai_agents._bridge.scope import current
    from agentsdk.compat.openai_agents.run import Runner
    from agentsdk.compat.openai_agents.run_config import DEFAULT_MAX_TURNS
    from agentsdk.compat.openai_agents.run_state import RunState

    outer = current.get()
    wrapper = ToolContext(
        context.context,
        context.usage,
        context.tool_name,
        context.tool_call_id,
        context.tool_arguments,
        tool_namespace=context.tool_namespace,
        agent=context.agent,
        run_config=context.run_config,
        tool_input=tool_input,
    )
    wrapper.build_call_by(lambda: context.tool_call)
    wrapper.decisions = context.decisions
    options: dict[str, Any] = {
        "context": wrapper,
        "max_turns": DEFAULT_MAX_TURNS if max_turns is None else max_turns,
        "hooks": hooks,
        "run_config": context.run_config if run_config is None else run_config,
        "session": session,
    }
    begin: Any = given
    answer = context.nested_answer
    if answer is not None:
        kept = outer.nested.pop(context.tool_call_id, None) if outer is not None else None
        begin = kept or await RunState.from_string(agent, str(answer.value), context_override=wrapper)
        context.nested_answer = None
    else:
        options |= {"previous_response_id": previous_response_id, "conversation_id": conversation_id}
    result: RunResult | RunResultStreaming
    if on_stream is None:
        result = await Runner.run(agent, begin, **options)
    else:
        result = Runner.run_streamed(agent, begin, **options)
        async for event in result.stream_events():
            called = on_stream({"event": event, "agent": result.current_agent, "tool_call": context.tool_call})
            if inspect.isawaitable(called):
                await called
    if getattr(result, "interruptions", None):
        state = result.to_state()
        if outer is not None:
            outer.nested[context.tool_call_id] = state
        raise AnswerNeededError(QUESTION, kept=state.to_string(context_serializer=lambda _: {}))
    from agentsdk.compat.openai_agents.result import AgentToolInvocation

    result.agent_tool_invocation = AgentToolInvocation(context.tool_name, context.tool_call_id, context.tool_arguments)
    if extract is not None:
        made = extract(result)
        return await made if inspect.isawaitable(made) else made
    return _output_of(result)


def _output_of(result: RunResult | RunResultStreaming) -> Any:
    """The final output; where that is empty, the latest text or result of a tool."""
    output = result.final_output
    if output or result.output_guardrail_results:
        return output
    for item in reversed(result.new_items):
        if item.type == "message_output_item" or item.type == "tool_call_output_item":
            from agentsdk.compat.openai_agents.items import ItemHelpers, MessageOutputItem, ToolCallOutputItem

            if isinstance(item, MessageOutputItem):
                text = ItemHelpers.text_message_output(item)
                if text:
                    return text
            elif isinstance(item, ToolCallOutputItem) and item.output:
                return item.output
    return output
