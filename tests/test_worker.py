"""`Worker` and `Runner.submit`: runs are put into a store by one process, and driven by others."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import pytest

from agentsdk import (
    Agent,
    ContextCodec,
    FunctionCallOutput,
    FunctionTool,
    MemoryRunStore,
    MemorySession,
    RunConfig,
    RunConflictError,
    RunContextWrapper,
    RunHooks,
    Runner,
    RunQuery,
    RunStore,
    RunSummary,
    UserError,
    Worker,
    function_tool,
    shared_limits,
)
from agentsdk.errors import StoreUnavailableError
from agentsdk.limits import Budget
from agentsdk.runs import Decision
from agentsdk.stores import DueRuns
from agentsdk.testing import FaultyStore, ScriptedModel, call
from tests.engine.conftest import OpenStore, open_store
from tests.models.wire import FakeClock

pytestmark = pytest.mark.anyio
__all__ = ["open_store"]


class Answers(ScriptedModel):
    """Says "done" whenever it is asked."""

    def __init__(self) -> None:
        super().__init__([])

    async def stream(self, request: Any) -> Any:
        async for event in ScriptedModel(["done"]).stream(request):
            yield event


def clerk(*replies: Any, tools: list[FunctionTool[Any]] | None = None, name: str = "clerk", **fields: Any) -> Agent[Any, Any]:
    model = ScriptedModel(list(replies)) if replies else Answers()
    return Agent(name, model=model, tools=tools or [], **fields)


@asynccontextmanager
async def at_work(*workers: Worker) -> AsyncIterator[None]:
    """The workers work meanwhile, and are stopped."""
    working = [asyncio.create_task(worker.run()) for worker in workers]
    try:
        yield
        for worker in workers:
            worker.stop()
        await asyncio.gather(*working)
    finally:
        for one in working:
            one.cancel()
        await asyncio.wait(working)


async def until(store: RunStore, run_id: str, *statuses: str) -> RunSummary:
    """The run's summary once it has one of these statuses."""
    while True:
        summary = await store.summary(run_id)
        if summary is not None and summary.status in statuses:
            return summary
        await store.wait(run_id, 0 if summary is None else summary.rev, 0.05)


async def statuses(store: RunStore) -> dict[str, str]:
    return {summary.run_id: summary.status for summary in await store.list(RunQuery())}


async def test_what_is_submitted_is_driven_by_whoever_works(open_store: OpenStore) -> None:
    config = RunConfig(store=open_store())
    ids = [await Runner.submit(clerk(), "go", run_config=config) for _ in range(10)]
    assert set((await statuses(open_store())).values()) == {"ready"}
    async with at_work(*[Worker(open_store(), agents=[clerk()], concurrency=3) for _ in range(3)]):
        late = await Runner.submit(clerk(), "go", run_config=config)
        for run_id in (*ids, late):
            await until(open_store(), run_id, "finished")
    result = await Runner.drive(clerk(), late, run_config=config)
    assert result.final_output == "done"


async def test_each_run_is_won_by_one(open_store: OpenStore) -> None:
    effects: list[str] = []

    @function_tool
    async def pay(run: str) -> str:
        """Pay."""
        effects.append(run)
        await asyncio.sleep(0)
        return "paid"

    class Calls(ScriptedModel):
        async def stream(self, request: Any) -> Any:
            last = request.items[-1]
            reply = "done" if last.__class__.__name__ == "FunctionCallOutput" else call("pay", run=str(last.content))
            async for event in ScriptedModel([reply]).stream(request):
                yield event

    def agent() -> Agent[None, str]:
        return Agent("clerk", model=Calls([]), tools=[pay])

    config = RunConfig(store=open_store())
    ids = [await Runner.submit(agent(), f"run {number}", run_config=config) for number in range(30)]
    async with at_work(*[Worker(open_store(), agents=agent(), concurrency=4) for _ in range(4)]):
        for run_id in ids:
            await until(open_store(), run_id, "finished")
    assert sorted(effects) == sorted(f"run {number}" for number in range(30))


