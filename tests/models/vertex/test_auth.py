"""`GoogleAuth`: tokens of Google Cloud, from a server of tokens on this machine and from credentials that count."""

from __future__ import annotations

import asyncio
import sys
import time
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from agentsdk.models.vertex.auth import GoogleAuth
from agentsdk.testing import CapturedRequest, ServerReply, no_real_requests
from agentsdk.testing.google_dialect import FakeGoogleServer
from agentsdk.types.errors import AuthenticationError, ModelConnectionError, ModelTimeoutError, UserError
from tests.models.fault_matrix import BOTH, NO_RETRY
from tests.models.vertex.server import TokenServer, gemini_at, service_account, token
from tests.models.wire import ask, request

pytestmark = pytest.mark.anyio

REFUSED = ServerReply(status=401, body={"error": {"code": 401, "message": "expired", "status": "UNAUTHENTICATED"}})


@pytest.fixture(autouse=True)
def nothing_of_this_machine(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    for name in ("GOOGLE_APPLICATION_CREDENTIALS", "GOOGLE_CLOUD_PROJECT", "GOOGLE_CLOUD_LOCATION", "HTTPS_PROXY"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("CLOUDSDK_CONFIG", str(tmp_path / "gcloud"))
    monkeypatch.setenv("NO_GCE_CHECK", "true")


class Credentials:
    """Each token is new and lasts `seconds`; a refresh takes `takes`."""

    def __init__(self, seconds: float = 3600, takes: float = 0.0, error: Exception | None = None) -> None:
        self.refreshed = 0
        self.token: str | None = None
        self.expiry: datetime | None = None
        self._seconds, self._takes, self._error = seconds, takes, error

    @property
    def valid(self) -> bool:
        return False

    def refresh(self, transport: Any) -> None:
        time.sleep(self._takes)
        self.refreshed += 1
        if self._error is not None:
            raise self._error
        self.token = f"google-token-{self.refreshed}"
        self.expiry = datetime.now(UTC).replace(tzinfo=None) + timedelta(seconds=self._seconds)


async def tokens_sent(credentials: Any, *script: Any) -> list[str]:
    async with FakeGoogleServer(list(script)) as server:
        model = gemini_at(server, auth=GoogleAuth(credentials))
        while len(server.requests) < len(script):
            await ask(model, request())
    return [sent.headers["authorization"] for sent in server.requests]


@BOTH
async def test_a_service_account_signs_for_a_token_that_is_kept(
    streamed: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with TokenServer([token("t-1")] * 2) as tokens, FakeGoogleServer(["a", "b", "c"]) as server:
        path = service_account(tmp_path, f"{tokens.url}/token")
        given = gemini_at(server, auth=GoogleAuth(service_account=path))
        for _ in range(2):
            assert (await ask(given, request(stream=streamed))).text
        monkeypatch.setenv("GOOGLE_APPLICATION_CREDENTIALS", str(path))
        await ask(gemini_at(server, auth=GoogleAuth()), request(stream=streamed))
    assert [sent.headers["authorization"] for sent in server.requests] == ["Bearer t-1"] * 3
    assert [sent.path for sent in tokens.requests] == ["/token"] * 2
    assert b"grant_type=urn%3Aietf" in tokens.requests[0].body


async def test_a_token_is_renewed_shortly_before_it_expires() -> None:
    assert await tokens_sent(Credentials(), "a", "b") == ["Bearer google-token-1"] * 2
    assert await tokens_sent(Credentials(200), "a", "b") == ["Bearer google-token-1", "Bearer google-token-2"]


async def test_a_token_that_is_held_already_is_taken_first() -> None:
    from google.oauth2.credentials import Credentials as Held

    assert await tokens_sent(Held("held", quota_project_id="paying"), "a", "b") == ["Bearer held"] * 2


async def test_an_expired_token_is_renewed_once() -> None:
    assert await tokens_sent(Credentials(), REFUSED, "a") == ["Bearer google-token-1", "Bearer google-token-2"]
    credentials = Credentials()
    with pytest.raises(AuthenticationError) as caught:
        await tokens_sent(credentials, REFUSED, REFUSED)
    assert credentials.refreshed == 2 and "google-token" not in f"{caught.value!r}"


async def test_requests_that_wait_share_one_token_and_one_renewal() -> None:
    """Asked for on another thread: the loop goes on."""
    credentials = Credentials(takes=0.2)
    ticks = 0

    def refusing(sent: CapturedRequest) -> Any:
        return REFUSED if sent.headers["authorization"] == "Bearer google-token-1" else "ok"

    async with FakeGoogleServer([refusing] * 16) as server:
        model = gemini_at(server, auth=GoogleAuth(credentials))
        asked = [asyncio.ensure_future(ask(model, request())) for _ in range(8)]
        while not all(one.done() for one in asked):
            ticks += 1
            await asyncio.sleep(0.01)
        assert [one.result().text for one in asked] == ["ok"] * 8
    assert credentials.refreshed == 2
    assert ticks > 20


async def test_who_goes_away_leaves_the_token_to_the_others() -> None:
    credentials = Credentials(takes=0.1)
    async with FakeGoogleServer(["ok"]) as server:
        model = gemini_at(server, auth=GoogleAuth(credentials))
        first, second = (asyncio.ensure_future(ask(model, request())) for _ in range(2))
        await asyncio.sleep(0.02)
        first.cancel()
        assert (await second).text == "ok"
    assert credentials.refreshed == 1 and first.cancelled()


# What goes wrong


async def failing(auth: GoogleAuth, kind: type[Exception], **options: Any) -> Any:
    async with FakeGoogleServer(["never"]) as server:
        with pytest.raises(kind) as caught:
            await ask(gemini_at(server, auth=auth, **options), request())
        assert not server.requests
    return caught.value


def test_two_credentials_at_once_are_refused(tmp_path: Path) -> None:
    with pytest.raises(UserError, match=r"credentials=\.\.\., service_account=\.\.\."):
        GoogleAuth(Credentials(), service_account=tmp_path / "a.json")
    with pytest.raises(UserError, match=r"credentials='text'\), expected credentials of google\.auth"):
        GoogleAuth("text")


async def test_no_credentials_at_all_name_the_next_command() -> None:
    error = await failing(GoogleAuth(), UserError)
    assert "gcloud auth application-default login" in str(error) and "GOOGLE_APPLICATION_CREDENTIALS" in str(error)


@pytest.mark.parametrize("text", ["", "{}", "not json", '{"type": "other"}', '{"type": "service_account"}'])
async def test_a_file_that_holds_none_is_said_so(text: str, tmp_path: Path) -> None:
    (tmp_path / "a.json").write_text(text)
    error = await failing(GoogleAuth(service_account=tmp_path / "a.json"), UserError)
    assert "gcloud auth application-default login" in str(error)
    error = await failing(GoogleAuth(service_account=tmp_path / "none.json"), UserError)
    assert "none.json" in str(error)


@pytest.mark.parametrize(
    "body", [b"", b"<html>", b"[]", b"null", b"{}", b'{"access_token": 7}', b'{"expires_in": "x"}'], ids=str
)
async def test_garbage_for_a_token_is_typed(body: bytes, tmp_path: Path) -> None:
    async with TokenServer([ServerReply(body=body)] * 9) as tokens:
        auth = GoogleAuth(service_account=service_account(tmp_path, f"{tokens.url}/token"))
        error = await failing(auth, AuthenticationError)
    assert error.__cause__ is not None or "google" in str(error).lower()


@pytest.mark.parametrize("status", [400, 401, 403, 404])
async def test_a_refusal_of_the_account_is_typed_and_not_repeated(status: int, tmp_path: Path) -> None:
    said = ServerReply(status=status, body={"error": "invalid_grant", "error_description": "key-canary-0123"})
    async with TokenServer([said] * 9) as tokens:
        auth = GoogleAuth(service_account=service_account(tmp_path, f"{tokens.url}/token"))
        error = await failing(auth, AuthenticationError)
    assert "key-canary" not in str(error) and "key-canary" in str(error.__cause__)
    assert len(tokens.requests) == 1 and not error.retryable


async def test_a_server_of_tokens_that_is_down_may_be_up_later(tmp_path: Path) -> None:
    path = service_account(tmp_path, "http://127.0.0.1:9/token")
    error = await failing(GoogleAuth(service_account=path), ModelConnectionError)
    assert "GoogleAuth cannot reach what gives tokens" in str(error)
    async with TokenServer([ServerReply(then="refuse"), token("late")]) as tokens, FakeGoogleServer(["ok"]) as server:
        auth = GoogleAuth(service_account=service_account(tmp_path, f"{tokens.url}/token"))
        assert (await ask(gemini_at(server, auth=auth), request())).text == "ok"


@pytest.mark.leaves_tasks
async def test_a_server_of_tokens_that_is_slow_ends_in_a_deadline(tmp_path: Path) -> None:
    from agentsdk.models import ModelTimeouts

    async with TokenServer([ServerReply(wait=asyncio.Event())]) as tokens:
        auth = GoogleAuth(service_account=service_account(tmp_path, f"{tokens.url}/token"))
        error = await failing(auth, ModelTimeoutError, timeouts=ModelTimeouts(read=0.2), retry=NO_RETRY)
    assert "auth=" in str(error)


async def test_no_token_is_fetched_from_elsewhere_in_a_test(tmp_path: Path) -> None:
    path = service_account(tmp_path, "https://oauth2.example.com/token")
    with no_real_requests():
        error = await failing(GoogleAuth(service_account=path), UserError)
    assert "no_real_requests" in str(error)


def test_without_the_package_it_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "google.auth", None)
    with pytest.raises(UserError, match=r"pip install 'agentsdk\[vertex\]'"):
        GoogleAuth()
