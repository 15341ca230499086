"""`Watchdog`: the timeouts of one request and its response, at the cost of one timer.

A timeout scope around every chunk of a stream costs more than decoding the chunk. Here one timer is set for the nearest
deadline and looks at the clock only when it fires; a chunk only notes that it came.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable
from math import inf
from typing import TypeVar

T = TypeVar("T")


class DeadlinePassed(Exception):  # noqa: N818 - an outcome, turned into a typed error by the caller
    """The wait was interrupted. `which` is `"idle"` or `"total"`."""

    def __init__(self, which: str) -> None:
        super().__init__(which)
        self.which = which


class Watchdog:
    """Interrupts `wait` when no progress was made for `idle` seconds, or when `total` seconds have passed since it was made.

    Time in which nobody waits (a slow reader of the stream) does not count as idle.
    """

    __slots__ = ("_end", "_fired", "_fresh", "_idle", "_idle_end", "_loop", "_task", "_timer", "_total_end")

    def __init__(self, *, idle: float | None, total: float | None) -> None:
        self._loop = asyncio.get_running_loop()
        now = self._loop.time()
        self._idle = inf if idle is None else idle
        self._end = self._total_end = inf if total is None else now + total
        self._idle_end = now + self._idle
        self._fresh = False  # progress was made since the last wait began
        self._fired = ""
        self._task: asyncio.Task[object] | None = None
        self._timer: asyncio.TimerHandle | None = None

    def progress(self) -> None:
        """What is waited for came: the idle deadline starts again with the next wait."""
        self._fresh = True

    def end_within(self, seconds: float, *, restart: bool = False) -> None:
        """From now on, wait at most `seconds` more in total; with `restart`, whatever an earlier call said."""
        before = self._end
        self._end = min(self._total_end if restart else before, self._loop.time() + seconds)
        if self._end < before:
            self.close()

    def close(self) -> None:
        """Stop the timer; a later `wait` sets it again."""
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None

    async def wait(self, awaitable: Awaitable[T]) -> T:
        """The result of `awaitable`. Raises `DeadlinePassed`; a cancellation from outside passes through."""
        if self._fresh:
            self._fresh = False
            self._idle_end = self._loop.time() + self._idle
        if self._timer is None:
            self._arm()
        task = self._task = asyncio.current_task()
        assert task is not None
        cancelling = task.cancelling()
        try:
            return await awaitable
        except asyncio.CancelledError:
            fired, self._fired = self._fired, ""
            if fired and task.uncancel() <= cancelling:
                raise DeadlinePassed(fired) from None
            raise
        finally:
            self._task = None

    def _arm(self) -> None:
        due = min(self._end, self._idle_end)
        if due < inf:
            self._timer = self._loop.call_at(due, self._look)

    def _look(self) -> None:
        self._timer = None
        if self._task is None:
            return
        now = self._loop.time()
        if now >= self._end:
            self._fired = "total"
        elif now >= self._idle_end:
            self._fired = "idle"
        else:
            self._arm()
            return
        self._task.cancel()
