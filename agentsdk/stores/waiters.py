"""Who waits on a store: `RunStore.wait` for stores that can notify.

A topic has a number that grows: that of `REVISION` and a run's id is the run's revision. A store notifies its `Waiters` of what
it changes itself; what others change comes through one subscription for each event loop, open while anybody waits there. A
waiter registers, has the subscription opened, and only then reads the number, so that no change falls between.
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
    """What notifies `LoopWaiters` of changes elsewhere."""

    def is_open(self) -> bool:
        """Whether it was neither closed nor lost."""
        ...

    async def aclose(self) -> None:
        """Let go of all that it holds; raises nothing, whether it is open or not."""
        ...


Read = Callable[[], Awaitable[int]]
Subscribe = Callable[["LoopWaiters"], Awaitable[Subscription]]

REVISION = "rev:"
"""What the topic of a run's revision begins with, before the run's id."""


class _Waiter:
    """One call of `wait`."""

    def __init__(self, after: int) -> None:
        self.after = after
        self.number = 0
        self.woken = asyncio.Event()

    async def until(self, deadline: float) -> None:
        """Return when it is woken, or at `deadline` by the event loop's clock."""
        with suppress(TimeoutError):
            async with asyncio.timeout_at(deadline):
                await self.woken.wait()


class LoopWaiters:
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
    def topics(self) -> list[str]:
        """The topics that are waited for."""
        return list(self._waiting)

    def notify(self, topic: str, number: int) -> None:
        """The topic has come to `number`: wake those who wait for that."""
        for waiter in self._waiting.get(topic, ()):
            if number > waiter.after:
                waiter.number = max(waiter.number, number)
                waiter.woken.set()

    def on_message(self, message: str) -> None:
        """`notify` by a message of another process, `"{number} {topic}"`; any other is not for us."""
        number, _, topic = message.partition(" ")
        if number.isascii() and number.isdecimal():
            self.notify(topic, int(number))

    def recheck(self) -> None:
        """Have all subscribe and read the number again: something may have been missed."""
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

    def add(self, topic: str, waiter: _Waiter) -> None:
        """From now on `waiter` is notified of the topic."""
        self._waiting.setdefault(topic, set()).add(waiter)

    def remove(self, topic: str, waiter: _Waiter) -> bool:
        """Whether it was the last of all."""
        waiters = self._waiting[topic]
        waiters.discard(waiter)
        if not waiters:
            del self._waiting[topic]
        return not self._waiting

    async def subscribed(self, subscribe: Subscribe) -> None:
        """Return when all changes from now on are notified here. Raises what `subscribe` raises."""
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
    """All who wait on one store, on any event loop. A waiter costs two reads to begin, and nothing while its topic is idle.

    It does not refer to the store, which is let go of as soon as nobody uses it.
    """

    def __init__(self) -> None:
        self._of_loops: dict[asyncio.AbstractEventLoop, LoopWaiters] = {}
        self._closed = ""

    async def wait(self, topic: str, after: int, timeout: float, read: Read, subscribe: Subscribe | None = None) -> int:
        """The topic's number once it is above `after`, or after `timeout` seconds. `read` reads it, 0 where there is none.

        `subscribe` has `LoopWaiters` notified of changes elsewhere; a store that only its own process changes needs none.
        Raises `UserError` for a timeout that is none.
        """
        check_timeout(timeout)
        loop = asyncio.get_running_loop()
        deadline = loop.time() + timeout
        number = await read()
        if number > after or timeout == 0:
            return number
        waiters, waiter = self._of_running_loop(), _Waiter(after)
        waiters.add(topic, waiter)
        try:
            over = False
            while waiter.number <= after:
                waiter.woken.clear()
                if subscribe is not None and not over:
                    await waiters.subscribed(subscribe)
                waiters.require_open()
                number = await read()
                if number > after or over:
                    return number
                await waiter.until(deadline)
                over = loop.time() >= deadline
            return waiter.number
        finally:
            if waiters.remove(topic, waiter):
                await finished(asyncio.ensure_future(self._leave(waiters)))

    def notify(self, topic: str, number: int) -> None:
        """The topic has come to `number`."""
        for waiters in list(self._of_loops.values()):
            waiters.call(waiters.notify, topic, number)

    async def aclose(self, closed: str) -> None:
        """End all waits with `StoreError(closed)`, and the running loop's subscription."""
        self._closed = closed
        for waiters in list(self._of_loops.values()):
            waiters.call(waiters.close, closed)
        own = self._of_loops.get(asyncio.get_running_loop())
        if own is not None:
            await finished(asyncio.ensure_future(own.unsubscribe(unused=False)))

    def _of_running_loop(self) -> LoopWaiters:
        """Those of the running loop."""
        for loop in list(self._of_loops):
            if loop.is_closed():  # abandoned with its waiters
                self._of_loops.pop(loop, None)
        waiters = self._of_loops.setdefault(asyncio.get_running_loop(), LoopWaiters())
        if self._closed:
            waiters.close(self._closed)
        return waiters

    async def _leave(self, waiters: LoopWaiters) -> None:
        await waiters.unsubscribe(unused=True)
        if not waiters.topics:
            self._of_loops.pop(waiters.loop, None)
