"""pydantic-ai: `Agent.run` over its `Model` interface; over HTTP its own OpenAI chat model."""

from __future__ import annotations

from collections.abc import AsyncGenerator, AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

from pydantic_ai import (
    Agent,
    DeferredToolRequests,
    DeferredToolResults,
    ModelMessage,
    ModelMessagesTypeAdapter,
    ModelResponse,
    ModelResponseStreamEvent,
    TextPart,
    Tool,
    ToolCallPart,
    UsageLimits,
)
from pydantic_ai.models import Model, ModelRequestParameters, StreamedResponse
from pydantic_ai.models.openai import OpenAIChatModel
from pydantic_ai.providers.openai import OpenAIProvider

from benchmarks import fake

SHARED = True
NO_PAUSE = ""

NO_LIMITS = UsageLimits(request_limit=None)


def make_agent(url: str | None, script: str, *, gated: bool = False) -> Agent[None, Any]:
    model = FakeModel() if url is None else OpenAIChatModel(script, provider=OpenAIProvider(base_url=url, api_key="none"))
    if gated:
        tools = [Tool(fake.add), Tool(fake.publish, requires_approval=True)]
        return Agent(model, instructions=fake.INSTRUCTIONS, tools=tools, output_type=[str, DeferredToolRequests])
    return Agent(model, instructions=fake.INSTRUCTIONS, tools=[fake.add])


async def run(agent: Agent[None, Any]) -> str:
    return (await agent.run(fake.PROMPT, usage_limits=NO_LIMITS)).output


async def stream(agent: Agent[None, Any]) -> tuple[int, str]:
    pieces: list[str] = []
    async with agent.run_stream(fake.PROMPT, usage_limits=NO_LIMITS) as result:
        async for delta in result.stream_text(delta=True, debounce_by=None):
            pieces.append(delta)
    return len(pieces), "".join(pieces)


async def pause(agent: Agent[None, Any]) -> Any:
    result = await agent.run(fake.PROMPT, usage_limits=NO_LIMITS)
    assert isinstance(result.output, DeferredToolRequests)
    return result


def dump(paused: Any) -> bytes:
    return paused.all_messages_json()


async def load(agent: Agent[None, Any], data: bytes) -> list[ModelMessage]:
    return ModelMessagesTypeAdapter.validate_json(data)


async def resume(agent: Agent[None, Any], loaded: list[ModelMessage]) -> str:
    last = loaded[-1]
    approved = DeferredToolResults(approvals={part.tool_call_id: True for part in last.parts if isinstance(part, ToolCallPart)})
    result = await agent.run(message_history=loaded, deferred_tool_results=approved, usage_limits=NO_LIMITS)
    return result.output


class FakeModel(Model):
    """`fake.answer` as a pydantic-ai model."""

    @property
    def model_name(self) -> str:
        return "fake"

    @property
    def system(self) -> str:
        return "fake"

    async def request(
        self, messages: list[ModelMessage], model_settings: Any, model_request_parameters: ModelRequestParameters
    ) -> ModelResponse:
        self.prepare_request(model_settings, model_request_parameters)
        reply = await fake.answer()
        if not reply.calls:
            return ModelResponse(parts=[TextPart(reply.text)], model_name="fake")
        return ModelResponse(
            parts=[ToolCallPart(call.name, call.arguments, call.id) for call in reply.calls], model_name="fake"
        )

    @asynccontextmanager
    async def request_stream(
        self,
        messages: list[ModelMessage],
        model_settings: Any,
        model_request_parameters: ModelRequestParameters,
        run_context: Any = None,
    ) -> AsyncGenerator[StreamedResponse]:
        self.prepare_request(model_settings, model_request_parameters)
        yield FakeStream(model_request_parameters, await fake.answer(), datetime.now(UTC))


@dataclass
class FakeStream(StreamedResponse):
    """The text deltas of a reply."""

    reply: fake.Reply
    made: datetime

    async def _get_event_iterator(self) -> AsyncIterator[ModelResponseStreamEvent]:
        for delta in self.reply.deltas:
            for event in self._parts_manager.handle_text_delta(vendor_part_id="text", content=delta):
                yield event

    @property
    def model_name(self) -> str:
        return "fake"

    @property
    def provider_name(self) -> str:
        return "fake"

    @property
    def provider_url(self) -> str | None:
        return None

    @property
    def timestamp(self) -> datetime:
        return self.made
