"""`GrowingOutput`: the final output of a streamed run while it grows, from the text deltas of its events."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Protocol, Self

from agentsdk.define.output import AgentOutputSchema
from agentsdk.define.stream_events import RawResponsesStreamEvent, StreamEvent
from agentsdk.types.deltas import (
    AttemptDiscarded,
    FunctionCallArgumentsDelta,
    OutputItemAdded,
    OutputTextDelta,
    ResponseCompleted,
)
from agentsdk.types.items import FunctionCall
from agentsdk.types.spec import OUTPUT_TOOL


class Events(Protocol):
    """The events of a streamed run, for one reader."""

    async def __anext__(self) -> StreamEvent: ...

    async def aclose(self) -> None: ...


class GrowingOutput:
    """Reads `events`. `schema` gives the output type of the agent whose turn it is, None for text."""

    __slots__ = ("_call", "_events", "_schema", "_shown", "_text")

    def __init__(self, events: Events, schema: Callable[[], AgentOutputSchema[Any] | None]) -> None:
        self._events = events
        self._schema = schema
        self._text = ""
        self._call = -1  # the index of the call that gives the output
        self._shown: object = None

    def __aiter__(self) -> Self:
        return self

    async def __anext__(self) -> object:
        while True:
            event = await self._events.__anext__()
            if not isinstance(event, RawResponsesStreamEvent) or event.path:
                continue  # what a nested agent says is no output
            data = event.data
            if isinstance(data, ResponseCompleted):
                self._call = -1
                if data.response.finish != "length":  # text that stopped at its length is continued
                    self._text = ""
            elif isinstance(data, AttemptDiscarded):
                self._text = ""
            elif isinstance(data, OutputItemAdded):
                if isinstance(data.item, FunctionCall) and data.item.name == OUTPUT_TOOL:
                    self._call, self._text = data.output_index, ""
            elif isinstance(data, OutputTextDelta) or (
                isinstance(data, FunctionCallArgumentsDelta) and data.output_index == self._call
            ):
                self._text += data.delta
                schema = self._schema()
                value = self._text if schema is None else schema.partial(self._text)
                if value is not None and value != self._shown:
                    self._shown = value
                    return value

    async def aclose(self) -> None:
        """Stop the run and wait until it has stopped."""
        await self._events.aclose()
