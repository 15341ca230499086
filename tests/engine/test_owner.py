"""`RunConfig(owner=...)`: of the attempts of an engine at one run, a later one has it, an earlier one can do nothing more."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agentsdk import (
    Agent,
    FunctionCall,
    FunctionCallOutput,
    FunctionTool,
    MemoryRunStore,
    ModelRequest,
    RunConfig,
    RunConflictError,
    Runner,
    RunResult,
    RunStore,
    RunSummary,
    UserError,
    Worker,
    function_tool,
)
from agentsdk.runs import RunOwner
from agentsdk.stores.wrapper import RunStoreWrapper
from agentsdk.testing import ScriptedModel, call
from tests.models.wire import FakeClock
from tests.stores.stores import STORES

pytestmark = pytest.mark.anyio

OpenStore = Callable[[], RunStore]
ENGINE = "engine/r"


@pytest.fixture(params=["memory", "sqlite", "postgres", "redis"])
async def open_store(request: pytest.FixtureRequest) -> AsyncIterator[OpenStore]:
    factory, opened = STORES[request.param].factory(request), list[RunStore]()
    memory = MemoryRunStore()

    def open_one() -> RunStore:
        if request.param == "memory":
            return memory
        opened.append(factory())
        return opened[-1]

    yield open_one
    for store in opened:
        await store.aclose()


@pytest.fixture
def run_id(request: pytest.FixtureRequest) -> str:
    return f"run of {request.node.name}"  # the servers are those of all tests


def reply(request: ModelRequest) -> str | FunctionCall:
    """What a model says that knows nothing but the request, whichever attempt asks it."""
    return "done" if any(isinstance(item, FunctionCallOutput) for item in request.items) else call("pay")


class Job:
    """An agent with one call of effect `once` that waits until it is told to end."""

    def __init__(self, *, needs_approval: bool = False) -> None:
        self.begun = asyncio.Event()
        self.goes_on = asyncio.Event()
        self.bodies = 0
        self.cancelled = 0
        self.needs_approval = needs_approval

    def agent(self) -> Agent[Any, Any]:
        return Agent("clerk", model=ScriptedModel([reply, reply]), tools=[self._pay()])

    def going_on(self) -> Agent[Any, Any]:
        return Agent("clerk", model=ScriptedModel(["done"]), tools=[self._pay()])

    def _pay(self) -> FunctionTool[Any]:
        @function_tool(effect="once", needs_approval=self.needs_approval)
        async def pay() -> str:
            self.bodies += 1
            self.begun.set()
            try:
                await self.goes_on.wait()
            except asyncio.CancelledError:
                self.cancelled += 1
                raise
            return "paid"

        return pay


def attempt(number: int, store: RunStore, *, name: str = ENGINE, **options: Any) -> RunConfig:
    return RunConfig(store=store, owner=RunOwner(name, number), **{"clock": FakeClock(), **options})


async def begun(job: Job, config: RunConfig, run_id: str) -> asyncio.Task[RunResult[Any]]:
    """A drive that is inside the call's body."""
    drive = asyncio.create_task(Runner.drive(job.agent(), run_id, "pay", run_config=config))
    await asyncio.wait((drive, waiting := asyncio.ensure_future(job.begun.wait())), return_when=asyncio.FIRST_COMPLETED)
    assert waiting.done(), await drive
    return drive


async def test_a_later_attempt_takes_the_run_at_once_and_the_earlier_one_is_refused(open_store: OpenStore, run_id: str) -> None:
    job = Job()
    slow = await begun(job, attempt(1, open_store()), run_id)
    taken = await Runner.drive(job.agent(), run_id, "pay", run_config=attempt(2, open_store()))
    assert [item.tool_name for item in taken.interruptions] == ["pay"]  # it has begun, so it is in doubt
    job.goes_on.set()
    with pytest.raises(RunConflictError, match="it has gone on elsewhere"):
        await slow
    state = await Runner.load(run_id, run_config=RunConfig(store=open_store()))
    state.provide_result(state.interruptions[0], result="paid")
    await Runner.decide(state, run_config=RunConfig(store=open_store(), clock=FakeClock()))
    end = await Runner.drive(job.going_on(), run_id, run_config=attempt(3, open_store()))
    assert end.final_output == "done" and job.bodies == 1


