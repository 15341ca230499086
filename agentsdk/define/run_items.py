"""Run items: an item of the conversation with the agent it belongs to. `result.new_items` and stream events hold them.

Structs, as the items they wrap: one is made for each of them.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, ClassVar, Literal

from msgspec import Struct

from agentsdk.define.agent import Agent
from agentsdk.types.base import JsonObject
from agentsdk.types.items import (
    FunctionCall,
    FunctionCallOutput,
    InputFile,
    Item,
    Message,
    Part,
    ProviderItem,
    Reasoning,
    item_to_dict,
)

if TYPE_CHECKING:
    from agentsdk.types.hosted_results import HostedToolUse, Source


class RunItemBase(Struct, frozen=True):
    """What every run item has: `agent`, whose turn it was."""

    agent: Agent[Any, Any]

    def to_input_item(self) -> JsonObject:
        """The item as a plain dict, valid in another run's input."""
        item: Item = getattr(self, "raw_item")  # noqa: B009 - every kind below has one, of its own type
        return item_to_dict(item)


class MessageOutputItem(RunItemBase, frozen=True):
    """A message of the model."""

    raw_item: Message
    type: ClassVar[Literal["message_output_item"]] = "message_output_item"

    @property
    def sources(self) -> tuple[Source, ...]:
        """The pages and files that the text cites, each once."""
        from agentsdk.types.hosted_results import sources_of  # few programs have hosted tools

        return sources_of(self.raw_item)

    @property
    def files(self) -> tuple[InputFile, ...]:
        """The files that a hosted tool made and the text names, by the provider's ids."""
        from agentsdk.types.hosted_results import files_of

        return files_of(self.raw_item)


class ReasoningItem(RunItemBase, frozen=True):
    """The model's reasoning."""

    raw_item: Reasoning
    type: ClassVar[Literal["reasoning_item"]] = "reasoning_item"


class ToolCallItem(RunItemBase, frozen=True):
    """A call the model asked for."""

    raw_item: FunctionCall
    type: ClassVar[Literal["tool_call_item"]] = "tool_call_item"


class ToolCallOutputItem(RunItemBase, frozen=True):
    """A call's result; `output` is what the model was sent."""

    raw_item: FunctionCallOutput
    type: ClassVar[Literal["tool_call_output_item"]] = "tool_call_output_item"

    @property
    def output(self) -> str | tuple[Part, ...]:
        """What the model was sent."""
        return self.raw_item.output


class HandoffCallItem(RunItemBase, frozen=True):
    """The model's call to hand over."""

    raw_item: FunctionCall
    type: ClassVar[Literal["handoff_call_item"]] = "handoff_call_item"


class HandoffOutputItem(RunItemBase, frozen=True):
    """A handoff that took place."""

    raw_item: FunctionCallOutput
    source_agent: Agent[Any, Any]
    target_agent: Agent[Any, Any]
    type: ClassVar[Literal["handoff_output_item"]] = "handoff_output_item"


class HostedToolItem(RunItemBase, frozen=True):
    """Activity of a tool that the provider runs itself. `raw_item` is the provider's own, which goes back to it as it came."""

    raw_item: ProviderItem
    type: ClassVar[Literal["hosted_tool_item"]] = "hosted_tool_item"

    @property
    def use(self) -> HostedToolUse:
        """What the tool was asked for, and what came of it."""
        from agentsdk.types.hosted_results import HostedToolUse

        return HostedToolUse.of(self.raw_item)


RunItem = (
    MessageOutputItem | ReasoningItem | ToolCallItem | ToolCallOutputItem | HandoffCallItem | HandoffOutputItem | HostedToolItem
)
"""An item of the conversation with the agent it belongs to."""


class ItemHelpers:
    """Small helpers over items."""

    @staticmethod
    def text_message_output(item: MessageOutputItem) -> str:
        """A message's text."""
        return item.raw_item.text

    @staticmethod
    def text_message_outputs(items: list[RunItem]) -> str:
        """The text of all messages, joined."""
        return "".join(item.raw_item.text for item in items if isinstance(item, MessageOutputItem))

    @staticmethod
    def extract_last_text(message: Item) -> str | None:
        """A message's text, or None for any other item."""
        return message.text if isinstance(message, Message) else None
