"""The four next steps, and `resolve_next_step`: the priority table that picks one.

```
interruption > handoff > tool use is final > final output > run again
```
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field

import msgspec

from agentsdk.core.overflow import output_text
from agentsdk.core.process import ProcessedResponse
from agentsdk.core.state import OpenTurn, State
from agentsdk.types.base import JsonObject
from agentsdk.types.events import AnswerAwaited
from agentsdk.types.items import FunctionCall
from agentsdk.types.spec import AgentSpec, HandoffSpec


@dataclass(frozen=True, slots=True)
class PendingCall:
    """A call that cannot go on by itself. `path` names the calls (agents as tools) that lead to it, outermost first.

    `refused` says why what was decided on it before did not count; `""` where nothing was refused.
    """

    call: FunctionCall
    agent: str
    path: tuple[str, ...] = ()
    refused: str = field(default="", compare=False)

    @property
    def call_id(self) -> str:
        """The call's id."""
        return self.call.call_id

    @property
    def tool_name(self) -> str:
        """The tool's name."""
        return self.call.name

    @property
    def name(self) -> str:
        """The tool's name."""
        return self.call.name

    @property
    def arguments(self) -> str:
        """The call's arguments as JSON text: the model's, or those that a person put in their place."""
        return self.call.arguments

    @property
    def raw_item(self) -> FunctionCall:
        """The call."""
        return self.call


@dataclass(frozen=True, slots=True)
class ToolApprovalItem(PendingCall):
    """A call that waits for `state.approve(item)`, or with other arguments `state.approve(item, arguments={...})`, or
    `state.reject(item)`.

    `reason` says why it waits, where that is not its tool's own rule: the run is tainted.
    """

    reason: str = field(default="", kw_only=True, compare=False)


class ToolInDoubtItem(PendingCall):
    """A call that began, its outcome unknown.

    Settled by `state.provide_result(item, result=...)`, `.retry(item)` or `.mark_failed(item, reason)`.
    """

    __slots__ = ()


@dataclass(frozen=True, slots=True)
class ToolAnswerItem(PendingCall):
    """A call of an external tool that waits for `state.answer(item, value)`, or `state.mark_failed(item, reason)`.

    `awaited` is what is recorded of the wait.
    """

    awaited: AnswerAwaited = field(kw_only=True, compare=False)

    @property
    def question(self) -> str:
        """What a person is asked; `""` for a tool that asks nobody."""
        return self.awaited.question

    @property
    def choices(self) -> tuple[str, ...]:
        """The answers there are; none where any will do."""
        return self.awaited.choices

    @property
    def answer_schema(self) -> JsonObject | None:
        """The JSON schema of the answer; None where any fits."""
        return msgspec.json.decode(self.awaited.schema) if self.awaited.schema else None

    @property
    def waits_since(self) -> float:
        """When the call began to wait, a Unix timestamp in seconds."""
        return self.awaited.at

    @property
    def deadline(self) -> float | None:
        """Until when it waits, a Unix timestamp in seconds; None for no end."""
        return self.awaited.deadline


@dataclass(frozen=True, slots=True)
class PendingTimer(PendingCall):
    """A call of a program that waits until `deadline`, a Unix timestamp in seconds, and for nobody: no interruption."""

    deadline: float = field(kw_only=True, compare=False)


@dataclass(slots=True)
class FinalOutput:
    """The run is over. `output` is text, or JSON where `is_json`."""

    output: str
    is_json: bool = False


@dataclass(frozen=True, slots=True)
class RunAgain:
    """The model is asked again, with the results."""


@dataclass(slots=True)
class Interruption:
    """The run waits for a person, for an answer from outside, or in a workflow for a time."""

    pending: tuple[PendingCall, ...]


@dataclass(slots=True)
class Handoff:
    """Another agent goes on."""

    call: FunctionCall
    spec: HandoffSpec


NextStep = FinalOutput | RunAgain | Interruption | Handoff
"""What a turn resolves to."""

RUN_AGAIN = RunAgain()


def resolve_next_step(spec: AgentSpec, state: State, processed: ProcessedResponse, *, waits: bool = True) -> NextStep:
    """The next step of an open turn whose reply is `processed`: the first rule that applies.

    Without `waits`: as if nothing waited for a person or an answer.
    """
    turn = state.turn
    assert turn is not None, "only an open turn has a next step"
    rules = PRIORITY if processed.has_calls or turn.children else WITHOUT_CALLS
    for rule in rules if waits else PRIORITY[1:]:
        step = rule(spec, state, turn, processed)
        if step is not None:
            return _as_validated(step, turn) if turn.validated else step
    return RUN_AGAIN


def interruptions(state: State) -> tuple[PendingCall, ...]:
    """The calls that wait for a person or an answer, nested ones included, in call order."""
    return tuple([item for item in pending_calls(state) if type(item) is not PendingTimer])


