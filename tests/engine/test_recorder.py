"""What of a stored run is durable when, who may write it, and what becomes of one who may not."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager
from typing import Any, cast, get_args

import pytest

from agentsdk import (
    Agent,
    MemoryRunStore,
    MemorySession,
    RunConfig,
    RunConflictError,
    RunHooks,
    Runner,
    RunState,
    RunStore,
    StoreError,
    UserError,
    function_tool,
)
from agentsdk.core.codec import decode_events
from agentsdk.define.run_config import Durability, DurabilityLevel
from agentsdk.errors import StoreBusyError, StoreUnavailableError
from agentsdk.testing import ScriptedModel, call
from agentsdk.testing.faulty_store import Fault, FaultyStore
from agentsdk.types.events import (
    RunEnded,
    RunEvent,
    RunStarted,
    ToolFinished,
)
from agentsdk.types.summary import RunSummary
from tests.engine.conftest import OpenStore
from tests.models.wire import FakeClock

pytestmark = pytest.mark.anyio

LEVELS: tuple[Durability, ...] = (*get_args(DurabilityLevel), 3600.0)


class Appends(MemoryRunStore):
    """Notes every append, also one without events, and says when there was one that `wanted` is waited for."""

    def __init__(self, wanted: Callable[[list[list[RunEvent]]], bool] = lambda appends: False) -> None:
        super().__init__()
        self.appends: list[list[RunEvent]] = []
        self.seen = asyncio.Event()
        self._wanted = wanted

    async def append(self, run_id: str, expected_rev: int, events: Sequence[bytes], summary: RunSummary) -> int:
        signals = await super().append(run_id, expected_rev, events, summary)
        self.appends.append(list(decode_events(events)))
        if self._wanted(self.appends):
            self.seen.set()
        return signals


def config_of(store: RunStore, clock: FakeClock | None = None, **options: Any) -> RunConfig:
    return RunConfig(store=store, run_id="r", clock=clock or FakeClock(), **options)


async def kinds(store: RunStore) -> list[str]:
    return [type(event).__name__ for event in decode_events(await store.read("r"))]


async def results(store: RunStore) -> list[str]:
    return [str(event.output) for event in decode_events(await store.read("r")) if isinstance(event, ToolFinished)]


# When what is durable.


@pytest.mark.parametrize("level", LEVELS)
async def test_what_is_durable_before_what(level: Durability) -> None:
    store = MemoryRunStore()
    seen: dict[str, list[str]] = {}

    class Watching(RunHooks[Any]):
        async def on_agent_start(self, context: Any, agent: Any) -> None:
            seen["start"] = await kinds(store)

    async def look(what: str) -> str:
        seen[what] = await kinds(store)
        return what

    async def ask(request: Any) -> Any:
        seen["request"] = await kinds(store)
        return "done"

    model = ScriptedModel([[call("look", what="one"), call("look", what="two")], ask])
    agent = Agent("main", model=model, tools=[function_tool(look)])
    await Runner.run(agent, "go", run_config=config_of(store, durability=level), hooks=Watching())
    assert seen["start"] == ["RunStarted"]
    intent = ["RunStarted"] if level == "exit" else ["RunStarted", "ModelReplied", "ToolsIntended"]
    assert seen["one"] == intent and seen["two"][: len(intent)] == intent
    both = ["RunStarted", "ModelReplied", "ToolsIntended", "ToolFinished", "ToolFinished"]
    if level == "batch":
        assert both[: len(seen["request"])] == seen["request"]
    else:
        assert seen["request"] == (both if level == "sync" else intent)
    assert await kinds(store) == [*both, "TurnEnded", "ModelReplied", "RunEnded"]


async def test_each_parallel_result_is_durable_on_its_own() -> None:
    store = Appends(lambda appends: any(isinstance(event, ToolFinished) for event in appends[-1]))

    async def fast() -> str:
        return "fast"

    async def slow() -> str:
        async with asyncio.timeout(10):
            await store.seen.wait()
        return str(await results(store))

    model = ScriptedModel([[call("slow"), call("fast")], "done"])
    agent = Agent("main", model=model, tools=[function_tool(slow), function_tool(fast)])
    await Runner.run(agent, "go", run_config=config_of(store))
    assert await results(store) == ["fast", "['fast']"]


@pytest.mark.parametrize("level", LEVELS)
async def test_a_call_without_effect_is_begun_as_the_level_says(level: Durability) -> None:
    store, seen = MemoryRunStore(), list[str]()

    async def look() -> str:
        seen.extend(await kinds(store))
        return "seen"

    agent = Agent("main", model=ScriptedModel([call("look"), "done"]), tools=[function_tool(look, effect="none")])
    await Runner.run(agent, "go", run_config=config_of(store, durability=level))
    assert seen == ["RunStarted", "ModelReplied", "ToolsIntended"][: 3 if level in ("sync", "batch") else 1]


async def test_no_event_waits_longer_than_the_level_in_seconds() -> None:
    """Neither the first nor those after an append: the model waits for the store, and nothing else writes meanwhile."""
    is_kept = {kind: asyncio.Event() for kind in ("ModelReplied", "ToolFinished")}

    class Noting(Appends):
        async def append(self, run_id: str, expected_rev: int, events: Sequence[bytes], summary: RunSummary) -> int:
            signals = await super().append(run_id, expected_rev, events, summary)
            for event in self.appends[-1]:
                if type(event).__name__ in is_kept:
                    is_kept[type(event).__name__].set()
            return signals

    async def look() -> str:
        async with asyncio.timeout(10):
            await is_kept["ModelReplied"].wait()
        return "seen"

    async def answer(request: Any) -> Any:
        async with asyncio.timeout(10):
            await is_kept["ToolFinished"].wait()
        return "done"

    store = Noting()
    agent = Agent("main", model=ScriptedModel([call("look"), answer]), tools=[function_tool(look, effect="none")])
    await Runner.run(agent, "go", run_config=config_of(store, durability=0.01))


@pytest.mark.parametrize(("level", "commits"), [("sync", 12), ("steps", 5), (3600.0, 5), ("exit", 2)])
async def test_how_often_a_run_waits_for_the_store(level: Durability, commits: int) -> None:
    """At `sync` three for each tool turn (reply, intent, result): what follows from the log goes with the next."""
    store = Appends()
    model = ScriptedModel([call("work", x=1), call("work", x=2), call("work", x=3), "done"])

    def work(x: int) -> int:
        return x

    agent = Agent("main", model=model, tools=[function_tool(work)])
    await Runner.run(agent, "go", run_config=config_of(store, durability=level))
    assert len(store.appends) == commits
    assert [type(event) for event in store.appends[0]] == [RunStarted]


async def test_results_that_come_at_once_share_a_commit() -> None:
    class Slow(Appends):
        async def append(self, *args: Any) -> int:
            for _ in range(5):
                await asyncio.sleep(0)
            return await super().append(*args)

    store = Slow()
    model = ScriptedModel([[call("work", x=n) for n in range(10)], "done"])

    async def work(x: int = 0) -> int:
        return x

    await Runner.run(Agent("main", model=model, tools=[function_tool(work)]), "go", run_config=config_of(store))
    assert len(await results(store)) == 10
    assert len([one for one in store.appends if any(isinstance(event, ToolFinished) for event in one)]) == 1


# Who may write.


class Blocked:
    """A run that has come to a tool which waits until it is let go."""

    def __init__(self, **tool: Any) -> None:
        self.reached = asyncio.Event()
        self.go_on = asyncio.Event()
        self.bodies = 0

        async def work(x: int = 0) -> str:
            self.bodies += 1
            me = self.bodies
            if me == 1:
                self.reached.set()
                await self.go_on.wait()
            return f"result {me}"

        self.tool = function_tool(work, effect="none", **tool)

    def agent(self) -> Agent[Any, Any]:
        def say(request: Any) -> Any:
            return "done" if request.request_id.endswith("-2") else call("work")

        return Agent("main", model=ScriptedModel([say, say]), tools=[self.tool])

    @asynccontextmanager
    async def running(self, config: RunConfig, **options: Any) -> AsyncIterator[asyncio.Task[Any]]:
        task = asyncio.create_task(Runner.run(self.agent(), "go", run_config=config, **options))
        await asyncio.wait({task, asyncio.create_task(self.reached.wait())}, return_when=asyncio.FIRST_COMPLETED)
        try:
            yield task
        finally:
            self.go_on.set()
            await asyncio.wait({task})


@pytest.mark.parametrize("how", ["lease", "word"])
async def test_a_run_is_taken_over_and_its_old_owner_is_fenced_out(open_store: OpenStore, how: str) -> None:
    clock, run = FakeClock(), Blocked()
    ours, theirs = MemorySession("ours"), MemorySession("theirs")
    mine, other = config_of(open_store(), clock), config_of(open_store(), clock)
    assert other.store is not None
    async with run.running(mine, session=ours) as old:
        with pytest.raises(RunConflictError, match=r"held by another process for 30\.0 s more"):
            await Runner.resume(run.agent(), "r", run_config=other, session=theirs)
        assert await theirs.get_items() == []
        if how == "lease":
            clock.now += 30
        result = await Runner.resume(run.agent(), "r", run_config=other, session=theirs, take_over=how == "word")
        assert result.final_output == "done"
        after = await other.store.read("r")
        run.go_on.set()
        with pytest.raises(RunConflictError, match="gone on elsewhere"):
            await old
    assert await results(other.store) == ["result 2"]
    assert await other.store.read("r") == after
    assert await ours.get_items() == []
    assert [type(item).__name__ for item in await theirs.get_items()] == [
        *("Message", "FunctionCall", "FunctionCallOutput", "Message")
    ]


async def test_one_fenced_out_at_its_very_end_leaves_the_session_alone() -> None:
    store, clock, session = MemoryRunStore(), FakeClock(), MemorySession("s")
    agent = Agent("main", model=ScriptedModel(["hello"]))

    class Late(RunHooks[Any]):
        async def on_agent_end(self, context: Any, agent: Any, output: Any) -> None:
            other = agent.clone(model=ScriptedModel([]))
            await Runner.resume(other, "r", run_config=config_of(store, clock), take_over=True)

    with pytest.raises(RunConflictError):
        await Runner.run(agent, "go", run_config=config_of(store, clock), hooks=Late(), session=session)
    assert await session.get_items() == []


async def test_of_many_who_resume_at_once_one_wins(open_store: OpenStore) -> None:
    run = Blocked()
    async with run.running(config_of(open_store())) as task:
        task.cancel()
    stores = [open_store() for _ in range(5)]
    agents = [run.agent() for _ in stores]
    ends = await asyncio.gather(
        *[Runner.resume(agent, "r", run_config=config_of(store)) for agent, store in zip(agents, stores, strict=True)],
        return_exceptions=True,
    )
    assert sorted(type(end).__name__ for end in ends) == ["RunConflictError"] * 4 + ["RunResult"]
    assert run.bodies == 2
    assert (await kinds(stores[0])).count("RunResumed") == 1


async def test_a_process_that_lives_keeps_its_lease() -> None:
    store = Appends(lambda appends: [one for one in appends[-2:] if one] == [] and len(appends) > 3)

    async def ask(request: Any) -> str:
        before = await store.summary("r")
        async with asyncio.timeout(10):
            await store.seen.wait()
        after = await store.summary("r")
        assert before is not None and after is not None
        assert after.held_until > before.held_until and after.status == "running" and after.rev == before.rev
        return "done"

    config = RunConfig(store=store, run_id="r", lease=0.06)
    await Runner.run(Agent("main", model=ScriptedModel([ask])), "go", run_config=config)


class Grudging(Appends):
    """Raises `error` where a lease is renewed, once."""

    def __init__(self, error: Exception) -> None:
        super().__init__(lambda appends: bool(appends) and not appends[-1])
        self.error: Exception | None = error
        self.refused = asyncio.Event()

    async def append(self, run_id: str, expected_rev: int, events: Sequence[bytes], summary: RunSummary) -> int:
        if not events and self.error is not None:
            error, self.error = self.error, None
            self.refused.set()
            raise error
        return await super().append(run_id, expected_rev, events, summary)


async def test_a_lease_that_could_not_be_renewed_is_tried_again(caplog: pytest.LogCaptureFixture) -> None:
    store = Grudging(StoreBusyError("locked"))

    async def ask(request: Any) -> str:
        async with asyncio.timeout(10):
            await store.seen.wait()
        return "done"

    with caplog.at_level(logging.WARNING, "agentsdk"):
        await Runner.run(
            Agent("main", model=ScriptedModel([ask])), "go", run_config=RunConfig(store=store, run_id="r", lease=0.06)
        )
    assert "the lease of run 'r' was not renewed: locked" in caplog.text


async def test_a_lost_lease_ends_the_run_at_its_next_event() -> None:
    store = Grudging(RunConflictError("taken"))

    async def ask(request: Any) -> str:
        async with asyncio.timeout(10):
            await store.refused.wait()
        return "done"

    with pytest.raises(RunConflictError, match="taken"):
        await Runner.run(
            Agent("main", model=ScriptedModel([ask])), "go", run_config=RunConfig(store=store, run_id="r", lease=0.06)
        )
    assert await kinds(store) == ["RunStarted"]


class Slow(MemoryRunStore):
    """Each append named in `delays`, by its number from 1 on, takes as many seconds of the clock."""

    def __init__(self, clock: FakeClock, delays: dict[int, float]) -> None:
        super().__init__()
        self.appends: list[tuple[int, float]] = []
        self._clock = clock
        self._delays = delays

    async def append(self, run_id: str, expected_rev: int, events: Sequence[bytes], summary: RunSummary) -> int:
        self.appends.append((len(events), summary.held_until))
        self._clock.now += self._delays.get(len(self.appends), 0.0)
        return await super().append(run_id, expected_rev, events, summary)


@pytest.mark.parametrize("delay", [0.0, 10.0, 16.0, 29.0, 31.0, 1_000.0])
async def test_no_body_begins_on_a_lease_that_a_slow_append_has_eaten(delay: float) -> None:
    clock, left = FakeClock(), list[float]()
    store = Slow(clock, {3: delay})  # the intent

    async def put() -> str:
        summary = await store.summary("r")
        assert summary is not None
        left.append(summary.held_until - clock.now)
        return "ok"

    agent = Agent("main", model=ScriptedModel([call("put"), "done"]), tools=[function_tool(put)])
    await Runner.run(agent, "go", run_config=config_of(store, clock))
    assert left == [30.0 if delay > 15 else 30.0 - delay]
    assert len(store.appends) == (7 if delay > 15 else 6), "an append that is not slow costs no other"


async def test_a_call_that_waited_its_turn_begins_only_while_the_run_is_held() -> None:
    clock = FakeClock()
    store = Slow(clock, {})
    began: list[float] = []

    async def put(x: int) -> str:
        summary = await store.summary("r")
        assert summary is not None
        began.append(summary.held_until - clock.now)
        clock.now += 29  # the heartbeat did not come
        return "ok"

    agent = Agent("main", model=ScriptedModel([[call("put", x=n) for n in range(3)], "done"]), tools=[function_tool(put)])
    await Runner.run(agent, "go", run_config=config_of(store, clock, max_tool_concurrency=1))
    assert began == [30.0, 30.0, 30.0]


async def test_a_body_does_not_begin_when_another_took_the_run_meanwhile() -> None:
    clock, bodies = FakeClock(), list[str]()
    other = ScriptedModel(["done"])

    class Eaten(Slow):
        async def append(self, run_id: str, expected_rev: int, events: Sequence[bytes], summary: RunSummary) -> int:
            is_intent = b'"intend"' in b"".join(events) and clock.now < 1_700_000_031
            signals = await super().append(run_id, expected_rev, events, summary)
            if is_intent:
                clock.now += 31
                await Runner.resume(agent_of("other", other), "r", run_config=config_of(self, clock))
            return signals

    def agent_of(who: str, model: ScriptedModel) -> Agent[Any, Any]:
        async def put() -> str:
            bodies.append(who)
            return "ok"

        return Agent("main", model=model, tools=[function_tool(put, effect="idempotent")])

    with pytest.raises(RunConflictError, match="gone on elsewhere"):
        await Runner.run(agent_of("first", ScriptedModel([call("put")])), "go", run_config=config_of(Eaten(clock, {}), clock))
    assert bodies == ["other"]


async def test_a_store_slower_than_the_lease_begins_no_body() -> None:
    clock, bodies = FakeClock(), list[int]()
    store = Slow(clock, dict.fromkeys(range(3, 7), 31.0))

    async def put() -> None:
        bodies.append(1)

    model = ScriptedModel([call("put"), "done"])
    agent, config = Agent("main", model=model, tools=[function_tool(put)]), config_of(store, clock)
    with pytest.raises(StoreBusyError, match="longer than the lease of 30 s to renew it") as caught:
        await Runner.run(agent, "go", run_config=config)
    assert bodies == [] and isinstance(caught.value.state, RunState)
    assert (await Runner.run(agent, caught.value.state, run_config=config)).final_output == "done"
    assert bodies == [1]


async def test_a_run_id_in_use_begins_no_other_run(open_store: OpenStore) -> None:
    config = config_of(open_store())
    await Runner.run(Agent("main", model=ScriptedModel(["hello"])), "go", run_config=config)
    model = ScriptedModel(["never"])
    with pytest.raises(RunConflictError, match="'r' is at revision 3, expected 0: it exists already") as caught:
        await Runner.run(Agent("main", model=model), "go", run_config=config)
    assert caught.value.state is None
    assert not model.requests


async def test_a_finished_run_gives_its_result_again_and_is_not_touched(open_store: OpenStore) -> None:
    store = open_store()
    agent = Agent("main", model=ScriptedModel(["hello"]))
    await Runner.run(agent, "go", run_config=config_of(store))
    before = await store.read("r"), await store.summary("r")
    for _ in range(2):
        assert (await Runner.resume(agent, "r", run_config=config_of(open_store()))).final_output == "hello"
    assert (await store.read("r"), await store.summary("r")) == before


async def test_a_state_that_the_store_has_gone_on_from_is_refused(open_store: OpenStore) -> None:
    config, session = config_of(open_store()), MemorySession("s")
    pay = function_tool(lambda: "paid", name_override="pay", needs_approval=True)
    agent = Agent("main", model=ScriptedModel([call("pay"), "done"]), tools=[pay])
    paused = (await Runner.run(agent, "go", run_config=config)).to_state()
    paused.approve(paused.interruptions[0])
    again = RunState.from_string(agent, paused.to_string())
    assert (await Runner.run(agent, paused, run_config=config)).final_output == "done"
    with pytest.raises(RunConflictError, match="has come to revision 10 of its store on another way than this state"):
        await Runner.run(agent, again, run_config=config, session=session)
    assert await session.get_items() == []


async def test_a_state_that_the_store_does_not_know_is_taken_in_whole(open_store: OpenStore) -> None:
    store = open_store()
    pay = function_tool(lambda: "paid", name_override="pay", needs_approval=True)
    agent = Agent("main", model=ScriptedModel([call("pay"), "done"]), tools=[pay])
    paused = (await Runner.run(agent, "go", run_config=RunConfig(run_id="r", clock=FakeClock()))).to_state()
    paused.approve(paused.interruptions[0])
    result = await Runner.run(agent, paused, run_config=config_of(store))
    assert result.final_output == "done"
    assert RunState(result.to_state().value).to_string() == (await Runner.load("r", run_config=config_of(store))).to_string()
    assert await kinds(store) == [
        *("RunStarted", "ModelReplied", "ApprovalJudged", "RunResumed", "ApprovalDecided", "ToolsIntended", "ToolFinished"),
        *("TurnEnded", "ModelReplied", "RunEnded"),
    ]


# What becomes of a run whose store fails.


class Away(MemoryRunStore):
    """Away while `down`; `tries` counts what was asked meanwhile. Sleep number `back_after` of `clock` brings it back."""

    def __init__(self, back_after: int = 10_000) -> None:
        super().__init__()
        self.clock = Waking(self)
        self.down = False
        self.tries = 0
        self.back_after = back_after

    def _answer(self) -> None:
        if self.down:
            self.tries += 1
            raise StoreUnavailableError("away")

    async def append(self, run_id: str, expected_rev: int, events: Sequence[bytes], summary: RunSummary) -> int:
        self._answer()
        return await super().append(run_id, expected_rev, events, summary)

    async def attach(self, run_id: str, name: str, data: bytes) -> None:
        self._answer()
        await super().attach(run_id, name, data)

    async def read(self, run_id: str, from_rev: int = 0) -> list[bytes]:
        self._answer()
        return await super().read(run_id, from_rev)

    async def summary(self, run_id: str) -> RunSummary | None:
        self._answer()
        return await super().summary(run_id)


class Waking(FakeClock):
    def __init__(self, store: Away) -> None:
        super().__init__()
        self._store = store

    async def sleep(self, seconds: float) -> None:
        await super().sleep(seconds)
        self._store.down = self._store.down and len(self.slept) < self._store.back_after
        await asyncio.sleep(0)


@pytest.mark.parametrize("level", LEVELS)
async def test_a_store_that_is_away_for_a_while_is_waited_for(level: Durability) -> None:
    store, bodies = Away(back_after=4), 0

    def pay() -> str:
        nonlocal bodies
        bodies += 1
        store.down = True
        return "receipt 77" + "!" * 100

    agent = Agent("main", model=ScriptedModel([call("pay"), "done"]), tools=[function_tool(pay)])
    config = config_of(store, store.clock, durability=level, max_tool_result_chars=50)
    assert (await Runner.run(agent, "go", run_config=config)).final_output == "done"
    assert bodies == 1 and len(await results(store)) == 1 and "receipt 77" in (await kept(store))[0]
    waits = store.clock.slept
    assert len(waits) == 4 and all(0 < one <= 1 for one in waits), waits
    assert all(
        low <= wait <= high for wait, low, high in zip(waits, (0.025, 0.05, 0.1, 0.2), (0.05, 0.1, 0.2, 0.4), strict=True)
    )


@pytest.mark.parametrize("level", LEVELS)
@pytest.mark.parametrize("chars", [50, 1_000], ids=["cut result", "whole result"])
@pytest.mark.parametrize("again", [0, 1, 2], ids=["", "away once more", "away twice more"])
async def test_what_a_lost_store_could_not_keep_is_in_the_state_and_written_when_that_goes_on(
    level: Durability, chars: int, again: int
) -> None:
    store = Away()
    bodies: list[str] = []

    def pay() -> str:
        bodies.append("pay")
        store.down = True
        return "receipt 77" + "!" * 100

    model = ScriptedModel([[call("pay"), call("look")], "done"])
    agent = Agent("main", model=model, tools=[function_tool(pay), function_tool(lambda: "looked", name_override="look")])
    config = config_of(store, store.clock, durability=level, max_tool_result_chars=chars)
    with pytest.raises(StoreUnavailableError) as caught:
        await Runner.run(agent, "go", run_config=config)
    state = caught.value.state
    for _ in range(again):
        assert isinstance(state, RunState)
        with pytest.raises(StoreUnavailableError) as caught:
            await Runner.run(agent, state, run_config=config)
        state = caught.value.state
    assert isinstance(state, RunState)
    assert state.to_string().count("receipt 77") and state.interruptions == []
    store.down = False
    result = await Runner.run(agent, state, run_config=config)  # at once: the lease is our own
    assert result.final_output == "done"
    assert bodies == ["pay"] and len(model.requests) == 2
    assert (await kinds(store)).count("ToolFinished") == 2
    if chars == 50:
        assert "receipt 77" + "!" * 100 in await kept(store)
    assert (await Runner.load("r", run_config=config)).to_string() == RunState(result.to_state().value).to_string()
    summary = await store.summary("r")
    assert summary is not None and summary.status == "finished" and summary.held_until <= store.clock.now


async def test_a_state_ahead_of_its_store_goes_on_in_another_process_once_the_lease_is_over() -> None:
    store = Away()

    def pay() -> str:
        store.down = True
        return "receipt 77"

    agent = Agent("main", model=ScriptedModel([call("pay"), "done"]), tools=[function_tool(pay)])
    config = config_of(store, store.clock)
    with pytest.raises(StoreUnavailableError) as caught:
        await Runner.run(agent, "go", run_config=config)
    assert isinstance(caught.value.state, RunState)
    saved = caught.value.state.to_string()
    store.down = False
    store.clock.now += 30
    assert (await Runner.run(agent, RunState.from_string(agent, saved), run_config=config)).final_output == "done"
    assert await results(store) == ["receipt 77"]
    with pytest.raises(RunConflictError, match="on another way"):
        await Runner.run(agent, RunState.from_string(agent, saved), run_config=config)


async def test_a_state_on_another_way_is_refused_though_it_ends_with_the_same_event() -> None:
    store = MemoryRunStore()

    @function_tool(needs_approval=True)
    def ask(x: str) -> str:
        return x

    def agent(first: str) -> Agent[Any, Any]:
        return Agent("main", model=ScriptedModel([[call("ask", x=first)], "done"]), tools=[ask])

    config = config_of(store)
    await Runner.run(agent("a"), "go", run_config=config)
    other = (await Runner.run(agent("b"), "go", run_config=config_of(MemoryRunStore()))).to_state()
    given = RunState.from_string(agent("b"), other.to_string())
    assert given.value.log[-1] == (await Runner.load("r", run_config=config)).value.log[-1]
    with pytest.raises(RunConflictError, match="on another way"):
        await Runner.run(agent("b"), given, run_config=config)


async def test_a_run_whose_very_first_append_failed_begins_when_its_state_goes_on() -> None:
    store = Away()
    store.down = True
    model = ScriptedModel(["hello"])
    agent, config = Agent("main", model=model), config_of(store, store.clock)
    with pytest.raises(StoreUnavailableError) as caught:
        await Runner.run(agent, "go", run_config=config)
    assert not model.requests and isinstance(caught.value.state, RunState)
    store.down = False
    assert (await Runner.run(agent, caught.value.state, run_config=config)).final_output == "hello"


async def test_a_final_output_that_was_not_kept_is_written_when_its_state_goes_on() -> None:
    store = Away()

    def answer(request: Any) -> str:
        store.down = True
        return "the answer"

    agent, config = Agent("main", model=ScriptedModel([answer])), config_of(store, store.clock, durability="batch")
    with pytest.raises(StoreUnavailableError) as caught:
        await Runner.run(agent, "go", run_config=config)
    assert isinstance(caught.value.state, RunState) and caught.value.state.is_finished
    store.down = False
    result = await Runner.run(agent, caught.value.state, run_config=config)
    assert result.final_output == "the answer" and "RunEnded" in await kinds(store)
    summary = await store.summary("r")
    assert summary is not None and summary.status == "finished" and summary.held_until <= store.clock.now


async def test_what_was_decided_is_not_lost_with_the_store() -> None:
    store = Away()
    pay = function_tool(lambda: "paid", name_override="pay", needs_approval=True)
    agent = Agent("main", model=ScriptedModel([call("pay"), "done"]), tools=[pay])
    config = config_of(store, store.clock)
    state = (await Runner.run(agent, "go", run_config=config)).to_state()
    state.approve(state.interruptions[0])
    store.down = True
    with pytest.raises(StoreUnavailableError) as caught:
        await Runner.run(agent, state, run_config=config)
    assert isinstance(caught.value.state, RunState) and caught.value.state.interruptions == []
    store.down = False
    assert (await Runner.run(agent, caught.value.state, run_config=config)).final_output == "done"


async def test_an_intent_that_was_not_kept_leaves_no_call_in_doubt() -> None:
    bodies = 0

    def pay() -> str:
        nonlocal bodies
        bodies += 1
        return "paid"

    class Late(Away):
        async def append(self, run_id: str, expected_rev: int, events: Sequence[bytes], summary: RunSummary) -> int:
            self.down = self.down or (b'"intend"' in b"".join(events) and not self.tries)
            return await super().append(run_id, expected_rev, events, summary)

    store = Late()
    agent = Agent("main", model=ScriptedModel([call("pay"), "done"]), tools=[function_tool(pay)])
    config = config_of(store, store.clock)
    with pytest.raises(StoreUnavailableError) as caught:
        await Runner.run(agent, "go", run_config=config)
    assert bodies == 0 and isinstance(caught.value.state, RunState)
    store.down = False
    assert (await Runner.run(agent, caught.value.state, run_config=config)).final_output == "done"
    assert bodies == 1


async def test_only_what_may_pass_is_tried_again() -> None:
    for fault, tries in (("full", 1), ("locked", 2), ("lost", 2), ("torn", 2)):
        store = MemoryRunStore()
        faulty, clock = FaultyStore(store, cast(Fault, fault), 4), FakeClock()
        work = function_tool(lambda: "receipt 77", name_override="work")
        agent = Agent("main", model=ScriptedModel([call("work"), "done"]), tools=[work])
        if fault == "full":
            with pytest.raises(StoreError, match="full") as caught:
                await Runner.run(agent, "go", run_config=config_of(faulty, clock))
            assert isinstance(caught.value.state, RunState) and "receipt 77" in caught.value.state.to_string()
            result = await Runner.run(agent, caught.value.state, run_config=config_of(faulty, clock))
        else:
            result = await Runner.run(agent, "go", run_config=config_of(faulty, clock))
        assert result.final_output == "done" and len(clock.slept) == tries - 1
        assert await results(store) == ["receipt 77"]


async def test_a_store_timeout_must_be_seconds() -> None:
    with pytest.raises(UserError, match="store_timeout"):
        RunConfig(store_timeout=-1)


async def test_what_fails_behind_the_run_fails_the_run() -> None:
    """At `batch` nobody may be waiting for the last append before the run ends."""

    class Late(RunHooks[Any]):
        async def on_agent_end(self, context: Any, agent: Any, output: Any) -> None:
            await store.refused.wait()

    class Full(MemoryRunStore):
        refused = asyncio.Event()

        async def append(self, run_id: str, expected_rev: int, events: Sequence[bytes], summary: RunSummary) -> int:
            if expected_rev:
                self.refused.set()
                raise StoreError("full")
            return await super().append(run_id, expected_rev, events, summary)

    store = Full()
    with pytest.raises(StoreError, match="full"):
        await Runner.run(
            Agent("main", model=ScriptedModel(["hello"])),
            "go",
            run_config=config_of(store, durability="batch"),
            hooks=Late(),
        )


@pytest.mark.parametrize("level", LEVELS)
@pytest.mark.parametrize("fault", ["lost", "torn"])
async def test_an_answer_that_is_lost_ends_no_run(fault: Fault, level: Durability) -> None:
    """Whether the append, or the attachment, was done is found out."""

    def work(x: int) -> str:
        return f"{x}" * 100

    for at in range(1, 30):
        model = ScriptedModel([[call("work", x=1), call("work", x=2)], "done"])
        agent = Agent("main", model=model, tools=[function_tool(work)])
        store = MemoryRunStore()
        faulty = FaultyStore(store, fault, at)
        config = config_of(faulty, durability=level, max_tool_result_chars=50)
        assert (await Runner.run(agent, "go", run_config=config)).final_output == "done"
        assert (await kinds(store)).count("ToolFinished") == 2 and (await kinds(store))[-1] == "RunEnded"
        assert all("1" * 100 in one or "2" * 100 in one for one in await kept(store))
        if faulty.operations < at:
            break
    assert at > 4


async def test_an_append_that_was_lost_to_another_process_is_none_of_ones_own() -> None:
    clock = FakeClock()
    agent = Agent("main", model=ScriptedModel(["done"]))

    class Lost(MemoryRunStore):
        lost = False

        async def append(self, run_id: str, expected_rev: int, events: Sequence[bytes], summary: RunSummary) -> int:
            if RunEnded in map(type, decode_events(events)) and not self.lost:
                self.lost = True
                await Runner.resume(agent, "r", run_config=config_of(self, clock), take_over=True)
                raise StoreUnavailableError("lost")
            return await super().append(run_id, expected_rev, events, summary)

    store = Lost()
    with pytest.raises(RunConflictError, match="gone on elsewhere"):
        await Runner.run(agent, "go", run_config=config_of(store, clock))
    assert await kinds(store) == ["RunStarted", "ModelReplied", "RunResumed", "RunEnded"]


async def kept(store: RunStore) -> list[str]:
    """The attached texts that the results in the store name."""
    names = [text.partition("result_id='")[2].partition("'")[0] for text in await results(store)]
    return [(await store.attachment("r", name) or b"").decode() for name in names]


async def test_an_append_under_way_is_waited_for_when_the_run_fails_otherwise() -> None:
    class Half(MemoryRunStore):
        async def append(self, *args: Any) -> int:
            for _ in range(100):
                await asyncio.sleep(0)
            return await super().append(*args)

        async def attach(self, run_id: str, name: str, data: bytes) -> None:
            raise StoreError("no room for attachments")

    async def work(x: int) -> str:
        return "1" * x

    store = Half()
    agent = Agent("main", model=ScriptedModel([[call("work", x=1), call("work", x=99)]]), tools=[function_tool(work)])
    tasks = asyncio.all_tasks()
    with pytest.raises(StoreError, match="no room for attachments"):
        await Runner.run(agent, "go", run_config=config_of(store, durability="batch", max_tool_result_chars=50))
    assert asyncio.all_tasks() == tasks
    assert await results(store) == ["1"]


@pytest.mark.parametrize("early", range(8))
async def test_what_is_about_to_be_written_when_the_run_fails_is_not_half_written(early: int) -> None:
    """An attachment fails while one result is written and the next comes: its append may have been scheduled, not begun."""

    class Full(MemoryRunStore):
        async def append(self, run_id: str, expected_rev: int, events: Sequence[bytes], summary: RunSummary) -> int:
            await asyncio.sleep(0)
            signals = await super().append(run_id, expected_rev, events, summary)
            await asyncio.sleep(0)
            return signals

        async def attach(self, run_id: str, name: str, data: bytes) -> None:
            raise StoreError("full")

    async def put(steps: int, text: str) -> str:
        for _ in range(steps):
            await asyncio.sleep(0)
        return text

    for late in range(12):
        store = Full()
        model = ScriptedModel(
            [[call("put", steps=1, text="too long"), *[call("put", steps=n, text="x") for n in (early, late)]]]
        )
        agent = Agent("main", model=model, tools=[function_tool(put, effect="none")])
        with pytest.raises(StoreError, match="full"):
            await Runner.run(agent, "go", run_config=config_of(store, max_tool_result_chars=4))
        summary = await store.summary("r")
        assert summary is not None and summary.rev == len(await store.read("r")), f"{early} and {late} steps"


@pytest.mark.parametrize("level", LEVELS)
async def test_a_store_of_ones_own_that_raises_what_it_likes_is_typed(level: Durability) -> None:
    class Broken(MemoryRunStore):
        async def append(self, run_id: str, expected_rev: int, events: Sequence[bytes], summary: RunSummary) -> int:
            if expected_rev:
                raise OSError("secret-canary")
            return await super().append(run_id, expected_rev, events, summary)

    with pytest.raises(StoreError, match="the store of run 'r' raised OSError") as caught:
        await Runner.run(Agent("main", model=ScriptedModel(["hello"])), "go", run_config=config_of(Broken(), durability=level))
    assert isinstance(caught.value.__cause__, OSError)
    assert "canary" not in str(caught.value)


@pytest.mark.parametrize("level", LEVELS)
@pytest.mark.parametrize("at", [1, 2, 3])
async def test_a_cancelled_run_does_not_wait_for_a_store_that_is_silent(level: Durability, at: int) -> None:
    class Silent(MemoryRunStore):
        appends = 0

        async def append(self, run_id: str, expected_rev: int, events: Sequence[bytes], summary: RunSummary) -> int:
            Silent.appends += 1
            if Silent.appends >= at:
                reached.set()
                await asyncio.Event().wait()
            return await super().append(run_id, expected_rev, events, summary)

    reached, asked = asyncio.Event(), asyncio.Event()

    async def ask(request: Any) -> str:
        asked.set()
        await asyncio.Event().wait()
        return "never"

    model = ScriptedModel([call("work"), ask])
    agent = Agent("main", model=model, tools=[function_tool(lambda: 1, name_override="work")])
    tasks = asyncio.all_tasks()
    task = asyncio.create_task(Runner.run(agent, "go", run_config=config_of(Silent(), durability=level, cancel_grace=0.01)))
    waits = [asyncio.create_task(event.wait()) for event in (reached, asked)]
    await asyncio.wait(waits, return_when=asyncio.FIRST_COMPLETED)
    for one in waits:
        one.cancel()
    await asyncio.wait(waits)
    task.cancel()
    async with asyncio.timeout(10):
        with pytest.raises(asyncio.CancelledError) as caught:
            await task
    assert asyncio.all_tasks() == tasks
    said = [note for note in getattr(caught.value, "__notes__", ()) if "did not answer in time" in note]
    assert bool(said) == reached.is_set()


async def test_what_stopped_a_run_is_in_its_summary() -> None:
    store, clock = MemoryRunStore(), FakeClock()

    async def stopped(config: RunConfig, model: ScriptedModel, **tool: Any) -> tuple[str, str, int]:
        agent = Agent("main", model=model, tools=[function_tool(lambda: 1, name_override="work", **tool)])
        try:
            await Runner.run(agent, "go", run_config=config, max_turns=1)
        except (Exception, asyncio.CancelledError):
            pass
        summary = await store.summary("r")
        assert summary is not None and summary.held_until <= clock.now
        await store.delete("r")
        return summary.status, summary.reason, summary.waiting

    config = config_of(store, clock)
    assert await stopped(config, ScriptedModel(["hello"])) == ("finished", "", 0)
    assert await stopped(config, ScriptedModel([call("work")])) == ("failed", "MaxTurnsExceeded", 0)
    assert await stopped(config, ScriptedModel([ValueError("no")])) == ("failed", "ModelError", 0)
    assert await stopped(config, ScriptedModel([asyncio.CancelledError()])) == ("ready", "CancelledError", 0)
    assert await stopped(config, ScriptedModel([call("work")]), needs_approval=True) == ("waiting", "", 1)
