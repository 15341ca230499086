"""Each way of the quickstart, as its shell block says it, leads to an answer: against the fake server of that protocol."""

from __future__ import annotations

import asyncio
import contextlib
import io
import re
from pathlib import Path

import pytest

from agentsdk.models import AnthropicModel, GoogleAuth, GoogleModel, OpenAIResponsesModel, profiles
from agentsdk.models.known import PROFILES
from agentsdk.models.provider import DEFAULT_PROVIDER
from agentsdk.testing import FakeAnthropicServer, FakeBedrockServer, FakeGoogleServer, FakeOpenAIServer, FakeResponsesServer
from agentsdk.testing.server import FakeServer
from tests.offline import python_blocks

PAGE = (Path(__file__).parents[1] / "docs" / "quickstart.md").read_text(encoding="utf-8")
PROGRAM = next(python_blocks(PAGE))[1]
BLOCKS = re.findall(r"^```sh\n(.*?)^```$", PAGE, re.MULTILINE | re.DOTALL)
WAYS = [dict(re.findall(r"^export (\w+)=(\S+)", block, re.MULTILINE)) for block in BLOCKS]
WAYS += [
    {"AGENTSDK_MODEL": model, variable: "key"}
    for variable, model in re.findall(r"^\| [\w. ]+ \| `(\w+_(?:API_KEY|TOKEN))` \| `(\S+)` \|$", PAGE, re.MULTILINE)
]
WAYS += [{"AGENTSDK_MODEL": model} for model in re.findall(r"^\| [\w. ]+ \| `(\S+)` \| `http", PAGE, re.MULTILINE)]
ADAPTERS = {
    "openai": (FakeResponsesServer, OpenAIResponsesModel),
    "anthropic": (FakeAnthropicServer, AnthropicModel),
    "google": (FakeGoogleServer, GoogleModel),
}


async def token(*_: object) -> dict[str, str]:
    """In the place of a cloud's own credentials."""
    return {"authorization": "Bearer token"}


def arranged(way: dict[str, str], monkeypatch: pytest.MonkeyPatch) -> tuple[FakeServer, dict[str, str]]:
    """The fake server in the place of the real one, and the variables that have to name it."""
    kind = way.get("AGENTSDK_MODEL", "openai:").partition(":")[0]
    if kind in ADAPTERS:
        server, adapter = ADAPTERS[kind]
        fake = server(["Paris."])
        monkeypatch.setattr(adapter, "_default_base_url", property(lambda self: fake.base_url))
        return fake, {}
    if kind == "vertex":
        monkeypatch.setattr(GoogleAuth, "__call__", token)
        return FakeGoogleServer(["Paris."]), {"GOOGLE_VERTEX_BASE_URL": "base_url"}
    if kind == "bedrock":
        return FakeBedrockServer(["Paris."]), {"AWS_ENDPOINT_URL_BEDROCK_RUNTIME": "base_url"}
    variable = PROFILES[kind].base_url_variable if kind in PROFILES else "OPENAI_BASE_URL"
    return FakeOpenAIServer(["Paris."]), {variable: "base_url"}


def printed() -> str:
    said = io.StringIO()
    with contextlib.redirect_stdout(said):
        exec(compile(PROGRAM, "hello.py", "exec"), {"__name__": "__main__"})
    return said.getvalue()


@pytest.mark.parametrize("way", [way for way in WAYS if way], ids=lambda way: way.get("AGENTSDK_MODEL", "a key alone"))
def test_this_way_leads_to_an_answer(way: dict[str, str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(DEFAULT_PROVIDER, "_found", {})
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", "test")
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "test")
    for name, value in way.items():
        monkeypatch.setenv(name, value)

    monkeypatch.setattr(profiles, "_entra_auth", lambda: token)

    async def run() -> tuple[str, dict[str, str]]:
        fake, variables = arranged(way, monkeypatch)
        async with fake:
            for name in variables:
                monkeypatch.setenv(name, fake.base_url)
            said = await asyncio.to_thread(printed)
            return said, fake.requests[0].headers

    said, headers = asyncio.run(run())
    assert said.startswith("Paris.\n[1 turn, ")
    keys = [value for name, value in way.items() if name.endswith(("_API_KEY", "_TOKEN"))]
    for key in keys:
        assert any(key in value for value in headers.values())


def test_all_ways_are_tried() -> None:
    """A way that the patterns above do not see would not be tried."""
    named = {way.get("AGENTSDK_MODEL", "").partition(":")[0] for way in WAYS}
    assert {*ADAPTERS, "bedrock", "vertex"} - {"openai"} <= named
    assert set(PROFILES) - {"snowflake", "gemini-compatible"} <= named
