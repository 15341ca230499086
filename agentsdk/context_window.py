"""The context window: how a long run stays inside what its model takes at once, and how tokens are counted for that."""

from __future__ import annotations

from typing import TYPE_CHECKING

from agentsdk.core.window.context_window import ContextWindow
from agentsdk.core.window.strategies import DropOldest, KeepByPriority, SlidingWindow, Summarize, TruncateToolResults
from agentsdk.models.token_counter import EstimatingCounter, TiktokenCounter
from agentsdk.ports.token_counter import TokenCounter
from agentsdk.types.lazy import lazy_names

__all__ = [
    "ContextWindow",
    "DropOldest",
    "EstimatingCounter",
    "KeepByPriority",
    "SlidingWindow",
    "Summarize",
    "TiktokenCounter",
    "TokenCounter",
    "TruncateToolResults",
]

if not TYPE_CHECKING:  # to a type checker it would say that every name is there, also a misspelt one
    __getattr__, __dir__ = lazy_names(__name__)  # a name that is elsewhere says where
