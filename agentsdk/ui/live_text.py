"""What a model writes and a tool reports while it happens, as the page gets it: without secrets, whole or in pieces."""

from __future__ import annotations

from agentsdk.define.stream_events import RawResponsesStreamEvent, ToolProgressStreamEvent
from agentsdk.types.base import JsonObject
from agentsdk.types.deltas import AttemptDiscarded, OutputTextDelta, ReasoningTextDelta, RefusalDelta
from agentsdk.ui.masks import MaskedPieces
from agentsdk.ui.shown import Shower

MAX_PROGRESS_CHARS = 2_000
"""How much of one text of a tool's progress is sent."""


class LiveText:
    """The deltas of one run and of the runs in it, each known by its path."""

    def __init__(self) -> None:
        self._pieces: dict[tuple[tuple[str, ...], str], MaskedPieces] = {}

    def delta(self, event: RawResponsesStreamEvent | ToolProgressStreamEvent) -> JsonObject | None:
        """What the page gets of it; None for what it does not show, and for a piece that is held back."""
        if isinstance(event, ToolProgressStreamEvent):
            data = Shower(MAX_PROGRESS_CHARS).value(event.data)
            return {"type": "progress", "tool": event.tool_name, "call_id": event.call_id, "data": data, "path": event.path}
        if isinstance(event.data, AttemptDiscarded):
            self.recorded(event.path)
            return {"type": "discarded", "path": event.path}
        if isinstance(event.data, OutputTextDelta | RefusalDelta | ReasoningTextDelta):
            kind = "reasoning" if isinstance(event.data, ReasoningTextDelta) else "text"
            text = self._pieces.setdefault((event.path, kind), MaskedPieces()).feed(event.data.delta)
            return {"type": kind, "text": text, "path": event.path} if text else None
        return None

    def recorded(self, path: tuple[str, ...]) -> None:
        """The run has recorded an event, so what was held back of its text is not to come."""
        for kind in ("text", "reasoning"):
            self._pieces.pop((path, kind), None)
