"""What a conversation is made of: the items that models read and write, their parts, and run items, which add the agent."""

from __future__ import annotations

from agentsdk.define.run_items import (
    HandoffCallItem,
    HandoffOutputItem,
    HostedToolItem,
    ItemHelpers,
    MessageOutputItem,
    ReasoningItem,
    RunItem,
    ToolCallItem,
    ToolCallOutputItem,
)
from agentsdk.types.items import (
    FunctionCall,
    FunctionCallOutput,
    InputAudio,
    InputFile,
    InputImage,
    InputItem,
    InputText,
    Item,
    Message,
    OutputText,
    Part,
    ProviderItem,
    Reasoning,
    Refusal,
)

__all__ = [
    "FunctionCall",
    "FunctionCallOutput",
    "HandoffCallItem",
    "HandoffOutputItem",
    "HostedToolItem",
    "InputAudio",
    "InputFile",
    "InputImage",
    "InputItem",
    "InputText",
    "Item",
    "ItemHelpers",
    "Message",
    "MessageOutputItem",
    "OutputText",
    "Part",
    "ProviderItem",
    "Reasoning",
    "ReasoningItem",
    "Refusal",
    "RunItem",
    "ToolCallItem",
    "ToolCallOutputItem",
]
