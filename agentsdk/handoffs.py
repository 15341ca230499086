"""Handoffs: how an agent gives the run to another one, and what that one sees of it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from agentsdk.define.agent import HandoffDeclaration
from agentsdk.define.handoff import handoff
from agentsdk.define.handoff_filter import HandoffInputData
from agentsdk.types.lazy import lazy_names

__all__ = [
    "HandoffDeclaration",
    "HandoffInputData",
    "handoff",
]

if not TYPE_CHECKING:  # to a type checker it would say that every name is there, also a misspelt one
    __getattr__, __dir__ = lazy_names(__name__)  # a name that is elsewhere says where
