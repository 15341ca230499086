"""What `AnthropicModel` sends. What it makes of replies is in `test_reply.py` and `test_stop_reasons.py`."""

from __future__ import annotations

import json
from typing import Any

import pytest

from agentsdk.models.anthropic import AnthropicModel
from agentsdk.testing import call
from agentsdk.testing.anthropic_dialect import FakeAnthropicServer
from agentsdk.types.errors import (
    UserError,
)
from agentsdk.types.items import FunctionCall, FunctionCallOutput, Item, Message
from agentsdk.types.settings import ModelSettings
from agentsdk.types.spec import OutputSpec, ToolSpec
from agentsdk.types.tape import Tape
from tests.models.anthropic.replies import OFFLINE, body_of
from tests.models.anthropic.server import model_at
from tests.models.wire import ask, request

pytestmark = pytest.mark.anyio

SCHEMA: dict[str, object] = {"type": "object", "properties": {"a": {"type": "integer"}}}
TOOL = ToolSpec("add", "adds", SCHEMA)


# What is sent


SETTINGS = ModelSettings(
    temperature=0.5,
    top_p=0.9,
    max_tokens=50,
    stop=("END",),
    tool_choice="add",
    parallel_tool_calls=False,
    reasoning_effort="low",
    metadata={"user_id": "u"},
    extra_body={
        "thinking": {"type": "adaptive"},
        "output_config": {"x": 1},
        "tools": [{"type": "web_search_20250305", "name": "web_search"}],
    },
    extra_headers={"Anthropic-Beta": "b"},
)


async def test_the_request() -> None:
    items: list[Item] = [Message("system", "Lead."), Message("user", "hi"), call("add"), FunctionCallOutput("", "2")]
    asked = request(
        stream=True,
        items=items,
        instructions="Be brief.",
        tail=(Message("user", "now"),),
        tools=(TOOL,),
        output=OutputSpec("answer", SCHEMA),
        settings=SETTINGS,
    )
    async with FakeAnthropicServer(["ok"]) as server:
        await ask(model_at(server, headers={"X-Org": "o"}, cache="1h", strict_tools=True), asked)
    sent = server.requests[0]
    body = sent.json
    assert list(body)[-1] == "messages"
    messages: Any = body.pop("messages")
    assert [message["role"] for message in messages] == ["user", "assistant", "user"]
    assert body == {
        "model": "claude-test",
        "max_tokens": 50,
        "temperature": 0.5,
        "top_p": 0.9,
        "stop_sequences": ["END"],
        "metadata": {"user_id": "u"},
        "cache_control": {"type": "ephemeral", "ttl": "1h"},
        "stream": True,
        "system": "Be brief.\n\nLead.",
        "thinking": {"type": "adaptive"},
        "output_config": {"format": {"type": "json_schema", "schema": SCHEMA}, "effort": "low", "x": 1},
        "tools": [
            {"name": "add", "description": "adds", "input_schema": SCHEMA, "strict": True},
            {"type": "web_search_20250305", "name": "web_search"},
        ],
        "tool_choice": {"type": "tool", "name": "add", "disable_parallel_tool_use": True},
    }
    assert sent.path == "/v1/messages"
    assert (sent.headers["x-api-key"], sent.headers["anthropic-version"]) == ("sk-canary-0123456789", "2023-06-01")
    assert (sent.headers["x-org"], sent.headers["anthropic-beta"]) == ("o", "b")
    assert "authorization" not in sent.headers


def test_a_bare_request_sends_nothing_it_need_not() -> None:
    model = AnthropicModel("m", base_url=OFFLINE)
    settings = ModelSettings(tool_choice="required", parallel_tool_calls=False)
    messages = [{"role": "user", "content": [{"type": "text", "text": "hi"}]}]
    assert body_of(model, settings=settings) == {"model": "m", "max_tokens": 8192, "stream": False, "messages": messages}
    assert body_of(AnthropicModel("m", base_url=OFFLINE, max_tokens=7))["max_tokens"] == 7


@pytest.mark.parametrize(
    ("choice", "parallel", "sent"),
    [
        (None, None, None),
        (None, True, None),
        (None, False, {"type": "auto", "disable_parallel_tool_use": True}),
        ("auto", None, {"type": "auto"}),
        ("required", None, {"type": "any"}),
        ("none", False, {"type": "none"}),
        ("add", True, {"type": "tool", "name": "add"}),
    ],
)
def test_tool_choice(choice: Any, parallel: bool | None, sent: Any) -> None:
    settings = ModelSettings(tool_choice=choice, parallel_tool_calls=parallel)
    assert body_of(AnthropicModel("m", base_url=OFFLINE), tools=(TOOL,), settings=settings).get("tool_choice") == sent


@pytest.mark.parametrize(
    "settings",
    [
        ModelSettings(seed=1),
        ModelSettings(frequency_penalty=0.0),
        ModelSettings(presence_penalty=0.5),
        ModelSettings(metadata={"k": "v"}),
        ModelSettings(extra_body={"messages": []}),
        ModelSettings(extra_body={"system": "x"}),
    ],
    ids=str,
)
def test_what_the_api_does_not_have_is_refused_before_any_request(settings: ModelSettings) -> None:
    with pytest.raises(UserError):
        AnthropicModel("m", base_url=OFFLINE).stream(request(settings=settings))


@pytest.mark.parametrize(("native", "strict", "is_native"), [(True, True, True), (True, False, False), (False, True, False)])
def test_a_schema_that_is_not_enforced_stands_in_the_instructions(native: bool, strict: bool, is_native: bool) -> None:
    body = body_of(AnthropicModel("m", base_url=OFFLINE, native_output=native), output=OutputSpec("answer", SCHEMA, strict))
    assert ("output_config" in body) == is_native
    assert (json.dumps(SCHEMA, separators=(",", ":")) in body.get("system", "")) != is_native


def test_each_request_begins_with_the_one_before() -> None:
    model = AnthropicModel("m", base_url=OFFLINE, cache="5m")
    tape, tools = Tape[Item]([Message("user", "hi")]), (TOOL,)
    sent = model.body(request(items=tape, tools=tools, instructions="x")).removesuffix(b"]}")
    for turn in range(5):
        tape = tape.extended([FunctionCall(str(turn), "add", "{}"), FunctionCallOutput(str(turn), "x")])
        grown = model.body(request(items=tape, tools=tools, instructions="x")).removesuffix(b"]}")
        assert grown.startswith(sent)
        sent = grown


@pytest.mark.parametrize(
    "base_url", ["http://127.0.0.1:9", "http://127.0.0.1:9/", "http://127.0.0.1:9/v1", "http://127.0.0.1:9/v1/"]
)
def test_the_address_may_end_in_its_version(base_url: str) -> None:
    assert AnthropicModel("m", base_url=base_url)._url_for(request()) == "http://127.0.0.1:9/v1/messages"


async def test_the_environment_is_the_default(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ANTHROPIC_API_KEY", "sk-env")
    async with FakeAnthropicServer(["one", "two"]) as server:
        await ask(AnthropicModel("m", base_url=server.base_url), request())
        monkeypatch.setenv("ANTHROPIC_BASE_URL", server.base_url)
        await ask(AnthropicModel("m"), request())
    assert [sent.headers.get("x-api-key") for sent in server.requests] == [None, "sk-env"]


def test_a_missing_key_is_named_with_its_remedy(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("ANTHROPIC_API_KEY", raising=False)
    monkeypatch.delenv("ANTHROPIC_BASE_URL", raising=False)
    with pytest.raises(UserError, match="ANTHROPIC_API_KEY"):
        AnthropicModel("m").stream(request())
