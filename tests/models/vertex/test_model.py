"""Models at Vertex AI: where they are, what they need, and what is refused before any request."""

from __future__ import annotations

from typing import Any

import pytest

from agentsdk.models.openai_chat import OpenAIChatCompletionsModel
from agentsdk.models.provider import DefaultModelProvider
from agentsdk.models.vertex import VertexAnthropicModel, VertexGoogleModel
from agentsdk.models.vertex.auth import GoogleAuth
from agentsdk.testing import ServerReply
from agentsdk.testing.anthropic_dialect import FakeAnthropicServer
from agentsdk.testing.google_dialect import FakeGoogleServer
from agentsdk.types.errors import BadRequestError, NotFoundError, UserError
from agentsdk.types.hosted_tools import CodeInterpreterTool, FileSearchTool, WebSearchTool
from agentsdk.types.items import InputImage, Message
from tests.models.fault_matrix import BOTH
from tests.models.vertex.server import LOCATION, PLACE, PROJECT, claude_at, gemini_at
from tests.models.wire import ask, request

pytestmark = pytest.mark.anyio

EACH = pytest.mark.parametrize("kind", [VertexGoogleModel, VertexAnthropicModel])


@pytest.fixture(autouse=True)
def environment(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("GOOGLE_CLOUD_PROJECT", "GOOGLE_CLOUD_LOCATION", "GOOGLE_VERTEX_BASE_URL", "GEMINI_API_KEY"):
        monkeypatch.delenv(name, raising=False)


@EACH
def test_project_and_location_are_those_of_the_environment(kind: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(UserError, match=r"no project.*GOOGLE_CLOUD_PROJECT"):
        kind("m")
    monkeypatch.setenv("GOOGLE_CLOUD_PROJECT", "mine")
    model = kind("m")
    assert (model.project, model.location, model.base_url) == ("mine", "global", "https://aiplatform.googleapis.com")
    assert isinstance(model._auth, GoogleAuth)
    monkeypatch.setenv("GOOGLE_CLOUD_LOCATION", "us-east5")
    assert kind("m").base_url == "https://us-east5-aiplatform.googleapis.com"
    assert "/projects/other/locations/eu/" in kind("m", project="other", location="eu")._url_for(request())


@EACH
def test_what_stands_in_an_address_is_quoted(kind: Any) -> None:
    model = kind("a b?c", project="example.com:my project", location="eu")
    url = model._url_for(request())
    assert "/projects/example.com:my%20project/locations/eu/" in url and "/a%20b%3Fc:" in url
    for other in ("evil.example/", "US", "eu#", "e u"):
        with pytest.raises(UserError, match="is none of Vertex AI"):
            kind("m", project=PROJECT, location=other)


async def test_tuned_models_and_those_of_other_publishers_have_other_paths() -> None:
    tuned = f"projects/{PROJECT}/locations/{LOCATION}/endpoints/7"
    async with FakeGoogleServer(["a", "b"]) as server:
        for name in (tuned, "publishers/other/models/m"):
            options: dict[str, Any] = {"project": PROJECT, "location": LOCATION, "base_url": server.url}
            await ask(VertexGoogleModel(name, **options), request())
    assert [sent.path for sent in server.requests] == [
        f"/v1/{tuned}:generateContent",
        f"{PLACE}/publishers/other/models/m:generateContent",
    ]


def test_another_publisher_by_its_name_speaks_chat_completions(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("GOOGLE_CLOUD_PROJECT", PROJECT)
    monkeypatch.setenv("GOOGLE_CLOUD_LOCATION", LOCATION)
    model = DefaultModelProvider().get_model("vertex:meta/llama-4-scout")
    assert isinstance(model, OpenAIChatCompletionsModel) and isinstance(model._auth, GoogleAuth)
    assert model.base_url == f"https://{LOCATION}-aiplatform.googleapis.com{PLACE}/endpoints/openapi"
    assert model.name == "meta/llama-4-scout"


@EACH
async def test_credentials_go_to_their_own_address_only(kind: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("GEMINI_API_KEY", "not-for-this-server")
    server_kind = FakeGoogleServer if kind is VertexGoogleModel else FakeAnthropicServer
    async with server_kind(["a", "b"]) as server:
        elsewhere = kind("m", project=PROJECT, base_url=server.url)
        assert elsewhere._auth is None
        await ask(elsewhere, request())
        await ask(kind("m", project=PROJECT, base_url=server.url, api_key="a-key-of-google-cloud"), request())
        monkeypatch.setenv("GOOGLE_VERTEX_BASE_URL", server.url)
        assert isinstance(kind("m", project=PROJECT)._auth, GoogleAuth)
    told = [(sent.headers.get("authorization"), sent.headers.get("x-goog-api-key")) for sent in server.requests]
    assert told == [(None, None), (None, "a-key-of-google-cloud")]


@EACH
def test_two_credentials_at_once_are_refused(kind: Any) -> None:
    with pytest.raises(UserError, match=r"api_key=\.\.\., auth=\.\.\."):
        kind("m", project=PROJECT, api_key="k", auth=lambda request: {})


@BOTH
async def test_a_location_without_the_model_is_named(streamed: bool) -> None:
    text = f"Publisher Model `{PLACE[4:]}/publishers/google/models/gemini-test` was not found"
    body = {"error": {"code": 404, "message": text, "status": "NOT_FOUND"}}
    async with FakeGoogleServer([ServerReply(status=404, body=body)]) as server:
        with pytest.raises(NotFoundError) as caught:
            await ask(gemini_at(server), request(stream=streamed))
    assert "gemini-test" in str(caught.value) and LOCATION in str(caught.value) and "location" in str(caught.value)
    async with FakeAnthropicServer([ServerReply(status=404, body=b"<html>")]) as server:
        with pytest.raises(NotFoundError) as caught:
            await ask(claude_at(server), request(stream=streamed))
    assert "claude-test" in str(caught.value) and LOCATION in str(caught.value)


async def test_a_list_of_one_error_is_read_as_google_sends_it() -> None:
    body = b'[{"error": {"code": 400, "message": "no such field", "status": "INVALID_ARGUMENT"}}]'
    async with FakeGoogleServer([ServerReply(status=400, body=body)]) as server:
        with pytest.raises(BadRequestError, match="no such field") as caught:
            await ask(gemini_at(server), request(stream=True))
    assert caught.value.code == "INVALID_ARGUMENT"


def test_what_vertex_does_not_have_is_refused() -> None:
    gemini = VertexGoogleModel("m", project=PROJECT, api_key="k")
    claude = VertexAnthropicModel("m", project=PROJECT, api_key="k")
    with pytest.raises(UserError, match="FileSearchTool is not available with Vertex AI"):
        gemini.body(request(hosted=(FileSearchTool(vector_store_ids=["v"]),)))
    with pytest.raises(UserError, match="CodeInterpreterTool is not available with Anthropic's models at Vertex AI"):
        claude.body(request(hosted=(CodeInterpreterTool(),)))
    with pytest.raises(UserError, match="know no file_id"):
        claude.body(request(items=[Message("user", (InputImage(file_id="file-1"),))]))
    assert b'"googleSearch"' in bytes(gemini.body(request(hosted=(WebSearchTool(),))))
    assert b'"web_search' in bytes(claude.body(request(hosted=(WebSearchTool(),))))


@EACH
def test_nothing_shows_the_key(kind: Any) -> None:
    model = kind("m", project=PROJECT, location="us-east5", api_key="k-canary")
    assert "k-canary" not in repr(model) and "us-east5" in repr(model)
