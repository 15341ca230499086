"""Durable runs: a store changes nothing that a run comes to, and neither does the moment at which it is left."""

from __future__ import annotations

import asyncio
import dataclasses
import signal
import sys
import time
from collections import Counter
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, get_args

import pytest
from msgspec import structs

from agentsdk import (
    MemoryRunStore,
    ModelPrice,
    RunConfig,
    RunConflictError,
    RunHooks,
    RunItemStreamEvent,
    Runner,
    RunQuery,
    RunState,
    RunStore,
    SQLiteRunStore,
    StoreError,
    StreamEvent,
    Worker,
)
from agentsdk.core.codec import decode_events, encode_event
from agentsdk.core.state import State, fold
from agentsdk.core.summary import summarize
from agentsdk.define.run_config import Durability, DurabilityLevel
from agentsdk.engine import concurrency, recorder
from agentsdk.errors import StoreBusyError, StoreUnavailableError
from agentsdk.testing.faulty_store import Fault, FaultyStore
from agentsdk.types.events import (
    HandedOff,
    ModelReplied,
    RunEnded,
    RunEvent,
    RunResumed,
    RunStarted,
    Stopped,
    ToolAttemptFailed,
    ToolCheckpointed,
    ToolFinished,
    ViewReplaced,
)
from agentsdk.types.summary import RunSummary
from tests.engine import killed_run
from tests.engine.test_resume import agents_of, calls_of, check_resumed, shown
from tests.models.wire import FakeClock
from tests.scenarios import (
    RUN_ID,
    SCENARIOS,
    Played,
    Scenario,
    World,
    config_of,
    decided,
    finished_calls,
    play,
    play_stored,
    start_stored,
    tools_of_agent,
    unwrapped,
)
from tests.steps import Outcome, at_every_step
from tests.whole import WHOLE

pytestmark = pytest.mark.anyio

LEVELS: tuple[Durability, ...] = (*get_args(DurabilityLevel), 3600.0)
BY_NAME = {scenario.name: scenario for scenario in SCENARIOS}


class NotingStore(MemoryRunStore):
    """Notes the events of each append that brought some."""

    def __init__(self) -> None:
        super().__init__()
        self.appends: list[tuple[RunEvent, ...]] = []

    async def append(self, run_id: str, expected_rev: int, events: Sequence[bytes], summary: RunSummary) -> int:
        signals = await super().append(run_id, expected_rev, events, summary)
        if events:
            self.appends.append(decode_events(events))
        return signals


class SlowStore(MemoryRunStore):
    """Takes a few steps for everything, and does its work whole in the midst of them."""

    async def append(self, run_id: str, expected_rev: int, events: Sequence[bytes], summary: RunSummary) -> int:
        await asyncio.sleep(0)
        signals = await super().append(run_id, expected_rev, events, summary)
        await asyncio.sleep(0)
        return signals

    async def read(self, run_id: str, from_rev: int = 0) -> list[bytes]:
        await asyncio.sleep(0)
        return await super().read(run_id, from_rev)

    async def summary(self, run_id: str) -> RunSummary | None:
        await asyncio.sleep(0)
        return await super().summary(run_id)


async def log_of(store: RunStore) -> list[RunEvent]:
    return list(decode_events(await store.read(RUN_ID)))


async def left_at(log: Sequence[RunEvent], store: RunStore) -> None:
    """Put `log` into `store` as a process that died there has left it, its lease long past."""
    summary = summarize(fold(log), now=1.0, owner="dead", held_until=2.0)
    await store.append(RUN_ID, 0, [encode_event(event) for event in log], structs.replace(summary, held_until=1.0))


def known_by(state: State) -> dict[str, Any]:
    """A state without what only its own process or store says."""
    return {name: getattr(state, name) for name in state.__struct_fields__ if name not in ("log", "stopped")}


