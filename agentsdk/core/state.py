"""The state of a run, and `apply`: the only thing that changes it.

`apply(state, event) -> state` is pure. A state is the fold of its log: `fold(log) == state` for every run, so saving a run
means saving its events. While a turn is open its results wait in `state.turn`; the event that ends the turn commits them to
the transcript in call order. The module is long because it is one table: what each event does to a state, event by event.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TypeVar

from msgspec import Struct, structs

from agentsdk.core.steps import Steps, step_of, with_step, without_step
from agentsdk.core.taint import Taint, taint_of_items, taint_of_results
from agentsdk.types.errors import StateCorruptError
from agentsdk.types.events import (
    AnswerAwaited,
    AnswerRefused,
    ApprovalDecided,
    ApprovalJudged,
    ArgumentsEdited,
    ArgumentsRefused,
    AttemptSpent,
    CallAnswered,
    CallRetried,
    CallsInDoubt,
    CallsOrdered,
    ContextSaved,
    GuardrailJudged,
    HandedOff,
    InputAdded,
    InputReplaced,
    LimitRaised,
    LimitReachedEvent,
    LimitWarningEvent,
    ModelReplied,
    Nested,
    OutputJudged,
    OutputValidated,
    ProgramWaits,
    RunEnded,
    RunEvent,
    RunPaused,
    RunResumed,
    RunStarted,
    RunUnpaused,
    SessionSaved,
    SignalGiven,
    SignalsTaken,
    StepBegan,
    Stopped,
    TimeSpent,
    ToolAttemptFailed,
    ToolCheckpointed,
    ToolFinished,
    ToolsetChanged,
    ToolsIntended,
    ToolUseJudged,
    TurnEnded,
    ViewReplaced,
    ViewRestored,
)
from agentsdk.types.items import FunctionCall, FunctionCallOutput, Item, output_of
from agentsdk.types.response import ModelResponse
from agentsdk.types.spec import ToolSpec
from agentsdk.types.tape import Tape
from agentsdk.types.usage import NO_USAGE, Usage

T = TypeVar("T")

UNKNOWN_OUTCOME = "interrupted, outcome unknown"
"""What history shows for a call whose result never came."""

UNANSWERED = "waits for its answer, which has not come yet"
"""What history shows for an external call that nobody has answered."""

WITHHELD = "withheld: the guardrails of this call have not let its result pass"
"""What history shows for a result that its guardrails have not judged, or that stopped the run."""

GAVE_UP = "InvalidOutputError"
"""Why a run has stopped whose feedback turns for an invalid final output were spent: who goes on with it grants them anew."""


class Outside(Struct, frozen=True, gc=False):
    """What a turn's calls have from outside, where few have anything.

    `awaited` are the external ones that began to wait for an answer, `answers` what came and has not been looked at. `edited`
    run with other arguments than the model's. `refused` says why an answer, or arguments, did not count.
    """

    awaited: dict[str, AnswerAwaited] = {}
    answers: dict[str, CallAnswered] = {}
    edited: dict[str, ArgumentsEdited] = {}
    refused: dict[str, str] = {}


NOTHING_OUTSIDE = Outside()


class Program(Struct, frozen=True, gc=False):
    """A workflow's program, as far as it is open: its steps without a result, by their keys.

    What has a result is in the log alone, so that a state does not grow with the steps. `waiting`: the program has come to rest
    before so many calls that wait; 0 where it has not. `retried` are to begin again, as a person has said.
    """

    steps: Steps = ()
    waiting: int = 0
    retried: tuple[str, ...] = ()


class OpenTurn(Struct, frozen=True, gc=False):
    """A turn that has begun and not ended: whatever is already known of it, so that entering it again does only the rest.

    Its calls are made by the model's reply, or, in a workflow, by a `program`.
    """

    response: ModelResponse | None = None
    disabled: tuple[str, ...] = ()
    partial: str = ""
    empty_replies: int = 0
    continuations: int = 0
    verdicts: tuple[GuardrailJudged, ...] = ()
    asked: dict[str, ApprovalJudged] = {}
    decisions: dict[str, ApprovalDecided] = {}
    intended: tuple[str, ...] = ()
    in_doubt: tuple[str, ...] = ()
    results: dict[str, ToolFinished] = {}
    children: dict[str, State] = {}
    tool_use: ToolUseJudged | None = None
    output: OutputJudged | None = None
    is_last: bool = False
    arrived: tuple[Item, ...] = ()
    outside: Outside = NOTHING_OUTSIDE
    chosen_model: str = ""
    attempts: dict[str, tuple[ToolAttemptFailed, ...]] = {}
    order: CallsOrdered | None = None
    validated: tuple[OutputValidated, ...] = ()
    checkpoints: dict[str, str] = {}
    program: Program | None = None

    @property
    def rejection(self) -> str:
        """Why the final output was sent back to the model; `""` where it was not."""
        if self.output is not None and self.output.error:
            return self.output.error
        return self.validated[-1].feedback if self.validated else ""

    @property
    def calls(self) -> tuple[FunctionCall, ...]:
        """The reply's calls, in order, with the arguments that they run with; of a program its open steps."""
        if self.response is None:
            pieces = () if self.program is None else self.program.steps
            return tuple([FunctionCall(step.call_id, step.name, step.arguments) for piece in pieces for step in piece.values()])
        return tuple([self.as_run(item) for item in self.response.output if type(item) is FunctionCall])

    def as_run(self, call: FunctionCall) -> FunctionCall:
        """A call of the reply with the arguments that it runs with: the model's, or those that a person put in their place."""
        edited = self.outside.edited.get(call.call_id)
        return call if edited is None else structs.replace(call, arguments=edited.arguments)


