"""Spans as OpenTelemetry's own SDK records them."""

from __future__ import annotations

import asyncio
import gc
import json
import logging
import subprocess
import sys
import threading
from collections import Counter
from collections.abc import Sequence

import pytest
from opentelemetry import trace as otel
from opentelemetry.sdk.trace import ReadableSpan, TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor, SpanExporter, SpanExportResult
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter
from opentelemetry.sdk.trace.sampling import ALWAYS_OFF, Sampler

from agentsdk import Agent, ModelError, RunConfig, Runner, trace
from agentsdk.ports.tracer import SpanAttributes
from agentsdk.testing import ScriptedModel
from agentsdk.tracing.otel import OpenTelemetryTracer
from agentsdk.types.items import FunctionCall, FunctionCallOutput, InputImage, InputText, Item, Message, ProviderItem, Reasoning
from agentsdk.types.settings import ModelSettings
from agentsdk.types.spec import ToolSpec
from agentsdk.types.usage import Usage

CANARY = "canary-7f3a"


@pytest.fixture
def exporter() -> InMemorySpanExporter:
    return InMemorySpanExporter()


def provider_of(exporter: SpanExporter, sampler: Sampler | None = None) -> TracerProvider:
    provider = TracerProvider(sampler=sampler, shutdown_on_exit=False)
    provider.add_span_processor(SimpleSpanProcessor(exporter))
    return provider


@pytest.fixture
def tracer(exporter: InMemorySpanExporter) -> OpenTelemetryTracer:
    return OpenTelemetryTracer(provider_of(exporter))


def finished(exporter: InMemorySpanExporter) -> dict[str, ReadableSpan]:
    return {span.name: span for span in exporter.get_finished_spans()}


CONVERSATION: list[Item] = [
    Message("user", (InputText(CANARY), InputImage("data:,x"))),
    Reasoning("hm", provider="p"),
    FunctionCall("c1", "add", json.dumps({"text": CANARY})),
    FunctionCallOutput("c1", CANARY),
    ProviderItem("p", {"x": CANARY}),
    Message("assistant", CANARY),
]

CHAT: SpanAttributes = {
    "agent": "Triage",
    "provider": "openai",
    "model": "gpt-x",
    "settings": ModelSettings(temperature=0.5, max_tokens=9, seed=7, stop=("END",)),
    "stream": True,
    "instructions": CANARY,
    "input": CONVERSATION,
    "tools": (ToolSpec("add", CANARY, {"type": "object"}),),
}

REPLY: SpanAttributes = {
    "response_id": "r1",
    "response_model": "gpt-x-1",
    "finish": "tool_calls",
    "time_to_first_chunk": 0.25,
    "usage": Usage(1, 11, 5, cached_tokens=3, reasoning_tokens=2),
    "output": [FunctionCall("c1", "add", CANARY)],
}


def test_the_spans_of_a_run_nest(tracer: OpenTelemetryTracer, exporter: InMemorySpanExporter) -> None:
    run = tracer.start("run", "Triage", None, {"agent": "Triage", "conversation_id": "s1", "run_id": ""})
    agent = tracer.start("agent", "Triage", run)
    turn = tracer.start("turn", "1", agent, {"turn": 1})
    chat = tracer.start("chat", "gpt-x", turn, CHAT)
    chat.set(REPLY)
    chat.end()
    tool = tracer.start("tool", "add", turn, {"tool": "add", "call_id": "c1", "arguments": CANARY})
    for span in (tool, turn, agent, run):
        span.end()

    spans = finished(exporter)
    parents = {name: span.parent and span.parent.span_id for name, span in spans.items()}
    ids = {name: span.context.span_id for name, span in spans.items() if span.context}
    assert parents == {
        "invoke_agent Triage": None,
        "agent Triage": ids["invoke_agent Triage"],
        "turn 1": ids["agent Triage"],
        "chat gpt-x": ids["turn 1"],
        "execute_tool add": ids["turn 1"],
    }
    assert {name: span.kind for name, span in spans.items() if span.kind != otel.SpanKind.INTERNAL} == {
        "chat gpt-x": otel.SpanKind.CLIENT
    }
    assert dict(spans["invoke_agent Triage"].attributes or {}) == {
        "gen_ai.operation.name": "invoke_agent",
        "gen_ai.agent.name": "Triage",
        "gen_ai.conversation.id": "s1",
    }
    assert dict(spans["turn 1"].attributes or {}) == {"agentsdk.turn": 1}
    assert dict(spans["execute_tool add"].attributes or {}) == {
        "gen_ai.operation.name": "execute_tool",
        "gen_ai.tool.type": "function",
        "gen_ai.tool.name": "add",
        "gen_ai.tool.call.id": "c1",
    }
    assert dict(spans["chat gpt-x"].attributes or {}) == {
        "gen_ai.operation.name": "chat",
        "gen_ai.agent.name": "Triage",
        "gen_ai.provider.name": "openai",
        "gen_ai.request.model": "gpt-x",
        "gen_ai.request.temperature": 0.5,
        "gen_ai.request.max_tokens": 9,
        "gen_ai.request.seed": 7,
        "gen_ai.request.stop_sequences": ("END",),
        "gen_ai.request.stream": True,
        "gen_ai.response.id": "r1",
        "gen_ai.response.model": "gpt-x-1",
        "gen_ai.response.finish_reasons": ("tool_calls",),
        "gen_ai.response.time_to_first_chunk": 0.25,
        "gen_ai.usage.input_tokens": 11,
        "gen_ai.usage.output_tokens": 5,
        "gen_ai.usage.cache_read.input_tokens": 3,
        "gen_ai.usage.reasoning.output_tokens": 2,
    }


