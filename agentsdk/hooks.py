"""Hooks: your code told of what a run, or one agent, does."""

from __future__ import annotations

from typing import TYPE_CHECKING

from agentsdk.define.agent import AgentHooks, RunHooks
from agentsdk.types.lazy import lazy_names

__all__ = [
    "AgentHooks",
    "RunHooks",
]

if not TYPE_CHECKING:  # to a type checker it would say that every name is there, also a misspelt one
    __getattr__, __dir__ = lazy_names(__name__)  # a name that is elsewhere says where
