"""The port to time, so that waiting can be tested without waiting."""

from __future__ import annotations

from typing import Protocol


class Clock(Protocol):
    """Time and sleep."""

    def time(self) -> float:
        """Seconds since the Unix epoch."""
        ...

    async def sleep(self, seconds: float) -> None:
        """Wait `seconds`; other tasks run meanwhile."""
        ...
