"""`DBOSRuns`: runs as workflows of DBOS.

Its workflow in DBOS has two kinds of steps: `drive`, which takes the run to where it rests, and `wait`, which returns when it
may go on. All that is said to a run goes to its mailbox in the store, and nowhere else, whoever says it: the mailbox is taken
exactly once, and `wait` sees it grow. A message of DBOS beside it would be a second place, to be lost or doubled in.
"""

from __future__ import annotations

import asyncio
import time
import uuid
from collections.abc import Callable, Coroutine, Generator, Mapping, Sequence
from contextlib import contextmanager, suppress
from contextvars import Context
from datetime import datetime
from functools import partial
from typing import Any, cast

import msgspec
from opentelemetry import context as telemetry

from agentsdk.core.given_json import plain_json
from agentsdk.define.agent import Agent, RunHooks
from agentsdk.define.run_config import RunConfig, RunErrorHandlers
from agentsdk.durable.dbos.require import require_package
from agentsdk.durable.driver import Driver, Job
from agentsdk.durable.rest import Failure, Rest
from agentsdk.engine.drive import ForRun
from agentsdk.ports.run_store import RunStore, not_found
from agentsdk.runner import Runner
from agentsdk.types.base import JsonObject
from agentsdk.types.declared import Fields, a_name, any_text, mapping_of, number, optional
from agentsdk.types.errors import RunConflictError, RunNotFoundError, UserError
from agentsdk.types.items import InputItem, item_to_dict, items_from_input
from agentsdk.types.owner import RunOwner
from agentsdk.types.signals import CancelMode, Decision
from agentsdk.types.summary import check_run_id

require_package()

from dbos import (  # noqa: E402 - first the error that says what to install
    DBOS,
    SetWorkflowAttributes,
    SetWorkflowID,
    StepOptions,
    WorkflowHandleAsync,
    WorkflowStatus,
)
from dbos import error as dbos_errors  # noqa: E402

_FIELDS = Fields(
    "DBOSRuns",
    name=a_name("a name for the workflows in DBOS; write 'agentsdk'"),
    queue=optional(a_name("the name of a queue of DBOS, as DBOS.register_queue has it")),
    at=optional(number("a finite Unix timestamp in seconds; write moment.timestamp()")),
    metadata=optional(mapping_of(any_text(""), "a dict of texts; write {'user': 'ada'}")),
    schedule=a_name("the schedule's name"),
    cron=a_name("a cron expression; write '0 7 * * 1-5'"),
)

_POLL = 0.1
"""Seconds between two looks whether a workflow has ended."""

_LOOK = 0.01
"""Seconds between two looks whether all has been handed back."""

_SOON = 0.001
"""Seconds to sleep at least, so that DBOS records a sleep each time: its steps are known by their order."""

_Run = Callable[[JsonObject, "float | None"], Coroutine[Any, Any, Any]]
_Scheduled = Callable[[datetime, JsonObject], Coroutine[Any, Any, Any]]


