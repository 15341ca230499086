"""What the docs show type-checks as it is shown: raw events narrow by `type`, errors carry their state and verdict."""

from __future__ import annotations

from typing import Any, assert_type

from agentsdk import (
    Agent,
    FunctionCall,
    InputGuardrailTripwireTriggered,
    Item,
    MaxTurnsExceeded,
    Message,
    OutputTextDelta,
    RunItem,
    Runner,
    StreamEvent,
    ToolCallOutputItem,
    ToolContext,
    function_tool,
)
from agentsdk.events import ModelStreamEvent, ResponseCompleted


def narrow_a_raw_event(data: ModelStreamEvent) -> str:
    if data.type == "response.output_text.delta":
        assert_type(data, OutputTextDelta)
        return data.delta
    if data.type == "response.completed":
        assert_type(data, ResponseCompleted)
        return data.response.text
    return ""


def narrow_a_stream_event(event: StreamEvent) -> str:
    if event.type == "raw_response_event" and event.data.type == "response.output_text.delta":
        return event.data.delta
    return event.new_agent.name if event.type == "agent_updated_stream_event" else ""


def narrow_an_item(item: Item) -> str:
    if item.type == "function_call":
        assert_type(item, FunctionCall)
        return item.name
    if item.type == "message":
        assert_type(item, Message)
        return item.text
    return ""


def narrow_a_run_item(item: RunItem) -> str:
    if item.type == "tool_call_output_item":
        assert_type(item, ToolCallOutputItem)
        return item.output if isinstance(item.output, str) else ""
    return item.raw_item.text if item.type == "message_output_item" else ""


def sorry(ctx: ToolContext[int], error: Exception) -> str:
    return f"{ctx.tool_name} failed"


def told(ctx: ToolContext[int]) -> str:
    """Tell."""
    return str(ctx.context)


tool = function_tool(told, failure_error_function=sorry)


async def go_on(agent: Agent[None, str]) -> Any:
    try:
        return (await Runner.run(agent, "x")).final_output
    except MaxTurnsExceeded as error:
        return (await Runner.run(agent, error.state)).final_output
    except InputGuardrailTripwireTriggered as error:
        error.state.replace_input("y")
        return error.guardrail_result.output.output_info


def misspelt() -> None:
    # Each of these must be an error: an unused ignore is one for both checkers.
    from agentsdk import Agnet  # type: ignore[attr-defined]  # pyright: ignore[reportAttributeAccessIssue, reportUnknownVariableType]
    from agentsdk.testing import ScriptedModl  # type: ignore[attr-defined]  # pyright: ignore[reportAttributeAccessIssue, reportUnknownVariableType]

    print(Agnet, ScriptedModl)  # pyright: ignore[reportUnknownArgumentType]