def told(log: Sequence[RunEvent]) -> tuple[dict[str, list[RunEvent]], Counter[str]]:
    """The events of each run of a log in order, and apart from it what comes of concurrent calls in any order."""
    ordered: dict[str, list[RunEvent]] = {}
    results: Counter[str] = Counter()
    for path, event in unwrapped(log):
        if isinstance(event, ToolFinished | ToolAttemptFailed | ToolCheckpointed):
            results[f"{path}: {event!r}"] += 1
        elif isinstance(event, RunStarted):
            ordered.setdefault(path, []).append(structs.replace(event, fingerprint=""))
        elif isinstance(event, ModelReplied):  # a dump of one and the same program differs from one time to the next
            ordered.setdefault(path, []).append(structs.replace(event, snapshot="a dump" if event.snapshot else ""))
        elif not isinstance(event, RunResumed | Stopped):
            ordered.setdefault(path, []).append(event)
    return ordered, results


def without_time(scenario: Scenario) -> Scenario:
    """The scenario in a world where time stands still."""
    return replace(scenario, config=dataclasses.replace(scenario.config, clock=FakeClock()))


@pytest.mark.parametrize("streamed", [False, True], ids=["run", "stream"])
@pytest.mark.parametrize("level", LEVELS)
async def test_a_store_changes_nothing_that_a_run_comes_to(level: Durability, streamed: bool) -> None:
    for scenario in map(without_time, SCENARIOS):
        plain_world, world, store = World(), World(), MemoryRunStore()
        plain = await play(scenario, plain_world, None, {}, streamed)
        stored = await play_stored(scenario, world, config_of(scenario, store=store, durability=level), {}, streamed)
        assert shown(stored) == shown(plain), scenario
        assert world == plain_world, scenario
        log = await log_of(store)
        assert fold(log) == stored.state.value, scenario
        assert known_by(fold(log)) == known_by(plain.state.value), scenario
        assert told(log) == told(plain.state.value.log), scenario
        summary = await store.summary(RUN_ID)
        assert summary is not None
        assert summary.status == ("finished" if stored.error is None else "failed"), scenario
        assert summary.reason == ("" if stored.error is None else type(stored.error).__name__), scenario
        assert summary.held_until <= FakeClock().now and summary.rev == len(log), scenario


async def test_a_stream_of_a_stored_run_shows_the_same_events() -> None:
    async def seen(scenario: Scenario, config: RunConfig) -> Counter[str]:
        stream = Runner.run_streamed(scenario.build(World()), "go", run_config=config)
        return Counter([event_text(event) async for event in stream])

    def event_text(event: StreamEvent) -> str:
        what = event.item.raw_item if isinstance(event, RunItemStreamEvent) else getattr(event, "data", "")
        return f"{event.type}: {what!r}"

    for scenario in SCENARIOS:
        if scenario.recover is None and not isinstance(scenario.ends, type):
            plain = await seen(scenario, config_of(scenario))
            assert plain == await seen(scenario, config_of(scenario, store=MemoryRunStore())), scenario
            assert plain, scenario


def prefixes(appends: Sequence[Sequence[RunEvent]]) -> list[int]:
    """Every prefix's length, but none within an append that holds a handoff or a compaction."""
    lengths: list[int] = []
    start = 0
    for events in appends:
        whole = any(isinstance(event, HandedOff | ViewReplaced) for _, event in unwrapped(events))
        lengths += [start + len(events)] if whole else range(start + 1, start + len(events) + 1)
        start += len(events)
    return lengths


@pytest.mark.parametrize("streamed", [False, True], ids=["run", "stream"])
async def test_a_run_resumed_after_any_stored_event_ends_as_the_one_that_was_never_left(streamed: bool) -> None:
    for scenario in SCENARIOS:
        uncut_world, store = World(), NotingStore()
        uncut = await play_stored(scenario, uncut_world, config_of(scenario, store=store), {}, streamed)
        log = await log_of(store)
        # Each is resumed in one of the two ways, by turns; the whole does it in both.
        for length in prefixes(store.appends) if WHOLE else prefixes(store.appends)[streamed::2]:
            world, left = World(), MemoryRunStore()
            await left_at(log[:length], left)
            config = config_of(scenario, store=left)
            resumed = await play_stored(scenario, world, config, finished_calls(log), streamed)
            check_resumed(scenario, log, length, resumed, world, shown(uncut), uncut_world)
            assert fold(await log_of(left)) == resumed.state.value


