"""Run items and stream events, from run events: one walk, for the stream as it happens and `result.new_items` afterwards."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from agentsdk.core.state import judged_result, result_item
from agentsdk.define.agent import Agent
from agentsdk.define.declaration import Declaration
from agentsdk.define.run_items import (
    HandoffCallItem,
    HandoffOutputItem,
    HostedToolItem,
    MessageOutputItem,
    ReasoningItem,
    RunItem,
    ToolCallItem,
    ToolCallOutputItem,
)
from agentsdk.define.stream_events import (
    AgentUpdatedStreamEvent,
    ContextCompactedStreamEvent,
    LimitWarningStreamEvent,
    OutputRejectedStreamEvent,
    RunItemName,
    RunItemStreamEvent,
    StreamEvent,
)
from agentsdk.types.events import (
    ApprovalJudged,
    ArgumentsEdited,
    ArgumentsRefused,
    GuardrailJudged,
    HandedOff,
    InputReplaced,
    LimitWarningEvent,
    ModelReplied,
    OutputJudged,
    OutputValidated,
    RunEvent,
    RunStarted,
    StepBegan,
    ToolFinished,
    ViewReplaced,
)
from agentsdk.types.items import FunctionCall, FunctionCallOutput, Message, Reasoning
from agentsdk.types.response import OutputItem
from agentsdk.types.spec import handoff_of


class ItemWalk:
    """Follows a run's events and knows whose turn it is. `agents` finds an agent by name; it may grow during the walk.

    `path` are the calls that lead to the run, where it is nested. Of a run nested in it the walk tells nothing.
    """

    def __init__(self, agents: Mapping[str, Agent[Any, Any]], agent: Agent[Any, Any], path: tuple[str, ...] = ()) -> None:
        self.agents = agents
        self.agent = agent
        self._path = path
        self._first = agent
        self._handoffs: dict[str, ToolFinished | None] = {}
        self._withheld: dict[str, ToolFinished] = {}
        self._edited: dict[str, ArgumentsEdited] = {}
        self._special: dict[str, FunctionCall] = {}  # calls whose results say more than a call id

    def feed(self, event: RunEvent) -> list[StreamEvent]:
        """The stream events of one run event."""
        if isinstance(event, ModelReplied):
            return [self._replied(item) for item in event.response.output]
        if isinstance(event, ToolFinished):
            if event.call_id in self._handoffs and not event.is_error:
                self._handoffs[event.call_id] = event
                return []
            if event.is_withheld:
                self._withheld[event.call_id] = event
                return []
            return [self._answered(event)]
        if isinstance(event, StepBegan):
            call = FunctionCall(event.call_id, event.name, event.arguments)
            return [self._named("tool_called", ToolCallItem(self.agent, call))]
        if isinstance(event, GuardrailJudged):
            return self._judged(event)
        if isinstance(event, ArgumentsEdited):
            self._edited[event.call_id] = event
            return []
        if isinstance(event, ArgumentsRefused) or (isinstance(event, ApprovalJudged) and not event.begun):
            self._edited.pop(event.call_id, None)
            return []
        if isinstance(event, HandedOff):
            return self._handed_off(event.agent)
        if isinstance(event, RunStarted):
            self.agent = self.agents[event.agent]
            return [AgentUpdatedStreamEvent(self.agent, self._path)]
        if isinstance(event, ViewReplaced) and event.reason:
            return [ContextCompactedStreamEvent(event.reason, event.before, event.after, event.vanished, self._path)]
        if isinstance(event, LimitWarningEvent):
            return [LimitWarningStreamEvent(event.limit, event.used, event.allowed, self._path)]
        if isinstance(event, OutputJudged) and event.error:
            return [OutputRejectedStreamEvent(event.error, "", self._path)]
        if isinstance(event, OutputValidated) and event.feedback:
            return [OutputRejectedStreamEvent(event.feedback, event.validator, self._path)]
        if isinstance(event, InputReplaced):
            self.agent = self._first
            self._handoffs.clear()
            self._withheld.clear()
            self._special.clear()
        return []

    def _judged(self, verdict: GuardrailJudged) -> list[StreamEvent]:
        """The result that the last of its output guardrails lets pass, or that one replaces."""
        result = self._withheld.get(verdict.call_id) if verdict.kind == "tool_output" else None
        if result is None:
            return []
        judged = judged_result(result, verdict)
        if judged.is_withheld:
            return []
        del self._withheld[verdict.call_id]
        return [self._answered(judged)]

    def _answered(self, result: ToolFinished) -> StreamEvent:
        return self._named("tool_output", ToolCallOutputItem(self.agent, self._output(result)))

    def _output(self, result: ToolFinished) -> FunctionCallOutput:
        call = self._special.pop(result.call_id, None) or FunctionCall(result.call_id, "", "")
        return result_item(call, result, self._edited.get(result.call_id))

    def _replied(self, item: OutputItem) -> StreamEvent:
        if isinstance(item, FunctionCall):
            if item.kind != "function" or item.namespace or item.caller:
                self._special[item.call_id] = item
            if handoff_of(item, Declaration.of(self.agent).handoffs) is not None:
                self._handoffs[item.call_id] = None
                return self._named("handoff_requested", HandoffCallItem(self.agent, item))
            return self._named("tool_called", ToolCallItem(self.agent, item))
        if isinstance(item, Message):
            return self._named("message_output_created", MessageOutputItem(self.agent, item))
        if isinstance(item, Reasoning):
            return self._named("reasoning_item_created", ReasoningItem(self.agent, item))
        return self._named("hosted_tool_used", HostedToolItem(self.agent, item))

    def _handed_off(self, name: str) -> list[StreamEvent]:
        source, target = self.agent, self.agents[name]
        taken = next(finished for finished in self._handoffs.values() if finished is not None)
        self._handoffs.clear()
        self.agent = target
        return [
            self._named("handoff_occured", HandoffOutputItem(source, self._output(taken), source, target)),
            AgentUpdatedStreamEvent(target, self._path),
        ]

    def _named(self, name: RunItemName, item: RunItem) -> RunItemStreamEvent:
        return RunItemStreamEvent(name, item, self._path)
