"""`LocalModel` over llama.cpp's real server.

A 135M model chooses badly: protocol, schema and accounting are asserted, never sense.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Iterator
from contextlib import aclosing, asynccontextmanager
from importlib.util import find_spec
from typing import Any

import httpx
import psutil
import pytest
from msgspec import structs

from agentsdk.hosted_tools import WebSearchTool
from agentsdk.models.local import LocalModel
from agentsdk.models.local.server import LocalServer, ServerOptions, shared_server
from agentsdk.models.local.weights import find_weights
from agentsdk.ports.model import ModelRequest
from agentsdk.types.base import JsonObject
from agentsdk.types.deltas import (
    FunctionCallArgumentsDelta,
    ModelStreamEvent,
    OutputItemAdded,
    OutputItemDone,
    OutputTextDelta,
    ResponseCompleted,
)
from agentsdk.types.errors import (
    BadRequestError,
    ContextTooLongError,
    IncompleteResponseError,
    MalformedResponseError,
    UserError,
)
from agentsdk.types.items import FunctionCall, FunctionCallOutput, Item, Message
from agentsdk.types.response import ModelResponse
from agentsdk.types.settings import ModelSettings
from agentsdk.types.spec import HandoffSpec, OutputSpec, ToolSpec
from agentsdk.types.tape import Tape

try:
    find_weights("smollm2")
except UserError as missing:
    pytest.skip(str(missing), allow_module_level=True)
if find_spec("xllamacpp") is None:
    pytest.skip("xllamacpp is not installed", allow_module_level=True)

pytestmark = pytest.mark.anyio


def an_object(**properties: JsonObject) -> JsonObject:
    return {"type": "object", "properties": properties, "required": list(properties), "additionalProperties": False}


UNITS: JsonObject = {"enum": ["metric", "imperial"]}
WEATHER = ToolSpec("get_weather", "The weather of a city.", an_object(city={"type": "string", "maxLength": 30}, units=UNITS))
ADD = ToolSpec("add", "Add two integers.", an_object(a={"type": "integer"}, b={"type": "integer"}))
PING = ToolSpec("ping", "Ping.", an_object())
TRANSFER = HandoffSpec("transfer_to_sales", "Hand over to sales.", an_object(), "sales")
PERSON = OutputSpec("person", an_object(name={"type": "string", "maxLength": 20}, age={"type": "integer", "maximum": 120}))
QUESTION = Message("user", "What is the weather in Rome?")


@pytest.fixture(scope="module", autouse=True)
def _keeper() -> Iterator[None]:
    """Holds the one server that all tests use, so that it is started once."""
    keeper = LocalModel("smollm2", context=1024, parallel=1)
    asyncio.run(keeper.start())
    yield
    asyncio.run(keeper.aclose())


@asynccontextmanager
async def smollm2(max_tokens: int = 24) -> AsyncIterator[LocalModel]:
    async with LocalModel("smollm2", context=1024, parallel=1, max_tokens=max_tokens) as model:
        yield model


def shared(context: int) -> LocalServer:
    return shared_server(ServerOptions(str(find_weights("smollm2")), context=context, parallel=1, threads=1))


def request(
    *items: Item,
    tools: tuple[ToolSpec | HandoffSpec, ...] = (),
    output: OutputSpec | None = None,
    stream: bool = True,
    settings: ModelSettings | None = None,
) -> ModelRequest:
    settings = ModelSettings(temperature=0).resolve(settings)
    return ModelRequest(Tape(items or (QUESTION,)), tools=tools, output=output, settings=settings, stream=stream)


async def ask(model: LocalModel, asked: ModelRequest) -> tuple[list[ModelStreamEvent], ModelResponse]:
    """The events before the last one, and the reply."""
    events = [event async for event in model.stream(asked)]
    last = events.pop()
    assert isinstance(last, ResponseCompleted) and not any(isinstance(event, ResponseCompleted) for event in events)
    usage = last.response.usage
    assert usage.requests == 1 and usage.known and usage.input_tokens > 0 and usage.output_tokens > 0
    return events, last.response


def arguments_of(call: object) -> JsonObject:
    assert isinstance(call, FunctionCall) and call.call_id
    arguments: JsonObject = json.loads(call.arguments)
    return arguments


async def test_text_streams_and_is_the_same_without_streaming() -> None:
    async with smollm2() as model:
        events, streamed = await ask(model, request())
        deltas = [event.delta for event in events if isinstance(event, OutputTextDelta)]
        assert len(deltas) > 5 and "".join(deltas) == streamed.text
        assert streamed.finish in ("stop", "length") and streamed.usage.output_tokens <= 24
        events, at_once = await ask(model, request(stream=False))
        assert events == [] and at_once.text == streamed.text and at_once.finish == streamed.finish


async def test_required_gives_a_call_that_fits_its_schema() -> None:
    async with smollm2(max_tokens=80) as model:
        settings = ModelSettings(tool_choice="required")
        events, response = await ask(model, request(tools=(WEATHER,), settings=settings))
        [call] = response.output
        assert response.finish == "tool_calls"
        assert isinstance(call, FunctionCall) and call.name == "get_weather"
        assert set(arguments_of(call)) == {"city", "units"} and arguments_of(call)["units"] in ("metric", "imperial")

        assert "".join(event.delta for event in events if isinstance(event, FunctionCallArgumentsDelta)) == call.arguments
        assert [event.item for event in events if isinstance(event, OutputItemDone)] == [call]
        [added] = [event.item for event in events if isinstance(event, OutputItemAdded)]
        assert isinstance(added, FunctionCall) and (added.call_id, added.arguments) == (call.call_id, "")
        assert not any(isinstance(event, OutputTextDelta) for event in events)


async def test_a_named_tool_or_handoff_is_the_one_called() -> None:
    async with smollm2(max_tokens=80) as model:
        tools = (WEATHER, ADD, TRANSFER)
        for name in ("add", "transfer_to_sales"):
            events, response = await ask(model, request(tools=tools, stream=False, settings=ModelSettings(tool_choice=name)))
            [call] = response.output
            assert isinstance(call, FunctionCall) and call.name == name and events == []
            assert all(isinstance(value, int) for value in arguments_of(call).values())


async def test_parallel_calls_have_ids_of_their_own() -> None:
    async with smollm2(max_tokens=400) as model:
        settings = ModelSettings(tool_choice="required", parallel_tool_calls=True)
        events, response = await ask(model, request(tools=(PING,), settings=settings))
        calls = [item for item in response.output if isinstance(item, FunctionCall)]
        assert 1 <= len(calls) <= 8 and len({call.call_id for call in calls}) == len(calls)
        done = [event for event in events if isinstance(event, OutputItemDone)]
        assert [event.item for event in done] == calls and [event.output_index for event in done] == list(range(len(calls)))


async def test_none_offers_no_tool_and_auto_gives_either() -> None:
    async with smollm2() as model:
        _, without = await ask(model, request(tools=(WEATHER,), settings=ModelSettings(tool_choice="none")))
        _, bare = await ask(model, request())
        assert without.text == bare.text and without.usage.input_tokens == bare.usage.input_tokens
        asked = request(tools=(WEATHER, ADD))
        events, either = await ask(model, asked)
        assert either.usage.input_tokens > bare.usage.input_tokens
        assert isinstance(either.output[0], Message | FunctionCall)
        if either.text:
            assert "".join(event.delta for event in events if isinstance(event, OutputTextDelta)) == either.text
            assert isinstance(events[-1], OutputItemDone) and isinstance(events[-1].item, Message)


async def test_a_tool_that_is_not_there_cannot_be_asked_for() -> None:
    async with smollm2() as model:
        with pytest.raises(BadRequestError, match="'subtract'"):
            await ask(model, request(tools=(ADD,), settings=ModelSettings(tool_choice="subtract")))


async def test_a_hosted_tool_is_refused_before_anything_is_loaded() -> None:
    with pytest.raises(UserError, match="WebSearchTool is not available with LocalModel"):
        await ask(LocalModel("smollm2"), structs.replace(request(), hosted=(WebSearchTool(),)))


@pytest.mark.parametrize("settings", [{"thinking": "low"}, {"verbosity": "low"}, {"truncation": "auto"}], ids=str)
async def test_a_setting_that_it_has_not_is_refused_before_anything_is_loaded(settings: dict[str, Any]) -> None:
    model = LocalModel("smollm2")
    with pytest.raises(UserError, match=r"not available with LocalModel"):
        await ask(model, request(settings=ModelSettings(**settings)))


async def test_typed_output_fits_its_schema_with_and_without_tools() -> None:
    async with smollm2(max_tokens=80) as model:
        for tools in ((), (WEATHER,)):
            _, response = await ask(model, request(Message("user", "Anna, 31."), output=PERSON, tools=tools))
            if isinstance(response.output[0], Message):
                person = json.loads(response.text)
                assert set(person) == {"name", "age"} and isinstance(person["age"], int) and person["age"] <= 120
            else:
                assert tools


async def test_after_a_result_the_small_model_answers_unless_it_is_told_to_call() -> None:
    history = (QUESTION, FunctionCall("c1", "add", '{"a": 1, "b": 2}'), FunctionCallOutput("c1", "3"))
    async with smollm2(max_tokens=60) as model:
        _, before = await ask(model, request(tools=(ADD,), settings=ModelSettings(max_tokens=1, tool_choice="auto")))
        _, after = await ask(model, request(*history, tools=(ADD,), settings=ModelSettings(max_tokens=12)))
        assert isinstance(after.output[0], Message) and not after.text.startswith("<")
        assert after.usage.input_tokens > before.usage.input_tokens + 20
        _, again = await ask(model, request(*history, tools=(ADD,), settings=ModelSettings(tool_choice="required")))
        assert isinstance(again.output[0], FunctionCall)


@pytest.mark.parametrize("stream", [True, False])
async def test_a_cut_call_or_typed_output_is_never_taken_for_whole(stream: bool) -> None:
    async with smollm2(max_tokens=12) as model:
        with pytest.raises(IncompleteResponseError, match="middle of a call") as cut:
            await ask(model, request(tools=(WEATHER,), stream=stream, settings=ModelSettings(tool_choice="required")))
        assert cut.value.partial.startswith("<tool_call>")
        with pytest.raises(IncompleteResponseError, match="middle of a call"):
            settings = ModelSettings(tool_choice="required", max_tokens=200, stop=("arguments",))
            await ask(model, request(tools=(WEATHER,), stream=stream, settings=settings))
        with pytest.raises(IncompleteResponseError, match="typed output was truncated"):
            await ask(model, request(output=PERSON, stream=stream, settings=ModelSettings(max_tokens=3)))


async def test_a_schema_that_cannot_be_enforced_is_an_error_and_no_free_text() -> None:
    outside = ToolSpec("fetch", "Fetch.", an_object(item={"$ref": "https://example.com/schema.json"}))
    async with smollm2() as model:
        with pytest.raises(MalformedResponseError, match="did not take the grammar"):
            await ask(model, request(tools=(outside,), settings=ModelSettings(tool_choice="required")))


@pytest.mark.parametrize("stream", [True, False])
async def test_a_request_beyond_the_context_is_too_long(stream: bool) -> None:
    async with smollm2() as model:
        assert model.context_window == 1024
        with pytest.raises(ContextTooLongError, match="context"):
            await ask(model, request(Message("user", "word " * 2000), stream=stream))


async def test_leaving_a_stream_stops_the_generation() -> None:
    async with smollm2(max_tokens=900) as model, httpx.AsyncClient() as client:
        async with aclosing(model.stream(request(Message("user", "Tell a very long story.")))) as events:
            async for event in events:
                if isinstance(event, OutputTextDelta):
                    break
        address = shared(context=1024).address
        assert address is not None
        async with asyncio.timeout(60):
            slot = {"is_processing": True}
            while slot["is_processing"]:
                reply = await client.get(f"{address.base_url}/slots", headers={"Authorization": f"Bearer {address.key}"})
                [slot] = reply.json()
        assert slot["next_token"][0]["has_next_token"], "the reply was written to its end with nobody there to read it"


async def test_a_server_that_dies_is_a_typed_error_and_the_next_request_starts_another() -> None:
    async with LocalModel("smollm2", context=896, parallel=1, max_tokens=600) as model:
        with pytest.raises(IncompleteResponseError):
            async for event in model.stream(request(Message("user", "Tell a very long story."))):
                if isinstance(event, OutputTextDelta) and (pid := shared(context=896).pid) is not None:
                    process = psutil.Process(pid)
                    process.kill()
                    process.wait(10)
        _, response = await ask(model, request(settings=ModelSettings(max_tokens=3)))
        assert response.text


async def test_models_share_a_server_that_stops_with_the_last_of_them() -> None:
    before = {child.pid for child in psutil.Process().children()}
    said: list[str] = []
    first = LocalModel("smollm2", context=512, parallel=1, max_tokens=4, on_progress=said.append)
    second = LocalModel(find_weights("smollm2"), context=512, parallel=1, max_tokens=4)
    assert (first.name, second.name) == ("smollm2", "SmolLM2-135M-Instruct.Q4_1")
    await asyncio.gather(ask(first, request()), ask(second, request()))
    [pid] = {child.pid for child in psutil.Process().children()} - before
    assert len(said) == 2
    await first.aclose()
    await ask(second, request())
    assert psutil.pid_exists(pid)
    await second.aclose()
    await second.aclose()
    assert {child.pid for child in psutil.Process().children()} == before
    await ask(first, request())  # starts it again
    assert len(said) == 4
    await first.aclose()
    assert {child.pid for child in psutil.Process().children()} == before


async def test_cancelling_a_start_leaves_no_child() -> None:
    before = {child.pid for child in psutil.Process().children()}
    began = asyncio.Event()
    loop = asyncio.get_running_loop()
    model = LocalModel("smollm2", context=768, on_progress=lambda _: loop.call_soon_threadsafe(began.set))
    starting = asyncio.create_task(model.start())
    await began.wait()
    starting.cancel()
    with pytest.raises(asyncio.CancelledError):
        await starting
    assert {child.pid for child in psutil.Process().children()} == before
    await model.aclose()