FAULTS: tuple[Fault, ...] = get_args(Fault)
FAULTY = [
    BY_NAME["tool turns"],
    BY_NAME["parallel tools of every effect"],
    BY_NAME["agent as tool, twice at once"],
    BY_NAME["approved and rejected"],
    BY_NAME["nested nested approval and nested handoff"],
    BY_NAME["turn limit, resumed with a higher one"],
    replace(BY_NAME["parallel tools of every effect"], name="long results", config=RunConfig(max_tool_result_chars=4)),
]
RAISED: dict[Fault, type[StoreError]] = {
    "locked": StoreBusyError,
    "full": StoreError,
    "lost": StoreUnavailableError,
    "torn": StoreUnavailableError,
}


@dataclass
class Uncut:
    """A run that was never left: what every other way through its scenario is held against."""

    scenario: Scenario
    world: World
    played: Played

    @classmethod
    async def of(cls, scenario: Scenario) -> Uncut:
        scenario, world = without_time(scenario), World()
        return cls(scenario, world, await play(scenario, world, None, {}, False))

    @property
    def known(self) -> dict[str, ToolFinished]:
        return finished_calls(self.played.state.value.log)

    @property
    def once(self) -> set[str]:
        """The calls whose effect must not be repeated, by their idempotency keys."""
        tools = {tool.name for agent in agents_of(self.scenario) for tool in tools_of_agent(agent) if tool.effect == "once"}
        return {f"{path}/{item.call_id}" for path, item in calls_of(list(self.played.state.value.log)) if item.name in tools}

    async def check_left(
        self, world: World, store: RunStore, where: str, streamed: bool = False, take_over: bool = False
    ) -> None:
        """Go on elsewhere with what was left in `store` by the process whose outside was `world`."""
        left = await log_of(store) if await store.summary(RUN_ID) is not None else []
        again, config = World(), config_of(self.scenario, store=store)
        played = await play_stored(self.scenario, again, config, self.known, streamed, take_over)
        if left:
            check_resumed(self.scenario, left, len(left), played, again, shown(self.played), self.world)
        else:
            self.check_end(played, again, where)
        assert not self.once & world.done.keys() & again.done.keys(), f"{where}: repeated"

    def check_end(self, played: Played, world: World, where: str) -> None:
        assert shown(played) == shown(self.played) and world == self.world, where


@pytest.mark.parametrize("level", ["sync", "batch"])
@pytest.mark.parametrize("fault", FAULTS)
async def test_any_one_operation_of_the_store_may_fail(fault: Fault, level: Durability) -> None:
    for scenario in FAULTY:
        uncut = await Uncut.of(scenario)
        for at in range(1, 100):
            if not await check_fault(uncut, SlowStore(), fault, at, level):
                break
        assert at > 6, scenario


@pytest.mark.parametrize("fault", FAULTS)
async def test_any_one_operation_on_a_file_may_fail(fault: Fault, tmp_path: Path) -> None:
    uncut = await Uncut.of(BY_NAME["parallel tools of every effect"])
    store = SQLiteRunStore(tmp_path / "runs.db", synchronous="NORMAL")
    for at in range(1, 100):
        if not await check_fault(uncut, store, fault, at, "sync"):
            break
        await store.delete(RUN_ID)
    assert at > 6
    await store.aclose()


