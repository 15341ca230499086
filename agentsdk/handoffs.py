"""Handoffs: how an agent gives the run to another one, and what that one sees of it."""

from __future__ import annotations

from agentsdk.define.agent import HandoffDeclaration
from agentsdk.define.handoff import handoff
from agentsdk.define.handoff_filter import HandoffInputData

__all__ = [
    "HandoffDeclaration",
    "HandoffInputData",
    "handoff",
]
