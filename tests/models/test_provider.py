"""Which model a name means, with the keys and addresses of the environment."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from agentsdk import Agent, Model, ModelRetrySettings, ModelSettings, Runner, UserError
from agentsdk.errors import ModelConnectionError
from agentsdk.models.known import PROFILES
from agentsdk.models.openai_chat import OpenAIChatCompletionsModel
from agentsdk.models.openai_responses import OpenAIResponsesModel
from agentsdk.models.provider import DEFAULT_PROVIDER, DefaultModelProvider, find_model
from agentsdk.testing import ScriptedModel


@pytest.fixture(autouse=True)
def plain_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in list(os.environ):
        if name.endswith(("_BASE_URL", "_API_KEY")) or name == "AGENTSDK_MODEL":
            monkeypatch.delenv(name)


def kind(name: str) -> str:
    return type(DefaultModelProvider().get_model(name)).__name__


def test_a_model_means_itself_and_a_name_the_providers() -> None:
    scripted = ScriptedModel(["hello"])

    class Provider:
        def get_model(self, name: str | None) -> Model:
            assert name == "mine"
            return scripted

    assert find_model(scripted) is scripted
    assert find_model("mine", Provider()) is scripted


def test_the_kind_before_the_colon_chooses_the_adapter(monkeypatch: pytest.MonkeyPatch) -> None:
    for variable in ("OPENAI_API_KEY", "ANTHROPIC_API_KEY", "GEMINI_API_KEY"):
        monkeypatch.setenv(variable, "k")
    assert kind("local:smollm2") == "LocalModel"
    assert kind("openai:gpt-5") == "OpenAIResponsesModel"
    assert kind("openai-chat:gpt-5") == "OpenAIChatCompletionsModel"
    assert kind("anthropic:claude") == "AnthropicModel"
    assert kind("google:gemini") == "GoogleModel"
    monkeypatch.setenv("AWS_REGION", "us-east-1")
    assert kind("bedrock:us.anthropic.claude-sonnet-4-5-20250929-v1:0") == "BedrockModel"
    monkeypatch.setenv("GOOGLE_CLOUD_PROJECT", "my-project")
    assert kind("vertex:gemini-2.5-pro") == "VertexGoogleModel"
    assert kind("vertex:projects/my-project/locations/global/endpoints/7") == "VertexGoogleModel"
    assert kind("vertex:claude-sonnet-4-5@20250929") == "VertexAnthropicModel"
    assert kind("vertex:meta/llama-4-scout") == "OpenAIChatCompletionsModel"


def test_the_default_is_the_local_model_unless_the_environment_names_one(monkeypatch: pytest.MonkeyPatch) -> None:
    assert type(find_model(None)).__name__ == "LocalModel"
    monkeypatch.setenv("AGENTSDK_MODEL", "tiny")
    monkeypatch.setenv("OPENAI_BASE_URL", "http://127.0.0.1:9/v1")
    model = find_model(None)
    assert isinstance(model, OpenAIChatCompletionsModel)
    assert (model.name, model.base_url) == ("tiny", "http://127.0.0.1:9/v1")


def test_a_name_with_a_colon_of_its_own_is_a_model_of_the_environments_server(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_BASE_URL", "http://127.0.0.1:9/v1")
    assert find_model("llama3:8b").name == "llama3:8b"


def test_a_name_gives_the_same_model_until_the_environment_changes(monkeypatch: pytest.MonkeyPatch) -> None:
    provider = DefaultModelProvider()
    first = provider.get_model("ollama:tiny")
    assert provider.get_model("ollama:tiny") is first
    monkeypatch.setenv("OLLAMA_BASE_URL", "http://127.0.0.1:9/v1")
    second = provider.get_model("ollama:tiny")
    assert isinstance(second, OpenAIChatCompletionsModel) and second.base_url == "http://127.0.0.1:9/v1"


@pytest.mark.parametrize("name", PROFILES)
def test_a_compatible_server_is_a_profile(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    profile = PROFILES[name]
    if profile.key_variable:
        monkeypatch.setenv(profile.key_variable, "secret-canary")
    if not profile.base_url:
        monkeypatch.setenv(profile.base_url_variable, "https://server.example/v1")
    model = find_model(f"{name}:tiny")
    assert isinstance(model, OpenAIChatCompletionsModel)
    assert model.name == "tiny" and model.base_url == (profile.base_url or "https://server.example/v1")
    assert "secret-canary" not in repr(model)


def test_what_a_profile_misses_is_named() -> None:
    with pytest.raises(UserError, match="GROQ_API_KEY"):
        find_model("groq:tiny")
    with pytest.raises(UserError, match="AZURE_OPENAI_BASE_URL"):
        find_model("azure:tiny")


@pytest.mark.parametrize(
    ("said", "kind", "name"),
    [
        ({"OPENAI_API_KEY": "k"}, OpenAIResponsesModel, "gpt-4.1"),
        ({"OPENAI_API_KEY": "k", "OPENAI_DEFAULT_MODEL": "gpt-x"}, OpenAIResponsesModel, "gpt-x"),
        (
            {"OPENAI_API_KEY": "k", "OPENAI_DEFAULT_MODEL": "gpt-x", "OPENAI_BASE_URL": "http://127.0.0.1:9/v1"},
            OpenAIChatCompletionsModel,
            "gpt-x",
        ),
        ({"OPENAI_API_KEY": "k", "AGENTSDK_MODEL": "openai-chat:mine"}, OpenAIChatCompletionsModel, "mine"),
    ],
)
def test_with_a_key_and_no_model_openais_default_is_meant(
    said: dict[str, str], kind: type, name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    for variable, value in said.items():
        monkeypatch.setenv(variable, value)
    model = find_model(None)
    assert (type(model), model.name) == (kind, name)


@pytest.mark.parametrize(
    ("variable", "told"),
    [
        ("ANTHROPIC_API_KEY", "ANTHROPIC_API_KEY is set: .* export AGENTSDK_MODEL=anthropic:claude-sonnet-4-5;"),
        ("OPENAI_KEY", "OPENAI_KEY is set, which nothing reads: is OPENAI_API_KEY meant"),
        ("OPENAI_BASE_URL", "OPENAI_BASE_URL is set: .* export AGENTSDK_MODEL=NAME;"),
    ],
)
def test_the_local_model_says_so_once_where_another_may_be_meant(
    variable: str, told: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(variable, "k")
    provider = DefaultModelProvider()
    with pytest.warns(RuntimeWarning, match=f"so the local model answers; {told}.*export AGENTSDK_MODEL=local:smollm2$"):
        model = provider.get_model(None)
    assert provider.get_model(None) is model  # a second warning would be an error
    monkeypatch.setenv("AGENTSDK_MODEL", "local:smollm2")
    assert type(DefaultModelProvider().get_model(None)).__name__ == "LocalModel"


def test_without_key_and_weights_the_message_says_what_was_missing(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    def missing(*given: object, **options: object) -> None:
        raise UserError("the weights are not installed")

    monkeypatch.setattr("agentsdk.models.local.LocalModel", missing)
    with pytest.raises(
        UserError, match=r"no model and no OPENAI_API_KEY is set.*weights are not installed.*model='openai:NAME'"
    ):
        DefaultModelProvider().get_model(None)


@pytest.mark.parametrize(
    ("given", "told"),
    [
        (
            "ANTHROPIC_API_KEY",
            "ANTHROPIC_API_KEY is set: for that provider write model='anthropic:claude-sonnet-4-5'",
        ),
        ("GOOGLE_API_KEY", "GOOGLE_API_KEY is set: for that provider write model='google:gemini-2.5-flash'"),
        ("GROQ_API_KEY", "GROQ_API_KEY is set: for that provider write model='groq:NAME'"),
        ("OPENAI_KEY", "OPENAI_KEY is set, which nothing reads: is OPENAI_API_KEY meant?"),
        ("OPEN_AI_API_KEY", "OPEN_AI_API_KEY is set, which nothing reads: is OPENAI_API_KEY meant?"),
        ("ANTHROPIC_KEY", "ANTHROPIC_KEY is set, which nothing reads: is ANTHROPIC_API_KEY meant?"),
    ],
)
@pytest.mark.parametrize("name", [None, "gpt-5"])
def test_without_a_key_the_message_says_what_is_there_in_its_place(
    given: str, told: str, name: str | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    def missing(*given: object, **options: object) -> None:
        raise UserError("the weights are not installed")

    monkeypatch.setattr("agentsdk.models.local.LocalModel", missing)
    monkeypatch.setattr(DEFAULT_PROVIDER, "_found", {})
    monkeypatch.setenv(given, "secret")
    with pytest.raises(UserError) as caught:
        Runner.run_sync(Agent(name="Guide", model=name), "Hi")
    assert told in str(caught.value)
    assert "secret" not in str(caught.value)


@pytest.mark.parametrize(
    ("name", "meant"),
    [
        ("claude-sonnet-4-5", "anthropic:claude-sonnet-4-5"),
        ("gemini-2.5-flash", "google:gemini-2.5-flash"),
        ("groq/llama-3.3", "groq:llama-3.3"),
    ],
)
def test_a_model_that_openai_does_not_have_is_refused_with_the_name_it_has_here(
    name: str, meant: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    with pytest.raises(UserError, match=f"^model '{name}' is none of OpenAI's, .*; write '{meant}'$"):
        DefaultModelProvider().get_model(name)
    monkeypatch.setenv("OPENAI_BASE_URL", "http://127.0.0.1:9/v1")  # any server may have a model of any name
    assert isinstance(DefaultModelProvider().get_model(name), OpenAIChatCompletionsModel)


def test_a_misspelt_provider_is_answered_with_the_one_that_is_meant() -> None:
    with pytest.raises(UserError, match=r"begins with an unknown provider, .*; write 'anthropic:claude-x'; for"):
        find_model("antropic:claude-x")


def test_a_server_that_is_not_there_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OLLAMA_BASE_URL", "http://127.0.0.1:9/v1")
    once = ModelSettings(retry=ModelRetrySettings(max_retries=0))
    with pytest.raises(ModelConnectionError) as caught:
        Runner.run_sync(Agent(name="Guide", model="ollama:qwen3", model_settings=once), "Hi")
    told = "cannot connect to the provider at http://127.0.0.1:9; start the server, or check base_url"
    assert str(caught.value) == told


def test_an_address_without_its_scheme_is_shown() -> None:
    with pytest.raises(UserError, match=r"^base_url is '127\.0\.0\.1:9/v1', expected it with its scheme; write"):
        OpenAIChatCompletionsModel("m", base_url="127.0.0.1:9/v1")
    with pytest.raises(UserError, match=r"^base_url must be like"):
        OpenAIChatCompletionsModel("m", base_url="user:secret@127.0.0.1:9/v1")


@pytest.mark.parametrize("name", ["cloudflare:llama", "vertex_ai:gemini", "litellm:x/y"])
def test_an_unknown_provider_is_refused(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_BASE_URL", "http://127.0.0.1:9/v1")
    with pytest.raises(UserError, match=r"begins with an unknown provider, expected one of local, openai.*'openai-chat:NAME'"):
        find_model(name)
