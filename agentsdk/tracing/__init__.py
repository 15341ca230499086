"""Tracing: spans of runs, through OpenTelemetry or a tracer of your own. What needs OpenTelemetry is imported on first use."""

from __future__ import annotations

from typing import TYPE_CHECKING

from agentsdk.types.lazy import lazy_names

if TYPE_CHECKING:
    from agentsdk.ports.tracer import Span, SpanAttributes, Tracer
    from agentsdk.tracing.otel import OpenTelemetryTracer
    from agentsdk.tracing.workflow import trace

__all__ = [
    "OpenTelemetryTracer",
    "Span",
    "SpanAttributes",
    "Tracer",
    "trace",
]

if not TYPE_CHECKING:  # to a type checker it would say that every name is there, also a misspelt one
    __getattr__, __dir__ = lazy_names(
        __name__,
        {
            "agentsdk.ports.tracer": "Span SpanAttributes Tracer",
            "agentsdk.tracing.otel": "OpenTelemetryTracer",
            "agentsdk.tracing.workflow": "trace",
        },
    )
