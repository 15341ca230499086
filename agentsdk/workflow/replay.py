"""Replay of a recorded run of a workflow: its program is run once more over the record, and must come to the same.

Every result that it calls for is recorded by then, so no body runs and nobody is asked.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from typing import Any

from msgspec import structs

from agentsdk.core.diff import Divergence, shown
from agentsdk.core.run_state import RunState
from agentsdk.core.state import State, fold
from agentsdk.define.agent import Agent
from agentsdk.define.run_config import RunConfig
from agentsdk.engine.replay import Replay
from agentsdk.runner import Runner
from agentsdk.types.errors import AgentsException, CallbackError, WorkflowChangedError, WorkflowFailedError
from agentsdk.types.events import RunEnded, RunEvent, RunStarted, StepBegan, Stopped, ToolFinished
from agentsdk.workflow.call import REHEARSAL, Call, Program

_ENDS = (WorkflowFailedError.__name__, CallbackError.__name__)
"""What a program raises by itself: it does so again."""


async def replay_program(agent: Agent[Any, Any], recorded: State, config: RunConfig) -> Replay:
    """Replay a run up to its first step that comes out otherwise."""
    log = list(recorded.log)
    begun = {event.call_id for event in log if isinstance(event, StepBegan)}
    was, unknown = _outcome(recorded), list[str]()

    async def rehearsed(program: Program, call: Call) -> ToolFinished | None:
        if was and call.key not in begun:
            unknown.append(call.key)
        return None  # it had no result when the run came to where it is

    token = REHEARSAL.set(rehearsed)
    try:
        now, step = await _replayed(agent, log, config)
    finally:
        REHEARSAL.reset(token)
    if unknown:
        now, step = f"calls step {unknown[0]!r}, which is not recorded", unknown[0]
    results = [number for number, event in enumerate(log) if isinstance(event, ToolFinished)]
    if not step and (not was or now == was):
        return Replay(recorded.run_id, 0, len(results), recorded.ended is not None)
    at = _revision(log, step)
    divergence = Divergence(at, recorded.turns, recorded.agent, f"calls step {step!r}" if step in begun else was, now)
    return Replay(recorded.run_id, 0, sum(number < at for number in results), recorded.ended is not None, divergence)


def _outcome(state: State) -> str:
    """What the program came to, in words; `""` where it waits, or was left by a dead process."""
    if state.ended is not None:
        return f"ends with {shown(state.ended.output)}"
    return f"raises {state.stopped.reason}" if state.stopped is not None and state.stopped.reason in _ENDS else ""


async def _replayed(agent: Agent[Any, Any], log: Sequence[RunEvent], config: RunConfig) -> tuple[str, str]:
    """What the program comes to over its record, and the recorded step that it calls otherwise, `""` for none."""
    started, *more = log
    assert isinstance(started, RunStarted)
    again = fold([structs.replace(started, guards=()), *[one for one in more if not isinstance(one, RunEnded | Stopped)]])
    config = dataclasses.replace(config, store=None, run_id=None, clock=None, inbox=None, tracing_disabled=True)
    try:
        result = await Runner.run(agent, RunState(again, state_key=config.state_key), run_config=config)
    except WorkflowChangedError as error:
        return "calls another step, or with other arguments", error.step
    except AgentsException as error:
        return f"raises {type(error).__name__}", ""
    return _outcome(result.to_state().value) or "waits", ""


def _revision(log: Sequence[RunEvent], step: str) -> int:
    """How many events come before the beginning of a step; all but the end where it is none of theirs."""
    begins = (number for number, event in enumerate(log) if isinstance(event, StepBegan) and event.call_id == step)
    ends = (number for number, event in enumerate(log) if isinstance(event, RunEnded | Stopped))
    return next(begins, next(ends, len(log)))
