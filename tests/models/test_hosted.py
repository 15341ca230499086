"""Hosted tools as each provider is asked for them, and what no provider can be asked for."""

from __future__ import annotations

import json
from typing import Any

import pytest

from agentsdk import Agent, Runner, function_tool
from agentsdk.hosted_tools import (
    CodeInterpreterTool,
    FileSearchTool,
    HostedMCPTool,
    HostedTool,
    ImageGenerationTool,
    ToolSearchTool,
    UserLocation,
    WebFetchTool,
    WebSearchTool,
)
from agentsdk.models import AnthropicModel, GoogleModel, OpenAIChatCompletionsModel, OpenAIResponsesModel
from agentsdk.models.anthropic.features import FEATURES as ANTHROPIC
from agentsdk.models.google.features import FEATURES as GOOGLE
from agentsdk.models.http_model import HttpModel
from agentsdk.models.openai_chat.features import FEATURES as OPENAI_CHAT
from agentsdk.models.openai_responses.features import FEATURES as OPENAI_RESPONSES
from agentsdk.testing import ServerReply, call
from agentsdk.testing.anthropic_dialect import FakeAnthropicServer
from agentsdk.testing.responses_dialect import FakeResponsesServer
from agentsdk.types.errors import BadRequestError, UserError
from agentsdk.types.hosted_tools import HOSTED_TOOLS
from agentsdk.types.settings import ModelSettings
from agentsdk.types.spec import ToolSpec
from tests.models.wire import request

pytestmark = pytest.mark.anyio

ADAPTERS: list[tuple[type[HttpModel], Any]] = [
    (OpenAIChatCompletionsModel, OPENAI_CHAT),
    (OpenAIResponsesModel, OPENAI_RESPONSES),
    (AnthropicModel, ANTHROPIC),
    (GoogleModel, GOOGLE),
]
each = pytest.mark.parametrize(("adapter", "features"), ADAPTERS, ids=[adapter.__name__ for adapter, _ in ADAPTERS])
ADD = ToolSpec("add", "Add.", {"type": "object", "properties": {}}, strict=False)
COMPUTER = ToolSpec("computer", "", {}, kind="computer", kind_settings={"display_width": 1000, "display_height": 500})
SERVER = HostedMCPTool(server_label="docs", server_url="https://mcp.example.com", require_approval="never")
EVERY: dict[str, HostedTool] = {
    "WebSearchTool": WebSearchTool(),
    "WebFetchTool": WebFetchTool(),
    "FileSearchTool": FileSearchTool(vector_store_ids=["vs_1"]),
    "CodeInterpreterTool": CodeInterpreterTool(),
    "ImageGenerationTool": ImageGenerationTool(),
    "HostedMCPTool": SERVER,
    "ToolSearchTool": ToolSearchTool(),
}
SETTINGS: dict[str, dict[str, Any]] = {
    "WebSearchTool": {
        "allowed_domains": ["a.org"],
        "blocked_domains": ["b.org"],
        "user_location": UserLocation(country="FR"),
        "max_uses": 3,
        "search_context_size": "low",
    },
    "WebFetchTool": {
        "allowed_domains": ["a.org"],
        "blocked_domains": ["b.org"],
        "max_uses": 3,
        "max_content_tokens": 100,
        "citations": True,
    },
    "FileSearchTool": {
        "max_num_results": 3,
        "filters": None,
        "score_threshold": 0.5,
        "include_search_results": True,
    },
    "CodeInterpreterTool": {"container": "cntr_1", "file_ids": ["file_1"], "memory_limit": "4g"},
    "ImageGenerationTool": {
        "size": "1024x1024",
        "quality": "low",
        "background": "opaque",
        "output_format": "webp",
        "output_compression": 50,
        "partial_images": 1,
        "input_fidelity": "low",
        "moderation": "low",
        "model": "gpt-image-2",
    },
    "HostedMCPTool": {
        "authorization": "token-0123456789",
        "headers": {"X-Key": "value-0123456789"},
        "server_description": "Docs.",
        "allowed_tools": ["search"],
    },
    "ToolSearchTool": {"pinned": ["add"]},
}


