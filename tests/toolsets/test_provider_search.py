"""`SelectedToolset(by="provider")`: all tools are the provider's to search, and what it has found is called like any other."""

from __future__ import annotations

import json
import logging
import os
from pathlib import Path
from typing import Any

import pytest

from agentsdk import Agent, AgentOutputSchema, ModelSettings, RunConfig, Runner, RunState, UserError, function_tool
from agentsdk.context_window import EstimatingCounter
from agentsdk.events import ToolsetChanged
from agentsdk.hosted_tools import ToolSearchTool
from agentsdk.items import HostedToolItem, ProviderItem
from agentsdk.models import AnthropicModel, GoogleModel, OpenAIChatCompletionsModel, OpenAIResponsesModel
from agentsdk.stores import MemoryRunStore
from agentsdk.testing import FakeAnthropicServer, FakeResponsesServer, ScriptedModel, ServerReply, call
from agentsdk.toolsets import SelectedToolset, ToolRegistry
from tests.toolsets.many import echo, registry, tools

pytestmark = pytest.mark.anyio

FOLDER = os.environ.get("AGENTSDK_RECORDINGS", "")
FOUND = [
    ProviderItem("", {"type": "tool_search_call", "id": "ts_1", "call_id": "t_1", "status": "completed"}),
    ProviderItem("", {"type": "tool_search_output", "id": "tso_1", "call_id": "t_1", "tools": [{"name": "share_song"}]}),
]
SEARCHED: list[dict[str, Any]] = [
    {"type": "server_tool_use", "id": "srvtoolu_1", "name": "tool_search_tool_bm25", "input": {"query": "share"}},
    {
        "type": "tool_search_tool_result",
        "tool_use_id": "srvtoolu_1",
        "content": {
            "type": "tool_search_tool_search_result",
            "tool_references": [{"type": "tool_reference", "tool_name": "share_song"}],
        },
    },
]


def agent_of(model: Any, count: int = 70, **options: Any) -> Agent[Any, Any]:
    toolset = SelectedToolset(registry(count), by="provider", **options)
    return Agent("A", model=model, tools=[echo("own")], toolsets=[toolset])


def deferred(sent: dict[str, Any]) -> dict[str, bool]:
    """The tools of a request by name, each with whether the model is not told of it."""
    return {tool.get("name") or tool["type"]: tool.get("defer_loading", False) for tool in sent["tools"]}


async def test_openai_is_given_all_tools_and_its_search_and_calls_what_it_found() -> None:
    async with FakeResponsesServer([[*FOUND, call("share_song", x=3)], "done"]) as server:
        model = OpenAIResponsesModel("gpt-test", base_url=server.base_url, api_key="k")
        result = await Runner.run(agent_of(model, pinned=["find_mail"]), "share it")
        first, second = [request.json for request in server.requests]
    assert result.final_output == "done"
    told = deferred(first)
    assert len(told) == 72
    assert [name for name, is_deferred in told.items() if not is_deferred] == ["own", "find_mail", "tool_search"]
    assert [item.output for item in result.new_items if item.type == "tool_call_output_item"] == ["share_song 3"]
    uses = [item.use for item in result.new_items if isinstance(item, HostedToolItem)]
    assert [(use.tool, use.tools) for use in uses] == [("tool_search", ()), ("tool_search", ("share_song",))]
    assert second["tools"] == first["tools"]
    assert second["input"][1:3] == [item.data for item in FOUND]


async def test_anthropic_is_given_all_tools_and_its_search_and_calls_what_it_found() -> None:
    replies = [[*[ProviderItem("", data) for data in SEARCHED], call("share_song", x=3)], "done"]
    async with FakeAnthropicServer(replies) as server:
        model = AnthropicModel("claude-test", base_url=server.base_url, api_key="k")
        result = await Runner.run(agent_of(model), "share it")
        first, second = [request.json for request in server.requests]
    assert result.final_output == "done"
    assert [name for name, is_deferred in deferred(first).items() if not is_deferred] == ["own", "tool_search_tool_bm25"]
    assert first["tools"][-1]["type"] == "tool_search_tool_bm25_20251119"
    assert second["messages"][1]["content"][:2] == SEARCHED


@pytest.mark.parametrize("adapter", [OpenAIChatCompletionsModel, GoogleModel])
async def test_a_provider_without_such_a_search_is_refused_before_it_is_asked(adapter: Any) -> None:
    model = adapter("m-test", base_url="http://127.0.0.1:9", api_key="k")
    with pytest.raises(UserError, match=r"ToolSearchTool is not available with .* Responses API .*, Anthropic .*by='provider'"):
        await Runner.run(agent_of(model), "share it")


async def test_of_few_tools_the_model_is_told_of_all() -> None:
    model = ScriptedModel(["done"])
    await Runner.run(agent_of(model, 20), "go")
    (request,) = model.requests
    assert request.hosted == ()
    assert not any(tool.defer_loading for tool in request.tools)  # type: ignore[union-attr]


