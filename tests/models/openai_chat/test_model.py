"""What `OpenAIChatCompletionsModel` sends. What it makes of replies is in `test_reply.py` and `test_reply_errors.py`."""

from __future__ import annotations

import json

import pytest

from agentsdk.models.openai_chat import OpenAIChatCompletionsModel
from agentsdk.testing import FakeOpenAIServer, ServerReply
from agentsdk.types.errors import (
    ProviderError,
    UserError,
)
from agentsdk.types.items import FunctionCall, FunctionCallOutput, Item, Message
from agentsdk.types.settings import ModelRetrySettings, ModelSettings
from agentsdk.types.spec import OutputSpec, ToolSpec
from agentsdk.types.tape import Tape
from agentsdk.types.usage import Usage
from tests.models.wire import ask, model_at, request

pytestmark = pytest.mark.anyio

KEY = "sk-canary-0123456789"
SCHEMA: dict[str, object] = {"type": "object", "properties": {"a": {"type": "integer"}}}
TOOL = ToolSpec("add", "adds", SCHEMA)


# What is sent


SETTINGS = ModelSettings(
    temperature=0.5,
    top_p=0.9,
    max_tokens=50,
    stop=("END",),
    seed=7,
    tool_choice="add",
    parallel_tool_calls=False,
    reasoning_effort="low",
    metadata={"k": "v"},
    extra_body={"vendor": {"x": 1}, "seed": 8},
    extra_headers={"X-Trace": "t"},
)


async def test_the_request() -> None:
    items: list[Item] = [Message("user", "hi"), FunctionCall("1", "add", "{}"), FunctionCallOutput("1", "2")]
    asked = request(
        stream=True,
        items=items,
        instructions="Be brief.",
        tail=(Message("user", "now"),),
        tools=(TOOL,),
        output=OutputSpec("answer", SCHEMA),
        settings=SETTINGS,
    )
    async with FakeOpenAIServer(["ok"]) as server:
        await ask(model_at(server, headers={"X-Org": "o"}), asked)
    sent = server.requests[0]
    body = sent.json
    messages = body.pop("messages")
    assert [message["role"] for message in messages] == ["system", "user", "assistant", "tool", "user"]  # type: ignore[attr-defined]
    function = {"name": "add", "description": "adds", "parameters": SCHEMA, "strict": True}
    assert body == {
        "model": "gpt-test",
        "temperature": 0.5,
        "top_p": 0.9,
        "max_tokens": 50,
        "stop": ["END"],
        "seed": 8,
        "reasoning_effort": "low",
        "metadata": {"k": "v"},
        "tools": [{"type": "function", "function": function}],
        "tool_choice": {"type": "function", "function": {"name": "add"}},
        "parallel_tool_calls": False,
        "response_format": {"type": "json_schema", "json_schema": {"name": "answer", "schema": SCHEMA, "strict": True}},
        "stream": True,
        "stream_options": {"include_usage": True},
        "vendor": {"x": 1},
    }
    assert sent.path == "/v1/chat/completions"
    assert sent.headers["authorization"] == f"Bearer {KEY}"
    assert sent.headers["idempotency-key"] == "req-7"
    assert (sent.headers["x-org"], sent.headers["x-trace"]) == ("o", "t")


async def test_a_bare_request_sends_nothing_it_need_not() -> None:
    async with FakeOpenAIServer(["ok"]) as server:
        asked = request(settings=ModelSettings(tool_choice="required", parallel_tool_calls=True))
        await ask(model_at(server, api_key=None), asked)
    sent = server.requests[0]
    assert sent.json == {"model": "gpt-test", "stream": False, "messages": [{"role": "user", "content": "hi"}]}
    assert "authorization" not in sent.headers


async def test_usage_need_not_be_asked_for() -> None:
    async with FakeOpenAIServer(["ok"]) as server:
        response = await ask(model_at(server, include_usage=False), request(stream=True))
    assert "stream_options" not in server.requests[0].json
    assert response.usage == Usage(requests=1, known=False)


async def test_an_unchanged_history_is_not_encoded_again() -> None:
    tape, tools = Tape[Item]([Message("user", "hi")]), (TOOL,)
    async with FakeOpenAIServer(["ok"]) as server:
        model = model_at(server)
        bodies = {model.body(request(items=tape, tools=tools)) for _ in range(3)}
        assert len(bodies) == 1
        assert model._encoded_tools(tools) is model._encoded_tools(tools)
        for _ in range(200):
            model._encoded_tools((ToolSpec("t", "", {}),))
        assert len(model._tools) <= 64


