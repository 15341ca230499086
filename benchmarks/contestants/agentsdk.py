"""agentsdk: `Runner.run` over its `Model` port; over HTTP `OpenAIChatCompletionsModel`, or the adapter of another protocol."""

from __future__ import annotations

from collections.abc import AsyncGenerator
from typing import Any

from agentsdk import (
    Agent,
    FunctionCall,
    Message,
    Model,
    ModelRequest,
    ModelResponse,
    OpenAIChatCompletionsModel,
    OutputTextDelta,
    RunConfig,
    RunLimits,
    Runner,
    RunResult,
    RunState,
    aclose,
    function_tool,
    set_max_connections,
)
from agentsdk.events import ModelStreamEvent, ResponseCompleted
from benchmarks import fake

SHARED = True
NO_PAUSE = ""

NO_LIMIT = RunConfig(limits=RunLimits(turns=None))


def make_agent(url: str | None, script: str, *, gated: bool = False, protocol: str = "chat") -> Agent[Any, Any]:
    model = FakeModel() if url is None else http_model(url, script, protocol)
    tools = [function_tool(fake.add)]
    if gated:
        tools.append(function_tool(fake.publish, needs_approval=True))
    return Agent("accountant", instructions=fake.INSTRUCTIONS, tools=tools, model=model)


def http_model(url: str, script: str, protocol: str) -> Model:
    if protocol == "responses":
        from agentsdk.models.openai_responses import OpenAIResponsesModel

        return OpenAIResponsesModel(script, base_url=url, api_key="none")
    if protocol == "anthropic":
        from agentsdk.models.anthropic import AnthropicModel

        return AnthropicModel(script, base_url=url, api_key="none")
    if protocol == "google":
        from agentsdk.models.google import GoogleModel

        return GoogleModel(script, base_url=url.removesuffix("/v1"), api_key="none")
    return OpenAIChatCompletionsModel(script, base_url=url, api_key="none")


async def run(agent: Agent[Any, Any]) -> str:
    return (await Runner.run(agent, fake.PROMPT, run_config=NO_LIMIT)).final_output


async def stream(agent: Agent[Any, Any]) -> tuple[int, str]:
    result = Runner.run_streamed(agent, fake.PROMPT, run_config=NO_LIMIT)
    pieces: list[str] = []
    async for event in result:
        if event.type == "raw_response_event" and isinstance(event.data, OutputTextDelta):
            pieces.append(event.data.delta)
    assert result.final_output == "".join(pieces)
    return len(pieces), result.final_output


async def limit_connections(count: int) -> None:
    await aclose()
    set_max_connections(count)


async def pause(agent: Agent[Any, Any]) -> RunResult[Any]:
    result = await Runner.run(agent, fake.PROMPT, run_config=NO_LIMIT)
    assert result.interruptions
    return result


def dump(paused: RunResult[Any]) -> bytes:
    return paused.to_state().to_string().encode()


async def load(agent: Agent[Any, Any], data: bytes) -> RunState:
    return RunState.from_string(agent, data.decode())


async def resume(agent: Agent[Any, Any], loaded: RunState) -> str:
    for item in loaded.interruptions:
        loaded.approve(item)
    return (await Runner.run(agent, loaded, run_config=NO_LIMIT)).final_output


class FakeModel(Model):
    """`fake.answer` as a model of ours."""

    name = "fake"

    async def stream(self, request: ModelRequest) -> AsyncGenerator[ModelStreamEvent, None]:
        reply = await fake.answer()
        if request.stream:
            for delta in reply.deltas:
                yield OutputTextDelta(delta)
        if reply.calls:
            calls = tuple(FunctionCall(call.id, call.name, call.arguments) for call in reply.calls)
            yield ResponseCompleted(ModelResponse(calls, finish="tool_calls"))
        else:
            yield ResponseCompleted(ModelResponse((Message("assistant", reply.text),)))