async def check_fault(uncut: Uncut, store: RunStore, fault: Fault, at: int, level: Durability) -> bool:
    """Let one operation fail, and where that ends the run go on in another process. Whether there is such an operation."""
    where = f"{uncut.scenario}: operation {at}, {fault}, at level {level}"
    faulty = FaultyStore(store, fault, at)
    world, tasks = World(), asyncio.all_tasks()
    config = config_of(uncut.scenario, store=faulty, durability=level)
    try:
        played = await play_stored(uncut.scenario, world, config, uncut.known, False)
    except StoreError as error:
        # Where only letting go of the run failed, it is held until its lease has passed.
        assert type(error) in (RAISED[fault], RunConflictError), where
        assert asyncio.all_tasks() == tasks, where
        await uncut.check_left(world, store, where, take_over=True)
        return True
    assert asyncio.all_tasks() == tasks, where
    uncut.check_end(played, world, where)
    return faulty.operations >= at


class SilentStore(MemoryRunStore):
    """Does not answer append number `at`; what it is asked for there it does first, where it is `late`."""

    def __init__(self, at: int, late: bool) -> None:
        super().__init__()
        self.reached = asyncio.Event()
        self._left = at
        self._late = late

    async def append(self, run_id: str, expected_rev: int, events: Sequence[bytes], summary: RunSummary) -> int:
        self._left -= 1
        if self._left == 0 and not self._late:
            await self._silence()
        signals = await super().append(run_id, expected_rev, events, summary)
        if self._left == 0:
            await self._silence()
        return signals

    async def _silence(self) -> None:
        self.reached.set()
        await asyncio.Event().wait()


async def left_running(before: set[asyncio.Task[Any]]) -> set[asyncio.Task[Any]]:
    """Tasks that are not of `before` and do not end. The run gave them a millisecond, which a busy machine may not have."""
    if new := asyncio.all_tasks() - before:
        await asyncio.wait(new, timeout=60)
    return asyncio.all_tasks() - before


