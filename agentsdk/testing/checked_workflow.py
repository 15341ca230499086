"""`workflow_check`: whether a workflow's program comes to the same whenever it is run over its record."""

from __future__ import annotations

import asyncio
import dataclasses
import random
import time
from collections.abc import Awaitable, Callable
from typing import Any, TypeVar

from msgspec import Struct

from agentsdk.core.next_step import PendingCall, ToolApprovalItem, ToolInDoubtItem
from agentsdk.core.revisions import step_start
from agentsdk.core.run_state import RunState
from agentsdk.core.state import State, fold
from agentsdk.define.run_config import RunConfig
from agentsdk.runner import Runner
from agentsdk.types.errors import AgentsException, UserError, WorkflowChangedError
from agentsdk.types.events import RunEnded, RunEvent, StepBegan, ToolFinished, unnested
from agentsdk.workflow import Workflow
from agentsdk.workflow.answer_step import AnswerCall
from agentsdk.workflow.call import REHEARSAL, Call, Program

I = TypeVar("I")  # noqa: E741 - what the workflow is given

Decide = Callable[[RunState, PendingCall], None]
"""Decides on a call that waits: `state.answer(item, True)`."""

_MOST_PASSES = 8
_MOST_PAUSES = 1_000
_Place = tuple[tuple[str, ...], str]


class WorkflowCheck(Struct, frozen=True):
    """What was tried: in so many `orders` of results, from so many `prefixes` of the records, which hold so many `steps`."""

    orders: int
    prefixes: int
    steps: int

    def __str__(self) -> str:
        return f"{self.steps} steps in {self.orders} orders, resumed from {self.prefixes} prefixes: each came out as recorded"


async def workflow_check(
    workflow: Workflow[I, Any], input: I, *, decide: Decide | None = None, orders: int = 3, run_config: RunConfig | None = None
) -> WorkflowCheck:
    """Run a workflow, and then resume it from every prefix of its record, in several orders of results: each run, run again
    over what it has recorded, must come to the same without running a step.

    Bodies run, and models are asked, the first time only: the other runs are given these results, sooner or later. A step that
    only another order leads to runs as well. `decide` decides on what waits, the same each time; approvals are given without
    one. Times pass at once.

    Raises `AssertionError` where the program is not deterministic, and says at which step; and `UserError` where it waits for
    an answer without a `decide`.
    """
    config = dataclasses.replace(run_config or RunConfig(), store=None)
    if config.run_id is None:
        config = dataclasses.replace(config, run_id="workflow-check")
    if config.clock is None:
        config = dataclasses.replace(config, clock=_Clock())
    checking = _Checking(workflow, decide or _approved, config)
    prefixes = 0
    log: list[RunEvent] = []
    for order in range(orders):
        log = await checking.run(workflow.written(input), order)
        await checking.run_again(log, f"order {order}")
        for length in range(1, len(log) + 1):
            if step_start(log, length) == length:
                prefixes += 1
                where = f"order {order}, resumed after event {length} of {len(log)}"
                await checking.run_again(await checking.run(_state(log[:length]), length), where)
    return WorkflowCheck(orders, prefixes, sum(isinstance(event, StepBegan) for event in log))


class _Checking:
    """The runs of one check, which know the results of those before them."""

    def __init__(self, workflow: Workflow[Any, Any], decide: Decide, config: RunConfig) -> None:
        self._workflow = workflow
        self._decide = decide
        self._config = config
        self._known: dict[_Place, ToolFinished] = {}

    async def run(self, given: str | RunState, seed: int) -> list[RunEvent]:
        """Run to the end; what it has recorded."""
        chance = random.Random(seed)

        async def rehearsed(program: Program, call: Call) -> ToolFinished | None:
            known = None if isinstance(call, AnswerCall) else self._known.get((program.run.path, call.key))
            result = known or await call.refusal(program) or await call.come_to_result(program)
            for _ in range(chance.randrange(_MOST_PASSES)):
                await asyncio.sleep(0)
            return result

        state, _ = await self._play(given, rehearsed)
        for path, event in map(unnested, state.log):
            if isinstance(event, ToolFinished):
                self._known.setdefault((path, event.call_id), event)
        return list(state.log)

    async def run_again(self, log: list[RunEvent], where: str) -> None:
        """Run over the whole record, where nothing may be run."""
        begun = {(path, event.call_id) for path, event in map(unnested, log) if isinstance(event, StepBegan)}

        async def rehearsed(program: Program, call: Call) -> ToolFinished | None:
            if (program.run.path, call.key) in begun:
                return None  # it had no result when the run came to its end
            raise AssertionError(
                f"{self._name} is not deterministic ({where}): it calls step {call.key!r}, which is not recorded"
            )

        recorded = fold(log)
        state, error = await self._play(_state([event for event in log if not isinstance(event, RunEnded)]), rehearsed)
        if isinstance(error, WorkflowChangedError):
            raise AssertionError(f"{self._name} is not deterministic ({where}): {error}") from error
        if isinstance(error, AgentsException) and isinstance(error.__cause__, AssertionError):
            raise error.__cause__
        if _end(state) != _end(recorded):
            raise AssertionError(f"{self._name} is not deterministic ({where}): over its record it comes to another end")

    @property
    def _name(self) -> str:
        return f"workflow {self._workflow.name!r}"

    async def _play(
        self, given: str | RunState, rehearsed: Callable[[Program, Call], Awaitable[ToolFinished | None]]
    ) -> tuple[State, AgentsException | None]:
        """Where a run comes to with such bodies, and what it raised."""
        token = REHEARSAL.set(rehearsed)
        try:
            for _ in range(_MOST_PAUSES):
                result = await Runner.run(self._workflow, given, run_config=self._config)
                if not result.interruptions:
                    return result.to_state().value, None
                given = RunState.from_string(self._workflow, result.to_state().to_string())
                for item in given.interruptions:
                    self._settle(given, item)
        except AgentsException as error:
            if not isinstance(error.state, RunState):
                raise
            return error.state.value, error
        finally:
            REHEARSAL.reset(token)
        raise UserError(f"{self._name} waits without end, expected it to come to one; look at what decide= decides")

    def _settle(self, state: RunState, item: PendingCall) -> None:
        known = self._known.get((item.path, item.call_id))
        if not isinstance(item, ToolInDoubtItem):
            self._decide(state, item)
        elif known is None:
            state.retry(item)
        elif known.is_error:
            state.mark_failed(item, str(known.output))
        else:
            state.provide_result(item, result=str(known.output))


class _Clock:
    """A clock whose time passes while it sleeps."""

    def __init__(self) -> None:
        self._now = time.time()

    def time(self) -> float:
        return self._now

    async def sleep(self, seconds: float) -> None:
        await asyncio.sleep(0)
        self._now += seconds


def _approved(state: RunState, item: PendingCall) -> None:
    if not isinstance(item, ToolApprovalItem):
        raise UserError(f"call {item.call_id!r} waits for an answer, expected decide=... to give it; pass a function that does")
    state.approve(item)


def _state(log: list[RunEvent]) -> RunState:
    return RunState(fold(log))


def _end(state: State) -> tuple[str, str]:
    ended, stopped = state.ended, state.stopped
    return ("" if ended is None else ended.output), ("" if stopped is None else stopped.reason)
