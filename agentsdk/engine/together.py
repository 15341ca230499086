"""`together`: coroutines run side by side, none of which outlives the call unnoticed."""

from __future__ import annotations

import asyncio
import inspect
import logging
from collections.abc import Coroutine, Sequence

logger = logging.getLogger("agentsdk")


async def together(jobs: Sequence[tuple[str, Coroutine[object, object, None]]], *, limit: int, grace: float) -> None:
    """Run the named `jobs`, at most `limit` at once, until each is over; then raise the first error, if any.

    A job's error never stops its siblings. When the caller is cancelled so is every job, and the cancellation goes on once they
    have ended, or after `grace` seconds: a job that ignores it is then left behind, named in a warning and the error's notes.
    """
    gate = asyncio.Semaphore(limit) if len(jobs) > limit else None
    tasks = [asyncio.create_task(job if gate is None else _gated(gate, job), name=name) for name, job in jobs]
    try:
        await asyncio.wait(tasks)
    except asyncio.CancelledError as cancelled:
        await _end(tasks, grace, cancelled)
        raise
    finally:
        if gate is not None:
            for _, job in jobs:
                if inspect.getcoroutinestate(job) == inspect.CORO_CREATED:
                    job.close()  # cancelled before its turn came
    errors = [error for task in tasks if (error := _error(task)) is not None]
    if errors:
        raise next((error for error in errors if not isinstance(error, Exception)), errors[0])


async def both(
    name: str,
    main: Coroutine[object, object, None],
    other_name: str,
    other: Coroutine[object, object, None],
    *,
    grace: float,
) -> None:
    """Run two jobs side by side. The first error of either cancels the other and is raised when that has ended."""
    tasks = [asyncio.create_task(main, name=name), asyncio.create_task(other, name=other_name)]
    try:
        await asyncio.wait(tasks, return_when=asyncio.FIRST_EXCEPTION)
    except asyncio.CancelledError as cancelled:
        await _end(tasks, grace, cancelled)
        raise
    errors = [error for task in tasks if task.done() and (error := _error(task)) is not None]
    if errors:
        raise await _end(tasks, grace, errors[0]) or errors[0]


async def shielded(job: Coroutine[object, object, None], *, grace: float) -> None:
    """Run a job that a cancellation of the caller does not reach: it is raised when the job has ended.

    Then the job has `grace` seconds to do so by itself, and as many again once it is cancelled too.
    """
    task = asyncio.create_task(job)
    try:
        await asyncio.wait({task})
    except asyncio.CancelledError as cancelled:
        await _wait({task}, grace)
        await _end([task], grace, cancelled)
        raise
    task.result()


async def _gated(gate: asyncio.Semaphore, job: Coroutine[object, object, None]) -> None:
    async with gate:
        await job


async def _end(tasks: Sequence[asyncio.Task[None]], grace: float, why: BaseException) -> asyncio.CancelledError | None:
    """Cancel `tasks` and wait until they have ended; the cancellation that reached the caller meanwhile, if any.

    Those that run on after `grace` seconds are named in a warning and in the notes of `why`.
    """
    pending = {task for task in tasks if not task.done()}
    for task in pending:
        task.cancel()
    pending, cancelled = await _wait(pending, grace)
    for task in tasks:
        if task.done():
            _error(task)
    if pending:
        names = ", ".join(sorted(repr(task.get_name()) for task in pending))
        logger.warning("still running %s s after their cancellation: %s", grace, names)
        why.add_note(f"still running {grace} s after their cancellation: {names}")
    return cancelled


async def _wait(
    pending: set[asyncio.Task[None]], seconds: float
) -> tuple[set[asyncio.Task[None]], asyncio.CancelledError | None]:
    """Those of `pending` that still run after `seconds`, and the last cancellation that reached the caller meanwhile."""
    loop = asyncio.get_running_loop()
    deadline = loop.time() + seconds
    cancelled: asyncio.CancelledError | None = None
    while pending and (left := deadline - loop.time()) > 0:
        try:
            _, pending = await asyncio.wait(pending, timeout=left)
        except asyncio.CancelledError as error:
            cancelled = error
            pending = {task for task in pending if not task.done()}
    return pending, cancelled


def _error(task: asyncio.Task[None]) -> BaseException | None:
    """The task's error, marked as retrieved."""
    return asyncio.CancelledError() if task.cancelled() else task.exception()
