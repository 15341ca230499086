"""Detection of OpenTelemetry: whether anybody listens to spans, without importing it for that."""

from __future__ import annotations

import sys

from agentsdk.ports.tracer import Tracer

_found: tuple[object, Tracer] | None = None


def find_tracer() -> Tracer | None:
    """A tracer on the process's own OpenTelemetry provider, or None where the process has not set one.

    A process that has not imported OpenTelemetry has no provider: it then pays one dictionary lookup.
    """
    global _found
    trace = sys.modules.get("opentelemetry.trace")  # an import statement takes as long as a model call is prepared
    if trace is None:
        return None
    provider = trace.get_tracer_provider()
    if _found is not None and _found[0] is provider:
        return _found[1]
    if isinstance(provider, trace.ProxyTracerProvider | trace.NoOpTracerProvider):
        return None
    from agentsdk.tracing.otel import OpenTelemetryTracer

    _found = (provider, OpenTelemetryTracer(provider))
    return _found[1]
