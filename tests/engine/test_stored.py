"""A run in its store: who finds it there, decides on it, goes on with it, and what is refused."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Coroutine, Sequence
from typing import Any

import pytest

from agentsdk import (
    Agent,
    FunctionTool,
    MemoryRunStore,
    MemorySession,
    Message,
    RunConfig,
    RunConflictError,
    Runner,
    RunNotFoundError,
    RunQuery,
    RunStore,
    Session,
    StopAtTools,
    StoreError,
    ToolApprovalItem,
    ToolInDoubtItem,
    UserError,
    function_tool,
)
from agentsdk.core.codec import VERSION, decode_events, encode_event
from agentsdk.core.state import UNKNOWN_OUTCOME
from agentsdk.engine.stored import fingerprint_of
from agentsdk.errors import StateCorruptError, StateMismatchError, StateVersionError
from agentsdk.testing import ScriptedModel, call
from agentsdk.testing.faulty_store import Fault, FaultyStore
from agentsdk.types.events import ApprovalDecided, RunStarted, ToolFinished
from agentsdk.types.items import Item
from agentsdk.types.summary import RunSummary
from tests.engine.conftest import OpenStore
from tests.models.wire import FakeClock

pytestmark = pytest.mark.anyio


def config_of(store: RunStore, clock: FakeClock | None = None, **options: Any) -> RunConfig:
    return RunConfig(**{"store": store, "run_id": "r", "clock": clock or FakeClock(), **options})


def paid(**options: Any) -> FunctionTool[Any]:
    """A tool that pays, and needs an approval for it."""

    async def pay(x: int = 0) -> str:
        return f"paid {x}"

    return function_tool(pay, **{"needs_approval": True, **options})


def agent_with(*replies: Any, tools: Sequence[FunctionTool[Any]] | None = None, **fields: Any) -> Agent[Any, Any]:
    return Agent("main", model=ScriptedModel(replies), tools=list(tools) if tools is not None else [paid()], **fields)


async def log_of(store: RunStore, run_id: str = "r") -> list[Any]:
    return list(decode_events(await store.read(run_id)))


async def results(store: RunStore) -> list[str]:
    return [str(event.output) for event in await log_of(store) if isinstance(event, ToolFinished)]


# Approvals, decided elsewhere.


async def test_another_process_finds_decides_and_a_third_goes_on(open_store: OpenStore) -> None:
    await Runner.run(agent_with([call("pay", x=1), call("pay", x=2)]), "go", run_config=config_of(open_store()))

    web = config_of(open_store(), run_id=None)
    assert web.store is not None
    [found] = await web.store.list(RunQuery(status="waiting"))
    assert (found.run_id, found.waiting, found.agent) == ("r", 2, "main")
    state = await Runner.load(found.run_id, run_config=web)
    first, second = state.interruptions
    assert [item.arguments for item in (first, second)] == ['{"x":1}', '{"x":2}']
    state.approve(first, by="ada", reason="fine")
    state.reject(second, by="ada", reason="too much")
    after = await Runner.decide(state, run_config=web)
    assert after.interruptions == [] and after.pieces()[1] == ()
    assert await web.store.list(RunQuery(status="waiting")) == []

    third = config_of(open_store(), run_id=None)
    assert third.store is not None
    result = await Runner.resume(agent_with("done"), "r", run_config=third)
    assert result.final_output == "done"
    assert sorted(await results(third.store)) == ["The call was not approved, so it was not run. Reason: too much", "paid 1"]
    decided = [event for event in await log_of(third.store) if isinstance(event, ApprovalDecided)]
    assert [(one.by, one.reason, one.approved) for one in decided] == [("ada", "fine", True), ("ada", "too much", False)]


async def test_an_approval_of_all_calls_of_a_tool_lasts(open_store: OpenStore) -> None:
    config = config_of(open_store())
    await Runner.run(agent_with(call("pay", x=1)), "go", run_config=config)
    state = await Runner.load("r", run_config=config)
    state.approve(state.interruptions[0], always_approve=True)
    await Runner.decide(state, run_config=config)
    result = await Runner.resume(agent_with(call("pay", x=2), "done"), "r", run_config=config_of(open_store()))
    assert result.final_output == "done"
    assert config.store is not None
    assert await results(config.store) == ["paid 1", "paid 2"]


@pytest.mark.parametrize("always", [False, True])
async def test_an_approval_that_has_expired_is_asked_for_again(always: bool) -> None:
    store, clock = MemoryRunStore(), FakeClock()
    config = config_of(store, clock)
    await Runner.run(agent_with(call("pay", x=1)), "go", run_config=config)
    state = await Runner.load("r", run_config=config)
    state.approve(state.interruptions[0], always, expires_at=clock.now + 60)
    await Runner.decide(state, run_config=config)
    clock.now += 60
    again = await Runner.resume(agent_with(), "r", run_config=config)
    assert [type(item) for item in again.interruptions] == [ToolApprovalItem]
    state = await Runner.load("r", run_config=config)
    state.approve(state.interruptions[0], expires_at=clock.now + 60)
    await Runner.decide(state, run_config=config)
    clock.now += 59
    assert (await Runner.resume(agent_with("done"), "r", run_config=config)).final_output == "done"
    assert await results(store) == ["paid 1"]


async def test_an_approval_of_all_calls_lasts_until_it_expires() -> None:
    store, clock = MemoryRunStore(), FakeClock()
    config = config_of(store, clock)
    await Runner.run(agent_with(call("pay", x=1)), "go", run_config=config)
    state = await Runner.load("r", run_config=config)
    state.approve(state.interruptions[0], always_approve=True, expires_at=clock.now + 60)
    await Runner.decide(state, run_config=config)

    def later(request: Any) -> Any:
        clock.now += 60
        return call("pay", x=3)

    result = await Runner.resume(agent_with(call("pay", x=2), later), "r", run_config=config)
    assert [item.arguments for item in result.interruptions] == ['{"x":3}']
    assert await results(store) == ["paid 1", "paid 2"]


async def test_of_two_who_decide_different_calls_at_once_both_are_heard(open_store: OpenStore) -> None:
    await Runner.run(agent_with([call("pay", x=n) for n in range(4)]), "go", run_config=config_of(open_store()))
    configs = [config_of(open_store()) for _ in range(4)]
    states = [await Runner.load("r", run_config=config) for config in configs]
    for number, state in enumerate(states):
        state.approve(state.interruptions[number], by=f"person {number}")
    await asyncio.gather(*[Runner.decide(state, run_config=one) for state, one in zip(states, configs, strict=True)])
    assert (await Runner.resume(agent_with("done"), "r", run_config=configs[0])).final_output == "done"
    assert configs[0].store is not None
    assert sorted(await results(configs[0].store)) == [f"paid {n}" for n in range(4)]


async def test_of_two_who_decide_one_call_at_once_one_is_heard(open_store: OpenStore) -> None:
    await Runner.run(agent_with(call("pay", x=1)), "go", run_config=config_of(open_store()))
    configs = [config_of(open_store()) for _ in range(2)]
    approved, rejected = [await Runner.load("r", run_config=config) for config in configs]
    approved.approve(approved.interruptions[0])
    rejected.reject(rejected.interruptions[0])
    ends = await asyncio.gather(
        Runner.decide(approved, run_config=configs[0]), Runner.decide(rejected, run_config=configs[1]), return_exceptions=True
    )
    assert sorted(type(end).__name__ for end in ends) == ["RunConflictError", "RunState"]
    [lost] = [end for end in ends if isinstance(end, RunConflictError)]
    assert "no longer waits for what was decided here" in str(lost)
    assert configs[0].store is not None
    assert len([one for one in await log_of(configs[0].store) if isinstance(one, ApprovalDecided)]) == 1


async def test_a_run_at_work_is_not_decided_on(open_store: OpenStore) -> None:
    paused = (await Runner.run(agent_with(call("pay", x=1)), "go", run_config=config_of(open_store()))).to_state()
    paused.approve(paused.interruptions[0])
    conflicts: list[str] = []

    async def ask(request: Any) -> str:
        with pytest.raises(RunConflictError) as caught:
            await Runner.decide(paused, run_config=config_of(open_store()))
        conflicts.append(str(caught.value))
        return "done"

    state = await Runner.load("r", run_config=config_of(open_store()))
    state.reject(state.interruptions[0])
    await Runner.run(agent_with(ask), state, run_config=config_of(open_store()))
    assert ["no longer waits" in one for one in conflicts] == [True]


async def test_a_run_that_waits_and_works_is_not_decided_on() -> None:
    """One call waits for a person while its sibling still runs: the run is held until it pauses."""
    store, clock = MemoryRunStore(), FakeClock()
    config = config_of(store, clock)

    async def look() -> str:
        state = await Runner.load("r", run_config=config)
        state.approve(state.interruptions[0])
        with pytest.raises(RunConflictError, match="held by another process"):
            await Runner.decide(state, run_config=config)
        return "looked"

    agent = agent_with([call("pay", x=1), call("look")], tools=[paid(), function_tool(look)])
    assert (await Runner.run(agent, "go", run_config=config)).interruptions
    assert await results(store) == ["looked"]


async def test_a_nested_approval_is_decided_in_the_store(open_store: OpenStore) -> None:
    def agent(*replies: Any, helper: Sequence[Any] = ()) -> Agent[Any, Any]:
        return agent_with(*replies, tools=[Agent("helper", model=ScriptedModel(helper), tools=[paid()]).as_tool()])

    config = config_of(open_store())
    await Runner.run(agent(call("helper", input="pay"), helper=[call("pay", x=7)]), "go", run_config=config)
    state = await Runner.load("r", run_config=config)
    [item] = state.interruptions
    assert (item.tool_name, item.agent, item.path) == ("pay", "helper", ("call_1_1",))
    state.approve(item)
    await Runner.decide(state, run_config=config)
    result = await Runner.resume(agent("done", helper=["paid it"]), "r", run_config=config_of(open_store()))
    assert result.final_output == "done"


async def test_without_decisions_nothing_is_written() -> None:
    store = MemoryRunStore()
    await Runner.run(agent_with(call("pay", x=1)), "go", run_config=config_of(store))
    before = await store.read("r"), await store.summary("r")
    await Runner.decide(await Runner.load("r", run_config=config_of(store)), run_config=config_of(store))
    assert (await store.read("r"), await store.summary("r")) == before


async def test_the_input_of_a_run_that_has_gone_on_is_not_replaced(open_store: OpenStore) -> None:
    config = config_of(open_store())
    await Runner.run(agent_with(call("pay", x=1)), "go", run_config=config)
    late, state = [await Runner.load("r", run_config=config) for _ in range(2)]
    state.replace_input("go on")
    await Runner.decide(state, run_config=config)
    result = await Runner.resume(agent_with("gone on"), "r", run_config=config)
    assert result.final_output == "gone on"
    late.replace_input("go elsewhere")
    with pytest.raises(RunConflictError, match="no longer waits"):
        await Runner.decide(late, run_config=config)
    assert (await Runner.resume(agent_with(), "r", run_config=config)).final_output == "gone on"


@pytest.mark.parametrize("fault", ["locked", "full", "lost", "torn"])
async def test_a_decision_lands_or_does_not_whatever_fails(fault: Fault) -> None:
    for at in range(1, 10):
        store = MemoryRunStore()
        faulty = FaultyStore(store, fault, at)
        await Runner.run(agent_with(call("pay", x=1)), "go", run_config=config_of(store))
        state = await Runner.load("r", run_config=config_of(store))
        before = len(await log_of(store))
        state.approve(state.interruptions[0])
        try:
            await Runner.decide(state, run_config=config_of(faulty))
        except StoreError:
            landed = len(await log_of(store)) - before
            assert landed in ((0, 1) if fault == "torn" else (0,))
            if not landed:
                await Runner.decide(state, run_config=config_of(store))
        assert (await Runner.resume(agent_with("done"), "r", run_config=config_of(store))).final_output == "done"
        if faulty.operations < at:
            break
    assert at > 2


# Calls in doubt.


@pytest.mark.parametrize(("how", "result"), [("settle", "it was paid"), ("retry", "paid 1"), ("fail", "it failed")])
async def test_a_call_in_doubt_is_settled_in_the_store(open_store: OpenStore, how: str, result: str) -> None:
    reached = asyncio.Event()

    async def lost(x: int) -> str:
        reached.set()
        await asyncio.Event().wait()
        return "never"

    config = config_of(open_store())
    assert config.store is not None
    hanging = function_tool(lost, name_override="pay")
    run = asyncio.create_task(Runner.run(agent_with(call("pay", x=1), tools=[hanging]), "go", run_config=config))
    await reached.wait()
    run.cancel()
    await asyncio.wait({run})
    tools = [paid(needs_approval=False)]
    unsettled = await Runner.resume(agent_with(tools=tools), "r", run_config=config)
    assert [type(item) for item in unsettled.interruptions] == [ToolInDoubtItem]
    [found] = await config.store.list(RunQuery(status="waiting"))
    state = await Runner.load(found.run_id, run_config=config)
    [item] = state.interruptions
    if how == "settle":
        state.provide_result(item, result="it was paid")
    elif how == "retry":
        state.retry(item)
    else:
        state.mark_failed(item, "it failed")
    twice = await Runner.load(found.run_id, run_config=config)
    twice.mark_failed(twice.interruptions[0], "late")
    await Runner.decide(state, run_config=config)
    with pytest.raises(RunConflictError, match="no longer waits"):
        await Runner.decide(twice, run_config=config)
    assert (await Runner.resume(agent_with("done", tools=tools), "r", run_config=config)).final_output == "done"
    assert await results(config.store) == [result]


# Agents that changed meanwhile.


def _other_body() -> FunctionTool[Any]:
    async def pay(x: int = 0) -> str:
        return f"paid twice {x}"

    return function_tool(pay, needs_approval=True)


def _other_schema() -> FunctionTool[Any]:
    async def pay(x: int = 0, currency: str = "EUR") -> str:
        return f"paid {x}"

    return function_tool(pay, needs_approval=True)


CHANGED = {"body": _other_body, "schema": _other_schema, "effect": lambda: paid(effect="none")}


@pytest.mark.parametrize("always", [False, True], ids=["once", "always"])
@pytest.mark.parametrize("change", CHANGED)
async def test_a_changed_tool_is_asked_for_again(change: str, always: bool) -> None:
    store = MemoryRunStore()
    config = config_of(store)
    await Runner.run(agent_with(call("pay", x=1)), "go", run_config=config)
    state = await Runner.load("r", run_config=config)
    state.approve(state.interruptions[0], always_approve=always)
    await Runner.decide(state, run_config=config)
    changed = [CHANGED[change]()]
    for _ in range(2):
        again = await Runner.resume(agent_with(tools=changed), "r", run_config=config)
        assert [type(item) for item in again.interruptions] == [ToolApprovalItem]
    assert await results(store) == []
    state = await Runner.load("r", run_config=config)
    state.approve(state.interruptions[0])
    await Runner.decide(state, run_config=config)
    resumed = await Runner.resume(agent_with(call("pay", x=2), tools=changed), "r", run_config=config)
    assert [item.arguments for item in resumed.interruptions] == ['{"x":2}']
    assert len(await results(store)) == 1


async def test_a_decision_is_void_once_another_tool_was_asked_for() -> None:
    """Also where the tool is the old one again: the person has seen another since."""
    store = MemoryRunStore()
    config = config_of(store)
    await Runner.run(agent_with(call("pay", x=1)), "go", run_config=config)
    state = await Runner.load("r", run_config=config)
    state.approve(state.interruptions[0])
    await Runner.decide(state, run_config=config)
    for tool in (_other_body(), paid()):
        assert (await Runner.resume(agent_with(tools=[tool]), "r", run_config=config)).interruptions
    assert await results(store) == []


async def test_an_unchanged_tool_is_not_asked_for_again() -> None:
    config = config_of(MemoryRunStore())
    await Runner.run(agent_with(call("pay", x=1)), "go", run_config=config)
    state = await Runner.load("r", run_config=config)
    state.approve(state.interruptions[0])
    await Runner.decide(state, run_config=config)
    other = agent_with("done", tools=[paid(), paid(name_override="refund")], instructions="Now say more.")
    assert (await Runner.resume(other, "r", run_config=config)).final_output == "done"


@pytest.mark.parametrize("events", [2, 3, 4], ids=["replied", "asked", "decided"])
async def test_a_missing_tool_is_named_every_time(events: int) -> None:
    config = config_of(MemoryRunStore())
    await Runner.run(agent_with(call("pay", x=1)), "go", run_config=config)
    state = await Runner.load("r", run_config=config)
    state.approve(state.interruptions[0])
    await Runner.decide(state, run_config=config)
    left = await Runner.fork("r", at=events, new_run_id="left", keep_approvals=True, run_config=config)
    without = agent_with("never", tools=[])
    for _ in range(2):
        with pytest.raises(StateMismatchError, match="is to tool 'pay', which agent 'main' no longer has"):
            await Runner.resume(without, left, run_config=config)
    resumed = await Runner.resume(agent_with("done"), left, run_config=config)
    assert bool(resumed.interruptions) == (events < 4)


async def test_a_tool_that_never_was_is_no_missing_one() -> None:
    config = config_of(MemoryRunStore())
    await Runner.run(agent_with([call("pay", x=1), call("nope")]), "go", run_config=config)
    left = await Runner.fork("r", at=2, new_run_id="left", run_config=config)
    resumed = await Runner.resume(agent_with(), left, run_config=config)
    assert [item.tool_name for item in resumed.interruptions] == ["pay"]


async def test_a_run_is_gone_on_with_by_the_agent_that_began_it() -> None:
    config = config_of(MemoryRunStore())
    await Runner.run(agent_with(call("pay", x=1)), "go", run_config=config)
    with pytest.raises(StateMismatchError, match="begun by agent 'main', expected to go on with that one and got 'other'"):
        await Runner.resume(Agent("other", model=ScriptedModel([])), "r", run_config=config)


# Sessions.


async def said(session: Session) -> list[str]:
    items = await session.get_items()
    return [item.text if isinstance(item, Message) else str(getattr(item, "output", "call")) for item in items]


class AppendOnly(Session):
    """Cannot take back what it was given."""

    def __init__(self, session_id: str) -> None:
        self.session_id = session_id
        self._kept = MemorySession(session_id)

    async def get_items(self, limit: int | None = None) -> list[Item]:
        return await self._kept.get_items(limit)

    async def add_items(self, items: Sequence[Any]) -> None:
        await self._kept.add_items(items)


def worker(how: str = "") -> Agent[Any, Any]:
    """An agent that works twice. It is `cancelled` in the midst of that, or `paused` before the second time."""

    async def work(x: int) -> str:
        if how == "cancelled":
            for task in asyncio.all_tasks():
                if task.get_name() == "the run":
                    task.cancel()
            await asyncio.Event().wait()
        return f"worked {x}"

    def say(request: Any) -> Any:
        done = sum(type(item).__name__ == "FunctionCallOutput" for item in request.items)
        return call("work", x=done + 1) if done < 2 else "done"

    def rule(ctx: Any, arguments: dict[str, Any], call_id: str) -> bool:
        return arguments["x"] == 2

    tool = function_tool(work, effect="none", needs_approval=rule if how == "paused" else False)
    return agent_with(say, say, say, tools=[tool])


@pytest.mark.parametrize("first", ["run", "resume"])
@pytest.mark.parametrize("how", ["finished", "cancelled", "paused"])
@pytest.mark.parametrize("kind", [MemorySession, AppendOnly])
@pytest.mark.parametrize("fault", ["full", "lost", "torn"])
async def test_no_item_lands_in_a_session_twice(fault: Fault, kind: type[Any], how: str, first: str) -> None:
    """Whatever the store says between the session's write and the record of it, in a run or in its resume."""
    ends = [["go", "call", "worked 1", "call", "worked 2", "done"]]
    if how == "cancelled" and kind is AppendOnly:
        ends.append(["go", "call", UNKNOWN_OUTCOME, "call", "worked 2", "done"])
    for at in range(1, 40):
        store, session = MemoryRunStore(), kind("s")
        faulty = FaultyStore(store, fault, at)
        await session.add_items([Message("user", "before"), Message("assistant", "before that")])
        config, on_faults = config_of(store), config_of(faulty)
        beginning = Runner.run(worker(how), "go", run_config=on_faults if first == "run" else config, session=session)
        await left(beginning)
        if await store.summary("r") is None:
            assert await said(session) == ["before", "before that"]
            continue
        agent = worker("paused" if how == "paused" else "")
        if first == "resume":
            await left(Runner.resume(agent, "r", run_config=on_faults, session=session, take_over=True))
        for _ in range(3):
            result = await Runner.resume(agent, "r", run_config=config, session=session, take_over=True)
            state = result.to_state()
            for item in state.interruptions:
                state.approve(item)
            await Runner.decide(state, run_config=config)
        assert result.final_output == "done"
        before, after = (await said(session))[:2], (await said(session))[2:]
        assert before == ["before", "before that"] and after in ends, f"{fault} at {at}: {after}"
        if faulty.operations < at:
            break
    assert at > 5


