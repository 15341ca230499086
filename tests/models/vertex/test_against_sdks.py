"""Requests to Vertex AI, beside those that Google's and Anthropic's own clients send: address, headers and body."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from datetime import datetime
from typing import Any

import pytest

from agentsdk.models.vertex import VertexAnthropicModel
from agentsdk.models.vertex.auth import GoogleAuth
from agentsdk.models.vertex.place import home_of
from agentsdk.testing import CapturedRequest, FakeServer, ServerReply
from agentsdk.testing.anthropic_dialect import FakeAnthropicServer
from agentsdk.testing.google_dialect import FakeGoogleServer
from agentsdk.types.items import FunctionCall, FunctionCallOutput, Message
from agentsdk.types.settings import ModelSettings
from agentsdk.types.spec import ToolSpec
from tests.models.fault_matrix import BOTH
from tests.models.vertex.server import LOCATION, PLACE, PROJECT, claude_at, gemini_at
from tests.models.wire import ask, request

pytestmark = [pytest.mark.anyio, pytest.mark.filterwarnings("ignore::DeprecationWarning")]

genai: Any
anthropic: Any

SCHEMA: dict[str, Any] = {"type": "object", "properties": {"a": {"type": "integer"}}, "required": ["a"]}
TOOL = ToolSpec("add", "Add one.", SCHEMA)
ITEMS = [
    Message("user", "One and one?"),
    FunctionCall("c1", "add", '{"a":1}'),
    FunctionCallOutput("c1", "2"),
    Message("user", "Sure?"),
]
SETTINGS = ModelSettings(max_tokens=100, temperature=0.5, stop=("END",))
ASKED: dict[str, Any] = {"items": ITEMS, "tools": (TOOL,), "instructions": "Be brief.", "settings": SETTINGS}
OURS = ("authorization", "x-goog-user-project", "content-type", "anthropic-version", "anthropic-beta")


@pytest.fixture(autouse=True, scope="module")
def both_clients() -> None:
    """Imported by the process that runs these tests: it takes two seconds, which each one that collects them need not spend."""
    global genai, anthropic
    genai = pytest.importorskip("google.genai")
    anthropic = pytest.importorskip("anthropic")


@pytest.fixture(autouse=True)
def no_more_variables(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    for name in ("GOOGLE_API_KEY", "GEMINI_API_KEY", "GOOGLE_GENAI_API_VERSION", "ANTHROPIC_VERTEX_BASE_URL"):
        monkeypatch.delenv(name, raising=False)
    yield


def credentials(quota_project: str | None = "billed-project") -> Any:
    """Some that hold a token which does not expire here."""
    from google.oauth2.credentials import Credentials

    return Credentials("a-token-0123456789", quota_project_id=quota_project, expiry=datetime(2099, 1, 1))


@asynccontextmanager
async def google_client(server: FakeServer) -> AsyncIterator[Any]:
    options = genai.types.HttpOptions(base_url=server.url, api_version="v1")
    client = genai.Client(vertexai=True, project=PROJECT, location=LOCATION, credentials=credentials(), http_options=options)
    async with client.aio as it:
        yield it.models
    client.close()


def google_request() -> dict[str, Any]:
    types = genai.types
    config = types.GenerateContentConfig(
        system_instruction=types.Content(parts=[types.Part(text="Be brief.")]),
        tools=[
            types.Tool(
                function_declarations=[
                    types.FunctionDeclaration(name="add", description="Add one.", parameters_json_schema=SCHEMA)
                ]
            )
        ],
        max_output_tokens=100,
        temperature=0.5,
        stop_sequences=["END"],
        automatic_function_calling=types.AutomaticFunctionCallingConfig(disable=True),
    )
    called = types.FunctionCall(id="c1", name="add", args={"a": 1})
    answered = types.FunctionResponse(id="c1", name="add", response={"output": "2"})
    contents = [
        types.Content(role="user", parts=[types.Part(text="One and one?")]),
        types.Content(role="model", parts=[types.Part(function_call=called)]),
        types.Content(role="user", parts=[types.Part(function_response=answered)]),
        types.Content(role="user", parts=[types.Part(text="Sure?")]),
    ]
    return {"model": "gemini-test", "contents": contents, "config": config}


def compared(sent: CapturedRequest) -> tuple[str, dict[str, str], Any]:
    """What must be the same."""
    headers = {name: value for name, value in sent.headers.items() if name in OURS}
    return sent.path, headers, json.loads(sent.body)


@BOTH
async def test_a_request_for_gemini_is_the_one_of_googles_client(streamed: bool) -> None:
    async with FakeGoogleServer(["ok", "ok"]) as server:
        await ask(gemini_at(server, auth=GoogleAuth(credentials())), request(stream=streamed, **ASKED))
        async with google_client(server) as models:
            if streamed:
                async for _ in await models.generate_content_stream(**google_request()):
                    pass
            else:
                await models.generate_content(**google_request())
        ours, theirs = map(compared, server.requests)
    signed = [part for content in ours[2]["contents"] for part in content["parts"] if part.pop("thoughtSignature", None)]
    assert len(signed) == 1, "a call that nobody signed gets the signature that Google documents"
    for tool in theirs[2]["tools"][0]["functionDeclarations"]:  # a server takes both spellings of a field
        tool["parametersJsonSchema"] = tool.pop("parameters_json_schema", None) or tool["parametersJsonSchema"]
    assert ours == theirs
    method = "streamGenerateContent?alt=sse" if streamed else "generateContent"
    assert ours[0] == f"{PLACE}/publishers/google/models/gemini-test:{method}"
    assert ours[1]["authorization"] == "Bearer a-token-0123456789"
    assert ours[1]["x-goog-user-project"] == "billed-project"


async def test_a_count_of_tokens_is_asked_for_as_googles_client_does() -> None:
    async with FakeGoogleServer([ServerReply(body={"totalTokens": 7})] * 2) as server:
        assert await gemini_at(server, auth=GoogleAuth(credentials())).count_tokens(request(items=ITEMS[:1])) == 7
        async with google_client(server) as models:
            await models.count_tokens(model="gemini-test", contents="One and one?")
        ours, theirs = map(compared, server.requests)
    assert ours == theirs


@BOTH
async def test_a_request_for_claude_is_the_one_of_anthropics_client(streamed: bool) -> None:
    messages: list[Any] = [
        {"role": "user", "content": [{"type": "text", "text": "One and one?"}]},
        {"role": "assistant", "content": [{"type": "tool_use", "id": "c1", "name": "add", "input": {"a": 1}}]},
        {
            "role": "user",
            "content": [
                {"type": "tool_result", "tool_use_id": "c1", "content": "2"},
                {"type": "text", "text": "Sure?"},
            ],
        },
    ]
    async with FakeAnthropicServer(["ok", "ok"]) as server:
        model = claude_at(server, auth=GoogleAuth(credentials(None)))
        await ask(model, request(stream=streamed, **ASKED))
        async with anthropic_client(server) as client:
            made = await client.messages.create(
                model=model.name,
                max_tokens=100,
                extra_body={"temperature": 0.5},
                stop_sequences=["END"],
                system="Be brief.",
                messages=messages,
                tools=[{"name": "add", "description": "Add one.", "input_schema": SCHEMA}],
                stream=streamed,
            )
            if streamed:
                await made.close()
        ours, theirs = map(compared, server.requests)
    assert ours == theirs
    method = "streamRawPredict" if streamed else "rawPredict"
    assert ours[0] == f"{PLACE}/publishers/anthropic/models/claude-test@20250929:{method}"
    assert ours[2]["anthropic_version"] == "vertex-2023-10-16" and "model" not in ours[2]


async def test_a_count_of_tokens_is_asked_for_as_anthropics_client_does() -> None:
    async with FakeAnthropicServer([ServerReply(body={"input_tokens": 7})] * 2) as server:
        model = claude_at(server, auth=GoogleAuth(credentials(None)))
        assert await model.count_tokens(request(items=ITEMS[:1])) == 7
        said = [{"role": "user", "content": [{"type": "text", "text": "One and one?"}]}]
        async with anthropic_client(server) as client:
            await client.messages.count_tokens(model=model.name, messages=said)
        ours, theirs = map(compared, server.requests)
    assert ours == theirs


@pytest.mark.parametrize("location", ["global", "us", "eu", "us-east5", "europe-west4"])
def test_a_location_has_the_server_that_both_clients_know(location: str) -> None:
    google = genai.Client(vertexai=True, project=PROJECT, location=location, credentials=credentials())
    assert google._api_client._http_options.base_url.rstrip("/") == home_of(location)
    google.close()
    theirs = anthropic.AnthropicVertex(region=location, project_id=PROJECT, access_token="t")
    theirs.close()
    assert str(theirs.base_url).rstrip("/") == f"{home_of(location)}/v1"
    ours = VertexAnthropicModel("claude-test", project=PROJECT, location=location, auth=GoogleAuth(credentials()))
    assert ours.base_url == home_of(location)


def anthropic_client(server: FakeServer) -> Any:
    return anthropic.AsyncAnthropicVertex(
        region=LOCATION, project_id=PROJECT, credentials=credentials(None), base_url=f"{server.url}/v1", max_retries=0
    )
