"""When a program has come to rest: none of its tasks can go on by itself.

Between a step's result and the task that acts on it stand the means of asyncio (a gather in a task group in a `wait`), each of
which takes some passes of the event loop, and none of which says that it is under way. Once the loop has nothing to run at all
it is certain. On a loop that is never idle, as other runs are at work, or that does not say, it is taken to be so
after `PASSES` passes: enough for twenty of these means inside each other.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sized
from typing import cast
from weakref import WeakKeyDictionary

PASSES = 150

_waiting: WeakKeyDictionary[asyncio.AbstractEventLoop, int] = WeakKeyDictionary()
"""How many wait for rest in each loop: they are no work that keeps the others waiting."""


class Rest:
    """Calls `then` once the tasks that can run by now, and all that these wake, have run."""

    __slots__ = ("_handle", "_then")

    def __init__(self, then: Callable[[], None]) -> None:
        self._then = then
        self._handle: asyncio.Handle | None = None

    @property
    def is_coming(self) -> bool:
        """Whether it is waited for."""
        return self._handle is not None

    def begin(self) -> None:
        """Wait for it from now on."""
        self.stop()
        self._wait(PASSES)

    def stop(self) -> None:
        """Wait for it no more."""
        if self._handle is not None:
            self._handle.cancel()
            self._handle = None
            _waiting[asyncio.get_running_loop()] -= 1

    def _wait(self, left: int) -> None:
        loop = asyncio.get_running_loop()
        _waiting[loop] = _waiting.get(loop, 0) + 1
        self._handle = loop.call_soon(self._pass, left)

    def _pass(self, left: int) -> None:
        loop = asyncio.get_running_loop()
        _waiting[loop] -= 1
        self._handle = None
        if left and not is_idle(loop):
            self._wait(left - 1)
        else:
            self._then()


def is_idle(loop: asyncio.AbstractEventLoop) -> bool:
    """Whether nothing but what runs now is to be run, as far as others do not wait for just that; False where the loop does
    not say."""
    ready = cast("Sized | None", getattr(loop, "_ready", None))  # of asyncio's own loops, in all versions; uvloop has none
    return ready is not None and len(ready) <= _waiting.get(loop, 0)
