"""What makes traces and spans, and tells the processors of them."""

from __future__ import annotations

import logging
import os
from abc import ABC, abstractmethod
from typing import Any

from agentsdk.compat.openai_agents.tracing import util
from agentsdk.compat.openai_agents.tracing.config import TracingConfig
from agentsdk.compat.openai_agents.tracing.processor_interface import TracingProcessor
from agentsdk.compat.openai_agents.tracing.scope import current_span, trace_now
from agentsdk.compat.openai_agents.tracing.spans import NoOpSpan, Span, SpanImpl, TSpanData
from agentsdk.compat.openai_agents.tracing.traces import NoOpTrace, Trace, TraceImpl

logger = logging.getLogger("openai.agents")


class SynchronousMultiTracingProcessor(TracingProcessor):
    """Tells several processors, one after the other. What one raises is logged."""

    def __init__(self) -> None:
        self.processors: tuple[TracingProcessor, ...] = ()

    def add_tracing_processor(self, tracing_processor: TracingProcessor) -> None:
        """Tell one more."""
        self.processors = (*self.processors, tracing_processor)

    def set_processors(self, processors: list[TracingProcessor]) -> None:
        """Tell these from now on."""
        self.processors = tuple(processors)

    def _tell(self, name: str, *args: Any) -> None:
        for processor in self.processors:
            try:
                getattr(processor, name)(*args)
            except Exception:
                logger.exception("a tracing processor raised in %s", name)

    def on_trace_start(self, trace: Trace) -> None:
        """A trace begins."""
        self._tell("on_trace_start", trace)

    def on_trace_end(self, trace: Trace) -> None:
        """A trace is over."""
        self._tell("on_trace_end", trace)

    def on_span_start(self, span: Span[Any]) -> None:
        """A span begins."""
        self._tell("on_span_start", span)

    def on_span_end(self, span: Span[Any]) -> None:
        """A span is over."""
        self._tell("on_span_end", span)

    def shutdown(self) -> None:
        """The process ends."""
        self._tell("shutdown")

    def force_flush(self) -> None:
        """Whatever waits is to be exported now."""
        self._tell("force_flush")


class TraceProvider(ABC):
    """Makes traces and spans."""

    @abstractmethod
    def register_processor(self, processor: TracingProcessor) -> None:
        """Tell one more."""

    @abstractmethod
    def set_processors(self, processors: list[TracingProcessor]) -> None:
        """Tell these from now on."""

    @abstractmethod
    def get_current_trace(self) -> Trace | None:
        """The trace that goes on."""

    @abstractmethod
    def get_current_span(self) -> Span[Any] | None:
        """The span that goes on."""

    @abstractmethod
    def set_disabled(self, disabled: bool) -> None:
        """Trace nothing, or again."""

    @abstractmethod
    def create_trace(
        self,
        name: str,
        trace_id: str | None = None,
        group_id: str | None = None,
        metadata: dict[str, Any] | None = None,
        disabled: bool = False,
        tracing: TracingConfig | None = None,
    ) -> Trace:
        """A trace that has not begun."""

    @abstractmethod
    def create_span(
        self,
        span_data: TSpanData,
        span_id: str | None = None,
        parent: Trace | Span[Any] | None = None,
        disabled: bool = False,
    ) -> Span[TSpanData]:
        """A span that has not begun."""

    def time_iso(self) -> str:
        """Now, in UTC."""
        return util.time_iso()

    def gen_trace_id(self) -> str:
        """A new id of a trace."""
        return util.gen_trace_id()

    def gen_span_id(self) -> str:
        """A new id of a span."""
        return util.gen_span_id()

    def gen_group_id(self) -> str:
        """A new id of a group of traces."""
        return util.gen_group_id()

    def force_flush(self) -> None:
        """Whatever waits is to be exported now."""

    def shutdown(self) -> None:
        """The process ends."""


class DefaultTraceProvider(TraceProvider):
    """The usual one. Nothing is exported unless a processor does: none is set by itself."""

    def __init__(self) -> None:
        self.processor = SynchronousMultiTracingProcessor()
        self._disabled: bool | None = None

    @property
    def is_disabled(self) -> bool:
        """Whether nothing is traced: as it was set, else as `OPENAI_AGENTS_DISABLE_TRACING` says."""
        if self._disabled is not None:
            return self._disabled
        return os.environ.get("OPENAI_AGENTS_DISABLE_TRACING", "false").lower() in ("true", "1")

    def register_processor(self, processor: TracingProcessor) -> None:
        """Tell one more."""
        self.processor.add_tracing_processor(processor)

    def set_processors(self, processors: list[TracingProcessor]) -> None:
        """Tell these from now on."""
        self.processor.set_processors(processors)

    def get_current_trace(self) -> Trace | None:
        """The trace that goes on."""
        return trace_now()

    def get_current_span(self) -> Span[Any] | None:
        """The span that goes on."""
        return current_span.get()

    def set_disabled(self, disabled: bool) -> None:
        """Trace nothing, or again."""
        self._disabled = disabled

    def create_trace(
        self,
        name: str,
        trace_id: str | None = None,
        group_id: str | None = None,
        metadata: dict[str, Any] | None = None,
        disabled: bool = False,
        tracing: TracingConfig | None = None,
    ) -> Trace:
        """A trace that has not begun."""
        if self.is_disabled or disabled:
            return NoOpTrace()
        key = (tracing or {}).get("api_key")
        return TraceImpl(name, trace_id, group_id, metadata, self.processor, key)

    def create_span(
        self,
        span_data: TSpanData,
        span_id: str | None = None,
        parent: Trace | Span[Any] | None = None,
        disabled: bool = False,
    ) -> Span[TSpanData]:
        """A span that has not begun. Outside of a trace nobody is told of it."""
        if self.is_disabled or disabled:
            return NoOpSpan(span_data)
        trace, outer = trace_now(), current_span.get()
        if parent is None:
            if trace is None:
                logger.error("a span was begun outside of a trace: begin one with 'with trace(...)'")
                return NoOpSpan(span_data)
            if isinstance(trace, NoOpTrace) or isinstance(outer, NoOpSpan):
                return NoOpSpan(span_data)
            parent_id = outer.span_id if outer is not None else None
            return self._made(span_data, span_id, trace, trace.trace_id, parent_id)
        if isinstance(parent, NoOpTrace | NoOpSpan):
            return NoOpSpan(span_data)
        if isinstance(parent, Trace):
            return self._made(span_data, span_id, parent, parent.trace_id, None)
        return self._made(span_data, span_id, trace, parent.trace_id, parent.span_id)

    def _made(
        self, data: TSpanData, span_id: str | None, trace: Trace | None, trace_id: str, parent_id: str | None
    ) -> Span[TSpanData]:
        key = None if trace is None else trace.tracing_api_key
        return SpanImpl(trace_id, span_id, parent_id, self.processor, data, key, getattr(trace, "metadata", None))

    def force_flush(self) -> None:
        """Whatever waits is to be exported now."""
        self.processor.force_flush()

    def shutdown(self) -> None:
        """The process ends."""
        self.processor.shutdown()
