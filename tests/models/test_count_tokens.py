"""Counting before asking: what each provider's endpoint is sent, what it answers, and how it fails."""

from __future__ import annotations

from typing import Any, Protocol

import pytest

from agentsdk.models.anthropic import AnthropicModel
from agentsdk.models.bedrock import BedrockModel
from agentsdk.models.google import GoogleModel
from agentsdk.models.loose import as_object
from agentsdk.models.openai_responses import OpenAIResponsesModel
from agentsdk.ports.model import ModelRequest
from agentsdk.testing import FakeServer, ServerReply
from agentsdk.testing.anthropic_dialect import FakeAnthropicServer
from agentsdk.testing.bedrock_dialect import FakeBedrockServer
from agentsdk.testing.google_dialect import FakeGoogleServer
from agentsdk.testing.responses_dialect import FakeResponsesServer
from agentsdk.types.errors import AuthenticationError, MalformedResponseError, UserError
from agentsdk.types.settings import ModelRetrySettings, ModelSettings
from agentsdk.types.spec import OutputSpec, ToolSpec
from tests.models.wire import FakeClock, request

pytestmark = pytest.mark.anyio

TOOL = ToolSpec("add", "adds", {"type": "object", "properties": {"a": {"type": "integer"}}})
OUTPUT = OutputSpec("answer", {"type": "object", "properties": {}})
SETTINGS = ModelSettings(temperature=0.5, max_tokens=9, reasoning_effort="low", tool_choice="auto")
FULL: dict[str, Any] = {"instructions": "be kind", "tools": (TOOL,), "output": OUTPUT, "settings": SETTINGS}


class Counting(Protocol):
    async def count_tokens(self, request: ModelRequest) -> int: ...

    def body(self, request: ModelRequest) -> bytes: ...


class Case:
    def __init__(self, server: type[Any], model: type[Any], name: str, path: str, field: str, sent: set[str]) -> None:
        self.server, self.model, self.name, self.path, self.field, self.sent = server, model, name, path, field, sent

    def serve(self, *script: Any) -> FakeServer:
        server: FakeServer = self.server(script)
        return server

    def model_at(self, server: FakeServer) -> Counting:
        made: Counting = self.model(self.name, base_url=server.base_url, api_key="sk-canary-0123456789", clock=FakeClock())
        return made


ANTHROPIC = Case(
    FakeAnthropicServer,
    AnthropicModel,
    "claude-test",
    "/v1/messages/count_tokens",
    "input_tokens",
    {"model", "system", "messages", "tools", "tool_choice", "output_config"},
)
GOOGLE = Case(
    FakeGoogleServer,
    GoogleModel,
    "gemini-3-test",
    "/v1beta/models/gemini-3-test:countTokens",
    "totalTokens",
    {"generateContentRequest"},
)
RESPONSES = Case(
    FakeResponsesServer,
    OpenAIResponsesModel,
    "gpt-test",
    "/v1/responses/input_tokens",
    "input_tokens",
    {"model", "instructions", "input", "tools", "tool_choice", "text", "reasoning"},
)
BEDROCK = Case(
    FakeBedrockServer,
    BedrockModel,
    "claude-test",
    "/model/claude-test/count-tokens",
    "inputTokens",
    {"input"},
)
EVERY = pytest.mark.parametrize("case", [ANTHROPIC, BEDROCK, GOOGLE, RESPONSES], ids=lambda case: case.model.__name__)


@EVERY
async def test_the_endpoint_gets_what_is_counted_and_nothing_else(case: Case) -> None:
    async with case.serve(ServerReply(body={case.field: 42, "object": "count"})) as server:
        model = case.model_at(server)
        assert await model.count_tokens(request(stream=True, **FULL)) == 42
    sent = server.requests[0]
    assert sent.path == case.path
    assert set(sent.json) == case.sent
    assert "idempotency-key" not in sent.headers, "an answer to this must never be taken for the answer to the request itself"


async def test_google_counts_the_whole_request() -> None:
    async with GOOGLE.serve(ServerReply(body={"totalTokens": 1})) as server:
        model = GOOGLE.model_at(server)
        await model.count_tokens(request(**FULL))
    counted = as_object(server.requests[0].json["generateContentRequest"])
    assert counted["model"] == "models/gemini-3-test"
    assert set(counted) >= {"contents", "systemInstruction", "tools", "generationConfig"}


@EVERY
async def test_a_failed_count_is_repeated_and_typed(case: Case) -> None:
    busy = ServerReply(status=503, body={"error": {"message": "busy"}})
    wrong = ServerReply(status=401, body={"error": {"message": "no sk-canary-0123456789"}})
    retry = ModelSettings(retry=ModelRetrySettings(max_retries=1))
    async with case.serve(busy, ServerReply(body={case.field: 0}), wrong) as server:
        model = case.model_at(server)
        assert await model.count_tokens(request(settings=retry)) == 0
        with pytest.raises(AuthenticationError) as caught:
            await model.count_tokens(request())
    assert "canary" not in str(caught.value)


@EVERY
@pytest.mark.parametrize("answer", [b"", b"[]", b"{", b"{}", b'{"input_tokens": true, "totalTokens": -1}', b"\xff"])
async def test_an_answer_without_a_count_is_an_error(case: Case, answer: bytes) -> None:
    async with case.serve(ServerReply(body=answer)) as server:
        with pytest.raises(MalformedResponseError, match=case.field):
            await case.model_at(server).count_tokens(request())


@pytest.mark.parametrize("case", [ANTHROPIC, GOOGLE, RESPONSES], ids=lambda case: case.model.__name__)
async def test_a_key_is_needed_at_home(case: Case, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in case.model._key_variables:
        monkeypatch.delenv(name, raising=False)
    with pytest.raises(UserError, match="no key"):
        await case.model(case.name).count_tokens(request())
