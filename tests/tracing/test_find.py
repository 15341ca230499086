"""Who listens to spans and reads metrics is found out without importing OpenTelemetry."""

from __future__ import annotations

import subprocess
import sys

import pytest

CASES = {
    "nobody imported it": "",
    "only the interface is there": "import opentelemetry.trace",
    "another library took a tracer": "import opentelemetry.trace; opentelemetry.trace.get_tracer('x')",
    "a provider that records nothing": "from opentelemetry import trace; trace.set_tracer_provider(trace.NoOpTracerProvider())",
}

PRINT = """
import sys
from agentsdk.tracing.find import find_tracer
assert "opentelemetry" not in sys.modules or {imported}
print(type(find_tracer()).__name__, find_tracer() is find_tracer(), "opentelemetry.trace" in sys.modules)
"""


def printed(setup: str) -> str:
    script = setup + PRINT.format(imported=bool(setup))
    outcome = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, timeout=60, check=False)
    assert outcome.returncode == 0, outcome.stderr
    return outcome.stdout.strip()


@pytest.mark.parametrize("case", CASES)
def test_nobody_listens(case: str) -> None:
    assert printed(CASES[case]) == f"NoneType True {bool(CASES[case])}"


def test_a_configured_provider_is_found() -> None:
    setup = """
from opentelemetry import trace
from opentelemetry.sdk.trace import TracerProvider
trace.set_tracer_provider(TracerProvider())
"""
    assert printed(setup) == "OpenTelemetryTracer True True"


METERS = {
    "nobody imported it": "",
    "only the interface is there": "import opentelemetry.metrics",
    "another library took a meter": "import opentelemetry.metrics; opentelemetry.metrics.get_meter('x')",
    "a provider that records nothing": (
        "from opentelemetry import metrics; metrics.set_meter_provider(metrics.NoOpMeterProvider())"
    ),
    "a provider": (
        "from opentelemetry import metrics; from opentelemetry.sdk.metrics import MeterProvider; "
        "metrics.set_meter_provider(MeterProvider())"
    ),
}


@pytest.mark.parametrize("case", METERS)
def test_who_reads_metrics_is_found_out(case: str) -> None:
    script = f"""
{METERS[case]}
import sys
from agentsdk.tracing.find import find_meter
print(type(find_meter()).__name__, find_meter() is find_meter(), "opentelemetry.metrics" in sys.modules)
"""
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, timeout=60, check=True)
    kind = "OpenTelemetryMeter" if case == "a provider" else "NoneType"
    assert done.stdout.strip() == f"{kind} True {bool(METERS[case])}"
