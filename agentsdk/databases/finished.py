"""`finished`: an operation on a database is waited for to its end, whoever is cancelled meanwhile."""

from __future__ import annotations

import asyncio
from contextlib import suppress
from typing import TypeVar

T = TypeVar("T")


async def finished(operation: asyncio.Future[T]) -> T:
    """Its result. A cancelled caller goes on only once the operation has ended, done or undone."""
    try:
        await asyncio.wait((operation,))
    except asyncio.CancelledError:
        while not operation.done():
            with suppress(asyncio.CancelledError):
                await asyncio.wait((operation,))
        operation.exception()  # retrieved, or asyncio logs it
        raise
    return operation.result()