@pytest.mark.parametrize("late", [False, True], ids=["before", "after"])
@pytest.mark.parametrize("level", LEVELS)
async def test_a_process_that_dies_at_an_append_costs_nothing(
    level: Durability, late: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The store stops answering for good, and the run is given up: what stands in the store is what a crash there leaves."""
    for waiting in (recorder, concurrency):  # in vain, each of hundreds of times
        monkeypatch.setattr(waiting, "LAST_MOMENT", 0.001)
    for scenario in FAULTY:
        if scenario.recover is not None:
            continue
        uncut = await Uncut.of(scenario)
        for at in range(1, 100):
            where = f"{scenario}: append {at}, at level {level}"
            world, store, tasks = World(), SilentStore(at, late), asyncio.all_tasks()
            config = config_of(uncut.scenario, store=store, durability=level, cancel_grace=0.01)
            run = asyncio.create_task(play_stored(uncut.scenario, world, config, uncut.known, False))
            silence = asyncio.create_task(store.reached.wait())
            await asyncio.wait({run, silence}, return_when=asyncio.FIRST_COMPLETED)
            if not silence.done():
                silence.cancel()
                uncut.check_end(await run, world, where)
                break
            run.cancel()
            await asyncio.wait({run})
            assert run.cancelled() and await left_running(tasks) == set(), where
            if level == "exit":
                world = World()  # what was done since the start may be done again
            await uncut.check_left(world, store, where, take_over=True)
        assert at > (6 if level in ("sync", "batch") else 2), scenario


@pytest.mark.parametrize("streamed", [False, True], ids=["run", "stream"])
@pytest.mark.parametrize("name", ["parallel tools of every effect", "agent as tool, twice at once", "approved and rejected"])
async def test_a_run_cancelled_at_any_step_is_stored_whole_let_go_of_and_goes_on(name: str, streamed: bool) -> None:
    uncut = await Uncut.of(BY_NAME[name])
    worlds: list[World] = []
    stores: list[SlowStore] = []

    async def work() -> None:
        worlds.append(World())
        stores.append(SlowStore())
        agent = uncut.scenario.build(worlds[-1])
        await start_stored(uncut.scenario, agent, config_of(uncut.scenario, store=stores[-1]), streamed, False)

    async def check(outcome: Outcome[None]) -> None:
        where = f"cancelled at step {outcome.at}"
        assert isinstance(outcome.error, asyncio.CancelledError), f"{where}: {outcome.error!r}"
        assert outcome.left_running == [], where
        summary = await stores[-1].summary(RUN_ID)
        if summary is not None:
            assert summary.held_until <= FakeClock().now, where
            ends = [("ready", "CancelledError"), ("waiting", ""), ("finished", "")]
            assert (summary.status, summary.reason) in ends, where
        await uncut.check_left(worlds[-1], stores[-1], where, streamed=streamed)

    assert await at_every_step(work, check) > 30


@pytest.mark.parametrize("level", ["sync", "steps", 3600.0])
async def test_a_run_whose_process_was_killed_goes_on_elsewhere(level: Durability, tmp_path: Path) -> None:
    # Only at `sync` have the results been appended when the model is asked again.
    unknown = ("intent saved", "effect done") if level == "sync" else ("intent saved", "effect done", "result saved")

    async def check(point: str) -> None:
        runs, effects = tmp_path / f"{point}.db", tmp_path / f"{point}.txt"
        command = [sys.executable, "-m", "tests.engine.killed_run", str(runs), str(effects), point, str(level)]
        assert await (await asyncio.create_subprocess_exec(*command)).wait() == -signal.SIGKILL, point
        agent, store = killed_run.Life(effects).agent(), SQLiteRunStore(runs)
        config = RunConfig(store=store, run_id=RUN_ID)
        with pytest.raises(RunConflictError, match="held by another process"):
            await Runner.resume(agent, RUN_ID, run_config=config)
        config = dataclasses.replace(config, clock=FakeClock(time.time() + config.lease))
        [abandoned] = await store.list(RunQuery(abandoned_at=time.time() + config.lease))
        result = await Runner.resume(agent, abandoned.run_id, run_config=config)
        in_doubt = [item.tool_name for item in result.interruptions]
        assert in_doubt == (["pay"] if point in unknown else []), point
        if in_doubt:
            state = result.to_state()
            state.provide_result(state.interruptions[0], result="looked up")
            await Runner.decide(state, run_config=config)
            result = await Runner.resume(agent, RUN_ID, run_config=config)
        assert result.final_output == "done", point
        keys = Counter(effects.read_text().split())
        assert keys["r/call_1_1"] == (0 if point == "intent saved" else 1), point
        # The idempotent one runs again where its result is not known, under the key that it had.
        assert keys["r/call_1_2"] == (2 if level != "sync" and point == "result saved" else 1) and len(keys) <= 2, point
        await store.aclose()

    await asyncio.gather(*[check(point) for point in killed_run.AT])


class Outage(FaultyStore):
    """Away from operation `at` on until it is `back`; with `torn` the first of them is done, its answer lost."""

    back = False

    async def _operate(self, operation: Callable[[], Awaitable[Any]]) -> Any:
        self.operations += 1
        if self.back or self.operations < self._at:
            return await operation()
        if self._fault == "torn" and self.operations == self._at:
            await operation()
        raise StoreUnavailableError("away")


@pytest.mark.parametrize("fault", ["lost", "torn"])
@pytest.mark.parametrize("level", LEVELS)
async def test_from_any_operation_on_the_store_may_be_away_and_the_state_goes_on_as_if_it_had_not_been(
    level: Durability, fault: Fault
) -> None:
    """Nothing is lost and nothing is repeated, be it a paid reply or an effect: the process knew, and told its store later."""
    for scenario in FAULTY:
        if scenario.recover is not None:
            continue
        uncut = await Uncut.of(scenario)
        for at in range(1, 100):
            where = f"{scenario}: away from operation {at}, {fault}, at level {level}"
            world, store = World(), MemoryRunStore()
            outage = Outage(store, fault, at)
            config = config_of(uncut.scenario, store=outage, durability=level)
            agent = uncut.scenario.build(world)
            given: str | RunState = scenario.input
            while True:
                try:
                    result = await Runner.run(agent, given, run_config=config)
                except StoreUnavailableError as error:
                    assert isinstance(error.state, RunState), where
                    given, outage.back = error.state, True
                    continue
                if not result.interruptions:
                    break
                given = result.to_state()
                assert decided(uncut.scenario, given, {}) == [], f"{where}: in doubt"
            assert world == uncut.world, where
            assert result.to_input_list() == uncut.played.state.to_input_list(), where
            assert fold(await log_of(store)) == result.to_state().value, where
            summary = await store.summary(RUN_ID)
            assert summary is not None and summary.held_until <= summary.updated_at, where
            if not outage.back:
                break
        assert at > 2, scenario


class NotLetGo(MemoryRunStore):
    """Is away where a run that has ended is let go of by itself, until it is `back`."""

    def __init__(self) -> None:
        super().__init__()
        self.back = False
        self.let_go = asyncio.Event()

    async def append(self, run_id: str, expected_rev: int, events: Sequence[bytes], summary: RunSummary) -> int:
        if summary.status == "finished":
            if not (events or self.back):
                raise StoreUnavailableError("away")
            self.let_go.set()
        return await super().append(run_id, expected_rev, events, summary)


async def ended_but_held() -> tuple[NotLetGo, RunConfig, RunState]:
    """A run all of which is in the store, where its process could not let go of it."""
    store, prices = NotLetGo(), {"main": ModelPrice(input="1", output="1")}
    config = RunConfig(store=store, run_id=RUN_ID, durability="batch", clock=FakeClock(), prices=prices)

    class Waits(RunHooks[Any]):
        async def on_agent_end(self, context: Any, agent: Any, output: Any) -> None:
            while not isinstance((await log_of(store))[-1], RunEnded):  # noqa: ASYNC110 - written meanwhile
                await asyncio.sleep(0)

    with pytest.raises(StoreUnavailableError) as caught:
        await Runner.run(BY_NAME["tool turns"].build(World()), "go", hooks=Waits(), run_config=config)
    summary = await store.summary(RUN_ID)
    assert summary is not None and (summary.status, summary.ended_at > 0) == ("running", True)
    assert isinstance(caught.value.state, RunState)
    store.back = True
    return store, config, caught.value.state


@pytest.mark.parametrize("how", ["state", "drive", "resume", "worker"])
async def test_a_run_that_ended_and_was_not_let_go_of_is_so_by_who_comes_next(how: str) -> None:
    store, config, state = await ended_but_held()
    agent, clock = BY_NAME["tool turns"].build(World()), config.clock
    assert isinstance(clock, FakeClock)
    held = await store.summary(RUN_ID)
    assert held is not None and held.cost is not None
    if how != "state":  # another process: it waits for the lease
        clock.now = held.held_until + 1
        assert [one.run_id for one in await store.list(RunQuery(abandoned_at=clock.now))] == [RUN_ID]
    if how == "worker":
        worker = Worker(store, agents=agent, config=dataclasses.replace(config, store=None, run_id=None))
        working = asyncio.create_task(worker.run())
        async with asyncio.timeout(20):
            await store.let_go.wait()
        worker.stop()
        await working
    else:
        go_on = {
            "state": lambda: Runner.run(agent, state, run_config=config),
            "drive": lambda: Runner.drive(agent, RUN_ID, run_config=config),
            "resume": lambda: Runner.resume(agent, RUN_ID, run_config=config),
        }
        assert (await go_on[how]()).final_output == "six"
    summary = await store.summary(RUN_ID)
    assert summary is not None and summary.held_until <= clock.now
    assert (summary.status, summary.due_at, summary.cost) == ("finished", 0.0, held.cost)
    assert await store.list(RunQuery(abandoned_at=clock.now + 1e6)) == []


async def test_a_run_that_has_ended_is_left_to_who_still_holds_it() -> None:
    store, config, _ = await ended_but_held()
    held = await store.summary(RUN_ID)
    result = await Runner.drive(BY_NAME["tool turns"].build(World()), RUN_ID, run_config=config)
    assert result.final_output == "six"
    assert await store.summary(RUN_ID) == held
