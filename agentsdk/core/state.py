"""The state of a run, and `apply`: the only thing that changes it.

`apply(state, event) -> state` is pure. A state is the fold of its log: `fold(log) == state` for every run, so saving a run
means saving its events. While a turn is open its results wait in `state.turn`; the event that ends the turn commits them to
the transcript in call order.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from msgspec import Struct, structs

from agentsdk.types.errors import StateCorruptError
from agentsdk.types.events import (
    ApprovalDecided,
    ApprovalJudged,
    AttemptSpent,
    CallRetried,
    CallsInDoubt,
    ContextSaved,
    GuardrailJudged,
    HandedOff,
    InputAdded,
    InputReplaced,
    LimitHit,
    LimitNear,
    LimitRaised,
    ModelReplied,
    Nested,
    OutputJudged,
    RunEnded,
    RunEvent,
    RunResumed,
    RunStarted,
    SessionSaved,
    Stopped,
    TimeSpent,
    ToolFinished,
    ToolsIntended,
    ToolUseJudged,
    TurnEnded,
    ViewReplaced,
    ViewRestored,
)
from agentsdk.types.items import FunctionCall, FunctionCallOutput, Item
from agentsdk.types.response import ModelResponse
from agentsdk.types.tape import Tape
from agentsdk.types.usage import Usage

UNKNOWN_OUTCOME = "interrupted, outcome unknown"
"""What history shows for a call whose result never came."""

NO_USAGE = Usage()


class OpenTurn(Struct, frozen=True, gc=False):
    """A turn that has begun and not ended: whatever is already known of it, so that entering it again does only the rest."""

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

    @property
    def calls(self) -> tuple[FunctionCall, ...]:
        """The reply's calls, in order."""
        if self.response is None:
            return ()
        return tuple(item for item in self.response.output if type(item) is FunctionCall)


class Compaction(Struct, frozen=True, gc=False):
    """What a compaction of the view replaced.

    `before` is the view as it was, None where that was the whole transcript; `length` of the items of the view after it stand
    for that. `earlier` is the compaction before this one.
    """

    before: tuple[Item, ...] | None
    length: int
    earlier: Compaction | None


