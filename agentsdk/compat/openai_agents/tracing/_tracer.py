"""The spans of a run beneath, told to the program's processors."""

from __future__ import annotations

from collections.abc import Generator
from contextlib import AbstractContextManager, contextmanager
from typing import TYPE_CHECKING, Any

from agentsdk.compat.openai_agents.tracing.create import trace
from agentsdk.compat.openai_agents.tracing.provider import DefaultTraceProvider
from agentsdk.compat.openai_agents.tracing.scope import current_span, current_trace
from agentsdk.compat.openai_agents.tracing.setup import get_trace_provider
from agentsdk.compat.openai_agents.tracing.span_data import (
    AgentSpanData,
    FunctionSpanData,
    GenerationSpanData,
    SpanData,
    TaskSpanData,
    TurnSpanData,
)
from agentsdk.compat.openai_agents.tracing.spans import Span
from agentsdk.compat.openai_agents.tracing.traces import NoOpTrace, Trace, UntoldTrace
from agentsdk.ports.tracer import Span as OwnSpan
from agentsdk.ports.tracer import SpanAttributes, SpanKind

if TYPE_CHECKING:
    from agentsdk.compat.openai_agents.run_config import RunConfig


def _is_told() -> bool:
    """Whether anybody is told of spans."""
    provider = get_trace_provider()
    if not isinstance(provider, DefaultTraceProvider):
        return True
    return bool(provider.processor.processors) and not provider.is_disabled


def tracer_for(config: RunConfig) -> BridgedTracer | None:
    """What the spans of a run go to; None where nobody is told of them."""
    if config.tracing_disabled or not _is_told():
        return None
    return BridgedTracer(config.trace_include_sensitive_data)


def begin_trace(config: RunConfig) -> Trace | None:
    """The trace of a run, which has begun; None where one goes on already."""
    if current_trace.get() is not None:
        return None
    provider = get_trace_provider()
    if isinstance(provider, DefaultTraceProvider) and not (provider.processor.processors or config.tracing_disabled):
        made: Trace = UntoldTrace(config)  # whether tracing is disabled need not be asked
    else:
        made = trace(
            config.workflow_name,
            config.trace_id,
            config.group_id,
            config.trace_metadata,
            config.tracing,
            config.tracing_disabled,
        )
    made.start(mark_as_current=True)
    return made


class BridgedTracer:
    """Makes spans of the program's kinds."""

    def __init__(self, with_data: bool) -> None:
        self._with_data = with_data

    def start(
        self, kind: SpanKind, name: str, parent: OwnSpan | None = None, attributes: SpanAttributes | None = None
    ) -> BridgedSpan:
        """Begin a span."""
        given: dict[str, Any] = dict(attributes or {})
        above: Any = parent.span if isinstance(parent, BridgedSpan) else current_span.get() or current_trace.get()
        span = get_trace_provider().create_span(
            self._data(kind, name, given), parent=above, disabled=isinstance(above, NoOpTrace) or above is None
        )
        span.start()
        return BridgedSpan(span, self._with_data)

    def _data(self, kind: SpanKind, name: str, given: dict[str, Any]) -> SpanData:
        match kind:
            case "agent":
                return AgentSpanData(name, [], [], "str")
            case "turn":
                return TurnSpanData(int(given.get("turn", 0)), str(given.get("agent", "")))
            case "chat":
                return GenerationSpanData(model=str(given.get("model", name)))
            case "tool":
                return FunctionSpanData(name, str(given.get("arguments", "")) if self._with_data else None, None)
            case _:
                return TaskSpanData(name)


class BridgedSpan:
    """A span of the program's, as the run beneath has it."""

    def __init__(self, span: Span[Any], with_data: bool) -> None:
        self.span = span
        self._with_data = with_data

    def set(self, attributes: SpanAttributes) -> None:
        """Add attributes."""
        data: Any = self.span.span_data
        given: dict[str, Any] = dict(attributes)
        if isinstance(data, FunctionSpanData) and self._with_data and "result" in given:
            data.output = given["result"]
        if isinstance(data, FunctionSpanData) and self._with_data and "arguments" in given:
            data.input = str(given["arguments"])
        usage = given.get("usage")
        if isinstance(data, GenerationSpanData) and usage is not None:
            data.usage = {"input_tokens": usage.input_tokens, "output_tokens": usage.output_tokens}

    def end(self, error: BaseException | None = None) -> None:
        """The work is over."""
        if error is not None:
            self.span.set_error({"message": f"{type(error).__name__}: {error}", "data": None})
        self.span.finish()

    def activate(self) -> AbstractContextManager[None]:
        """The current span while a block runs."""
        return _activated(self.span)


@contextmanager
def _activated(span: Span[Any]) -> Generator[None]:
    token = current_span.set(span)
    try:
        yield
    finally:
        current_span.reset(token)
