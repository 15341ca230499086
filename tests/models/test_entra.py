"""`EntraAuth`: tokens of Entra ID, with credentials that count how often they are asked."""

from __future__ import annotations

import sys
import time
from typing import Any, NamedTuple

import pytest

from agentsdk import OpenAIChatCompletionsModel
from agentsdk.models import EntraAuth
from agentsdk.models.provider import DefaultModelProvider
from agentsdk.testing import FakeOpenAIServer, ServerReply
from agentsdk.types.errors import AuthenticationError, UserError
from tests.models.wire import ask, request

pytestmark = pytest.mark.anyio


class Token(NamedTuple):
    token: str
    expires_on: int


class Credential:
    """Each token is new and lasts `seconds`."""

    def __init__(self, seconds: float = 3600) -> None:
        self.scopes: list[str] = []
        self._seconds = seconds

    def get_token(self, *scopes: str, **options: Any) -> Token:
        self.scopes += scopes
        return Token(f"entra-token-{len(self.scopes)}", int(time.time() + self._seconds))


class AsyncCredential(Credential):
    async def get_token(self, *scopes: str, **options: Any) -> Token:  # type: ignore[override]
        return super().get_token(*scopes)


async def tokens_sent(credential: Any, *script: Any) -> list[str]:
    async with FakeOpenAIServer(list(script)) as server:
        model = OpenAIChatCompletionsModel("gpt-test", base_url=server.base_url, auth=EntraAuth(credential))
        while len(server.requests) < len(script):
            await ask(model, request())
    return [sent.headers["authorization"] for sent in server.requests]


@pytest.mark.parametrize("kind", [Credential, AsyncCredential])
async def test_a_token_is_kept_until_shortly_before_it_expires(kind: type[Credential]) -> None:
    lasting, ending = kind(), kind(seconds=200)
    assert await tokens_sent(lasting, "a", "b") == ["Bearer entra-token-1"] * 2
    assert await tokens_sent(ending, "a", "b") == ["Bearer entra-token-1", "Bearer entra-token-2"]
    assert lasting.scopes == ["https://cognitiveservices.azure.com/.default"]


async def test_an_expired_token_is_renewed_once() -> None:
    expired = ServerReply(status=401, body={"error": {"code": "401", "message": "invalid, or have expired"}})
    credential = Credential()
    assert await tokens_sent(credential, expired, "a") == ["Bearer entra-token-1", "Bearer entra-token-2"]
    with pytest.raises(AuthenticationError):
        await tokens_sent(Credential(), expired, expired)


async def test_a_credential_that_fails_is_typed() -> None:
    from azure.core.exceptions import ClientAuthenticationError

    class Failing(Credential):
        def get_token(self, *scopes: str, **options: Any) -> Token:
            raise ClientAuthenticationError("nobody is logged in")

    with pytest.raises(AuthenticationError, match="ClientAuthenticationError") as caught:
        await tokens_sent(Failing(), "never")
    assert "nobody" in str(caught.value.__cause__)


def test_a_name_of_azure_takes_entra_where_there_is_no_key(monkeypatch: pytest.MonkeyPatch) -> None:
    from azure.identity import DefaultAzureCredential

    assert isinstance(EntraAuth()._credential, DefaultAzureCredential)
    monkeypatch.setenv("AZURE_OPENAI_BASE_URL", "https://x.openai.azure.com/openai/v1")
    monkeypatch.delenv("AZURE_OPENAI_API_KEY", raising=False)
    model = DefaultModelProvider().get_model("azure:deployment")
    assert isinstance(model, OpenAIChatCompletionsModel) and isinstance(model._auth, EntraAuth)
    monkeypatch.setenv("AZURE_OPENAI_API_KEY", "k")
    keyed = DefaultModelProvider().get_model("azure:deployment")
    assert isinstance(keyed, OpenAIChatCompletionsModel) and keyed._auth is None


def test_without_the_package_it_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "azure.identity", None)
    with pytest.raises(UserError, match=r"pip install 'agentsdk\[azure\]'"):
        EntraAuth()
    assert EntraAuth(Credential())
