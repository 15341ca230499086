"""`Timeouts`: how long the bodies of steps may take. One timer for all of a program: nearly all end long before."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from math import inf

from agentsdk.define.tool_timeout import TIMEOUT_GRACE
from agentsdk.types.errors import CallbackError


class Timeout:
    """The time that the body of step `key`, run by the current task, has: `seconds` from now.

    `with program.timeouts.of(key, 10): ...` raises `TimeoutError` once they have passed, as `asyncio.timeout` does.
    """

    __slots__ = ("_cancelling", "_running", "at", "is_over", "key", "seconds", "task")

    def __init__(self, running: Timeouts, key: str, seconds: float) -> None:
        self._running = running
        self.key = key
        self.seconds = seconds
        self.at = 0.0
        self.is_over = False

    def __enter__(self) -> None:
        task = asyncio.current_task(self._running.loop)
        assert task is not None, "bodies run in tasks"
        self.task = task
        self._cancelling = task.cancelling()
        self._running.begin(self)

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, traceback: object) -> None:
        self._running.end(self)
        if self.is_over and self.task.uncancel() <= self._cancelling and kind is asyncio.CancelledError:
            raise TimeoutError from error


class Timeouts:
    """The bodies at work that have a time. `fail` ends the run where one goes on although it was cancelled."""

    __slots__ = ("_at_work", "_fail", "_next", "_timer", "loop")

    def __init__(self, fail: Callable[[CallbackError], None]) -> None:
        self._fail = fail
        self.loop = asyncio.get_running_loop()
        self._at_work: set[Timeout] = set()
        self._next = inf
        self._timer: asyncio.TimerHandle | None = None

    def of(self, key: str, seconds: float) -> Timeout:
        """The time that the body of step `key` has."""
        return Timeout(self, key, seconds)

    def begin(self, timeout: Timeout) -> None:
        """It runs from now on."""
        timeout.at = self.loop.time() + timeout.seconds
        self._at_work.add(timeout)
        if timeout.at < self._next:
            self._wake_at(timeout.at)

    def end(self, timeout: Timeout) -> None:
        """The body has ended."""
        self._at_work.discard(timeout)

    def close(self) -> None:
        """Nobody is cancelled any more."""
        self._at_work.clear()
        self._wake_at(inf)

    def _wake_at(self, at: float) -> None:
        if self._timer is not None:
            self._timer.cancel()
        self._next = at
        self._timer = None if at == inf else self.loop.call_at(at, self._look)

    def _look(self) -> None:
        now = self.loop.time()
        for timeout in [one for one in self._at_work if one.at <= now]:
            if timeout.is_over:
                self._at_work.discard(timeout)
                self._fail(_stuck(timeout))
            else:
                timeout.is_over = True
                timeout.at = now + TIMEOUT_GRACE
                timeout.task.cancel()
        self._wake_at(min((one.at for one in self._at_work), default=inf))


def _stuck(timeout: Timeout) -> CallbackError:
    return CallbackError(
        f"step {timeout.key!r} passed its timeout of {timeout.seconds:g} seconds and ignores being cancelled, expected it to "
        "end; let asyncio.CancelledError pass in its body, and resume error.state"
    )