async def test_where_a_later_attempt_has_taken_the_run_what_the_earlier_one_is_at_is_cancelled(
    open_store: OpenStore, run_id: str
) -> None:
    job = Job()
    slow = await begun(job, attempt(1, open_store(), lease=0.5), run_id)  # it hears of it when its lease is renewed
    await Runner.drive(job.agent(), run_id, "pay", run_config=attempt(2, open_store()))
    with pytest.raises(RunConflictError, match="it has gone on elsewhere"):
        await asyncio.wait_for(slow, 60)
    assert job.cancelled == 1


async def test_an_attempt_that_is_cancelled_after_it_was_taken_from_ends_as_cancelled(
    open_store: OpenStore, run_id: str
) -> None:
    job = Job()
    slow = await begun(job, attempt(1, open_store()), run_id)
    await Runner.drive(job.agent(), run_id, "pay", run_config=attempt(2, open_store()))
    store = open_store()
    before = await store.summary(run_id)
    slow.cancel()
    with pytest.raises(asyncio.CancelledError):
        await slow
    assert job.cancelled == 1 and await store.summary(run_id) == before  # nothing was written


async def test_an_earlier_attempt_that_starts_late_cannot_take_the_run_back(open_store: OpenStore, run_id: str) -> None:
    job = Job(needs_approval=True)
    job.goes_on.set()
    await Runner.drive(job.agent(), run_id, "pay", run_config=attempt(5, open_store()))
    store = open_store()
    state = await Runner.load(run_id, run_config=RunConfig(store=store))
    state.approve(state.interruptions[0])
    await Runner.decide(state, run_config=RunConfig(store=store, clock=FakeClock()))
    before = await store.summary(run_id)
    for late in (0, 4):
        with pytest.raises(RunConflictError, match=f"was taken by attempt 5 of 'engine/r', expected none after attempt {late}"):
            await Runner.drive(job.going_on(), run_id, run_config=attempt(late, open_store()))
        with pytest.raises(RunConflictError, match="was taken by attempt 5"):
            await Runner.resume(job.going_on(), run_id, run_config=attempt(late, open_store()))
    assert await store.summary(run_id) == before and job.bodies == 0
    end = await Runner.drive(job.going_on(), run_id, run_config=attempt(5, open_store()))
    assert end.final_output == "done" and job.bodies == 1


@pytest.mark.parametrize(("name", "number"), [(ENGINE, 1), ("another/r", 2), (None, 0)])
async def test_one_attempt_twice_and_owners_without_an_order_wait_for_the_lease(
    open_store: OpenStore, run_id: str, name: str | None, number: int
) -> None:
    job, clock = Job(), FakeClock()
    first = await begun(job, attempt(1, open_store(), clock=clock), run_id)
    other = RunConfig(store=open_store(), clock=clock, owner=None if name is None else RunOwner(name, number))
    with pytest.raises(RunConflictError, match="held by another process"):
        await Runner.drive(job.agent(), run_id, run_config=other)
    job.goes_on.set()
    assert (await first).final_output == "done"
    assert (await Runner.drive(job.agent(), run_id, run_config=other)).final_output == "done"
    assert job.bodies == 1


async def test_an_attempt_takes_a_run_that_its_worker_left_by_dying(open_store: OpenStore, run_id: str) -> None:
    job, died = Job(), open_store()
    agent = Agent("clerk", model=ScriptedModel([call("pay")]), tools=job.agent().tools)
    drive = await begun(job, attempt(1, RunStoreWrapper(died)), run_id)
    after = await Runner.drive(agent, run_id, run_config=attempt(2, open_store()))
    assert [item.tool_name for item in after.interruptions] == ["pay"]
    drive.cancel()
    await asyncio.wait((drive,))


