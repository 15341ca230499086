"""An event loop whose clock is moved by the servers: nobody waits out the patience of a client that they are silent to."""

from __future__ import annotations

import asyncio
import os
import selectors
from collections import deque
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

PATIENCE = 10.0
"""Seconds of a client's patience: more than a slow machine takes for anything."""


class JumpingLoop(asyncio.SelectorEventLoop):
    """An event loop. Its time is the machine's, and what it has jumped over."""

    def __init__(self) -> None:
        self.jumps = 0
        """How often it is to jump, each time that it has nothing to do."""
        self._timers: deque[asyncio.TimerHandle] = deque(maxlen=1_000)
        self._skipped = 0.0
        super().__init__(_Selector(self._jumped))

    def time(self) -> float:
        return super().time() + self._skipped

    def call_at(self, when: float, callback: Any, *args: Any, **options: Any) -> asyncio.TimerHandle:
        timer = super().call_at(when, callback, *args, **options)
        self._timers.append(timer)
        return timer

    def skip(self, seconds: float) -> None:
        """Moves the clock forward."""
        self._skipped += seconds

    def _jumped(self) -> bool:
        """Goes to the end of the timer that was set last: the deadline of what was sent last."""
        if not self.jumps:
            return False
        self.jumps -= 1
        now = self.time()
        ends = (timer.when() for timer in reversed(self._timers) if not timer.cancelled() and timer.when() > now)
        self.skip(next(ends, now) - now)
        return True


class _Selector(selectors.DefaultSelector):
    def __init__(self, jumped: Callable[[], bool]) -> None:
        super().__init__()
        self._jumped = jumped

    def select(self, timeout: float | None = None) -> list[tuple[selectors.SelectorKey, int]]:
        found = super().select(0)
        return found if found or timeout == 0 or self._jumped() else super().select(timeout)


async def pause(seconds: float) -> None:
    """Sleeps; where the clock can jump, only as long as others have to do."""
    loop = asyncio.get_running_loop()
    if isinstance(loop, JumpingLoop):
        loop.skip(seconds)
        seconds = 0
    await asyncio.sleep(seconds)


async def pass_time(seconds: float) -> None:
    """Lets so many seconds pass at once, and what was due in them happen. Of the clock that can jump."""
    loop = asyncio.get_running_loop()
    assert isinstance(loop, JumpingLoop)
    loop.skip(seconds)
    for _ in range(10):
        await asyncio.sleep(0)


@contextmanager
def jumps_in_silence(bell: str) -> Iterator[None]:
    """Makes the named pipe `bell`; a loop that can jump does so once for each byte that comes there."""
    loop = asyncio.get_running_loop()
    if not isinstance(loop, JumpingLoop):
        yield
        return
    os.mkfifo(bell)
    pipe = os.open(bell, os.O_RDWR | os.O_NONBLOCK)  # for writing too: it does not end when a server does

    def rung() -> None:
        loop.jumps += len(os.read(pipe, 100))

    loop.add_reader(pipe, rung)
    try:
        yield
    finally:
        loop.remove_reader(pipe)
        os.close(pipe)
