"""`auth=`: what it is given, when it is asked again, and that nothing shows what it gives."""

from __future__ import annotations

import asyncio
import traceback
from collections.abc import Awaitable, Callable, Mapping
from typing import Any

import pytest

from agentsdk import AnthropicModel, GoogleModel, OpenAIChatCompletionsModel, OpenAIResponsesModel
from agentsdk.models import OpenAIEmbedder
from agentsdk.models.auth import AuthRequest
from agentsdk.models.transport import ModelTimeouts
from agentsdk.testing import FakeOpenAIServer, ServerReply
from agentsdk.types.errors import (
    AuthenticationError,
    ModelTimeoutError,
    ProviderError,
    ProviderUnavailableError,
    RateLimitError,
    UserError,
)
from agentsdk.types.settings import ModelSettings
from tests.models.fault_matrix import BOTH
from tests.models.faults import failure_of
from tests.models.wire import FakeClock, ask, request

pytestmark = pytest.mark.anyio

TOKEN = "canary-token-0123456789"
EXPIRED = {"error": {"code": "401", "message": "The access token is invalid or has expired"}}


class Tokens:
    """Gives a new token whenever it is asked to refresh."""

    def __init__(self) -> None:
        self.asked: list[AuthRequest] = []
        self.renewed = 0

    async def __call__(self, request: AuthRequest) -> dict[str, str]:
        self.asked.append(request)
        self.renewed += request.refresh
        return {"Authorization": f"Bearer {TOKEN}-{self.renewed}"}


def model_at(server: FakeOpenAIServer, auth: Any, **options: Any) -> OpenAIChatCompletionsModel:
    return OpenAIChatCompletionsModel("gpt-test", base_url=server.base_url, auth=auth, clock=FakeClock(), **options)


@BOTH
async def test_it_is_given_what_is_sent(streamed: bool) -> None:
    tokens = Tokens()
    asked = request(stream=streamed, settings=ModelSettings(extra_headers={"X-Tenant": "acme"}))
    async with FakeOpenAIServer(["ok"]) as server:
        assert (await ask(model_at(server, tokens), asked)).text == "ok"
        url = server.url
    (given,), (sent,) = tokens.asked, server.requests
    assert (given.method, given.url, given.body, given.refresh) == ("POST", f"{url}{sent.path}", sent.body, False)
    assert given.headers.items() <= sent.headers.items()
    assert given.headers["x-tenant"] == "acme" and "authorization" not in given.headers
    assert sent.headers["authorization"] == f"Bearer {TOKEN}-0"


async def test_it_may_be_sync_and_its_headers_come_first() -> None:
    def auth(request: AuthRequest) -> Mapping[str, str]:
        return {"x-key": f"{len(request.body)}"}

    async with FakeOpenAIServer(["ok"]) as server:
        await ask(model_at(server, auth, headers={"X-Key": "other"}), request())
    assert server.requests[0].headers["x-key"] == str(len(server.requests[0].body))
    assert "authorization" not in server.requests[0].headers


async def test_it_is_asked_for_every_attempt() -> None:
    tokens = Tokens()
    async with FakeOpenAIServer([ServerReply(status=503, body=b""), ServerReply(then="refuse"), "ok"]) as server:
        await ask(model_at(server, tokens), request())
    assert [given.refresh for given in tokens.asked] == [False] * 3
    assert len(server.requests) == 3


@BOTH
@pytest.mark.parametrize(
    "refusal",
    [
        ServerReply(status=401, body=EXPIRED),
        ServerReply(status=401, body=b""),
        ServerReply(status=403, body={"message": "The security token included in the request is expired"}),
        ServerReply(status=403, body={"error": {"code": "ExpiredToken", "message": "no"}}),
    ],
    ids=["401", "401 without a word", "403", "403 by its code"],
)
async def test_an_expired_token_is_renewed_once(streamed: bool, refusal: ServerReply) -> None:
    tokens = Tokens()
    async with FakeOpenAIServer([refusal, "ok", refusal, refusal, "never"]) as server:
        model = model_at(server, tokens)
        assert (await ask(model, request(stream=streamed))).text == "ok"
        with pytest.raises(AuthenticationError) as caught:
            await ask(model, request(stream=streamed))
    assert [given.refresh for given in tokens.asked] == [False, True, False, True]
    assert [sent.headers["authorization"][-1] for sent in server.requests] == ["0", "1", "1", "2"]
    assert len({sent.body for sent in server.requests}) == 1
    assert TOKEN not in repr(caught.value)
    assert "auth" in str(caught.value)


@pytest.mark.parametrize(
    ("status", "body", "error"),
    [(403, {"error": {"message": "no access"}}, AuthenticationError), (429, EXPIRED, RateLimitError)],
)
async def test_other_refusals_are_not_asked_again(status: int, body: Any, error: type[ProviderError]) -> None:
    tokens = Tokens()
    async with FakeOpenAIServer([ServerReply(status=status, body=body)] * 3) as server:
        with pytest.raises(error):
            await ask(model_at(server, tokens), request())
    assert not any(given.refresh for given in tokens.asked)


