"""One `thinking` setting: what each provider's models are sent for it, and which of them refuse what."""

from __future__ import annotations

import json
from typing import Any

import pytest

from agentsdk.models.anthropic import AnthropicModel
from agentsdk.models.google import GoogleModel
from agentsdk.models.http_model import HttpModel
from agentsdk.models.openai_chat import OpenAIChatCompletionsModel
from agentsdk.models.openai_responses import OpenAIResponsesModel
from agentsdk.ports.model import ModelRequest
from agentsdk.types.errors import UserError
from agentsdk.types.items import Message
from agentsdk.types.settings import ModelSettings, Thinking
from agentsdk.types.tape import Tape

BUDGET = Thinking(budget=3000)
TOLD = Thinking(summary=True)
ADAPTIVE = {"type": "adaptive"}


def body(model: HttpModel, thinking: Any, **settings: Any) -> dict[str, Any]:
    asked = ModelRequest(Tape([Message("user", "Hi")]), settings=ModelSettings(thinking=thinking, **settings))
    data: dict[str, Any] = json.loads(bytes(model.body(asked)))
    return data


def refused(model: HttpModel, thinking: Any, *says: str) -> None:
    with pytest.raises(UserError, match="thinking=") as raised:
        body(model, thinking)
    for words in (repr(model.name), *says):
        assert words in str(raised.value)


OPENAI: list[tuple[str, Any, dict[str, Any] | None]] = [
    ("gpt-5.1", False, {"effort": "none"}),
    ("gpt-5.1", True, {"effort": "medium"}),
    ("gpt-5", "minimal", {"effort": "minimal"}),
    ("gpt-5.4", "max", {"effort": "max"}),
    ("o3", TOLD, {"effort": "medium", "summary": "auto"}),
    ("o3", Thinking(effort="low", summary="concise"), {"effort": "low", "summary": "concise"}),
    ("o3", Thinking(effort="low", summary=False), {"effort": "low"}),
    ("gpt-4.1", False, None),
]


@pytest.mark.parametrize(("name", "thinking", "sent"), OPENAI, ids=str)
def test_openai(name: str, thinking: Any, sent: dict[str, Any] | None) -> None:
    assert body(OpenAIResponsesModel(name, api_key="k"), thinking).get("reasoning") == sent
    if sent is None or "summary" not in sent:
        chat = body(OpenAIChatCompletionsModel(name, api_key="k"), thinking)
        assert chat.get("reasoning_effort") == (sent and sent["effort"])


@pytest.mark.parametrize("adapter", [OpenAIResponsesModel, OpenAIChatCompletionsModel])
def test_what_an_openai_model_has_no_form_for_is_refused(adapter: type[HttpModel]) -> None:
    refused(adapter("gpt-4.1", api_key="k"), "low", "'gpt-5'")
    refused(adapter("gpt-5-mini", api_key="k"), False, "'gpt-5.1'")
    refused(adapter("o3", api_key="k"), BUDGET, "an effort", "Anthropic")
    elsewhere = adapter("gpt-4-turbo-lookalike", base_url="http://127.0.0.1:9")
    assert "low" in json.dumps(body(elsewhere, "low")), "what another server's model can do is not told by its name"


def test_chat_completions_tell_no_summaries() -> None:
    with pytest.raises(UserError, match="OpenAIResponsesModel, AnthropicModel or GoogleModel"):
        body(OpenAIChatCompletionsModel("o3", api_key="k"), TOLD)


