"""What the adapters declare is what they do, and the page of providers is what the script prints."""

from __future__ import annotations

import inspect
import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from msgspec import structs

from agentsdk.models.anthropic import AnthropicModel
from agentsdk.models.anthropic.features import FEATURES as ANTHROPIC
from agentsdk.models.bedrock import BedrockModel
from agentsdk.models.bedrock.features import FEATURES as BEDROCK
from agentsdk.models.features import Features
from agentsdk.models.google import GoogleModel
from agentsdk.models.google.features import FEATURES as GOOGLE
from agentsdk.models.http_model import HttpModel
from agentsdk.models.openai_chat import OpenAIChatCompletionsModel
from agentsdk.models.openai_chat.features import FEATURES as OPENAI_CHAT
from agentsdk.models.openai_responses import OpenAIResponsesModel
from agentsdk.models.openai_responses.features import FEATURES as OPENAI_RESPONSES
from agentsdk.models.vertex import VertexAnthropicModel, VertexGoogleModel
from agentsdk.models.vertex.features import ANTHROPIC as VERTEX_ANTHROPIC
from agentsdk.models.vertex.features import GOOGLE as VERTEX_GOOGLE
from agentsdk.ports.model import ModelRequest
from agentsdk.types.errors import UserError
from agentsdk.types.hosted import Prompt, ServerConversation
from agentsdk.types.items import (
    FunctionCall,
    FunctionCallOutput,
    InputAudio,
    InputFile,
    InputImage,
    InputVideo,
    Item,
    Message,
    Part,
    Reasoning,
)
from agentsdk.types.settings import ModelSettings, Thinking
from agentsdk.types.spec import OutputSpec, ToolSpec
from agentsdk.types.tape import Tape

ROOT = Path(__file__).parents[2]

ADAPTERS: list[tuple[type[HttpModel], Features]] = [
    (OpenAIChatCompletionsModel, OPENAI_CHAT),
    (OpenAIResponsesModel, OPENAI_RESPONSES),
    (AnthropicModel, ANTHROPIC),
    (GoogleModel, GOOGLE),
    (BedrockModel, BEDROCK),
    (VertexAnthropicModel, VERTEX_ANTHROPIC),
    (VertexGoogleModel, VERTEX_GOOGLE),
]
each = pytest.mark.parametrize(("adapter", "features"), ADAPTERS, ids=[adapter.__name__ for adapter, _ in ADAPTERS])

TOOL = ToolSpec("add", "Add.", {"type": "object", "properties": {}})
OUTPUT = OutputSpec("Sum", {"type": "object", "properties": {"total_sum": {"type": "integer"}}})


