"""Tracing: spans and metrics of runs, through OpenTelemetry or a tracer or meter of your own.

What needs OpenTelemetry is imported on first use.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from agentsdk.types.lazy import lazy_names

if TYPE_CHECKING:
    from agentsdk.ports.meter import AttemptCost, Measurement, Meter, ModelCall, RunLeft, StoreCall, ToolCall
    from agentsdk.ports.tracer import ProgressSpan, Span, SpanAttributes, Tracer
    from agentsdk.tracing.logs import RunLogFilter
    from agentsdk.tracing.meter import OpenTelemetryMeter
    from agentsdk.tracing.otel import OpenTelemetryTracer
    from agentsdk.tracing.workflow import trace

__all__ = [
    "AttemptCost",
    "Measurement",
    "Meter",
    "ModelCall",
    "OpenTelemetryMeter",
    "OpenTelemetryTracer",
    "ProgressSpan",
    "RunLeft",
    "RunLogFilter",
    "Span",
    "SpanAttributes",
    "StoreCall",
    "ToolCall",
    "Tracer",
    "trace",
]

if not TYPE_CHECKING:  # to a type checker it would say that every name is there, also a misspelt one
    __getattr__, __dir__ = lazy_names(
        __name__,
        {
            "agentsdk.ports.meter": "AttemptCost Measurement Meter ModelCall RunLeft StoreCall ToolCall",
            "agentsdk.ports.tracer": "ProgressSpan Span SpanAttributes Tracer",
            "agentsdk.tracing.logs": "RunLogFilter",
            "agentsdk.tracing.meter": "OpenTelemetryMeter",
            "agentsdk.tracing.otel": "OpenTelemetryTracer",
            "agentsdk.tracing.workflow": "trace",
        },
    )