def body(adapter: type[HttpModel], *hosted: HostedTool, tools: tuple[Any, ...] = (), **fields: Any) -> Any:
    model = adapter("gemini-3-test", base_url="http://127.0.0.1:9", api_key="none")
    return json.loads(bytes(model.body(request(tools=tools, hosted=hosted, **fields))))


def test_every_kind_of_tool_is_tried_here() -> None:
    assert list(EVERY) == [kind.__name__ for kind in HOSTED_TOOLS]


@each
@pytest.mark.parametrize("name", EVERY)
def test_a_tool_is_sent_or_refused(adapter: type[HttpModel], features: Any, name: str) -> None:
    if name in features.hosted_tools:
        assert len(body(adapter, EVERY[name])["tools"]) == 1
        beside = body(adapter, EVERY[name], tools=(ADD,))["tools"]
        assert len(beside) == 2
        assert '"add"' in json.dumps(beside[0])
    else:
        having = [one.__name__ for one, known in ADAPTERS if name in known.hosted_tools]
        with pytest.raises(UserError, match=f"^{name} is not available with") as caught:
            body(adapter, EVERY[name])
        assert all(one in str(caught.value) for one in having)


@each
@pytest.mark.parametrize(("name", "setting"), [(name, setting) for name, known in SETTINGS.items() for setting in known])
def test_a_setting_is_sent_or_refused(adapter: type[HttpModel], features: Any, name: str, setting: str) -> None:
    value = SETTINGS[name][setting]
    if setting == "filters":
        value = "author = 'Ada'" if adapter is GoogleModel else {"type": "eq", "key": "author", "value": "Ada"}
    if name not in features.hosted_tools:
        return
    tool = type(EVERY[name])(**{**EVERY[name].settings, setting: value})
    plain = body(adapter, EVERY[name], tools=(ADD,))
    if setting in features.hosted_tools[name]:
        assert body(adapter, tool, tools=(ADD,)) != plain
    else:
        with pytest.raises(UserError, match=rf"{name}\({setting}=...\) is not available with"):
            body(adapter, tool)


def test_what_openai_is_asked_for() -> None:
    location = UserLocation(city="Rome", country="IT")
    sent = body(
        OpenAIResponsesModel,
        WebSearchTool(allowed_domains=["a.org"], user_location=location, search_context_size="low"),
        FileSearchTool(vector_store_ids=["vs_1"], max_num_results=3, score_threshold=0.5, include_search_results=True),
        CodeInterpreterTool(file_ids=["file_1"], memory_limit="4g"),
        ImageGenerationTool(size="1024x1024", output_format="webp"),
        HostedMCPTool(
            server_label="docs",
            server_url="https://mcp.example.com",
            authorization="token",
            headers={"X-Key": "k"},
            server_description="Docs.",
            allowed_tools=["search", "read"],
            approved_tools=["read"],
        ),
        ToolSearchTool(pinned=["sub"]),
        tools=(ADD, ToolSpec("sub", "", {}), ToolSpec("shell", "", {}, kind="shell")),
    )
    own = sent["tools"]
    assert [(one["type"], one.get("defer_loading")) for one in own[:3]] == [
        ("function", True),
        ("function", None),
        ("shell", None),
    ]
    assert own[3:] == [
        {
            "type": "web_search",
            "filters": {"allowed_domains": ["a.org"]},
            "user_location": {"type": "approximate", "city": "Rome", "country": "IT"},
            "search_context_size": "low",
        },
        {
            "type": "file_search",
            "vector_store_ids": ["vs_1"],
            "max_num_results": 3,
            "ranking_options": {"score_threshold": 0.5},
        },
        {"type": "code_interpreter", "container": {"type": "auto", "file_ids": ["file_1"], "memory_limit": "4g"}},
        {"type": "image_generation", "size": "1024x1024", "output_format": "webp"},
        {
            "type": "mcp",
            "server_label": "docs",
            "server_url": "https://mcp.example.com",
            "authorization": "token",
            "headers": {"X-Key": "k"},
            "server_description": "Docs.",
            "allowed_tools": ["search", "read"],
            "require_approval": {"never": {"tool_names": ["read"]}},
        },
        {"type": "tool_search"},
    ]
    assert sent["include"] == ["web_search_call.action.sources", "code_interpreter_call.outputs", "file_search_call.results"]


