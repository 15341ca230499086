"""The timeout of a tool: when it has passed the body is cancelled, given a bounded grace, and left behind if it still runs."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable

from agentsdk.define.threads import LeftRunning, wait_bounded
from agentsdk.types.errors import ToolTimeoutError

TIMEOUT_GRACE = 1.0
"""Seconds a body gets to end after its timeout has passed; then it is left behind and the error says so."""

THREAD_GRACE = 0.9 * TIMEOUT_GRACE
"""Of these, the seconds for which a thread is waited for: what a sync body has done by then is its result."""

_stuck: set[asyncio.Future[object]] = set()  # the loop holds its tasks weakly only


async def within_timeout(name: str, timeout: float, body: Awaitable[object], *, on_thread: bool = False) -> object:
    """The result of the body of tool `name`, which has `timeout` seconds.

    Raises `ToolTimeoutError` once they have passed, also when the body ignores being cancelled. A thread cannot be stopped: one
    that ends within its grace all the same has its result.
    """
    task = asyncio.ensure_future(body)
    is_late = False
    try:
        await asyncio.wait({task}, timeout=timeout)
        if task.done():
            return task.result()
        is_late = task.cancel()
        await asyncio.wait({task}, timeout=TIMEOUT_GRACE)
    except asyncio.CancelledError as cancelled:
        await (wait_bounded(task, TIMEOUT_GRACE) if is_late else _cancelled(task))
        if on_thread and task.done() and not task.cancelled():
            return task.result()
        raise ((_cancellation(task) if task.done() else None) or cancelled) from None
    passed = f"tool {name!r} passed its timeout of {timeout:g} seconds"
    if not task.done():
        _stuck.add(task)
        task.add_done_callback(_stuck.discard)
        task.add_done_callback(_cancellation)
        raise ToolTimeoutError(f"{passed}, ignored being cancelled and still runs")
    if on_thread and not task.cancelled():
        return task.result()
    if isinstance(_cancellation(task), LeftRunning):
        raise ToolTimeoutError(f"{passed}; its thread cannot be stopped and still runs")
    raise ToolTimeoutError(f"{passed} and was stopped")


async def _cancelled(task: asyncio.Future[object]) -> None:
    """Pass a cancellation on, every further one too, until the task has ended."""
    task.cancel()
    while not task.done():
        try:
            await asyncio.wait({task})
        except asyncio.CancelledError:
            task.cancel()


def _cancellation(task: asyncio.Future[object]) -> asyncio.CancelledError | None:
    """What cancelled a task that has ended, if anything; its exception is retrieved, so that asyncio does not complain."""
    try:
        task.exception()
    except asyncio.CancelledError as cancelled:
        return cancelled
    return None