class ToolFailures(Struct, frozen=True, gc=False):
    """How many calls of a tool running have failed with what may pass, and when the last one did."""

    count: int
    at: float


class Compaction(Struct, frozen=True, gc=False):
    """What a compaction of the view replaced.

    `before` is the view as it was, None where that was the whole transcript; `length` of the items of the view after it stand
    for that.
    """

    before: tuple[Item, ...] | None
    length: int


class Offered(Struct, frozen=True, gc=False):
    """What a toolset answered last: its tools by name, in the order the model sees them, and what the model is told of them.

    `note` is what it has noted for itself.
    """

    tools: dict[str, ToolSpec] = {}
    instructions: str = ""
    note: str = ""


class State(Struct, frozen=True, gc=False):
    """A run at one moment.

    `transcript` is every committed item; `view` is what the model sees of it (the same tape until a handoff filter or
    compaction replaces it). `turns` counts replies of this run, `all_turns` those of nested runs too. `used_tools`: whether the
    current agent has called a tool. `compacted` are the compactions of the view that can be taken back, the latest at its end,
    `is_restored` whether a person has taken one back since, `windows` the sizes of models' windows, by the models' names, where
    refusals have shown them. `has_cut`: whether a result was cut for being too long. `saved` items of the transcript are in the
    session, `provisional` more stand there for the open turn, or for an input that has been replaced since. `context` is the
    user's context object as their codec wrote it. `taken` signals of its mailbox are recorded. `offered` is what toolsets
    answered last, by agent and toolset. `failures` are of the tools whose last calls failed with what may pass, by the tool's
    name. `taint` is what made the run untrusted first, None where nothing has. `signals` with data are those that no call has
    waited for yet.
    """

    log: Tape[RunEvent]
    transcript: Tape[Item]
    view: Tape[Item]
    run_id: str = ""
    agent: str = ""
    first_agent: str = ""
    history: int = 0
    saved: int = 0
    provisional: int = 0
    turn: OpenTurn | None = None
    turns: int = 0
    all_turns: int = 0
    used_tools: bool = False
    compacted: Tape[Compaction] | None = None
    is_restored: bool = False
    windows: dict[str, int] = {}
    has_cut: bool = False
    usage: Usage = NO_USAGE
    invalid_outputs: int = 0
    input_verdicts: tuple[GuardrailJudged, ...] = ()
    always: tuple[ApprovalDecided, ...] = ()
    limit: LimitReachedEvent | None = None
    limits_near: tuple[str, ...] = ()
    limits_raised: tuple[LimitRaised, ...] = ()
    elapsed: float = 0.0
    working: float = 0.0
    stopped: Stopped | None = None
    paused: RunPaused | None = None
    taken: int = 0
    ended: RunEnded | None = None
    context: str = ""
    offered: dict[tuple[str, str], Offered] = {}
    failures: dict[str, ToolFailures] = {}
    taint: Taint | None = None
    signals: tuple[SignalGiven, ...] = ()


_NO_ITEMS: Tape[Item] = Tape()  # never extended: a run's start puts tapes of its own in place of it


def new_state() -> State:
    """A run before its first event."""
    return State(Tape(), _NO_ITEMS, _NO_ITEMS)


class _MisplacedError(Exception):
    """Why an event cannot follow; the text holds no value of it."""


_NOT_STARTED = "the run has not started"


