"""Three adapters against llama.cpp's own endpoints, the server of `LocalModel`: one that we did not write.

A 135M model chooses badly: protocol and accounting are asserted, never sense.
"""

from __future__ import annotations

from collections.abc import Iterator
from importlib.util import find_spec

import pytest

from agentsdk.models.anthropic import AnthropicModel
from agentsdk.models.http_model import HttpModel
from agentsdk.models.local.server import Address, ServerOptions, shared_server
from agentsdk.models.local.weights import find_weights
from agentsdk.models.openai_chat import OpenAIChatCompletionsModel
from agentsdk.models.openai_responses import OpenAIResponsesModel
from agentsdk.types.deltas import ResponseCompleted
from agentsdk.types.errors import UserError
from agentsdk.types.items import FunctionCall, FunctionCallOutput, Item, Message
from agentsdk.types.settings import ModelSettings
from agentsdk.types.spec import ToolSpec
from tests.models.wire import events_of, request, shown_text

try:
    find_weights("smollm2")
except UserError as missing:
    pytest.skip(str(missing), allow_module_level=True)
if find_spec("xllamacpp") is None:
    pytest.skip("xllamacpp is not installed", allow_module_level=True)

pytestmark = pytest.mark.anyio


@pytest.fixture(scope="module")
def address() -> Iterator[Address]:
    server = shared_server(ServerOptions(str(find_weights("smollm2")), context=4096, parallel=2, threads=1))
    yield server.start(120, lambda line: None)
    server.stop()


@pytest.mark.parametrize("adapter", [OpenAIChatCompletionsModel, OpenAIResponsesModel, AnthropicModel])
@pytest.mark.parametrize("streamed", [False, True])
async def test_a_conversation_with_a_tool(address: Address, adapter: type[HttpModel], streamed: bool) -> None:
    schema: dict[str, object] = {"type": "object", "properties": {"a": {"type": "integer"}}}
    items: list[Item] = [
        Message("user", "Add 1 to 2."),
        FunctionCall("call_1", "add", '{"a":2}'),
        FunctionCallOutput("call_1", "3"),
        Message("user", "And what is that?"),
    ]
    settings = ModelSettings(max_tokens=40, temperature=0.0)
    asked = request(stream=streamed, items=items, tools=(ToolSpec("add", "Adds 1.", schema),), settings=settings)
    events = await events_of(adapter("smollm2", base_url=f"{address.base_url}/v1", api_key=address.key), asked)
    last = events[-1]
    assert isinstance(last, ResponseCompleted)
    assert last.response.finish in ("stop", "tool_calls", "length")
    assert last.response.output
    assert last.response.usage.known
    assert last.response.usage.input_tokens > 10
    assert shown_text(events) == (last.response.text if streamed else "")
