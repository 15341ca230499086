"""`Shared`: work that those who want it at one time share, and that ends with the last of them."""

from __future__ import annotations

import asyncio
import contextvars
from collections.abc import Callable, Coroutine
from typing import Any, Generic, TypeVar

T = TypeVar("T")


class Shared(Generic[T]):
    """Work in a task of its own, since any of those who wait for it may be cancelled. It returns its errors, never raises."""

    def __init__(self, name: str, work: Callable[[], Coroutine[Any, Any, T]]) -> None:
        self._name = name
        self._work = work
        self._task: asyncio.Task[T] | None = None
        self._waiting = 0

    async def result(self) -> T:
        """What the work gives that is going on, or begins now."""
        task = self._task
        if task is None or task.done():
            loop = asyncio.get_running_loop()
            task = self._task = loop.create_task(self._work(), name=self._name, context=contextvars.Context())
            self._waiting = 0
        self._waiting += 1
        try:
            return await asyncio.shield(task)
        finally:
            if self._task is task:
                self._waiting -= 1
                if not self._waiting and not task.done():
                    self._task = None  # whoever comes now begins anew
                    task.cancel()
                    await asyncio.wait([task])

    async def settled(self) -> None:
        """Wait until nothing of it runs."""
        if self._task is not None:
            await asyncio.wait([self._task])
