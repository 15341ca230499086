"""`Grace`: the grace period, in which a cancelled run has to wind down; one for all that it still does."""

from __future__ import annotations

import asyncio

THREADS = 0.7
RECORD = 0.75
BODIES = 0.8
SESSION = 0.9
STORE = 0.97
"""The share of the grace that is over when the bodies of sync tools, what they record, all calls, the session and the store are
given up: each leaves the next its part, so that one that hangs does not keep the store from learning that the run is free."""

LAST_MOMENT = 0.05
"""Seconds for what was given up to end, once it is cancelled too; and the least that anything has to end by itself."""


class Grace:
    """`seconds` from the first cancellation on, however many follow it."""

    __slots__ = ("_began", "seconds")

    def __init__(self, seconds: float) -> None:
        self.seconds = seconds
        self._began: float | None = None

    def begin(self) -> None:
        """The run is being cancelled. A second call does nothing."""
        if self._began is None:
            self._began = asyncio.get_running_loop().time()

    def reset(self) -> None:
        """What was cancelled was a part of the run: it goes on."""
        self._began = None

    def left(self, share: float = 1.0) -> float | None:
        """Seconds until this share of the grace is over, never below 0; None while nobody has cancelled the run."""
        if self._began is None:
            return None
        return max(0.0, self._began + self.seconds * share - asyncio.get_running_loop().time())
