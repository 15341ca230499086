"""Signatures, as botocore's own signer makes and a server checks them; credentials, where they come from and when they end."""

from __future__ import annotations

import asyncio
import sys
import time
from datetime import UTC, datetime
from pathlib import Path
from typing import Any
from urllib.parse import quote

import botocore.auth
import pytest
from botocore.auth import SigV4Auth
from botocore.awsrequest import AWSRequest
from botocore.credentials import Credentials, ReadOnlyCredentials

from agentsdk.models.bedrock import BedrockModel
from agentsdk.models.bedrock import auth as our_auth
from agentsdk.models.bedrock.auth import AwsAuth
from agentsdk.testing import ServerReply
from agentsdk.testing.bedrock_dialect import FakeBedrockServer
from agentsdk.testing.server import CapturedRequest
from agentsdk.types.errors import AuthenticationError, ModelConnectionError, NotFoundError, UserError
from tests.models.bedrock.server import MODEL, model_at
from tests.models.fault_matrix import BOTH
from tests.models.wire import ask, request

pytestmark = pytest.mark.anyio

ID, SECRET, SESSION = "AKIDEXAMPLE", "wJalrXUtnFEMI/K7MDENG+bPxRfiCYEXAMPLEKEY", "session-canary-0123456789"
NOW = datetime(2026, 11, 28, 1, 2, 3, tzinfo=UTC)