def record_everything(tracer: OpenTelemetryTracer) -> None:
    run = tracer.start("run", "a")
    chat = tracer.start("chat", "m", run, CHAT)
    chat.set(REPLY)
    chat.end(ValueError(CANARY))
    tool = tracer.start("tool", "add", run, {"tool": "add", "arguments": CANARY})
    tool.set({"result": CANARY})
    tool.end(ValueError(CANARY))
    run.end(ValueError(CANARY))


def test_content_stays_out_unless_asked_for(exporter: InMemorySpanExporter) -> None:
    record_everything(OpenTelemetryTracer(provider_of(exporter)))
    assert len(exporter.get_finished_spans()) == 3
    assert CANARY not in "".join(span.to_json() for span in exporter.get_finished_spans())


def test_content_on_request(exporter: InMemorySpanExporter) -> None:
    record_everything(OpenTelemetryTracer(provider_of(exporter), capture_content=True))
    chat = dict(finished(exporter)["chat m"].attributes or {})
    call = {"type": "tool_call", "id": "c1", "name": "add", "arguments": json.dumps({"text": CANARY})}
    assert json.loads(str(chat["gen_ai.system_instructions"])) == [{"type": "text", "content": CANARY}]
    assert json.loads(str(chat["gen_ai.input.messages"])) == [
        {"role": "user", "parts": [{"type": "input_text", "text": CANARY}, {"type": "input_image", "image_url": "data:,x"}]},
        {"role": "assistant", "parts": [{"type": "reasoning", "content": "hm"}, call]},
        {"role": "tool", "parts": [{"type": "tool_call_response", "id": "c1", "response": CANARY}]},
        {"role": "assistant", "parts": [{"type": "p", "x": CANARY}, {"type": "text", "content": CANARY}]},
    ]
    assert json.loads(str(chat["gen_ai.output.messages"])) == [
        {
            "role": "assistant",
            "parts": [{"type": "tool_call", "id": "c1", "name": "add", "arguments": CANARY}],
            "finish_reason": "tool_calls",
        }
    ]
    assert json.loads(str(chat["gen_ai.tool.definitions"])) == [
        {"type": "function", "name": "add", "description": CANARY, "parameters": {"type": "object"}}
    ]
    tool = finished(exporter)["execute_tool add"]
    assert (tool.attributes or {})["gen_ai.tool.call.arguments"] == CANARY
    assert (tool.attributes or {})["gen_ai.tool.call.result"] == CANARY
    assert tool.status.description == CANARY


def test_a_result_of_parts_is_recorded_as_json(exporter: InMemorySpanExporter) -> None:
    span = OpenTelemetryTracer(provider_of(exporter), capture_content=True).start("tool", "look")
    span.set({"result": (InputText("seen"),)})
    span.end()
    (recorded,) = exporter.get_finished_spans()
    assert json.loads(str((recorded.attributes or {})["gen_ai.tool.call.result"])) == [{"type": "input_text", "text": "seen"}]


def test_an_error_is_recorded_by_its_type(tracer: OpenTelemetryTracer, exporter: InMemorySpanExporter) -> None:
    tracer.start("run", "a").end(KeyError(CANARY))
    span = finished(exporter)["invoke_agent a"]
    assert (span.attributes or {})["error.type"] == "KeyError"
    assert (span.status.status_code, span.status.description) == (otel.StatusCode.ERROR, None)


def test_a_run_nests_in_the_callers_span(exporter: InMemorySpanExporter) -> None:
    provider = provider_of(exporter)
    with provider.get_tracer("user").start_as_current_span("request"):
        OpenTelemetryTracer(provider).start("run", "a").end()
    run, request = finished(exporter)["invoke_agent a"], finished(exporter)["request"]
    assert run.parent and request.context and run.parent.span_id == request.context.span_id


@pytest.mark.anyio
async def test_what_a_tool_traces_nests_in_the_call_and_only_there(exporter: InMemorySpanExporter) -> None:
    provider = provider_of(exporter)
    tracer, user = OpenTelemetryTracer(provider), provider.get_tracer("user")
    run = tracer.start("run", "a")
    together = asyncio.Barrier(3)

    async def tool(name: str) -> None:
        span = tracer.start("tool", name, run)
        with span.activate():
            await together.wait()
            with user.start_as_current_span(f"inside {name}"):
                await together.wait()
        assert otel.get_current_span() is otel.INVALID_SPAN
        span.end()

    await asyncio.gather(*(tool(str(number)) for number in range(3)))
    run.end()
    await tracer.settle()
    spans = finished(exporter)
    for number in range(3):
        outer, inner = spans[f"execute_tool {number}"], spans[f"inside {number}"]
        assert inner.parent and outer.context and inner.parent.span_id == outer.context.span_id


@pytest.mark.anyio
async def test_a_span_may_end_in_another_task(
    tracer: OpenTelemetryTracer, exporter: InMemorySpanExporter, caplog: pytest.LogCaptureFixture
) -> None:
    span = tracer.start("run", "a")
    active = span.activate()

    async def enter() -> None:
        active.__enter__()

    await asyncio.create_task(enter())
    active.__exit__(None, None, None)
    await asyncio.to_thread(span.end)
    assert "invoke_agent a" in finished(exporter)
    assert caplog.records == []


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


def test_a_run_that_is_not_sampled_encodes_no_content(exporter: InMemorySpanExporter, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("agentsdk.tracing.otel.messages_json", lambda *_: pytest.fail("encoded for nobody"))
    record_everything(OpenTelemetryTracer(provider_of(exporter, ALWAYS_OFF), capture_content=True))
    assert exporter.get_finished_spans() == ()
