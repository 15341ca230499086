"""Compatible servers by their names: what is sent to each, and recorded replies of those that there are recordings of."""

from __future__ import annotations

from collections import Counter
from typing import Any

import pytest

from agentsdk.models.known import PROFILES
from agentsdk.models.openai_chat import OpenAIChatCompletionsModel
from agentsdk.models.profiles import profiled_model
from agentsdk.testing import FakeOpenAIServer
from agentsdk.types.errors import UserError
from tests.models.fault_matrix import BOTH
from tests.models.openai_chat.test_recordings import FOLDER, Interaction, check_error, expected, recorded, served
from tests.models.wire import ask, calls_of, events_of, reasoning_of, request
from tests.shown import show

HOSTS = {
    "api.deepseek.com": "deepseek",
    "api.groq.com": "groq",
    "api.mistral.ai": "mistral",
    "api.z.ai": "zai",
    "myorg-myaccount.snowflakecomputing.com": "snowflake",
    "openrouter.ai": "openrouter",
    "router.huggingface.co": "huggingface",
}
KEYLESS = ("llamacpp", "lmstudio", "ollama", "vllm")


def model_of(name: str, server: FakeOpenAIServer, monkeypatch: pytest.MonkeyPatch, key: str = "k-canary-01") -> Any:
    profile = PROFILES[name]
    if key and profile.key_variable:
        monkeypatch.setenv(profile.key_variable, key)
    if profile.base_url_variable:
        monkeypatch.setenv(profile.base_url_variable, server.base_url)
        return profiled_model(name, "tiny")
    model = profiled_model(name, "tiny")
    model.base_url = server.base_url
    return model


@pytest.mark.anyio
@BOTH
@pytest.mark.parametrize("name", [name for name, profile in PROFILES.items() if profile.base_url_variable])
async def test_what_is_sent_to_each(name: str, streamed: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    profile = PROFILES[name]
    async with FakeOpenAIServer(["ok"]) as server:
        model = model_of(name, server, monkeypatch)
        assert (await ask(model, request(stream=streamed))).text == "ok"
        (sent,) = server.requests
    carried = sent.headers.get(profile.key_header or "authorization", "")
    assert carried == ("k-canary-01" if profile.key_header else "Bearer k-canary-01")
    assert sum("k-canary-01" in value for value in sent.headers.values()) == 1
    assert ("stream_options" in sent.json) is (streamed and name != "mistral")
    assert sent.json["model"] == "tiny"


@pytest.mark.anyio
@pytest.mark.parametrize("name", KEYLESS)
async def test_a_server_on_this_machine_needs_no_key(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    async with FakeOpenAIServer(["ok"]) as server:
        monkeypatch.delenv(PROFILES[name].key_variable, raising=False)
        await ask(model_of(name, server, monkeypatch, key=""), request())
        assert "authorization" not in server.requests[0].headers


def test_every_other_one_names_the_variable_of_its_key(monkeypatch: pytest.MonkeyPatch) -> None:
    from agentsdk.models import profiles

    monkeypatch.setattr(profiles, "_entra_auth", lambda: None)
    for name, profile in PROFILES.items():
        monkeypatch.delenv(profile.key_variable, raising=False)
        if not profile.base_url:
            monkeypatch.setenv(profile.base_url_variable, "https://server.example/v1")
        if name in KEYLESS:
            assert isinstance(profiled_model(name, "tiny"), OpenAIChatCompletionsModel)
            continue
        with pytest.raises(UserError, match=profile.key_variable):
            profiled_model(name, "tiny")


REPLAYED: Counter[str] = Counter()


def recordings() -> list[Any]:
    """Recorded answers of the servers that have a profile."""
    found = [(param, HOSTS.get(param.values[0]["request"]["uri"].split("/")[2])) for param in recorded()]
    return [pytest.param(name, *param.values, id=param.id) for param, name in found if name]


@pytest.mark.anyio
@pytest.mark.skipif(not FOLDER, reason="AGENTSDK_RECORDINGS is not set")
@pytest.mark.parametrize(("name", "interaction"), recordings())
async def test_a_recorded_reply_is_read_by_the_profile(
    name: str, interaction: Interaction, monkeypatch: pytest.MonkeyPatch
) -> None:
    streamed = "text" in interaction["response"]
    async with FakeOpenAIServer([served(interaction, "whole")] * 3) as server:
        model = model_of(name, server, monkeypatch)
        REPLAYED[name] += 1
        if interaction["response"]["status"] >= 400 or "event: error" in interaction["response"].get("text", ""):
            if interaction["response"]["status"] == 429:
                model._retry = type(model._retry)(max_retries=0)
            await check_error(interaction, model, request(stream=streamed))
            return
        events = await events_of(model, request(stream=streamed))
    response, want = events[-1].response, expected(interaction)  # type: ignore[union-attr]
    assert (response.text, reasoning_of(response), calls_of(response)) == (want["text"], want["reasoning"], want["calls"])
    assert response.usage.known and response.usage.output_tokens == want["usage"]["completion_tokens"]


@pytest.mark.skipif(not FOLDER, reason="AGENTSDK_RECORDINGS is not set")
def test_where_they_were_recorded_is_where_the_profiles_send(pytestconfig: pytest.Config) -> None:
    for param in recordings():
        name, interaction = param.values
        recorded_at = interaction["request"]["uri"].partition("#")[0]
        sent_to = f"{PROFILES[name].base_url}/chat/completions"
        if name == "deepseek":  # which has both addresses
            sent_to = sent_to.replace("/v1/", "/")
        if name not in ("huggingface", "snowflake"):  # recorded at one provider's own part, and at an account's
            assert recorded_at == sent_to
    show(pytestconfig, [f"profile {name}: {count} recorded replies read" for name, count in sorted(REPLAYED.items())])