@pytest.fixture(autouse=True)
def environment(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Keys of AWS's documentation, nothing else of this machine, and a clock that stands still."""
    for name in ("AWS_PROFILE", "AWS_REGION", "AWS_DEFAULT_REGION", "AWS_SESSION_TOKEN", "AWS_BEARER_TOKEN_BEDROCK"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("AWS_CONFIG_FILE", str(tmp_path / "config"))
    monkeypatch.setenv("AWS_SHARED_CREDENTIALS_FILE", str(tmp_path / "credentials"))
    monkeypatch.setenv("AWS_EC2_METADATA_DISABLED", "true")
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", ID)
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", SECRET)
    monkeypatch.setattr(botocore.auth, "get_current_datetime", lambda: NOW)
    monkeypatch.setattr(our_auth, "utc_now", lambda: NOW)


def checked(url: str, sent: CapturedRequest, token: str | None = None) -> str:
    """The signature that a server computes of what came: of the headers that are named as signed."""
    named = sent.headers["authorization"].partition("SignedHeaders=")[2].partition(",")[0].split(";")
    kept = {name: sent.headers[name] for name in named if name not in ("x-amz-date", "x-amz-security-token")}
    again = AWSRequest(sent.method, f"{url}{sent.path}", headers=kept, data=sent.body)
    SigV4Auth(Credentials(ID, SECRET, token), "bedrock", "eu-west-1").add_auth(again)
    return str(again.headers["Authorization"])


@BOTH
@pytest.mark.parametrize("token", [None, SESSION])
async def test_what_arrives_bears_the_signature_that_a_server_computes(
    streamed: bool, token: str | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    if token:
        monkeypatch.setenv("AWS_SESSION_TOKEN", token)
    async with FakeBedrockServer(["ok"]) as server:
        model = model_at(server, auth=AwsAuth("eu-west-1"))
        assert (await ask(model, request(stream=streamed))).text == "ok"
        (sent,) = server.requests
        assert sent.headers["authorization"] == checked(server.url, sent, token)
    assert sent.path.startswith("/model/anthropic.claude-test-v1%3A0/converse")
    assert sent.headers["x-amz-date"] == "20261128T010203Z"
    assert sent.headers.get("x-amz-security-token") == token
    named = sent.headers["authorization"].partition("SignedHeaders=")[2].partition(",")[0].split(";")
    assert {"content-type", "host", "x-amz-date"} <= set(named) and ("x-amz-security-token" in named) is bool(token)


async def test_a_signature_is_the_one_of_fixed_keys_and_clock() -> None:
    """Computed by hand after AWS's description of version 4, with nothing of botocore."""
    import hashlib
    import hmac

    async with FakeBedrockServer(["ok"]) as server:
        await ask(model_at(server, auth=AwsAuth("eu-west-1")), request())
        (sent,), host = server.requests, server.url.removeprefix("http://")
    lines = ["POST", "/model/anthropic.claude-test-v1%253A0/converse", ""]
    lines += ["content-type:application/json", f"host:{host}", "x-amz-date:20261128T010203Z", ""]
    lines += ["content-type;host;x-amz-date", hashlib.sha256(sent.body).hexdigest()]
    scope = "20261128/eu-west-1/bedrock/aws4_request"
    text = "\n".join(["AWS4-HMAC-SHA256", "20261128T010203Z", scope, hashlib.sha256("\n".join(lines).encode()).hexdigest()])
    key = f"AWS4{SECRET}".encode()
    for part in scope.split("/"):
        key = hmac.new(key, part.encode(), "sha256").digest()
    signature = hmac.new(key, text.encode(), "sha256").hexdigest()
    told = f"Credential={ID}/{scope}, SignedHeaders=content-type;host;x-amz-date, Signature={signature}"
    assert sent.headers["authorization"] == f"AWS4-HMAC-SHA256 {told}"


def test_signatures_are_those_of_botocore_whatever_is_signed() -> None:
    """Addresses with queries, ports and quoted characters, bodies in pieces, keys that change, and days."""
    import random
    from datetime import timedelta

    from agentsdk.models.auth import AuthRequest
    from agentsdk.models.bedrock.signature import Keys, Signer
    from agentsdk.models.network import RequestHeaders
    from agentsdk.models.prefix import Pieces

    chance, signer = random.Random(5), Signer("bedrock", "eu-west-1")
    letters = "aZ0-._~%2Fé:@!$*+é "
    for _ in range(500):
        name = quote("".join(chance.choices(letters, k=9)), safe="-._~")
        server = chance.choice(["https://h.example", "https://h.example:443", "http://127.0.0.1:80", "http://H.example:8080"])
        query = chance.choice(["", "?b=2&a=1&a=0", "?x", "?byInferenceType=ON_DEMAND&a=%20"])
        url = f"{server}/model/{name}/converse{query}"
        parts = [chance.randbytes(chance.randrange(200)) for _ in range(chance.randrange(4))]
        body = chance.choice([Pieces(parts), b"".join(parts)])
        token = chance.choice([None, SESSION])
        secret = chance.choice([SECRET, SECRET + "2"])
        kind = chance.choice(["application/json", "text/plain;  charset=utf-8", ""])
        now = NOW + timedelta(days=chance.randrange(3), seconds=chance.randrange(9**5))
        asked = AuthRequest(chance.choice(["POST", "GET"]), url, RequestHeaders({}), body)
        ours = signer.headers(asked.method, url, kind, asked.digest, Keys(ID, secret, token or ""), now)
        theirs = AWSRequest(asked.method, url, headers={"content-type": kind} if kind else {}, data=asked.body)
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(botocore.auth, "get_current_datetime", lambda now=now: now)
            SigV4Auth(Credentials(ID, secret, token), "bedrock", "eu-west-1").add_auth(theirs)
        assert ours == {name.lower(): value for name, value in theirs.headers.items() if name.lower() != "content-type"}
    assert SECRET not in repr(Keys(ID, SECRET, SESSION))


async def test_each_attempt_is_signed_anew(monkeypatch: pytest.MonkeyPatch) -> None:
    times = iter([NOW, NOW.replace(second=30)])
    monkeypatch.setattr(our_auth, "utc_now", lambda: next(times))
    async with FakeBedrockServer([ServerReply(status=503, body=b""), "ok"]) as server:
        await ask(model_at(server, auth=AwsAuth("eu-west-1")), request())
    assert [sent.headers["x-amz-date"] for sent in server.requests] == ["20261128T010203Z", "20261128T010230Z"]


@pytest.mark.parametrize(
    ("kind", "message"),
    [
        ("ExpiredTokenException", "The security token included in the request is expired"),
        ("InvalidSignatureException", "Signature expired: 20261128T010203Z is now earlier than 20261128T011203Z"),
    ],
)
async def test_expired_credentials_are_read_anew_once(kind: str, message: str, monkeypatch: pytest.MonkeyPatch) -> None:
    def expired(_: CapturedRequest) -> ServerReply:
        monkeypatch.setenv("AWS_SESSION_TOKEN", SESSION)
        return ServerReply(
            status=403, body={"message": f"{message} {SESSION}"}, headers={"x-amzn-errortype": f"{kind}:http://x"}
        )

    async with FakeBedrockServer([expired, "ok", expired, expired]) as server:
        model = model_at(server, auth=AwsAuth("eu-west-1"))
        assert (await ask(model, request())).text == "ok"
        with pytest.raises(AuthenticationError) as caught:
            await ask(model, request())
    assert [sent.headers.get("x-amz-security-token") for sent in server.requests] == [None, SESSION, SESSION, SESSION]
    assert caught.value.code == kind and SESSION not in str(caught.value)
    assert message in str(caught.value)  # the times in it are no secret


async def test_no_error_shows_what_signs(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("AWS_SESSION_TOKEN", SESSION)

    def echoing(sent: CapturedRequest) -> ServerReply:
        signature = sent.headers["authorization"].rpartition("Signature=")[2]
        return ServerReply(status=400, body={"message": f"{SESSION} {signature} {sent.headers['authorization']}"})

    async with FakeBedrockServer([echoing]) as server:
        model = model_at(server, auth=AwsAuth("eu-west-1"))
        with pytest.raises(Exception, match="answered with an error") as caught:
            await ask(model, request())
        signature = server.requests[0].headers["authorization"].rpartition("Signature=")[2]
    for secret in (SESSION, SECRET, signature):
        assert secret not in f"{caught.value!r}{model!r}{vars(caught.value)}"


async def test_credentials_come_from_a_profile(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    keys = f"aws_access_key_id = {ID}2\naws_secret_access_key = {SECRET}"
    (tmp_path / "credentials").write_text(f"[work]\n{keys}\n")
    async with FakeBedrockServer(["ok"]) as server:
        await ask(model_at(server, auth=AwsAuth("eu-west-1", profile="work")), request())
        with pytest.raises(UserError, match="choose another profile"):
            await ask(model_at(server, auth=AwsAuth("eu-west-1", profile="none")), request())
    assert f"Credential={ID}2/" in server.requests[0].headers["authorization"]


@pytest.mark.parametrize(
    "message",
    [
        "Signature expired: 20261128T010203Z is now earlier than 20261128T011203Z (20261128T011703Z - 5 min.)",
        "Signature not yet current: 20261128T012203Z is still later than 20261128T010703Z (20261128T010203Z + 5 min.)",
    ],
)
async def test_a_clock_that_is_off_is_said_so(message: str) -> None:
    said = ServerReply(status=403, body={"message": message}, headers={"x-amzn-errortype": "InvalidSignatureException:"})
    async with FakeBedrockServer([said] * 2) as server:
        with pytest.raises(AuthenticationError, match="the clock of this machine is not the server's") as caught:
            await ask(model_at(server, auth=AwsAuth("eu-west-1")), request())
    assert message in str(caught.value) and "api_key" not in str(caught.value)


@BOTH
@pytest.mark.parametrize(
    ("status", "kind", "message"),
    [
        (400, "ValidationException", "The provided model identifier is invalid."),
        (
            400,
            "ValidationException",
            "Invocation of model ID x with on-demand throughput isn\u2019t supported.",
        ),
        (404, "ResourceNotFoundException", "Could not resolve the foundation model from the provided model identifier."),
    ],
)
async def test_a_region_without_the_model_is_named(
    streamed: bool, status: int, kind: str, message: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    said = ServerReply(status=status, body={"message": message}, headers={"x-amzn-errortype": f"{kind}:http://x"})
    async with FakeBedrockServer([said]) as server:
        monkeypatch.setenv("AWS_ENDPOINT_URL_BEDROCK_RUNTIME", server.url)
        with pytest.raises(NotFoundError) as caught:
            await ask(BedrockModel(MODEL, region="eu-north-1"), request(stream=streamed))
    assert f"model {MODEL!r} in region 'eu-north-1'" in str(caught.value)
    assert caught.value.status == status and "whether its region has it" in str(caught.value)


async def test_half_a_key_is_none(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("AWS_SECRET_ACCESS_KEY")
    with pytest.raises(UserError, match=r"missing: AWS_SECRET_ACCESS_KEY; .*aws configure"):
        await ask(BedrockModel(MODEL, region="eu-north-1"), request())


class Renewing:
    """Credentials of botocore that must be renewed, which takes `takes` or raises."""

    def __init__(self, takes: float = 0.0, error: Exception | None = None) -> None:
        self.renewed = 0
        self._takes, self._error = takes, error

    def refresh_needed(self) -> bool:
        return not self.renewed

    def get_frozen_credentials(self) -> Any:
        if not self.renewed:
            time.sleep(self._takes)
            if self._error is not None:
                raise self._error
            self.renewed += 1
        return ReadOnlyCredentials(ID, SECRET, SESSION)


async def test_credentials_are_renewed_once_for_all_that_wait_and_the_loop_goes_on() -> None:
    auth, ticks = AwsAuth("eu-west-1"), 0
    auth._credentials = renewing = Renewing(takes=0.2)
    async with FakeBedrockServer(["ok"] * 5) as server:
        asked = [asyncio.ensure_future(ask(model_at(server, auth=auth), request())) for _ in range(5)]
        while not all(one.done() for one in asked):
            ticks += 1
            await asyncio.sleep(0.01)
    assert renewing.renewed == 1 and ticks > 10


async def test_what_gives_credentials_may_be_down_or_refuse() -> None:
    from botocore.exceptions import EndpointConnectionError, SSOTokenLoadError

    auth = AwsAuth("eu-west-1")
    async with FakeBedrockServer(["never"]) as server:
        auth._credentials = Renewing(error=EndpointConnectionError(endpoint_url="http://sts"))
        with pytest.raises(ModelConnectionError, match="AwsAuth cannot reach"):
            await ask(model_at(server, auth=auth), request())
        auth._credentials = Renewing(error=SSOTokenLoadError(error_msg="expired"))
        with pytest.raises(AuthenticationError, match="aws sso login"):
            await ask(model_at(server, auth=auth), request())
        auth._credentials = Renewing(error=ValueError("garbage"))
        with pytest.raises(AuthenticationError, match="aws configure"):
            await ask(model_at(server, auth=auth), request())
        assert not server.requests


def test_two_credentials_at_once_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(UserError, match=r"api_key=\.\.\., auth=\.\.\."):
        BedrockModel(MODEL, region="eu-west-1", api_key="k", auth=AwsAuth("eu-west-1"))
    with pytest.raises(UserError, match=r"auth=\.\.\., headers=\{'authorization'"):
        BedrockModel(MODEL, region="eu-west-1", auth=AwsAuth("eu-west-1"), headers={"Authorization": "Bearer t"})
    given = BedrockModel(MODEL, region="eu-west-1", headers={"Authorization": "Bearer t"})
    assert given._auth is None


async def test_what_is_missing_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(UserError, match=r"no region.*AWS_REGION"):
        BedrockModel(MODEL)
    with pytest.raises(UserError, match=r"no region.*AWS_REGION"):
        AwsAuth()
    monkeypatch.setenv("AWS_REGION", "eu-west-1")
    monkeypatch.delenv("AWS_ACCESS_KEY_ID")
    monkeypatch.delenv("AWS_SECRET_ACCESS_KEY")
    with pytest.raises(UserError, match=r"no AWS credentials.*AWS_ACCESS_KEY_ID.*AWS_BEARER_TOKEN_BEDROCK"):
        await ask(BedrockModel(MODEL), request())
    monkeypatch.setitem(sys.modules, "botocore.session", None)
    with pytest.raises(UserError, match=r"pip install 'agentsdk\[bedrock\]'"):
        BedrockModel(MODEL)
    monkeypatch.setenv("AWS_BEARER_TOKEN_BEDROCK", "k")
    assert BedrockModel(MODEL)._auth is None


@pytest.mark.parametrize(
    ("region", "address"),
    [("us-east-1", "https://bedrock-runtime.us-east-1.amazonaws.com"), ("cn-north-1", "https://bedrock-runtime.cn-north-1.amazonaws.com.cn")],
)  # fmt: skip
def test_the_address_is_the_regions(region: str, address: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("AWS_DEFAULT_REGION", "eu-west-1")
    model = BedrockModel(MODEL, region=region)
    assert model.base_url == address and isinstance(model._auth, AwsAuth) and model._auth.region == region
    assert BedrockModel(MODEL)._url_for(request()).startswith("https://bedrock-runtime.eu-west-1.")


async def test_credentials_of_the_environment_go_to_its_address_only(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("AWS_REGION", "eu-west-1")
    async with FakeBedrockServer(["ok"] * 4) as server:
        await ask(BedrockModel(MODEL, base_url=server.url), request())
        monkeypatch.setenv("AWS_ENDPOINT_URL_BEDROCK_RUNTIME", server.url)
        await ask(BedrockModel(MODEL), request())
        monkeypatch.setenv("AWS_BEARER_TOKEN_BEDROCK", "bearer-of-the-environment")
        await ask(BedrockModel(MODEL), request())
        await ask(BedrockModel(MODEL, api_key=""), request())
    told: list[Any] = [sent.headers.get("authorization", "")[:16] for sent in server.requests]
    assert told == ["", "AWS4-HMAC-SHA256", "Bearer bearer-of", ""]