CLAUDE: list[tuple[str, Any, dict[str, Any], str | None]] = [
    ("claude-sonnet-4-6", False, {"type": "disabled"}, None),
    ("claude-sonnet-4-6", True, ADAPTIVE, None),
    ("claude-opus-5", "high", ADAPTIVE, "high"),
    ("claude-opus-4-7", "minimal", ADAPTIVE, "low"),
    ("claude-opus-4-10", "low", ADAPTIVE, "low"),
    ("claude-opus-4-8", TOLD, {**ADAPTIVE, "display": "summarized"}, None),
    ("claude-opus-4-8", Thinking(effort="max", summary=False), {**ADAPTIVE, "display": "omitted"}, "max"),
    ("claude-opus-4-6", BUDGET, {"type": "enabled", "budget_tokens": 3000}, None),
    ("claude-sonnet-4-20250514", BUDGET, {"type": "enabled", "budget_tokens": 3000}, None),
    ("claude-sonnet-4-5-20250929", "low", {"type": "enabled", "budget_tokens": 2048}, None),
    ("claude-3-7-sonnet-latest", True, {"type": "enabled", "budget_tokens": 8192}, None),
    ("claude-opus-4-1", "max", {"type": "enabled", "budget_tokens": 16384}, None),
    ("claude-opus-4-1", Thinking(budget=5), {"type": "enabled", "budget_tokens": 1024}, None),
    ("glm-4.7", "medium", {"type": "enabled", "budget_tokens": 8192}, None),
]


@pytest.mark.parametrize(("name", "thinking", "sent", "effort"), CLAUDE, ids=str)
def test_anthropic(name: str, thinking: Any, sent: dict[str, Any], effort: str | None) -> None:
    fields = body(AnthropicModel(name, api_key="k"), thinking)
    assert fields["thinking"] == sent
    assert fields.get("output_config", {}).get("effort") == effort
    assert fields["max_tokens"] == 8192 + sent.get("budget_tokens", 0), "a budget comes on top of the model's own cap"


@pytest.mark.parametrize(
    ("cap", "sent"),
    [
        (4000, {"type": "enabled", "budget_tokens": 3000}),
        (2000, {"type": "enabled", "budget_tokens": 1999}),
        (1024, {"type": "disabled"}),
    ],
)
def test_a_budget_stays_below_the_cap(cap: int, sent: dict[str, Any]) -> None:
    fields = body(AnthropicModel("claude-opus-4-1", api_key="k"), BUDGET, max_tokens=cap)
    assert (fields["thinking"], fields["max_tokens"]) == (sent, cap)


def test_a_claude_without_budgets_refuses_one() -> None:
    refused(AnthropicModel("claude-opus-4-7", api_key="k"), BUDGET, "an effort", "up to Claude 4.6")


GEMINI: list[tuple[str, Any, dict[str, Any] | None]] = [
    ("gemini-2.5-flash", False, {"thinkingBudget": 0}),
    ("gemini-2.5-flash", True, {"thinkingBudget": -1}),
    ("gemini-2.5-pro", "high", {"thinkingBudget": 24576}),
    ("gemini-2.5-pro", Thinking(budget=512, summary="detailed"), {"thinkingBudget": 512, "includeThoughts": True}),
    ("gemini-3-flash-preview", "minimal", {"thinkingLevel": "minimal"}),
    ("gemini-3-flash-preview", "max", {"thinkingLevel": "xhigh"}),
    ("gemini-3-flash-preview", True, None),
    ("gemini-3-pro-preview", Thinking(effort="low", summary=False), {"thinkingLevel": "low", "includeThoughts": False}),
    ("gemini-3-pro-preview", BUDGET, {"thinkingBudget": 3000}),
]


@pytest.mark.parametrize(("name", "thinking", "sent"), GEMINI, ids=str)
def test_google(name: str, thinking: Any, sent: dict[str, Any] | None) -> None:
    assert body(GoogleModel(name, api_key="k"), thinking).get("generationConfig", {}).get("thinkingConfig") == sent


def test_a_gemini_that_always_thinks_refuses_not_to() -> None:
    for name in ("gemini-2.5-pro", "gemini-3-pro-preview", "models/gemini-3-flash-preview"):
        refused(GoogleModel(name, api_key="k"), False, "'gemini-2.5-flash'")


def test_the_setting_says_more_than_the_model() -> None:
    fields = body(GoogleModel("gemini-3-flash-preview", api_key="k", include_thoughts=True), Thinking(summary=False))
    assert fields["generationConfig"]["thinkingConfig"] == {"includeThoughts": False}