def apply(state: State, event: RunEvent) -> State:
    """The state after `event`. Raises `StateCorruptError` for an event that cannot follow."""
    if not state.first_agent and type(event) is not RunStarted:
        raise _misplaced(event, len(state.log), _NOT_STARTED)
    try:
        changed = _CHANGES[type(event)](_replace(state), event)
    except _MisplacedError as reason:
        raise _misplaced(event, len(state.log), reason) from None
    _set(changed, "log", state.log.extended((event,)))
    return changed


def fold(events: Sequence[RunEvent]) -> State:
    """The state that a log leads to: `apply` over all of it, without a copy for each event, the log put in place once."""
    state = new_state()
    if events and type(events[0]) is not RunStarted:
        raise _misplaced(events[0], 0, _NOT_STARTED)
    for position, event in enumerate(events):
        try:
            state = _CHANGES[type(event)](state, event)
        except _MisplacedError as reason:
            raise _misplaced(event, position, reason) from None
    return _replace(state, log=Tape(events))


def _no_event(state: State, event: object) -> State:
    raise _MisplacedError("it is no event of a run")


def _misplaced(event: RunEvent, position: int, reason: object) -> StateCorruptError:
    return StateCorruptError(
        f"event {position} ({type(event).__name__!r}) cannot follow the log before it ({reason}), expected a log written by "
        "this library; resume from an untouched copy"
    )


def is_cancelled(state: State) -> bool:
    """Whether somebody has cancelled the run, and nobody has gone on with it since."""
    return state.stopped is not None and bool(state.stopped.by)


def committed(turn: OpenTurn) -> tuple[Item, ...]:
    """The items of a turn: the reply's output, then one result per call in call order, then the messages that arrived in it.

    A call without a result is paired with `UNKNOWN_OUTCOME`, or with `UNANSWERED`, so that no history ever holds an unanswered
    call; one whose result is withheld with `WITHHELD`.
    """
    if turn.response is None:
        return turn.arrived
    output, results = turn.response.output, turn.results
    items: list[Item] = [*output]
    for item in output:
        if type(item) is FunctionCall:
            items.append(_answer(item, results.get(item.call_id), turn))  # noqa: PERF401 - half the time, with CPython 3.11
    items += turn.arrived
    return tuple(items)


def transcript(state: State) -> tuple[Item, ...]:
    """The whole conversation, the open turn included: valid at every moment, each call followed by its one result."""
    items = tuple(state.transcript)
    return items if state.turn is None else (*items, *committed(state.turn))


def unknown_outcome(turn: OpenTurn, call_id: str) -> str:
    """What history shows for a call that has begun and has no result."""
    return UNANSWERED if call_id in turn.outside.awaited else UNKNOWN_OUTCOME


def result_item(call: FunctionCall, result: ToolFinished, edited: ArgumentsEdited | None) -> FunctionCallOutput:
    """The result of `call` as the model is sent it."""
    if edited is None:
        return output_of(call, result.output, result.is_error, result.untrusted)
    from agentsdk.core.edited_arguments import with_note  # few calls are edited

    return output_of(call, with_note(result.output, edited.arguments), result.is_error, result.untrusted)


def _answer(call: FunctionCall, result: ToolFinished | None, turn: OpenTurn) -> FunctionCallOutput:
    if result is None:
        return output_of(call, unknown_outcome(turn, call.call_id), True)
    if result.is_withheld:
        return output_of(call, WITHHELD, True)
    if turn.outside is not NOTHING_OUTSIDE:
        return result_item(call, result, turn.outside.edited.get(call.call_id))
    return output_of(call, result.output, result.is_error, result.untrusted)


_NO_TURN = OpenTurn()
_NO_STEPS = Program()
_replace = structs.replace
_set = structs.force_setattr


def _open(state: State) -> OpenTurn:
    if state.turn is None:
        raise _MisplacedError("no open turn")
    return state.turn


def _started(state: State, event: RunStarted) -> State:
    if state.first_agent or not event.agent:
        raise _MisplacedError("a run starts once, with an agent")
    tape: Tape[Item] = Tape(event.input)
    taint = taint_of_items(event.input)
    return State(state.log, tape, tape, event.run_id, event.agent, event.agent, event.history, event.history, taint=taint)


def _resumed(state: State, event: RunResumed) -> State:
    return _replace(state, stopped=None)


def _input_replaced(state: State, event: InputReplaced) -> State:
    history = state.transcript[: state.history]
    tape: Tape[Item] = Tape((*history, *event.input))
    return _replace(
        state,
        transcript=tape,
        view=tape,
        agent=state.first_agent,
        turn=None,
        used_tools=False,
        compacted=None,
        is_restored=False,
        invalid_outputs=0,
        input_verdicts=(),
        saved=min(state.saved, state.history),
        provisional=max(0, state.saved + state.provisional - state.history),
        ended=None,
        limit=None,
        stopped=None,
        taint=taint_of_items(tape),
    )


