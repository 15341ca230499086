"""Stream events of the run beneath, as the program sees them."""

from __future__ import annotations

from functools import partial
from typing import Any, cast

from agentsdk.compat.openai_agents._bridge.events import built_event, text_deltas
from agentsdk.compat.openai_agents._bridge.model import RawDelta
from agentsdk.compat.openai_agents._bridge.replies import event_name, item_of
from agentsdk.compat.openai_agents._bridge.scope import RunScope
from agentsdk.compat.openai_agents.items import HandoffOutputItem, field_of
from agentsdk.compat.openai_agents.stream_events import (
    AgentUpdatedStreamEvent,
    RawResponsesStreamEvent,
    RunItemStreamEvent,
    StreamEvent,
)
from agentsdk.define import stream_events as own
from agentsdk.types.deltas import Delta, ModelStreamEvent, OutputTextDelta, ResponseCompleted


class Shown:
    """What a reader of a run is shown of its events."""

    __slots__ = ("_has_raw", "_scope", "_text_delta")

    def __init__(self, scope: RunScope) -> None:
        self._scope = scope
        self._text_delta = text_deltas()
        self._has_raw = False  # the model of the turn is the program's own, whose events are shown as they are

    def event(self, event: Any) -> StreamEvent | None:
        """The event as the program sees it; None for one that it is not shown: nested runs have streams of their own."""
        if event.path:
            return None
        kind: type[Any] = type(cast(object, event))
        if kind is own.RawResponsesStreamEvent:
            delta: Delta = event.data
            if type(delta) is OutputTextDelta:
                return RawResponsesStreamEvent(self._text_delta(delta.delta, delta.output_index))
            if type(delta) is RawDelta:
                self._has_raw = True
                return RawResponsesStreamEvent(delta.raw)
            return self._raw(delta)
        if kind is own.RunItemStreamEvent:
            item = item_of(self._scope, event.item)
            if item.type == "handoff_output_item" and self._is_left_out(item):
                return None
            return RunItemStreamEvent(cast(Any, event_name(event.name, item)), item)
        if kind is own.AgentUpdatedStreamEvent:
            return AgentUpdatedStreamEvent(self._scope.translation.given(event.new_agent))
        return None

    def _is_left_out(self, item: HandoffOutputItem) -> bool:
        filtered = self._scope.handed.get(str(field_of(item.raw_item, "call_id")))
        return filtered is not None and not filtered.has(item)

    def _raw(self, delta: Delta) -> RawResponsesStreamEvent | None:
        if type(delta) is ResponseCompleted and self._has_raw:  # the program's own model has sent one of its own
            self._has_raw = False
            return None
        return RawResponsesStreamEvent.late(partial(built_event, cast(ModelStreamEvent, delta)))