@pytest.mark.parametrize(
    ("choice", "sent"),
    [
        ("web_search", {"type": "web_search"}),
        ("add", {"type": "function", "name": "add"}),
        ("query", {"type": "custom", "name": "query"}),
        ("shell", {"type": "shell"}),
        ("memory", {"type": "function", "name": "memory"}),
        ("required", "required"),
    ],
)
def test_a_tool_of_any_kind_can_be_chosen_at_openai(choice: str, sent: Any) -> None:
    query, memory = ToolSpec("query", "", {}, kind="custom"), ToolSpec("memory", "", {}, kind="memory")
    tools = (ADD, query, memory, ToolSpec("shell", "", {}, kind="shell"))
    settings = ModelSettings(tool_choice=choice)
    assert body(OpenAIResponsesModel, WebSearchTool(), tools=tools, settings=settings)["tool_choice"] == sent


def test_what_anthropic_is_asked_for() -> None:
    sent = body(
        AnthropicModel,
        WebSearchTool(blocked_domains=["b.org"], user_location=UserLocation(country="FR"), max_uses=3),
        WebFetchTool(citations=True, max_content_tokens=100),
        CodeInterpreterTool(container="cntr_1"),
        HostedMCPTool(
            server_label="docs",
            server_url="https://mcp.example.com",
            authorization="token",
            allowed_tools=["search"],
            require_approval="never",
        ),
        ToolSearchTool(),
        tools=(ADD,),
    )
    assert sent["tools"] == [
        {"name": "add", "description": "Add.", "input_schema": ADD.parameters, "defer_loading": True},
        {
            "type": "web_search_20250305",
            "name": "web_search",
            "blocked_domains": ["b.org"],
            "user_location": {"type": "approximate", "country": "FR"},
            "max_uses": 3,
        },
        {
            "type": "web_fetch_20250910",
            "name": "web_fetch",
            "max_content_tokens": 100,
            "citations": {"enabled": True},
        },
        {"type": "code_execution_20250825", "name": "code_execution"},
        {
            "type": "mcp_toolset",
            "mcp_server_name": "docs",
            "default_config": {"enabled": False},
            "configs": {"search": {"enabled": True}},
        },
        {"type": "tool_search_tool_bm25_20251119", "name": "tool_search_tool_bm25"},
    ]
    assert sent["mcp_servers"] == [
        {"type": "url", "name": "docs", "url": "https://mcp.example.com", "authorization_token": "token"}
    ]
    assert sent["container"] == "cntr_1"


def test_what_google_is_asked_for() -> None:
    sent = body(
        GoogleModel,
        WebSearchTool(),
        WebFetchTool(),
        CodeInterpreterTool(),
        FileSearchTool(vector_store_ids=["fileSearchStores/a"], max_num_results=3, filters="author = 'Ada'"),
        HostedMCPTool(
            server_label="docs",
            server_url="https://mcp.example.com",
            authorization="token",
            headers={"X-Key": "k"},
            require_approval="never",
        ),
        SERVER.__class__(server_label="more", server_url="https://more.example.com", require_approval="never"),
    )
    assert sent["tools"] == [
        {"googleSearch": {}},
        {"urlContext": {}},
        {"codeExecution": {}},
        {
            "fileSearch": {
                "fileSearchStoreNames": ["fileSearchStores/a"],
                "topK": 3,
                "metadataFilter": "author = 'Ada'",
            }
        },
        {
            "mcpServers": [
                {
                    "name": "docs",
                    "streamableHttpTransport": {
                        "url": "https://mcp.example.com",
                        "headers": {"X-Key": "k", "Authorization": "Bearer token"},
                    },
                },
                {"name": "more", "streamableHttpTransport": {"url": "https://more.example.com"}},
            ]
        },
    ]
    assert "toolConfig" not in sent


@pytest.mark.parametrize(
    ("choice", "config"),
    [
        (None, {}),
        ("auto", {}),
        ("required", {"functionCallingConfig": {"mode": "ANY"}}),
    ],
)
def test_google_is_told_to_show_what_its_tools_do_beside_functions(choice: Any, config: dict[str, Any]) -> None:
    """It refuses the two together else, and `AUTO` with it."""
    sent = body(GoogleModel, WebSearchTool(), tools=(ADD,), settings=ModelSettings(tool_choice=choice))
    assert sent["toolConfig"] == {**config, "includeServerSideToolInvocations": True}