async def test_without_auth_a_refused_key_is_final() -> None:
    async with FakeOpenAIServer([ServerReply(status=401, body=EXPIRED)] * 2) as server:
        model = OpenAIChatCompletionsModel("gpt-test", base_url=server.base_url, api_key=TOKEN)
        with pytest.raises(AuthenticationError):
            await ask(model, request())
    assert len(server.requests) == 1


@pytest.mark.parametrize("adapter", [AnthropicModel, GoogleModel, OpenAIChatCompletionsModel, OpenAIResponsesModel])
async def test_two_credentials_are_refused_and_the_environments_key_is_not_sent(
    adapter: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    with pytest.raises(UserError, match=r"api_key=\.\.\., auth=\.\.\.\) has two credentials"):
        adapter("m", api_key=TOKEN, auth=Tokens())
    with pytest.raises(UserError, match=r"auth=\.\.\., headers=\{'authorization': \.\.\.\}\) has two credentials"):
        adapter("m", auth=Tokens(), headers={"Authorization": TOKEN})
    own = {AnthropicModel: "X-Api-Key", GoogleModel: "X-Goog-Api-Key"}.get(adapter, "Authorization")
    with pytest.raises(
        UserError, match=rf"api_key=\.\.\., headers=\{{'{own.lower()}': \.\.\.\}}\) has two credentials"
    ) as caught:
        adapter("m", api_key=TOKEN, headers={own: TOKEN})
    assert TOKEN not in str(caught.value)
    for name in ("OPENAI_API_KEY", "ANTHROPIC_API_KEY", "GEMINI_API_KEY"):
        monkeypatch.setenv(name, "environment-key-0123")
    seen: list[AuthRequest] = []

    def auth(request: AuthRequest) -> dict[str, str]:
        seen.append(request)
        raise ProviderUnavailableError("not now")

    with pytest.raises(ProviderUnavailableError):
        await ask(adapter("m", auth=auth), request())
    assert "environment-key-0123" not in str(seen[0].headers)


async def test_embeddings_are_asked_for_with_it() -> None:
    body = {"data": [{"index": 0, "embedding": [1.0]}], "usage": {"prompt_tokens": 1}}
    async with FakeOpenAIServer([ServerReply(status=401, body=EXPIRED), ServerReply(body=body)]) as server:
        embedder = OpenAIEmbedder("e", base_url=server.base_url, auth=Tokens())
        await embedder.embed(["a"])
    assert [sent.headers["authorization"] for sent in server.requests] == [f"Bearer {TOKEN}-0", f"Bearer {TOKEN}-1"]


def raising(error: Exception) -> Callable[[AuthRequest], Awaitable[dict[str, str]]]:
    async def auth(request: AuthRequest) -> dict[str, str]:
        raise error

    return auth


async def test_what_it_raises_is_typed_and_its_cause_is_kept() -> None:
    cause = ValueError("no identity found")
    async with FakeOpenAIServer(["never"]) as server:
        with pytest.raises(AuthenticationError, match="raised ValueError") as caught:
            await ask(model_at(server, raising(cause)), request())
        with pytest.raises(UserError, match="log in"):
            await ask(model_at(server, raising(UserError("log in"))), request())
    assert caught.value.__cause__ is cause
    assert "identity" not in str(caught.value)
    assert not server.requests


async def test_what_it_waits_for_is_bounded() -> None:
    async def auth(request: AuthRequest) -> dict[str, str]:
        await asyncio.sleep(60)
        return {}

    async with FakeOpenAIServer(["never"]) as server:
        with pytest.raises(ModelTimeoutError, match="auth="):
            await ask(model_at(server, auth, timeouts=ModelTimeouts(read=0.05)), request())


@pytest.mark.parametrize("given", [None, TOKEN, {"a": 1}, {1: TOKEN}, {"a": f"{TOKEN}\n"}, [TOKEN]], ids=str)
async def test_what_are_no_headers_is_refused_unseen(given: Any) -> None:
    async with FakeOpenAIServer(["never"]) as server:
        with pytest.raises(UserError, match="auth=") as caught:
            await ask(model_at(server, lambda request: given), request())
    assert TOKEN not in str(caught.value)


@BOTH
@pytest.mark.parametrize("fault", ["refused", "told", "html", "reset", "cut", "silent"])
async def test_nothing_shows_what_it_gives(streamed: bool, fault: str) -> None:
    said = {
        "refused": ServerReply(status=403, body={"error": {"message": f"bad {TOKEN}-0"}}),
        "told": ServerReply(body={"error": {"message": f"bad {TOKEN}-0"}}),
        "html": ServerReply(body=f"<html>{TOKEN}"),
        "reset": ServerReply(then="refuse"),
        "cut": ServerReply("one two three", stops_after=2, then="reset"),
        "silent": ServerReply(wait=asyncio.Event()),
    }[fault]
    tokens = Tokens()
    async with FakeOpenAIServer([said] * 3) as server:
        model = model_at(server, tokens, timeouts=ModelTimeouts(read=0.1))
        caught = await failure_of(model, request(stream=streamed))
    shown = "".join(traceback.TracebackException.from_exception(caught, capture_locals=True).format())
    assert TOKEN not in shown + repr(model) + repr(tokens.asked)
