"""openai-agents: `Runner.run` over its `Model` interface; over HTTP its own chat-completions model."""

from __future__ import annotations

from collections.abc import AsyncIterator
from typing import Any

from agents import (
    Agent,
    Model,
    ModelResponse,
    OpenAIChatCompletionsModel,
    RunConfig,
    Runner,
    RunResult,
    RunState,
    Usage,
    function_tool,
    set_tracing_disabled,
)
from openai import AsyncOpenAI
from openai.types.responses import (
    Response,
    ResponseCompletedEvent,
    ResponseFunctionToolCall,
    ResponseOutputItem,
    ResponseOutputMessage,
    ResponseOutputText,
    ResponseStreamEvent,
    ResponseTextDeltaEvent,
)

from benchmarks import fake

SHARED = True
NO_PAUSE = ""

set_tracing_disabled(True)
CONFIG = RunConfig(tracing_disabled=True)


def make_agent(url: str | None, script: str, *, gated: bool = False) -> Agent[Any]:
    if url is None:
        model: Model = FakeModel()
    else:
        model = OpenAIChatCompletionsModel(model=script, openai_client=AsyncOpenAI(base_url=url, api_key="none"))
    tools: list[Any] = [function_tool(fake.add)]
    if gated:
        tools.append(function_tool(fake.publish, needs_approval=True))
    return Agent(name="accountant", instructions=fake.INSTRUCTIONS, model=model, tools=tools)


async def run(agent: Agent[Any]) -> str:
    result = await Runner.run(agent, fake.PROMPT, max_turns=None, run_config=CONFIG)
    return result.final_output


async def stream(agent: Agent[Any]) -> tuple[int, str]:
    result = Runner.run_streamed(agent, fake.PROMPT, max_turns=None, run_config=CONFIG)
    pieces: list[str] = []
    async for event in result.stream_events():
        if event.type == "raw_response_event" and isinstance(event.data, ResponseTextDeltaEvent):
            pieces.append(event.data.delta)
    assert result.final_output == "".join(pieces)
    return len(pieces), result.final_output


async def pause(agent: Agent[Any]) -> RunResult:
    result = await Runner.run(agent, fake.PROMPT, max_turns=None, run_config=CONFIG)
    assert result.interruptions
    return result


def dump(paused: RunResult) -> bytes:
    return paused.to_state().to_string().encode()


async def load(agent: Agent[Any], data: bytes) -> RunState[Any]:
    return await RunState.from_string(agent, data.decode())


async def resume(agent: Agent[Any], loaded: RunState[Any]) -> str:
    for interruption in loaded.get_interruptions():
        loaded.approve(interruption)
    return (await Runner.run(agent, loaded, run_config=CONFIG)).final_output


class FakeModel(Model):
    """`fake.answer` as an openai-agents model."""

    async def get_response(self, *args: Any, **kwargs: Any) -> ModelResponse:
        return ModelResponse(output=output(await fake.answer()), usage=Usage(requests=1), response_id=None)

    async def stream_response(self, *args: Any, **kwargs: Any) -> AsyncIterator[ResponseStreamEvent]:
        reply = await fake.answer()
        for number, delta in enumerate(reply.deltas):
            yield ResponseTextDeltaEvent(
                type="response.output_text.delta",
                delta=delta,
                content_index=0,
                item_id="msg",
                output_index=0,
                sequence_number=number,
                logprobs=[],
            )
        response = Response(
            id="resp",
            created_at=1,
            model="fake",
            object="response",
            output=output(reply),
            tool_choice="auto",
            tools=[],
            parallel_tool_calls=True,
        )
        yield ResponseCompletedEvent(type="response.completed", response=response, sequence_number=len(reply.deltas))


def output(reply: fake.Reply) -> list[ResponseOutputItem]:
    if reply.calls:
        return [
            ResponseFunctionToolCall(
                id=call.id, call_id=call.id, name=call.name, arguments=call.arguments, type="function_call"
            )
            for call in reply.calls
        ]
    text = ResponseOutputText(text=reply.text, type="output_text", annotations=[])
    return [ResponseOutputMessage(id="msg", role="assistant", status="completed", type="message", content=[text])]
