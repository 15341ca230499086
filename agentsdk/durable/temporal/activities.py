"""The activities of `AgentRun`: one takes a run to where it rests, one posts to its mailbox.

What may pass (a store that is away, a run that another one holds, a worker without the agent) fails an attempt, and is tried
again by the server, where people see it. A run that has failed is no failed activity: it rests as that.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from dataclasses import replace
from datetime import timedelta
from typing import Any

import msgspec
from temporalio import activity
from temporalio.exceptions import ApplicationError

from agentsdk.core.progress import progress_of
from agentsdk.core.signals import checked_decision, encode_signal
from agentsdk.define.run_config import RunConfig
from agentsdk.durable.driver import Driver, Job
from agentsdk.durable.rest import Failure
from agentsdk.durable.temporal.payloads import fitting
from agentsdk.durable.temporal.workflow import DRIVE, POST
from agentsdk.engine.begin import clock_of
from agentsdk.engine.claim import is_lost
from agentsdk.engine.run import Run
from agentsdk.ports.run_store import RunStore
from agentsdk.runner import Runner
from agentsdk.stores.wrapper import RunStoreWrapper
from agentsdk.types.errors import (
    AgentsException,
    RunConflictError,
    RunNotFoundError,
    StateMismatchError,
    StoreError,
    UserError,
)
from agentsdk.types.owner import RunOwner
from agentsdk.types.signals import Decision

NAMESPACE = "temporal.namespace"
"""Under this name the metadata of a run say whose it is."""

_MOST_SECONDS = 5.0
"""Between two heartbeats."""

_AT_ONCE = timedelta(milliseconds=10)

Json = dict[str, Any]


class RunActivities:
    """The activities, over the runs of a `Driver`."""

    def __init__(self, driver: Driver) -> None:
        assert driver.config.store is not None
        self._driver = driver
        self._store = driver.config.store

    @property
    def all(self) -> list[Callable[..., Any]]:
        """What a `temporalio.worker.Worker` is given."""
        return [self.drive, self.post]

    @activity.defn(name=DRIVE)
    async def drive(self, given: Json) -> Json:
        """Post what was decided on a run while it rested, and take it to where it rests next.

        The attempt is its owner: of two workers the one that the server asked last goes on.
        """
        info = activity.info()
        since = round(info.scheduled_time.timestamp() * 1_000_000)
        owner = RunOwner(f"temporal/{info.namespace}/{info.workflow_id}", since + info.attempt)
        job = Job(
            given["run_id"],
            given.get("agent") or "",
            given.get("input"),
            {**(given.get("metadata") or {}), NAMESPACE: info.namespace},
        )
        answers: list[Json] = []
        work = _Work(info.heartbeat_timeout or timedelta(seconds=30))
        try:
            await self._require_ours(job, info.namespace)
            answers = await self._decided(job.run_id, given["decisions"], given["after"])
            while True:
                rest = await self._driver.attempt(job, owner, on_begin=work.begin)
                if rest.status not in ("ready", "running"):
                    return {**fitting(rest), "answers": answers}
                if activity.is_worker_shutdown():
                    raise ApplicationError(
                        f"run {job.run_id!r} was handed back by a worker that was stopped, expected another one to go on",
                        type="RunHandedBack",
                        next_retry_delay=_AT_ONCE,
                    )
        except AgentsException as error:
            rest = await self._driver.after(job.run_id, error)
            if rest.status in ("failed", "cancelled") and not isinstance(error, StoreError | StateMismatchError):
                return {**fitting(rest), "answers": answers}
            raise await self._failed(job.run_id, owner, error) from error
        finally:
            await work.end()

    @activity.defn(name=POST)
    async def post(self, given: Json) -> Json:
        """Post to a run's mailbox, once however often it is called for one signal of the workflow."""
        run_id, kind, after = given["run_id"], given["kind"], given["after"]
        store = _PostedOnce(self._store, after)
        config = replace(self._driver.config, store=store)
        try:
            return {"number": await _posted(run_id, kind, given["given"], config)}
        except RunNotFoundError as error:
            if kind != "cancel":
                raise _retried(error) from error  # it is about to begin
            return {"failure": msgspec.to_builtins(Failure.of(error))}
        except RunConflictError as error:
            number = await store.number_of(run_id, given["given"]) if kind == "decide" else None
            return {"failure": msgspec.to_builtins(Failure.of(error))} if number is None else {"number": number}
        except StoreError as error:
            raise _retried(error) from error
        except AgentsException as error:
            return {"failure": msgspec.to_builtins(Failure.of(error))}

    async def _decided(self, run_id: str, decisions: list[Json], after: int) -> list[Json]:
        """Post the decisions, in order; what `post` gives for each."""
        answers: list[Json] = []
        for decision in decisions:
            answer = await self.post({"run_id": run_id, "kind": "decide", "given": decision, "after": after})
            after = answer.get("number", after)
            answers.append(answer)
        return answers

    async def _require_ours(self, job: Job, namespace: str) -> None:
        """Raises `RunConflictError` for a run of another namespace, `StateMismatchError` for a new one of an unknown agent."""
        summary = await self._store.summary(job.run_id)
        if summary is None:
            if job.agent and job.agent not in self._driver.agents:
                raise StateMismatchError(
                    f"this worker has no agent {job.agent!r} for run {job.run_id!r}, expected one of "
                    f"{sorted(self._driver.agents)}; start a worker that has it"
                )
            return
        theirs = summary.metadata.get(NAMESPACE, namespace)
        if theirs != namespace:
            raise UserError(
                f"run {job.run_id!r} is of namespace {theirs!r}, expected one of {namespace!r}; give each namespace a store of "
                "its own, or choose another run_id"
            )

    async def _failed(self, run_id: str, owner: RunOwner, error: AgentsException) -> ApplicationError:
        """How an attempt fails: for good, unless it may be another worker's, or pass."""
        if isinstance(error, RunConflictError):
            summary = await self._store.summary(run_id)
            is_out_of_reach = summary is not None and is_lost(summary, owner, clock_of(self._driver.config)())
            return _retried(error) if is_out_of_reach else _permanent(error)
        passes = isinstance(error, StoreError | StateMismatchError) and not isinstance(error, RunNotFoundError)
        return _retried(error) if passes else _permanent(error)


