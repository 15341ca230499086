"""Hooks: your code told of what a run, or one agent, does."""

from __future__ import annotations

from agentsdk.define.agent import AgentHooks
from agentsdk.define.hooks import RunHooks

__all__ = [
    "AgentHooks",
    "RunHooks",
]