async def test_the_highest_priority_is_taken_first_then_the_one_due_longest() -> None:
    store, clock, order = MemoryRunStore(), FakeClock(), list[str]()

    class Noted(RunHooks[None]):
        async def on_agent_start(self, context: RunContextWrapper[None], agent: Agent[None, Any]) -> None:
            order.append(str(context.context))

    config = RunConfig(store=store, clock=clock)
    for run_id, priority in (("a", 0), ("b", 5), ("c", -1), ("d", 5), ("e", 0)):
        await Runner.submit(clerk(), "go", run_id=run_id, priority=priority, run_config=config)
        clock.now += 1
    worker = Worker(
        store,
        agents=clerk(),
        concurrency=1,
        config=RunConfig(clock=clock),
        context=lambda summary: summary.run_id,
        hooks=Noted(),
    )
    async with at_work(worker):
        await until(store, "c", "finished")
    assert order == ["b", "d", "a", "e", "c"]


async def test_a_run_whose_time_has_not_come_is_not_taken() -> None:
    store, clock = MemoryRunStore(), FakeClock()
    config = RunConfig(store=store, clock=clock)
    await Runner.submit(clerk(), "go", run_id="later", at=clock.time() + 3600, run_config=config)
    await Runner.submit(clerk(), "go", run_id="now", run_config=config)
    async with at_work(Worker(store, agents=clerk(), config=RunConfig(clock=clock))):
        await until(store, "now", "finished")
        assert (await statuses(store))["later"] == "ready"
        clock.now += 3600
        await Runner.submit(clerk(), "go", run_id="wake up", run_config=config)
        await until(store, "later", "finished")


async def test_submitting_again_changes_nothing(open_store: OpenStore) -> None:
    config = RunConfig(store=open_store())
    for _ in range(3):
        assert await Runner.submit(clerk(), "go", run_id="r", run_config=config) == "r"
    summary = await open_store().summary("r")
    assert summary is not None and summary.rev == 1
    with pytest.raises(RunConflictError, match="begun with another input"):
        await Runner.submit(clerk(), "something else", run_id="r", run_config=config)
    async with at_work(Worker(open_store(), agents=clerk())):
        await until(open_store(), "r", "finished")
    assert await Runner.submit(clerk(), "go", run_id="r", run_config=config) == "r"


async def test_a_run_that_was_decided_goes_on(open_store: OpenStore) -> None:
    @function_tool(needs_approval=True)
    def pay() -> str:
        """Pay."""
        return "paid"

    config = RunConfig(store=open_store())
    agent = clerk(call("pay"), "done", tools=[pay])
    await Runner.submit(agent, "go", run_id="r", run_config=config)
    async with at_work(Worker(open_store(), agents=agent)):
        assert (await until(open_store(), "r", "waiting")).waiting == 1
        state = await Runner.load("r", run_config=config)
        state.approve(state.interruptions[0])
        await Runner.decide(state, run_config=config)
        await until(open_store(), "r", "finished")


async def test_a_call_that_nobody_answered_in_time_gets_its_default(open_store: OpenStore) -> None:
    @function_tool(external=True, timeout=60, default_answer="nobody is in")
    def knock() -> str:
        raise AssertionError("no body is run")

    clock = FakeClock()
    config = RunConfig(store=open_store(), clock=clock)
    await Runner.submit(clerk(call("knock"), "done", tools=[knock]), "go", run_id="late", run_config=config)
    agents = clerk(call("knock"), call("knock"), "done", "done", tools=[knock])
    async with at_work(Worker(open_store(), agents=agents, config=RunConfig(clock=clock))):
        assert (await until(open_store(), "late", "waiting")).due_at == clock.now + 60
        clock.now += 30
        await Runner.submit(agents, "go", run_id="in time", run_config=config)
        await until(open_store(), "in time", "waiting")
        clock.now += 30
        await Runner.decide("in time", Decision("call_2_1", "answer", answer="come in"), run_config=config)
        await until(open_store(), "in time", "finished")
        await until(open_store(), "late", "finished")
    told = [await Runner.load(run_id, run_config=config) for run_id in ("late", "in time")]
    results = [item.output for state in told for item in state.items() if isinstance(item, FunctionCallOutput)]
    assert results == ["nobody is in", "come in"]


