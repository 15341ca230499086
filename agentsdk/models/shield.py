"""Cancellation shields: clean-up and waits that a cancellation does not interrupt."""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine
from typing import Any


async def shielded(closing: Coroutine[object, object, None]) -> None:
    """Let `closing` finish although the task is cancelled meanwhile; its error, or the cancellation, is raised afterwards."""
    task = asyncio.ensure_future(closing)
    try:
        await wait_until_done(task)
    finally:
        task.result()


async def wait_until_done(task: asyncio.Future[Any]) -> None:
    """Wait until `task` is done, also when the waiting one is cancelled meanwhile; that cancellation is raised afterwards."""
    cancelled: asyncio.CancelledError | None = None
    while not task.done():
        try:
            await asyncio.wait({task})
        except asyncio.CancelledError as error:
            cancelled = error
    if cancelled is not None:
        raise cancelled