def _input_added(state: State, event: InputAdded) -> State:
    turn = state.turn
    if turn is not None:
        return _replace(state, turn=_replace(turn, arrived=turn.arrived + event.items), stopped=None)
    transcript = state.transcript.extended(event.items)
    view = transcript if state.view is state.transcript else state.view.extended(event.items)
    taint = state.taint or taint_of_items(event.items)
    return _replace(state, transcript=transcript, view=view, stopped=None, taint=taint)


def _signals_taken(state: State, event: SignalsTaken) -> State:
    if event.through <= state.taken:
        raise _MisplacedError("these signals were taken before")
    return _replace(state, taken=event.through)


def _paused(state: State, event: RunPaused) -> State:
    return _replace(state, paused=event)


def _unpaused(state: State, event: RunUnpaused) -> State:
    return _replace(state, paused=None, stopped=None)


def _toolset(state: State, event: ToolsetChanged) -> State:
    place = (state.agent, event.toolset)
    before = state.offered.get(place, Offered()).tools
    tools = {name: spec for name, spec in before.items() if name not in event.removed} if event.removed else before
    tools = {**tools, **{spec.name: spec for spec in event.added}}
    return _replace(state, offered={**state.offered, place: Offered(tools, event.instructions, event.note)})


def _guardrail(state: State, event: GuardrailJudged) -> State:
    if event.kind == "input":
        return _replace(state, input_verdicts=(*state.input_verdicts, event))
    if event.kind == "added_input":
        return state  # it was let in or left out together with this
    turn = _open(state)
    verdicts = (*turn.verdicts, event)
    result = turn.results.get(event.call_id) if event.kind == "tool_output" else None
    if result is None:
        return _replace(state, turn=_replace(turn, verdicts=verdicts))
    judged = judged_result(result, event)
    turn = _replace(turn, verdicts=verdicts, results={**turn.results, event.call_id: judged})
    return _replace(state, turn=turn, has_cut=state.has_cut or _shows_cut(judged))


def judged_result(result: ToolFinished, verdict: GuardrailJudged) -> ToolFinished:
    """A call's result after the verdict of one of its output guardrails: as it was, replaced, or withheld for good."""
    if verdict.behavior == "reject_content":
        return ToolFinished(result.call_id, verdict.message)
    if verdict.behavior == "raise_exception":
        return _replace(result, is_withheld=True)
    return _replace(result, is_withheld=False) if verdict.releases else result


def _shows_cut(result: ToolFinished) -> bool:
    return bool(result.whole) and not result.is_withheld


def _attempt(state: State, event: AttemptSpent) -> State:
    if event.kind in ("summary", "discarded", "call"):
        return _replace(state, usage=state.usage + event.usage)
    turn = state.turn or _NO_TURN
    if event.partial:
        turn = _replace(turn, partial=turn.partial + event.partial, continuations=turn.continuations + 1)
    else:
        turn = _replace(turn, empty_replies=turn.empty_replies + 1)
    if event.chosen:
        turn = _replace(turn, chosen_model=event.chosen)
    return _replace(state, turn=turn, usage=state.usage + event.usage)


def _replied(state: State, event: ModelReplied) -> State:
    turn = state.turn
    if turn is None:
        turn = _replace(_NO_TURN, response=event.response, disabled=event.disabled)
    elif turn.response is None and turn.program is None:
        turn = _replace(turn, response=event.response, disabled=event.disabled)
    else:
        raise _MisplacedError("the turn has its reply, or is a program's")
    if event.is_last:
        turn = _replace(turn, is_last=True)
    elif state.limit is not None:
        _set(state, "limit", None)
    if state.stopped is not None:
        _set(state, "stopped", None)
    if event.response.usage is not NO_USAGE:
        _set(state, "usage", event.response.usage if state.usage is NO_USAGE else state.usage + event.response.usage)
    if state.taint is None and (taint := taint_of_items(event.response.output)) is not None:
        _set(state, "taint", taint)
    _set(state, "turn", turn)
    _set(state, "turns", state.turns + 1)
    _set(state, "all_turns", state.all_turns + (not event.snapshot))
    return state


def _approval_judged(state: State, event: ApprovalJudged) -> State:
    turn = _open(state)
    turn = _replace(turn, asked={**turn.asked, event.call_id: event}, decisions=_without(turn.decisions, event.call_id))
    if turn.outside.edited and not event.begun:  # the arguments went with the decision
        turn = _with_outside(turn, edited=_without(turn.outside.edited, event.call_id))
    return _replace(state, turn=turn)


