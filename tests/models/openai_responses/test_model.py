"""What `OpenAIResponsesModel` sends. What it makes of replies is in `test_reply.py` and `test_reply_errors.py`."""

from __future__ import annotations

import json
from typing import Any

import pytest

from agentsdk.models.openai_chat import OpenAIChatCompletionsModel
from agentsdk.models.openai_responses import OpenAIResponsesModel
from agentsdk.testing.responses_dialect import FakeResponsesServer
from agentsdk.types.errors import (
    UserError,
)
from agentsdk.types.items import (
    FunctionCall,
    FunctionCallOutput,
    Item,
    Message,
    Reasoning,
)
from agentsdk.types.settings import ModelSettings
from agentsdk.types.spec import OutputSpec, ToolSpec
from tests.models.openai_responses.server import model_at
from tests.models.wire import ask, request

pytestmark = pytest.mark.anyio

SCHEMA: dict[str, object] = {"type": "object", "properties": {"a": {"type": "integer"}}}
TOOL = ToolSpec("add", "adds", SCHEMA)


# What is sent


SETTINGS = ModelSettings(
    temperature=0.5,
    top_p=0.9,
    max_tokens=50,
    tool_choice="add",
    parallel_tool_calls=False,
    reasoning_effort="low",
    metadata={"k": "v"},
    extra_body={
        "reasoning": {"summary": "auto"},
        "text": {"verbosity": "low"},
        "include": ["web_search_call.action.sources"],
        "tools": [{"type": "web_search"}],
        "truncation": "auto",
    },
    extra_headers={"X-Trace": "t"},
)


async def test_the_request() -> None:
    asked = request(
        stream=True,
        items=[Message("user", "hi"), FunctionCall("1", "add", "{}"), FunctionCallOutput("1", "2")],
        instructions="Be brief.",
        tail=(Message("user", "now"),),
        tools=(TOOL,),
        output=OutputSpec("answer", SCHEMA),
        settings=SETTINGS,
    )
    async with FakeResponsesServer(["ok"]) as server:
        await ask(model_at(server, headers={"X-Org": "o"}, encrypted_reasoning=True), asked)
    sent = server.requests[0]
    fields = sent.json
    assert [entry.get("role") or entry["type"] for entry in fields.pop("input")] == [  # type: ignore[attr-defined]
        "user",
        "function_call",
        "function_call_output",
        "user",
    ]
    function = {"type": "function", "name": "add", "description": "adds", "parameters": SCHEMA, "strict": True}
    assert fields == {
        "model": "gpt-test",
        "temperature": 0.5,
        "top_p": 0.9,
        "metadata": {"k": "v"},
        "max_output_tokens": 50,
        "reasoning": {"effort": "low", "summary": "auto"},
        "tools": [function, {"type": "web_search"}],
        "tool_choice": {"type": "function", "name": "add"},
        "parallel_tool_calls": False,
        "text": {
            "format": {"type": "json_schema", "name": "answer", "schema": SCHEMA, "strict": True},
            "verbosity": "low",
        },
        "instructions": "Be brief.",
        "stream": True,
        "store": False,
        "include": ["reasoning.encrypted_content", "web_search_call.action.sources"],
        "truncation": "auto",
    }
    assert sent.path == "/v1/responses"
    assert sent.headers["authorization"] == "Bearer sk-canary-0123456789"
    assert (sent.headers["idempotency-key"], sent.headers["x-org"], sent.headers["x-trace"]) == ("req-7", "o", "t")


async def test_a_bare_request_sends_nothing_it_need_not() -> None:
    async with FakeResponsesServer(["ok"]) as server:
        await ask(model_at(server, api_key=None), request(settings=ModelSettings(tool_choice="required")))
    sent = server.requests[0]
    wanted = {"model": "gpt-test", "stream": False, "store": False, "input": [{"role": "user", "content": "hi"}]}
    assert sent.json == wanted
    assert "authorization" not in sent.headers


@pytest.mark.parametrize("choice", ["auto", "none", "required"])
def test_tool_choices_that_name_no_tool(choice: str) -> None:
    model = OpenAIResponsesModel("m", base_url="http://127.0.0.1:9")
    sent = json.loads(model.body(request(tools=(TOOL,), settings=ModelSettings(tool_choice=choice))))
    assert sent["tool_choice"] == choice


