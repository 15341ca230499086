"""Tracers and exporters that raise, hang or are slow: a run goes on as without them."""

from __future__ import annotations

import asyncio
import gc
import logging
import subprocess
import sys
import threading
from collections import Counter
from collections.abc import Sequence

import pytest
from opentelemetry import trace as otel
from opentelemetry.sdk.trace import ReadableSpan
from opentelemetry.sdk.trace.export import SpanExporter, SpanExportResult
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter

from agentsdk import Agent, ModelError, RunConfig, Runner, trace
from agentsdk.testing import ScriptedModel
from agentsdk.tracing.otel import OpenTelemetryTracer
from tests.tracing.spans import provider_of, record_everything


@pytest.fixture
def exporter() -> InMemorySpanExporter:
    return InMemorySpanExporter()


@pytest.fixture
def tracer(exporter: InMemorySpanExporter) -> OpenTelemetryTracer:
    return OpenTelemetryTracer(provider_of(exporter))


class Raising(SpanExporter):
    def export(self, spans: Sequence[ReadableSpan]) -> SpanExportResult:
        raise OSError("no collector")


class RaisingTracer(otel.Tracer):
    def start_span(self, *args: object, **kwargs: object) -> otel.Span:
        raise OSError("broken")

    def start_as_current_span(self, *args: object, **kwargs: object) -> object:  # type: ignore[override]
        raise OSError("broken")


class RaisingSpan(otel.NonRecordingSpan):
    def is_recording(self) -> bool:
        return True

    def set_attributes(self, attributes: object) -> None:
        raise OSError("broken")

    set_attribute = set_attributes  # type: ignore[assignment]

    def end(self, end_time: int | None = None) -> None:
        raise SystemExit("broken")


class RaisingSpans(RaisingTracer):
    def start_span(self, *args: object, **kwargs: object) -> otel.Span:
        return RaisingSpan(otel.INVALID_SPAN_CONTEXT)


class Provider(otel.TracerProvider):
    def __init__(self, tracer: otel.Tracer) -> None:
        self._tracer = tracer

    def get_tracer(self, *args: object, **kwargs: object) -> otel.Tracer:
        return self._tracer


@pytest.mark.parametrize("made", [RaisingTracer, RaisingSpans])
def test_a_broken_tracer_is_logged_once_and_never_raises(made: type[RaisingTracer], caplog: pytest.LogCaptureFixture) -> None:
    tracer = OpenTelemetryTracer(Provider(made()), capture_content=True)
    for _ in range(3):
        record_everything(tracer)
        with tracer.start("tool", "t", tracer.start("run", "a")).activate():
            pass
    assert [record.name for record in caplog.records] == ["agentsdk.tracing"]


def test_a_raising_exporter_changes_nothing(caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.CRITICAL):
        record_everything(OpenTelemetryTracer(provider_of(Raising())))


class Hanging(SpanExporter):
    def __init__(self) -> None:
        self.free = threading.Event()
        self.exported = 0

    def export(self, spans: Sequence[ReadableSpan]) -> SpanExportResult:
        self.free.wait(60)
        self.exported += 1
        return SpanExportResult.SUCCESS


def test_a_hanging_exporter_is_waited_for_once_and_then_left_behind(monkeypatch: pytest.MonkeyPatch) -> None:
    exporter = Hanging()
    tracer = OpenTelemetryTracer(provider_of(exporter))
    waited: list[float] = []
    drain = tracer._outbox.drain

    def noted(seconds: float) -> bool:
        waited.append(seconds)
        return drain(0.01)

    monkeypatch.setattr(tracer._outbox, "drain", noted)
    for _ in range(3):
        record_everything(tracer)
    assert waited == [0.25]
    exporter.free.set()
    assert drain(60)
    assert exporter.exported == 9
    record_everything(tracer)
    assert waited == [0.25, 0.25], "once the exporter is back, runs settle again"


