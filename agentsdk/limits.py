"""What a run may spend: its limits, the prices that costs are worked out by, and limits that several runs share."""

from __future__ import annotations

from typing import TYPE_CHECKING

from agentsdk.core.limits.budget import Budget
from agentsdk.core.limits.run_limits import RunLimits
from agentsdk.define.prices import ModelPrice
from agentsdk.engine.limits.limiter import shared_limits
from agentsdk.types.lazy import lazy_names

__all__ = [
    "Budget",
    "ModelPrice",
    "RunLimits",
    "shared_limits",
]

if not TYPE_CHECKING:  # to a type checker it would say that every name is there, also a misspelt one
    __getattr__, __dir__ = lazy_names(__name__)  # a name that is elsewhere says where
