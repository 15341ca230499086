"""`Driver`: takes a run to where it rests, for an engine that may ask any number of times, from any number of processes.

The engine keeps which runs there are and asks again for those whose process died; the store keeps all that happens in them.
What fails on the way to the store is tried again here, with waits that grow: an engine would count that as attempts.
"""

from __future__ import annotations

import asyncio
import logging
import random
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any, cast

import msgspec
from msgspec import Struct

from agentsdk.core.run_state import RunState
from agentsdk.define.agent import RUN_HOOKS, Agent, RunHooks
from agentsdk.define.run_config import ERROR_HANDLERS, RunConfig, RunErrorHandlers
from agentsdk.durable.rest import Failure, Rest, WaitingCall
from agentsdk.engine.begin import clock_of
from agentsdk.engine.callbacks import call_user
from agentsdk.engine.claim import is_lost
from agentsdk.engine.drive import ForRun, agent_to_begin, registry_of
from agentsdk.engine.run import Run
from agentsdk.engine.stored import store_of
from agentsdk.ports.run_store import RUN_STORE, RunStore, not_found, wait_for_revision
from agentsdk.runner import Runner, drive_with_run
from agentsdk.types.declared import CALLABLE, Fields, a, optional
from agentsdk.types.errors import AgentsException, RunCancelledError, RunConflictError, RunNotFoundError, StoreError, UserError
from agentsdk.types.owner import RunOwner
from agentsdk.types.summary import RunSummary

logger = logging.getLogger("agentsdk")

FIRST_RETRY = 0.1
LONGEST_RETRY = 30.0
"""Seconds before the first and the latest further attempt."""

LOOK_INTERVAL = 60.0
"""Seconds after which a run that waits is looked at though nothing told of a change."""

_CONFLICTS = 5
"""How often in a row a run that nobody holds may have gone on elsewhere."""

_FIELDS = Fields(
    "the runs of an engine",
    store=RUN_STORE,
    config=optional(a(RunConfig, "a RunConfig; pass RunConfig(...)")),
    context=optional(CALLABLE),
    session=optional(CALLABLE),
    hooks=optional(RUN_HOOKS),
    error_handlers=optional(ERROR_HANDLERS),
)


def _nobody(run: Run) -> None:
    """Whom no run is told to."""


class Job(Struct, frozen=True):
    """A run that an engine drives, as plain data. `input` is a text or items as dicts, of a workflow of ours its argument; None
    for a run that is there already."""

    run_id: str
    agent: str
    input: object = None
    metadata: dict[str, str] = {}


