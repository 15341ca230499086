"""The state as the fold of its log: checked against a plain retelling of the log, at every prefix."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import pytest
from hypothesis import given
from msgspec import Struct, structs

from agentsdk.core.state import (
    _CHANGES,
    UNANSWERED,
    UNKNOWN_OUTCOME,
    WITHHELD,
    Compaction,
    OpenTurn,
    Outside,
    Program,
    State,
    ToolFailures,
    apply,
    committed,
    fold,
    new_state,
    transcript,
)
from agentsdk.core.taint import Taint
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
from agentsdk.types.items import FunctionCall, FunctionCallOutput, InputText, Item, Message, ProviderItem
from agentsdk.types.response import ModelResponse
from agentsdk.types.spec import ToolSpec
from agentsdk.types.tape import Tape
from agentsdk.types.usage import Usage
from tests.core.histories import logs

USER = Message("user", "hi")
STARTED = RunStarted("run", "first", (USER,), 0, 1.0)
STEP = StepBegan("s", "pay", "{}", 2.0)


def call(call_id: str) -> FunctionCall:
    return FunctionCall(call_id, "tool", "{}")


def replied(*output: Any, usage: Usage = Usage(1, 10, 5)) -> ModelReplied:
    return ModelReplied(ModelResponse(output, usage, "tool_calls"), 2.0)


def answer(call: FunctionCall, output: Any, is_error: bool, untrusted: bool = False) -> FunctionCallOutput:
    return FunctionCallOutput(call.call_id, output, is_error, call.kind, call.namespace, call.caller, untrusted)


@dataclass
class Turn:
    """An open turn, retold."""

    reply: ModelResponse | None = None
    partial: str = ""
    attempts: list[AttemptSpent] = field(default_factory=list)
    verdicts: list[GuardrailJudged] = field(default_factory=list)
    asked: dict[str, ApprovalJudged] = field(default_factory=dict)
    decided: dict[str, ApprovalDecided] = field(default_factory=dict)
    intended: list[str] = field(default_factory=list)
    doubted: list[str] = field(default_factory=list)
    results: dict[str, ToolFinished] = field(default_factory=dict)
    nested: dict[str, Retold] = field(default_factory=dict)
    awaited: dict[str, AnswerAwaited] = field(default_factory=dict)
    answers: dict[str, CallAnswered] = field(default_factory=dict)
    edited: dict[str, ArgumentsEdited] = field(default_factory=dict)
    refused: dict[str, str] = field(default_factory=dict)
    tool_use: ToolUseJudged | None = None
    output: OutputJudged | None = None
    validated: list[OutputValidated] = field(default_factory=list)
    arrived: list[Item] = field(default_factory=list)
    order: CallsOrdered | None = None
    tried: dict[str, list[ToolAttemptFailed]] = field(default_factory=dict)
    checkpoints: dict[str, str] = field(default_factory=dict)
    steps: dict[str, StepBegan] | None = None
    waiting: int = 0
    retried: list[str] = field(default_factory=list)

    def items(self) -> list[Item]:
        if self.reply is None:
            return self.arrived
        answers: list[Item] = []
        for item in self.reply.output:
            if isinstance(item, FunctionCall):
                given, edited = self.results.get(item.call_id), self.edited.get(item.call_id)
                if given is None:
                    said = UNANSWERED if item.call_id in self.awaited else UNKNOWN_OUTCOME
                    answers.append(answer(item, said, True))
                elif given.is_withheld:
                    answers.append(answer(item, WITHHELD, True))
                elif edited is None:
                    answers.append(answer(item, given.output, given.is_error, given.untrusted))
                else:
                    note = f"[A person changed the arguments of this call before it ran, to {edited.arguments}]"
                    output = f"{note}\n{given.output}" if isinstance(given.output, str) else (InputText(note), *given.output)
                    answers.append(answer(item, output, given.is_error, given.untrusted))
        return [*self.reply.output, *answers, *self.arrived]


@dataclass
class Retold:
    """A run told again from its log, in plain mutable code."""

    log: list[RunEvent] = field(default_factory=list)
    items: list[Item] = field(default_factory=list)
    view: list[Item] = field(default_factory=list)
    views: list[list[Item]] = field(default_factory=list)
    """The views before each compaction that can be taken back, kept up to date."""
    agent: str = ""
    history: int = 0
    turn: Turn | None = None
    turns: int = 0
    all_turns: int = 0
    usage: Usage = Usage()
    used_tools: bool = False
    has_cut: bool = False
    invalid_outputs: int = 0
    verdicts: list[GuardrailJudged] = field(default_factory=list)
    always: list[ApprovalDecided] = field(default_factory=list)
    limit: LimitReachedEvent | None = None
    near: list[str] = field(default_factory=list)
    raised: list[LimitRaised] = field(default_factory=list)
    elapsed: float = 0.0
    working: float = 0.0
    stopped: Stopped | None = None
    paused: RunPaused | None = None
    taken: int = 0
    saved: int = 0
    provisional: int = 0
    ended: RunEnded | None = None
    offered: dict[tuple[str, str], tuple[list[ToolSpec], str, str]] = field(default_factory=dict)
    failed: dict[str, list[float]] = field(default_factory=dict)
    given: list[SignalGiven] = field(default_factory=list)
    read: list[Item] = field(default_factory=list)
    """All that the model was shown since the input."""

    def tell(self, event: RunEvent) -> None:
        self.log.append(event)
        turn = self.turn
        match event:
            case RunStarted():
                self.items = list(event.input)
                self.read = list(event.input)
                self.view = list(event.input)
                self.agent = event.agent
                self.history = self.saved = event.history
            case InputReplaced():
                self.items = [*self.items[: self.history], *event.input]
                self.view = list(self.items)
                self.read = list(self.items)
                self.views = []
                self.agent = "first"
                self.turn = self.ended = None
                self.verdicts = []
                self.provisional = max(0, self.saved + self.provisional - self.history)
                self.saved = min(self.saved, self.history)
                self.invalid_outputs = 0
                self.used_tools = False
                self.limit = self.stopped = None
            case GuardrailJudged(kind="input"):
                self.verdicts.append(event)
            case AttemptSpent():
                self.turn = turn or Turn()
                self.turn.attempts.append(event)
                self.turn.partial += event.partial
                self.usage += event.usage
            case StepBegan():
                self.turn = turn = turn or Turn(steps={})
                assert turn.steps is not None
                turn.steps[event.call_id] = event
                turn.waiting = 0
                self.stopped = None
            case ModelReplied():
                self.turn = turn or Turn()
                self.turn.reply = event.response
                self.read += event.response.output
                self.turns += 1
                self.all_turns += not event.snapshot
                self.usage += event.response.usage
                self.limit = self.stopped = None
            case ViewReplaced():
                self.views = [*self.views, self.view] if event.reason else []
                self.view = list(event.items)
            case ViewRestored():
                self.view = self.views.pop()
            case InputAdded() if turn is not None:
                turn.arrived += event.items
                self.stopped = None
            case InputAdded():
                self.items += event.items
                self.read += event.items
                for view in (self.view, *self.views):
                    view += event.items
                self.stopped = None
            case SignalsTaken():
                self.taken = event.through
            case RunPaused():
                self.paused = event
            case RunUnpaused():
                self.paused = self.stopped = None
            case ToolsetChanged():
                tools = list(self.offered.get((self.agent, event.toolset), ([], "", ""))[0])
                tools = [tool for tool in tools if tool.name not in event.removed]
                for tool in event.added:
                    names = [one.name for one in tools]
                    if tool.name in names:
                        tools[names.index(tool.name)] = tool
                    else:
                        tools.append(tool)
                self.offered[self.agent, event.toolset] = (tools, event.instructions, event.note)
            case LimitWarningEvent():
                self.near.append(event.limit)
            case LimitReachedEvent():
                self.limit = event
            case LimitRaised():
                self.limit = self.stopped = None
                self.raised.append(event)
            case TimeSpent():
                self.elapsed, self.working = event.elapsed, event.working
            case Stopped():
                self.stopped = event
                if event.reason == "InvalidOutputError":
                    self.forgive()
            case SessionSaved():
                self.saved, self.provisional = event.count, event.provisional
            case RunEnded():
                if turn is not None:
                    self.close()
                self.ended = event
                self.elapsed = event.elapsed or self.elapsed
                self.limit = self.stopped = None
            case SignalGiven():
                self.given.append(event)
                self.stopped = None
            case _:
                assert turn is not None
                self.tell_of(turn, event)
        self.given = [signal for signal in self.given if not self.take(signal)]

    def take(self, signal: SignalGiven) -> bool:
        """Whether a call has waited for the signal, and is answered."""
        turn = self.turn
        if turn is None:
            return False
        waiting = [one for one, awaited in turn.awaited.items() if awaited.signal == signal.name and one not in turn.answers]
        if waiting:
            turn.answers[waiting[0]] = CallAnswered(waiting[0], signal.data, signal.by, signal.at)
        elif not any(child.take(signal) for child in turn.nested.values()):
            return False
        self.stopped = None
        return True

    def tell_of(self, turn: Turn, event: RunEvent) -> None:
        match event:
            case GuardrailJudged():
                turn.verdicts.append(event)
                if event.kind == "tool_output" and event.call_id in turn.results:
                    self.judge(turn, event)
            case ApprovalJudged():
                turn.asked[event.call_id] = event
                turn.decided.pop(event.call_id, None)
                if not event.begun:
                    turn.edited.pop(event.call_id, None)
            case ArgumentsEdited():
                turn.edited[event.call_id] = event
                turn.order = None
                turn.verdicts = [said for said in turn.verdicts if (said.kind, said.call_id) != ("tool_input", event.call_id)]
            case AnswerAwaited():
                turn.awaited[event.call_id] = event
            case CallAnswered():
                turn.answers[event.call_id] = event
                self.stopped = None
            case AnswerRefused():
                turn.answers.pop(event.call_id)
                turn.refused[event.call_id] = event.reason
            case ArgumentsRefused():
                turn.edited.pop(event.call_id)
                turn.decided.pop(event.call_id, None)
                turn.refused[event.call_id] = event.reason
            case ApprovalDecided():
                turn.decided[event.call_id] = event
                self.stopped = None
                if event.always:
                    self.always.append(event)
            case ToolsIntended() if turn.steps is not None:
                turn.retried = [one for one in turn.retried if one not in event.call_ids]
            case ToolsIntended():
                for call_id in event.call_ids:
                    if turn.awaited.pop(call_id, None) is not None:  # its body goes on with the answer
                        turn.answers.pop(call_id, None)
                        turn.intended = [known for known in turn.intended if known != call_id]
                turn.intended += event.call_ids
            case ProgramWaits():
                turn.waiting = event.calls
            case ToolFinished() if turn.steps is not None:
                key, turn.waiting = event.call_id, 0
                self.stopped = self.still_stopped()
                if event.untrusted:
                    self.read.append(FunctionCallOutput(key, "", untrusted=True))
                of_step: list[dict[str, Any]] = [turn.steps, turn.nested, turn.awaited, turn.answers, turn.refused, turn.tried]
                for known in of_step:
                    known.pop(key, None)
                turn.retried = [one for one in turn.retried if one != key]
                turn.doubted = [one for one in turn.doubted if one != key]
            case ToolFinished():
                turn.results[event.call_id] = event
                self.count_failure(turn, event)
                self.stopped = self.still_stopped()
                turn.verdicts = [
                    said
                    for said in turn.verdicts
                    if (said.kind, said.call_id) != ("tool_output", event.call_id) or said.behavior == "raise_exception"
                ]
                self.has_cut = self.has_cut or (event.whole != "" and not event.is_withheld)
            case CallsOrdered():
                turn.order = event
            case ToolAttemptFailed():
                turn.tried.setdefault(event.call_id, []).append(event)
            case ToolCheckpointed():
                turn.checkpoints[event.call_id] = event.data
            case CallsInDoubt():
                turn.doubted += event.call_ids
            case CallRetried():
                (turn.intended.remove if turn.steps is None else turn.retried.append)(event.call_id)
                turn.doubted.remove(event.call_id)
                turn.tried.pop(event.call_id, None)
                turn.awaited.pop(event.call_id, None)
                turn.answers.pop(event.call_id, None)
                self.stopped = None
            case ToolUseJudged():
                turn.tool_use = event
            case OutputJudged():
                turn.output = event
                self.invalid_outputs += 1 if event.error else 0
            case OutputValidated():
                turn.validated.append(event)
                self.invalid_outputs += 1 if event.feedback else 0
            case TurnEnded():
                self.close(event.added)
            case HandedOff():
                self.close()
                self.agent = event.agent
                self.used_tools = False
            case Nested():
                turn.waiting = 0
                child = turn.nested.setdefault(event.call_id, Retold())
                turns, always = child.all_turns, len(child.always)
                child.tell(event.event)
                self.stopped = self.still_stopped()
                self.all_turns += child.all_turns - turns
                self.always += child.always[always:]
                # What was spent is read off the event alone, however deep it lies.
                inner: RunEvent = event
                while isinstance(inner, Nested):
                    inner = inner.event
                if isinstance(inner, ModelReplied):
                    self.usage += inner.response.usage
                elif isinstance(inner, AttemptSpent):
                    self.usage += inner.usage
            case _:
                raise AssertionError(event)

    def judge(self, turn: Turn, said: GuardrailJudged) -> None:
        result = turn.results[said.call_id]
        if said.behavior == "reject_content":
            result = ToolFinished(said.call_id, said.message)
        elif said.behavior == "raise_exception" or said.releases:
            result = structs.replace(result, is_withheld=said.behavior == "raise_exception")
        turn.results[said.call_id] = result
        self.has_cut = self.has_cut or (result.whole != "" and not result.is_withheld)

    def count_failure(self, turn: Turn, result: ToolFinished) -> None:
        assert turn.reply is not None
        calls = [item for item in turn.reply.output if isinstance(item, FunctionCall) and item.call_id == result.call_id]
        name = calls[0].name
        if result.failure == "transient":
            self.failed.setdefault(name, []).append(result.at)
        elif not result.is_error:
            self.failed.pop(name, None)

    def still_stopped(self) -> Stopped | None:
        return self.stopped if self.stopped is not None and self.stopped.by else None

    def forgive(self) -> None:
        self.invalid_outputs = 0
        for child in self.turn.nested.values() if self.turn is not None else ():
            child.forgive()

    def close(self, added: Sequence[Item] = ()) -> None:
        assert self.turn is not None
        items = [*self.turn.items(), *added]
        self.items += items
        self.read += items
        for view in (self.view, *self.views):
            view += items
        self.used_tools = self.used_tools or bool(self.turn.results)
        said = [self.turn.output.error] if self.turn.output is not None else []
        said += [verdict.feedback for verdict in self.turn.validated[-1:]]
        if said and not any(said):
            self.invalid_outputs = 0
        self.turn = None


def is_untrusted(item: Item) -> bool:
    if isinstance(item, ProviderItem):
        return item.data.get("type") == "web_search_call"
    return isinstance(item, Message | FunctionCallOutput) and item.untrusted


def assert_tells(state: State, story: Retold) -> None:
    assert list(state.log) == story.log
    assert list(state.transcript) == story.items
    assert list(state.view) == story.view
    assert (state.agent, state.turns, state.all_turns, state.usage) == (story.agent, story.turns, story.all_turns, story.usage)
    assert (state.history, state.saved, state.provisional) == (story.history, story.saved, story.provisional)
    assert (state.limit, state.stopped, state.ended) == (story.limit, story.stopped, story.ended)
    assert (state.paused, state.taken) == (story.paused, story.taken)
    assert list(state.signals) == story.given
    offered = {place: (list(one.tools.values()), one.instructions, one.note) for place, one in state.offered.items()}
    assert offered == story.offered
    assert (list(state.limits_near), list(state.limits_raised)) == (story.near, story.raised)
    assert (state.elapsed, state.working) == (story.elapsed, story.working)
    assert (state.used_tools, state.invalid_outputs) == (story.used_tools, story.invalid_outputs)
    assert state.has_cut == story.has_cut
    assert (state.taint is not None) == any(map(is_untrusted, story.read))
    assert state.failures == {name: ToolFailures(len(times), times[-1]) for name, times in story.failed.items()}
    assert (list(state.input_verdicts), list(state.always)) == (story.verdicts, story.always)
    turn = story.turn
    if turn is None:
        assert state.turn is None
        assert list(transcript(state)) == story.items
        return
    assert list(transcript(state)) == [*story.items, *turn.items()]
    opened = state.turn
    assert opened is not None
    assert (opened.response, opened.partial) == (turn.reply, turn.partial)
    assert opened.continuations == sum(bool(attempt.partial) for attempt in turn.attempts)
    assert opened.empty_replies == sum(not attempt.partial for attempt in turn.attempts)
    assert (list(opened.verdicts), opened.asked, opened.decisions) == (turn.verdicts, turn.asked, turn.decided)
    assert (list(opened.intended), list(opened.in_doubt)) == (turn.intended, turn.doubted)
    assert (opened.results, opened.tool_use, opened.output) == (turn.results, turn.tool_use, turn.output)
    assert list(opened.validated) == turn.validated
    assert (opened.outside.awaited, opened.outside.answers) == (turn.awaited, turn.answers)
    assert (opened.outside.edited, opened.outside.refused) == (turn.edited, turn.refused)
    assert opened.order == turn.order
    assert opened.checkpoints == turn.checkpoints
    program = opened.program
    assert (program is None) == (turn.steps is None)
    if program is not None:
        steps = {key: step for piece in program.steps for key, step in piece.items()}
        assert (steps, program.waiting, list(program.retried)) == (turn.steps, turn.waiting, turn.retried)
    assert opened.attempts == {call_id: tuple(tried) for call_id, tried in turn.tried.items()}
    assert opened.children.keys() == turn.nested.keys()
    for call_id, child in turn.nested.items():
        assert_tells(opened.children[call_id], child)


@given(logs())
def test_the_state_is_the_fold_of_its_log_at_every_prefix(log: list[RunEvent]) -> None:
    state = new_state()
    story = Retold()
    assert fold([]) == state
    for length, event in enumerate(log, 1):
        state = apply(state, event)
        story.tell(event)
        assert fold(log[:length]) == state
        assert_tells(state, story)
    assert fold(state.log) == state


@given(logs())
def test_apply_changes_nothing_that_was_there(log: list[RunEvent]) -> None:
    states = [new_state()]
    for event in log:
        states.append(apply(states[-1], event))
    for position, state in enumerate(states):
        for event in (*log[position : position + 1], Stopped("meanwhile"), replied(call("x")), TurnEnded((USER,))):
            try:
                apply(state, event)
            except StateCorruptError:
                pass  # not every event fits everywhere
    for length, state in enumerate(states):
        assert list(state.log) == log[:length]
        assert state == fold(log[:length])


def test_what_was_refused_of_a_step_that_begins_again_outlives_the_result_of_another() -> None:
    waits = [
        StepBegan("ask", "ask", "{}"),
        AnswerAwaited("ask", 3.0),
        CallAnswered("ask", "1"),
        AnswerRefused("ask", "no"),
    ]
    again = [CallsInDoubt(("ask",)), CallRetried("ask"), ToolsIntended(("ask",))]
    state = fold([STARTED, *waits, *again, STEP, ToolFinished("s", "1")])
    assert state.turn is not None and state.turn.outside.refused == {"ask": "no"}
    over = apply(state, ToolFinished("ask", "1"))
    assert over.turn == OpenTurn(program=Program())


def test_of_many_open_steps_each_is_found_and_none_is_copied_with_all_others() -> None:
    steps = [StepBegan(str(number), "pay", "{}") for number in range(200)]
    state = fold([STARTED, *steps])
    assert state.turn is not None and state.turn.program is not None
    last = apply(state, ToolFinished("199", "1")).turn
    assert last is not None and last.program is not None
    assert last.program.steps[0] is state.turn.program.steps[0], "shared"
    state = fold(
        [*state.log, *[ToolFinished(str(number), "1") for number in range(64, 130)], CallsInDoubt(("1",)), CallRetried("1")]
    )
    assert state.turn is not None and state.turn.program is not None
    assert [call.call_id for call in state.turn.calls] == [str(one) for one in range(200) if not 64 <= one < 130]
    assert state.turn.program.retried == ("1",)
    again = apply(state, ToolsIntended(("1",)))
    assert again.turn is not None and again.turn.program is not None and again.turn.program.retried == ()
    over = apply(state, ToolFinished("1", "1")).turn
    assert over is not None and over.program is not None and over.program.retried == ()
    with pytest.raises(StateCorruptError, match="a step begins once"):
        apply(state, steps[199])


def test_a_signal_waits_for_the_call_that_waits_for_it() -> None:
    first, second = SignalGiven("paid", "1", "ann", 2.0), SignalGiven("paid", "2")
    waits = [[StepBegan(key, "paid", "{}"), AnswerAwaited(key, 3.0, signal="paid")] for key in ("paid", "paid#2")]
    state = fold([STARTED, first, second, SignalGiven("sent", "3"), *waits[0]])
    assert [signal.data for signal in state.signals] == ["2", "3"] and state.turn is not None
    assert state.turn.outside.answers == {"paid": CallAnswered("paid", "1", "ann", 2.0)}
    refused = apply(state, AnswerRefused("paid", "no text"))
    assert refused.turn is not None and refused.turn.outside.answers == {"paid": CallAnswered("paid", "2")}
    nested = fold(
        [STARTED, STEP, first, Nested("s", STARTED), *[Nested("s", event) for event in waits[1]], Stopped("X"), second]
    )
    assert [signal.data for signal in nested.signals] == ["2"] and nested.turn is not None
    answered = nested.turn.children["s"].turn
    assert answered is not None and answered.outside.answers["paid#2"].answer == "1"
    waiting = fold([STARTED, *waits[0], *waits[1], Stopped("X"), first])
    assert waiting.turn is not None and (list(waiting.turn.outside.answers), waiting.stopped) == (["paid"], None)


def test_a_state_does_not_grow_with_the_finished_steps_of_a_program() -> None:
    waits = AnswerAwaited("ask", 3.0)
    steps = [STEP, StepBegan("ask", "ask", "{}"), waits, CallsInDoubt(("s",)), ProgramWaits(2)]
    state = fold([STARTED, *steps])
    assert state.turn is not None
    assert [one.call_id for one in state.turn.calls] == ["s", "ask"]
    assert state.turn.program is not None and state.turn.program.waiting == 2
    state = apply(state, ToolFinished("s", "1", untrusted=True))
    assert state.taint == Taint("pay", "s")
    assert state.turn == OpenTurn(program=Program(({"ask": StepBegan("ask", "ask", "{}")},)), outside=Outside({"ask": waits}))
    state = fold([*state.log, ToolFinished("ask", "true", untrusted=True)])
    assert state.turn == OpenTurn(program=Program())
    assert state.taint == Taint("pay", "s"), "the first"
    ended = apply(state, RunEnded("1", True))
    assert (ended.turn, list(ended.transcript)) == (None, [USER])


def test_two_ways_on_from_one_state_do_not_see_each_other() -> None:
    state = fold([STARTED, replied(call("a"), call("b"))])
    left = apply(apply(state, ToolFinished("a", "left")), TurnEnded())
    right = apply(apply(state, ToolFinished("a", "right")), TurnEnded())
    assert [item.output for item in left.transcript if isinstance(item, FunctionCallOutput)] == ["left", UNKNOWN_OUTCOME]
    assert [item.output for item in right.transcript if isinstance(item, FunctionCallOutput)] == ["right", UNKNOWN_OUTCOME]
    assert len(state.log) == 2


def test_results_are_committed_in_call_order() -> None:
    events = [STARTED, replied(call("a"), Message("assistant", "!"), call("b")), ToolFinished("b", "2"), ToolFinished("a", "1")]
    state = fold([*events, TurnEnded((USER,))])
    assert list(state.transcript)[1:] == [
        call("a"),
        Message("assistant", "!"),
        call("b"),
        FunctionCallOutput("a", "1"),
        FunctionCallOutput("b", "2"),
        USER,
    ]


def test_what_arrives_in_an_open_turn_enters_behind_it() -> None:
    more, quick = Message("user", "more"), Message("user", "quick")
    state = fold([STARTED, replied(call("a")), InputAdded((more,)), ToolFinished("a", "1"), InputAdded((quick,))])
    items = (USER, call("a"), FunctionCallOutput("a", "1"), more, quick)
    assert tuple(state.transcript) == (USER,)
    assert transcript(state) == items
    for end in (TurnEnded(), HandedOff("second"), RunEnded("done")):
        assert tuple(apply(state, end).transcript) == tuple(apply(state, end).view) == items
    assert tuple(apply(state, TurnEnded((USER,))).transcript) == (*items, USER)


def test_the_view_is_the_transcript_until_it_is_replaced() -> None:
    state = fold([STARTED, replied(Message("assistant", "1")), TurnEnded()])
    assert state.view is state.transcript
    state = apply(state, ViewReplaced((Message("user", "short"),)))
    state = apply(apply(state, replied(Message("assistant", "2"))), TurnEnded())
    assert [item.text for item in state.view if isinstance(item, Message)] == ["short", "2"]
    assert [item.text for item in state.transcript if isinstance(item, Message)] == ["hi", "1", "2"]
    state = apply(state, InputReplaced((Message("user", "new"),)))
    assert state.view is state.transcript


def test_a_restored_view_is_the_transcript_again_where_it_was() -> None:
    state = fold([STARTED, replied(Message("assistant", "1")), TurnEnded(), ViewReplaced((USER,), "DropOldest")])
    state = fold([*state.log, replied(Message("assistant", "2")), TurnEnded()])
    again = apply(apply(state, ViewReplaced((USER,), "DropOldest")), ViewRestored())
    assert (list(again.view), again.is_restored) == (list(state.view), True)
    whole = apply(again, ViewRestored())
    assert whole.view is whole.transcript
    assert whole.compacted is None
    assert not apply(whole, ViewReplaced((USER,), "DropOldest")).is_restored
    with pytest.raises(StateCorruptError, match="'ViewRestored'"):
        apply(whole, ViewRestored())


def test_any_number_of_compactions_is_no_chain_of_objects() -> None:
    """A chain is let go by recursion, which can be the end of the process."""
    many = 200_000
    state = fold([STARTED, *[ViewReplaced((), "DropOldest")] * many])
    assert state.compacted is not None
    assert len(state.compacted) == many
    found: set[type] = set()
    waiting: list[tuple[object, int]] = [(state, 0)]
    while waiting:
        value, depth = waiting.pop()
        assert depth < 20
        found.add(type(value))
        if isinstance(value, Tape):
            waiting += [(cell, depth + 1) for cell in value[-3:]]
        elif isinstance(value, Struct):
            waiting += [(getattr(value, name), depth + 1) for name in value.__struct_fields__]
    assert Compaction in found
    assert fold([STARTED, *[ViewReplaced((), "DropOldest")] * 1000, *[ViewRestored()] * 1000]).compacted is None


def test_a_fault_of_our_own_is_no_corruption(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(_CHANGES, InputAdded, lambda state, event: {}["typo"])
    with pytest.raises(KeyError, match="typo"):
        apply(fold([STARTED]), InputAdded((USER,)))
    with pytest.raises(KeyError, match="typo"):
        fold([STARTED, InputAdded((USER,))])


def test_why_an_event_cannot_follow_is_in_the_message() -> None:
    for log, event, reason in (
        ([STARTED], ViewRestored(), "no compaction to take back"),
        ([STARTED], TurnEnded(), "no open turn"),
        ([STARTED], STARTED, "a run starts once, with an agent"),
        ([], TurnEnded(), "the run has not started"),
        ([STARTED, SignalsTaken(2)], SignalsTaken(2), "these signals were taken before"),
    ):
        for read in (lambda log=log, event=event: apply(fold(log), event), lambda log=log, event=event: fold([*log, event])):
            with pytest.raises(StateCorruptError, match=re.escape(f"({reason})")) as caught:
                read()
            assert caught.value.__cause__ is None


def test_what_a_handoff_filter_replaced_is_not_restored() -> None:
    state = fold([STARTED, replied(Message("assistant", "1")), TurnEnded(), ViewReplaced((USER,), "DropOldest")])
    assert apply(state, ViewReplaced((USER,))).compacted is None
    assert apply(state, InputReplaced((USER,))).compacted is None


def test_the_window_that_a_refusal_showed_holds_for_the_agents_model() -> None:
    state = fold([STARTED, ViewReplaced((USER,), "DropOldest", window=500), ViewReplaced((USER,), "DropOldest")])
    assert state.windows == {"": 500}
    state = apply(state, ViewReplaced((USER,), "DropOldest", window=400, model="small"))
    assert state.windows == {"": 500, "small": 400}
    state = fold([*state.log, replied(call("a")), ToolFinished("a", "1"), HandedOff("second")])
    assert state.windows == {}


def test_an_open_turn_knows_the_model_that_was_chosen_for_it() -> None:
    cut = AttemptSpent(Usage(1), "half", "reply", "small-1", "small", chosen="openai:small")
    state = fold([STARTED, cut])
    assert state.turn is not None and state.turn.chosen_model == "openai:small"
    state = fold([STARTED, cut, AttemptSpent(Usage(1))])
    assert state.turn is not None and state.turn.chosen_model == "openai:small"


def test_what_was_tried_again_at_once_is_no_attempt_of_the_turn() -> None:
    state = fold([STARTED, AttemptSpent(Usage(1, 5, 5), "", "discarded", "cheap")])
    assert (state.turn, state.usage) == (None, Usage(1, 5, 5))


def test_what_a_call_asks_is_no_attempt_of_the_turn() -> None:
    turn = fold([STARTED, replied(call("a"))])
    asked = apply(turn, AttemptSpent(Usage(1, 5, 5), "", "call", "cheap"))
    assert (asked.turn, asked.usage) == (turn.turn, turn.usage + Usage(1, 5, 5))


def test_a_summary_is_no_attempt_of_the_turn() -> None:
    state = fold([STARTED, AttemptSpent(Usage(1, 5, 5), "all of it", "summary", "cheap")])
    assert (state.turn, state.usage) == (None, Usage(1, 5, 5))
    state = apply(state, AttemptSpent(Usage(1), kind="refused"))
    assert state.turn is not None
    assert (state.turn.empty_replies, state.turn.partial, state.usage) == (1, "", Usage(2, 5, 5))


def test_the_input_is_replaced_but_not_the_history_before_it() -> None:
    old = Message("user", "yesterday")
    log = [RunStarted("run", "first", (old, USER), 1, 1.0), replied(call("a")), ToolFinished("a", "1"), TurnEnded()]
    log += [replied(Message("assistant", "x")), OutputJudged("wrong"), HandedOff("second"), SessionSaved(3)]
    state = fold([*log, Stopped("cancelled"), InputReplaced((Message("user", "new"),))])
    assert list(state.transcript) == [old, Message("user", "new")]
    assert (state.agent, state.saved, state.stopped) == ("first", 1, None)
    assert (state.used_tools, state.invalid_outputs) == (False, 0)
    assert (state.turns, state.usage.requests) == (2, 2), "what was spent stays spent"


def test_a_call_without_a_result_is_paired_in_every_history() -> None:
    state = fold([STARTED, replied(call("a")), ToolsIntended(("a",))])
    assert transcript(state)[-1] == FunctionCallOutput("a", UNKNOWN_OUTCOME, True)
    assert apply(state, RunEnded("x")).transcript[-1] == FunctionCallOutput("a", UNKNOWN_OUTCOME, True)


def test_a_turn_without_a_reply_has_no_items() -> None:
    state = fold([STARTED, AttemptSpent(Usage(1), "half")])
    assert state.turn is not None
    assert (committed(state.turn), state.turn.calls) == ((), ())
    assert transcript(state) == (USER,)


def test_whether_tools_were_used_is_asked_of_the_current_agent() -> None:
    log: list[RunEvent] = [STARTED, replied(call("a")), ToolFinished("a", "1"), TurnEnded()]
    assert fold(log).used_tools
    log += [replied(call("b")), ToolFinished("b", "Handed over."), HandedOff("second")]
    assert not fold(log).used_tools
    assert not fold([STARTED, replied(Message("assistant", "x")), TurnEnded()]).used_tools


def test_a_verdict_of_a_validator_leaves_the_nested_runs_of_calls() -> None:
    started: RunEvent = RunStarted("", "helper", (USER,), 0, 1.0)
    log = [STARTED, replied(call("a")), ToolsIntended(("a",)), Nested("a", started), Nested("short:critic:1", started)]
    turn = fold([*log, OutputValidated("short")]).turn
    assert turn is not None and list(turn.children) == ["a"]


def test_invalid_outputs_are_counted_until_one_fits() -> None:
    text = replied(Message("assistant", "x"))
    log: list[RunEvent] = [STARTED]
    for error, count in (("no JSON", 1), ("no number", 2), ("", 0), ("no JSON", 1)):
        log += [text, OutputJudged(error), TurnEnded()]
        assert fold(log).invalid_outputs == count


def test_a_nested_run_counts_for_its_parent() -> None:
    child = [RunStarted("", "child", (USER,), 0, 1.0), replied(call("x"), usage=Usage(1, 7, 7, known=False))]
    log = [STARTED, replied(call("a")), ToolsIntended(("a",)), *(Nested("a", event) for event in child)]
    state = fold([*log, Nested("a", ApprovalDecided("x", "tool", "digest", True, always=True))])
    assert (state.turns, state.all_turns) == (1, 2)
    assert state.usage == Usage(2, 17, 12, known=False)
    assert [decided.call_id for decided in state.always] == ["x"]


@pytest.mark.parametrize(
    "event",
    [
        GuardrailJudged("g", "output", "allow"),
        ApprovalJudged("a", True),
        ApprovalDecided("a", "tool", "d", True),
        ToolsIntended(("a",)),
        ToolFinished("a", "1"),
        CallsInDoubt(("a",)),
        CallRetried("a"),
        ToolUseJudged(True),
        OutputJudged(""),
        TurnEnded(),
        HandedOff("second"),
        Nested("a", STARTED),
        STARTED,
    ],
    ids=lambda event: type(event).__name__,
)
def test_what_belongs_to_a_turn_needs_an_open_one(event: RunEvent) -> None:
    state = fold([STARTED])
    with pytest.raises(StateCorruptError, match=f"event 1 \\('{type(event).__name__}'\\)"):
        apply(state, event)
    with pytest.raises(StateCorruptError, match="event 1 "):
        fold([STARTED, event])
    assert (len(state.log), list(state.log)) == (1, [STARTED])


@pytest.mark.parametrize(
    ("log", "event"),
    [
        ([STARTED, replied(call("a"))], replied(call("b"))),
        ([STARTED, replied(call("a")), ToolFinished("a", "1")], ToolFinished("a", "2")),
        ([STARTED, replied(call("a"))], Nested("a", replied(call("b")))),
        ([STARTED, replied(call("a")), Nested("a", STARTED)], Nested("a", TurnEnded())),
        ([STARTED, replied(call("a")), ToolsIntended(("a",))], ArgumentsEdited("a", "{}")),
        ([STARTED, replied(call("a")), ToolsIntended(("a",))], CallAnswered("a", "1")),
        ([STARTED, replied(call("a")), AnswerAwaited("a", 1.0), ToolFinished("a", "late")], CallAnswered("a", "1")),
        ([STARTED, STEP], STEP),
        ([STARTED, replied(call("a"))], STEP),
        ([STARTED, STEP], replied(call("a"))),
        ([STARTED, STEP, ToolFinished("s", "1")], ToolFinished("s", "2")),
        ([STARTED, replied(call("a"))], ProgramWaits(1)),
        ([STARTED], "no event"),
        ([], replied(call("a"))),
        ([], Stopped("x")),
        ([], RunStarted("run", "", (USER,), 0, 1.0)),
    ],
    ids=[
        "two replies",
        "two results",
        "nested before its start",
        "nested without turn",
        "edited after it began",
        "answered unasked",
        "answered after its result",
        "a step begun twice",
        "a step in a model's turn",
        "a reply in a program's turn",
        "two results of a step",
        "a model's turn that waits as a program",
        "no event",
        "no start",
        "only a stop",
        "no agent",
    ],
)
def test_an_event_that_cannot_follow_is_corruption(log: list[RunEvent], event: Any) -> None:
    with pytest.raises(StateCorruptError, match=f"event {'0' if isinstance(event, Nested) else len(log)} |event 1 "):
        apply(fold(log), event)
    with pytest.raises(StateCorruptError):
        fold([*log, event])


def test_a_verdict_on_a_message_that_arrives_is_no_verdict_on_the_input() -> None:
    started = apply(new_state(), RunStarted("r", "first", (Message("user", "go"),), 0, 1.0))
    for behavior in ("allow", "raise_exception"):
        assert apply(started, GuardrailJudged("guard", "added_input", behavior)).input_verdicts == ()


@pytest.mark.parametrize("reason", ["InvalidOutputError", "CancelledError"])
def test_a_stop_over_an_invalid_output_grants_its_feedback_turns_anew_in_nested_runs_too(reason: str) -> None:
    child = [RunStarted("", "helper", (USER,), 0, 1.0), replied(Message("assistant", "x")), OutputJudged("no"), TurnEnded()]
    log = [STARTED, replied(call("a")), ToolsIntended(("a",)), *(Nested("a", event) for event in child)]
    state = fold([*log, Stopped(reason)])
    assert state.turn is not None and state.stopped == Stopped(reason)
    assert state.turn.children["a"].invalid_outputs == (0 if reason == "InvalidOutputError" else 1)
    ended = fold([STARTED, replied(Message("assistant", "x")), OutputJudged("no"), TurnEnded(), Stopped(reason)])
    assert ended.invalid_outputs == (0 if reason == "InvalidOutputError" else 1)


def test_attempts_are_those_since_a_call_began_and_failures_those_since_its_tool_succeeded() -> None:
    tried = ToolAttemptFailed("a", "ConnectionError", 1.0, 2.0, 3.0)
    state = fold([STARTED, replied(call("a"), call("b"), call("c")), ToolsIntended(("a", "b", "c")), tried, tried])
    assert state.turn is not None and state.turn.attempts == {"a": (tried, tried)}
    assert fold([*state.log, CallRetried("a")]).turn == structs.replace(state.turn, intended=("b", "c"), attempts={})
    state = apply(state, ToolFinished("a", "away", True, at=4.0, failure="transient"))
    state = apply(state, ToolFinished("b", "refused", True, at=5.0, failure="circuit"))
    assert state.failures == {"tool": ToolFailures(1, 4.0)}
    assert apply(state, ToolFinished("c", "wrong", True)).failures == {"tool": ToolFailures(1, 4.0)}
    assert apply(state, ToolFinished("c", "away", True, at=6.0, failure="transient")).failures == {"tool": ToolFailures(2, 6.0)}
    assert apply(state, ToolFinished("c", "found")).failures == {}


def test_a_call_has_the_checkpoint_that_it_saved_last_until_its_turn_ends() -> None:
    begun = [STARTED, replied(call("a"), call("b")), ToolsIntended(("a", "b"))]
    state = fold([*begun, ToolCheckpointed("a", "1"), ToolCheckpointed("b", "x"), ToolCheckpointed("a", "2")])
    assert state.turn is not None and state.turn.checkpoints == {"a": "2", "b": "x"}
    retried = fold([*state.log, CallsInDoubt(("a",)), CallRetried("a")])
    assert retried.turn is not None and retried.turn.checkpoints == {"a": "2", "b": "x"}


@pytest.mark.parametrize("event", [ToolAttemptFailed("a", "ConnectionError", 1.0, 2.0, 3.0), ToolCheckpointed("a", "1")])
def test_what_a_call_says_on_its_way_needs_an_open_turn(event: RunEvent) -> None:
    with pytest.raises(StateCorruptError, match="no open turn"):
        fold([STARTED, event])
