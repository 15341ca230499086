"""`shielded`: clean-up that a cancellation does not interrupt."""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine


async def shielded(closing: Coroutine[object, object, None]) -> None:
    """Let `closing` finish although the task is cancelled meanwhile; the cancellation is raised afterwards."""
    task = asyncio.ensure_future(closing)
    cancelled: asyncio.CancelledError | None = None
    while not task.done():
        try:
            await asyncio.wait({task})
        except asyncio.CancelledError as error:
            cancelled = error
    task.result()
    if cancelled is not None:
        raise cancelled
