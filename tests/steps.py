"""Cancelling a task at its n-th scheduling step, for every n: each resumption of any task it started counts as one."""

from __future__ import annotations

import asyncio
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
    def __init__(self, outcome: Outcome[Any]) -> None:
        self.outcome = outcome
        self.steps = 0
        self.victim: asyncio.Task[Any] | None = None

    def step(self) -> None:
        if self.victim is None or self.victim.done():
            return
        self.steps += 1
        if self.steps == self.outcome.at:
            self.outcome.was_cancelled = self.victim.cancel("cancelled by the test")

    def make(self, loop: asyncio.AbstractEventLoop, coroutine: Any, **options: Any) -> asyncio.Task[Any]:
        task: asyncio.Task[Any] = asyncio.Task(self._run(coroutine), loop=loop, **options)
        # A task cancelled before its first step never enters the wrapper; without it, it would have closed the coroutine.
        task.add_done_callback(lambda _: coroutine.close() if inspect.getcoroutinestate(coroutine) == "CORO_CREATED" else None)
        return task

    async def _run(self, coroutine: Coroutine[Any, Any, T]) -> T:
        return await self._counted(coroutine)

    @types.coroutine
    def _counted(self, coroutine: Coroutine[Any, Any, T]) -> Generator[Any, Any, T]:
        resume: Callable[[], Any] = lambda: coroutine.send(None)  # noqa: E731
        while True:
            self.step()
            try:
                awaited = resume()
            except StopIteration as stop:
                return stop.value  # type: ignore[no-any-return]
            try:
                value = yield awaited
            except GeneratorExit:
                coroutine.close()
                raise
            except BaseException as error:
                thrown = error
                resume = lambda thrown=thrown: coroutine.throw(thrown)  # type: ignore[misc]  # noqa: E731
            else:
                resume = lambda value=value: coroutine.send(value)  # type: ignore[misc]  # noqa: E731


async def cancelled_at(at: int, work: Callable[[], Coroutine[Any, Any, T]], ignore: Callable[[asyncio.Task[Any]], bool] | None = None) -> Outcome[T]:
    """Run `work()` in a task of its own and cancel it at its step number `at`; tasks that `ignore` names may go on."""
    outcome: Outcome[T] = Outcome(at)
    counter = _Counter(outcome)
    loop = asyncio.get_running_loop()
    before = asyncio.all_tasks()
    factory = loop.get_task_factory()
    loop.set_task_factory(counter.make)  # type: ignore[arg-type]
    try:
        task = loop.create_task(work())
        counter.victim = task

        def look(done: asyncio.Task[T]) -> None:
            outcome.left_running = [one for one in asyncio.all_tasks() - before if one is not done and not (ignore and ignore(one))]

        task.add_done_callback(look)
        try:
            outcome.value = await task
        except BaseException as error:
            outcome.error = error
    finally:
        loop.set_task_factory(factory)
    return outcome


async def at_every_step(work: Callable[[], Coroutine[Any, Any, T]], check: Callable[[Outcome[T]], Awaitable[None]], **options: Any) -> int:
    """`check` what comes of cancelling a new `work()` at each of its steps; how many there were."""
    at = 1
    while True:
        outcome = await cancelled_at(at, work, **options)
        if not outcome.was_cancelled:
            assert outcome.error is None, outcome.error
            return at - 1
        await check(outcome)
        at += 1
