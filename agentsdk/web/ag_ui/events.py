"""What happens in a run as AG-UI events."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime
from typing import Any

import msgspec
from ag_ui.core import (
    PROTOCOL_VERSION,
    BaseEvent,
    CustomEvent,
    Interrupt,
    MessagesSnapshotEvent,
    ReasoningEndEvent,
    ReasoningMessageContentEvent,
    ReasoningMessageEndEvent,
    ReasoningMessageStartEvent,
    ReasoningStartEvent,
    RunErrorEvent,
    RunFinishedCancelledOutcome,
    RunFinishedEvent,
    RunFinishedInterruptOutcome,
    RunFinishedSuccessOutcome,
    RunStartedEvent,
    StepFinishedEvent,
    StepStartedEvent,
    SubagentFinishedEvent,
    SubagentFinishedSuspendedOutcome,
    SubagentStartedEvent,
    TextMessageContentEvent,
    TextMessageEndEvent,
    TextMessageStartEvent,
    ToolCallArgsEvent,
    ToolCallEndEvent,
    ToolCallResultEvent,
    ToolCallStartEvent,
)

from agentsdk.core.next_step import PendingCall, ToolAnswerItem, ToolApprovalItem
from agentsdk.core.overflow import output_text
from agentsdk.web.ag_ui.inputs import is_interrupt
from agentsdk.web.ag_ui.messages import messages_of
from agentsdk.web.ag_ui.shared_state import SharedState
from agentsdk.web.front_ends.narrator import Narrator
from agentsdk.web.front_ends.threads import Thread
from agentsdk.web.front_ends.told import (
    CallBegan,
    CallEnded,
    CallFinished,
    CallGrew,
    Cancelled,
    ContextTold,
    Failed,
    Finished,
    Progressed,
    StepBegan,
    StepEnded,
    SubagentBegan,
    SubagentEnded,
    Told,
    Voided,
    Waits,
    WritingBegan,
    WritingEnded,
    WritingGrew,
    public_id,
)

APPROVAL_SCHEMA = {
    "type": "object",
    "properties": {
        "approved": {"type": "boolean"},
        "editedArgs": {"type": "object", "description": "All arguments, in place of those of the call."},
        "reason": {"type": "string"},
    },
    "required": ["approved"],
}
OUTCOME_SCHEMA = {
    "type": "object",
    "properties": {
        "action": {"enum": ["retry", "mark_failed", "provide_result"]},
        "result": {"type": "string"},
        "reason": {"type": "string"},
    },
    "required": ["action"],
}


class Encoder:
    """The events of one answer: a run of AG-UI's, which is a whole run of ours or a part of it.

    `state` is what the client shares of it.

    `is_plain`: the client names no version, and is spared what came with 1.0: nested runs, and reasoning.
    """

    def __init__(
        self, thread: Thread, run_id: str, narrator: Narrator, state: SharedState | None = None, *, is_plain: bool = False
    ) -> None:
        self._thread = thread
        self._run_id = run_id
        self._narrator = narrator
        self._state = state
        self._is_plain = is_plain

    def started(self) -> bytes:
        """The first event."""
        thread_id, run_id = self._thread.id, self._run_id
        return encoded(RunStartedEvent(thread_id=thread_id, run_id=run_id, protocol_version=PROTOCOL_VERSION))

    def snapshot(self) -> bytes:
        """The conversation and the state as they stand."""
        return b"".join([encoded(event) for event in self._snapshots()])

    def _snapshots(self) -> Iterator[BaseEvent]:
        if self._state is not None:
            yield from self._state.snapshot()
        yield MessagesSnapshotEvent(messages=messages_of(self._narrator.state))

    def refused(self, code: str, message: str) -> bytes:
        """The last event of a request that is refused."""
        return encoded(RunErrorEvent(message=message, code=code))

    def encode(self, told: Told) -> bytes:
        """What was told, as events."""
        if self._is_plain and self._is_of_later_versions(told):
            return b""
        return b"".join([encoded(event) for event in self._events(told)])

    def _is_of_later_versions(self, told: Told) -> bool:
        if isinstance(told, WritingBegan | WritingGrew | WritingEnded):
            return told.kind == "reasoning" or bool(told.path)
        return isinstance(told, SubagentBegan | SubagentEnded)

    def _events(self, told: Told) -> Iterator[BaseEvent]:
        match told:
            case WritingBegan() | WritingGrew() | WritingEnded():
                yield from _writing(told)
            case CallBegan(id, tool, path):
                yield ToolCallStartEvent(tool_call_id=id, tool_call_name=tool, subagent_run_id=self._owner(path))
            case CallGrew(id, text, path):
                yield ToolCallArgsEvent(tool_call_id=id, delta=text, subagent_run_id=self._owner(path))
            case CallEnded(id, _, _, path):
                yield ToolCallEndEvent(tool_call_id=id, subagent_run_id=self._owner(path))
            case CallFinished(id, output, _, _, path):
                text, owner = output_text(output), self._owner(path)
                yield ToolCallResultEvent(message_id=f"{id}-result", tool_call_id=id, content=text, subagent_run_id=owner)
            case Progressed(id, tool, data, _):
                yield CustomEvent(name="tool_progress", value={"toolCallId": id, "tool": tool, "data": data})
            case Voided():
                yield MessagesSnapshotEvent(messages=messages_of(self._narrator.state))
            case StepBegan(agent):
                yield StepStartedEvent(step_name=agent)
            case StepEnded(agent):
                yield StepFinishedEvent(step_name=agent)
            case SubagentBegan(id, parent, agent, call_id):
                yield SubagentStartedEvent(
                    subagent_run_id=id,
                    name=agent,
                    parent_subagent_run_id=parent or None,
                    parent_tool_call_id=call_id,
                )
            case SubagentEnded(id, rests):
                yield SubagentFinishedEvent(subagent_run_id=id, outcome=SubagentFinishedSuspendedOutcome() if rests else None)
            case ContextTold(text):
                if self._state is not None:
                    yield from self._state.change(text)
            case Finished(output, is_json):
                result: Any = msgspec.json.decode(output) if is_json else output
                yield self._finished(RunFinishedSuccessOutcome(), result)
            case Waits(pending):
                yield from self._waits(pending)
            case Failed(code, message):
                yield RunErrorEvent(message=message, code=code)
            case Cancelled():
                yield self._finished(RunFinishedCancelledOutcome())

    def _owner(self, path: tuple[str, ...]) -> str | None:
        return "/".join(path) if path and not self._is_plain else None

    def _finished(self, outcome: Any, result: Any = None) -> BaseEvent:
        return RunFinishedEvent(thread_id=self._thread.id, run_id=self._run_id, outcome=outcome, result=result)

    def _waits(self, pending: tuple[PendingCall, ...]) -> Iterator[BaseEvent]:
        yield from self._snapshots()
        state = self._narrator.state
        thread = Thread(self._thread.id, self._thread.caller, self._thread.run, state)
        interrupts = [self._interrupt(thread, item) for item in pending if is_interrupt(item)]
        if interrupts:
            yield self._finished(RunFinishedInterruptOutcome(interrupts=interrupts))
        else:
            ids = [public_id(item.path, item.call_id) for item in pending]
            yield self._finished(RunFinishedSuccessOutcome(pending_tool_call_ids=ids))

    def _interrupt(self, thread: Thread, item: PendingCall) -> Interrupt:
        fields: dict[str, Any] = {
            "id": thread.key(item),
            "tool_call_id": public_id(item.path, item.call_id),
            "subagent_run_id": self._owner(item.path),
            "metadata": {"tool": item.tool_name, "agent": item.agent, "arguments": item.arguments, "refused": item.refused},
        }
        if isinstance(item, ToolApprovalItem):
            message = item.reason or f"May {item.agent} call {item.tool_name}?"
            return Interrupt(reason="tool_call", message=message, response_schema=APPROVAL_SCHEMA, **fields)
        if isinstance(item, ToolAnswerItem):
            until = None if item.deadline is None else datetime.fromtimestamp(item.deadline, UTC).isoformat()
            schema = item.answer_schema or ({"enum": list(item.choices)} if item.choices else None)
            given: dict[str, Any] = {"message": item.question, "response_schema": schema, "expires_at": until}
            return Interrupt(reason="input_required", **given, **fields)
        message = f"What became of the call of {item.tool_name} is not known."
        return Interrupt(reason="agentsdk:in_doubt", message=message, response_schema=OUTCOME_SCHEMA, **fields)


def _writing(told: WritingBegan | WritingGrew | WritingEnded) -> Iterator[BaseEvent]:
    of: dict[str, Any] = {"message_id": told.id, "subagent_run_id": "/".join(told.path) or None}
    if isinstance(told, WritingGrew):
        content = TextMessageContentEvent if told.kind == "text" else ReasoningMessageContentEvent
        yield content(delta=told.text, **of)
    elif told.kind == "text":
        yield TextMessageStartEvent(role="assistant", **of) if isinstance(told, WritingBegan) else TextMessageEndEvent(**of)
    elif isinstance(told, WritingBegan):
        yield ReasoningStartEvent(**of)
        yield ReasoningMessageStartEvent(role="reasoning", **of)
    else:
        yield ReasoningMessageEndEvent(**of)
        yield ReasoningEndEvent(**of)


def encoded(event: BaseEvent) -> bytes:
    """An event as a server-sent one."""
    return b"data: %b\n\n" % event.model_dump_json(by_alias=True).encode()
