"""`Handler`: what a wrapper is given to go on with. It may be called again and again, one call at a time, until it returns."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from typing import Generic, TypeVar

from agentsdk.types.errors import UserError

G = TypeVar("G")
R = TypeVar("R")


class Handler(Generic[G, R]):
    """Calls `call` for the wrapper named `wrapper`.

    Raises what `call` raises; `UserError` for a call beside another, and for one that comes when the wrapper has returned.
    """

    __slots__ = ("_call", "_is_over", "_task", "_wrapper")

    def __init__(self, wrapper: str, call: Callable[[G], Awaitable[R]]) -> None:
        self._wrapper = wrapper
        self._call = call
        self._task: asyncio.Task[object] | None = None
        self._is_over = False

    async def __call__(self, given: G) -> R:
        if self._is_over:
            raise UserError(f"the handler of {self._wrapper} was called when that had returned; await it before you return")
        if self._task is not None:
            raise UserError(f"the handler of {self._wrapper} was called twice at once; await the first call before the second")
        self._task = asyncio.current_task()
        try:
            return await self._call(given)
        finally:
            self._task = None

    async def close(self, grace: float) -> bool:
        """The wrapper has returned: what still goes on is cancelled and waited for, `grace` seconds. Whether there was any."""
        self._is_over = True
        task = self._task
        if task is None:
            return False
        if task is not asyncio.current_task():
            task.cancel()
            await asyncio.wait([task], timeout=grace)
        return True