async def left(run: Coroutine[Any, Any, Any]) -> None:
    """Let a run come to what end it will, but for errors that are not the store's."""
    task = asyncio.create_task(run, name="the run")
    await asyncio.wait({task})
    assert task.cancelled() or task.exception() is None or isinstance(task.exception(), StoreError)


async def test_who_loses_a_resume_leaves_the_session_alone() -> None:
    class Watched(MemorySession):
        async def add_items(self, items: Sequence[Any]) -> None:
            raise AssertionError("the loser wrote to the session")

    store, clock = MemoryRunStore(), FakeClock()

    async def ask(request: Any) -> str:
        with pytest.raises(RunConflictError):
            await Runner.resume(agent_with(), "r", run_config=config_of(store, clock), session=Watched("s"))
        return "done"

    await Runner.run(agent_with(ask), "go", run_config=config_of(store, clock))


# What is refused.


@pytest.mark.parametrize("run_id", ["", "x" * 201, "a\0b", "\ud800", 7], ids=["empty", "long", "nul", "surrogate", "number"])
async def test_a_run_id_that_no_store_could_keep_is_refused(run_id: Any) -> None:
    config = RunConfig(store=MemoryRunStore())
    with pytest.raises(UserError, match="run_id is"):
        RunConfig(run_id=run_id)
    for refused in (
        Runner.resume(agent_with(), run_id, run_config=config),
        Runner.load(run_id, run_config=config),
        Runner.fork(run_id, run_config=config),
    ):
        with pytest.raises(UserError, match="run_id is"):
            await refused