def _with_outside(turn: OpenTurn, **changes: object) -> OpenTurn:
    return _replace(turn, outside=_replace(turn.outside, **changes))


def _without(known: dict[str, T], call_id: str) -> dict[str, T]:
    return {known_id: of_call for known_id, of_call in known.items() if known_id != call_id}


def _approval_decided(state: State, event: ApprovalDecided) -> State:
    turn = _open(state)
    always = (*state.always, event) if event.always else state.always
    turn = _replace(turn, decisions={**turn.decisions, event.call_id: event})
    return _replace(state, always=always, turn=turn, stopped=None)


def _edited(state: State, event: ArgumentsEdited) -> State:
    turn = _open(state)
    call_id = event.call_id
    if call_id in turn.intended:
        raise _MisplacedError("a call that has begun keeps its arguments")
    verdicts = tuple([said for said in turn.verdicts if (said.kind, said.call_id) != ("tool_input", call_id)])
    turn = _with_outside(_replace(turn, verdicts=verdicts, order=None), edited={**turn.outside.edited, call_id: event})
    return _replace(state, turn=turn)


def _edit_refused(state: State, event: ArgumentsRefused) -> State:
    turn = _open(state)
    call_id = event.call_id
    turn = _replace(turn, decisions=_without(turn.decisions, call_id))
    edited, refused = _without(turn.outside.edited, call_id), {**turn.outside.refused, call_id: event.reason}
    return _replace(state, turn=_with_outside(turn, edited=edited, refused=refused))


def _ordered(state: State, event: CallsOrdered) -> State:
    return _replace(state, turn=_replace(_open(state), order=event))


def _intended(state: State, event: ToolsIntended) -> State:
    turn = _open(state)
    if turn.outside.awaited:  # a call whose body goes on with the answer that it has asked for
        outside, again = turn.outside, [call_id for call_id in event.call_ids if call_id in turn.outside.awaited]
        awaited, answers = outside.awaited, outside.answers
        for call_id in again:
            awaited, answers = _without(awaited, call_id), _without(answers, call_id)
        turn = _with_outside(turn, awaited=awaited, answers=answers)
        turn = _replace(turn, intended=tuple([call_id for call_id in turn.intended if call_id not in again]))
    program = turn.program
    if program is not None:
        retried = tuple([call_id for call_id in program.retried if call_id not in event.call_ids])
        return _replace(state, turn=_replace(turn, program=Program(program.steps, program.waiting, retried)))
    _set(state, "turn", _replace(turn, intended=turn.intended + event.call_ids))
    return state


def _awaited(state: State, event: AnswerAwaited) -> State:
    turn = _open(state)
    state = _replace(state, turn=_with_outside(turn, awaited={**turn.outside.awaited, event.call_id: event}))
    return _with_signals(state) if state.signals else state


def _answered(state: State, event: CallAnswered) -> State:
    turn = _open(state)
    if event.call_id not in turn.outside.awaited or event.call_id in turn.results:
        raise _MisplacedError("the call waits for no answer")
    turn = _with_outside(turn, answers={**turn.outside.answers, event.call_id: event})
    return _replace(state, turn=turn, stopped=None)


def _answer_refused(state: State, event: AnswerRefused) -> State:
    turn = _open(state)
    outside, call_id = turn.outside, event.call_id
    answers, refused = _without(outside.answers, call_id), {**outside.refused, call_id: event.reason}
    state = _replace(state, turn=_with_outside(turn, answers=answers, refused=refused))
    return _with_signals(state) if state.signals else state


def _signal_given(state: State, event: SignalGiven) -> State:
    return _with_signals(_replace(state, signals=(*state.signals, event), stopped=None))


def _with_signals(state: State) -> State:
    """The state, with the signals that came given to calls which wait for them, nested ones too, in order."""
    left: list[SignalGiven] = []
    for signal in state.signals:
        given = _with_signal(state, signal)
        if given is None:
            left.append(signal)
        else:
            state = given
    return _replace(state, signals=tuple(left))


def _with_signal(state: State, signal: SignalGiven) -> State | None:
    """The state, with `signal` given to the first call that waits for it; None where none does."""
    turn = state.turn
    if turn is None:
        return None
    for call_id, awaited in turn.outside.awaited.items():
        if awaited.signal == signal.name and call_id not in turn.outside.answers:
            return _answered(state, CallAnswered(call_id, signal.data, signal.by, signal.at))
    for call_id, child in turn.children.items():
        given = _with_signal(child, signal)
        if given is not None:
            return _replace(state, turn=_replace(turn, children={**turn.children, call_id: given}), stopped=None)
    return None


