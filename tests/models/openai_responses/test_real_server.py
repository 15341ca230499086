"""The adapter against llama.cpp's own Responses endpoint: a server that we did not write.

A 135M model chooses badly: protocol and accounting are asserted, never sense.
"""

from __future__ import annotations

from collections.abc import Iterator
from importlib.util import find_spec

import pytest

from agentsdk.models.local.server import ServerOptions, shared_server
from agentsdk.models.local.weights import find_weights
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
def model() -> Iterator[OpenAIResponsesModel]:
    server = shared_server(ServerOptions(str(find_weights("smollm2")), context=4096, parallel=2, threads=1))
    address = server.start(120, lambda line: None)
    yield OpenAIResponsesModel("smollm2", base_url=f"{address.base_url}/v1", api_key=address.key)
    server.stop()


@pytest.mark.parametrize("streamed", [False, True])
async def test_a_conversation_with_a_tool(model: OpenAIResponsesModel, streamed: bool) -> None:
    schema: dict[str, object] = {"type": "object", "properties": {"a": {"type": "integer"}}}
    items: list[Item] = [
        Message("user", "Add 1 to 2."),
        FunctionCall("call_1", "add", '{"a":2}'),
        FunctionCallOutput("call_1", "3"),
        Message("user", "And what is that?"),
    ]
    settings = ModelSettings(max_tokens=40, temperature=0.0)
    asked = request(stream=streamed, items=items, tools=(ToolSpec("add", "Adds 1.", schema),), settings=settings)
    events = await events_of(model, asked)
    last = events[-1]
    assert isinstance(last, ResponseCompleted)
    assert last.response.finish in ("stop", "tool_calls", "length")
    assert last.response.output
    assert last.response.usage.known
    assert last.response.usage.input_tokens > 10
    assert shown_text(events) == (last.response.text if streamed else "")