class State(Struct, frozen=True, gc=False):
    """A run at one moment.

    `transcript` is every committed item; `view` is what the model sees of it (the same tape until a handoff filter or
    compaction replaces it). `turns` counts replies of this run, `all_turns` those of nested runs too. `used_tools`:
    whether the current agent has called a tool. `compacted` is the view's last compaction, `is_restored` whether a person has
    taken one back since, `window` the size of the model's window where a refusal has shown it, 0 where none has. `has_cut`:
    whether a result was cut for being too long. `saved` items of the transcript are in the session, `provisional` more stand
    there for the open turn. `context` is the user's context object as their codec wrote it.
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
    compacted: Compaction | None = None
    is_restored: bool = False
    window: int = 0
    has_cut: bool = False
    usage: Usage = NO_USAGE
    invalid_outputs: int = 0
    input_verdicts: tuple[GuardrailJudged, ...] = ()
    always: tuple[ApprovalDecided, ...] = ()
    limit: LimitHit | None = None
    limits_near: tuple[str, ...] = ()
    limits_raised: tuple[LimitRaised, ...] = ()
    elapsed: float = 0.0
    working: float = 0.0
    stopped: str = ""
    ended: RunEnded | None = None
    context: str = ""


def new_state() -> State:
    """A run before its first event."""
    items: Tape[Item] = Tape()
    return State(Tape(), items, items)


def apply(state: State, event: RunEvent) -> State:
    """The state after `event`. Raises `StateCorruptError` for an event that cannot follow."""
    if not state.first_agent and type(event) is not RunStarted:
        raise _misplaced(event, len(state.log))
    try:
        return _replace(_CHANGES[type(event)](state, event), log=state.log.extended((event,)))
    except KeyError as error:
        raise _misplaced(event, len(state.log)) from error


def fold(events: Sequence[RunEvent]) -> State:
    """The state that a log leads to: `apply` over all of it, with the log put in place once."""
    state = new_state()
    if events and type(events[0]) is not RunStarted:
        raise _misplaced(events[0], 0)
    for position, event in enumerate(events):
        try:
            state = _CHANGES[type(event)](state, event)
        except KeyError as error:
            raise _misplaced(event, position) from error
    return _replace(state, log=Tape(events))


def _misplaced(event: RunEvent, position: int) -> StateCorruptError:
    return StateCorruptError(
        f"event {position} ({type(event).__name__!r}) cannot follow the log before it, expected a log written by this library; "
        "resume from an untouched copy"
    )


def committed(turn: OpenTurn) -> tuple[Item, ...]:
    """The items of a turn: the reply's output, then one result per call in call order.

    A call without a result is paired with `UNKNOWN_OUTCOME`, so that no history ever holds an unanswered call.
    """
    if turn.response is None:
        return ()
    output = turn.response.output
    results = turn.results
    answers = [_answer(item, results.get(item.call_id)) for item in output if type(item) is FunctionCall]
    return (*output, *answers) if answers else output


def transcript(state: State) -> tuple[Item, ...]:
    """The whole conversation, the open turn included: valid at every moment, each call followed by its one result."""
    items = tuple(state.transcript)
    return items if state.turn is None else (*items, *committed(state.turn))


def _answer(call: FunctionCall, result: ToolFinished | None) -> FunctionCallOutput:
    if result is None:
        return FunctionCallOutput(call.call_id, UNKNOWN_OUTCOME, True)
    return FunctionCallOutput(call.call_id, result.output, result.is_error)


_NO_TURN = OpenTurn()
_replace = structs.replace


def _open(state: State) -> OpenTurn:
    if state.turn is None:
        raise KeyError("no open turn")
    return state.turn


def _started(state: State, event: RunStarted) -> State:
    if state.first_agent or not event.agent:
        raise KeyError("a run starts once, with an agent")
    tape: Tape[Item] = Tape(event.input)
    return State(state.log, tape, tape, event.run_id, event.agent, event.agent, event.history, event.history)


def _resumed(state: State, event: RunResumed) -> State:
    return _replace(state, stopped="")


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
        provisional=0,
        ended=None,
        limit=None,
        stopped="",
    )


def _input_added(state: State, event: InputAdded) -> State:
    if state.turn is not None:
        raise KeyError("input enters between two turns")
    transcript = state.transcript.extended(event.items)
    view = transcript if state.view is state.transcript else state.view.extended(event.items)
    return _replace(state, transcript=transcript, view=view)


def _guardrail(state: State, event: GuardrailJudged) -> State:
    if event.kind == "input":
        return _replace(state, input_verdicts=(*state.input_verdicts, event))
    turn = _open(state)
    return _replace(state, turn=_replace(turn, verdicts=(*turn.verdicts, event)))


def _attempt(state: State, event: AttemptSpent) -> State:
    if event.kind == "summary":
        return _replace(state, usage=state.usage + event.usage)
    turn = state.turn or _NO_TURN
    if event.partial:
        turn = _replace(turn, partial=turn.partial + event.partial, continuations=turn.continuations + 1)
    else:
        turn = _replace(turn, empty_replies=turn.empty_replies + 1)
    return _replace(state, turn=turn, usage=state.usage + event.usage)


def _replied(state: State, event: ModelReplied) -> State:
    turn = state.turn
    if turn is None:
        turn = OpenTurn(event.response, event.disabled)
    elif turn.response is None:
        turn = _replace(turn, response=event.response, disabled=event.disabled)
    else:
        raise KeyError("the turn has its reply")
    return _replace(
        state,
        turn=turn,
        turns=state.turns + 1,
        all_turns=state.all_turns + 1,
        usage=state.usage + event.response.usage,
        stopped="",
        limit=None,
    )


def _approval_judged(state: State, event: ApprovalJudged) -> State:
    turn = _open(state)
    decisions = {call_id: decided for call_id, decided in turn.decisions.items() if call_id != event.call_id}
    return _replace(state, turn=_replace(turn, asked={**turn.asked, event.call_id: event}, decisions=decisions))


def _approval_decided(state: State, event: ApprovalDecided) -> State:
    turn = _open(state)
    always = (*state.always, event) if event.always else state.always
    return _replace(state, always=always, turn=_replace(turn, decisions={**turn.decisions, event.call_id: event}))


def _intended(state: State, event: ToolsIntended) -> State:
    turn = _open(state)
    return _replace(state, turn=_replace(turn, intended=turn.intended + event.call_ids))


def _finished(state: State, event: ToolFinished) -> State:
    turn = _open(state)
    if event.call_id in turn.results:
        raise KeyError("a call has one result")
    turn = _replace(turn, results={**turn.results, event.call_id: event})
    return _replace(state, turn=turn, has_cut=True) if event.whole else _replace(state, turn=turn)


def _doubted(state: State, event: CallsInDoubt) -> State:
    turn = _open(state)
    return _replace(state, turn=_replace(turn, in_doubt=turn.in_doubt + event.call_ids))


def _retried(state: State, event: CallRetried) -> State:
    turn = _open(state)
    intended = tuple(call_id for call_id in turn.intended if call_id != event.call_id)
    in_doubt = tuple(call_id for call_id in turn.in_doubt if call_id != event.call_id)
    return _replace(state, turn=_replace(turn, intended=intended, in_doubt=in_doubt))


def _tool_use(state: State, event: ToolUseJudged) -> State:
    return _replace(state, turn=_replace(_open(state), tool_use=event))


def _output(state: State, event: OutputJudged) -> State:
    return _replace(
        state,
        turn=_replace(_open(state), output=event),
        invalid_outputs=state.invalid_outputs + 1 if event.error else 0,
    )


def _commit(state: State, added: tuple[Item, ...] = ()) -> State:
    turn = _open(state)
    items = committed(turn)
    if added:
        items += added
    transcript = state.transcript.extended(items)
    view = transcript if state.view is state.transcript else state.view.extended(items)
    used_tools = state.used_tools or bool(turn.results)
    return _replace(state, transcript=transcript, view=view, turn=None, used_tools=used_tools)


def _turn_ended(state: State, event: TurnEnded) -> State:
    return _commit(state, event.added)


def _handed_off(state: State, event: HandedOff) -> State:
    return _replace(_commit(state), agent=event.agent, used_tools=False, window=0)


def _view_replaced(state: State, event: ViewReplaced) -> State:
    view = Tape(event.items)
    if not event.reason:
        return _replace(state, view=view, compacted=None, is_restored=False)
    before = None if state.view is state.transcript else tuple(state.view)
    compacted = Compaction(before, len(event.items), state.compacted)
    return _replace(state, view=view, compacted=compacted, is_restored=False, window=event.window or state.window)


def _view_restored(state: State, event: ViewRestored) -> State:
    last = state.compacted
    if last is None:
        raise KeyError("no compaction to take back")
    view = state.transcript if last.before is None else Tape((*last.before, *state.view[last.length :]))
    return _replace(state, view=view, compacted=last.earlier, is_restored=True)


def _limit_near(state: State, event: LimitNear) -> State:
    return _replace(state, limits_near=(*state.limits_near, event.limit))


def _limit(state: State, event: LimitHit) -> State:
    return _replace(state, limit=event)


def _limit_raised(state: State, event: LimitRaised) -> State:
    return _replace(state, limit=None, limits_raised=(*state.limits_raised, event))


def _time(state: State, event: TimeSpent) -> State:
    return _replace(state, elapsed=event.elapsed, working=event.working)


def _ended(state: State, event: RunEnded) -> State:
    if state.turn is not None:
        state = _commit(state)
    return _replace(state, ended=event, stopped="", limit=None)


def _stopped(state: State, event: Stopped) -> State:
    return _replace(state, stopped=event.reason)


def _saved(state: State, event: SessionSaved) -> State:
    return _replace(state, saved=event.count, provisional=event.provisional)


def _context(state: State, event: ContextSaved) -> State:
    return _replace(state, context=event.data)


def _nested(state: State, event: Nested) -> State:
    turn = _open(state)
    before = turn.children.get(event.call_id) or new_state()
    child = apply(before, event.event)
    return _replace(
        state,
        turn=_replace(turn, children={**turn.children, event.call_id: child}),
        always=state.always if len(child.always) == len(before.always) else (*state.always, child.always[-1]),
        usage=state.usage if child.usage is before.usage else state.usage + _difference(child.usage, before.usage),
        all_turns=state.all_turns + child.all_turns - before.all_turns,
    )


def _difference(after: Usage, before: Usage) -> Usage:
    return Usage(
        after.requests - before.requests,
        after.input_tokens - before.input_tokens,
        after.output_tokens - before.output_tokens,
        after.cached_tokens - before.cached_tokens,
        after.cache_write_tokens - before.cache_write_tokens,
        after.reasoning_tokens - before.reasoning_tokens,
        after.known,
    )


# One entry per event: the table is the state machine. The values differ in the event they take, which no dict type can say.
_CHANGES: dict[type, Callable[..., State]] = {
    RunStarted: _started,
    RunResumed: _resumed,
    InputReplaced: _input_replaced,
    InputAdded: _input_added,
    GuardrailJudged: _guardrail,
    AttemptSpent: _attempt,
    ModelReplied: _replied,
    ApprovalJudged: _approval_judged,
    ApprovalDecided: _approval_decided,
    ToolsIntended: _intended,
    ToolFinished: _finished,
    CallsInDoubt: _doubted,
    CallRetried: _retried,
    ToolUseJudged: _tool_use,
    OutputJudged: _output,
    TurnEnded: _turn_ended,
    HandedOff: _handed_off,
    ViewReplaced: _view_replaced,
    ViewRestored: _view_restored,
    LimitNear: _limit_near,
    LimitHit: _limit,
    LimitRaised: _limit_raised,
    TimeSpent: _time,
    RunEnded: _ended,
    Stopped: _stopped,
    SessionSaved: _saved,
    ContextSaved: _context,
    Nested: _nested,
}
