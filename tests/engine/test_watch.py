"""`Runner.watch`: a stored run seen from outside, from any revision on; and its deltas in its own process."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import aclosing
from typing import Any

import pytest

from agentsdk import (
    Agent,
    FunctionTool,
    MemoryRunStore,
    OutputTextDelta,
    RawResponsesStreamEvent,
    RunConfig,
    RunHooks,
    Runner,
    RunNotFoundError,
    RunStore,
    ToolContext,
    ToolProgressStreamEvent,
    UserError,
    function_tool,
)
from agentsdk.engine.watchers import BUFFER, watched
from agentsdk.errors import ModelError
from agentsdk.events import RecordedEvent, RunEnded, RunEvent, ToolFinished, ToolsIntended
from agentsdk.testing import ScriptedModel, call
from tests.engine.conftest import OpenStore

pytestmark = pytest.mark.anyio


@function_tool(needs_approval=True)
def pay(x: int) -> str:
    """Pay."""
    return f"paid {x}"


def clerk(*replies: Any, tools: list[FunctionTool[Any]] | None = None) -> Agent[None, str]:
    return Agent("clerk", model=ScriptedModel(list(replies)), tools=[pay] if tools is None else tools)


async def log_of(store: RunStore, after: int = 0) -> list[RecordedEvent]:
    events = [event async for event in Runner.watch("r", run_config=RunConfig(store=store), after=after)]
    assert all(isinstance(event, RecordedEvent) for event in events), "a run that is over has no deltas"
    return [event for event in events if isinstance(event, RecordedEvent)]


async def recorded(store: RunStore) -> list[RunEvent]:
    state = await Runner.load("r", run_config=RunConfig(store=store))
    return list(state.value.log)


async def test_a_watcher_sees_each_event_once_from_any_revision_on(open_store: OpenStore) -> None:
    tools = [pay, clerk("nested").as_tool("ask", "Ask.")]
    await Runner.run(
        clerk(call("ask", input="x"), "done", tools=tools), "go", run_config=RunConfig(store=open_store(), run_id="r")
    )
    log = await recorded(open_store())
    for after in range(len(log) + 1):
        seen = await log_of(open_store(), after)
        assert [event.revision for event in seen] == list(range(after + 1, len(log) + 1))
    whole = await log_of(open_store())
    assert {event.path for event in whole} == {(), ("call_1_1",)}, "an event of a nested run has its path"
    assert whole[-1].event == log[-1]


async def test_a_watcher_waits_for_what_is_to_come(open_store: OpenStore) -> None:
    agent, config = clerk(call("pay", x=1), "done"), RunConfig(store=open_store(), run_id="r")
    await Runner.run(agent, "go", run_config=config)
    seen: list[RecordedEvent] = []
    caught_up = asyncio.Event()

    async def watch() -> None:
        before = len(await recorded(open_store()))
        async for event in Runner.watch("r", run_config=RunConfig(store=open_store())):
            if isinstance(event, RecordedEvent):
                seen.append(event)
                if event.revision == before:
                    caught_up.set()

    watching = asyncio.create_task(watch())
    await caught_up.wait()
    assert not watching.done(), "a run that waits for a person goes on some day"
    state = await Runner.load("r", run_config=config)
    state.approve(state.interruptions[0])
    await Runner.decide(state, run_config=config)
    await Runner.resume(agent, "r", run_config=config)
    await watching
    assert [event.event for event in seen] == await recorded(open_store())
    assert isinstance(seen[-1].event, RunEnded)


async def test_the_watchers_of_a_process_see_its_deltas_where_they_belong() -> None:
    store = MemoryRunStore()
    begun, goes_on = asyncio.Event(), asyncio.Event()

    @function_tool
    async def look(ctx: ToolContext[Any]) -> str:
        """Look."""
        begun.set()
        await goes_on.wait()
        ctx.emit("half of it")
        return "found"

    agent = clerk(call("look"), "three short words", tools=[look])
    running = asyncio.create_task(Runner.run(agent, "go", run_config=RunConfig(store=store, run_id="r")))
    await begun.wait()

    async def watch(store: RunStore) -> list[object]:
        seen: list[object] = []
        async for event in Runner.watch("r", run_config=RunConfig(store=store)):
            if isinstance(event, RecordedEvent):
                seen.append(type(event.event))
                if isinstance(event.event, ToolsIntended):
                    goes_on.set()
            elif isinstance(event, RawResponsesStreamEvent) and isinstance(event.data, OutputTextDelta):
                seen.append(event.data.delta)
            elif isinstance(event, ToolProgressStreamEvent):
                seen.append(event.data)
        return seen

    first, second = await asyncio.gather(watch(store), watch(store))
    assert first == second
    of_tool = first[first.index(ToolsIntended) : first.index(ToolFinished) + 1]
    assert of_tool == [ToolsIntended, "half of it", ToolFinished]
    assert [one for one in first if isinstance(one, str)] == ["half of it", "three", " short", " words"]
    assert first.index(" words") > first.index(ToolFinished)
    await running
    assert watched == {}


async def test_deltas_that_guardrails_may_stop_are_not_shown() -> None:
    store = MemoryRunStore()
    config = RunConfig(store=store, run_id="r", buffer_output=True)
    running = asyncio.create_task(Runner.run(clerk("done"), "go", run_config=config))
    await store.wait("r", 0, 60)
    async for event in Runner.watch("r", run_config=RunConfig(store=store)):
        assert isinstance(event, RecordedEvent)
    await running


async def test_a_watcher_that_stops_reading_holds_up_nobody_and_misses_deltas_only() -> None:
    store, told = MemoryRunStore(), asyncio.Event()

    @function_tool
    async def tell(ctx: ToolContext[Any]) -> str:
        """Tell."""
        await told.wait()
        for number in range(10 * BUFFER):
            ctx.emit(number)
        return "told"

    agent = clerk(call("tell"), "done", tools=[tell])
    running = asyncio.create_task(Runner.run(agent, "go", run_config=RunConfig(store=store, run_id="r")))
    await store.wait("r", 0, 60)
    async with aclosing(Runner.watch("r", run_config=RunConfig(store=store))) as watching:
        first = await anext(watching)
        told.set()
        assert (await running).final_output == "done"
        seen = [first, *[event async for event in watching]]
    log = [event.event for event in seen if isinstance(event, RecordedEvent)]
    assert log == await recorded(store)
    assert 0 < len(seen) - len(log) <= BUFFER


async def test_a_watcher_that_leaves_leaves_nothing_behind(open_store: OpenStore) -> None:
    await Runner.run(clerk(call("pay", x=1)), "go", run_config=RunConfig(store=open_store(), run_id="r"))
    before = asyncio.all_tasks()

    async def watch(events: AsyncIterator[object], caught_up: asyncio.Event) -> None:
        async for _ in events:
            caught_up.set()

    for _ in range(5):
        caught_up = asyncio.Event()
        watching = asyncio.create_task(watch(Runner.watch("r", run_config=RunConfig(store=open_store())), caught_up))
        await caught_up.wait()
        await asyncio.sleep(0)
        watching.cancel()
        await asyncio.wait([watching])
    assert watched == {}
    assert {task.get_name() for task in asyncio.all_tasks() - before if "watch" in task.get_name()} == set()


async def test_a_run_that_fails_ends_the_watch(open_store: OpenStore) -> None:
    with pytest.raises(ModelError):
        await Runner.run(clerk(ValueError("no")), "go", run_config=RunConfig(store=open_store(), run_id="r"))
    assert [event.event for event in await log_of(open_store())] == await recorded(open_store())


async def test_the_watch_ends_with_a_run_that_is_let_go_of_without_another_event(
    open_store: OpenStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("agentsdk.engine.watch._WAIT", 3600.0)
    has_ended = asyncio.Event()

    class Slow(RunHooks[None]):
        async def on_agent_end(self, context: Any, agent: Any, output: Any) -> None:
            await has_ended.wait()

    agent, config = clerk("done"), RunConfig(store=open_store(), durability="batch")
    await Runner.submit(agent, "go", run_id="r", run_config=config)
    running = asyncio.create_task(Runner.drive(agent, "r", run_config=config, hooks=Slow()))
    async with asyncio.timeout(60):
        async for event in Runner.watch("r", run_config=RunConfig(store=open_store())):
            if isinstance(event, RecordedEvent) and isinstance(event.event, RunEnded):
                has_ended.set()
    assert (await running).final_output == "done"


async def test_what_cannot_be_watched_is_said(open_store: OpenStore) -> None:
    with pytest.raises(RunNotFoundError, match="no run 'r'"):
        await log_of(open_store())
    wrong: Any = -1
    with pytest.raises(UserError, match="after=-1"):
        Runner.watch("r", run_config=RunConfig(store=open_store()), after=wrong)
    with pytest.raises(UserError, match="no store given"):
        Runner.watch("r", run_config=RunConfig())