def hanging(begun: asyncio.Event) -> FunctionTool[Any]:
    @function_tool(effect="none")
    async def hang() -> str:
        """Hang."""
        if not begun.is_set():
            begun.set()
            await asyncio.Event().wait()
        return "over"

    return hang


async def test_a_worker_that_is_stopped_hands_its_runs_back_at_the_end_of_the_turn(open_store: OpenStore) -> None:
    begun, goes_on, turns = asyncio.Event(), asyncio.Event(), list[int]()

    @function_tool
    async def work() -> str:
        """Work."""
        turns.append(1)
        begun.set()
        await goes_on.wait()
        return "over"

    agent = clerk(call("work"), "done", tools=[work])
    await Runner.submit(agent, "go", run_id="r", run_config=RunConfig(store=open_store()))
    worker = Worker(open_store(), agents=agent)
    working = asyncio.create_task(worker.run())
    await begun.wait()
    worker.stop()
    assert not working.done()
    goes_on.set()
    await working
    summary = await open_store().summary("r")
    assert summary is not None and (summary.status, summary.reason, summary.turns) == ("ready", "", 1)
    async with at_work(Worker(open_store(), agents=agent)):
        await until(open_store(), "r", "finished")
    assert turns == [1], "the tool is not run again"


async def test_what_does_not_end_within_the_grace_is_cancelled_and_handed_back(
    open_store: OpenStore, caplog: pytest.LogCaptureFixture
) -> None:
    begun = asyncio.Event()
    agent = clerk(call("hang"), "done", tools=[hanging(begun)])
    await Runner.submit(agent, "go", run_id="r", run_config=RunConfig(store=open_store()))
    async with at_work(Worker(open_store(), agents=agent, grace=0.0)):
        await begun.wait()
    summary = await open_store().summary("r")
    assert summary is not None and (summary.status, summary.reason) == ("ready", "CancelledError")
    assert "run 'r' is handed back in the middle of a turn" in caplog.text
    async with at_work(Worker(open_store(), agents=agent)):
        await until(open_store(), "r", "finished")


async def test_a_worker_that_is_cancelled_hands_its_runs_back() -> None:
    store, begun = MemoryRunStore(), asyncio.Event()
    agent = clerk(call("hang"), "done", tools=[hanging(begun)])
    await Runner.submit(agent, "go", run_id="r", run_config=RunConfig(store=store))
    working = asyncio.create_task(Worker(store, agents=agent, grace=0.0).run())
    await begun.wait()
    working.cancel()
    with pytest.raises(asyncio.CancelledError):
        await working
    assert (await statuses(store)) == {"r": "ready"}


async def test_a_run_of_an_agent_that_the_worker_lacks_is_left_to_others() -> None:
    store = MemoryRunStore()
    config = RunConfig(store=store)
    await Runner.submit(clerk(name="other"), "go", run_id="other", run_config=config)
    await Runner.submit(clerk(), "go", run_id="own", run_config=config)
    async with at_work(Worker(store, agents=clerk())):
        await until(store, "own", "finished")
    assert (await statuses(store))["other"] == "ready"


async def test_a_run_that_this_worker_cannot_go_on_with_is_left_to_one_that_can(caplog: pytest.LogCaptureFixture) -> None:
    store = MemoryRunStore()

    @function_tool(needs_approval=True)
    def pay() -> str:
        """Pay."""
        return "paid"

    able = clerk(call("pay"), "done", tools=[pay])
    config = RunConfig(store=store, run_id="r")
    await Runner.run(able, "go", run_config=config)
    state = await Runner.load("r", run_config=config)
    state.approve(state.interruptions[0])
    await Runner.decide(state, run_config=config)
    refused = asyncio.Event()

    class Refused(logging.Handler):
        def emit(self, record: logging.LogRecord) -> None:
            refused.set()

    handler = Refused()
    logging.getLogger("agentsdk").addHandler(handler)
    try:
        async with at_work(Worker(store, agents=clerk())):
            await refused.wait()
            async with at_work(Worker(store, agents=able)):
                await until(store, "r", "finished")
    finally:
        logging.getLogger("agentsdk").removeHandler(handler)
    assert "run 'r' failed: StateMismatchError" in caplog.text