@pytest.mark.parametrize("run_id", ["../../x", "x" * 200, "'; DROP TABLE agentsdk_runs; --", "%_*?[a]", "ü 漢\n\t"])
async def test_any_other_run_id_is_one(open_store: OpenStore, run_id: str) -> None:
    config = config_of(open_store(), run_id=run_id)
    await Runner.run(agent_with("hello"), "go", run_config=config)
    assert (await Runner.resume(agent_with(), run_id, run_config=config_of(open_store()))).final_output == "hello"


async def test_a_run_that_is_not_there_is_said_to_be_unknown(open_store: OpenStore) -> None:
    config = config_of(open_store())
    for missing in (
        Runner.resume(agent_with(), "gone", run_config=config),
        Runner.resume(agent_with(), "gone", run_config=config, take_over=True),
        Runner.load("gone", run_config=config),
        Runner.fork("gone", run_config=config),
    ):
        with pytest.raises(RunNotFoundError, match="no run 'gone'"):
            await missing
    stream = Runner.resume_streamed(agent_with(), "gone", run_config=config)
    with pytest.raises(RunNotFoundError):
        await stream


async def test_without_a_store_there_is_no_run_to_find() -> None:
    with pytest.raises(UserError, match=r"pass run_config=RunConfig\(store=...\)"):
        await Runner.resume(agent_with(), "r", run_config=RunConfig())
    with pytest.raises(UserError, match="no store given"):
        await Runner.load("r", run_config=RunConfig())