async def test_a_resumed_run_offers_what_is_recorded_and_a_replay_asks_nobody() -> None:
    song = echo("share_song", needs_approval=True)
    others = [tool for tool in tools() if tool.name != "share_song"]
    toolset = SelectedToolset(ToolRegistry[Any]([*others, song], name="many"), by="provider", pinned=["find_mail"])
    model = ScriptedModel([call("share_song", x=1), "done"])
    agent = Agent[Any, str]("A", model=model, toolsets=[toolset])
    config = RunConfig(store=MemoryRunStore(), run_id="r")
    state = (await Runner.run(agent, "share it", run_config=config)).to_state()
    state = RunState.from_string(agent, state.to_string())
    state.approve(state.interruptions[0])
    result = await Runner.run(agent, state, run_config=config)
    assert result.final_output == "done"
    first, second = model.requests
    assert first.hosted == second.hosted == (ToolSearchTool(pinned=["find_mail"]),)
    assert len([event for event in result.to_state().value.log if isinstance(event, ToolsetChanged)]) == 1
    assert (await Runner.replay(agent, "r", run_config=config)).divergence is None
    same = await Runner.replay(agent, "r", change=agent.clone(), run_config=config)
    assert (same.divergence, same.asked) == (None, 0)


async def test_the_tools_are_the_same_objects_each_turn_and_an_approval_is_for_the_tool_itself() -> None:
    model = ScriptedModel([call("share_song", x=1), call("find_mail", x=1), "done"])
    await Runner.run(agent_of(model), "go")
    assert model.requests[0].tools is model.requests[1].tools is model.requests[2].tools
    assert model.requests[0].hosted is model.requests[2].hosted
    tool = echo("share_song")
    assert tool.clone(defer_loading=True).fingerprint == tool.fingerprint


async def test_any_tool_may_be_left_to_the_providers_search() -> None:
    @function_tool(defer_loading=True)
    def rare() -> str:
        """Seldom used."""
        return "rare"

    model = ScriptedModel([call("rare"), '{"response": 1}'])
    agent = Agent[Any, Any]("A", model=model, tools=[rare, echo("own")], output_type=int)
    assert (await Runner.run(agent, "go")).final_output == 1
    assert model.requests[0].hosted == (ToolSearchTool(pinned=["own"]),)


@pytest.mark.parametrize("search", [[], [ToolSearchTool(pinned=["own"])]], ids=["by option", "by tool"])
async def test_the_tool_that_gives_the_output_is_always_told(search: list[Any]) -> None:
    tool = echo("rare", defer_loading=True)
    async with FakeResponsesServer([call("final_result", response=1)]) as server:
        model = OpenAIResponsesModel("gpt-test", base_url=server.base_url, api_key="k")
        output = AgentOutputSchema(int, mode="tool")
        agent = Agent("A", model=model, tools=[*search, tool, echo("own")], output_type=output)
        assert (await Runner.run(agent, "go")).final_output == 1
        told = deferred(server.requests[0].json)
    assert told == {"rare": True, "own": False, "final_result": False, "tool_search": False}


async def test_what_the_model_is_not_told_of_is_not_counted() -> None:
    many, one = ScriptedModel(["done"]), ScriptedModel(["done"])
    await Runner.run(agent_of(many), "go")
    await Runner.run(Agent("A", model=one, tools=[echo("own")]), "go")
    counter = EstimatingCounter()
    counts = [await counter.count_fixed("", model.requests[0].tools, None) for model in (many, one)]
    assert counts[0] == counts[1]


async def test_a_pinned_name_that_is_not_there_is_told_once(caplog: pytest.LogCaptureFixture) -> None:
    model = ScriptedModel([call("share_song", x=1), "done"])
    with caplog.at_level(logging.WARNING, "agentsdk"):
        await Runner.run(agent_of(model, pinned=["nothing"]), "go")
    assert [record.getMessage() for record in caplog.records] == [
        "toolset 'many' has no tool 'nothing', which is pinned; expected one of its names"
    ]


def test_a_query_is_refused_as_nobody_would_ask_it() -> None:
    with pytest.raises(UserError, match="by='provider'\\) has a query"):
        SelectedToolset(registry(), by="provider", query=lambda context: "")


@pytest.mark.skipif(not FOLDER, reason="AGENTSDK_RECORDINGS is not set")
async def test_a_recorded_conversation_is_asked_for_as_it_was() -> None:
    path = Path(FOLDER, "cassettes__test_tool_search__test_live_tool_search_handoff_anthropic_to_openai.json")
    recorded = [one for one in json.loads(path.read_text())["interactions"] if "anthropic" in one["request"]["uri"]][:2]

    @function_tool
    def get_exchange_rate(pair: str) -> str:
        """Look up the exchange rate for a currency pair."""
        return f"{pair}: 0.92"

    toolset = SelectedToolset(ToolRegistry[Any]([get_exchange_rate]), by="provider", all_up_to=0)
    replies = [
        ServerReply(body=json.dumps(one["response"]["json"]).encode(), headers={"content-type": "application/json"})
        for one in recorded
    ]
    async with FakeAnthropicServer(replies) as server:
        model = AnthropicModel("claude-sonnet-4-6", base_url=server.base_url, api_key="k")
        settings = ModelSettings(max_tokens=4096)
        agent = Agent[Any, str]("A", model=model, toolsets=[toolset], model_settings=settings)
        result = await Runner.run(agent, "What is the USD/EUR exchange rate?")
        sent = [request.json for request in server.requests]
    assert "0.92" in result.final_output
    for mine, theirs in zip(sent, recorded, strict=True):
        tools = [{key: value for key, value in tool.items() if key != "strict"} for tool in mine["tools"]]
        assert tools == theirs["request"]["json"]["tools"]
    assert sent[1]["messages"][1] == recorded[1]["request"]["json"]["messages"][1]