@pytest.mark.parametrize(
    ("name", "options", "asks"),
    [
        ("gpt-5", {}, True),
        ("o3", {}, True),
        ("gpt-4o", {}, False),
        ("gpt-4.1-mini", {}, False),
        ("gpt-5-chat-latest", {}, False),
        ("gpt-4o", {"encrypted_reasoning": True}, True),
        ("gpt-5", {"encrypted_reasoning": False}, False),
        ("gpt-5", {"base_url": "http://127.0.0.1:9"}, False),
    ],
)
def test_sealed_reasoning_is_asked_for_where_it_exists(name: str, options: dict[str, Any], asks: bool) -> None:
    sent = json.loads(OpenAIResponsesModel(name, api_key="k", **options).body(request()))
    assert ("include" in sent) == asks


def test_replies_are_stored_only_on_request() -> None:
    assert json.loads(OpenAIResponsesModel("m", api_key="k", store=True).body(request()))["store"] is True


@pytest.mark.parametrize("setting", [{"stop": ("x",)}, {"seed": 1}, {"frequency_penalty": 0.5}, {"presence_penalty": 0.5}])
def test_settings_that_the_api_does_not_have(setting: dict[str, Any]) -> None:
    with pytest.raises(UserError, match=next(iter(setting))):
        OpenAIResponsesModel("m", api_key="k").stream(request(settings=ModelSettings(**setting)))


@pytest.mark.parametrize("extra", [{"input": []}, {"background": True}])
def test_an_extra_body_that_the_run_cannot_have(extra: dict[str, Any]) -> None:
    with pytest.raises(UserError, match="extra_body"):
        OpenAIResponsesModel("m", api_key="k").body(request(settings=ModelSettings(extra_body=extra)))


def test_tools_are_encoded_once() -> None:
    model, tools = OpenAIResponsesModel("m", api_key="k"), (TOOL,)
    assert model._encoded_tools(tools) is model._encoded_tools(tools)


async def test_the_environment_is_the_default(monkeypatch: pytest.MonkeyPatch) -> None:
    async with FakeResponsesServer(["one", "two"]) as server:
        monkeypatch.setenv("OPENAI_API_KEY", "sk-env")
        await ask(OpenAIResponsesModel("gpt-test", base_url=server.base_url), request())
        monkeypatch.setenv("OPENAI_BASE_URL", server.base_url)
        await ask(OpenAIResponsesModel("gpt-test"), request())
    assert [sent.headers.get("authorization") for sent in server.requests] == [None, "Bearer sk-env"]


def test_a_missing_key_is_named_with_its_remedy() -> None:
    with pytest.raises(UserError, match="OPENAI_API_KEY"):
        OpenAIResponsesModel("gpt-5").stream(request())


def test_reasoning_does_not_cross_to_chat_completions_of_the_same_host() -> None:
    address = "http://127.0.0.1:9/v1"
    mine, chat = OpenAIResponsesModel("m", base_url=address), OpenAIChatCompletionsModel("m", base_url=address)
    items: list[Item] = [
        Message("user", "hi"),
        Reasoning("r", ("r",), "rs_1", encrypted="gAAA", provider=mine.provider),
        Reasoning("r", id="reasoning_content", provider=chat.provider),
        Message("assistant", "a", "msg_1"),
    ]
    assert json.loads(mine.body(request(items=items)))["input"][1:] == [{"role": "assistant", "content": "a"}]
    answer = json.loads(chat.body(request(items=items)))["messages"][1]
    assert answer == {"role": "assistant", "content": "a", "reasoning_content": "r"}


async def test_json_mode_is_spoken_of_in_the_input() -> None:
    """The API refuses it otherwise, whatever the instructions say."""
    output = OutputSpec("answer", SCHEMA, mode="json")
    asked = request(items=[Message("user", "hi")], instructions="Be brief.", output=output)
    fields = json.loads(bytes(OpenAIResponsesModel("m", base_url="http://127.0.0.1:9").body(asked)))
    assert fields["text"] == {"format": {"type": "json_object"}}
    assert [entry["content"] for entry in fields["input"]] == ["Answer with JSON.", "hi"]
    assert fields["instructions"].startswith("Be brief.\n\nGive your final answer as JSON")
