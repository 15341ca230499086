"""Stream events: what `async for event in Runner.run_streamed(...)` gives.

`path` are the calls that lead to the nested run an event is of, outermost first: none for the run that is streamed itself.

Structs, although callers match on them: one is made for each delta of a stream.
"""

from __future__ import annotations

from typing import Any, ClassVar, Literal

from msgspec import Struct

from agentsdk.define.agent import Agent
from agentsdk.define.run_items import RunItem
from agentsdk.types.deltas import ModelStreamEvent
from agentsdk.types.events import RunEvent


class RawResponsesStreamEvent(Struct, frozen=True):
    """What the model sent, as it came. `data.type` and its fields are those of the Responses stream, whatever the provider."""

    data: ModelStreamEvent
    path: tuple[str, ...] = ()
    type: ClassVar[Literal["raw_response_event"]] = "raw_response_event"


RunItemName = Literal[
    "message_output_created",
    "reasoning_item_created",
    "tool_called",
    "tool_output",
    "handoff_requested",
    "handoff_occured",
    "hosted_tool_used",
]


class RunItemStreamEvent(Struct, frozen=True):
    """An item became part of the run. (The spelling of `handoff_occured` is the field's.)"""

    name: RunItemName
    item: RunItem
    path: tuple[str, ...] = ()
    type: ClassVar[Literal["run_item_stream_event"]] = "run_item_stream_event"


class AgentUpdatedStreamEvent(Struct, frozen=True):
    """An agent takes over: at the start and after each handoff."""

    new_agent: Agent[Any, Any]
    path: tuple[str, ...] = ()
    type: ClassVar[Literal["agent_updated_stream_event"]] = "agent_updated_stream_event"


class ContextCompactedStreamEvent(Struct, frozen=True):
    """What the model is sent was made smaller to fit its context window; the run's history stays whole.

    `reason` names what did it, `before` and `after` are the request's tokens, `lost_terms` is what a summary lost.
    """

    reason: str
    before: int
    after: int
    lost_terms: tuple[str, ...]
    path: tuple[str, ...] = ()
    type: ClassVar[Literal["context_compacted_stream_event"]] = "context_compacted_stream_event"


class LimitWarningStreamEvent(Struct, frozen=True):
    """Most of a limit is used (`RunLimits.warn_at`). `used` and `allowed` are as text."""

    limit: str
    used: str
    allowed: str
    path: tuple[str, ...] = ()
    type: ClassVar[Literal["limit_near_stream_event"]] = "limit_near_stream_event"


class OutputRejectedStreamEvent(Struct, frozen=True):
    """The final output was sent back: the model is told `feedback`, and answers again if it may.

    `validator` is the output validator that did, `""` where the output did not fit its type.
    """

    feedback: str
    validator: str = ""
    path: tuple[str, ...] = ()
    type: ClassVar[Literal["output_rejected_stream_event"]] = "output_rejected_stream_event"


class ToolProgressStreamEvent(Struct, frozen=True):
    """What a tool sent while it runs: `ToolContext.emit(data)`. It is not recorded, and no model sees it.

    `agent` is the agent that asked for the call.
    """

    data: Any
    tool_name: str
    call_id: str
    agent: Agent[Any, Any]
    path: tuple[str, ...] = ()
    type: ClassVar[Literal["tool_progress_stream_event"]] = "tool_progress_stream_event"


class RecordedEvent(Struct, frozen=True):
    """An event of a run's log, as `Runner.watch` gives it. Whoever goes on after it passes `after=revision`."""

    revision: int
    event: RunEvent
    path: tuple[str, ...] = ()
    type: ClassVar[Literal["recorded_event"]] = "recorded_event"


WatchEvent = RecordedEvent | RawResponsesStreamEvent | ToolProgressStreamEvent
"""What `async for event in Runner.watch(...)` gives."""

StreamEvent = (
    RawResponsesStreamEvent
    | RunItemStreamEvent
    | AgentUpdatedStreamEvent
    | ContextCompactedStreamEvent
    | LimitWarningStreamEvent
    | OutputRejectedStreamEvent
    | ToolProgressStreamEvent
)
"""What `async for event in Runner.run_streamed(...)` gives."""
