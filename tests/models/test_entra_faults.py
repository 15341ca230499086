"""The wire breaks: the shared matrix over chat completions at Azure, with tokens of Entra ID; and what gives them breaks."""

from __future__ import annotations

import asyncio
import time
from typing import Any

import pytest

from agentsdk.models.entra import EntraAuth
from agentsdk.models.openai_chat import OpenAIChatCompletionsModel
from agentsdk.models.transport import ModelTimeouts
from agentsdk.testing import FakeOpenAIServer, FakeServer, ServerReply
from agentsdk.types.errors import AuthenticationError, ModelConnectionError, ModelTimeoutError, ProviderError
from tests.models.fault_matrix import BOTH, KEY, NO_RETRY
from tests.models.faults import STATUSES
from tests.models.openai_chat.test_faults import TestFaults as ChatFaults
from tests.models.test_entra import Credential, Token
from tests.models.wire import ask, model_at, request


class SameToken(Credential):
    """Its token is the key of the matrix."""

    def get_token(self, *scopes: str, **options: Any) -> Token:
        return Token(KEY, int(time.time()) + 3600)


class TestEntraFaults(ChatFaults):
    adapter = "OpenAIChatCompletionsModel with EntraAuth"
    sampled = True

    def model(self, server: FakeServer, **options: Any) -> OpenAIChatCompletionsModel:
        return model_at(server, api_key=None, auth=EntraAuth(SameToken()), **options)

    @BOTH
    @pytest.mark.parametrize(("status", "error", "retryable"), [case for case in STATUSES if case[0] != 401])
    async def test_statuses(self, streamed: bool, status: int, error: type[ProviderError], retryable: bool) -> None:
        """Asked for anew after a 401: see `test_entra.py`."""
        await super().test_statuses(streamed, status, error, retryable)


async def failing(auth: EntraAuth, kind: type[Exception], **options: Any) -> Any:
    async with FakeOpenAIServer(["never"]) as server:
        with pytest.raises(kind) as caught:
            await ask(model_at(server, api_key=None, auth=auth, **options), request())
        assert not server.requests
    return caught.value


class Broken(Credential):
    """Raises, after a while."""

    def __init__(self, error: Exception, takes: float = 0.0) -> None:
        super().__init__()
        self._error, self._takes = error, takes

    def get_token(self, *scopes: str, **options: Any) -> Token:
        self.scopes += scopes
        time.sleep(self._takes)
        raise self._error


@pytest.mark.anyio
@pytest.mark.parametrize("name", ["ServiceRequestError", "ServiceResponseError"])
async def test_a_server_of_tokens_that_is_down_is_asked_again(name: str) -> None:
    from azure.core import exceptions

    credential = Broken(getattr(exceptions, name)("no route, key-canary"))
    error = await failing(EntraAuth(credential), ModelConnectionError)
    assert "EntraAuth cannot reach" in str(error) and "canary" not in str(error)
    assert len(credential.scopes) == 3, "as often as a request is"


@pytest.mark.anyio
async def test_no_credentials_at_all_name_the_next_command() -> None:
    from azure.identity import CredentialUnavailableError

    error = await failing(EntraAuth(Broken(CredentialUnavailableError("nobody"))), AuthenticationError)
    assert "run 'az login'" in str(error)
    by_default = EntraAuth()
    by_default._credential = Broken(RuntimeError("garbage"))
    assert "run 'az login'" in str(await failing(by_default, AuthenticationError))


@pytest.mark.anyio
@pytest.mark.parametrize("given", [None, "text", Token(7, 1), Token("t", "soon"), Token("t\nx", 9**9)])  # type: ignore[arg-type]
async def test_garbage_for_a_token_is_typed(given: Any) -> None:
    class Garbage(Credential):
        def get_token(self, *scopes: str, **options: Any) -> Token:
            return given  # type: ignore[no-any-return]

    from agentsdk.types.errors import AgentsException

    await failing(EntraAuth(Garbage()), AgentsException)


@pytest.mark.anyio
@pytest.mark.leaves_tasks
async def test_a_slow_server_of_tokens_ends_in_a_deadline() -> None:
    auth = EntraAuth(Broken(RuntimeError("late"), takes=1.0))
    await failing(auth, ModelTimeoutError, timeouts=ModelTimeouts(read=0.1), retry=NO_RETRY)


@pytest.mark.anyio
async def test_requests_that_wait_share_one_token_and_one_renewal() -> None:
    class Slow(Credential):
        def get_token(self, *scopes: str, **options: Any) -> Token:
            time.sleep(0.05)
            return super().get_token(*scopes)

    def refusing(sent: Any) -> Any:
        return ServerReply(status=401, body=b"") if sent.headers["authorization"].endswith("-1") else "ok"

    credential = Slow()
    async with FakeOpenAIServer([refusing] * 10) as server:
        model = model_at(server, api_key=None, auth=EntraAuth(credential))
        replies = await asyncio.gather(*[ask(model, request()) for _ in range(5)])
    assert [reply.text for reply in replies] == ["ok"] * 5
    assert len(credential.scopes) == 2