class NeedsTheLoop(SpanExporter):
    """Exports a span once the event loop has gone on meanwhile."""

    def __init__(self) -> None:
        self.loop = asyncio.get_running_loop()
        self.exported: list[str] = []
        self.missed: list[str] = []

    def export(self, spans: Sequence[ReadableSpan]) -> SpanExportResult:
        turned = threading.Event()
        self.loop.call_soon_threadsafe(turned.set)
        into = self.exported if turned.wait(5) else self.missed
        into += [span.name for span in spans]
        return SpanExportResult.SUCCESS


def span_threads() -> list[threading.Thread]:
    return [thread for thread in threading.enumerate() if thread.name == "agentsdk tracing"]


@pytest.mark.anyio
@pytest.mark.parametrize("within", ["a run", "several at once", "a failing run", "a workflow"])
async def test_the_event_loop_goes_on_while_spans_are_exported(within: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("agentsdk.tracing.otel._SETTLE_SECONDS", 60)
    exporter = NeedsTheLoop()
    tracer = OpenTelemetryTracer(provider_of(exporter))

    async def run(*replies: object) -> None:
        agent = Agent("a", model=ScriptedModel(replies))  # type: ignore[arg-type]
        await Runner.run(agent, "go", run_config=RunConfig(tracer=tracer))

    spans = ["chat scripted", "turn 1", "agent a", "invoke_agent a"]
    if within == "a run":
        await run("done")
    elif within == "several at once":
        await asyncio.gather(*[run("done") for _ in range(5)])
        spans *= 5
    elif within == "a failing run":
        with pytest.raises(ModelError):
            await run(ModelError("away"))
    else:
        async with trace("w", tracer=tracer):
            await run("done")
        spans = [*spans, "invoke_workflow w"]
    assert exporter.missed == []
    assert Counter(exporter.exported) == Counter(spans), "what a run did can be read when it returns"
    assert within == "several at once" or exporter.exported == spans, "in the order in which they ended"
    assert span_threads() == [], "the thread ends with the last run"


@pytest.mark.anyio
async def test_a_run_does_not_wait_for_exporters_that_are_behind(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("agentsdk.tracing.otel._SETTLE_SECONDS", 0)
    exporter = Hanging()
    tracer = OpenTelemetryTracer(provider_of(exporter))

    async def run() -> None:
        await Runner.run(Agent("a", model=ScriptedModel(["done"])), "go", run_config=RunConfig(tracer=tracer))

    await run()
    monkeypatch.setattr("agentsdk.tracing.otel._SETTLE_SECONDS", 60)
    await run()
    assert exporter.exported == 0
    exporter.free.set()
    assert await asyncio.to_thread(tracer._outbox.drain, 60)
    assert exporter.exported == 8 and span_threads() == []
    await run()
    assert exporter.exported == 12, "once they have caught up, it does again"


def test_a_span_that_is_dropped_without_an_end_keeps_no_thread(
    tracer: OpenTelemetryTracer, exporter: InMemorySpanExporter
) -> None:
    dropped = tracer.start("run", "dropped")
    tracer.start("run", "ended").end()
    [thread] = span_threads()
    del dropped
    gc.collect()
    thread.join(60)
    assert not thread.is_alive()
    assert [span.name for span in exporter.get_finished_spans()] == ["invoke_agent ended"]


def test_a_process_with_a_hanging_exporter_ends() -> None:
    script = """
import threading
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor, SpanExporter
from agentsdk.tracing.otel import OpenTelemetryTracer

class Hanging(SpanExporter):
    def export(self, spans):
        threading.Event().wait()

provider = TracerProvider(shutdown_on_exit=False)
provider.add_span_processor(SimpleSpanProcessor(Hanging()))
OpenTelemetryTracer(provider).start("run", "a").end()
print("done")
"""
    outcome = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, timeout=30, check=False)
    assert (outcome.returncode, outcome.stdout) == (0, "done\n"), outcome.stderr
