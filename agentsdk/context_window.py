"""The context window: how a long run stays inside what its model takes at once, and how tokens are counted for that."""

from __future__ import annotations

from agentsdk.core.window.context_window import ContextWindow
from agentsdk.core.window.strategies import DropOldest, KeepByPriority, SlidingWindow, Summarize, TruncateToolResults
from agentsdk.models.token_counter import EstimatingCounter, TiktokenCounter
from agentsdk.ports.token_counter import TokenCounter

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
