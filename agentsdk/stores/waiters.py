"""Who waits for runs to go on: `RunStore.wait` for stores that can tell of an append.

A store tells its `Waiters` of the appends that it makes or hears of. What it hears of others comes through one subscription for
each event loop, open while anybody waits there. A waiter registers, has the subscription opened, and only then reads the
revision, so that no append falls between.
"""

from __future__ import annotations

import asyncio
import os
from collections.abc import Awaitable, Callable
from contextlib import suppress
from typing import Protocol

from agentsdk.databases.finished import finished
from agentsdk.ports.run_store import check_timeout
from agentsdk.types.errors import StoreError


class Subscription(Protocol):
    """What tells an `Audience` of appends elsewhere."""

    def is_open(self) -> bool:
        """Whether it was neither closed nor lost."""
        ...

    async def aclose(self) -> None:
        """Let go of all that it holds; raises nothing, whether it is open or not."""
        ...


Revision = Callable[[str], Awaitable[int]]
Subscribe = Callable[["Audience"], Awaitable[Subscription]]


class _Waiter:
    """One call of `wait`."""

    def __init__(self, after_rev: int) -> None:
        self.after_rev = after_rev
        self.rev = 0
        self.woken = asyncio.Event()

    async def until(self, deadline: float) -> None:
        """Return when it is woken, or at `deadline` by the event loop's clock."""
        with suppress(TimeoutError):
            async with asyncio.timeout_at(deadline):
                await self.woken.wait()


class Audience:
    """Those who wait on one event loop, and their subscription. Its methods are for that loop, but for `call`."""

    def __init__(self) -> None:
        self.loop = asyncio.get_running_loop()
        self._pid = os.getpid()
        self._closed = ""
        self._subscription: Subscription | None = None
        self._failure: StoreError | None = None
        self._lock = asyncio.Lock()
        self._waiting: dict[str, set[_Waiter]] = {}

    @property
    def run_ids(self) -> list[str]:
        """The runs that are waited for."""
        return list(self._waiting)

    def tell(self, run_id: str, rev: int) -> None:
        """A run has come to `rev`: wake those who wait for that."""
        for waiter in self._waiting.get(run_id, ()):
            if rev > waiter.after_rev:
                waiter.rev = max(waiter.rev, rev)
                waiter.woken.set()

    def hear(self, message: str) -> None:
        """`tell` by a message of another process, `"{rev} {run_id}"`; any other is not for us."""
        rev, _, run_id = message.partition(" ")
        if rev.isascii() and rev.isdecimal():
            self.tell(run_id, int(rev))

    def recheck(self) -> None:
        """Have all subscribe and read the revision again: something may have been missed."""
        for waiters in self._waiting.values():
            for waiter in waiters:
                waiter.woken.set()

    def close(self, closed: str) -> None:
        """End all waits with `StoreError(closed)`."""
        self._closed = closed
        self.recheck()

    def require_open(self) -> None:
        """Raises `StoreError` if the store was closed."""
        if self._closed:
            raise StoreError(self._closed)

    def call(self, callback: Callable[..., None], *args: object) -> None:
        """Call `callback` on this loop, from any thread."""
        if asyncio.get_running_loop() is self.loop:
            callback(*args)
        elif self._pid == os.getpid():  # a fork shares the descriptor that wakes its parent's loop
            with suppress(RuntimeError):  # the loop is closed
                self.loop.call_soon_threadsafe(callback, *args)

    def add(self, run_id: str, waiter: _Waiter) -> None:
        """From now on `waiter` is told of the run."""
        self._waiting.setdefault(run_id, set()).add(waiter)

    def remove(self, run_id: str, waiter: _Waiter) -> bool:
        """Whether it was the last of all."""
        waiters = self._waiting[run_id]
        waiters.discard(waiter)
        if not waiters:
            del self._waiting[run_id]
        return not self._waiting

    async def subscribed(self, subscribe: Subscribe) -> None:
        """Return when all that is appended from now on is told here. Raises what `subscribe` raises."""
        if self._is_subscribed():
            return
        failure = self._failure
        async with self._lock:
            self.require_open()
            if self._is_subscribed():
                return
            if self._failure is not None and self._failure is not failure:  # while this one waited for the lock
                raise type(self._failure)(str(self._failure)) from self._failure
            await self._unsubscribe()
            try:
                self._subscription = await subscribe(self)
            except StoreError as error:
                self._failure = error
                raise

    async def unsubscribe(self, *, unused: bool) -> None:
        """Close the subscription; `unused`: unless somebody has come to wait."""
        async with self._lock:
            if not (unused and self._waiting):
                await self._unsubscribe()

    async def _unsubscribe(self) -> None:
        subscription, self._subscription = self._subscription, None
        if subscription is not None:
            await subscription.aclose()

    def _is_subscribed(self) -> bool:
        return self._subscription is not None and self._subscription.is_open()


class Waiters:
    """All who wait on one store, on any event loop. A waiter costs two reads to begin, and nothing while its run is idle.

    It does not refer to the store, which is let go of as soon as nobody uses it.
    """

    def __init__(self) -> None:
        self._audiences: dict[asyncio.AbstractEventLoop, Audience] = {}
        self._closed = ""

    async def wait(
        self, run_id: str, after_rev: int, timeout: float, revision: Revision, subscribe: Subscribe | None = None
    ) -> int:
        """As `RunStore.wait`: `revision` reads a run's, 0 for one that does not exist.

        `subscribe` has an `Audience` told of appends elsewhere; a store that only its own process appends to needs none.
        """
        check_timeout(timeout)
        loop = asyncio.get_running_loop()
        deadline = loop.time() + timeout
        rev = await revision(run_id)
        if rev > after_rev or timeout == 0:
            return rev
        audience, waiter = self._audience(), _Waiter(after_rev)
        audience.add(run_id, waiter)
        try:
            over = False
            while waiter.rev <= after_rev:
                waiter.woken.clear()
                if subscribe is not None and not over:
                    await audience.subscribed(subscribe)
                audience.require_open()
                rev = await revision(run_id)
                if rev > after_rev or over:
                    return rev
                await waiter.until(deadline)
                over = loop.time() >= deadline
            return waiter.rev
        finally:
            if audience.remove(run_id, waiter):
                await finished(asyncio.ensure_future(self._leave(audience)))

    def tell(self, run_id: str, rev: int) -> None:
        """A run has come to `rev`."""
        for audience in list(self._audiences.values()):
            audience.call(audience.tell, run_id, rev)

    async def aclose(self, closed: str) -> None:
        """End all waits with `StoreError(closed)`, and the running loop's subscription."""
        self._closed = closed
        for audience in list(self._audiences.values()):
            audience.call(audience.close, closed)
        own = self._audiences.get(asyncio.get_running_loop())
        if own is not None:
            await finished(asyncio.ensure_future(own.unsubscribe(unused=False)))

    def _audience(self) -> Audience:
        """The running loop's."""
        for loop in list(self._audiences):
            if loop.is_closed():  # abandoned with its waiters
                self._audiences.pop(loop, None)
        audience = self._audiences.setdefault(asyncio.get_running_loop(), Audience())
        if self._closed:
            audience.close(self._closed)
        return audience

    async def _leave(self, audience: Audience) -> None:
        await audience.unsubscribe(unused=True)
        if not audience.run_ids:
            self._audiences.pop(audience.loop, None)
