"""Stream events: what `async for event in result.stream_events()` gives."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

if TYPE_CHECKING:
    from agentsdk.compat.openai_agents.agent import Agent
    from agentsdk.compat.openai_agents.items import RunItem

RunItemStreamEventName = Literal[
    "message_output_created",
    "handoff_requested",
    "handoff_occured",
    "tool_called",
    "tool_search_called",
    "tool_search_output_created",
    "tool_output",
    "reasoning_item_created",
    "mcp_approval_requested",
    "mcp_approval_response",
    "mcp_list_tools",
]


@dataclass
class RawResponsesStreamEvent:
    """What the model sent: an event of the Responses stream."""

    data: Any
    type: Literal["raw_response_event"] = "raw_response_event"

    @classmethod
    def late(cls, build: Callable[[], Any]) -> RawResponsesStreamEvent:
        """One whose event is built when it is first looked at: most programs look at few."""
        made = object.__new__(cls)
        made.__dict__["_build"] = build
        return made


class _Late:
    """The event of one that nobody has looked at yet. It becomes a plain field by that."""

    def __get__(self, instance: RawResponsesStreamEvent | None, owner: type | None = None) -> Any:
        if instance is None:
            raise AttributeError("data")
        made = instance.__dict__["data"] = instance.__dict__.pop("_build")()
        return made


RawResponsesStreamEvent.data = _Late()


@dataclass
class RunItemStreamEvent:
    """An item became part of the run."""

    name: RunItemStreamEventName
    item: RunItem
    type: Literal["run_item_stream_event"] = "run_item_stream_event"


@dataclass
class AgentUpdatedStreamEvent:
    """An agent takes over."""

    new_agent: Agent[Any]
    type: Literal["agent_updated_stream_event"] = "agent_updated_stream_event"


StreamEvent = RawResponsesStreamEvent | RunItemStreamEvent | AgentUpdatedStreamEvent
