"""Sessions, tracing processors and models of a program's own, with every method; and openai's clients, against a server."""

from __future__ import annotations

from collections.abc import AsyncIterator
from typing import Any

import pytest
from openai import AsyncOpenAI
from openai.types.responses import ResponseOutputMessage, ResponseTextDeltaEvent

from agentsdk.compat.openai_agents import (
    Agent,
    ModelResponse,
    ModelSettings,
    OpenAIChatCompletionsModel,
    OpenAIResponsesModel,
    ProgrammaticToolCallingTool,
    RunConfig,
    Runner,
    ShellTool,
    Span,
    Trace,
    TracingProcessor,
    Usage,
    UserError,
    function_tool,
    set_default_openai_api,
    set_default_openai_client,
    set_trace_processors,
    trace,
)
from agentsdk.compat.openai_agents._config import Defaults
from agentsdk.compat.openai_agents.memory import SessionABC
from agentsdk.compat.openai_agents.models.interface import Model
from agentsdk.compat.openai_agents.testing import ScriptedModel, assistant_message, function_call
from agentsdk.models.shared_client import aclose
from benchmarks.compat.server import serve

pytestmark = pytest.mark.anyio


@function_tool
async def add(a: int, b: int) -> int:
    return a + b


class ListSession(SessionABC):
    def __init__(self) -> None:
        self.session_id = "list"
        self.items: list[Any] = []

    async def get_items(self, limit: int | None = None) -> list[Any]:
        return list(self.items) if limit is None else self.items[-limit:]

    async def add_items(self, items: list[Any]) -> None:
        self.items += items

    async def pop_item(self) -> Any | None:
        return self.items.pop() if self.items else None

    async def clear_session(self) -> None:
        self.items.clear()


class Told(TracingProcessor):
    def __init__(self) -> None:
        self.seen: list[str] = []

    def on_trace_start(self, trace: Trace) -> None:
        self.seen.append(f"trace {trace.name}")

    def on_trace_end(self, trace: Trace) -> None:
        self.seen.append("trace ends")

    def on_span_start(self, span: Span[Any]) -> None:
        pass

    def on_span_end(self, span: Span[Any]) -> None:
        self.seen.append(span.span_data.type)
        assert span.export() is not None

    def shutdown(self) -> None:
        pass

    def force_flush(self) -> None:
        pass


async def test_a_session_of_the_program_s_own_and_a_callback_over_it() -> None:
    session = ListSession()
    model = ScriptedModel([[assistant_message("one")], [assistant_message("two")]])
    agent = Agent(name="A", model=model)
    await Runner.run(agent, "first", session=session)

    def newest(history: list[Any], new: list[Any]) -> list[Any]:
        return [*history[-1:], *new]

    await Runner.run(agent, "second", session=session, run_config=RunConfig(session_input_callback=newest))
    assert model.last_call is not None and len(model.last_call.input) == 2
    texts = [item["content"] if isinstance(item["content"], str) else item["content"][0]["text"] for item in session.items]
    assert texts == ["first", "one", "second", "two"]


async def test_a_processor_of_the_program_s_own_is_told_of_the_run() -> None:
    told = Told()
    set_trace_processors([told])
    try:
        steps = [[function_call("add", {"a": 1, "b": 2}, call_id="c")], [assistant_message("3")]]
        with trace("Sums"):
            await Runner.run(Agent(name="A", tools=[add], model=ScriptedModel(steps)), "1 + 2?")
    finally:
        set_trace_processors([])
    assert told.seen[0] == "trace Sums" and told.seen[-1] == "trace ends"
    assert told.seen[1:-1] == ["function", "turn", "turn", "agent", "task"]


async def test_a_model_of_the_program_s_own_is_given_its_arguments() -> None:
    given: dict[str, Any] = {}

    class Echo(Model):
        async def get_response(self, *args: Any, **named: Any) -> ModelResponse:
            given.update(named, positional=args)
            return ModelResponse([assistant_message("echo")], Usage(requests=1, input_tokens=2, total_tokens=2), "r1")

        async def stream_response(self, *args: Any, **named: Any) -> AsyncIterator[Any]:
            raise NotImplementedError
            yield

    result = await Runner.run(Agent(name="A", model=Echo(), tools=[add]), "x", previous_response_id="r0")
    assert result.last_response_id == "r1" and result.context_wrapper.usage.total_tokens == 2
    assert given["tools"] == [add] and given["previous_response_id"] == "r0" and given["input"]


async def test_openai_s_client_is_read_and_the_last_default_counts() -> None:
    server, address = serve()
    nowhere = AsyncOpenAI(api_key="sk-test", base_url="http://127.0.0.1:9/v1")
    client = AsyncOpenAI(api_key="sk-test", base_url=address)
    try:
        chat = Agent(name="A", tools=[add], model=OpenAIChatCompletionsModel(model="m", openai_client=client))
        result = await Runner.run(chat, "x")
        assert [item.type for item in result.new_items] == ["tool_call_item", "tool_call_output_item", "message_output_item"]
        set_default_openai_client(nowhere)
        set_default_openai_client(client)
        set_default_openai_api("responses")
        stream = Runner.run_streamed(Agent(name="B", model="gpt-4.1"), "x")
        kinds = [event.data async for event in stream.stream_events() if event.type == "raw_response_event"]
        assert any(isinstance(data, ResponseTextDeltaEvent) for data in kinds)
        assert isinstance(stream.new_items[-1].raw_item, ResponseOutputMessage)
        assert stream.context_wrapper.usage.total_tokens == 15
    finally:
        Defaults.client = None
        await client.close()
        await nowhere.close()
        await aclose()
        server.shutdown()
        server.server_close()


async def test_a_shell_in_a_container_is_the_provider_s() -> None:
    server, address = serve()
    client = AsyncOpenAI(api_key="sk-test", base_url=address)
    shell = ShellTool(environment={"type": "container_auto", "network_policy": {"type": "disabled"}})
    try:
        model = OpenAIResponsesModel(model="m", openai_client=client)
        result = await Runner.run(Agent(name="A", tools=[shell, add], model=model), "x")
        assert [getattr(item.raw_item, "type", "") for item in result.new_items][-3:] == [
            "shell_call",
            "shell_call_output",
            "message",
        ]
        stream = Runner.run_streamed(Agent(name="A", tools=[shell], model=model), "x")
        assert [event.name async for event in stream.stream_events() if event.type == "run_item_stream_event"]
        reply = await model.get_response(None, "x", ModelSettings(), [shell], None, [])
        assert [item.type for item in reply.output] == ["shell_call", "shell_call_output", "message"]
        chat = OpenAIChatCompletionsModel(model="m", openai_client=client)
        with pytest.raises(UserError, match="has no ShellTool that the provider runs"):
            await Runner.run(Agent(name="A", tools=[shell], model=chat), "x")
        with pytest.raises(UserError, match="take no ProgrammaticToolCallingTool"):
            await Runner.run(Agent(name="A", tools=[ProgrammaticToolCallingTool()], model=model), "x")
    finally:
        await client.close()
        await aclose()
        server.shutdown()
        server.server_close()