def _finished(state: State, event: ToolFinished) -> State:
    turn = _open(state)
    if turn.program is not None:
        return _step_finished(state, turn, turn.program, event)
    if event.call_id in turn.results:
        raise _MisplacedError("a call has one result")
    results = {**turn.results, event.call_id: event}
    if turn.verdicts:
        turn = _replace(turn, results=results, verdicts=_of_results_to_come(turn.verdicts, event.call_id))
    else:
        turn = _replace(turn, results=results)
    if state.stopped is not None:
        state = _replace(state, stopped=_still_stopped(state))
    if state.failures or event.failure:
        state = _replace(state, failures=_failures(state, turn, event))
    if _shows_cut(event):
        _set(state, "has_cut", True)
    _set(state, "turn", turn)
    return state


def _failures(state: State, turn: OpenTurn, event: ToolFinished) -> dict[str, ToolFailures]:
    """What a result leaves of the failures of tools: a success ends those of its tool."""
    name = next((call.name for call in turn.calls if call.call_id == event.call_id), "")
    if event.failure == "transient":
        before = state.failures.get(name)
        return {**state.failures, name: ToolFailures(1 if before is None else before.count + 1, event.at)}
    return state.failures if event.is_error else {tool: given for tool, given in state.failures.items() if tool != name}


def _attempt_failed(state: State, event: ToolAttemptFailed) -> State:
    turn = _open(state)
    attempts = (*turn.attempts.get(event.call_id, ()), event)
    return _replace(state, turn=_replace(turn, attempts={**turn.attempts, event.call_id: attempts}))


def _checkpointed(state: State, event: ToolCheckpointed) -> State:
    turn = _open(state)
    return _replace(state, turn=_replace(turn, checkpoints={**turn.checkpoints, event.call_id: event.data}))


def _still_stopped(state: State) -> Stopped | None:
    """What stands of a stop after a result, or an event of a nested run: a person may say so of a run that has failed.

    In a cancelled one it may be late word of a call that was cut.
    """
    return state.stopped if is_cancelled(state) else None


def _of_results_to_come(verdicts: tuple[GuardrailJudged, ...], call_id: str) -> tuple[GuardrailJudged, ...]:
    """The verdicts without those that judged an earlier result of this call, as logs of schema version 1 may hold them. What
    stopped the run stands."""
    return tuple(
        [
            verdict
            for verdict in verdicts
            if verdict.kind != "tool_output" or verdict.call_id != call_id or verdict.behavior == "raise_exception"
        ]
    )


def _doubted(state: State, event: CallsInDoubt) -> State:
    turn = _open(state)
    return _replace(state, turn=_replace(turn, in_doubt=turn.in_doubt + event.call_ids))


def _retried(state: State, event: CallRetried) -> State:
    turn = _open(state)
    intended, in_doubt = _others(turn.intended, event.call_id), _others(turn.in_doubt, event.call_id)
    attempts = _without(turn.attempts, event.call_id) if turn.attempts else turn.attempts
    turn = _replace(turn, intended=intended, in_doubt=in_doubt, attempts=attempts)
    if turn.program is not None:
        turn = _replace(turn, program=structs.replace(turn.program, retried=(*turn.program.retried, event.call_id)))
    if event.call_id in turn.outside.awaited:
        awaited = _without(turn.outside.awaited, event.call_id)
        turn = _with_outside(turn, awaited=awaited, answers=_without(turn.outside.answers, event.call_id))
    return _replace(state, turn=turn, stopped=None)


def _tool_use(state: State, event: ToolUseJudged) -> State:
    return _replace(state, turn=_replace(_open(state), tool_use=event))


def _output(state: State, event: OutputJudged) -> State:
    turn = _replace(_open(state), output=event)
    return _replace(state, turn=turn, invalid_outputs=state.invalid_outputs + bool(event.error))


def _validated(state: State, event: OutputValidated) -> State:
    turn = _open(state)
    children = turn.children
    if children:  # the runs that it asked for are done with, also one that still waits
        called = {call.call_id for call in turn.calls}
        children = {call_id: child for call_id, child in children.items() if call_id in called}
    turn = _replace(turn, validated=(*turn.validated, event), children=children)
    return _replace(state, turn=turn, invalid_outputs=state.invalid_outputs + bool(event.feedback))


