"""One conversation goes twice round seven providers, each time with reasoning and a tool: nothing is lost on the way."""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from contextlib import AsyncExitStack
from typing import Any

import pytest
from msgspec import Struct

from agentsdk import Agent, Runner, function_tool
from agentsdk.models.anthropic import AnthropicModel
from agentsdk.models.bedrock import BedrockModel
from agentsdk.models.google import GoogleModel
from agentsdk.models.http_model import HttpModel
from agentsdk.models.openai_chat import OpenAIChatCompletionsModel
from agentsdk.models.openai_responses import OpenAIResponsesModel
from agentsdk.models.vertex import VertexAnthropicModel, VertexGoogleModel
from agentsdk.testing import (
    FakeAnthropicServer,
    FakeBedrockServer,
    FakeGoogleServer,
    FakeOpenAIServer,
    FakeResponsesServer,
    FakeServer,
)
from agentsdk.types.items import FunctionCall, Message, ProviderItem, Reasoning
from agentsdk.types.response import OutputItem

pytestmark = pytest.mark.anyio

SEARCHED: dict[str, object] = {
    "id": "ws_1",
    "type": "web_search_call",
    "status": "completed",
    "action": {"type": "search", "query": "q"},
}
SEARCH: dict[str, object] = {"type": "server_tool_use", "id": "srv_1", "name": "web_search", "input": {"query": "q"}}
FOUND: dict[str, object] = {"type": "web_search_tool_result", "tool_use_id": "srv_1", "content": []}
CODE: dict[str, object] = {"executableCode": {"language": "PYTHON", "code": "1+1"}}


class Stop(Struct):
    """A provider on the way: what its model says before a call, and how that must come back to it."""

    name: str
    server: type[FakeServer]
    model: type[HttpModel]
    thinks: Sequence[OutputItem]
    sealed: Sequence[dict[str, Any]]


STOPS = [
    Stop(
        "responses",
        FakeResponsesServer,
        OpenAIResponsesModel,
        [Reasoning("hm-responses", ("hm-responses",), "rs_1", encrypted="seal-responses"), ProviderItem("", SEARCHED)],
        [
            {
                "type": "reasoning",
                "id": "rs_1",
                "summary": [{"type": "summary_text", "text": "hm-responses"}],
                "encrypted_content": "seal-responses",
            },
            SEARCHED,
        ],
    ),
    Stop(
        "anthropic",
        FakeAnthropicServer,
        AnthropicModel,
        [
            Reasoning("hm-anthropic", signature="seal-anthropic"),
            Reasoning(encrypted="redacted-anthropic"),
            ProviderItem("", SEARCH),
            ProviderItem("", FOUND),
        ],
        [
            {"type": "thinking", "thinking": "hm-anthropic", "signature": "seal-anthropic"},
            {"type": "redacted_thinking", "data": "redacted-anthropic"},
            SEARCH,
            FOUND,
        ],
    ),
    Stop(
        "google",
        FakeGoogleServer,
        GoogleModel,
        [Reasoning("hm-google", signature="c2VhbC1nb29nbGU="), ProviderItem("", CODE)],
        [{"text": "hm-google", "thought": True, "thoughtSignature": "c2VhbC1nb29nbGU="}, CODE],
    ),
    Stop(
        "bedrock",
        FakeBedrockServer,
        BedrockModel,
        [Reasoning("hm-bedrock", signature="c2VhbC1iZWRyb2Nr"), Reasoning(encrypted="cmVkYWN0ZWQ=")],
        [
            {"reasoningContent": {"reasoningText": {"text": "hm-bedrock", "signature": "c2VhbC1iZWRyb2Nr"}}},
            {"reasoningContent": {"redactedContent": "cmVkYWN0ZWQ="}},
        ],
    ),
    Stop(
        "vertexclaude",
        FakeAnthropicServer,
        VertexAnthropicModel,
        [Reasoning("hm-vertexclaude", signature="seal-vertex"), Reasoning(encrypted="redacted-vertex")],
        [
            {"type": "thinking", "thinking": "hm-vertexclaude", "signature": "seal-vertex"},
            {"type": "redacted_thinking", "data": "redacted-vertex"},
        ],
    ),
    Stop(
        "vertexgoogle",
        FakeGoogleServer,
        VertexGoogleModel,
        [Reasoning("hm-vertexgoogle", signature="c2VhbC12ZXJ0ZXg=")],
        [{"text": "hm-vertexgoogle", "thought": True, "thoughtSignature": "c2VhbC12ZXJ0ZXg="}],
    ),
    Stop("chat", FakeOpenAIServer, OpenAIChatCompletionsModel, [Reasoning("hm-chat")], [{"reasoning_content": "hm-chat"}]),
]


