"""What a conversation is made of: the items that models read and write, their parts, and run items, which add the agent."""

from __future__ import annotations

from typing import TYPE_CHECKING

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
    Caller,
    CallKind,
    FunctionCall,
    FunctionCallOutput,
    InputAudio,
    InputFile,
    InputImage,
    InputItem,
    InputText,
    InputVideo,
    Item,
    Message,
    OutputText,
    Part,
    ProviderItem,
    Reasoning,
    Refusal,
)
from agentsdk.types.lazy import lazy_names

__all__ = [
    "CallKind",
    "Caller",
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
    "InputVideo",
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

if not TYPE_CHECKING:  # to a type checker it would say that every name is there, also a misspelt one
    __getattr__, __dir__ = lazy_names(__name__)  # a name that is elsewhere says where
