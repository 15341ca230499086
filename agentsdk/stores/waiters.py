"""Who waits on a store: `RunStore.wait`, `wait_signals` and `wait_due` for stores that can notify.

A topic has a number that grows: that of `REVISION` and a run's id is the run's revision, that of `SIGNALS` and its id how many
signals were posted to it. A store notifies its `Waiters` of what it changes itself; what others change comes through one
subscription for each event loop, open while anybody waits there. A waiter registers, has the subscription opened, and only then
reads the number, so that no change falls between.

That a run has become ready has no topic. Each event loop has a number that is another one whenever that may have happened. Who
waits for it reads nothing, and comes again and again: the subscription stays open meanwhile.
"""

from __future__ import annotations

import asyncio
import itertools
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
SIGNALS = "signals:"
"""What the topic of a run's mailbox begins with, before the run's id."""
DUE = "due"
"""The message that a run has become ready."""
DUE_LINGER = 30.0
"""Seconds that the subscription of `wait_due` stays open after its last call."""

_due_numbers = itertools.count(1)


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
        self._due = next(_due_numbers)
        self._due_changed = asyncio.Event()
        self._due_waiting = 0
        self._lingering: asyncio.TimerHandle | None = None
        self._leaving: asyncio.Future[None] | None = None

    @property
    def topics(self) -> list[str]:
        """The topics that are waited for."""
        return list(self._waiting)

    @property
    def is_used(self) -> bool:
        """Whether anybody waits, or has just waited for what is due."""
        return bool(self._waiting) or self._due_waiting > 0 or self._lingering is not None

    def notify(self, topic: str, number: int) -> None:
        """The topic has come to `number`: wake those who wait for that."""
        for waiter in self._waiting.get(topic, ()):
            if number > waiter.after:
                waiter.number = max(waiter.number, number)
                waiter.woken.set()

    def notify_due(self) -> None:
        """A run may have become ready: wake those who wait for that."""
        self._due = next(_due_numbers)
        self._due_changed.set()
        self._due_changed = asyncio.Event()

    def on_message(self, message: str) -> None:
        """`notify_due` or `notify` by a message of another process: `DUE` or `"{number} {topic}"`; any other is not for us."""
        number, _, topic = message.partition(" ")
        if message == DUE:
            self.notify_due()
        elif number.isascii() and number.isdecimal():
            self.notify(topic, int(number))

    def recheck(self) -> None:
        """Have all subscribe and read the number again: something may have been missed."""
        for waiters in self._waiting.values():
            for waiter in waiters:
                waiter.woken.set()
        self.notify_due()

    def close(self, closed: str) -> None:
        """End all waits with `StoreError(closed)`."""
        self._closed = closed
        self.recheck()
        if self._lingering is not None:
            self._lingering.cancel()
            self._end_linger()

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
        """Whether nobody is left."""
        waiters = self._waiting[topic]
        waiters.discard(waiter)
        if not waiters:
            del self._waiting[topic]
        return not self.is_used

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
            self.notify_due()  # whatever became ready before was not told here

    async def until_due(self, seen: int, deadline: float) -> int:
        """The number of what became ready once it is not `seen`, or at `deadline` by the event loop's clock."""
        if self._due == seen:
            with suppress(TimeoutError):
                async with asyncio.timeout_at(deadline):
                    await self._due_changed.wait()
        return self._due

    def begin_due(self) -> None:
        """Somebody calls `wait_due`."""
        self._due_waiting += 1
        if self._lingering is not None:
            self._lingering.cancel()
            self._lingering = None

    def end_due(self) -> None:
        """The call is over, and soon there is another, or else the subscription is closed."""
        self._due_waiting -= 1
        if self._due_waiting == 0 and not self._closed:
            self._lingering = self.loop.call_later(DUE_LINGER, self._end_linger)

    async def unsubscribe(self, *, unused: bool) -> None:
        """Close the subscription; `unused`: unless somebody waits."""
        async with self._lock:
            if not (unused and self.is_used):
                await self._unsubscribe()

    def _end_linger(self) -> None:
        self._lingering = None
        self._leaving = asyncio.ensure_future(self.unsubscribe(unused=True))

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

    async def wait_due(self, seen: int, timeout: float, subscribe: Subscribe | None = None) -> int:
        """As `RunStore.wait_due`; `subscribe` as in `wait`. Raises `UserError` for a timeout that is none."""
        check_timeout(timeout)
        waiters = self._of_running_loop()
        deadline = waiters.loop.time() + timeout
        waiters.begin_due()
        try:
            waiters.require_open()
            if subscribe is not None and timeout > 0:
                await waiters.subscribed(subscribe)
            number = await waiters.until_due(seen, deadline)
            waiters.require_open()
            return number
        finally:
            waiters.end_due()

    def notify(self, topic: str, number: int) -> None:
        """The topic has come to `number`."""
        for waiters in list(self._of_loops.values()):
            waiters.call(waiters.notify, topic, number)

    def notify_due(self) -> None:
        """A run has become ready."""
        for waiters in list(self._of_loops.values()):
            waiters.call(waiters.notify_due)

    async def aclose(self, closed: str) -> None:
        """End all waits with `StoreError(closed)`, and the running loop's subscription."""
        self._closed = closed
        for waiters in list(self._of_loops.values()):
            waiters.call(waiters.close, closed)
        own = self._of_loops.get(asyncio.get_running_loop())
        if own is not None:
            await finished(asyncio.ensure_future(own.unsubscribe(unused=False)))

    def _of_running_loop(self) -> LoopWaiters:
        """The running loop's."""
        for loop in list(self._of_loops):
            if loop.is_closed():  # abandoned with its waiters
                self._of_loops.pop(loop, None)
        waiters = self._of_loops.setdefault(asyncio.get_running_loop(), LoopWaiters())
        if self._closed:
            waiters.close(self._closed)
        return waiters

    async def _leave(self, waiters: LoopWaiters) -> None:
        await waiters.unsubscribe(unused=True)
        if not waiters.is_used:
            self._of_loops.pop(waiters.loop, None)
