"""`gather_with_limit`: coroutines run concurrently, none of which outlives the call unnoticed."""

from __future__ import annotations

import asyncio
import inspect
import logging
from collections.abc import Coroutine, Iterable, Mapping, Sequence
from typing import Any

from agentsdk.define.threads import LeftRunning
from agentsdk.engine.grace import BODIES, LAST_MOMENT, SESSION, Grace

logger = logging.getLogger("agentsdk")

_NONE: Mapping[int, Sequence[int]] = {}


async def wait_within_grace(future: asyncio.Future[Any], grace: Grace, share: float) -> asyncio.CancelledError | None:
    """Wait until `future` is done, or that share of a cancelled run's grace is over; the caller's last cancellation, if any.

    The first begins the grace, none reaches `future`. It has a moment at the least, so that what is late itself does not make
    a sound store or session fail.
    """
    loop = asyncio.get_running_loop()
    began = loop.time()
    cancelled: asyncio.CancelledError | None = None
    while not future.done():
        left = grace.left(share)
        if left is not None:
            left = max(left, LAST_MOMENT - (loop.time() - began))
            if left <= 0:
                break
        try:
            await asyncio.wait({future}, timeout=left)
        except asyncio.CancelledError as error:
            cancelled = error
            grace.begin()
    return cancelled


async def gather_with_limit(
    jobs: Sequence[tuple[str, Coroutine[object, object, None]]],
    *,
    limit: int,
    grace: Grace,
    behind: Mapping[int, Sequence[int]] = _NONE,
) -> None:
    """Run the named `jobs`, at most `limit` at once, until each is over; then raise the first error, if any.

    Those whose place is in `behind` begin once the jobs in the places given there are over, and not at all if one of them
    raised or did not begin; no two may wait for each other. Other siblings are not stopped by a job's error. When the caller is
    cancelled so is every job, and the cancellation goes on once they have ended, or their share of the grace is over: what
    ignores it is then left behind, named in a warning and the error's notes.
    """
    gate = asyncio.Semaphore(limit) if len(jobs) > limit else None
    if behind:
        tasks: list[asyncio.Task[None]] = []
        unbegun: set[int] = set()
        for place, (name, job) in enumerate(jobs):
            gated = job if gate is None else _gated(gate, job)
            waits = behind.get(place)
            tasks.append(asyncio.create_task(_late(tasks, waits, unbegun, place, gated) if waits else gated, name=name))
    else:
        tasks = [asyncio.create_task(job if gate is None else _gated(gate, job), name=name) for name, job in jobs]
    try:
        await asyncio.wait(tasks)
    except asyncio.CancelledError as cancelled:
        grace.begin()
        await end_tasks(tasks, grace, cancelled)
        raise
    finally:
        if gate is not None or behind:
            for _, job in jobs:
                if inspect.getcoroutinestate(job) == inspect.CORO_CREATED:
                    job.close()  # cancelled before its turn came
    errors = [error for task in tasks if (error := _error(task)) is not None]
    if errors:
        raise next((error for error in errors if not isinstance(error, Exception)), errors[0])


async def run_pair(
    name: str,
    main: Coroutine[object, object, None],
    other_name: str,
    other: Coroutine[object, object, None],
    *,
    grace: Grace,
) -> None:
    """Run two jobs concurrently. The first error of either cancels the other and is raised when that has ended."""
    tasks = [asyncio.create_task(main, name=name), asyncio.create_task(other, name=other_name)]
    try:
        await asyncio.wait(tasks, return_when=asyncio.FIRST_EXCEPTION)
    except asyncio.CancelledError as cancelled:
        grace.begin()
        await end_tasks(tasks, grace, cancelled)
        raise
    errors = [error for task in tasks if task.done() and (error := _error(task)) is not None]
    if errors:
        is_cancelled = grace.left() is not None
        cancelled_too = await end_tasks(tasks, grace, errors[0])
        if cancelled_too is None and not is_cancelled:
            grace.reset()  # what ended just now may have taken its own cancellation for the run's
        raise cancelled_too or errors[0]


async def shielded(job: Coroutine[object, object, None], *, grace: Grace) -> None:
    """Run a job that a cancellation of the caller does not reach: it is raised when the job has ended.

    In a cancelled run the job has its share of the grace to do so by itself; then it is cancelled too. Raises `TimeoutError`
    where that was before the call.
    """
    task = asyncio.create_task(job)
    cancelled = await wait_within_grace(task, grace, SESSION)
    if not task.done():
        given_up = cancelled or TimeoutError()
        again = await end_tasks([task], grace, given_up, LAST_MOMENT)
        raise again or given_up
    if cancelled is not None:
        _error(task)
        raise cancelled
    task.result()


async def _gated(gate: asyncio.Semaphore, job: Coroutine[object, object, None]) -> None:
    async with gate:
        await job


async def _late(
    tasks: Sequence[asyncio.Task[None]],
    waits: Sequence[int],
    unbegun: set[int],
    place: int,
    job: Coroutine[object, object, None],
) -> None:
    """Run a job behind others, unless one of them raised or did not begin."""
    try:
        await asyncio.wait([tasks[other] for other in waits])
        if any(other in unbegun or _error(tasks[other]) is not None for other in waits):
            unbegun.add(place)
            return
        await job
    finally:
        job.close()


async def end_tasks(
    tasks: Iterable[asyncio.Task[Any]], grace: Grace, why: BaseException, seconds: float | None = None
) -> asyncio.CancelledError | None:
    """Cancel `tasks` and wait until they have ended; the cancellation that reached the caller meanwhile, if any.

    They have `seconds` for that, or else what is left to a cancelled run's tools, or the grace where it is not cancelled; a
    moment at the least. What runs on is named in a warning and in the notes of `why`.
    """
    tasks = list(tasks)
    loop = asyncio.get_running_loop()
    began = loop.time()
    pending: set[asyncio.Task[Any]] = {task for task in tasks if not task.done()}
    for task in pending:
        task.cancel()
    cancelled: asyncio.CancelledError | None = None
    while pending:
        passed = loop.time() - began
        given = grace.left(BODIES) if seconds is None else seconds - passed
        left = max(LAST_MOMENT - passed, grace.seconds - passed if given is None else given)
        if left <= 0:
            break
        try:
            _, pending = await asyncio.wait(pending, timeout=left)
        except asyncio.CancelledError as error:
            cancelled = error
            grace.begin()
            pending = {task for task in pending if not task.done()}
    left_running = [repr(task.get_name()) for task in pending]
    for task in pending:
        task.add_done_callback(_error)
    for task in tasks:
        ended = _error(task) if task.done() else None
        if isinstance(ended, LeftRunning):
            left_running.append(f"the thread of tool {ended.name!r}")
    if left_running:
        message = f"still running although cancelled: {', '.join(sorted(left_running))}"
        logger.warning(message)
        why.add_note(message)
    return cancelled


def _error(task: asyncio.Task[Any]) -> BaseException | None:
    """The task's error, marked as retrieved."""
    try:
        return task.exception()
    except asyncio.CancelledError as cancelled:
        return cancelled
