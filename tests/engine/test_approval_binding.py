"""What an approval is bound to: run, path, call, arguments and tool. It lets one call of one run go on, once."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import pytest

from agentsdk import (
    Agent,
    FunctionCall,
    FunctionTool,
    MemoryRunStore,
    RunConfig,
    Runner,
    RunState,
    ToolApprovalItem,
    ToolContext,
    ToolInDoubtItem,
    function_tool,
)
from agentsdk.errors import StateTamperedError
from agentsdk.testing import ScriptedModel, call
from agentsdk.types.events import ApprovalDecided
from agentsdk.types.spec import Effect
from tests.scenarios import reloaded

pytestmark = pytest.mark.anyio

EFFECTS: list[Effect] = ["none", "idempotent", "once"]


def clear(ran: list[Any], effect: Effect, **options: Any) -> FunctionTool[Any]:
    @function_tool(needs_approval=True, effect=effect, name_override="clear", **options)
    async def tool(ctx: ToolContext[Any], folder: str) -> str:
        """Clear a folder."""
        ran.append(folder)
        return "ok"

    return tool


def clear_more(ran: list[Any], effect: Effect) -> FunctionTool[Any]:
    @function_tool(needs_approval=True, effect=effect, name_override="clear")
    async def tool(folder: str, whole_disk: bool = True) -> str:
        """Clear the whole disk."""
        ran.append((folder, whole_disk))
        return "ok"

    return tool


def agent_of(*replies: Any, tools: list[Any]) -> Agent[Any, Any]:
    return Agent("main", model=ScriptedModel(list(replies)), tools=tools)


async def begun(tool: FunctionTool[Any], **decision: Any) -> RunState:
    """A run cut right after the intent of its approved call."""
    agent = agent_of(call("clear", folder="x"), "done", tools=[tool])
    state = (await Runner.run(agent, "x", run_config=RunConfig(run_id="r"))).to_state()
    state.approve(state.interruptions[0], **decision)
    log = (await Runner.run(agent, state)).to_state().to_json()
    events: Any = log["log"]
    log["log"] = events[: 1 + next(at for at, event in enumerate(events) if event[0] == "intend")]
    return RunState.from_json(agent, log)


@pytest.mark.parametrize("effect", EFFECTS)
@pytest.mark.parametrize("always", [False, True], ids=["one", "always"])
@pytest.mark.parametrize("answer", ["approve", "reject"])
async def test_a_begun_call_does_not_run_as_another_tool(effect: Effect, always: bool, answer: str) -> None:
    ran: list[Any] = []
    state = await begun(clear([], effect), always_approve=always)
    after = agent_of("done", tools=[clear_more(ran, effect)])
    result = await Runner.run(after, state)
    (item,) = result.interruptions
    assert ran == []
    state = reloaded(after, result.to_state())
    if effect == "once":
        assert isinstance(item, ToolInDoubtItem)
        state.retry(item)
        result = await Runner.run(after, state)
        (item,) = result.interruptions
        assert isinstance(item, ToolApprovalItem) and ran == [], "the new tool was never approved"
        state = reloaded(after, result.to_state())
    if answer == "approve":
        state.approve(item)
        assert (await Runner.run(after, state)).final_output == "done"
        assert ran == [("x", True)]
        return
    state.reject(item, reason="no")
    result = await Runner.run(after, state)
    assert (result.final_output, ran) == ("done", [])
    (told,) = [item["output"] for item in result.to_input_list() if item["type"] == "function_call_output"]
    known = "so it was not run" if effect == "once" else "its outcome is unknown"
    assert known in str(told) and str(told).endswith("Reason: no")


async def test_with_a_message_the_model_is_told_that_alone_of_a_rejected_call() -> None:
    ran: list[Any] = []
    agent = agent_of(call("clear", folder="x"), call("clear", folder="y"), "done", tools=[clear(ran, "once")])
    state = reloaded(agent, (await Runner.run(agent, "x")).to_state())
    state.reject(state.interruptions[0], True, reason="for the record", message="Not today.")
    result = await Runner.run(agent, reloaded(agent, state))
    told = [item["output"] for item in result.to_input_list() if item["type"] == "function_call_output"]
    assert (told, ran) == (["Not today."] * 2, [])
    (decided,) = [event for event in state.value.log if isinstance(event, ApprovalDecided)]
    assert decided.reason == "for the record"


async def test_a_begun_nested_run_waits_for_its_changed_tool() -> None:
    ran: list[Any] = []
    look = clear(ran, "none").clone(name="look")
    child = Agent("child", model=ScriptedModel([call("look", folder="x"), "seen"]), tools=[look])
    outer = agent_of(call("ask", input="x"), tools=[child.as_tool("ask", needs_approval=True)])
    state = (await Runner.run(outer, "x")).to_state()
    state.approve(state.interruptions[0])
    paused = (await Runner.run(outer, state)).to_state()
    assert [item.path for item in paused.interruptions] == [("call_1_1",)]
    changed = agent_of("done", tools=[child.as_tool("ask", "Ask anything.", needs_approval=True)])
    result = await Runner.run(changed, reloaded(changed, paused))
    assert [(item.tool_name, item.path) for item in result.interruptions] == [("ask", ())]


@pytest.mark.parametrize("effect", ["none", "idempotent"])
@pytest.mark.parametrize("expires", [None, 1.0], ids=["lasting", "expired"])
async def test_a_begun_call_of_the_same_tool_goes_on(effect: Effect, expires: float | None) -> None:
    ran: list[Any] = []
    tool = clear(ran, effect)
    agent = agent_of(call("clear", folder="x"), "done", tools=[tool])
    state = (await Runner.run(agent, "x")).to_state()
    state.approve(state.interruptions[0], True, expires_at=expires)
    config = RunConfig(clock=Standing())
    log = (await Runner.run(agent, state, run_config=config)).to_state().to_json()
    events: Any = log["log"]
    log["log"] = events[: 1 + next(at for at, event in enumerate(events) if event[0] == "intend")]
    result = await Runner.run(agent_of("done", tools=[tool]), RunState.from_json(agent, log))
    assert (result.final_output, ran) == ("done", ["x", "x"])


class Standing:
    """A clock at 0."""

    def time(self) -> float:
        return 0.0

    async def sleep(self, seconds: float) -> None:
        raise AssertionError(seconds)


ELSEWHERE: list[Callable[[list[Any]], object]] = [
    lambda log: log[0].__setitem__(1, "another run"),
    lambda log: next(event for event in log if event[0] == "decided").__setitem__(3, "0" * 40),
]


@pytest.mark.parametrize("moved", ELSEWHERE, ids=["another run", "another digest"])
async def test_a_decision_of_elsewhere_is_refused(moved: Callable[[list[Any]], object]) -> None:
    ran: list[Any] = []
    agent = agent_of(call("clear", folder="x"), "done", tools=[clear(ran, "once")])
    state = (await Runner.run(agent, "x", run_config=RunConfig(run_id="r"))).to_state()
    state.approve(state.interruptions[0])
    data: Any = state.to_json()
    data["log"] += data.pop("decisions")
    moved(data["log"])
    with pytest.raises(StateTamperedError, match="in this run"):
        await Runner.run(agent, RunState.from_json(agent, data))
    assert ran == []


async def test_a_nested_decision_holds_in_its_own_run_only() -> None:
    """The same call id in two nested runs of one turn: a decision on one says nothing of the other."""
    ran: list[Any] = []
    asks = [FunctionCall("c", "clear", '{"folder":"x"}')]
    child = Agent("child", model=ScriptedModel([asks, asks]), tools=[clear(ran, "once")])
    outer = agent_of([call("ask", input="1"), call("ask", input="2")], tools=[child.as_tool("ask")])
    state = (await Runner.run(outer, "x")).to_state()
    state.approve(state.interruptions[0])
    data: Any = state.to_json()
    (nested,) = data.pop("decisions")
    (other,) = state.interruptions
    assert nested[1] != other.path[0]
    data["log"].append([nested[0], other.path[0], nested[2]])
    with pytest.raises(StateTamperedError):
        await Runner.run(outer, RunState.from_json(outer, data))
    assert ran == []


async def decided_run(ran: list[Any], *, always: bool = False, effect: Effect = "once") -> tuple[RunConfig, Agent[Any, Any]]:
    config = RunConfig(store=MemoryRunStore())
    agent = agent_of(call("clear", folder="x"), *["done"] * 3, tools=[clear(ran, effect)])
    first = RunConfig(store=config.store, run_id="r1")
    state = (await Runner.run(agent, "x", run_config=first)).to_state()
    state.approve(state.interruptions[0], always, by="alice")
    await Runner.decide(state, run_config=config)
    return config, agent


def revision_of(log: Any, kind: type) -> int:
    return 1 + next(at for at, event in enumerate(log) if isinstance(event, kind))


@pytest.mark.parametrize("always", [False, True], ids=["one", "always"])
async def test_a_fork_asks_again_for_what_was_approved_in_its_origin(always: bool) -> None:
    ran: list[Any] = []
    config, agent = await decided_run(ran, always=always)
    at = revision_of((await Runner.load("r1", run_config=config)).value.log, ApprovalDecided)
    await Runner.fork("r1", at=at, new_run_id="r2", run_config=config)
    await Runner.fork("r2", new_run_id="r3", run_config=config)
    assert (await Runner.resume(agent, "r1", run_config=config)).final_output == "done"
    assert config.store is not None
    for fork in ("r2", "r3"):
        summary = await config.store.summary(fork)
        assert summary is not None and (summary.status, summary.waiting) == ("waiting", 1)
        result = await Runner.resume(agent, fork, run_config=config)
        assert [item.call_id for item in result.interruptions] == ["call_1_1"]
    assert ran == ["x"], "one approval never pays twice"
    state = await Runner.load("r3", run_config=config)
    state.approve(state.interruptions[0])
    await Runner.decide(state, run_config=config)
    assert (await Runner.resume(agent, "r3", run_config=config)).final_output == "done"
    assert ran == ["x", "x"]


async def test_a_fork_keeps_approvals_where_it_is_told_to() -> None:
    ran: list[Any] = []
    config, agent = await decided_run(ran)
    fork = await Runner.fork("r1", keep_approvals=True, run_config=config)
    assert (await Runner.resume(agent, fork, run_config=config)).final_output == "done"
    again = await Runner.fork(fork, at=5, keep_approvals=True, run_config=config)
    assert (await Runner.resume(agent, again, run_config=config)).final_output == "done"
    assert len(ran) == 2


@pytest.mark.parametrize("effect", EFFECTS)
async def test_a_fork_asks_again_for_a_call_that_its_origin_has_begun(effect: Effect) -> None:
    ran: list[Any] = []
    config, agent = await decided_run(ran, effect=effect)
    await Runner.resume(agent, "r1", run_config=config)
    log = (await Runner.load("r1", run_config=config)).to_json()["log"]
    at = 1 + next(at for at, event in enumerate(log) if event[0] == "intend")  # pyright: ignore
    fork = await Runner.fork("r1", at=at, run_config=config)
    result = await Runner.resume(agent, fork, run_config=config)
    assert result.interruptions and ran == ["x"]


@pytest.mark.parametrize("keep", [False, True])
async def test_approvals_for_always_end_with_the_run(keep: bool) -> None:
    ran: list[Any] = []
    config = RunConfig(store=MemoryRunStore())
    replies = [call("clear", folder="x"), call("clear", folder="y"), "done"]
    agent = agent_of(*replies, *replies[1:], tools=[clear(ran, "once")])
    state = (await Runner.run(agent, "x", run_config=RunConfig(store=config.store, run_id="r1"))).to_state()
    state.approve(state.interruptions[0], True)
    await Runner.decide(state, run_config=config)
    assert (await Runner.resume(agent, "r1", run_config=config)).final_output == "done"
    log = (await Runner.load("r1", run_config=config)).to_json()["log"]
    at = 1 + next(at for at, event in enumerate(log) if event[0] == "turn")  # pyright: ignore
    fork = await Runner.fork("r1", at=at, keep_approvals=keep, run_config=config)
    result = await Runner.resume(agent, fork, run_config=config)
    assert (bool(result.interruptions), ran) == (not keep, ["x", "y", *(["y"] if keep else [])])


async def test_what_is_rejected_for_always_stays_so_in_a_fork() -> None:
    ran: list[Any] = []
    config = RunConfig(store=MemoryRunStore())
    agent = agent_of(*[call("clear", folder="x")] * 2, "done", call("clear", folder="y"), "done", tools=[clear(ran, "once")])
    state = (await Runner.run(agent, "x", run_config=RunConfig(store=config.store, run_id="r1"))).to_state()
    state.reject(state.interruptions[0], True)
    await Runner.decide(state, run_config=config)
    assert (await Runner.resume(agent, "r1", run_config=config)).final_output == "done"
    log = (await Runner.load("r1", run_config=config)).to_json()["log"]
    at = 1 + next(at for at, event in enumerate(log) if event[0] == "turn")  # pyright: ignore
    fork = await Runner.fork("r1", at=at, run_config=config)
    assert (await Runner.resume(agent, fork, run_config=config)).final_output == "done"
    assert ran == []


async def test_a_live_rerun_does_not_act_on_an_approval_that_its_origin_may_act_on() -> None:
    ran: list[Any] = []
    config, agent = await decided_run(ran)
    held = await Runner.replay(agent, "r1", change=agent.clone(), live_effects=True, run_config=config)
    assert [item.call_id for item in held.state.interruptions] == ["call_1_1"] and ran == []
    assert (await Runner.resume(agent, "r1", run_config=config)).final_output == "done"
    assert ran == ["x"]
    json.dumps(held.state.to_json())