@pytest.mark.parametrize(
    "option", [{"durability": "never"}, {"lease": 0.0}, {"lease": -1.0}, {"lease": float("nan")}], ids=repr
)
def test_settings_without_sense_are_refused(option: dict[str, Any]) -> None:
    with pytest.raises(UserError, match=next(iter(option))):
        RunConfig(**option)


CANARY = "canary-4711"


@pytest.mark.parametrize(
    ("record", "error"),
    [
        (f"{CANARY} is no JSON".encode(), StateCorruptError),
        (b"\xff\xfe", StateCorruptError),
        (b"", StateCorruptError),
        (json.dumps([VERSION, ["no such event", CANARY]]).encode(), StateCorruptError),
        (json.dumps([VERSION, ["started", CANARY]]).encode(), StateCorruptError),
        (json.dumps([VERSION, ["turn", []], CANARY]).encode(), StateCorruptError),
        (encode_event(RunStarted(CANARY, CANARY, (), 0, 1.0)), StateCorruptError),
        (json.dumps([0, ["turn", []]]).encode(), StateCorruptError),
        (json.dumps([VERSION + 1, ["new event", CANARY]]).encode(), StateVersionError),
        (b"[" * 100_000, StateCorruptError),
    ],
    ids=["text", "bytes", "empty", "unknown", "short", "long", "misplaced", "version 0", "newer", "deep"],
)
async def test_what_no_run_recorded_is_refused_without_a_word_of_it(open_store: OpenStore, record: bytes, error: Any) -> None:
    store = open_store()
    await Runner.run(agent_with(call("pay", x=1)), "go", run_config=config_of(store))
    standing = await store.summary("r")
    assert standing is not None
    summary = RunSummary(run_id="r", rev=standing.rev + 1, status="failed", agent="main", started_at=1.0, updated_at=9e9)
    await store.append("r", standing.rev, [record], summary)
    before = await store.read("r")
    for refused in (
        Runner.load("r", run_config=config_of(store)),
        Runner.resume(agent_with(), "r", run_config=config_of(store)),
        Runner.fork("r", run_config=config_of(store)),
    ):
        with pytest.raises(error) as caught:
            await refused
        assert type(caught.value) is error
        assert CANARY not in str(caught.value)
    assert await store.read("r") == before