async def test_a_run_that_fails_is_stored_as_that_and_ends_no_worker(caplog: pytest.LogCaptureFixture) -> None:
    store = MemoryRunStore()
    agents = [clerk(ValueError("no"), name="bad"), clerk(name="good")]
    config = RunConfig(store=store)
    await Runner.submit(agents[0], "go", run_id="bad", run_config=config)
    async with at_work(Worker(store, agents=agents)):
        failed = await until(store, "bad", "failed")
        await Runner.submit(agents[1], "go", run_id="good", run_config=config)
        await until(store, "good", "finished")
    assert failed.reason == "ModelError"
    assert "run 'bad' failed: ModelError" in caplog.text
    assert await store.due(DueRuns(at=9e9)) == []


async def test_a_run_has_its_context_and_session(open_store: OpenStore) -> None:
    sessions = {"r": MemorySession("ada")}
    seen: list[object] = []

    @function_tool
    def look(context: RunContextWrapper[Any]) -> str:
        """Look."""
        seen.append(context.context)
        return "found"

    async def context(summary: RunSummary) -> str:
        return f"context of {summary.run_id}"

    agent = clerk(call("look"), "done", tools=[look])
    session = sessions["r"]
    await Runner.submit(agent, "go", run_id="r", session=session, run_config=RunConfig(store=open_store()))
    worker = Worker(open_store(), agents=agent, context=context, session=lambda summary: sessions[summary.run_id])
    async with at_work(worker):
        await until(open_store(), "r", "finished")
    assert seen == ["context of r"]
    assert [type(item).__name__ for item in await session.get_items()] == [
        "Message",
        "FunctionCall",
        "FunctionCallOutput",
        "Message",
    ]


async def test_a_run_spends_from_its_budget(open_store: OpenStore) -> None:
    with shared_limits(requests=1) as short:
        pass
    with shared_limits(requests=9) as long:
        pass
    budgets = {"short": short, "long": long}
    agent = clerk("one", "two", "three")
    for run_id, metadata in (("a", {"of": "short"}), ("b", {"of": "short"}), ("c", {"of": "long"}), ("d", {})):
        await Runner.submit(agent, "go", run_id=run_id, run_config=RunConfig(store=open_store(), metadata=metadata))

    async def budget(run: RunSummary) -> Budget | None:
        return budgets.get(run.metadata.get("of", ""))

    async with at_work(Worker(open_store(), agents=agent, concurrency=1, budget=budget)):
        await until(open_store(), "a", "finished")
        failed = await until(open_store(), "b", "failed")
        await until(open_store(), "c", "finished")
        await until(open_store(), "d", "finished")
    assert failed.reason == "RequestLimitExceededError"
    assert (short.spent.requests, long.spent.requests) == (1, 1)


async def test_a_submitted_context_is_kept_where_the_run_says_how() -> None:
    store, seen = MemoryRunStore(), list[object]()

    @function_tool
    def look(context: RunContextWrapper[Any]) -> str:
        """Look."""
        seen.append(context.context)
        return "found"

    agent = clerk(call("look"), "done", tools=[look])
    codec = ContextCodec[Any](encode=str, decode=lambda text: f"{text} again")
    await Runner.submit(agent, "go", run_id="r", context="ada", run_config=RunConfig(store=store, context_codec=codec))
    async with at_work(Worker(store, agents=agent, config=RunConfig(context_codec=codec))):
        await until(store, "r", "finished")
    assert seen == ["ada again"]


@pytest.mark.parametrize("at", range(1, 12))
async def test_a_store_that_fails_once_ends_no_worker(at: int) -> None:
    store = MemoryRunStore()
    for number in range(3):
        await Runner.submit(clerk(), "go", run_id=str(number), run_config=RunConfig(store=store, store_timeout=0))
    worker = Worker(FaultyStore(store, "locked", at=at), agents=clerk(), config=RunConfig(lease=0.2))
    async with at_work(worker):
        for number in range(3):
            await until(store, str(number), "finished")


