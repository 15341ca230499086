"""Tracing: traces and spans of a program, told to its processors. Nothing is exported unless one does."""

from __future__ import annotations

from typing import Any

from agentsdk.compat.openai_agents.tracing._tracer import begin_trace as begin_trace
from agentsdk.compat.openai_agents.tracing._tracer import tracer_for as tracer_for
from agentsdk.compat.openai_agents.tracing.config import TracingConfig as TracingConfig
from agentsdk.compat.openai_agents.tracing.create import agent_span as agent_span
from agentsdk.compat.openai_agents.tracing.create import custom_span as custom_span
from agentsdk.compat.openai_agents.tracing.create import function_span as function_span
from agentsdk.compat.openai_agents.tracing.create import generation_span as generation_span
from agentsdk.compat.openai_agents.tracing.create import get_current_span as get_current_span
from agentsdk.compat.openai_agents.tracing.create import get_current_trace as get_current_trace
from agentsdk.compat.openai_agents.tracing.create import guardrail_span as guardrail_span
from agentsdk.compat.openai_agents.tracing.create import handoff_span as handoff_span
from agentsdk.compat.openai_agents.tracing.create import mcp_tools_span as mcp_tools_span
from agentsdk.compat.openai_agents.tracing.create import response_span as response_span
from agentsdk.compat.openai_agents.tracing.create import speech_group_span as speech_group_span
from agentsdk.compat.openai_agents.tracing.create import speech_span as speech_span
from agentsdk.compat.openai_agents.tracing.create import task_span as task_span
from agentsdk.compat.openai_agents.tracing.create import trace as trace
from agentsdk.compat.openai_agents.tracing.create import transcription_span as transcription_span
from agentsdk.compat.openai_agents.tracing.create import turn_span as turn_span
from agentsdk.compat.openai_agents.tracing.processor_interface import TracingExporter as TracingExporter
from agentsdk.compat.openai_agents.tracing.processor_interface import TracingProcessor as TracingProcessor
from agentsdk.compat.openai_agents.tracing.processors import default_exporter as default_exporter
from agentsdk.compat.openai_agents.tracing.processors import default_processor as default_processor
from agentsdk.compat.openai_agents.tracing.provider import DefaultTraceProvider as DefaultTraceProvider
from agentsdk.compat.openai_agents.tracing.provider import TraceProvider as TraceProvider
from agentsdk.compat.openai_agents.tracing.setup import get_trace_provider as get_trace_provider
from agentsdk.compat.openai_agents.tracing.setup import set_trace_provider as set_trace_provider
from agentsdk.compat.openai_agents.tracing.span_data import AgentSpanData as AgentSpanData
from agentsdk.compat.openai_agents.tracing.span_data import CustomSpanData as CustomSpanData
from agentsdk.compat.openai_agents.tracing.span_data import FunctionSpanData as FunctionSpanData
from agentsdk.compat.openai_agents.tracing.span_data import GenerationSpanData as GenerationSpanData
from agentsdk.compat.openai_agents.tracing.span_data import GuardrailSpanData as GuardrailSpanData
from agentsdk.compat.openai_agents.tracing.span_data import HandoffSpanData as HandoffSpanData
from agentsdk.compat.openai_agents.tracing.span_data import MCPListToolsSpanData as MCPListToolsSpanData
from agentsdk.compat.openai_agents.tracing.span_data import ResponseSpanData as ResponseSpanData
from agentsdk.compat.openai_agents.tracing.span_data import SpanData as SpanData
from agentsdk.compat.openai_agents.tracing.span_data import SpeechGroupSpanData as SpeechGroupSpanData
from agentsdk.compat.openai_agents.tracing.span_data import SpeechSpanData as SpeechSpanData
from agentsdk.compat.openai_agents.tracing.span_data import TaskSpanData as TaskSpanData
from agentsdk.compat.openai_agents.tracing.span_data import TranscriptionSpanData as TranscriptionSpanData
from agentsdk.compat.openai_agents.tracing.span_data import TurnSpanData as TurnSpanData
from agentsdk.compat.openai_agents.tracing.spans import Span as Span
from agentsdk.compat.openai_agents.tracing.spans import SpanError as SpanError
from agentsdk.compat.openai_agents.tracing.traces import Trace as Trace
from agentsdk.compat.openai_agents.tracing.util import gen_span_id as gen_span_id
from agentsdk.compat.openai_agents.tracing.util import gen_trace_id as gen_trace_id


def add_trace_processor(span_processor: TracingProcessor) -> None:
    """Tell one more processor."""
    get_trace_provider().register_processor(span_processor)


def set_trace_processors(processors: list[TracingProcessor]) -> None:
    """Tell these processors from now on."""
    get_trace_provider().set_processors(processors)


def set_tracing_disabled(disabled: bool) -> None:
    """Trace nothing, or again."""
    get_trace_provider().set_disabled(disabled)


def set_tracing_export_api_key(api_key: str) -> None:
    """Nothing by itself: traces go to OpenAI only by a processor that sends them there."""
    default_exporter().set_api_key(api_key)


def flush_traces() -> None:
    """Have the processors export whatever waits."""
    get_trace_provider().force_flush()


class TraceCtxManager:
    """A trace around a block, unless one goes on."""

    def __init__(
        self,
        workflow_name: str,
        trace_id: str | None = None,
        group_id: str | None = None,
        metadata: dict[str, Any] | None = None,
        tracing: TracingConfig | None = None,
        disabled: bool = False,
    ) -> None:
        self.trace: Trace | None = None
        self._arguments = (workflow_name, trace_id, group_id, metadata, tracing, disabled)

    def __enter__(self) -> TraceCtxManager:
        if get_current_trace() is None:
            self.trace = trace(*self._arguments)
            self.trace.start(mark_as_current=True)
        return self

    def __exit__(self, *_: Any) -> None:
        if self.trace is not None:
            self.trace.finish(reset_current=True)