def pending_calls(state: State, path: tuple[str, ...] = ()) -> tuple[PendingCall, ...]:
    """The interruptions, and the calls that wait for a time alone."""
    turn = state.turn
    if turn is None or not (turn.asked or turn.in_doubt or turn.children or turn.outside.awaited):
        return ()
    pending: list[PendingCall] = []
    for call in turn.calls:
        call_id = call.call_id
        if call_id in turn.results:
            continue
        refused = turn.outside.refused.get(call_id, "")
        if call_id in turn.in_doubt:
            pending.append(ToolInDoubtItem(call, state.agent, path))
        elif (child := turn.children.get(call_id)) is not None and not _is_asked_again(turn, call_id):
            pending.extend(pending_calls(child, (*path, call_id)))
        elif waits_for_decision(turn, call_id):
            pending.append(ToolApprovalItem(call, state.agent, path, refused, reason=turn.asked[call_id].reason))
        elif (awaited := turn.outside.awaited.get(call_id)) is not None and call_id not in turn.outside.answers:
            deadline = _time_of(turn, awaited)
            if deadline is not None:
                pending.append(PendingTimer(call, state.agent, path, deadline=deadline))
            else:
                pending.append(ToolAnswerItem(call, state.agent, path, refused, awaited=awaited))
    for run_id, child in validator_runs(turn):
        pending.extend(pending_calls(child, (*path, run_id)))
    return tuple(pending)


def _time_of(turn: OpenTurn, awaited: AnswerAwaited) -> float | None:
    """The time that is waited for; None where somebody may answer. Of what a program waits for only times have a default."""
    return awaited.deadline if turn.program is not None and awaited.default else None


def validator_runs(turn: OpenTurn) -> Iterator[tuple[str, State]]:
    """The nested runs of a turn that no call of it drives, but an output validator, each with its id."""
    if turn.children:
        called = {call.call_id for call in turn.calls}
        yield from [(run_id, child) for run_id, child in turn.children.items() if run_id not in called]


def next_deadline(pending: Sequence[PendingCall]) -> float | None:
    """The first time (a Unix timestamp in seconds) at which one of these calls waits no more; None where all wait for ever."""
    timed = [item for item in pending if isinstance(item, ToolAnswerItem | PendingTimer)]
    deadlines = [item.deadline for item in timed if item.deadline is not None]
    return min(deadlines, default=None)


def waits_for_decision(turn: OpenTurn, call_id: str) -> bool:
    """Whether a person was asked for this call and has not answered."""
    asked = turn.asked.get(call_id)
    if asked is None or not asked.needed or call_id in turn.decisions:
        return False
    return asked.begun or call_id not in turn.intended


def _is_asked_again(turn: OpenTurn, call_id: str) -> bool:
    """Whether a person was asked for a call that had begun, and has not answered."""
    asked = turn.asked.get(call_id)
    return asked is not None and asked.begun and waits_for_decision(turn, call_id)


def _interruption(spec: AgentSpec, state: State, turn: OpenTurn, processed: ProcessedResponse) -> NextStep | None:
    pending = pending_calls(state)
    return Interruption(pending) if pending else None


def _handoff(spec: AgentSpec, state: State, turn: OpenTurn, processed: ProcessedResponse) -> NextStep | None:
    for call, handoff in processed.handoffs:
        if call.call_id not in turn.results:
            return Handoff(call, handoff)
    return None


def _tool_use_is_final(spec: AgentSpec, state: State, turn: OpenTurn, processed: ProcessedResponse) -> NextStep | None:
    if spec.tool_use == "run_llm_again" or not processed.functions:
        return None
    if spec.tool_use == "custom":
        judged = turn.tool_use
        return FinalOutput(judged.output, True) if judged is not None and judged.is_final else None
    for call, tool in processed.functions:
        result = turn.results[call.call_id]
        if tool.kind == "mcp_approval":
            continue  # the provider has yet to run what was approved
        if not result.is_error and (spec.tool_use == "stop_on_first_tool" or tool.name in spec.stop_at):
            return FinalOutput(output_text(result.output), spec.output is not None)
    return None


def _final_output(spec: AgentSpec, state: State, turn: OpenTurn, processed: ProcessedResponse) -> NextStep | None:
    if processed.has_calls:
        return None
    if turn.output is not None and turn.output.error:
        return None
    if turn.output is not None and turn.output.output:
        return FinalOutput(turn.output.output, True)
    return FinalOutput(processed.answer)


def _as_validated(step: NextStep, turn: OpenTurn) -> NextStep:
    """The step, where a final output may have been sent back or changed by the agent's output validators."""
    if not isinstance(step, FinalOutput):
        return step
    if turn.rejection:
        return RUN_AGAIN
    changed = [event.output for event in turn.validated if event.output]
    return FinalOutput(changed[-1], True) if changed else step


_Rule = Callable[[AgentSpec, State, OpenTurn, ProcessedResponse], NextStep | None]

PRIORITY: tuple[_Rule, ...] = (_interruption, _handoff, _tool_use_is_final, _final_output)
"""The rules in order; when none applies the model is asked again."""

WITHOUT_CALLS = PRIORITY[-1:]
"""Those of them that can apply to a reply without calls."""
