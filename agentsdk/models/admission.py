"""`Admission`: a concurrency limit, at most so many requests at a time; first come, first served.

A semaphore whose operations cost the same however many wait. Whoever leaves hands its place to the first that waits, so nobody
who comes later can take it. A place is therefore free, in use, or given to a waiter that has not run yet; a waiter that is
cancelled in that last state passes its place on.
"""

from __future__ import annotations

import asyncio
from collections import OrderedDict


class Admission:
    """Lets at most `places` in at a time; the others wait in the order in which they came.

    Entering, leaving and giving up each cost the same however many wait, and who gives up leaves nothing behind.
    """

    __slots__ = ("_free", "_waiting", "places")

    def __init__(self, places: int) -> None:
        self.places = places
        """How many may be in at a time."""
        self._free = places
        self._waiting: OrderedDict[asyncio.Future[None], None] = OrderedDict()

    @property
    def inside(self) -> int:
        """How many are in."""
        return self.places - self._free

    @property
    def waiting(self) -> int:
        """How many wait."""
        return len(self._waiting)

    async def enter(self, patience: float | None = None) -> None:
        """Come in, after at most `patience` seconds. Raises `TimeoutError` where that is not enough."""
        if self._free:
            self._free -= 1
            return
        turn: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._waiting[turn] = None
        try:
            async with asyncio.timeout(patience):
                await turn
        except BaseException:
            if turn in self._waiting:
                del self._waiting[turn]
            elif not turn.cancelled():  # it was this one's turn just now
                self.leave()
            raise

    def leave(self) -> None:
        """Go out: the next one's turn."""
        while self._waiting:
            turn, _ = self._waiting.popitem(last=False)
            if not turn.cancelled():  # or it has just been given up
                turn.set_result(None)
                return
        self._free += 1