class DBOSRuns:
    """Runs of `store`, each a workflow of DBOS: `runs = DBOSRuns(store, agents=[clerk])`, made before `DBOS.launch()`.

    `config`, `context`, `session`, `hooks` and `error_handlers` are as in a `Worker`. `name` is what the workflows are called
    in DBOS; each `DBOSRuns` of a process has another. Without a `queue` a run is driven by the process that began it, or that
    recovers it. With the name of a queue of DBOS each drive is a workflow on it: its limits hold for runs in work, and a run
    that waits takes no place.

    Raises `UserError` naming the argument that is wrong.
    """

    def __init__(
        self,
        store: RunStore,
        *,
        agents: Agent[Any, Any] | Mapping[str, Agent[Any, Any]] | Sequence[Agent[Any, Any]],
        name: str = "agentsdk",
        queue: str | None = None,
        config: RunConfig | None = None,
        context: ForRun | None = None,
        session: ForRun | None = None,
        hooks: RunHooks[Any] | None = None,
        error_handlers: RunErrorHandlers | None = None,
    ) -> None:
        _FIELDS.check_given(name=name, queue=queue)
        self._driver = Driver(store, agents, config, context, session, hooks, error_handlers)
        self._config = self._driver.config
        self._tasks: set[asyncio.Task[Any]] = set()
        self._is_closed = False
        self._run, self._scheduled = self._registered(name, queue)

    def _registered(self, name: str, queue: str | None) -> tuple[_Run, _Scheduled]:
        """The workflows of a run, known to DBOS by their names from now on."""
        # Recovered as often as it takes: a run that waits for weeks outlives any number of deployments.
        workflow, driver = partial(DBOS.workflow, max_recovery_attempts=None), self._driver

        async def drive(job: JsonObject) -> JsonObject:
            with self._working():
                return _recorded(await _outside(driver.drive(msgspec.convert(job, Job), await _owner())))

        async def wait(run_id: str, rest: JsonObject) -> None:
            with self._working():
                await driver.wait(run_id, msgspec.convert(rest, Rest))

        @workflow(name=f"{name}.drive")
        async def drive_queued(job: JsonObject) -> JsonObject:
            return await DBOS.run_step_async(_step("drive"), drive, job)

        async def driven(job: JsonObject) -> JsonObject:
            if queue is None:
                return await DBOS.run_step_async(_step("drive"), drive, job)
            queued = await DBOS.enqueue_workflow_async(queue, drive_queued, job)
            return await queued.get_result(polling_interval_sec=_POLL)

        async def through(job: JsonObject) -> Any:
            run_id = cast(str, job["run_id"] or DBOS.workflow_id)
            job = {**job, "run_id": run_id}
            while True:
                left = await driven(job)
                rest = msgspec.convert(left, Rest)
                if rest.failure is not None or rest.status != "waiting":
                    return rest.value()
                await DBOS.run_step_async(_step("wait"), wait, run_id, left)

        @workflow(name=f"{name}.run")
        async def run(job: JsonObject, at: float | None) -> Any:
            if at is not None:
                await DBOS.sleep_async(max(at - time.time(), _SOON))
            return await through(job)

        @workflow(name=f"{name}.scheduled")
        async def scheduled(at: datetime, job: JsonObject) -> Any:
            return await through(job)

        return run, scheduled

    async def start(
        self,
        input: object,
        *,
        run_id: str | None = None,
        agent: str | None = None,
        at: float | None = None,
        metadata: Mapping[str, str] | None = None,
    ) -> str:
        """Begin a run, now or at `at` (a Unix timestamp in seconds); its id, which is the workflow's too. `input` is a text or
        items; for a workflow of ours its argument.

        It is durable, in one row of DBOS, when this returns; the run itself begins a moment later. `agent` may be left out
        where there is one. `metadata` are kept with the run, and as the workflow's attributes. In a workflow of DBOS the run is
        a child of it.

        Started again with the same `run_id` and input, nothing changes. Raises `RunConflictError` where the id is that of
        another run, and `UserError` for an argument that is wrong.
        """
        _FIELDS.check_given("DBOSRuns.start", at=at, metadata=metadata)
        if run_id is None and DBOS.workflow_id is None:
            run_id = uuid.uuid4().hex
        job = self._job(input, run_id, agent, metadata)
        with SetWorkflowAttributes(dict(metadata) if metadata else None):
            if run_id is None:
                return (await DBOS.start_workflow_async(self._run, job, at)).get_workflow_id()
            with SetWorkflowID(run_id, workflow_id_reuse_policy="reject"):
                try:
                    await DBOS.start_workflow_async(self._run, job, at)
                except (dbos_errors.DBOSWorkflowIDInUseError, dbos_errors.DBOSConflictingWorkflowError):
                    await _require_same(run_id, job)
        return run_id

    async def schedule(
        self,
        name: str,
        cron: str,
        input: object,
        *,
        agent: str | None = None,
        metadata: Mapping[str, str] | None = None,
        timezone: str | None = None,
    ) -> None:
        """Begin a run each time that `cron` says, in UTC or in `timezone`. The id of each is DBOS's, of `name` and the time.

        It takes the place of the schedule that has this name. Raises `UserError` for an argument that is wrong.
        """
        _FIELDS.check_given("DBOSRuns.schedule", schedule=name, cron=cron, metadata=metadata)
        job = self._job(input, None, agent, metadata)
        try:
            await DBOS.apply_schedules_async(
                [
                    {
                        "schedule_name": name,
                        "workflow_fn": self._scheduled,
                        "schedule": cron,
                        "context": job,
                        "cron_timezone": timezone,
                    }
                ]
            )
        except dbos_errors.DBOSException as error:
            raise UserError(f"the schedule {name!r} is refused by DBOS: {error}") from error

    async def decide(self, run_id: str, decision: Decision) -> int:
        """Post a decision on a call that waits. Gives and raises what `Runner.decide` does, and so do the others here."""
        return await Runner.decide(run_id, decision, run_config=self._config)

    async def answer(self, run_id: str, call_id: str, answer: object, *, path: Sequence[str] = (), by: str = "") -> int:
        """Post the answer to a call that waits for one."""
        return await self.decide(run_id, Decision(call_id, "answer", tuple(path), answer=answer, by=by))

    async def send(self, run_id: str, message: str | InputItem, *, priority: int = 0, by: str = "") -> int:
        """Post a message for the run's next turn. A run whose workflow has ended needs `resume` then."""
        return await Runner.send(run_id, message, priority=priority, by=by, run_config=self._config)

    async def signal(self, run_id: str, name: str, data: object = None, *, by: str = "") -> int:
        """Post data for `flow.wait_for(name, ...)` of the workflow that the run is of."""
        return await Runner.signal(run_id, name, data, by=by, run_config=self._config)

    async def pause(self, run_id: str, *, by: str = "", reason: str = "") -> int:
        """Post that the run is to go no further than its turn."""
        return await Runner.pause(run_id, by=by, reason=reason, run_config=self._config)

    async def unpause(self, run_id: str, *, by: str = "") -> int:
        """Post that a paused run may go on."""
        return await Runner.unpause(run_id, by=by, run_config=self._config)

    async def cancel(self, run_id: str, *, mode: CancelMode = "now", by: str = "", reason: str = "") -> int:
        """Post that the run is to stop, for good. Its workflow ends with `RunCancelledError`."""
        return await Runner.cancel(run_id, mode=mode, by=by, reason=reason, run_config=self._config)

    async def status(self, run_id: str) -> Rest:
        """How a run stands, and what waits in it. `failure` is why its workflow has ended, where the run is open still.

        Raises `RunNotFoundError`, and `StoreError`.
        """
        workflow = await DBOS.get_workflow_status_async(check_run_id(run_id))
        try:
            rest = await self._driver.standing(run_id)
        except RunNotFoundError:
            if workflow is None:
                raise
            rest = Rest(status="ready")
        if workflow is None or workflow.error is None or rest.failure is not None:
            return rest
        return msgspec.structs.replace(rest, failure=Failure.of(workflow.error))

    async def result(self, run_id: str) -> object:
        """The final output of a run, waited for: text, or what JSON the agent's output type is.

        Raises the error that its workflow ended with, and `RunNotFoundError`.
        """
        # In a workflow DBOS would record what it knows of that one, and it has just begun it.
        if DBOS.workflow_id is None and await DBOS.get_workflow_status_async(check_run_id(run_id)) is None:
            raise not_found(run_id)
        found: WorkflowHandleAsync[object] = await DBOS.retrieve_workflow_async(run_id, existing_workflow=False)
        return await found.get_result(polling_interval_sec=_POLL)

    async def resume(self, run_id: str) -> None:
        """Have DBOS go on with a run whose workflow has ended or was cancelled there, or that never had one: a fork, or a run
        that another program submitted to the store. It runs under the present version of the application.

        Raises `RunConflictError` where its workflow goes on still, and `RunNotFoundError`.
        """
        workflow = await DBOS.get_workflow_status_async(check_run_id(run_id))
        if workflow is not None:
            try:
                await DBOS.rewind_workflow_async(run_id, application_version=DBOS.application_version)
            except dbos_errors.DBOSException as error:
                raise RunConflictError(
                    f"the workflow of run {run_id!r} is {workflow.status}, expected one that has ended; leave it to DBOS"
                ) from error
            return
        standing = await self._driver.first_agent(run_id)
        with SetWorkflowID(run_id), suppress(dbos_errors.DBOSWorkflowIDInUseError):
            await DBOS.start_workflow_async(self._run, msgspec.to_builtins(Job(run_id, standing)), None)

    async def aclose(self) -> None:
        """Hand back what this process drives, before its store is closed and DBOS is destroyed: DBOS goes on with it in the
        process that comes next. A tool that runs has `RunConfig.cancel_grace` seconds to end. A second call does nothing.
        """
        self._is_closed = True
        for task in list(self._tasks):
            task.get_loop().call_soon_threadsafe(task.cancel)
        while self._tasks:  # noqa: ASYNC110 - they may be of another event loop, which DBOS runs in a thread
            await asyncio.sleep(_LOOK)

    @contextmanager
    def _working(self) -> Generator[None]:
        """While this process is at a run."""
        task = asyncio.current_task()
        assert task is not None
        if self._is_closed:
            raise asyncio.CancelledError
        self._tasks.add(task)
        try:
            yield
        finally:
            self._tasks.discard(task)

    def _job(self, given: object, run_id: str | None, agent: str | None, metadata: Mapping[str, str] | None) -> JsonObject:
        """A new run as what DBOS keeps of it. Raises `UserError`."""
        if run_id is not None:
            check_run_id(run_id)
        name = self._driver.agent_to_begin(agent)
        if self._driver.agents[name].driver is not None:
            data = plain_json(f"the input of workflow {name!r}", given)
        else:
            items = items_from_input(cast("str | Sequence[InputItem]", given))
            data = given if isinstance(given, str) else [item_to_dict(item) for item in items]
        job: JsonObject = msgspec.to_builtins(Job(run_id or "", name, data, dict(metadata or {})))
        return job


