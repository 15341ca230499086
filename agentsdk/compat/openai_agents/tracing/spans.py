"""Spans."""

from __future__ import annotations

import abc
from contextvars import Token
from typing import Any, Generic, TypeVar

from typing_extensions import TypedDict

from agentsdk.compat.openai_agents.tracing import util
from agentsdk.compat.openai_agents.tracing.processor_interface import TracingProcessor
from agentsdk.compat.openai_agents.tracing.scope import current_span
from agentsdk.compat.openai_agents.tracing.span_data import SpanData

TSpanData = TypeVar("TSpanData", bound=SpanData)


class SpanError(TypedDict):
    """What went wrong."""

    message: str
    data: dict[str, Any] | None


class Span(abc.ABC, Generic[TSpanData]):
    """A piece of work: a context manager, or started and finished by hand."""

    @property
    @abc.abstractmethod
    def trace_id(self) -> str:
        """The id of its trace."""

    @property
    @abc.abstractmethod
    def span_id(self) -> str:
        """Its id."""

    @property
    @abc.abstractmethod
    def span_data(self) -> TSpanData:
        """What it says."""

    @property
    @abc.abstractmethod
    def parent_id(self) -> str | None:
        """The id of the span that it is in."""

    @property
    @abc.abstractmethod
    def error(self) -> SpanError | None:
        """What went wrong."""

    @property
    @abc.abstractmethod
    def started_at(self) -> str | None:
        """When it began."""

    @property
    @abc.abstractmethod
    def ended_at(self) -> str | None:
        """When it was over."""

    @property
    def tracing_api_key(self) -> str | None:
        """The key that it is exported with."""
        return None

    @property
    def trace_metadata(self) -> dict[str, Any] | None:
        """The metadata of its trace."""
        return None

    @abc.abstractmethod
    def start(self, mark_as_current: bool = False) -> None:
        """Begin."""

    @abc.abstractmethod
    def finish(self, reset_current: bool = False) -> None:
        """End."""

    @abc.abstractmethod
    def set_error(self, error: SpanError) -> None:
        """Say what went wrong."""

    @abc.abstractmethod
    def export(self) -> dict[str, Any] | None:
        """The span as a dict."""

    def __enter__(self) -> Span[TSpanData]:
        self.start(mark_as_current=True)
        return self

    def __exit__(self, kind: Any, error: Any, traceback: Any) -> None:
        self.finish(reset_current=kind is not GeneratorExit)


class SpanImpl(Span[TSpanData]):
    """A span that is told of."""

    def __init__(
        self,
        trace_id: str,
        span_id: str | None,
        parent_id: str | None,
        processor: TracingProcessor,
        span_data: TSpanData,
        tracing_api_key: str | None = None,
        trace_metadata: dict[str, Any] | None = None,
    ) -> None:
        self._trace_id = trace_id
        self._span_id = span_id or util.gen_span_id()
        self._parent_id = parent_id
        self._processor = processor
        self._data = span_data
        self._key = tracing_api_key
        self._metadata = trace_metadata
        self._error: SpanError | None = None
        self._started: str | None = None
        self._ended: str | None = None
        self._token: Token[Span[Any] | None] | None = None

    @property
    def trace_id(self) -> str:
        """The id of its trace."""
        return self._trace_id

    @property
    def span_id(self) -> str:
        """Its id."""
        return self._span_id

    @property
    def span_data(self) -> TSpanData:
        """What it says."""
        return self._data

    @property
    def parent_id(self) -> str | None:
        """The id of the span that it is in."""
        return self._parent_id

    @property
    def error(self) -> SpanError | None:
        """What went wrong."""
        return self._error

    @property
    def started_at(self) -> str | None:
        """When it began."""
        return self._started

    @property
    def ended_at(self) -> str | None:
        """When it was over."""
        return self._ended

    @property
    def tracing_api_key(self) -> str | None:
        """The key that it is exported with."""
        return self._key

    @property
    def trace_metadata(self) -> dict[str, Any] | None:
        """The metadata of its trace."""
        return self._metadata

    def start(self, mark_as_current: bool = False) -> None:
        """Begin."""
        if self._started is not None:
            return
        self._started = util.time_iso()
        self._processor.on_span_start(self)
        if mark_as_current:
            self._token = current_span.set(self)

    def finish(self, reset_current: bool = False) -> None:
        """End."""
        if self._ended is not None:
            return
        self._ended = util.time_iso()
        self._processor.on_span_end(self)
        if reset_current and self._token is not None:
            try:
                current_span.reset(self._token)
            except ValueError:
                current_span.set(None)
            self._token = None

    def set_error(self, error: SpanError) -> None:
        """Say what went wrong."""
        self._error = error

    def export(self) -> dict[str, Any] | None:
        """The span as a dict."""
        return {
            "object": "trace.span",
            "id": self._span_id,
            "trace_id": self._trace_id,
            "parent_id": self._parent_id,
            "started_at": self._started,
            "ended_at": self._ended,
            "span_data": self._data.export(),
            "error": self._error,
        }


class NoOpSpan(Span[TSpanData]):
    """A span that nobody is told of."""

    def __init__(self, span_data: TSpanData) -> None:
        self._data = span_data
        self._token: Token[Span[Any] | None] | None = None

    @property
    def trace_id(self) -> str:
        """No id."""
        return "no-op"

    @property
    def span_id(self) -> str:
        """No id."""
        return "no-op"

    @property
    def span_data(self) -> TSpanData:
        """What it says."""
        return self._data

    @property
    def parent_id(self) -> str | None:
        """None."""
        return None

    @property
    def error(self) -> SpanError | None:
        """None."""
        return None

    @property
    def started_at(self) -> str | None:
        """None."""
        return None

    @property
    def ended_at(self) -> str | None:
        """None."""
        return None

    def start(self, mark_as_current: bool = False) -> None:
        """Begin."""
        if mark_as_current:
            self._token = current_span.set(self)

    def finish(self, reset_current: bool = False) -> None:
        """End."""
        if reset_current and self._token is not None:
            current_span.reset(self._token)
            self._token = None

    def set_error(self, error: SpanError) -> None:
        """Nothing."""

    def export(self) -> dict[str, Any] | None:
        """None."""
        return None
