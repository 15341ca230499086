"""`trace` groups runs under one span."""

from __future__ import annotations

import asyncio
import logging

import pytest
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter

from agentsdk.tracing.otel import OpenTelemetryTracer
from agentsdk.tracing.workflow import trace


@pytest.fixture
def exporter() -> InMemorySpanExporter:
    return InMemorySpanExporter()


@pytest.fixture
def tracer(exporter: InMemorySpanExporter) -> OpenTelemetryTracer:
    provider = TracerProvider(shutdown_on_exit=False)
    provider.add_span_processor(SimpleSpanProcessor(exporter))
    return OpenTelemetryTracer(provider)


@pytest.mark.anyio
async def test_runs_of_any_task_nest_in_the_workflow(tracer: OpenTelemetryTracer, exporter: InMemorySpanExporter) -> None:
    async def run(name: str) -> None:
        tracer.start("run", name).end()

    async with trace("Onboarding", group_id="chat-1", metadata={"team": "a"}, tracer=tracer):
        await run("one")
        await asyncio.create_task(run("two"))
    await run("outside")
    await tracer.settle()

    spans = {span.name: span for span in exporter.get_finished_spans()}
    workflow = spans["invoke_workflow Onboarding"]
    assert dict(workflow.attributes or {}) == {
        "gen_ai.operation.name": "invoke_workflow",
        "gen_ai.workflow.name": "Onboarding",
        "gen_ai.conversation.id": "chat-1",
        "agentsdk.metadata.team": "a",
    }
    assert workflow.context
    for name in ("one", "two"):
        parent = spans[f"invoke_agent {name}"].parent
        assert parent and parent.span_id == workflow.context.span_id
    assert spans["invoke_agent outside"].parent is None


def test_an_error_passes_through_and_is_recorded(tracer: OpenTelemetryTracer, exporter: InMemorySpanExporter) -> None:
    with pytest.raises(KeyError), trace("w", tracer=tracer):
        raise KeyError("secret")
    (span,) = exporter.get_finished_spans()
    assert (span.attributes or {})["error.type"] == "KeyError"


@pytest.mark.anyio
async def test_it_may_end_in_another_task(
    tracer: OpenTelemetryTracer, exporter: InMemorySpanExporter, caplog: pytest.LogCaptureFixture
) -> None:
    block = trace("w", tracer=tracer)
    await asyncio.create_task(block.__aenter__())
    await asyncio.create_task(block.__aexit__(None, None, None))
    assert [span.name for span in exporter.get_finished_spans()] == ["invoke_workflow w"]
    assert [record for record in caplog.records if record.levelno >= logging.WARNING] == []


def test_disabled_or_unheard_it_does_nothing(tracer: OpenTelemetryTracer, exporter: InMemorySpanExporter) -> None:
    with trace("w", tracer=tracer, disabled=True), trace("w"):
        pass
    assert exporter.get_finished_spans() == ()
