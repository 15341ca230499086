"""What a collector is sent: a program exports as a service does, and a server reads the protocol's own messages.

The server stands in for a collector. What it reads was encoded by OpenTelemetry's exporter, and is decoded by the classes that
OpenTelemetry generates from the protocol.
"""

from __future__ import annotations

import gzip
import subprocess
import sys
import threading
from collections.abc import Generator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

from opentelemetry.proto.collector.metrics.v1.metrics_service_pb2 import ExportMetricsServiceRequest
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest

PROGRAM = """
import asyncio
from opentelemetry import metrics, trace
from opentelemetry.exporter.otlp.proto.http.metric_exporter import OTLPMetricExporter
from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter
from opentelemetry.sdk.metrics import MeterProvider
from opentelemetry.sdk.metrics.export import PeriodicExportingMetricReader
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import BatchSpanProcessor
from agentsdk import Agent, Runner, function_tool
from agentsdk.testing import ScriptedModel, call

spans = TracerProvider()
spans.add_span_processor(BatchSpanProcessor(OTLPSpanExporter()))
trace.set_tracer_provider(spans)
meters = MeterProvider([PeriodicExportingMetricReader(OTLPMetricExporter())])
metrics.set_meter_provider(meters)

@function_tool
def add(a: int, b: int) -> int:
    "Add."
    return a + b

model = ScriptedModel([[call("add", a=1, b=2), call("add", a="secret")], "secret"])
asyncio.run(Runner.run(Agent("Clerk", tools=[add], model=model), "secret question"))
spans.shutdown()
meters.shutdown()
"""


@contextmanager
def collector() -> Generator[tuple[str, dict[str, list[bytes]]]]:
    """The address of a server that keeps the body of each request, by its path."""
    received: dict[str, list[bytes]] = {}

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            body = self.rfile.read(int(self.headers["Content-Length"]))
            if self.headers.get("Content-Encoding") == "gzip":
                body = gzip.decompress(body)
            received.setdefault(self.path, []).append(body)
            self.send_response(200)
            self.send_header("Content-Length", "0")
            self.end_headers()

        def log_message(self, format: str, *args: object) -> None:
            """Say nothing."""

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    server.daemon_threads = False  # so that closing it waits for those that answer
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02})
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_port}", received
    finally:
        server.shutdown()
        server.server_close()
        thread.join()


def test_a_collector_gets_the_spans_and_metrics_of_a_run() -> None:
    with collector() as (address, received):
        environment = {"OTEL_EXPORTER_OTLP_ENDPOINT": address, "OTEL_EXPORTER_OTLP_TIMEOUT": "60"}
        done = subprocess.run(
            [sys.executable, "-c", PROGRAM], env=environment, capture_output=True, text=True, timeout=120, check=False
        )
    assert (done.returncode, done.stderr) == (0, "")

    spans = [
        span
        for body in received["/v1/traces"]
        for resource in ExportTraceServiceRequest.FromString(body).resource_spans
        for scope in resource.scope_spans
        for span in scope.spans
    ]
    names = {span.span_id: span.name for span in spans}
    assert sorted((names.get(span.parent_span_id, ""), span.name) for span in spans) == [
        ("", "invoke_agent Clerk"),
        ("agent Clerk", "turn 1"),
        ("agent Clerk", "turn 2"),
        ("invoke_agent Clerk", "agent Clerk"),
        ("turn 1", "chat scripted"),
        ("turn 1", "execute_tool add"),
        ("turn 1", "execute_tool add"),
        ("turn 2", "chat scripted"),
    ]
    tools = [span for span in spans if span.name == "execute_tool add"]
    outcomes = [pair.value.string_value for span in tools for pair in span.attributes if pair.key == "agentsdk.tool.outcome"]
    assert sorted(outcomes) == ["finished", "refused"]

    metrics = {
        metric.name: metric
        for body in received["/v1/metrics"]
        for resource in ExportMetricsServiceRequest.FromString(body).resource_metrics
        for scope in resource.scope_metrics
        for metric in scope.metrics
    }
    assert {(name, metric.unit) for name, metric in metrics.items()} == {
        ("gen_ai.client.operation.duration", "s"),
        ("gen_ai.client.token.usage", "{token}"),
        ("gen_ai.execute_tool.duration", "s"),
        ("gen_ai.invoke_agent.duration", "s"),
        ("agentsdk.tool.calls", "{call}"),
    }
    tokens = metrics["gen_ai.client.token.usage"].histogram.data_points
    assert sorted((point.count, point.sum) for point in tokens) == [(2, 10), (2, 20)]
    calls = metrics["agentsdk.tool.calls"].sum
    assert calls.is_monotonic and [point.as_int for point in calls.data_points] == [1, 1]
    assert not any(b"secret" in body for bodies in received.values() for body in bodies), "content is left out"
