"""Traces and spans, made by the provider of the process. A span is a context manager, or started and finished by hand."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from agentsdk.compat.openai_agents.tracing.config import TracingConfig
from agentsdk.compat.openai_agents.tracing.setup import get_trace_provider
from agentsdk.compat.openai_agents.tracing.span_data import (
    AgentSpanData,
    CustomSpanData,
    FunctionSpanData,
    GenerationSpanData,
    GuardrailSpanData,
    HandoffSpanData,
    MCPListToolsSpanData,
    ResponseSpanData,
    SpeechGroupSpanData,
    SpeechSpanData,
    TaskSpanData,
    TranscriptionSpanData,
    TurnSpanData,
)
from agentsdk.compat.openai_agents.tracing.spans import Span
from agentsdk.compat.openai_agents.tracing.traces import Trace


def trace(
    workflow_name: str,
    trace_id: str | None = None,
    group_id: str | None = None,
    metadata: dict[str, Any] | None = None,
    tracing: TracingConfig | None = None,
    disabled: bool = False,
) -> Trace:
    """A trace: runs in it are of one workflow."""
    return get_trace_provider().create_trace(
        name=workflow_name, trace_id=trace_id, group_id=group_id, metadata=metadata, disabled=disabled, tracing=tracing
    )


def get_current_trace() -> Trace | None:
    """The trace that goes on."""
    return get_trace_provider().get_current_trace()


def get_current_span() -> Span[Any] | None:
    """The span that goes on."""
    return get_trace_provider().get_current_span()


def agent_span(
    name: str,
    handoffs: list[str] | None = None,
    tools: list[str] | None = None,
    output_type: str | None = None,
    span_id: str | None = None,
    parent: Trace | Span[Any] | None = None,
    disabled: bool = False,
) -> Span[AgentSpanData]:
    """An agent's part of a run."""
    made = AgentSpanData(name=name, handoffs=handoffs, tools=tools, output_type=output_type)
    return get_trace_provider().create_span(made, span_id, parent, disabled)


def task_span(
    name: str,
    span_id: str | None = None,
    parent: Trace | Span[Any] | None = None,
    disabled: bool = False,
) -> Span[TaskSpanData]:
    """A whole run."""
    made = TaskSpanData(name=name)
    return get_trace_provider().create_span(made, span_id, parent, disabled)


def turn_span(
    turn: int,
    agent_name: str,
    span_id: str | None = None,
    parent: Trace | Span[Any] | None = None,
    disabled: bool = False,
) -> Span[TurnSpanData]:
    """A turn."""
    made = TurnSpanData(turn=turn, agent_name=agent_name)
    return get_trace_provider().create_span(made, span_id, parent, disabled)


def function_span(
    name: str,
    input: str | None = None,
    output: str | None = None,
    span_id: str | None = None,
    parent: Trace | Span[Any] | None = None,
    disabled: bool = False,
) -> Span[FunctionSpanData]:
    """A call of a tool."""
    made = FunctionSpanData(name=name, input=input, output=output)
    return get_trace_provider().create_span(made, span_id, parent, disabled)


def generation_span(
    input: Sequence[Mapping[str, Any]] | None = None,
    output: Sequence[Mapping[str, Any]] | None = None,
    model: str | None = None,
    model_config: Mapping[str, Any] | None = None,
    usage: dict[str, Any] | None = None,
    span_id: str | None = None,
    parent: Trace | Span[Any] | None = None,
    disabled: bool = False,
) -> Span[GenerationSpanData]:
    """A request to a model."""
    made = GenerationSpanData(input=input, output=output, model=model, model_config=model_config, usage=usage)
    return get_trace_provider().create_span(made, span_id, parent, disabled)


def response_span(
    response: Any | None = None,
    span_id: str | None = None,
    parent: Trace | Span[Any] | None = None,
    disabled: bool = False,
) -> Span[ResponseSpanData]:
    """A reply of the Responses API."""
    made = ResponseSpanData(response=response)
    return get_trace_provider().create_span(made, span_id, parent, disabled)


def handoff_span(
    from_agent: str | None = None,
    to_agent: str | None = None,
    span_id: str | None = None,
    parent: Trace | Span[Any] | None = None,
    disabled: bool = False,
) -> Span[HandoffSpanData]:
    """A handoff."""
    made = HandoffSpanData(from_agent=from_agent, to_agent=to_agent)
    return get_trace_provider().create_span(made, span_id, parent, disabled)


def custom_span(
    name: str,
    data: dict[str, Any] | None = None,
    span_id: str | None = None,
    parent: Trace | Span[Any] | None = None,
    disabled: bool = False,
) -> Span[CustomSpanData]:
    """Work of the program's own."""
    made = CustomSpanData(name=name, data=data or {})
    return get_trace_provider().create_span(made, span_id, parent, disabled)


def guardrail_span(
    name: str,
    triggered: bool = False,
    span_id: str | None = None,
    parent: Trace | Span[Any] | None = None,
    disabled: bool = False,
) -> Span[GuardrailSpanData]:
    """A guardrail's check."""
    made = GuardrailSpanData(name=name, triggered=triggered)
    return get_trace_provider().create_span(made, span_id, parent, disabled)


def transcription_span(
    model: str | None = None,
    input: str | None = None,
    input_format: str | None = "pcm",
    output: str | None = None,
    model_config: Mapping[str, Any] | None = None,
    span_id: str | None = None,
    parent: Trace | Span[Any] | None = None,
    disabled: bool = False,
) -> Span[TranscriptionSpanData]:
    """Speech made text."""
    made = TranscriptionSpanData(model=model, input=input, input_format=input_format, output=output, model_config=model_config)
    return get_trace_provider().create_span(made, span_id, parent, disabled)


def speech_span(
    model: str | None = None,
    input: str | None = None,
    output: str | None = None,
    output_format: str | None = "pcm",
    model_config: Mapping[str, Any] | None = None,
    first_content_at: str | None = None,
    span_id: str | None = None,
    parent: Trace | Span[Any] | None = None,
    disabled: bool = False,
) -> Span[SpeechSpanData]:
    """Text made speech."""
    made = SpeechSpanData(
        model=model,
        input=input,
        output=output,
        output_format=output_format,
        model_config=model_config,
        first_content_at=first_content_at,
    )
    return get_trace_provider().create_span(made, span_id, parent, disabled)


def speech_group_span(
    input: str | None = None,
    span_id: str | None = None,
    parent: Trace | Span[Any] | None = None,
    disabled: bool = False,
) -> Span[SpeechGroupSpanData]:
    """Several of them."""
    made = SpeechGroupSpanData(input=input)
    return get_trace_provider().create_span(made, span_id, parent, disabled)


def mcp_tools_span(
    server: str | None = None,
    result: list[str] | None = None,
    span_id: str | None = None,
    parent: Trace | Span[Any] | None = None,
    disabled: bool = False,
) -> Span[MCPListToolsSpanData]:
    """A server asked for its tools."""
    made = MCPListToolsSpanData(server=server, result=result)
    return get_trace_provider().create_span(made, span_id, parent, disabled)
