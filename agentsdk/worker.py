"""`Worker`: takes the runs of a store that are due, and drives each until it ends, waits, or has to be handed back.

A worker keeps nothing that the store does not have. It claims runs (`RunStore.claim`), each of which one of any number of
workers on any number of machines gets, and goes on with them as `Runner.drive` does. What it leaves (it was stopped or killed)
is due again: at once where it could say so, or else when the lease has passed.
"""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Awaitable, Callable, Mapping, Sequence
from contextlib import nullcontext
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, cast

from agentsdk.core.limits.budget import Budget
from agentsdk.databases.finished import finished
from agentsdk.define.agent import RUN_HOOKS, Agent, RunHooks
from agentsdk.define.run_config import ERROR_HANDLERS, RunConfig, RunErrorHandlers
from agentsdk.engine.begin import clock_of
from agentsdk.engine.callbacks import call_user
from agentsdk.engine.claim import give_up, owner_text
from agentsdk.engine.drive import ForRun, registry_of
from agentsdk.engine.limits.limiter import shared_limits
from agentsdk.engine.run import Run
from agentsdk.engine.stored import store_of
from agentsdk.ports.run_store import RUN_STORE, RunStore
from agentsdk.ports.session import Session
from agentsdk.runner import drive_with_run
from agentsdk.tracing.find import find_meter
from agentsdk.types.declared import CALLABLE, Fields, a, number, optional, whole
from agentsdk.types.errors import RunCancelledError, RunConflictError, StoreError, UserError
from agentsdk.types.queue import QueueStatus
from agentsdk.types.summary import DueRuns, RunSummary

logger = logging.getLogger("agentsdk")

LOOK_INTERVAL = 1.0
"""Seconds after which a worker looks for due runs though nothing told it of any: times come, and leases pass, unannounced."""

_LOST_RETRY = 0.05
"""Seconds after which a worker that lost runs to others looks again, where there are more."""

_MOST_COUNTED = 10_000

_LONGEST_RETRY = 60.0
"""Seconds after which, at the latest, a run that this worker could not go on with is tried again."""

_FIELDS = Fields(
    "Worker",
    store=RUN_STORE,
    concurrency=whole("at least 1", 1),
    config=optional(a(RunConfig, "a RunConfig; pass RunConfig(...)")),
    context=optional(CALLABLE),
    session=optional(CALLABLE),
    budget=optional(CALLABLE),
    hooks=optional(RUN_HOOKS),
    error_handlers=optional(ERROR_HANDLERS),
    grace=number("finite seconds, 0 or more", least=0),
)


async def _nothing() -> None:
    """What is to be ended where nobody watches."""


@dataclass(frozen=True)
class WorkerStatus:
    """How a worker stands: of its `concurrency` runs at once `in_work` are, and whether it takes more (`working`)."""

    concurrency: int
    in_work: int
    working: bool

    @property
    def free(self) -> int:
        """How many runs it could take now; 0 where it takes no more."""
        return max(0, self.concurrency - self.in_work) if self.working else 0


