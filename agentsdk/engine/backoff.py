"""`Backoff`: the waits between attempts at a store that is busy or away."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from typing import TypeVar

from agentsdk.define.run_config import RunConfig
from agentsdk.ports.clock import sleep
from agentsdk.types.errors import StoreBusyError, StoreUnavailableError

T = TypeVar("T")

AWAY = (StoreBusyError, StoreUnavailableError)
"""What may pass: all other errors of a store are its last word."""

_FIRST = 0.05
_LONGEST = 1.0


class Backoff:
    """Waits that double up to a second, each shortened by chance, for `RunConfig.store_timeout` in all and never for longer
    than a lease."""

    __slots__ = ("_config", "_ends", "_left", "_now", "_wait")

    def __init__(self, config: RunConfig, now: Callable[[], float]) -> None:
        self._config = config
        self._now = now
        self._wait = _FIRST
        self._left = min(config.store_timeout, config.lease)  # of a clock that stands still, the waits count
        self._ends = now() + self._left

    async def wait(self) -> bool:
        """Wait before the next attempt; False, at once, where its time would come too late."""
        import random  # few stores are ever busy

        seconds = self._wait * random.uniform(0.5, 1.0)
        if seconds > self._left or self._now() + seconds > self._ends:
            return False
        self._left -= seconds
        self._wait = min(2 * self._wait, _LONGEST)
        clock = self._config.clock
        await (asyncio.sleep(seconds) if clock is None else sleep(clock, seconds))
        return True


async def with_retries(ask: Callable[[], Awaitable[T]], config: RunConfig, now: Callable[[], float]) -> T:
    """What `ask` gives, asked again while the store is away. Only for what may be done twice. Raises what it raised last."""
    backoff: Backoff | None = None
    while True:
        try:
            return await ask()
        except AWAY:
            backoff = backoff or Backoff(config, now)
            if not await backoff.wait():
                raise
