"""Replay of a recorded run: every turn is entered once more just before the event that closed it, and must close the same way.

All that a turn asks others for (replies, results, verdicts, approvals) is recorded by then, so nobody is asked: the agents are
copies whose model, tools and other callables only say that they were called, which counts as a step that came out otherwise.
"""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Any, NoReturn, TypeVar

from msgspec import Struct

from agentsdk.core.diff import MAX_SHOWN_CHARS, Divergence
from agentsdk.core.next_step import Interruption, next_deadline, pending_calls
from agentsdk.core.revisions import step_start
from agentsdk.core.state import OpenTurn, State
from agentsdk.define.agent import Agent, AgentTool, HandoffDeclaration, InputGuardrail, OutputGuardrail
from agentsdk.define.context import RunContextWrapper
from agentsdk.define.declaration import Declaration
from agentsdk.define.output_function import OutputFunction
from agentsdk.define.run_config import RunConfig
from agentsdk.define.tool import FunctionTool, stand_in
from agentsdk.define.tool_guardrail import ToolInputGuardrail
from agentsdk.define.tool_options import NO_CHECKS
from agentsdk.engine.copies import copied
from agentsdk.engine.deps import RunDeps
from agentsdk.engine.drive import only_waits
from agentsdk.engine.log_positions import LogPosition, log_positions
from agentsdk.engine.loop import run_loop
from agentsdk.engine.prepare import find_agent
from agentsdk.engine.run import Run
from agentsdk.engine.side_request import ask_for_call
from agentsdk.types.errors import AgentsException, ModelError
from agentsdk.types.events import (
    ApprovalDecided,
    ApprovalJudged,
    ArgumentsEdited,
    CallAnswered,
    CallRetried,
    HandedOff,
    RunEnded,
    RunEvent,
    ToolFinished,
    ToolsIntended,
    TurnEnded,
    unnested,
)
from agentsdk.types.text import shortened

G = TypeVar("G", InputGuardrail[Any], OutputGuardrail[Any], ToolInputGuardrail[Any])


class Replay(Struct, frozen=True):
    """What came of replaying run `run_id`: how many turns and steps came out as recorded, and the first that did not.

    A step is a turn's end, of nested runs too, or a pause. `is_finished`: whether the recorded run was; one that a dead process
    left is replayed as far as it came.
    """

    run_id: str
    turns: int
    steps: int
    is_finished: bool
    divergence: Divergence | None = None

    def __str__(self) -> str:
        summary = f"run {self.run_id!r}: {self.turns} turns and {self.steps} steps came out as recorded"
        if self.divergence is not None:
            return f"{summary}, then not: {self.divergence}"
        return summary if self.is_finished else f"{summary}, as far as it came"


async def replay(recorded: State, agent: Agent[Any, Any], config: RunConfig) -> Replay:
    """Replay a run up to its first step that comes out otherwise."""
    inert = copied(agent, _inert_fields, _inert_tool, _inert_handoff, lambda toolset: toolset, agent)
    config = _inert_config(config)
    turns = steps = 0
    divergence: Divergence | None = None
    for step in _steps(recorded, inert):
        now = await _taken(step, config)
        if now != step.description:
            state = step.state
            was, now = shortened(step.description, MAX_SHOWN_CHARS), shortened(now, MAX_SHOWN_CHARS)
            divergence = Divergence(step.revision, state.turns, state.agent, was, now)
            break
        steps += 1
        turns += step.closed is not None
    return Replay(recorded.run_id, turns, steps, recorded.ended is not None, divergence)


class _Step(Struct, frozen=True):
    """A recorded step: `state` is where a run stood before it, `closed` the event it became, None for a pause."""

    revision: int
    state: State
    agent: Agent[Any, Any] | None
    closed: RunEvent | None
    is_nested: bool = False

    @property
    def description(self) -> str:
        """The step in words; equal for equal steps."""
        return _describe(Interruption(pending_calls(self.state)) if self.closed is None else self.closed)


def _steps(recorded: State, first: Agent[Any, Any]) -> Iterator[_Step]:
    """The steps of a run, but for a final output that no turn gave: an error handler did."""
    results: list[LogPosition] = []
    deciding = False
    for moment in log_positions(recorded, first):
        event, turn = moment.event, moment.state.turn
        decides = isinstance(event, ApprovalDecided | ArgumentsEdited | CallAnswered) or (
            isinstance(event, CallRetried | ToolFinished) and turn is not None and event.call_id in turn.in_doubt
        )
        is_unanswered = isinstance(event, ToolFinished) and turn is not None and _waits_for_answer(turn, event.call_id)
        if (decides or is_unanswered) and not deciding:
            yield from _pause(moment.whole, first)
        deciding = decides
        if isinstance(event, HandedOff):
            start = step_start(recorded.log, moment.revision)
            moment = next((before for before in results if before.revision == start), moment)
        if isinstance(event, TurnEnded | HandedOff | RunEnded) and turn is not None and turn.response is not None:
            yield _Step(moment.revision, moment.state, moment.agent, event, bool(moment.path))
        if isinstance(event, ToolFinished):
            results.append(moment)
        else:
            results.clear()
    yield from _pause(recorded, first)


def _waits_for_answer(turn: OpenTurn, call_id: str) -> bool:
    return call_id in turn.outside.awaited and call_id not in turn.outside.answers


def _pause(whole: State, first: Agent[Any, Any]) -> Iterator[_Step]:
    """The step of a run that waits for a person and has nothing else left to do."""
    agent = find_agent(first, whole.agent)
    if pending_calls(whole) and (agent is None or only_waits(whole, agent)):
        yield _Step(len(whole.log), whole, agent, None)