# Forks, and earlier moments.


async def test_a_fork_goes_on_from_an_earlier_moment_and_leaves_the_run_alone(open_store: OpenStore) -> None:
    config = config_of(open_store())
    assert config.store is not None
    tools = [paid(needs_approval=False)]
    await Runner.run(agent_with(call("pay", x=1), call("pay", x=2), "done", tools=tools), "go", run_config=config)
    before = await config.store.read("r")
    forked = await Runner.fork("r", at=5, run_config=config)
    state = await Runner.load("r", run_config=config, at=5)
    assert (await Runner.load(forked, run_config=config)).items() == state.items()
    result = await Runner.resume(agent_with("enough", tools=tools), forked, run_config=config)
    assert result.final_output == "enough"
    assert await config.store.read("r") == before
    summary = await config.store.summary(forked)
    assert summary is not None and summary.forked_from == "r" and summary.run_id == forked
    with pytest.raises(RunConflictError, match="exists already"):
        await Runner.fork("r", new_run_id=forked, run_config=config)
    for at in (0, -1, 99):
        with pytest.raises(UserError, match=f"run 'r' has no revision {at}"):
            await Runner.load("r", run_config=config, at=at)
        with pytest.raises(UserError, match=f"run 'r' has no revision {at}"):
            await Runner.fork("r", at=at, run_config=config)