@pytest.mark.parametrize(
    ("given", "what"),
    [
        ({"agents": []}, "registry is empty"),
        ({"agents": "clerk"}, "given a 'str'"),
        ({"store": None}, "store=None"),
        ({"concurrency": 0}, "concurrency=0"),
        ({"grace": -1}, "grace=-1"),
        ({"config": {}}, "config="),
        ({"context": 5}, "context=5"),
        ({"budget": 5}, "budget=5"),
    ],
)
def test_a_wrong_argument_is_named(given: dict[str, Any], what: str) -> None:
    arguments = {"store": MemoryRunStore(), "agents": clerk(), **given}
    with pytest.raises(UserError, match=what):
        Worker(**arguments)


async def test_a_worker_works_once_at_a_time() -> None:
    worker = Worker(MemoryRunStore(), agents=clerk())
    async with at_work(worker):
        await asyncio.sleep(0)
        with pytest.raises(UserError, match="works already"):
            await worker.run()
    async with at_work(worker):  # but again
        await asyncio.sleep(0)


async def test_neither_a_deploy_nor_a_decision_strands_a_run(open_store: OpenStore) -> None:
    begun = asyncio.Event()

    @function_tool(needs_approval=True)
    def pay() -> str:
        """Pay."""
        return "paid"

    replies = [call("hang"), call("pay"), "paid", "over"]
    agent = clerk(*replies, tools=[hanging(begun), pay])
    config = RunConfig(store=open_store())
    deployed = asyncio.create_task(Runner.run(agent, "go", run_config=RunConfig(store=open_store(), run_id="deployed")))
    await begun.wait()
    deployed.cancel()  # a deploy stops the process of a run that no worker began
    await asyncio.wait([deployed])
    await Runner.run(agent, "pay", run_config=RunConfig(store=open_store(), run_id="approved"))
    state = await Runner.load("approved", run_config=config)
    state.approve(state.interruptions[0])
    await Runner.decide(state, run_config=config)  # and the process dies before it goes on
    assert await statuses(open_store()) == {"deployed": "ready", "approved": "ready"}
    async with at_work(Worker(open_store(), agents=agent)):
        await until(open_store(), "deployed", "finished")
        await until(open_store(), "approved", "finished")


async def test_a_run_that_was_handed_over_goes_on_by_the_registry() -> None:
    @function_tool(needs_approval=True)
    def pay() -> str:
        """Pay."""
        return "paid"

    store = MemoryRunStore()
    billing = clerk(call("pay"), "paid", tools=[pay], name="Billing")
    triage = clerk(call("transfer_to_billing"), name="Triage", handoffs=[billing])
    config = RunConfig(store=store)
    await Runner.submit(triage, "go", run_id="r", run_config=config)
    async with at_work(Worker(store, agents=[triage, billing])):
        waiting = await until(store, "r", "waiting")
        assert (waiting.agent, waiting.first_agent) == ("Billing", "Triage")
        state = await Runner.load("r", run_config=config)
        state.approve(state.interruptions[0])
        await Runner.decide(state, run_config=config)
        await until(store, "r", "finished")


async def test_a_listing_of_any_length_is_read_page_by_page(open_store: OpenStore) -> None:
    config = RunConfig(store=open_store())
    ids = {await Runner.submit(clerk(), "go", run_config=config) for _ in range(130)}
    seen: list[str] = []
    cursor: str | None = None
    while page := await open_store().list(RunQuery(after=cursor)):
        seen += [summary.run_id for summary in page]
        cursor = page[-1].cursor
    assert len(seen) == 130 and set(seen) == ids


async def test_a_store_that_fails_at_once_is_not_asked_without_a_pause(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    """A path that is not there, say: the worker looks again after a second, not thousands of times within it."""
    monkeypatch.setattr("agentsdk.worker.LOOK_INTERVAL", 3600.0)

    class Away(MemoryRunStore):
        async def due(self, query: DueRuns) -> list[RunSummary]:
            raise StoreUnavailableError("no such folder")

        async def wait_due(self, seen: int, timeout: float) -> int:
            raise StoreUnavailableError("no such folder")

    worker = Worker(Away(), agents=[clerk()])
    working = asyncio.create_task(worker.run())
    for _ in range(200):
        await asyncio.sleep(0)
    worker.stop()
    await working
    told = [record.getMessage() for record in caplog.records if record.levelno == logging.WARNING]
    assert [message.partition(") ")[2] for message in told] == [
        "could not look for due runs: no such folder",
        "could not wait for due runs: no such folder",
    ]
