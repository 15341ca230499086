"""The type variables that run through the whole API."""

from __future__ import annotations

import sys
from typing import Any

if sys.version_info >= (3, 13):
    from typing import TypeVar
else:
    from typing_extensions import TypeVar

TContext = TypeVar("TContext", default=Any)
"""The caller's own object that tools, hooks and guardrails receive."""

TOutput = TypeVar("TOutput", default=str)
"""What a run's final output is: text unless the agent has an `output_type`."""

TInput = TypeVar("TInput", default=str)
"""What a call of an agent used as a tool gives it: text unless the tool has `parameters`."""
