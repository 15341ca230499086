"""`WorkerGauges`: how a worker stands, and the queue before it, whenever a reader of metrics looks.

A reader looks from a thread of its own, and is not made to wait for a store. So what it is told of the queue is the latest
known, and each look has the worker ask the store for the next one.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable, Sequence
from contextlib import suppress

from agentsdk.types.errors import StoreError
from agentsdk.types.queue import QueueStatus

logger = logging.getLogger("agentsdk.metrics")


class WorkerGauges:
    """Of a worker on the running event loop, which has room for `slots` runs of `agents` at once."""

    def __init__(
        self,
        agents: Sequence[str],
        slots: int,
        in_work: Callable[[], Sequence[float]],
        leases: Callable[[], Sequence[float]],
        ask_queue: Callable[[], Awaitable[QueueStatus]],
    ) -> None:
        """`in_work` gives for how many seconds each run has been in work, `leases` for how many each is held still. Both are
        called from any thread."""
        self.agents = ",".join(sorted(agents))
        self.slots = slots
        self.in_work = in_work
        self.leases = leases
        self._ask_queue = ask_queue
        self._queue: QueueStatus | None = None
        self._loop = asyncio.get_running_loop()
        self._asking: asyncio.Task[None] | None = None
        self._ask()

    def queue(self) -> QueueStatus | None:
        """The queue as it was when it was last asked for; None where that is not known. From any thread."""
        with suppress(RuntimeError):  # the loop is closed
            self._loop.call_soon_threadsafe(self._ask)
        return self._queue

    async def end(self) -> None:
        """Ask no more."""
        self._ask_queue = _nothing
        if self._asking is not None:
            self._asking.cancel()
            await asyncio.wait({self._asking})

    def _ask(self) -> None:
        if self._ask_queue is not _nothing and (self._asking is None or self._asking.done()):
            self._asking = self._loop.create_task(self._asked(), name="agentsdk worker gauges")

    async def _asked(self) -> None:
        try:
            self._queue = await self._ask_queue()
        except StoreError as error:
            self._queue = None
            logger.warning("the queue of runs could not be measured: %s", error)


async def _nothing() -> QueueStatus:
    return QueueStatus(due=0, oldest_seconds=0.0, in_work=0)