class Driver:
    """Drives the runs of `store` that began with one of `agents`. The arguments are those of a `Worker`.

    Raises `UserError` naming the argument that is wrong.
    """

    def __init__(
        self,
        store: RunStore,
        agents: Agent[Any, Any] | Mapping[str, Agent[Any, Any]] | Sequence[Agent[Any, Any]],
        config: RunConfig | None = None,
        context: ForRun | None = None,
        session: ForRun | None = None,
        hooks: RunHooks[Any] | None = None,
        error_handlers: RunErrorHandlers | None = None,
    ) -> None:
        _FIELDS.check_given(
            store=store, config=config, context=context, session=session, hooks=hooks, error_handlers=error_handlers
        )
        self.config = replace(config or RunConfig(), store=store)
        self.agents = registry_of(agents)
        self._store = store_of(self.config)
        self._plain_store = store
        self._context = context
        self._session = session
        self._hooks = hooks
        self._error_handlers = error_handlers
        self._now = clock_of(self.config)

    def agent_to_begin(self, name: str | None) -> str:
        """The name of the agent that a new run begins with. Raises `UserError`."""
        return agent_to_begin(self.agents, name).name

    async def drive(self, job: Job, owner: RunOwner) -> Rest:
        """Begin a run, or go on with it, as `owner`, until it rests; how it stands then, also where it has failed.

        Waits for a store that is away, and for a run that another one holds. Raises `RunConflictError` where a later attempt of
        `owner` has the run: nothing is to be recorded of this one.
        """
        wait, conflicts = FIRST_RETRY, 0
        while True:
            try:
                rest = await self.attempt(job, owner)
                if rest.status not in ("ready", "running"):
                    return rest
            except RunNotFoundError as error:
                return await self.after(job.run_id, error)
            except StoreError as error:
                if isinstance(error, RunConflictError):
                    held, conflicts = await self._is_held(job.run_id, owner), conflicts + 1
                    if not held and conflicts == _CONFLICTS:
                        return await self.after(job.run_id, error)
                logger.warning("run %r is tried again in %.1f s: %s", job.run_id, wait, error)
            except AgentsException as error:
                return await self.after(job.run_id, error)
            await asyncio.sleep(wait * random.uniform(0.5, 1.0))
            wait = min(2 * wait, LONGEST_RETRY)

    async def attempt(self, job: Job, owner: RunOwner, on_begin: Callable[[Run], None] = _nobody) -> Rest:
        """Try that once. Raises what `Runner.drive` does; `after` tells what it comes to. `on_begin` gets the run in work."""
        summary = await self._store.summary(job.run_id)
        summary = summary or self._to_begin(job)
        context = None if self._context is None else await call_user("context of a durable run", self._context, summary)
        session = None if self._session is None else await call_user("session of a durable run", self._session, summary)
        metadata = {**(self.config.metadata or {}), **job.metadata}
        result = await drive_with_run(
            self.agents,
            job.run_id,
            self._input(job),
            job.agent or None,
            run_config=replace(self.config, run_id=job.run_id, owner=owner, metadata=metadata),
            context=context,
            on_begin=on_begin,
            session=session,
            hooks=self._hooks,
            error_handlers=self._error_handlers,
        )
        summary = await self._store.summary(job.run_id)
        if summary is None:
            raise not_found(job.run_id)
        return _rest(summary, result.to_state())

    async def after(self, run_id: str, error: AgentsException) -> Rest:
        """How a run stands after an attempt has raised `error`: `failed` or `cancelled` where that is what ended it, and as it
        stood before where it could not be gone on with here, for want of its agent say."""
        try:
            summary = await self._store.summary(run_id)
        except StoreError:
            summary = None
        if summary is None:
            return Rest(status="ready", failure=Failure.of(error))
        return Rest(summary.status, summary.rev, summary.taken, failure=Failure.of(error))

    async def wait(self, run_id: str, rest: Rest) -> None:
        """Return when a run that rests may go on: somebody has posted to it or decided on it, or its time has come."""
        retry = FIRST_RETRY
        while True:
            timeout = LOOK_INTERVAL
            if rest.due_at:
                timeout = min(timeout, rest.due_at - self._now())
                if timeout <= 0:
                    return
            try:
                await self._first_change(run_id, rest, timeout)
                summary = await self._store.summary(run_id)
            except StoreError as error:
                logger.warning("run %r is looked at again in %.1f s: %s", run_id, retry, error)
                await asyncio.sleep(retry)
                retry = min(2 * retry, LONGEST_RETRY)
                continue
            if summary is None or summary.rev != rest.revision or summary.signals > rest.taken:
                return

    async def standing(self, run_id: str) -> Rest:
        """How a run stands in the store. Raises `RunNotFoundError`, and `StoreError`."""
        summary = await self._store.summary(run_id)
        if summary is None:
            raise not_found(run_id)
        return _rest(summary, await Runner.load(run_id, run_config=self.config))

    async def first_agent(self, run_id: str) -> str:
        """The agent that a stored run began with. Raises `RunNotFoundError`."""
        summary = await self._store.summary(run_id)
        if summary is None:
            raise not_found(run_id)
        return summary.first_agent

    def _input(self, job: Job) -> object:
        """What the run begins with: that of a workflow of ours is its argument, as JSON. Raises `UserError`."""
        agent = self.agents.get(job.agent)
        if agent is None or agent.driver is None or job.input is None:
            return job.input
        (codec,) = cast(Any, agent).signature.parameters.values()
        try:
            return cast(Any, agent).written(codec.read(msgspec.json.encode(job.input).decode()))
        except ValueError as error:
            raise UserError(
                f"the input of run {job.run_id!r} is not what workflow {job.agent!r} takes: {error}; send that"
            ) from error

    def _to_begin(self, job: Job) -> RunSummary:
        """What is known of a run before it begins."""
        now = self._now()
        return RunSummary(
            run_id=job.run_id,
            rev=0,
            status="ready",
            agent=job.agent,
            first_agent=job.agent,
            started_at=now,
            updated_at=now,
            metadata={**(self.config.metadata or {}), **job.metadata},
        )

    async def _is_held(self, run_id: str, owner: RunOwner) -> bool:
        """Whether another one holds the run. Raises `RunConflictError` where that is a later attempt of `owner`."""
        try:
            summary = await self._store.summary(run_id)
        except StoreError:
            return True  # nobody knows: it is looked at again
        had = None if summary is None else RunOwner.read(summary.owner)
        if had is not None and had.name == owner.name and had.attempt > owner.attempt:
            logger.warning("run %r was taken by a later attempt of %r: this one is over", run_id, owner.name)
            raise RunConflictError(
                f"run {run_id!r} was taken by a later attempt of the engine, expected this to be the latest; leave it to that"
            )
        return summary is not None and is_lost(summary, owner, self._now())

    async def _first_change(self, run_id: str, rest: Rest, timeout: float) -> None:
        """Return when the run's log or its mailbox has grown, or after `timeout` seconds."""
        waits = [
            asyncio.ensure_future(wait_for_revision(self._plain_store, run_id, rest.revision, timeout)),
            asyncio.ensure_future(self._store.wait_signals(run_id, rest.taken, timeout)),
        ]
        try:
            done, _ = await asyncio.wait(waits, return_when=asyncio.FIRST_COMPLETED)
        finally:
            for one in waits:
                one.cancel()
            await asyncio.wait(waits)
        for one in done:
            one.result()


def _rest(summary: RunSummary, state: RunState) -> Rest:
    ended = state.value.ended
    output: object = None
    if ended is not None:
        output = msgspec.json.decode(ended.output) if ended.is_json else ended.output
    failure, stopped = None, state.value.stopped
    if summary.status == "cancelled":
        by = "" if stopped is None else stopped.by
        failure = Failure.of(RunCancelledError(f"run {summary.run_id!r} was cancelled by {by!r}", by=by, reason=summary.error))
    elif summary.status == "failed":
        failure = Failure(summary.reason, summary.error)
    return Rest(
        status=summary.status,
        revision=summary.rev,
        taken=summary.taken,
        due_at=summary.due_at if summary.status == "waiting" else 0.0,
        turns=summary.turns,
        tokens=summary.tokens,
        calls=() if summary.is_over else tuple([WaitingCall.of(item) for item in state.interruptions]),
        output=output,
        failure=failure,
    )
