"""Detection of OpenTelemetry: whether anybody listens to spans or reads metrics, without importing it for that."""

from __future__ import annotations

import sys

from agentsdk.ports.meter import Meter
from agentsdk.ports.tracer import Tracer

_found: tuple[object, Tracer] | None = None
_found_meter: tuple[object, Meter] | None = None


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


def find_meter() -> Meter | None:
    """What measures with the process's own provider of meters, or None where the process has not set one."""
    global _found_meter
    metrics = sys.modules.get("opentelemetry.metrics")
    if metrics is None:
        return None
    provider = metrics.get_meter_provider()
    if _found_meter is not None and _found_meter[0] is provider:
        return _found_meter[1]
    # The interface has no public name for the provider that stands in until there is one.
    if isinstance(provider, metrics.NoOpMeterProvider) or type(provider).__name__ == "_ProxyMeterProvider":
        return None
    from agentsdk.tracing.meter import OpenTelemetryMeter

    _found_meter = (provider, OpenTelemetryMeter(provider))
    return _found_meter[1]
