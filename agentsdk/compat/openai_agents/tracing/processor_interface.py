"""The interface of what traces go to."""

from __future__ import annotations

import abc
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from agentsdk.compat.openai_agents.tracing.spans import Span
    from agentsdk.compat.openai_agents.tracing.traces import Trace


class TracingProcessor(abc.ABC):
    """Is told of each trace and span, in the task that it begins and ends in."""

    @abc.abstractmethod
    def on_trace_start(self, trace: Trace) -> None:
        """A trace begins."""

    @abc.abstractmethod
    def on_trace_end(self, trace: Trace) -> None:
        """A trace is over."""

    @abc.abstractmethod
    def on_span_start(self, span: Span[Any]) -> None:
        """A span begins."""

    @abc.abstractmethod
    def on_span_end(self, span: Span[Any]) -> None:
        """A span is over."""

    @abc.abstractmethod
    def shutdown(self) -> None:
        """The process ends."""

    @abc.abstractmethod
    def force_flush(self) -> None:
        """Whatever waits is to be exported now."""


class TracingExporter(abc.ABC):
    """Sends traces and spans somewhere."""

    @abc.abstractmethod
    def export(self, items: list[Trace | Span[Any]]) -> None:
        """Send these."""