# Results too long for the model.


async def test_the_whole_of_a_long_result_is_kept_with_the_run(open_store: OpenStore) -> None:
    store = open_store()

    async def read(x: int) -> str:
        return f"{x}" * 500

    helper = Agent("helper", model=ScriptedModel(["h" * 500]))
    model = ScriptedModel([[call("read", x=1), call("read", x=2), call("helper", input="go")], "done"])
    agent = Agent("main", model=model, tools=[function_tool(read), helper.as_tool()])
    await Runner.run(agent, "go", run_config=config_of(store, max_tool_result_chars=100))
    for event in await log_of(store):
        if isinstance(event, ToolFinished):
            text = str(event.output)
            assert len(text) < 300
            marker = text.partition("result_id='")[2].partition("'")[0]
            assert await store.attachment("r", marker) == text[:1].encode() * 500


def test_the_fingerprint_of_an_agent_of_version_0_2_is_what_it_was() -> None:
    """Fields that a spec has had since count where they are used."""

    @function_tool
    def add(a: int) -> int:
        return a

    plain = Agent("A", "x", [add], tool_use_behavior=StopAtTools(["add"]))
    assert fingerprint_of(plain) == "3977263cae11d12c"
    assert fingerprint_of(plain.clone(tools=[add.clone(kind="custom")])) != "3977263cae11d12c"
