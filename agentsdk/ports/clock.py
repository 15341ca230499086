"""The port to the clock, so that waiting can be tested without waiting."""

from __future__ import annotations

from collections.abc import Callable
from contextvars import ContextVar
from typing import Protocol

from agentsdk.types.declared import having, is_real, shown
from agentsdk.types.errors import AgentsException, CallbackError

waits: ContextVar[Callable[[float], None] | None] = ContextVar("agentsdk waits", default=None)
"""Told of each wait, in seconds, that is no work: for a rate limit, or before a retry. A run with a `active_time` listens."""


class Clock(Protocol):
    """Time and sleep."""

    def time(self) -> float:
        """Seconds since the Unix epoch."""
        ...

    async def sleep(self, seconds: float) -> None:
        """Wait `seconds`; other tasks run meanwhile."""
        ...


CLOCK = having(("time", "sleep"), "a Clock: an object with the methods time and sleep")


async def wait_idle(clock: Clock, seconds: float) -> None:
    """Wait, not working: for a rate limit, or before a retry. It does not count as a run's working time."""
    listener = waits.get()
    if listener is not None:
        listener(seconds)
    await sleep(clock, seconds)


def read(clock: Clock) -> float:
    """The time, in seconds since the Unix epoch. Raises `CallbackError` for a clock that does not say it."""
    try:
        seconds = clock.time()
    except AgentsException:
        raise
    except Exception as error:
        raise _broken(clock, f"time raised {type(error).__name__}", "a Unix timestamp in seconds") from error
    if not is_real(seconds):
        raise _broken(clock, f"time gave {shown(seconds)}", "a Unix timestamp in seconds")
    return seconds


async def sleep(clock: Clock, seconds: float) -> None:
    """Wait `seconds`. Raises `CallbackError` for a clock that raises."""
    try:
        await clock.sleep(seconds)
    except AgentsException:
        raise
    except Exception as error:
        raise _broken(clock, f"sleep raised {type(error).__name__}", "it to wait") from error


def standing_still(clock: Clock) -> CallbackError:
    """The error for a clock by which no time passes while it sleeps: a wait for a time would never end."""
    return _broken(clock, "its time stands still while it sleeps", "it to go on")


def _broken(clock: Clock, what: str, expected: str) -> CallbackError:
    return CallbackError(f"the clock {type(clock).__name__!r} failed: {what}, expected {expected}; fix it, or give none")