@pytest.fixture(autouse=True)
def project(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("GOOGLE_CLOUD_PROJECT", "my-project")


def model_of(adapter: type[HttpModel], **arguments: Any) -> HttpModel:
    return adapter("test-model", base_url="http://127.0.0.1:9", api_key="none", provider="here", **arguments)


def body(adapter: type[HttpModel], *items: Item, **fields: Any) -> dict[str, Any]:
    request = ModelRequest(Tape(items or (Message("user", "Hi"),)), **fields)
    data: dict[str, Any] = json.loads(model_of(adapter).body(request))
    return data


SETTINGS: dict[str, object] = {
    "temperature": 0.5,
    "top_p": 0.5,
    "max_tokens": 77,
    "stop": ("END",),
    "seed": 7,
    "frequency_penalty": 0.5,
    "presence_penalty": 0.5,
    "metadata": {"user_id": "u1"},
    "reasoning_effort": "low",
    "thinking": "low",
    "verbosity": "low",
    "top_k": 3,
    "logit_bias": {"17": -100},
    "logprobs": True,
    "top_logprobs": 2,
    "service_tier": "flex",
    "store": True,
    "prompt_cache_key": "k1",
    "truncation": "auto",
    "tool_choice": "required",
    "parallel_tool_calls": False,
}


def test_every_setting_is_declared() -> None:
    own = {"extra_body", "extra_headers", "retry"}
    assert {*SETTINGS, "prompt_cache_retention"} == set(ModelSettings.__slots__) - own
    assert set(SETTINGS) < set(Features.__struct_fields__)


@each
@pytest.mark.parametrize("name", SETTINGS)
def test_a_setting_is_sent_or_refused(adapter: type[HttpModel], features: Features, name: str) -> None:
    settings = ModelSettings(**{name: SETTINGS[name]})  # type: ignore[arg-type]
    if not getattr(features, name):
        with pytest.raises(UserError, match=name):
            body(adapter, tools=(TOOL,), settings=settings)
        return
    assert body(adapter, tools=(TOOL,), settings=settings) != body(adapter, tools=(TOOL,))


@each
@pytest.mark.parametrize("word", ["in_memory", "24h", "5m", "1h"])
def test_how_long_a_prompt_is_cached_is_sent_or_refused(adapter: type[HttpModel], features: Features, word: Any) -> None:
    settings = ModelSettings(prompt_cache_retention=word)
    if f"`{word}`" in str(features.prompt_cache_retention):
        assert word in json.dumps(body(adapter, settings=settings))
    else:
        with pytest.raises(UserError, match="prompt_cache_retention"):
            body(adapter, settings=settings)


@each
def test_kinds_of_thinking_are_sent_or_refused(adapter: type[HttpModel], features: Features) -> None:
    for kind, thinking in (("budgets", Thinking(budget=2000)), ("summaries", Thinking(summary=True))):
        settings = ModelSettings(thinking=thinking)
        if kind in str(features.thinking):
            assert body(adapter, settings=settings) != body(adapter, settings=ModelSettings(thinking=True))
        else:
            with pytest.raises(UserError, match="thinking"):
                body(adapter, settings=settings)


DATA = "data:application/pdf;base64,aGVsbG8="
PICTURE = "data:image/png;base64,aGVsbG8="
MEDIA: dict[tuple[str, str], tuple[Part, str]] = {
    ("images", "data"): (InputImage(PICTURE), "aGVsbG8="),
    ("images", "address"): (InputImage("https://example.com/a.png"), "https://example.com/a.png"),
    ("images", "id"): (InputImage(file_id="file-1"), "file-1"),
    ("files", "data"): (InputFile(DATA, filename="a.pdf"), "aGVsbG8="),
    ("files", "address"): (InputFile(file_url="https://example.com/a.pdf"), "https://example.com/a.pdf"),
    ("files", "id"): (InputFile(file_id="file-1"), "file-1"),
    ("video", "data"): (InputVideo("data:video/mp4;base64,aGVsbG8="), "aGVsbG8="),
    ("video", "address"): (InputVideo("https://example.com/a.mp4"), "https://example.com/a.mp4"),
    ("video", "id"): (InputVideo(file_id="file-1"), "file-1"),
    ("audio", "data"): (InputAudio("aGVsbG8=", "wav"), "aGVsbG8="),
}


@each
@pytest.mark.parametrize("case", MEDIA, ids="-".join)
def test_media_are_sent_or_refused(adapter: type[HttpModel], features: Features, case: tuple[str, str]) -> None:
    kind, way = case
    part, sent = MEDIA[case]
    if way in getattr(features, kind):
        assert sent in json.dumps(body(adapter, Message("user", (part,))))
    else:
        with pytest.raises(UserError):
            body(adapter, Message("user", (part,)))


@each
def test_streaming_tools_and_output(adapter: type[HttpModel], features: Features) -> None:
    model = model_of(adapter)
    whole, streamed = (ModelRequest(Tape([Message("user", "Hi")]), stream=stream) for stream in (False, True))
    sent = [(model.body(one), model._url_for(one)) for one in (whole, streamed)]
    assert (sent[0] != sent[1]) is bool(features.streaming)
    assert ('"add"' in json.dumps(body(adapter, tools=(TOOL,)))) is bool(features.tools)
    chosen = {"native_output": True} if "`native_output=`" in str(features.native_output) else {}
    sent_output = ModelRequest(Tape([Message("user", "Hi")]), output=OUTPUT)
    output = json.loads(bytes(model_of(adapter, **chosen).body(sent_output)))
    told = json.dumps([output.get(name) for name in ("instructions", "system", "systemInstruction", "messages")])
    assert ("total_sum" in json.dumps(output) and "total_sum" not in told) is bool(features.native_output)


JSON_MODE = ("json_object", "application/json")


@each
def test_an_output_may_be_only_asked_for_or_only_be_json(adapter: type[HttpModel], features: Features) -> None:
    asked_for = body(adapter, output=structs.replace(OUTPUT, mode="prompted"), instructions="Be brief.")
    told = json.dumps([asked_for.get(name) for name in ("instructions", "system", "systemInstruction", "messages")])
    assert "total_sum" in told and "Be brief." in told
    assert json.dumps(asked_for).count("total_sum") == 1 and not any(word in json.dumps(asked_for) for word in JSON_MODE)
    json_only = structs.replace(OUTPUT, mode="json")
    if not features.json_mode:
        with pytest.raises(UserError, match=r"mode='json'\) is not available"):
            body(adapter, output=json_only)
        return
    sent = json.dumps(body(adapter, output=json_only))
    assert sent.count("total_sum") == 1 and any(word in sent for word in JSON_MODE)


@each
def test_media_of_tool_results_are_sent(adapter: type[HttpModel], features: Features) -> None:
    called = FunctionCall("c1", "add", "{}"), FunctionCallOutput("c1", (InputImage(PICTURE),))
    assert ("aGVsbG8=" in json.dumps(body(adapter, Message("user", "Hi"), *called))) is bool(features.result_media)


@each
def test_reasoning_goes_back_to_its_provider_only(adapter: type[HttpModel], features: Features) -> None:
    for provider in ("here", "elsewhere"):
        thought = Reasoning("a-thought", id="reasoning", signature="sig", provider=provider)
        sent = body(adapter, Message("user", "Hi"), thought, Message("assistant", "Ho", id="m1"), Message("user", "Hm"))
        assert ("a-thought" in json.dumps(sent)) is (provider == "here" and bool(features.reasoning_replay))


@each
def test_hosted_tools_stand_beside_the_agents(adapter: type[HttpModel], features: Features) -> None:
    settings = ModelSettings(extra_body={"tools": [{"type": "web_search"}]})
    sent = json.dumps(body(adapter, tools=(TOOL,), settings=settings)["tools"])
    assert ('"add"' in sent and "web_search" in sent) is bool(features.extra_tools)


@each
@pytest.mark.parametrize(
    ("feature", "named"),
    [
        ("hosted_prompts", {"prompt": Prompt("pmpt_1")}),
        ("conversations", {"conversation": ServerConversation("pmpt_1")}),
        ("conversations", {"conversation": ServerConversation(previous_response_id="pmpt_1")}),
    ],
    ids=["prompt", "conversation", "previous reply"],
)
def test_what_a_provider_keeps_is_named_or_refused(
    adapter: type[HttpModel], features: Features, feature: str, named: dict[str, Any]
) -> None:
    if getattr(features, feature):
        assert "pmpt_1" in json.dumps(body(adapter, **named))
        return
    with pytest.raises(UserError, match="use OpenAIResponsesModel"):
        body(adapter, **named)


@each
def test_caching_and_counting(adapter: type[HttpModel], features: Features) -> None:
    assert ("cache" in inspect.signature(adapter).parameters) is (features.prompt_caching == "`cache=`")
    assert hasattr(adapter, "count_tokens") is bool(features.token_counting)


def test_the_page_is_what_the_script_prints() -> None:
    script = ROOT / "scripts" / "provider_table.py"
    printed = subprocess.run([sys.executable, script], capture_output=True, text=True, encoding="utf-8", timeout=60, check=True)
    page = (ROOT / "docs" / "providers.md").read_text(encoding="utf-8")
    assert page == printed.stdout, "print it anew: python scripts/provider_table.py > docs/providers.md"