@pytest.mark.parametrize(
    ("adapter", "filters"), [(OpenAIResponsesModel, "author = 'Ada'"), (GoogleModel, {"type": "eq"})], ids=["openai", "google"]
)
def test_a_filter_is_in_the_providers_own_language(adapter: type[HttpModel], filters: Any) -> None:
    with pytest.raises(UserError, match="as filters, expected"):
        body(adapter, FileSearchTool(vector_store_ids=["vs"], filters=filters))


@pytest.mark.parametrize("adapter", [AnthropicModel, GoogleModel])
def test_a_provider_that_never_asks_is_not_given_a_server_that_must_be_asked_for(adapter: type[HttpModel]) -> None:
    with pytest.raises(UserError, match="never asks, expected require_approval='never'"):
        body(adapter, HostedMCPTool(server_label="docs", server_url="https://x"))


@pytest.mark.parametrize(
    ("adapter", "name", "beside"),
    [
        (AnthropicModel, "web_search", WebSearchTool()),
        (AnthropicModel, "code_execution", CodeInterpreterTool()),
        (AnthropicModel, "bash", ToolSpec("shell", "", {}, kind="shell")),
        (
            GoogleModel,
            "click_at",
            ToolSpec("computer", "", {}, kind="computer", kind_settings={"display_width": 1, "display_height": 1}),
        ),
    ],
)
def test_a_name_that_is_the_providers_own_is_refused(adapter: type[HttpModel], name: str, beside: Any) -> None:
    """A call of one could not be told from a call of the other."""
    own = ToolSpec(name, "", {})
    tools, hosted = ((own,), (beside,)) if isinstance(beside, HostedTool) else ((own, beside), ())
    with pytest.raises(UserError, match=f"tool {name!r} has the name of a tool of"):
        body(adapter, *hosted, tools=tools)
    assert body(adapter, tools=(own,))


async def test_the_header_that_a_beta_needs_joins_the_callers_own() -> None:
    async with FakeAnthropicServer(["a", "b", "c"]) as server:
        model = AnthropicModel("claude-test", base_url=server.url)
        for tools, extra in (([SERVER], None), ([SERVER], {"anthropic-beta": "other-1"}), ([WebSearchTool()], None)):
            settings = ModelSettings(extra_headers=extra)
            await Runner.run(Agent("a", model=model, tools=tools, model_settings=settings), "x")
    sent = [one.headers.get("anthropic-beta") for one in server.requests]
    assert sent == ["mcp-client-2025-11-20", "other-1,mcp-client-2025-11-20", None]


async def test_a_servers_token_is_in_no_error() -> None:
    token, key = "canary-0123456789", "canary-9876543210"
    told = f"the server refused {token} and {key}"
    refusal = ServerReply(status=400, body={"error": {"message": told, "type": "invalid_request_error"}})
    async with FakeResponsesServer([refusal]) as server:
        model = OpenAIResponsesModel("gpt-test", base_url=server.base_url)
        tool = HostedMCPTool(server_label="docs", server_url="https://x", authorization=token, headers={"X-Key": key})
        with pytest.raises(BadRequestError) as caught:
            await Runner.run(Agent("a", model=model, tools=[tool]), "x")
    assert token in json.dumps(server.requests[0].json)
    assert "canary" not in str(caught.value)
    assert "canary" not in caught.value.state.to_string()


async def test_hosted_tools_are_encoded_once() -> None:
    """An agent hands over the same tuples turn after turn."""

    @function_tool
    def add() -> int:
        return 1

    async with FakeResponsesServer([call("add"), call("add"), "done"]) as server:
        model = OpenAIResponsesModel("gpt-test", base_url=server.base_url)
        await Runner.run(Agent("a", model=model, tools=[add, WebSearchTool()]), "x")
    assert len(model._tools) == 1
    assert [len(one.json["tools"]) for one in server.requests] == [2, 2, 2]