class Overtaken(RunStoreWrapper):
    """A store in which another process goes on with the run just before the first append."""

    def __init__(self, store: RunStore, goes_on: Callable[[], Awaitable[object]]) -> None:
        super().__init__(store)
        self._goes_on: Callable[[], Awaitable[object]] | None = goes_on

    async def append(self, run_id: str, expected_rev: int, events: Sequence[bytes], summary: RunSummary) -> int:
        goes_on, self._goes_on = self._goes_on, None
        if goes_on is not None:
            await goes_on()
        return await super().append(run_id, expected_rev, events, summary)


async def test_a_later_attempt_looks_again_where_the_earlier_one_goes_on_just_then(open_store: OpenStore, run_id: str) -> None:
    job = Job()
    first = await begun(job, attempt(1, open_store()), run_id)

    async def end() -> RunResult[Any]:
        job.goes_on.set()
        return await first

    later = await Runner.drive(job.agent(), run_id, run_config=attempt(2, Overtaken(open_store(), end)))
    assert later.final_output == "done" and job.bodies == 1


def test_the_runs_of_a_worker_have_owners_of_its_own() -> None:
    with pytest.raises(UserError, match="a Worker was given a RunConfig with an owner, expected none"):
        Worker(MemoryRunStore(), agents=Job().agent(), config=attempt(1, MemoryRunStore()))


class Interleaved(RunStoreWrapper):
    """The store as one attempt has it: each of its statements waits until a schedule lets it through."""

    def __init__(self, store: RunStore, schedule: Schedule, number: int) -> None:
        super().__init__(store)
        self._schedule = schedule
        self._number = number

    async def append(self, run_id: str, expected_rev: int, events: Sequence[bytes], summary: RunSummary) -> int:
        await self._schedule.turn(self._number)
        posted = await super().append(run_id, expected_rev, events, summary)
        if events:
            self._schedule.wrote.append(self._number)
        return posted

    async def read(self, run_id: str, from_rev: int = 0) -> list[bytes]:
        await self._schedule.turn(self._number)
        return await super().read(run_id, from_rev)

    async def summary(self, run_id: str) -> RunSummary | None:
        await self._schedule.turn(self._number)
        return await super().summary(run_id)


class Schedule:
    """Lets one statement through at a time: whose is drawn."""

    def __init__(self) -> None:
        self.wrote: list[int] = []
        """The attempts whose events the log has, in order."""
        self._waiting: list[tuple[int, asyncio.Future[None]]] = []

    async def turn(self, number: int) -> None:
        waits: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._waiting.append((number, waits))
        await waits

    async def let_through(self, drives: Sequence[asyncio.Task[Any]], drawn: Sequence[int]) -> None:
        choices = iter(drawn)
        while not all(drive.done() for drive in drives):
            for _ in range(20):
                await asyncio.sleep(0)
            if self._waiting:
                self._waiting.sort(key=lambda entry: entry[0])
                _, waits = self._waiting.pop(next(choices, 0) % len(self._waiting))
                if not waits.done():
                    waits.set_result(None)


@given(
    st.lists(st.integers(0, 4), min_size=2, max_size=4),
    st.lists(st.integers(0, 3), max_size=80),
)
async def test_in_whatever_order_attempts_come_and_write_no_earlier_one_writes_after_a_later_one(
    attempts: list[int], drawn: list[int]
) -> None:
    job, store, schedule = Job(), MemoryRunStore(), Schedule()
    job.goes_on.set()
    drives = [
        asyncio.create_task(
            Runner.drive(job.agent(), "r", "pay", run_config=attempt(number, Interleaved(store, schedule, number)))
        )
        for number in attempts
    ]
    await schedule.let_through(drives, drawn)
    for drive in drives:
        assert drive.exception() is None or isinstance(drive.exception(), RunConflictError)
    assert schedule.wrote == sorted(schedule.wrote)
    assert job.bodies <= 1
    end = await Runner.drive(job.agent(), "r", "pay", run_config=attempt(9, store))
    assert end.is_finished or end.interruptions  # done, or in doubt: never lost
