"""What the tests of the wire share: a clock that does not wait, a model on a fake server, and the outcome of one request."""

from __future__ import annotations

from typing import Any

from agentsdk.models.openai_chat import OpenAIChatCompletionsModel
from agentsdk.ports.model import Model, ModelRequest
from agentsdk.testing import FakeServer
from agentsdk.types.deltas import ModelStreamEvent, OutputTextDelta, ReasoningTextDelta, ResponseCompleted
from agentsdk.types.items import FunctionCall, Message, Reasoning
from agentsdk.types.response import ModelResponse
from agentsdk.types.tape import Tape

EVENTS_OF_A_STREAM = [
    ("response.created", None),
    ("response.output_item.added", 0),
    ("response.reasoning_text.delta", 0),
    ("response.reasoning_text.delta", 0),
    ("response.output_item.added", 1),
    ("response.output_text.delta", 1),
    ("response.output_text.delta", 1),
    ("response.output_item.added", 2),
    ("response.function_call_arguments.delta", 2),
    ("response.function_call_arguments.delta", 2),
    ("response.output_item.done", 0),
    ("response.output_item.done", 1),
    ("response.output_item.done", 2),
    ("response.completed", None),
]
"""The type and output index of each event of a reply of two words of reasoning, two of text, and a call."""


class FakeClock:
    """Stands still; a sleep moves it."""

    def __init__(self, now: float = 1_700_000_000.0) -> None:
        self.now = now
        self.slept: list[float] = []

    def time(self) -> float:
        return self.now

    async def sleep(self, seconds: float) -> None:
        self.slept.append(seconds)
        self.now += seconds


def model_at(server: FakeServer, **options: Any) -> OpenAIChatCompletionsModel:
    """A model served by `server` that waits for nothing."""
    options.setdefault("clock", FakeClock())
    options.setdefault("api_key", "sk-canary-0123456789")
    return OpenAIChatCompletionsModel("gpt-test", base_url=server.base_url, **options)


def request(stream: bool = False, **fields: Any) -> ModelRequest:
    """A small request."""
    items = fields.pop("items", [Message("user", "hi")])
    return ModelRequest(items=items if isinstance(items, Tape) else Tape(items), stream=stream, request_id="req-7", **fields)


async def events_of(model: Model, asked: ModelRequest) -> list[ModelStreamEvent]:
    """All events of one reply; the stream is closed."""
    events: list[ModelStreamEvent] = []
    stream = model.stream(asked)
    try:
        async for event in stream:
            events.append(event)
    finally:
        await stream.aclose()
    return events


async def ask(model: Model, asked: ModelRequest) -> ModelResponse:
    """The response of one request: the last event, and the only one of its kind."""
    events = await events_of(model, asked)
    completed = [event for event in events if isinstance(event, ResponseCompleted)]
    assert len(completed) == 1
    assert events[-1] is completed[0]
    if not asked.stream:
        assert events == completed
    return completed[0].response


def calls_of(response: ModelResponse) -> list[tuple[str, str, str]]:
    return [(item.call_id, item.name, item.arguments) for item in response.output if isinstance(item, FunctionCall)]


def reasoning_of(response: ModelResponse) -> str:
    return "".join(item.text for item in response.output if isinstance(item, Reasoning))


def shown_text(events: list[ModelStreamEvent]) -> str:
    return "".join(event.delta for event in events if isinstance(event, OutputTextDelta))


def shown_reasoning(events: list[ModelStreamEvent]) -> str:
    return "".join(event.delta for event in events if isinstance(event, ReasoningTextDelta))


def types_of(events: list[ModelStreamEvent]) -> list[tuple[str, int | None]]:
    return [(event.type, getattr(event, "output_index", None)) for event in events]
