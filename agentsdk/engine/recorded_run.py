"""`RecordedRun`: what a recorded run was given, found by where it asked: replies, summaries, results, decisions, verdicts.

A replay with changes takes its answers from here. A request has the id that the same request of the replay has; a recorded call
answers one call of the replay, that in the same place if the two are equal, or else the first equal one.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import msgspec
from msgspec import Struct, structs

from agentsdk.core.arguments import canonical_arguments
from agentsdk.core.keys import request_id, request_prefix
from agentsdk.core.next_step import ToolAnswerItem
from agentsdk.core.overflow import output_text
from agentsdk.core.process import process_model_response
from agentsdk.core.run_state import RunState
from agentsdk.core.state import State
from agentsdk.define.agent import Agent
from agentsdk.define.context import TurnContext
from agentsdk.define.declaration import Declaration
from agentsdk.define.output import unfenced
from agentsdk.define.output_function import OutputFunction
from agentsdk.define.tool import spec_fingerprint
from agentsdk.engine.log_positions import LogPosition, log_positions
from agentsdk.types.events import (
    AnswerAwaited,
    AnswerRefused,
    ApprovalDecided,
    ApprovalJudged,
    ArgumentsEdited,
    ArgumentsRefused,
    AttemptSpent,
    CallAnswered,
    GuardrailJudged,
    GuardrailPlace,
    InputReplaced,
    ModelReplied,
    OutputJudged,
    RunStarted,
    Stopped,
    ToolFinished,
    ToolsIntended,
)
from agentsdk.types.items import FunctionCall, Item, Message
from agentsdk.types.response import ModelResponse
from agentsdk.types.spec import handler_of
from agentsdk.types.usage import SpentAttempt

CallKind = tuple[str, str, str]
"""What makes calls equal: the tool, its fingerprint, the canonical arguments."""

CallPlace = tuple[str, ...]
"""The calls that lead to a run, or to a call of it and that call."""


class RecordedReply(Struct, frozen=True):
    """A recorded reply, and when it came. `model` is the name by which the model was asked, `attempts` what was discarded
    before it."""

    position: LogPosition
    response: ModelResponse
    model: str
    disabled: tuple[str, ...] = ()
    is_refused: bool = False
    attempts: tuple[SpentAttempt, ...] = ()


class RecordedCall:
    """A recorded call, and what became of it."""

    def __init__(self, place: CallPlace) -> None:
        self.place = place
        self.asked: CallKind | None = None
        """What the model asked for."""
        self.kind: CallKind | None = None
        """The same, with the arguments that it ran with."""
        self.ran = False
        self.result: ToolFinished | None = None
        self.decided: ApprovalDecided | None = None
        self.edited: ArgumentsEdited | None = None
        self.awaited: AnswerAwaited | None = None
        self.answered: CallAnswered | None = None
        self.verdicts: dict[GuardrailPlace, GuardrailJudged] = {}
        self.history: tuple[Item, ...] = ()
        """What the session held when its nested run began."""

    @property
    def has_result(self) -> bool:
        """Whether it ran, and gave a result."""
        return self.ran and self.result is not None


class RecordedRun:
    """The record of a run that `agent` began. A replay under `run_id` has what came before revision `begin` already."""

    def __init__(self, recorded: State, agent: Agent[Any, Any], begin: int, run_id: str) -> None:
        self.replies: dict[str, RecordedReply] = {}
        """By request id."""
        self.summaries: dict[str, AttemptSpent] = {}
        """By request id."""
        self.outputs: dict[tuple[CallPlace, str, str], str] = {}
        """What output functions returned, as JSON text, by their run, their fingerprint, and the canonical arguments."""
        self._run_id = run_id
        self._stops: list[tuple[str, tuple[Item, ...]]] = []
        self._calls: dict[CallKind, dict[CallPlace, RecordedCall]] = {}
        self._edited: dict[CallKind, dict[CallPlace, RecordedCall]] = {}
        self._claimed: dict[CallPlace, RecordedCall] = {}
        self._read(recorded, agent, begin)

    def claim(self, place: CallPlace, kind: CallKind) -> RecordedCall | None:
        """The recorded call in this place, if it is equal, or else the first equal one that no other call has claimed."""
        return self._claim(place, self._calls.get(kind))

    def claim_to_decide(self, place: CallPlace, kind: CallKind) -> RecordedCall | None:
        """The same for a call that a person is asked for: one whose arguments were changed is equal as it was asked for."""
        return self._claim(place, self._edited.get(kind) or self._calls.get(kind))

    def answer(self, state: RunState, item: ToolAnswerItem) -> bool:
        """Answer a call that waits as the recorded one was that it has claimed; whether that one was."""
        call = self._claimed.get((*item.path, item.call_id))
        if call is None or call.result is None or call.awaited is None:
            return False
        given, default = call.answered, call.awaited.default
        if call.result.is_error or not (given or default):
            state.mark_failed(item, output_text(call.result.output))
        else:
            state.answer(item, msgspec.json.decode(given.answer if given else default), by=given.by if given else "")
        return True

    def _claim(self, place: CallPlace, equal: dict[CallPlace, RecordedCall] | None) -> RecordedCall | None:
        call = self._claimed.get(place)
        if call is None and equal:
            call = self._claimed[place] = equal[place if place in equal else next(iter(equal))]
            for index, kind in ((self._calls, call.kind), (self._edited, call.asked)):
                if kind is not None and kind in index:
                    index[kind].pop(call.place, None)
        return call

    def model_asked(self, context: TurnContext[Any]) -> str:
        """The name by which the model of a turn was asked, `""` for a turn that there was not."""
        reply = self.replies.get(request_id(request_prefix(context.run_id, context.path), context.turn))
        return "" if reply is None else reply.model

    def take_stop(self, reason: str) -> tuple[Item, ...] | None:
        """The input that the run was gone on with after it stopped for `reason`: `()` for the same, None where it was not."""
        at = next((at for at, (stopped, _) in enumerate(self._stops) if stopped == reason), None)
        if at is None:
            return None
        _, given = self._stops[at]
        del self._stops[: at + 1]
        return given

    def _read(self, recorded: State, agent: Agent[Any, Any], begin: int) -> None:
        calls: dict[CallPlace, RecordedCall] = {}
        attempts: dict[CallPlace, list[str]] = {}
        discarded: dict[CallPlace, list[SpentAttempt]] = {}
        for position in log_positions(recorded, agent):
            event, path = position.event, position.path
            match event:
                case AttemptSpent(kind="summary"):
                    self._read_summary(position, event)
                case AttemptSpent(kind="call"):
                    pass  # what it was for is in the call's result
                case AttemptSpent(kind="discarded"):
                    if position.revision >= begin:  # else the rerun has it already
                        discarded.setdefault(path, []).append(SpentAttempt(event.usage, event.model))
                case AttemptSpent():
                    asked = self._read_attempt(position, event, discarded.pop(path, ()))
                    attempts.setdefault(path, []).append(asked)
                case OutputJudged(output=output) if output and position.agent is not None:
                    self._read_output(position, position.agent, output)
                case ModelReplied():
                    self._read_reply(position, event, attempts.pop(path, ()), discarded.pop(path, ()))
                    self._read_calls(position, event, calls)
                case Stopped():
                    self._stops.append((event.reason, ()))
                case InputReplaced() if position.revision >= begin and self._stops:
                    self._stops[-1] = (self._stops[-1][0], event.input)
                case _:
                    _read_of_call(position, calls, begin)
        for place, call in calls.items():
            if call.kind is not None:
                self._calls.setdefault(call.kind, {})[place] = call
                if call.edited is not None and call.asked is not None:
                    self._edited.setdefault(call.asked, {})[place] = call
        if recorded.stopped and self._stops:
            self._stops.pop()  # nobody went on from there

    def _read_summary(self, position: LogPosition, event: AttemptSpent) -> None:
        number = 1
        while (asked := self._request_id(position, number)) in self.summaries:
            number += 1
        self.summaries[asked] = event

    def _read_attempt(self, position: LogPosition, event: AttemptSpent, discarded: Sequence[SpentAttempt]) -> str:
        """The id of the request that it was."""
        asked = self._request_id(position)
        text = (Message("assistant", event.partial),) if event.partial else ()
        response = ModelResponse(text, event.usage, "length" if text else "stop")
        refused, model = event.kind == "refused", event.asked or event.model
        self.replies[asked] = RecordedReply(position, response, model, is_refused=refused, attempts=tuple(discarded))
        return asked

    def _read_reply(
        self, position: LogPosition, event: ModelReplied, attempts: Sequence[str], discarded: Sequence[SpentAttempt]
    ) -> None:
        own, model = _own_part(position, event), event.asked or event.response.model
        reply = RecordedReply(position, own, model, event.disabled, attempts=tuple(discarded))
        self.replies[self._request_id(position)] = reply
        for asked in attempts:
            self.replies[asked] = structs.replace(self.replies[asked], disabled=event.disabled)

    def _read_output(self, position: LogPosition, agent: Agent[Any, Any], output: str) -> None:
        declared, turn = Declaration.of(agent), position.state.turn
        if isinstance(declared.output, OutputFunction) and turn is not None and turn.response is not None:
            answer = unfenced(process_model_response(declared.spec, turn.response).answer)
            function = declared.output
            self.outputs[position.path, function.tool.fingerprint, canonical_arguments(answer)] = output

    def _request_id(self, position: LogPosition, summary: int = 0) -> str:
        """The id that the rerun's request has whose reply, or summary, came here."""
        turn = position.state.turn
        attempt = 0 if turn is None else turn.continuations + turn.empty_replies
        prefix = request_prefix(self._run_id, position.path)
        return request_id(prefix, position.state.turns + 1, attempt, summary)

    @staticmethod
    def _read_calls(position: LogPosition, event: ModelReplied, calls: dict[CallPlace, RecordedCall]) -> None:
        for item in event.response.output:
            if isinstance(item, FunctionCall):
                place = (*position.path, item.call_id)
                call = calls[place] = RecordedCall(place)
                tool = None if position.agent is None else handler_of(item, Declaration.of(position.agent).tools)
                fingerprint = _offered_fingerprint(position.state, item) if tool is None else tool.fingerprint
                if fingerprint:
                    call.asked = call.kind = (item.name, fingerprint, canonical_arguments(item.arguments))