def fragments(value: object) -> list[Any]:
    """Every object within `value`."""
    if isinstance(value, list):
        return [inner for one in value for inner in fragments(one)]
    if isinstance(value, dict):
        return [value, *(inner for one in value.values() for inner in fragments(one))]
    return []


@function_tool(effect="none")  # else it waits for a person, once a search of the web has tainted the run
def look(word: str) -> str:
    """Look `word` up."""
    return f"meaning-{word}"


async def say(agent: Agent[Any, Any], given: list[Any], streamed: bool) -> list[Any]:
    """The conversation after the run."""
    if not streamed:
        return (await Runner.run(agent, given)).to_input_list()
    run = Runner.run_streamed(agent, given)
    async for _ in run.stream_events():
        pass
    return run.to_input_list()


def script_of(stop: Stop) -> list[Any]:
    """Two laps: reasoning (in the first), a text and a call; then the answer."""
    script: list[Any] = []
    for lap in (1, 2):
        told = Message("assistant", f"look-{stop.name}-{lap}")
        call = FunctionCall(f"{stop.name}{lap}", "look", json.dumps({"word": f"{stop.name}-{lap}"}))
        script += [[*(stop.thinks if lap == 1 else []), told, call], f"done-{stop.name}-{lap}"]
    return script


@pytest.mark.parametrize("streamed", [False, True])
async def test_a_conversation_goes_round_all_providers(streamed: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("GOOGLE_CLOUD_PROJECT", "my-project")
    agent = Agent(name="A", tools=[look])
    history: list[Any] = []
    visited: list[str] = []
    async with AsyncExitStack() as stack:
        servers = [await stack.enter_async_context(stop.server(script_of(stop))) for stop in STOPS]
        for lap in (1, 2):
            for stop, server in zip(STOPS, servers, strict=True):
                before, here = history, f"{stop.name}-{lap}"
                model = stop.model("m", base_url=server.base_url)
                history = await say(agent.clone(model=model), [*history, Message("user", f"ask-{here}")], streamed)
                assert history[: len(before)] == before
                check_last_request(stop, server, visited, here)
                visited.append(here)
    counted = json.dumps(history)
    for here in visited:
        assert [counted.count(f"{word}-{here}") for word in ("ask", "look", "meaning", "done")] == [1] * 4
    for stop in STOPS:
        assert f"hm-{stop.name}" in counted
    assert sum(item["type"] == "provider_item" for item in history) == 4


def check_last_request(stop: Stop, server: FakeServer, visited: list[str], here: str) -> None:
    """It holds all that was said, asked and found before, once, and of the reasoning its own, as it came."""
    assert len(server.requests) % 2 == 0
    body = server.requests[-1].json
    text = json.dumps(body)
    for place in [*visited, here]:
        words = ("ask", "look", "meaning", *(["done"] if place != here else []))
        assert [text.count(f"{word}-{place}") for word in words] == [1] * len(words)
        assert text.count(f'"{place.replace("-", "")}"') == 2  # the call's id and its result's
        assert len(re.findall(rf'word\\*": ?\\*"{place}', text)) == 1  # the arguments: an object, or its JSON text
    found = fragments(body)
    for sealed in stop.sealed:
        assert any(one.items() >= sealed.items() for one in found), f"{stop.name!r} did not get {sealed} back"
    for other in STOPS:
        if other is not stop:
            assert f"hm-{other.name}" not in text
            assert not any(one.items() >= sealed.items() for one in found for sealed in other.sealed)
