"""The exceptions of openai-agents, under its names. They are not those of agentsdk: a run through this package raises these.

What a callable of the program raises (a hook, a guardrail, a dynamic instruction, a custom model) arrives as it was raised.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from agentsdk.compat.openai_agents.agent import Agent
    from agentsdk.compat.openai_agents.guardrail import InputGuardrailResult, OutputGuardrailResult
    from agentsdk.compat.openai_agents.items import ModelResponse, RunItem
    from agentsdk.compat.openai_agents.run_context import RunContextWrapper
    from agentsdk.compat.openai_agents.tool_guardrails import (
        ToolGuardrailFunctionOutput,
        ToolInputGuardrail,
        ToolInputGuardrailResult,
        ToolOutputGuardrail,
        ToolOutputGuardrailResult,
    )


def agent_line(agent: Agent[Any]) -> str:
    """An agent, where a result is printed."""
    return f'Agent(name="{agent.name}", ...)'


def count_lines(result: Any) -> list[str]:
    """How much a result, or a run that raised, holds."""
    return [
        f"- {len(result.new_items)} new item(s)",
        f"- {len(result.raw_responses)} raw response(s)",
        f"- {len(result.input_guardrail_results)} input guardrail result(s)",
        f"- {len(result.output_guardrail_results)} output guardrail result(s)",
    ]


@dataclass
class RunErrorDetails:
    """How far a run had come when it raised."""

    input: Any
    new_items: list[RunItem]
    raw_responses: list[ModelResponse]
    last_agent: Agent[Any]
    context_wrapper: RunContextWrapper[Any]
    input_guardrail_results: list[InputGuardrailResult]
    output_guardrail_results: list[OutputGuardrailResult]
    tool_input_guardrail_results: list[ToolInputGuardrailResult] = field(default_factory=list["ToolInputGuardrailResult"])
    tool_output_guardrail_results: list[ToolOutputGuardrailResult] = field(default_factory=list["ToolOutputGuardrailResult"])

    def __str__(self) -> str:
        counts = [
            *count_lines(self),
            f"- {len(self.tool_input_guardrail_results)} tool input guardrail result(s)",
            f"- {len(self.tool_output_guardrail_results)} tool output guardrail result(s)",
        ]
        return "\n".join(["RunErrorDetails:", f"- Last agent: {agent_line(self.last_agent)}", *counts])


class AgentsException(Exception):
    """Root of the exceptions. `run_data` is how far the run had come, None for what was raised outside of one."""

    run_data: RunErrorDetails | None

    def __init__(self, *args: object) -> None:
        super().__init__(*args)
        self.run_data = None


class _MessageError(AgentsException):
    message: str

    def __init__(self, message: str) -> None:
        super().__init__(message)
        self.message = message


class MaxTurnsExceeded(_MessageError):
    """The run took `max_turns` turns without a final output."""


class ModelBehaviorError(_MessageError):
    """The model did what it must not: called a tool there is not, or gave an output that does not fit."""


class ModelRefusalError(AgentsException):
    """The model refused. `refusal` is its text."""

    refusal: str

    def __init__(self, refusal: str) -> None:
        super().__init__(f"The model refused: {refusal}")
        self.refusal = refusal


class ModelTimeoutError(AgentsException):
    """A call of the model took longer than `ModelSettings.timeout`, in seconds."""

    timeout_seconds: float

    def __init__(self, timeout_seconds: float) -> None:
        super().__init__(f"the model did not answer within {timeout_seconds:g} seconds")
        self.timeout_seconds = timeout_seconds


class UserError(_MessageError):
    """The program uses the SDK in a wrong way."""


class MCPToolCancellationError(_MessageError):
    """A call of an MCP tool was cancelled by the server or the transport."""


class ToolTimeoutError(AgentsException):
    """A tool took longer than its timeout, in seconds."""

    tool_name: str
    timeout_seconds: float

    def __init__(self, tool_name: str, timeout_seconds: float) -> None:
        super().__init__(f"tool {tool_name!r} did not end within {timeout_seconds:g} seconds")
        self.tool_name = tool_name
        self.timeout_seconds = timeout_seconds


class InputGuardrailTripwireTriggered(AgentsException):
    """An input guardrail tripped."""

    guardrail_result: InputGuardrailResult

    def __init__(self, guardrail_result: InputGuardrailResult) -> None:
        super().__init__(f"input guardrail {guardrail_result.guardrail.get_name()!r} tripped")
        self.guardrail_result = guardrail_result


class OutputGuardrailTripwireTriggered(AgentsException):
    """An output guardrail tripped."""

    guardrail_result: OutputGuardrailResult

    def __init__(self, guardrail_result: OutputGuardrailResult) -> None:
        super().__init__(f"output guardrail {guardrail_result.guardrail.get_name()!r} tripped")
        self.guardrail_result = guardrail_result


class ToolInputGuardrailTripwireTriggered(AgentsException):
    """A tool's input guardrail stopped the run."""

    guardrail: ToolInputGuardrail[Any]
    output: ToolGuardrailFunctionOutput

    def __init__(self, guardrail: ToolInputGuardrail[Any], output: ToolGuardrailFunctionOutput) -> None:
        super().__init__(f"tool input guardrail {guardrail.get_name()!r} stopped the run")
        self.guardrail = guardrail
        self.output = output


class ToolOutputGuardrailTripwireTriggered(AgentsException):
    """A tool's output guardrail stopped the run."""

    guardrail: ToolOutputGuardrail[Any]
    output: ToolGuardrailFunctionOutput

    def __init__(self, guardrail: ToolOutputGuardrail[Any], output: ToolGuardrailFunctionOutput) -> None:
        super().__init__(f"tool output guardrail {guardrail.get_name()!r} stopped the run")
        self.guardrail = guardrail
        self.output = output