def _commit(state: State, added: tuple[Item, ...] = ()) -> State:
    turn = _open(state)
    items = committed(turn)
    if added:
        items += added
    transcript = state.transcript.extended(items)
    view = transcript if state.view is state.transcript else state.view.extended(items)
    if state.invalid_outputs and (turn.output is not None or turn.validated) and not turn.rejection:
        state = _replace(state, invalid_outputs=0)
    taint = state.taint
    if taint is None and turn.response is not None:
        taint = taint_of_results(turn.response.output, turn.results)
    if taint is None and (turn.arrived or added):
        taint = taint_of_items((*turn.arrived, *added))
    _set(state, "transcript", transcript)
    _set(state, "view", view)
    _set(state, "turn", None)
    if turn.results:
        _set(state, "used_tools", True)
    if taint is not None:
        _set(state, "taint", taint)
    return state


def _turn_ended(state: State, event: TurnEnded) -> State:
    return _commit(state, event.added)


def _handed_off(state: State, event: HandedOff) -> State:
    return _replace(_commit(state), agent=event.agent, used_tools=False, windows={})


def _view_replaced(state: State, event: ViewReplaced) -> State:
    view = Tape(event.items)
    if not event.reason:
        return _replace(state, view=view, compacted=None, is_restored=False)
    before = None if state.view is state.transcript else tuple(state.view)
    compacted = (state.compacted or Tape()).extended((Compaction(before, len(event.items)),))
    windows = {**state.windows, event.model: event.window} if event.window else state.windows
    return _replace(state, view=view, compacted=compacted, is_restored=False, windows=windows)


def _view_restored(state: State, event: ViewRestored) -> State:
    if state.compacted is None:
        raise _MisplacedError("no compaction to take back")
    last, earlier = state.compacted[-1], state.compacted.up_to(len(state.compacted) - 1)
    view = state.transcript if last.before is None else Tape((*last.before, *state.view[last.length :]))
    return _replace(state, view=view, compacted=earlier or None, is_restored=True)


def _limit_near(state: State, event: LimitWarningEvent) -> State:
    return _replace(state, limits_near=(*state.limits_near, event.limit))


def _limit(state: State, event: LimitReachedEvent) -> State:
    return _replace(state, limit=event)


def _limit_raised(state: State, event: LimitRaised) -> State:
    return _replace(state, limit=None, limits_raised=(*state.limits_raised, event), stopped=None)


def _time(state: State, event: TimeSpent) -> State:
    return _replace(state, elapsed=event.elapsed, working=event.working)


def _ended(state: State, event: RunEnded) -> State:
    turn = state.turn
    limit = state.limit if event.at_limit or (turn is not None and turn.is_last) else None
    elapsed = event.elapsed or state.elapsed  # earlier versions recorded it at pauses and stops only
    return _replace(state if turn is None else _commit(state), ended=event, stopped=None, limit=limit, elapsed=elapsed)


def _stopped(state: State, event: Stopped) -> State:
    return _replace(_with_feedback_anew(state) if event.reason == GAVE_UP else state, stopped=event)


def _with_feedback_anew(state: State) -> State:
    """The state, nested runs included, as if no final output had failed to fit."""
    turn = state.turn
    if turn is not None and turn.children:
        children = {call_id: _with_feedback_anew(child) for call_id, child in turn.children.items()}
        turn = _replace(turn, children=children)
    return _replace(state, invalid_outputs=0, turn=turn)


def _saved(state: State, event: SessionSaved) -> State:
    return _replace(state, saved=event.count, provisional=event.provisional)


def _context(state: State, event: ContextSaved) -> State:
    return _replace(state, context=event.data)


def _is_of_call(turn: OpenTurn, run_id: str) -> bool:
    """Whether a nested run is of a call of the reply; an output validator has asked for any other."""
    return any(call.call_id == run_id for call in turn.calls)


def _step_began(state: State, event: StepBegan) -> State:
    turn, call_id = state.turn or _NO_TURN, event.call_id
    program = turn.program or _NO_STEPS
    if turn.response is not None or step_of(program.steps, call_id) is not None:
        raise _MisplacedError("a step begins once, in a turn of its program's")
    program = Program(with_step(program.steps, event), 0, program.retried)
    return _replace(state, turn=_replace(turn, program=program), stopped=None)


