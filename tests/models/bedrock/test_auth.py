"""Signatures, as botocore's own signer makes and a server checks them; credentials, where they come from and when they end."""

from __future__ import annotations

import sys
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import botocore.auth
import pytest
from botocore.auth import SigV4Auth
from botocore.awsrequest import AWSRequest
from botocore.credentials import Credentials

from agentsdk.models.bedrock import BedrockModel
from agentsdk.models.bedrock.auth import AwsAuth
from agentsdk.testing import ServerReply
from agentsdk.testing.bedrock_dialect import FakeBedrockServer
from agentsdk.testing.server import CapturedRequest
from agentsdk.types.errors import AuthenticationError, UserError
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


async def test_each_attempt_is_signed_anew(monkeypatch: pytest.MonkeyPatch) -> None:
    times = iter([NOW, NOW.replace(second=30)])
    monkeypatch.setattr(botocore.auth, "get_current_datetime", lambda: next(times))
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
    monkeypatch.setitem(sys.modules, "botocore.auth", None)
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