class _Work:
    """Tells the server where a run stands, and has the run stop at the end of its turn where the worker is to stop."""

    def __init__(self, timeout: timedelta) -> None:
        self._run: Run | None = None
        self._interval = min(timeout.total_seconds() / 3, _MOST_SECONDS)
        self._tasks = [asyncio.create_task(self._beat()), asyncio.create_task(self._stop())]

    def begin(self, run: Run) -> None:
        """The run is in work."""
        self._run = run
        run.stop_requested = activity.is_worker_shutdown()

    async def end(self) -> None:
        for task in self._tasks:
            task.cancel()
        await asyncio.wait(self._tasks)

    async def _beat(self) -> None:
        while True:
            run = self._run
            activity.heartbeat(msgspec.to_builtins(progress_of(run.state)) if run is not None and run.state.log else {})
            await asyncio.sleep(self._interval)

    async def _stop(self) -> None:
        await activity.wait_for_worker_shutdown()
        if self._run is not None:
            self._run.stop_requested = True


class _PostedOnce(RunStoreWrapper):
    """The store, in which a signal that was posted behind number `after` is not posted again."""

    def __init__(self, store: RunStore, after: int) -> None:
        super().__init__(store)
        self._after = after

    async def post(self, run_id: str, signal: bytes) -> int:
        number = await self._number(run_id, signal)
        return await super().post(run_id, signal) if number is None else number

    async def number_of(self, run_id: str, decision: Json) -> int | None:
        """The number of a decision that an earlier attempt has posted."""
        return await self._number(run_id, encode_signal(checked_decision(_decision(decision))))

    async def _number(self, run_id: str, signal: bytes) -> int | None:
        records = await self._store.signals(run_id, self._after)
        return self._after + records.index(signal) + 1 if signal in records else None


async def _posted(run_id: str, kind: str, given: Json, config: RunConfig) -> int:
    if kind == "decide":
        return await Runner.decide(run_id, _decision(given), run_config=config)
    posts: dict[str, Callable[..., Any]] = {
        "send": Runner.send,
        "signal": Runner.signal,
        "pause": Runner.pause,
        "unpause": Runner.unpause,
        "cancel": Runner.cancel,
    }
    try:
        posting = posts[kind](run_id, run_config=config, **given)
    except TypeError:
        raise UserError(
            f"{kind} of run {run_id!r} was given {sorted(given)}, expected the arguments of TemporalRuns.{kind}; pass these"
        ) from None
    return int(await posting)


def _decision(given: Json) -> Decision:
    try:
        return msgspec.convert(given, Decision)
    except msgspec.ValidationError as error:
        raise UserError(f"the decision does not fit: {error}, expected the fields of a Decision; pass these") from None


def _retried(error: AgentsException) -> ApplicationError:
    return ApplicationError(str(error), type=type(error).__name__)


def _permanent(error: AgentsException) -> ApplicationError:
    failure = Failure.of(error)
    return ApplicationError(failure.message, msgspec.to_builtins(failure), type=failure.type, non_retryable=True)