async def test_which_field_caps_the_output() -> None:
    asked = request(settings=ModelSettings(max_tokens=5))
    at_openai = OpenAIChatCompletionsModel("m", api_key="k")
    elsewhere = OpenAIChatCompletionsModel("m", base_url="http://127.0.0.1:9/v1")
    chosen = OpenAIChatCompletionsModel("m", base_url="http://127.0.0.1:9/v1", max_tokens_field="max_completion_tokens")
    fields = [set(json.loads(model.body(asked))) - {"model", "messages", "stream"} for model in (at_openai, elsewhere, chosen)]
    assert fields == [{"max_completion_tokens"}, {"max_tokens"}, {"max_completion_tokens"}]


# Keys, addresses and headers


async def test_the_environment_is_the_default(monkeypatch: pytest.MonkeyPatch) -> None:
    async with FakeOpenAIServer(["one"]) as server:
        monkeypatch.setenv("OPENAI_BASE_URL", f"{server.base_url}/")
        monkeypatch.setenv("OPENAI_API_KEY", "sk-env")
        response = await ask(OpenAIChatCompletionsModel("gpt-test"), request())
    assert response.text == "one"
    assert server.requests[0].headers["authorization"] == "Bearer sk-env"


async def test_the_key_of_the_environment_goes_nowhere_else(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "sk-env")
    async with FakeOpenAIServer(["one"]) as server:
        await ask(OpenAIChatCompletionsModel("gpt-test", base_url=server.base_url), request())
    assert "authorization" not in server.requests[0].headers


def test_a_missing_key_is_named_with_its_remedy() -> None:
    model = OpenAIChatCompletionsModel("gpt-test")
    with pytest.raises(UserError, match="OPENAI_API_KEY"):
        model.stream(request())


@pytest.mark.parametrize(
    "url", ["", "api.openai.com", "ftp://x/v1", "http://", "https://u:p@x/v1", "https://x/v1?a=b", "http://[", "http://x:0"]
)
def test_an_unusable_base_url_is_refused(url: str) -> None:
    with pytest.raises(UserError, match="base_url"):
        OpenAIChatCompletionsModel("m", base_url=url)


@pytest.mark.parametrize("key", [f"{KEY}\n", f" {KEY}", f"{KEY}é", f"{KEY}\r\nx: y"])
def test_an_unusable_key_is_refused_and_not_shown(key: str) -> None:
    with pytest.raises(UserError, match="api_key") as caught:
        OpenAIChatCompletionsModel("m", base_url="http://127.0.0.1:9", api_key=key)
    assert "canary" not in str(caught.value)
    with pytest.raises(UserError, match="X-Y"):
        OpenAIChatCompletionsModel("m", base_url="http://127.0.0.1:9", headers={"X-Y": key})


def test_messages_in_the_extra_body_are_refused() -> None:
    model = OpenAIChatCompletionsModel("m", base_url="http://127.0.0.1:9")
    with pytest.raises(UserError, match="extra_body"):
        model.body(request(settings=ModelSettings(extra_body={"messages": []})))


async def test_the_key_is_in_no_repr_and_no_error() -> None:
    told = {"error": {"message": f"Incorrect API key provided: {KEY}", "code": f"bad {KEY}"}}
    async with FakeOpenAIServer([ServerReply(status=401, body=told), ServerReply(body=told)]) as server:
        model = model_at(server, retry=ModelRetrySettings(max_retries=0))
        assert "canary" not in repr(model)
        for _ in range(2):
            with pytest.raises(ProviderError) as caught:
                await ask(model, request())
            assert "canary" not in f"{caught.value!r}{caught.value.code}{caught.value.__cause__!r}"
            assert "***" in str(caught.value)


async def test_a_server_that_takes_no_schema_is_told_it_in_words() -> None:
    trip = OutputSpec("Trip", {"type": "object", "properties": {"city": {"type": "string"}}})
    asked = request(output=trip, instructions="Be brief.")
    model = OpenAIChatCompletionsModel("m", base_url="http://127.0.0.1:9/v1", native_output=False)
    body = json.loads(model.body(asked))
    assert "response_format" not in body
    system = body["messages"][0]["content"]
    assert system.startswith("Be brief.") and '"city"' in system and "JSON Schema" in system