async def _taken(step: _Step, config: RunConfig) -> str:
    """The step that the turn comes to now, in words."""
    if step.agent is None:
        return f"there is no agent {step.state.agent!r}"
    if step.is_nested:
        config = dataclasses.replace(config, input_guardrails=(), output_guardrails=())
    at = _last_moment(step.state)
    run = _Entered(
        deps=RunDeps(config, _NoCatalog(), lambda: at),
        context=RunContextWrapper(None),
        state=step.state,
        agent=step.agent,
        agents={step.agent.name: step.agent},
        drive=run_loop,
        ask_for_call=ask_for_call,
        limits=config.limits,
        stop_requested=True,  # after this turn
        is_replayed=True,
    )
    try:
        await run_loop(run)
    except _Asked as asked:
        return asked.what
    except AgentsException as error:
        if run.closed is None:
            # What the error handler then gave is recorded, and the handler not asked again.
            is_handled = isinstance(error, ModelError) and isinstance(step.closed, RunEnded)
            return step.description if is_handled else f"raises {type(error).__name__}"
    return _describe(Interruption(pending_calls(run.state)) if run.closed is None else run.closed)


class _Asked(BaseException):
    """Somebody was asked who must not be. No `Exception`: those of tools and models are part of a run."""

    def __init__(self, what: str) -> None:
        self.what = what


class _Entered(Run, eq=False, kw_only=True):
    """A run entered in a turn that has nothing left but to close: how it does is kept and goes no further."""

    closed: RunEvent | None = None

    async def record(self, *events: RunEvent) -> None:
        last = events[-1]
        if isinstance(last, TurnEnded | HandedOff | RunEnded):
            self.closed = last
            return
        raise _Asked(_describe(unnested(events[0])[1]))


def _describe(step: RunEvent | Interruption) -> str:
    match step:
        case Interruption():
            waiting = [f"{item.tool_name!r} ({'/'.join((*item.path, item.call_id))})" for item in step.pending]
            return f"waits for {', '.join(waiting)}"
        case TurnEnded():
            return "asks the model again"
        case HandedOff():
            return f"hands over to {step.agent!r}"
        case RunEnded():
            return f"ends with {step.output!r}{' as JSON' if step.is_json else ''}"
        case ToolsIntended():
            return f"runs call {', '.join(map(repr, step.call_ids))}"
        case ApprovalJudged():
            return f"asks anew whether call {step.call_id!r} may run"
        case ToolFinished():
            return f"answers call {step.call_id!r} without running it"
        case _:
            return f"comes to {type(step).__name__}"


def _never(what: str) -> Any:
    """A callable that must not be called."""

    def asked(*_: object) -> NoReturn:
        raise _Asked(f"asks {what}")

    return asked


class _NoCatalog:
    """Knows nothing of models: whoever asks asks somebody who must not be asked."""

    find = _never("the model")
    price_with = _never("a price")
    read_price_lists = _never("the prices")
    counter_of = _never("a token counter")
    context_window_of = _never("the size of a context window")


def _last_moment(state: State) -> float:
    """After every expiry, as an approval that still held would have left nothing to wait for; before the next deadline, as an
    answer that was late would have left nothing either."""
    deadline = next_deadline(pending_calls(state))
    return math.inf if deadline is None else math.nextafter(deadline, -math.inf)


def _inert_config(config: RunConfig) -> RunConfig:
    return dataclasses.replace(
        config,
        model=None,
        input_guardrails=_inert_guardrails(config.input_guardrails),
        output_guardrails=_inert_guardrails(config.output_guardrails),
        handoff_input_filter=None,
        call_model_input_filter=None,
        wrap_model_call=None,
        wrap_tool_call=None,
        grants=None,  # who was refused has that for a result
        store=None,
    )


def _inert_fields(agent: Agent[Any, Any]) -> dict[str, Any]:
    behavior = agent.tool_use_behavior
    is_rule = callable(behavior)
    return {
        "model": None,
        "hooks": None,
        "input_guardrails": _inert_guardrails(agent.input_guardrails),
        "output_guardrails": _inert_guardrails(agent.output_guardrails),
        "output_type": _inert_output(agent),
        "output_validators": [
            replace(one, function=_never(f"output validator {one.name!r}"), when=None)
            for one in Declaration.of(agent).validators
        ],
        "tool_use_behavior": _never(f"tool_use_behavior of agent {agent.name!r}") if is_rule else behavior,
    }


def _inert_output(agent: Agent[Any, Any]) -> Any:
    output = agent.output_type
    if not isinstance(output, OutputFunction):
        return output
    function = output
    return function.stand_in(stand_in(function.tool, _never(f"the output function of agent {agent.name!r}")))


def _inert_tool(tool: FunctionTool[Any]) -> FunctionTool[Any]:
    approval = tool.needs_approval
    if isinstance(tool, AgentTool):
        tool = tool.clone(session=None)
    return stand_in(
        tool,
        None if tool.external or isinstance(tool, AgentTool) else _never(f"tool {tool.name!r}"),
        needs_approval=_never(f"needs_approval of tool {tool.name!r}") if callable(approval) else approval,
        tool_input_guardrails=_inert_guardrails(tool.tool_input_guardrails),
        tool_output_guardrails=(),  # by now they have judged all that there is
        check=NO_CHECKS,  # and these have let pass what has no result
        sequential=False,  # the order of the calls is recorded
        after=(),
        resource=None,
    )


def _inert_handoff(declared: HandoffDeclaration[Any]) -> HandoffDeclaration[Any]:
    return replace(declared, on_handoff=None, input_filter=None)


def _inert_guardrails(given: Sequence[G]) -> list[G]:
    return [replace(one, guardrail_function=_never(f"guardrail {one.name!r}")) for one in given]
