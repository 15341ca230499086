"""What a run may spend: its limits, the prices that costs are worked out by, and limits that several runs share."""

from __future__ import annotations

from agentsdk.core.limits.budget import Budget
from agentsdk.core.limits.run_limits import RunLimits
from agentsdk.define.prices import ModelPrice
from agentsdk.engine.limits.limiter import shared_limits

__all__ = [
    "Budget",
    "ModelPrice",
    "RunLimits",
    "shared_limits",
]
