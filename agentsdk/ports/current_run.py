"""The run that is worked on in a task, for who says it beside something of his own: a line of a log."""

from __future__ import annotations

from contextvars import ContextVar
from weakref import WeakSet

RUN_ID: ContextVar[str] = ContextVar("agentsdk run", default="")
"""The run whose turn it is, and behind it the calls that lead to a nested one; `""` outside. Set where somebody reads it."""

readers: WeakSet[object] = WeakSet()
"""Who reads it."""