def _step(name: str) -> StepOptions:
    """A step that DBOS tries once, and stops where its workflow is cancelled."""
    return {"name": name, "preemptible": True}


async def _owner() -> RunOwner:
    """Which attempt of DBOS this is: it stamps a workflow by the clock of its database each time that it gives it to a process.

    To be asked in a step: elsewhere DBOS would record the answer, and give it to the next attempt.
    """
    run_id = DBOS.workflow_id
    assert run_id is not None and DBOS.step_id is not None
    workflow = await DBOS.get_workflow_status_async(run_id)
    assert workflow is not None
    created = workflow.created_at or 0
    return RunOwner(f"dbos/{run_id}/{created}", _in_ms(max(created, workflow.dequeued_at or 0)))


async def _outside(driving: Coroutine[Any, Any, Rest]) -> Rest:
    """Drive where DBOS knows of no workflow, in the present span: what tools do with DBOS is no part of this step, in which it
    would let them begin no workflow."""
    context = Context()
    context.run(telemetry.attach, telemetry.get_current())
    return await asyncio.create_task(driving, context=context, name="agentsdk drive")


def _in_ms(stamp: int) -> int:
    """A stamp of DBOS in milliseconds. On SQLite it has whole seconds, by the clock of this machine, which knows the rest."""
    return stamp if stamp % 1_000 else stamp + min(max(int(time.time() * 1_000) - stamp, 0), 999)


def _recorded(rest: Rest) -> JsonObject:
    """How a run rests as DBOS keeps it: without what is in its calls."""
    calls = tuple([call.without_content() for call in rest.calls])
    data: JsonObject = msgspec.to_builtins(msgspec.structs.replace(rest, calls=calls))
    return data


async def _require_same(run_id: str, job: JsonObject) -> None:
    """Raises `RunConflictError` where the workflow was begun with another job."""
    workflow: WorkflowStatus | None = await DBOS.get_workflow_status_async(run_id)
    given = None if workflow is None or workflow.input is None else workflow.input["args"][:1]
    if given is not None and tuple(given) != (job,):
        raise RunConflictError(
            f"run {run_id!r} was begun with another input, agent or metadata, expected the same; choose another run_id"
        )