class Worker:
    """Drives the runs of `store` that are due and began with one of `agents`: `await Worker(store, agents=[clerk]).run()`.

    At most `concurrency` runs at once. Of those that are due, it takes the highest priority first, then the one that has been
    due longest. `config` is each run's `RunConfig`. `context` and `session` are called with a run's summary, and give its
    context object and session; they may be async. So may `budget`: it gives the budget that the run spends from, as
    `shared_limits` made it, or None. A run that fails is stored as that, and logged.

    `stop` has the worker take no more runs, and hands back those in work: each at the end of its turn, or, when `grace` seconds
    have passed, by cancelling it; `RunConfig.cancel_grace` says how long it then waits for tools. Another worker goes on at
    once.

    Raises `UserError` naming the argument that is wrong.
    """

    def __init__(
        self,
        store: RunStore,
        *,
        agents: Agent[Any, Any] | Mapping[str, Agent[Any, Any]] | Sequence[Agent[Any, Any]],
        concurrency: int = 16,
        config: RunConfig | None = None,
        context: ForRun | None = None,
        session: ForRun | None = None,
        budget: ForRun | None = None,
        hooks: RunHooks[Any] | None = None,
        error_handlers: RunErrorHandlers | None = None,
        grace: float = 20.0,
    ) -> None:
        _FIELDS.check_given(
            store=store,
            concurrency=concurrency,
            config=config,
            context=context,
            session=session,
            budget=budget,
            hooks=hooks,
            error_handlers=error_handlers,
            grace=grace,
        )
        if config is not None and config.owner is not None:
            raise UserError(
                "a Worker was given a RunConfig with an owner, expected none: it makes one for each run; leave it out"
            )
        self._config = replace(config or RunConfig(), store=store)
        self._store = store_of(self._config)
        self._agents = registry_of(agents)
        self._concurrency = concurrency
        self._context = context
        self._session = session
        self._budget = budget
        self._hooks = hooks
        self._error_handlers = error_handlers
        self._grace = grace
        self._now = clock_of(self._config)
        self._tasks: dict[str, asyncio.Task[None]] = {}
        self._since: dict[str, float] = {}
        self._runs: dict[str, Run] = {}
        self._retries: dict[str, tuple[float, float]] = {}
        self._has_more = False
        self._loop: asyncio.AbstractEventLoop | None = None
        self._stopping = False
        self._woken = asyncio.Event()

    def __repr__(self) -> str:
        return f"Worker({sorted(self._agents)}, {len(self._tasks)} of {self._concurrency} runs in work)"

    async def run(self) -> None:
        """Work until `stop` is called, and the runs in work are handed back. If it is cancelled, it hands them back too.

        A store that is away is tried again. Raises `StoreError` for what else the store raises, and `UserError` where this
        worker works already.
        """
        if self._loop is not None:
            raise UserError(f"{self!r} works already, expected one call of run() at a time; make another Worker")
        self._loop = asyncio.get_running_loop()
        self._stopping, seen = False, 0
        unwatch = self._watched()
        try:
            while not self._stopping:
                self._woken.clear()
                timeout = LOOK_INTERVAL
                if self._free() > 0:
                    timeout = await self._take()
                seen = await self._wait(seen, timeout)
        finally:
            self._stopping = True
            try:
                await self._hand_back()
            finally:
                self._loop = None
                await unwatch()

    def stop(self) -> None:
        """Take no more runs, hand back those in work, and let `run` return. May be called from a signal handler or a thread."""
        self._stopping = True
        if self._loop is not None:
            self._loop.call_soon_threadsafe(self._wind_down)

    def status(self) -> WorkerStatus:
        """How it stands. May be called from any thread."""
        working = self._loop is not None and not self._stopping
        return WorkerStatus(self._concurrency, len(self._tasks), working)

    async def queue(self) -> QueueStatus:
        """The runs of its agents that wait for a worker, counted up to 10,000: the size of what all workers have before them.

        Raises `StoreError`s.
        """
        return await self._store.queue(DueRuns(at=self._now(), agents=sorted(self._agents), limit=_MOST_COUNTED))

    def _watched(self) -> Callable[[], Awaitable[None]]:
        """Have whoever reads metrics see this worker; what ends that."""
        meter = None if self._config.tracing_disabled else self._config.meter or find_meter()
        watching = getattr(meter, "watch", None)
        if watching is None:
            return _nothing
        from agentsdk.tracing.worker_gauges import WorkerGauges

        def in_work() -> list[float]:
            now = time.monotonic()
            return [now - since for since in list(self._since.values())]

        def leases() -> list[float]:
            recorders = [run.recorder for run in list(self._runs.values())]
            return [recorder.lease_left() for recorder in recorders if recorder is not None]

        gauges = WorkerGauges(sorted(self._agents), self._concurrency, in_work, leases, self.queue)
        watching(gauges)

        async def end() -> None:
            cast(Any, meter).unwatch(gauges)
            await gauges.end()

        return end

    def _wind_down(self) -> None:
        """Have each run stop at the end of its turn."""
        self._woken.set()
        for run in self._runs.values():
            run.stop_requested = True

    async def _take(self) -> float:
        """Claim runs that are due, as many as there is room for, and begin with them; seconds until to look again."""
        now = self._now()
        try:
            if self._has_more and await self._claim(now) == 0:
                return LOOK_INTERVAL
            timeout, due = await self._look(now)
            lost = due and await self._claim(now) > 0 and self._has_more
            return _LOST_RETRY if lost else timeout
        except StoreError as error:
            logger.warning("%r could not look for due runs: %s", self, error)
            return LOOK_INTERVAL

    async def _look(self, now: float) -> tuple[float, bool]:
        """Seconds until the next run is due, and whether there are some now."""
        besides = self._besides()
        limit = self._free() + len(besides)
        page = await self._store.due(DueRuns(at=now + LOOK_INTERVAL, agents=sorted(self._agents), limit=limit))
        self._has_more = len(page) == limit
        times = [run.due_at - now for run in page if run.run_id not in besides]
        return min([time for time in times if time > 0], default=LOOK_INTERVAL), any(time <= 0 for time in times)

    async def _claim(self, now: float) -> int:
        """Claim due runs, and begin with them, also where it is cancelled; how many more there would be room for."""
        query, owner = DueRuns(at=now, agents=sorted(self._agents), limit=self._free()), owner_text(None)
        claiming = asyncio.ensure_future(self._store.claim(query, owner, now + self._config.lease, self._besides()))
        claiming.add_done_callback(partial(self._start, owner))
        await finished(claiming)
        return self._free()

    def _start(self, owner: str, claiming: asyncio.Future[list[RunSummary]]) -> None:
        """Begin with what was claimed."""
        if claiming.cancelled() or claiming.exception() is not None:
            return
        for summary in claiming.result():
            run_id = summary.run_id
            self._since[run_id] = time.monotonic()
            task = self._tasks[run_id] = asyncio.create_task(self._drive(summary, owner), name=f"agentsdk worker {run_id}")
            task.add_done_callback(partial(self._done, run_id))

    def _free(self) -> int:
        return self._concurrency - len(self._tasks)

    def _besides(self) -> list[str]:
        """The runs in work here, and those that this worker is unable to go on with for a while."""
        now = asyncio.get_running_loop().time()
        return [*self._tasks, *(run_id for run_id, (at, _) in self._retries.items() if at > now)]

    def _done(self, run_id: str, _: asyncio.Task[None]) -> None:
        was_full = self._free() <= 0
        del self._tasks[run_id], self._since[run_id]
        if self._has_more or was_full or self._stopping:
            self._woken.set()

    async def _wait(self, seen: int, timeout: float) -> int:
        """Return when runs may have become due and there is room for them, after `timeout` seconds at the latest."""
        woken = asyncio.ensure_future(self._woken.wait())
        waits: list[asyncio.Future[Any]] = [woken]
        if self._free() > 0:
            waits.append(asyncio.ensure_future(self._store.wait_due(seen, timeout)))
        try:
            await asyncio.wait(waits, timeout=timeout, return_when=asyncio.FIRST_COMPLETED)
            for due in waits[1:]:
                if due.done() and not due.cancelled() and isinstance(error := due.exception(), Exception):
                    logger.warning("%r could not wait for due runs: %s", self, error)
                    await asyncio.wait([woken], timeout=timeout)  # a store that fails at once is not asked without a pause
        finally:
            for one in waits:
                one.cancel()
            await asyncio.wait(waits)
        for due in waits[1:]:
            if not due.cancelled() and due.exception() is None:
                seen = due.result()
        return seen

    async def _drive(self, summary: RunSummary, owner: str) -> None:
        """Drive a run that was claimed as `owner`. What goes wrong is logged, and never ends the worker."""
        run_id = summary.run_id
        try:
            await self._drive_claimed(summary, owner)
            self._retries.pop(run_id, None)
        except RunConflictError as error:
            logger.warning("run %r was taken from %r: %s", run_id, self, error)
        except RunCancelledError as error:
            logger.info("%s", error)
        except Exception as error:
            logger.warning("run %r failed: %s: %s", run_id, type(error).__name__, error)
            try:
                await self._leave(summary, owner)
            except StoreError as away:
                logger.warning("%r left run %r to its lease: %s", self, run_id, away)

    async def _drive_claimed(self, summary: RunSummary, owner: str) -> None:
        config = replace(self._config, run_id=summary.run_id)
        context = None if self._context is None else await call_user("context of a Worker", self._context, summary)
        session = None if self._session is None else await call_user("session of a Worker", self._session, summary)
        budget = None if self._budget is None else await call_user("budget of a Worker", self._budget, summary)
        try:
            with nullcontext() if budget is None else shared_limits(cast(Budget, budget)):
                await drive_with_run(
                    self._agents,
                    summary.run_id,
                    run_config=config,
                    context=context,
                    on_begin=self._begin,
                    owner=owner,
                    session=cast("Session | None", session),
                    hooks=self._hooks,
                    error_handlers=self._error_handlers,
                )
        finally:
            self._runs.pop(summary.run_id, None)

    def _begin(self, run: Run) -> None:
        self._runs[run.state.run_id] = run
        run.stop_requested = self._stopping

    async def _leave(self, summary: RunSummary, owner: str) -> None:
        """Where nothing was recorded of a run, it is due again: for other workers at once, for this one after a while."""
        if await give_up(self._store, summary, owner, self._now()):
            _, before = self._retries.get(summary.run_id, (0.0, LOOK_INTERVAL / 2))
            wait = min(2 * before, _LONGEST_RETRY)
            self._retries[summary.run_id] = asyncio.get_running_loop().time() + wait, wait

    async def _hand_back(self) -> None:
        """Wait for the turns to end; cancel the runs whose turn has not within the grace."""
        self._wind_down()
        tasks = dict(self._tasks)
        try:
            if tasks:
                await asyncio.wait(tasks.values(), timeout=self._grace)
        finally:
            late = {run_id: task for run_id, task in tasks.items() if not task.done()}
            for run_id, task in late.items():
                logger.warning("run %r is handed back in the middle of a turn: its grace is over", run_id)
                task.cancel()
            if late:
                await asyncio.wait(late.values())
