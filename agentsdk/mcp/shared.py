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
        self._waiting: dict[asyncio.Task[T], int] = {}

    async def result(self) -> T:
        """What the work gives that is going on, or begins now."""
        task = self._task
        if task is None or task.done():
            loop = asyncio.get_running_loop()
            task = self._task = loop.create_task(self._work(), name=self._name, context=contextvars.Context())
            self._waiting[task] = 0
            task.add_done_callback(self._waiting.pop)
        self._waiting[task] += 1
        try:
            return await asyncio.shield(task)
        finally:
            if task in self._waiting:  # it still runs, so whoever waited for it here is cancelled
                self._waiting[task] -= 1
                if not self._waiting[task]:
                    if self._task is task:
                        self.begin_anew()
                    task.cancel()
                    await asyncio.wait([task])

    def begin_anew(self) -> None:
        """Have whoever comes from now on wait for work that begins then."""
        self._task = None

    async def settled(self) -> None:
        """Wait until nothing of it runs."""
        if self._waiting:
            await asyncio.wait(self._waiting)