def _step_finished(state: State, turn: OpenTurn, program: Program, event: ToolFinished) -> State:
    """All that is open of the step goes: a run of many steps stays as small as one of few."""
    call_id = event.call_id
    step = step_of(program.steps, call_id)
    if step is None:
        raise _MisplacedError("a step has one result, and has begun before")
    retried = _others(program.retried, call_id) if program.retried else ()
    turn = _replace(turn, program=Program(without_step(program.steps, call_id), 0, retried))
    if turn.in_doubt or turn.children or turn.attempts or turn.outside is not NOTHING_OUTSIDE:
        awaited, answers = _without(turn.outside.awaited, call_id), _without(turn.outside.answers, call_id)
        refused = _without(turn.outside.refused, call_id)
        turn = _replace(
            turn,
            in_doubt=_others(turn.in_doubt, call_id),
            children=_without(turn.children, call_id),
            attempts=_without(turn.attempts, call_id),
            outside=Outside(awaited, answers, {}, refused) if awaited or refused else NOTHING_OUTSIDE,
        )
    taint = state.taint
    if event.untrusted and taint is None:
        taint = Taint(step.name, call_id)
    return _replace(state, turn=turn, stopped=_still_stopped(state), taint=taint)


def _others(call_ids: tuple[str, ...], call_id: str) -> tuple[str, ...]:
    return tuple([known for known in call_ids if known != call_id])


def _program_waits(state: State, event: ProgramWaits) -> State:
    turn = _open(state)
    if turn.program is None:
        raise _MisplacedError("no program")
    return _replace(state, turn=_replace(turn, program=structs.replace(turn.program, waiting=event.calls)))


def _nested(state: State, event: Nested) -> State:
    turn = _open(state)
    if turn.program is not None:
        turn = _replace(turn, program=structs.replace(turn.program, waiting=0))
    before = turn.children.get(event.call_id) or new_state()
    child = apply(before, event.event)
    taint = state.taint
    if taint is None and child.taint is not None and before.taint is None and not _is_of_call(turn, event.call_id):
        taint = child.taint  # no result of a call will say so: what asked for the run may pass on what it answers
    state = _replace(
        state,
        turn=_replace(turn, children={**turn.children, event.call_id: child}),
        stopped=_still_stopped(state),
        always=state.always if len(child.always) == len(before.always) else (*state.always, child.always[-1]),
        usage=state.usage if child.usage is before.usage else state.usage + _difference(child.usage, before.usage),
        all_turns=state.all_turns + child.all_turns - before.all_turns,
        taint=taint,
    )
    return _with_signals(state) if state.signals else state


def _difference(after: Usage, before: Usage) -> Usage:
    return Usage(
        after.requests - before.requests,
        after.input_tokens - before.input_tokens,
        after.output_tokens - before.output_tokens,
        after.cached_tokens - before.cached_tokens,
        after.cache_write_tokens - before.cache_write_tokens,
        after.reasoning_tokens - before.reasoning_tokens,
        after.known,
        after.unsent - before.unsent,
    )


# One entry per event: the table is the state machine. The values differ in the event they take, which no dict type can say.
class _Changes(dict[type, Callable[..., State]]):
    """What each kind of event does to a state that nobody else has; what is no event cannot follow anything.

    What comes in every turn sets the fields that change in place, which is a third of a load; the rest replaces the state.
    """

    def __missing__(self, kind: type) -> Callable[..., State]:
        return _no_event


_CHANGES = _Changes(
    {
        RunStarted: _started,
        RunResumed: _resumed,
        InputReplaced: _input_replaced,
        InputAdded: _input_added,
        SignalsTaken: _signals_taken,
        RunPaused: _paused,
        RunUnpaused: _unpaused,
        ToolsetChanged: _toolset,
        GuardrailJudged: _guardrail,
        AttemptSpent: _attempt,
        ModelReplied: _replied,
        ApprovalJudged: _approval_judged,
        ApprovalDecided: _approval_decided,
        ArgumentsEdited: _edited,
        ArgumentsRefused: _edit_refused,
        CallsOrdered: _ordered,
        ToolsIntended: _intended,
        AnswerAwaited: _awaited,
        CallAnswered: _answered,
        AnswerRefused: _answer_refused,
        ToolFinished: _finished,
        ToolAttemptFailed: _attempt_failed,
        ToolCheckpointed: _checkpointed,
        CallsInDoubt: _doubted,
        CallRetried: _retried,
        ToolUseJudged: _tool_use,
        OutputJudged: _output,
        OutputValidated: _validated,
        TurnEnded: _turn_ended,
        HandedOff: _handed_off,
        ViewReplaced: _view_replaced,
        ViewRestored: _view_restored,
        LimitWarningEvent: _limit_near,
        LimitReachedEvent: _limit,
        LimitRaised: _limit_raised,
        TimeSpent: _time,
        RunEnded: _ended,
        Stopped: _stopped,
        SessionSaved: _saved,
        ContextSaved: _context,
        StepBegan: _step_began,
        ProgramWaits: _program_waits,
        SignalGiven: _signal_given,
        Nested: _nested,
    }
)
