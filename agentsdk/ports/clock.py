"""The port to time, so that waiting can be tested without waiting."""

from __future__ import annotations

from collections.abc import Callable
from contextvars import ContextVar
from typing import Protocol

waits: ContextVar[Callable[[float], None] | None] = ContextVar("agentsdk waits", default=None)
"""Told of each wait, in seconds, that is no work: for a rate limit, or before a retry. A run with a `working_time` listens."""


class Clock(Protocol):
    """Time and sleep."""

    def time(self) -> float:
        """Seconds since the Unix epoch."""
        ...

    async def sleep(self, seconds: float) -> None:
        """Wait `seconds`; other tasks run meanwhile."""
        ...


async def wait_idle(clock: Clock, seconds: float) -> None:
    """Wait, not working: for a rate limit, or before a retry. It does not count as a run's working time."""
    listener = waits.get()
    if listener is not None:
        listener(seconds)
    await clock.sleep(seconds)
