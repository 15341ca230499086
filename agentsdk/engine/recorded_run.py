"""`RecordedRun`: what a recorded run was given, found by where it asked: replies, summaries, results, decisions, verdicts.

A replay with changes takes its answers from here. A request has the id that the same request of the replay has; a recorded call
answers one call of the replay, that in the same place if the two are equal, or else the first equal one.
"""

from __future__ import annotations

from typing import Any

from msgspec import Struct, structs

from agentsdk.core.arguments import canonical_arguments
from agentsdk.core.keys import request_id, request_prefix
from agentsdk.core.state import State
from agentsdk.define.agent import Agent
from agentsdk.define.declaration import Declaration
from agentsdk.engine.log_positions import LogPosition, log_positions
from agentsdk.types.events import (
    ApprovalDecided,
    AttemptSpent,
    GuardrailJudged,
    GuardrailPlace,
    InputReplaced,
    ModelReplied,
    Stopped,
    ToolFinished,
    ToolsIntended,
)
from agentsdk.types.items import FunctionCall, Item, Message
from agentsdk.types.response import ModelResponse

CallKind = tuple[str, str, str]
"""What makes calls equal: the tool, its fingerprint, the canonical arguments."""

CallPlace = tuple[str, ...]
"""The calls that lead to a run, or to a call of it and that call."""


class RecordedReply(Struct, frozen=True):
    """A recorded reply, and when it came."""

    position: LogPosition
    response: ModelResponse
    disabled: tuple[str, ...] = ()
    is_refused: bool = False


class RecordedCall:
    """A recorded call, and what became of it."""

    def __init__(self) -> None:
        self.kind: CallKind | None = None
        self.ran = False
        self.result: ToolFinished | None = None
        self.decided: ApprovalDecided | None = None
        self.verdicts: dict[GuardrailPlace, GuardrailJudged] = {}

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
        self._run_id = run_id
        self._stops: list[tuple[str, tuple[Item, ...]]] = []
        self._calls: dict[CallKind, dict[CallPlace, RecordedCall]] = {}
        self._claimed: dict[CallPlace, RecordedCall] = {}
        self._read(recorded, agent, begin)

    def claim(self, place: CallPlace, kind: CallKind) -> RecordedCall | None:
        """The recorded call in this place, if it is equal, or else the first equal one that no other call has claimed."""
        call = self._claimed.get(place)
        equal = self._calls.get(kind)
        if call is None and equal:
            call = self._claimed[place] = equal.pop(place if place in equal else next(iter(equal)))
        return call

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
        for position in log_positions(recorded, agent):
            event, path = position.event, position.path
            match event:
                case AttemptSpent(kind="summary"):
                    number = 1
                    while (asked := self._request_id(position, number)) in self.summaries:
                        number += 1
                    self.summaries[asked] = event
                case AttemptSpent(kind="discarded"):
                    pass  # it was tried again under the same id
                case AttemptSpent():
                    asked = self._request_id(position)
                    attempts.setdefault(path, []).append(asked)
                    text = (Message("assistant", event.partial),) if event.partial else ()
                    response = ModelResponse(text, event.usage, "length" if text else "stop")
                    self.replies[asked] = RecordedReply(position, response, is_refused=event.kind == "refused")
                case ModelReplied():
                    reply = RecordedReply(position, _own_part(position, event), event.disabled)
                    self.replies[self._request_id(position)] = reply
                    for asked in attempts.pop(path, ()):
                        self.replies[asked] = structs.replace(self.replies[asked], disabled=event.disabled)
                    self._read_calls(position, event, calls)
                case ToolsIntended():
                    for call_id in event.call_ids:
                        calls[*path, call_id].ran = True
                case ApprovalDecided():
                    calls[*path, event.call_id].decided = event
                case GuardrailJudged(kind="tool_output"):
                    calls[*path, event.call_id].verdicts[event.place] = event
                case ToolFinished():
                    call = calls[*path, event.call_id]
                    call.result = event
                    if position.revision < begin:
                        call.kind = None  # the rerun has that result already
                case Stopped():
                    self._stops.append((event.reason, ()))
                case InputReplaced() if position.revision >= begin and self._stops:
                    self._stops[-1] = (self._stops[-1][0], event.input)
                case _:
                    pass
        for place, call in calls.items():
            if call.kind is not None:
                self._calls.setdefault(call.kind, {})[place] = call
        if recorded.stopped and self._stops:
            self._stops.pop()  # nobody went on from there

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
                call = calls[*position.path, item.call_id] = RecordedCall()
                tool = None if position.agent is None else Declaration.of(position.agent).tools.get(item.name)
                if tool is not None:
                    call.kind = (item.name, tool.fingerprint, canonical_arguments(item.arguments))


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
