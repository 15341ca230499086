"""Grants of a run: what none of them covers is not offered, and is refused when it is called all the same."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from typing import Any, get_args

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agentsdk import (
    Agent,
    FunctionCall,
    FunctionCallOutput,
    FunctionTool,
    MemoryRunStore,
    RunConfig,
    Runner,
    RunResult,
    RunState,
    ToolApprovalItem,
    UserError,
    function_tool,
)
from agentsdk.errors import CallbackError, StateMismatchError, UnsupportedCallError
from agentsdk.hosted_tools import FileSearchTool, HostedMCPTool, WebSearchTool
from agentsdk.permissions import Grant, NotGranted, Permission, RefusedCall
from agentsdk.testing import ScriptedModel, call
from agentsdk.toolsets import ToolRegistry
from agentsdk.types.permission import PERMISSIONS

pytestmark = pytest.mark.anyio

REFUSED = "The call was not run. The tool {!r} needs the permission {!r}, which is not granted here."
READ = Grant("read", name="reader")


class Office:
    """Tools of each permission, and which of them ran."""

    def __init__(self) -> None:
        self.ran: list[str] = []
        self.tools = [self.tool("look", effect="none"), self.tool("write"), self.tool("drop", permission="admin")]

    def tool(self, name: str, **options: Any) -> FunctionTool[Any]:
        async def body(x: int = 0) -> str:
            self.ran.append(name)
            return f"{name} done"

        return function_tool(body, name_override=name, **options)

    def agent(self, *replies: Any, **fields: Any) -> Agent[Any, str]:
        return Agent("main", model=ScriptedModel([*replies, "done"]), **{"tools": self.tools, **fields})


def offered(agent: Agent[Any, Any], request: int = 0) -> list[str]:
    model = agent.model
    assert isinstance(model, ScriptedModel)
    return [tool.name for tool in model.requests[request].tools]


def outputs(state: RunState) -> list[str]:
    return [str(item.output) for item in state.items() if isinstance(item, FunctionCallOutput)]


def refused(result: RunResult[Any] | RunState) -> list[tuple[str, ...]]:
    return [(*one.path, one.why.tool) for one in result.refused_calls]


def test_a_permission_follows_from_the_effect_unless_it_is_given() -> None:
    levels = [
        ("none", None, "read"),
        ("idempotent", None, "write"),
        ("once", None, "write"),
        ("none", "admin", "admin"),
        ("once", "read", "read"),
    ]
    for effect, permission, level in levels:
        assert Office().tool("t", effect=effect, permission=permission).level == level
    assert Office().agent().as_tool().level == "read"  # what it does its own tools do
    assert Office().agent().as_tool(permission="admin").level == "admin"
    assert WebSearchTool().level == "read"
    assert HostedMCPTool(server_label="docs", server_url="https://x").level == "write"


async def test_without_grants_everything_may_be_called() -> None:
    office = Office()
    agent = office.agent([call("look"), call("drop")])
    result = await Runner.run(agent, "go")
    assert offered(agent) == ["look", "write", "drop"]
    assert office.ran == ["look", "drop"]
    assert result.refused_calls == []


async def test_what_is_not_granted_is_not_offered_and_refused_with_who_asked_for_what_and_when() -> None:
    office = Office()
    agent = office.agent([call("look"), call("write", x=7), call("drop")])
    result = await Runner.run(agent, "go", run_config=RunConfig(grants=READ))
    assert offered(agent) == ["look"]
    assert office.ran == ["look"]
    assert outputs(result.to_state()) == ["look done", REFUSED.format("write", "write"), REFUSED.format("drop", "admin")]
    first, second = result.refused_calls
    asked = FunctionCall("call_1_2", "write", '{"x":7}')
    assert first == RefusedCall(asked, first.at, NotGranted("write", "write", (), "main", ("reader",)))
    assert first.at > 1e9
    assert second.why.permission == "admin"
    assert RunState.from_string(agent, result.to_state().to_string()).refused_calls == result.refused_calls


@pytest.mark.parametrize(
    ("grants", "expected"),
    [
        ((), []),
        (Grant("admin"), ["look", "write", "drop"]),
        ([READ, Grant("admin", tools=["drop"])], ["look", "drop"]),
        (Grant("admin", tags=["billing", "other"]), ["write"]),
        (Grant("admin", agents=["somebody else"]), []),
        ([Grant("admin", agents=["main"], tools=["write", "drop"], tags=["billing"])], ["write"]),
    ],
    ids=str,
)
async def test_a_tool_is_granted_by_permission_name_tag_and_agent(grants: Any, expected: list[str]) -> None:
    office = Office()
    office.tools[1] = office.tool("write", tags=["billing"])
    agent = office.agent([call("look"), call("write"), call("drop")])
    result = await Runner.run(agent, "go", run_config=RunConfig(grants=grants))
    assert offered(agent) == office.ran == expected
    assert refused(result) == [(name,) for name in ("look", "write", "drop") if name not in expected]


async def test_a_callable_is_asked_each_turn_with_the_context_of_the_run() -> None:
    office = Office()
    seen: list[tuple[Any, int, str]] = []

    async def grants(context: Any) -> Sequence[Grant]:
        seen.append((context.context, context.turn, context.run_id))
        return [Grant("admin" if context.context == "Ada" and context.turn == 1 else "read")]

    agent = office.agent(call("drop"), call("drop"))
    result = await Runner.run(agent, "go", context="Ada", run_config=RunConfig(grants=grants, run_id="r"))
    assert seen == [("Ada", 1, "r"), ("Ada", 2, "r"), ("Ada", 3, "r")]
    assert [offered(agent, request) for request in range(3)] == [["look", "write", "drop"], ["look"], ["look"]]
    assert office.ran == ["drop"]
    assert refused(result) == [("drop",)]


def breaks(context: Any) -> list[Grant]:
    raise ConnectionError("no directory")


@pytest.mark.parametrize(
    ("rule", "error", "says"),
    [
        (breaks, CallbackError, r"RunConfig\(grants=...\) raised ConnectionError"),
        (lambda context: None, UserError, r"returned 'NoneType', expected a Grant or a list of them; return \[\]"),
        (lambda context: ["admin"], UserError, "returned 'list', expected a Grant"),
    ],
)
async def test_a_callable_that_fails_lets_nothing_run_and_the_run_goes_on_later(
    rule: Any, error: type[Exception], says: str
) -> None:
    office = Office()
    agent = office.agent(call("write"))
    with pytest.raises(error, match=says) as caught:
        await Runner.run(agent, "go", run_config=RunConfig(grants=rule))
    assert isinstance(agent.model, ScriptedModel)
    assert agent.model.requests == []
    state: Any = getattr(caught.value, "state")  # noqa: B009
    result = await Runner.run(agent, state, run_config=RunConfig(grants=Grant("write")))
    assert office.ran == ["write"]
    assert result.final_output == "done"


async def test_a_callable_that_fails_in_the_open_turn_runs_none_of_its_calls() -> None:
    office = Office()
    office.tools[1] = office.tool("write", needs_approval=True)
    agent = office.agent(call("write"))
    state = (await Runner.run(agent, "go", run_config=RunConfig(grants=Grant("write")))).to_state()
    state.approve(state.interruptions[0])
    with pytest.raises(CallbackError) as caught:
        await Runner.run(agent, state, run_config=RunConfig(grants=breaks))
    assert office.ran == []
    assert isinstance(caught.value.state, RunState)
    await Runner.run(agent, caught.value.state, run_config=RunConfig(grants=Grant("write")))
    assert office.ran == ["write"]


async def test_a_grant_revoked_between_approval_and_execution_refuses_the_call() -> None:
    office = Office()
    office.tools[1] = office.tool("write", needs_approval=True)
    agent = office.agent([call("write"), call("look")])
    state = (await Runner.run(agent, "go", run_config=RunConfig(grants=Grant("write")))).to_state()
    assert [type(item) for item in state.interruptions] == [ToolApprovalItem]
    state.approve(state.interruptions[0])
    result = await Runner.run(agent, state, run_config=RunConfig(grants=READ))
    assert office.ran == ["look"]
    assert refused(result) == [("write",)]
    assert offered(agent, 1) == ["look"]


async def test_a_turn_that_is_entered_again_has_the_same_number() -> None:
    turns: list[int] = []

    def grants(context: Any) -> Grant:
        turns.append(context.turn)
        return Grant("admin")

    office = Office()
    agent = office.agent(call("write"), tools=[office.tool("write", needs_approval=True)])
    state = (await Runner.run(agent, "go", run_config=RunConfig(grants=grants))).to_state()
    state.approve(state.interruptions[0])
    await Runner.run(agent, state, run_config=RunConfig(grants=grants))
    assert turns == [1, 1, 2]


async def test_a_tool_that_was_not_offered_is_refused_also_where_it_is_granted_by_the_time_its_call_runs() -> None:
    """What the model was offered is recorded: a grant that comes later counts from the next turn on."""
    office = Office()
    office.tools[0] = office.tool("look", effect="none", needs_approval=True)
    agent = office.agent([call("look"), call("write")])
    state = (await Runner.run(agent, "go", run_config=RunConfig(grants=READ))).to_state()
    state.approve(state.interruptions[0])
    result = await Runner.run(agent, state, run_config=RunConfig(grants=Grant("admin")))
    assert office.ran == ["look"]
    assert refused(result) == [("write",)]
    assert offered(agent, 1) == ["look", "write", "drop"]


async def test_a_run_that_began_with_grants_does_not_go_on_without_any_in_silence() -> None:
    office = Office()
    office.tools[0] = office.tool("look", effect="none", needs_approval=True)
    agent = office.agent(call("look"))
    state = (await Runner.run(agent, "go", run_config=RunConfig(grants=READ))).to_state()
    state.approve(state.interruptions[0])
    with pytest.raises(StateMismatchError, match=r"was begun with grants .* pass RunConfig\(grants=\.\.\.\)"):
        await Runner.run(agent, state)
    result = await Runner.run(agent, state, run_config=RunConfig(without_guards=["grants"]))
    assert result.final_output == "done"
    assert offered(agent, 1) == ["look", "write", "drop"]


async def test_a_refusal_comes_before_every_other_question_about_the_call() -> None:
    asked: list[str] = []

    def check(ctx: Any, arguments: Any) -> None:
        asked.append("check")

    def approval(ctx: Any, arguments: Any, call_id: str) -> bool:
        asked.append("approval")
        return True

    office = Office()
    tool = office.tool("write", check=check, needs_approval=approval)
    agent = office.agent([FunctionCall("", "write", "{"), call("write", x="no"), call("write")], tools=[tool])
    result = await Runner.run(agent, "go", run_config=RunConfig(grants=READ))
    assert outputs(result.to_state()) == [REFUSED.format("write", "write")] * 3
    assert asked == office.ran == []


async def test_grants_hold_for_agents_as_tools_nested_runs_and_after_handoffs() -> None:
    office = Office()
    helper = Agent("helper", model=ScriptedModel([[call("look"), call("write")], "helped"]), tools=office.tools)
    second = Agent("second", model=ScriptedModel([call("drop"), "done"]), tools=office.tools)
    agent = office.agent(call("helper", input="go"), call("transfer_to_second"), tools=[helper.as_tool()], handoffs=[second])
    grants = [READ, Grant("admin", agents=["main"])]
    result = await Runner.run(agent, "go", run_config=RunConfig(grants=grants))
    assert offered(agent) == ["helper", "transfer_to_second"]  # a handoff does nothing by itself
    assert offered(helper) == offered(second) == ["look"]
    assert office.ran == ["look"]
    assert refused(result) == [("call_1_1", "write"), ("drop",)]
    assert [one.why.agent for one in result.refused_calls] == ["helper", "second"]
    result = await Runner.run(office.agent(call("helper", input="x"), tools=[helper.as_tool(permission="write")]), "go",
                              run_config=RunConfig(grants=READ))  # fmt: skip
    assert refused(result) == [("helper",)]


async def test_grants_hold_for_tools_of_toolsets_and_of_the_run() -> None:
    office = Office()
    look, write, drop = office.tools
    registry = ToolRegistry[Any]([look, write]).with_permissions({"look": "admin"}, tags=("shop",))
    agent = office.agent([call("look"), call("write"), call("drop")], tools=[], toolsets=[registry])
    config = RunConfig(tools=[drop], grants=Grant("write", tags=["shop"]))
    result = await Runner.run(agent, "go", run_config=config)
    assert offered(agent) == office.ran == ["write"]
    assert refused(result) == [("look",), ("drop",)]
    assert [(one.why.permission, one.why.tags) for one in result.refused_calls] == [("admin", ("shop",)), ("admin", ())]


def hosted(agent: Agent[Any, Any], request: int = 0) -> list[str]:
    assert isinstance(agent.model, ScriptedModel)
    return [tool.name for tool in agent.model.requests[request].hosted]


async def test_a_hosted_tool_that_is_not_granted_is_not_declared() -> None:
    docs = HostedMCPTool(server_label="docs", server_url="https://x")
    safe = HostedMCPTool(server_label="safe", server_url="https://y", permission="read")
    tools = [WebSearchTool(), FileSearchTool(vector_store_ids=["v"]), docs, safe]
    for grants, expected in [
        (READ, ["web_search", "file_search", "mcp:safe"]),
        (Grant("admin", tools=["web_search", "mcp:docs"]), ["web_search", "mcp:docs"]),
        ([], []),
    ]:
        agent = Agent("main", model=ScriptedModel(["done"]), tools=tools)
        await Runner.run(agent, "go", run_config=RunConfig(grants=grants))  # type: ignore[arg-type]
        assert hosted(agent) == expected


async def test_an_approval_that_a_hosted_server_asks_for_is_refused_without_a_grant() -> None:
    asked = FunctionCall("", "search", "{}", kind="mcp_approval", namespace="docs")
    agent = Agent(
        "main",
        model=ScriptedModel([asked, asked, "done"]),
        tools=[HostedMCPTool(server_label="docs", server_url="https://x")],
    )
    state = (await Runner.run(agent, "go", run_config=RunConfig(grants=Grant("write")))).to_state()
    state.approve(state.interruptions[0])
    result = await Runner.run(agent, state, run_config=RunConfig(grants=READ))  # revoked, and then not declared either
    assert refused(result) == [("mcp:docs",), ("mcp:docs",)]
    assert [hosted(agent, request) for request in range(3)] == [["mcp:docs"], [], []]
    assert [item.is_error for item in result.to_state().items() if isinstance(item, FunctionCallOutput)] == [True, True]


async def test_a_call_of_a_kind_that_no_tool_handles_is_still_an_error_beside_one_that_is_refused() -> None:
    office = Office()
    shell = function_tool(lambda commands: "", name_override="shell", kind="shell", strict_mode=False)
    calls = [FunctionCall("", "shell", '{"commands":[]}', kind="shell"), FunctionCall("", "computer", "{}", kind="computer")]
    config = RunConfig(grants=READ)
    result = await Runner.run(office.agent(calls[:1], tools=[shell]), "go", run_config=config)
    assert refused(result) == [("shell",)]
    with pytest.raises(UnsupportedCallError):
        await Runner.run(office.agent(calls, tools=[shell]), "go", run_config=config)


async def test_what_was_cut_from_a_result_may_always_be_read() -> None:
    long = function_tool(lambda: "x" * 5_000, name_override="long", effect="none")
    model = ScriptedModel([call("long"), "done"])
    config = RunConfig(grants=Grant("read", tools=["long"]), max_tool_result_chars=100)
    await Runner.run(Agent("main", model=model, tools=[long]), "go", run_config=config)
    assert [tool.name for tool in model.requests[1].tools] == ["long", "read_result"]


@pytest.mark.parametrize("effect", ["once", "idempotent", "none"])
async def test_a_call_that_was_cut_does_not_go_on_without_its_grant(effect: Any) -> None:
    ran: list[str] = []
    begun, never = asyncio.Event(), asyncio.Event()

    async def body() -> None:
        ran.append(effect)
        begun.set()
        await never.wait()

    tool = function_tool(body, name_override="t", effect=effect, permission="write")
    agent = Agent("main", model=ScriptedModel([call("t"), "done"]), tools=[tool])
    store = MemoryRunStore()
    config = RunConfig(grants=Grant("write"), store=store, run_id="r")
    task = asyncio.ensure_future(Runner.run(agent, "go", run_config=config))
    await begun.wait()
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    result = await Runner.resume(agent, "r", run_config=RunConfig(grants=READ, store=store))
    assert len(ran) == 1
    if effect == "once":  # what came of it nobody knows: that is for a person to say
        assert len(result.interruptions) == 1
        assert result.refused_calls == []
        state = result.to_state()
        state.retry(state.interruptions[0])
        result = await Runner.run(agent, state, run_config=RunConfig(grants=READ, store=store))
    assert len(ran) == 1
    assert refused(result) == [("t",)]


async def test_an_answer_from_outside_counts_although_the_grant_is_gone_since_the_call_began() -> None:
    ask = function_tool(lambda: "", name_override="ask", external=True, effect="none", permission="write")
    agent = Agent("main", model=ScriptedModel([call("ask"), "done"]), tools=[ask])
    state = (await Runner.run(agent, "go", run_config=RunConfig(grants=Grant("write")))).to_state()
    state.answer(state.interruptions[0], "yes")
    result = await Runner.run(agent, state, run_config=RunConfig(grants=READ))
    assert outputs(result.to_state()) == ["yes"]
    assert result.refused_calls == []


@pytest.mark.parametrize("effect", ["none", "once"])
async def test_a_nested_run_goes_no_further_without_the_grant_of_its_agent(effect: Any) -> None:
    office = Office()
    helper = office.agent(call("write"), tools=[office.tool("write", needs_approval=True)])
    helper.name = "helper"
    tool = helper.as_tool(permission="write").clone(effect=effect)
    agent = Agent("main", model=ScriptedModel([call("helper", input="x"), "done"]), tools=[tool])
    state = (await Runner.run(agent, "go", run_config=RunConfig(grants=Grant("write")))).to_state()
    state.approve(state.interruptions[0])
    result = await Runner.run(agent, state, run_config=RunConfig(grants=READ))
    assert refused(result) == [("helper",)]
    assert "was begun and cut, and may not go on" in outputs(result.to_state())[0]
    assert office.ran == []


async def test_replay_asks_for_no_grants() -> None:
    office = Office()
    agent = office.agent([call("look"), call("write"), FunctionCall("", "shell", '{"commands":[]}', kind="shell")])
    shell = function_tool(lambda commands: "", name_override="shell", kind="shell", strict_mode=False)
    agent.tools = [*office.tools, shell]
    store = MemoryRunStore()
    config = RunConfig(grants=READ, store=store, run_id="r")
    result = await Runner.run(agent, "go", run_config=config)
    assert refused(result) == [("write",), ("shell",)]
    replayed = await Runner.replay(agent, "r", run_config=RunConfig(grants=breaks, store=store))
    assert (replayed.divergence, replayed.turns) == (None, 2)
    again = await Runner.replay(agent, "r", run_config=RunConfig(store=store))
    assert again.divergence is None


# Whatever the grants: nothing runs or is offered that they do not cover, and each call of it is in the audit.

NAMES = ("a", "b", "c", "d")
TAGS = ("red", "blue")


def some(values: Sequence[str]) -> st.SearchStrategy[list[str]]:
    return st.lists(st.sampled_from(values), unique=True, max_size=2)


permissions = st.sampled_from(get_args(Permission))
random_grants = st.lists(
    st.builds(Grant, permissions, some(TAGS), some(NAMES), some(["main", "other"]), st.sampled_from(["", "clerk"])), max_size=3
)
random_tools = st.fixed_dictionaries({name: st.tuples(permissions, some(TAGS)) for name in NAMES})


@given(grants=random_grants, tools=random_tools, calls=st.lists(st.sampled_from(NAMES), min_size=1, max_size=6))
def test_nothing_is_offered_or_run_that_is_not_granted_and_the_audit_has_every_refusal(
    grants: list[Grant], tools: dict[str, tuple[Permission, list[str]]], calls: list[str]
) -> None:
    office = Office()
    agent = office.agent(
        [call(name) for name in calls],
        tools=[office.tool(name, permission=level, tags=tags) for name, (level, tags) in tools.items()],
    )
    result = asyncio.run(Runner.run(agent, "go", run_config=RunConfig(grants=grants)))

    def is_granted(name: str) -> bool:
        level, tags = tools[name]
        return any(
            PERMISSIONS.index(one.permission) >= PERMISSIONS.index(level)
            and (not one.tools or name in one.tools)
            and (not one.tags or not set(one.tags).isdisjoint(tags))
            and (not one.agents or "main" in one.agents)
            for one in grants
        )

    assert offered(agent) == [name for name in tools if is_granted(name)]
    assert office.ran == [name for name in calls if is_granted(name)]
    assert [one.why.tool for one in result.refused_calls] == [name for name in calls if not is_granted(name)]
    assert all(one.why.grants == tuple(grant.name for grant in grants if grant.name) for one in result.refused_calls)
