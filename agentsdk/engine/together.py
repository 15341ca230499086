"""`together`: coroutines run side by side, none of which outlives the call unnoticed."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Coroutine, Sequence

logger = logging.getLogger("agentsdk")


async def together(jobs: Sequence[tuple[str, Coroutine[object, object, None]]], *, limit: int, grace: float) -> None:
    """Run the named `jobs`, at most `limit` at once, until each is over; then raise the first error, if any.

    A job's error never stops its siblings. When the caller is cancelled so is every job, and the cancellation goes on once they
    have ended, or after `grace` seconds: a job that ignores it is then left behind, named in a warning and in the error's notes.
    """
    if len(jobs) > limit:
        gate = asyncio.Semaphore(limit)
        jobs = [(name, _gated(gate, job)) for name, job in jobs]
    tasks = [asyncio.create_task(job, name=name) for name, job in jobs]
    try:
        await asyncio.wait(tasks)
    except asyncio.CancelledError as cancelled:
        await _end(tasks, grace, cancelled)
        raise
    errors = [error for task in tasks if (error := _error(task)) is not None]
    if errors:
        raise next((error for error in errors if not isinstance(error, Exception)), errors[0])


async def _gated(gate: asyncio.Semaphore, job: Coroutine[object, object, None]) -> None:
    try:
        async with gate:
            await job
    finally:
        job.close()


async def _end(tasks: Sequence[asyncio.Task[None]], grace: float, cancelled: asyncio.CancelledError) -> None:
    loop = asyncio.get_running_loop()
    deadline = loop.time() + grace
    pending: set[asyncio.Task[None]] = {task for task in tasks if not task.done()}
    for task in pending:
        task.cancel()
    while pending and (left := deadline - loop.time()) > 0:
        try:
            _, pending = await asyncio.wait(pending, timeout=left)
        except asyncio.CancelledError:
            # Cancelled again while the jobs clean up: they keep their grace, the caller's cancellation goes on after it.
            pending = {task for task in pending if not task.done()}
    for task in tasks:
        if task.done():
            _error(task)
    if pending:
        names = ", ".join(sorted(repr(task.get_name()) for task in pending))
        logger.warning("still running %s s after their cancellation: %s", grace, names)
        cancelled.add_note(f"still running {grace} s after their cancellation: {names}")


def _error(task: asyncio.Task[None]) -> BaseException | None:
    """The task's error, marked as retrieved."""
    return asyncio.CancelledError() if task.cancelled() else task.exception()


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
        await _end(tasks, grace, asyncio.CancelledError())
        raise errors[0]