def _read_of_call(position: LogPosition, calls: Mapping[CallPlace, RecordedCall], begin: int) -> None:
    """What an event says of calls that the model has asked for."""
    event, path = position.event, position.path
    match event:
        case ToolsIntended():
            for call_id in event.call_ids:
                calls[*path, call_id].ran = True
        case ApprovalDecided():
            calls[*path, event.call_id].decided = event
        case ArgumentsEdited():
            call = calls[*path, event.call_id]
            call.edited = event
            if call.asked is not None:
                call.kind = (*call.asked[:2], canonical_arguments(event.arguments))
        case ArgumentsRefused() | ApprovalJudged(begun=False):
            call = calls[*path, event.call_id]
            call.edited, call.kind = None, call.asked
        case RunStarted() if path in calls:
            calls[path].history = event.input[: event.history]
        case AnswerAwaited():
            calls[*path, event.call_id].awaited = event
        case CallAnswered():
            calls[*path, event.call_id].answered = event
        case AnswerRefused():
            calls[*path, event.call_id].answered = None
        case GuardrailJudged(kind="tool_output"):
            calls[*path, event.call_id].verdicts[event.place] = event
        case ToolFinished():
            call = calls[*path, event.call_id]
            call.result = event
            if position.revision < begin:
                call.kind = None  # the rerun has that result already
        case _:
            pass


def _offered_fingerprint(state: State, call: FunctionCall) -> str:
    """What a call's tool is known by where a toolset offered it; `""` where none did."""
    for (agent, _), offered in state.offered.items():
        if agent == state.agent and (spec := handler_of(call, offered.tools)) is not None:
            return spec_fingerprint(spec)
    return ""


def _own_part(position: LogPosition, event: ModelReplied) -> ModelResponse:
    """A reply without the text it continues, which the engine joins to it again."""
    turn, response = position.state.turn, event.response
    partial = "" if turn is None else turn.partial
    if not partial:
        return response
    output = list(response.output)
    at, first = next((at, item) for at, item in enumerate(output) if isinstance(item, Message))
    rest = first.content.removeprefix(partial) if isinstance(first.content, str) else first.content[1:]
    output[at] = structs.replace(first, content=rest)
    return structs.replace(response, output=tuple(output))
