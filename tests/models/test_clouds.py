"""A run in a cloud whose credentials expire between two of its turns: renewed once, or the run ends with a typed error."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from agentsdk import Agent, Runner, function_tool
from agentsdk.models import AwsAuth, BedrockModel, EntraAuth, GoogleAuth
from agentsdk.testing import (
    CapturedRequest,
    FakeAnthropicServer,
    FakeBedrockServer,
    FakeGoogleServer,
    FakeOpenAIServer,
    FakeServer,
    ServerReply,
    call,
)
from agentsdk.types.errors import AuthenticationError
from tests.models.bedrock.server import MODEL
from tests.models.test_entra import Credential
from tests.models.vertex.server import claude_at, gemini_at
from tests.models.vertex.test_auth import Credentials
from tests.models.wire import FakeClock, model_at

pytestmark = pytest.mark.anyio

EXPIRED = {"message": "The security token included in the request is expired", "error": {"message": "expired"}}


def entra(server: FakeServer) -> Any:
    return model_at(server, api_key=None, auth=EntraAuth(Credential()))


def bedrock(server: FakeServer) -> Any:
    return BedrockModel(MODEL, base_url=server.base_url, auth=AwsAuth("eu-west-1"), clock=FakeClock())


def gemini(server: FakeServer) -> Any:
    return gemini_at(server, auth=GoogleAuth(Credentials()))


def claude(server: FakeServer) -> Any:
    return claude_at(server, auth=GoogleAuth(Credentials()))


CLOUDS: dict[str, tuple[type[FakeServer], Callable[[FakeServer], Any]]] = {
    "Entra": (FakeOpenAIServer, entra),
    "Bedrock": (FakeBedrockServer, bedrock),
    "Vertex, Google": (FakeGoogleServer, gemini),
    "Vertex, Anthropic": (FakeAnthropicServer, claude),
}


@function_tool(effect="none")
def look_up(topic: str) -> str:
    """Look something up."""
    return f"all about {topic}"


@pytest.fixture
def expired(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Callable[[CapturedRequest], ServerReply]:
    """The server says that what was valid a turn before has expired; whoever looks then finds new credentials."""
    for name, value in {
        "AWS_ACCESS_KEY_ID": "AKIDEXAMPLE",
        "AWS_SECRET_ACCESS_KEY": "a-secret",
        "AWS_SESSION_TOKEN": "old-session-0123",
        "AWS_CONFIG_FILE": str(tmp_path / "none"),
        "AWS_SHARED_CREDENTIALS_FILE": str(tmp_path / "none"),
    }.items():
        monkeypatch.setenv(name, value)

    def refuse(sent: CapturedRequest) -> ServerReply:
        monkeypatch.setenv("AWS_SESSION_TOKEN", "new-session-0123")
        if "x-amz-date" in sent.headers:
            return ServerReply(status=403, body=EXPIRED, headers={"x-amzn-errortype": "ExpiredTokenException:http://x"})
        return ServerReply(status=401, body=EXPIRED)

    return refuse


@pytest.mark.parametrize("streamed", [False, True])
@pytest.mark.parametrize("cloud", CLOUDS)
async def test_credentials_that_expire_in_mid_run_are_renewed_once(cloud: str, streamed: bool, expired: Any) -> None:
    kind, model_of = CLOUDS[cloud]
    async with kind([[call("look_up", topic="Rome")], expired, "Rome."]) as server:
        agent = Agent(name="Guide", model=model_of(server), tools=[look_up])
        if streamed:
            run = Runner.run_streamed(agent, "The capital of Italy?")
            async for _ in run.stream_events():
                pass
            answer = run.final_output
        else:
            answer = (await Runner.run(agent, "The capital of Italy?")).final_output
    assert answer == "Rome."
    told = [sent.headers.get("x-amz-security-token") or sent.headers["authorization"] for sent in server.requests]
    assert told[0] == told[1] != told[2]


@pytest.mark.parametrize("cloud", CLOUDS)
async def test_credentials_that_are_refused_again_end_the_run_which_can_go_on(cloud: str, expired: Any) -> None:
    kind, model_of = CLOUDS[cloud]
    async with kind([[call("look_up", topic="Rome")], expired, expired, "Rome."]) as server:
        agent = Agent(name="Guide", model=model_of(server), tools=[look_up])
        with pytest.raises(AuthenticationError) as caught:
            await Runner.run(agent, "The capital of Italy?")
        assert len(server.requests) == 3
        assert "new-session" not in str(caught.value) and "token-" not in str(caught.value)
        assert caught.value.state is not None
        assert (await Runner.run(agent, caught.value.state)).final_output == "Rome."
