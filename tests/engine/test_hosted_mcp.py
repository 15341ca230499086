"""The approvals of MCP servers that the provider calls: calls of a kind of their own, which a person or a rule decides."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from agentsdk import (
    Agent,
    MemoryRunStore,
    ModelSettings,
    OpenAIResponsesModel,
    RunConfig,
    Runner,
    RunState,
    StopAtTools,
    ToolApprovalItem,
    ToolsToFinalOutputResult,
    UserError,
    function_tool,
)
from agentsdk.hosted_tools import HostedMCPTool, WebSearchTool
from agentsdk.items import ToolCallOutputItem
from agentsdk.testing import ScriptedModel, call
from agentsdk.testing.responses_dialect import FakeResponsesServer
from agentsdk.types.errors import UnsupportedCallError
from agentsdk.types.items import FunctionCall, FunctionCallOutput, Message

pytestmark = pytest.mark.anyio


def server(**options: Any) -> HostedMCPTool:
    return HostedMCPTool(server_label="docs", server_url="https://mcp.example.com", **options)


def asks(name: str = "search", request_id: str = "mcpr_1", label: str = "docs", arguments: str = '{"q":"a"}') -> FunctionCall:
    return FunctionCall(request_id, name, arguments, kind="mcp_approval", namespace=label)


def agent_with(*replies: Any, tools: Any = None, **fields: Any) -> Agent[Any, Any]:
    return Agent("a", model=ScriptedModel(replies), tools=[server()] if tools is None else tools, **fields)


def answers(agent: Agent[Any, Any]) -> list[FunctionCallOutput]:
    """What the last request says of approvals."""
    model = agent.model
    assert isinstance(model, ScriptedModel)
    return [item for item in model.requests[-1].items if isinstance(item, FunctionCallOutput)]


async def test_an_approval_is_an_interruption_and_its_answer_goes_back() -> None:
    async with FakeResponsesServer([[asks(), asks("delete", "mcpr_2")], "done"]) as api:
        model = OpenAIResponsesModel("gpt-test", base_url=api.base_url)
        agent = Agent("a", model=model, tools=[server()])
        result = await Runner.run(agent, "x")
        first, second = result.interruptions
        assert isinstance(first, ToolApprovalItem)
        assert (first.tool_name, first.arguments, first.call.namespace) == ("search", '{"q":"a"}', "docs")
        state = await RunState.from_string(agent, result.to_state().to_string())
        state.approve(state.interruptions[0])
        state.reject(state.interruptions[0], reason="too dangerous")
        result = await Runner.run(agent, state)
    assert (result.final_output, len(api.requests)) == ("done", 2)
    sent = api.requests[1].json["input"][1:]
    assert [entry["type"] for entry in sent] == ["mcp_approval_request"] * 2 + ["mcp_approval_response"] * 2
    assert sent[2] == {"type": "mcp_approval_response", "approval_request_id": "mcpr_1", "approve": True}
    assert (sent[3]["approve"], "too dangerous" in sent[3]["reason"]) == (False, True)
    assert second.tool_name == "delete"
    assert [item.raw_item.kind for item in result.new_items if isinstance(item, ToolCallOutputItem)] == ["mcp_approval"] * 2


async def test_a_rule_decides_call_by_call() -> None:
    asked: list[Any] = []

    async def rule(context: Any, arguments: dict[str, Any], call_id: str) -> bool:
        asked.append((arguments, call_id))
        await asyncio.sleep(0)
        return arguments["q"] == "secret"

    secret = asks(request_id="mcpr_2", arguments='{"q":"secret"}')
    agent = agent_with([asks(), secret], "done", tools=[server(needs_approval=rule)])
    result = await Runner.run(agent, "x")
    assert [item.call_id for item in result.interruptions] == ["mcpr_2"]
    state = result.to_state()
    state.approve(state.interruptions[0])
    await Runner.run(agent, state)
    assert asked == [({"q": "a"}, "mcpr_1"), ({"q": "secret"}, "mcpr_2")], "once each"
    assert [answer.is_error for answer in answers(agent)] == [False, False]


async def test_without_a_need_for_approval_every_request_is_granted() -> None:
    agent = agent_with(asks(), "done", tools=[server(needs_approval=False)])
    assert (await Runner.run(agent, "x")).final_output == "done"


async def test_always_is_for_one_tool_of_one_server() -> None:
    other = HostedMCPTool(server_label="other", server_url="https://other.example.com")
    replies = [asks(), asks(request_id="mcpr_2"), [asks(request_id="mcpr_3", label="other"), asks("delete", "mcpr_4")]]
    agent = agent_with(*replies, tools=[server(), other])
    state = (await Runner.run(agent, "x")).to_state()
    state.approve(state.interruptions[0], always_approve=True)
    result = await Runner.run(agent, state)
    assert [item.call_id for item in result.interruptions] == ["mcpr_3", "mcpr_4"]


async def test_an_approval_outlives_its_process_and_is_void_for_another_server() -> None:
    """It is bound to the server as it was declared, without its secrets: a new token is the same server."""
    store = MemoryRunStore()
    config = RunConfig(store=store, run_id="r")
    await Runner.run(agent_with(asks(), tools=[server(authorization="old")]), "x", run_config=config)
    agent = agent_with("done", tools=[server(authorization="new")])
    state = await Runner.load("r", run_config=config)
    state.approve(state.interruptions[0])
    moved = HostedMCPTool(server_label="docs", server_url="https://evil.example.com")
    elsewhere = await Runner.run(agent_with("done", tools=[moved]), RunState.from_string(agent, state.to_string()))
    assert [item.call_id for item in elsewhere.interruptions] == ["mcpr_1"], "asked for again"
    assert (await Runner.run(agent, state, run_config=config)).final_output == "done"


async def test_other_arguments_cannot_be_approved() -> None:
    agent = agent_with(asks(), "done")
    state = (await Runner.run(agent, "x")).to_state()
    state.approve(state.interruptions[0], arguments={"q": "b"})
    with pytest.raises(UserError, match="the provider runs the call with its own"):
        await Runner.run(agent, state)


@pytest.mark.parametrize("behavior", ["stop_on_first_tool", StopAtTools(["search"])], ids=str)
async def test_an_approval_is_not_a_tools_result(behavior: Any) -> None:
    agent = agent_with(asks(), "done", tools=[server(needs_approval=False)], tool_use_behavior=behavior)
    assert (await Runner.run(agent, "x")).final_output == "done"


async def test_a_tool_use_behavior_is_asked_about_tools_alone() -> None:
    seen: list[list[str]] = []

    def behavior(context: Any, results: Any) -> ToolsToFinalOutputResult:
        seen.append([result.tool_name for result in results])
        return ToolsToFinalOutputResult(False)

    @function_tool
    def add() -> int:
        return 1

    replies = [asks(), [call("add"), asks(request_id="mcpr_2")], "done"]
    agent = agent_with(*replies, tools=[server(needs_approval=False), add], tool_use_behavior=behavior)
    assert (await Runner.run(agent, "x")).final_output == "done"
    assert seen == [["add"]]


@pytest.mark.parametrize("tools", [[], [HostedMCPTool(server_label="other", server_url="https://x")]], ids=["none", "other"])
async def test_a_server_that_nobody_declared_is_one_error_at_once(tools: Any) -> None:
    agent = agent_with(asks(), tools=tools, model_settings=ModelSettings(extra_body={"tools": []}))
    with pytest.raises(UnsupportedCallError, match=r"HostedMCPTool\(server_label='docs'") as caught:
        await Runner.run(agent, "x")
    assert caught.value.kind == "mcp_approval"
    declared = agent_with("done", tools=[server(needs_approval=False)])
    assert (await Runner.run(declared, caught.value.state)).final_output == "done"


async def test_a_model_cannot_call_an_approval_as_a_function() -> None:
    agent = agent_with(call("mcp_approval:docs", q="a"), "done")
    result = await Runner.run(agent, "x")
    (output,) = [item.output for item in result.new_items if isinstance(item, ToolCallOutputItem)]
    assert output == "Error: there is no tool named 'mcp_approval:docs'. Tools there are: none."


async def test_the_model_is_told_of_the_server_and_not_of_its_approvals() -> None:
    agent = agent_with("done", tools=[server(authorization="t"), WebSearchTool()])
    await Runner.run(agent, "x")
    assert isinstance(agent.model, ScriptedModel)
    (request,) = agent.model.requests
    assert request.tools == ()
    assert request.hosted == (server(authorization="t"), WebSearchTool())


@pytest.mark.parametrize("tools", [[WebSearchTool(), WebSearchTool(max_uses=1)], [server(), server(authorization="t")]])
async def test_two_of_a_kind_are_refused(tools: Any) -> None:
    with pytest.raises(UserError, match="has two hosted tools"):
        await Runner.run(agent_with("done", tools=tools), "x")


async def test_nested_approvals_are_the_outer_runs() -> None:
    inner = agent_with(asks(), "found")
    agent = agent_with(call("ask", input="y"), "done", tools=[inner.as_tool("ask", "Ask.")])
    result = await Runner.run(agent, "x")
    (item,) = result.interruptions
    assert (item.tool_name, len(item.path)) == ("search", 1)
    state = result.to_state()
    state.approve(item)
    assert (await Runner.run(agent, state)).final_output == "done"


async def test_a_history_with_an_open_request_refuses_it() -> None:
    """Nobody has answered: the provider is told that it may not."""
    async with FakeResponsesServer(["hello"]) as api:
        agent = Agent("a", model=OpenAIResponsesModel("gpt-test", base_url=api.base_url), tools=[server()])
        await Runner.run(agent, [asks(), Message("user", "x")])
    assert [entry.get("approve") for entry in api.requests[0].json["input"]] == [None, False, None]
