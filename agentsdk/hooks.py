"""Hooks: your code told of what a run, or one agent, does."""

from __future__ import annotations

from agentsdk.define.agent import AgentHooks, RunHooks

__all__ = [
    "AgentHooks",
    "RunHooks",
]
