"""When a program has come to rest: none of its tasks can go on by itself.

Between a step's result and the task that acts on it stand the means of asyncio (a gather in a task group in a `wait`), each of
which takes some passes of the event loop, and none of which says that it is under way. Once the loop has nothing to run at all
it is certain. On a loop that is never idle, as other runs are at work, or that does not say, it is taken to be so
after `PASSES` passes: enough for twenty of these means inside each other.
"""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Callable, Sized
from weakref import WeakKeyDictionary

PASSES = 150


class Rest:
    """Calls `then` once the tasks that can run by now, and all that these wake, have run."""

    __slots__ = ("_then", "_until")

    def __init__(self, then: Callable[[], None]) -> None:
        self._then = then
        self._until = 0

    @property
    def is_coming(self) -> bool:
        """Whether it is waited for."""
        return self._until > 0

    def begin(self) -> None:
        """Wait for it from now on."""
        self._until = _passes(asyncio.get_running_loop()).wait(self)

    def stop(self) -> None:
        """Wait for it no more."""
        self._until = 0

    def come(self, until: int) -> None:
        """It is there for who waits since `PASSES` before `until`."""
        if self._until == until:
            self._until = 0
            self._then()


class _Passes:
    """The passes of one loop, counted while somebody waits for rest: all who do share them."""

    def __init__(self) -> None:
        self.is_counting = False
        self._count = 0
        self._waiting: deque[tuple[int, Rest]] = deque()

    def wait(self, rest: Rest) -> int:
        """Have `rest` come after this pass or a later one: the number of the last."""
        until = self._count + PASSES
        self._waiting.append((until, rest))
        if not self.is_counting:
            self._begin()
        return until

    def _begin(self) -> None:
        self.is_counting = True
        asyncio.get_running_loop().call_soon(self._pass)

    def _pass(self) -> None:
        self.is_counting = False
        self._count += 1
        waiting = self._waiting
        come = len(waiting) if is_idle(asyncio.get_running_loop()) else 0
        while come < len(waiting) and waiting[come][0] <= self._count:
            come += 1
        come_now = [waiting.popleft() for _ in range(come)]
        if waiting:
            self._begin()
        for until, rest in come_now:
            rest.come(until)


_all_passes: WeakKeyDictionary[asyncio.AbstractEventLoop, _Passes] = WeakKeyDictionary()


def _passes(loop: asyncio.AbstractEventLoop) -> _Passes:
    passes = _all_passes.get(loop)
    if passes is None:
        passes = _all_passes[loop] = _Passes()
    return passes


def is_idle(loop: asyncio.AbstractEventLoop) -> bool:
    """Whether nothing but what runs now is to be run, the count of passes aside; False where the loop does not say."""
    ready: Sized | None = getattr(loop, "_ready", None)  # of asyncio's own loops, in all versions; uvloop has none
    return ready is not None and (not ready or len(ready) <= _passes(loop).is_counting)
