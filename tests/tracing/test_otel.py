"""Spans through OpenTelemetry: how they nest, and what they carry."""

from __future__ import annotations

import asyncio
import json

import pytest
from opentelemetry import trace as otel
from opentelemetry.sdk.trace import ReadableSpan
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter
from opentelemetry.sdk.trace.sampling import ALWAYS_OFF

from agentsdk import Agent, RunConfig, Runner, ToolContext, function_tool
from agentsdk.testing import ScriptedModel, call
from agentsdk.tracing.otel import OpenTelemetryTracer
from agentsdk.types.items import InputText
from tests.tracing.spans import CANARY, CHAT, REPLY, provider_of, record_everything


@pytest.fixture
def exporter() -> InMemorySpanExporter:
    return InMemorySpanExporter()


@pytest.fixture
def tracer(exporter: InMemorySpanExporter) -> OpenTelemetryTracer:
    return OpenTelemetryTracer(provider_of(exporter))


def finished(exporter: InMemorySpanExporter) -> dict[str, ReadableSpan]:
    return {span.name: span for span in exporter.get_finished_spans()}


CHAT_ATTRIBUTES = {
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
    assert dict(spans["chat gpt-x"].attributes or {}) == CHAT_ATTRIBUTES


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


def test_a_run_that_is_not_sampled_encodes_no_content(exporter: InMemorySpanExporter, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("agentsdk.tracing.otel.messages_json", lambda *_: pytest.fail("encoded for nobody"))
    record_everything(OpenTelemetryTracer(provider_of(exporter, ALWAYS_OFF), capture_content=True))
    assert exporter.get_finished_spans() == ()


@pytest.mark.anyio
@pytest.mark.parametrize("captures", [False, True])
async def test_what_a_tool_sends_while_it_runs_is_events_of_its_span(exporter: InMemorySpanExporter, captures: bool) -> None:
    @function_tool
    def dig(ctx: ToolContext[None]) -> str:
        """Dig."""
        ctx.emit({"depth": 1})
        ctx.emit(object)
        return "dug"

    tracer = OpenTelemetryTracer(provider_of(exporter), capture_content=captures)
    agent = Agent[None, str](name="A", model=ScriptedModel([call("dig"), "done"]), tools=[dig])
    await Runner.run(agent, "Go.", run_config=RunConfig(tracer=tracer))
    events = finished(exporter)["execute_tool dig"].events
    assert [event.name for event in events] == ["agentsdk.tool.progress"] * 2
    data = [dict(event.attributes or {}).get("agentsdk.tool.progress.data") for event in events]
    assert data == (['{"depth":1}', "\"<class 'object'>\""] if captures else [None, None])
