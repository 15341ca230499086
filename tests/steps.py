"""Cancelling a task at its n-th scheduling step, for every n: each resumption of any task it started counts as one."""

from __future__ import annotations

import asyncio
import contextvars
import inspect
import types
from collections.abc import Awaitable, Callable, Coroutine, Generator
from typing import Any, Generic, TypeVar

T = TypeVar("T")


class Outcome(Generic[T]):
    """What came of a task that was cancelled at one step: its value or error, and what was left running when it ended."""

    def __init__(self, at: int) -> None:
        self.at = at
        self.was_cancelled = False
        """Whether the step was reached before the task ended."""
        self.value: T | None = None
        self.error: BaseException | None = None
        self.left_running: list[asyncio.Task[Any]] = []


class _Counter:
    """A task factory that counts the steps of the tasks made inside `work`, and cancels the first of them."""

    def __init__(self, at: int) -> None:
        self.at = at
        self.steps = 0
        self.reached = False
        self.victim: asyncio.Task[Any] | None = None
        self.made: list[asyncio.Task[Any]] = []
        # Tasks inherit their maker's context, so what a server starts for a connection is not ours.
        self.inside = contextvars.ContextVar("inside", default=False)

    def __call__(self, loop: asyncio.AbstractEventLoop, coroutine: Any, **options: Any) -> asyncio.Task[Any]:
        if not self.inside.get():
            return asyncio.Task(coroutine, loop=loop, **options)
        task: asyncio.Task[Any] = asyncio.Task(self._run(coroutine), loop=loop, **options)
        # A task cancelled before its first step never enters the wrapper; without it, it would have closed the coroutine.
        task.add_done_callback(lambda _: _close_unstarted(coroutine))
        self.made.append(task)
        return task

    def _step(self) -> None:
        if self.victim is not None and not self.victim.done():
            self.steps += 1
            if self.steps == self.at:
                self.reached = self.victim.cancel()

    async def _run(self, coroutine: Coroutine[Any, Any, T]) -> T:
        return await self._counted(coroutine)

    @types.coroutine
    def _counted(self, coroutine: Coroutine[Any, Any, T]) -> Generator[Any, Any, T]:
        value: Any = None
        error: BaseException | None = None
        while True:
            self._step()
            try:
                awaited = coroutine.send(value) if error is None else coroutine.throw(error)
            except StopIteration as stop:
                return stop.value  # type: ignore[no-any-return]
            value = error = None
            try:
                value = yield awaited
            except GeneratorExit:
                coroutine.close()
                raise
            except BaseException as thrown:
                error = thrown


def _close_unstarted(coroutine: Any) -> None:
    if inspect.iscoroutine(coroutine) and inspect.getcoroutinestate(coroutine) == inspect.CORO_CREATED:
        coroutine.close()


async def cancelled_at(at: int, work: Callable[[], Coroutine[Any, Any, T]]) -> Outcome[T]:
    """Run `work()` in a task of its own and cancel that at step number `at`."""
    outcome: Outcome[T] = Outcome(at)
    counter = _Counter(at)
    loop = asyncio.get_running_loop()
    loop.set_task_factory(counter)  # type: ignore[arg-type]
    token = counter.inside.set(True)
    try:
        counter.victim = task = loop.create_task(work())
        counter.inside.reset(token)
        task.add_done_callback(lambda _: outcome.left_running.extend(one for one in counter.made if not one.done()))
        try:
            outcome.value = await task
        except BaseException as error:
            outcome.error = error
    finally:
        loop.set_task_factory(None)
    outcome.was_cancelled = counter.reached
    return outcome


async def at_every_step(work: Callable[[], Coroutine[Any, Any, T]], check: Callable[[Outcome[T]], Awaitable[None]]) -> int:
    """`check` what comes of cancelling a new `work()` at each of its steps; how many there were."""
    at = 1
    while True:
        outcome = await cancelled_at(at, work)
        if not outcome.was_cancelled:
            assert outcome.error is None, outcome.error
            return at - 1
        await check(outcome)
        at += 1
