"""A conversation that holds a secret everywhere, and its spans, for the tests of tracing."""

from __future__ import annotations

import json

from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor, SpanExporter
from opentelemetry.sdk.trace.sampling import Sampler

from agentsdk.ports.tracer import SpanAttributes
from agentsdk.tracing.otel import OpenTelemetryTracer
from agentsdk.types.items import FunctionCall, FunctionCallOutput, InputImage, InputText, Item, Message, ProviderItem, Reasoning
from agentsdk.types.settings import ModelSettings
from agentsdk.types.spec import ToolSpec
from agentsdk.types.usage import Usage

CANARY = "canary-7f3a"


def provider_of(exporter: SpanExporter, sampler: Sampler | None = None) -> TracerProvider:
    provider = TracerProvider(sampler=sampler, shutdown_on_exit=False)
    provider.add_span_processor(SimpleSpanProcessor(exporter))
    return provider


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


def record_everything(tracer: OpenTelemetryTracer) -> None:
    run = tracer.start("run", "a")
    chat = tracer.start("chat", "m", run, CHAT)
    chat.set(REPLY)
    chat.end(ValueError(CANARY))
    tool = tracer.start("tool", "add", run, {"tool": "add", "arguments": CANARY})
    tool.set({"result": CANARY})
    tool.end(ValueError(CANARY))
    run.end(ValueError(CANARY))
