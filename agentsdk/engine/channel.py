"""`Channel`: a bounded queue with backpressure, from the tasks of a run to the one that reads.

`anyio` memory streams are ten times slower, and a stream of text deltas is the hottest path there is.
"""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Callable
from typing import Generic, TypeVar

T = TypeVar("T")

STREAM_BUFFER = 256
"""Stream events that may wait for their reader before the model's deltas do."""


class Channel(Generic[T]):
    """A queue of at most `size` deltas. `put_nowait` never waits and never drops: who has deltas awaits `wait_for_room` first.

    What is put while it is held reaches the reader once it is released.
    """

    __slots__ = ("_buffer", "_closed", "_error", "_into", "_loop", "_reader", "_size", "_writers")

    def __init__(self, size: int) -> None:
        self._buffer: deque[T] = deque()
        self._into: deque[T] = self._buffer
        self._size = size
        self._closed = False
        self._error: BaseException | None = None
        self._loop: asyncio.AbstractEventLoop | None = None
        self._reader: asyncio.Future[None] | None = None
        self._writers: list[asyncio.Future[None]] = []

    def open(self) -> None:
        """The task that writes has begun, in the event loop that runs."""
        self._loop = asyncio.get_running_loop()

    def call(self, function: Callable[[], None]) -> None:
        """Call `function` in the channel's event loop: at once if that runs here, else, from a thread, as soon as it can be.

        Nothing where the loop is closed: nobody reads any more.
        """
        loop = self._loop
        assert loop is not None
        try:
            is_here = asyncio.get_running_loop() is loop
        except RuntimeError:
            is_here = False
        if is_here:
            function()
            return
        try:
            loop.call_soon_threadsafe(function)
        except RuntimeError:
            pass

    def put_nowait(self, item: T) -> None:
        """Append `item`; of a closed channel nobody reads, drop it."""
        self._into.append(item)
        if self._reader is not None:
            _wake(self._reader)
            self._reader = None

    def hold(self) -> None:
        """Keep what is put from now on from the reader."""
        if self._into is self._buffer:
            self._into = deque()

    def release(self, which: Callable[[T], bool] = lambda _: True) -> None:
        """Give the reader what was held back, in its order, but for what `which` refuses: that is dropped."""
        held = self._into
        if held is self._buffer:
            return
        self._into = self._buffer
        for item in filter(which, held):
            self.put_nowait(item)

    @property
    def error(self) -> BaseException | None:
        """What `close` was given."""
        return self._error

    @property
    def is_full(self) -> bool:
        """Whether `wait_for_room` would wait."""
        return len(self._buffer) >= self._size

    async def wait_for_room(self) -> None:
        """Wait until the reader has caught up."""
        while len(self._buffer) >= self._size and not self._closed:
            writer: asyncio.Future[None] = asyncio.get_running_loop().create_future()
            self._writers.append(writer)
            await writer

    def close(self, error: BaseException | None = None) -> None:
        """No more items; what is queued can still be read, then `error` is raised if there is one."""
        if self._closed:
            return
        self._closed = True
        self._error = error
        if self._reader is not None:
            _wake(self._reader)
            self._reader = None
        self._wake_writers()

    async def get(self) -> T:
        """The next item. Raises `StopAsyncIteration`, or the error given to `close`, when there will be none."""
        buffer = self._buffer
        while not buffer:
            if self._closed:
                if self._error is not None:
                    raise self._error
                raise StopAsyncIteration
            self._reader = asyncio.get_running_loop().create_future()
            await self._reader
        item = buffer.popleft()
        if self._writers and len(buffer) * 2 <= self._size:
            self._wake_writers()
        return item

    def get_nowait(self) -> T | None:
        """The next item, where it is there already; None where it would have to be waited for."""
        if not self._buffer:
            return None
        item = self._buffer.popleft()
        if self._writers and len(self._buffer) * 2 <= self._size:
            self._wake_writers()
        return item

    def _wake_writers(self) -> None:
        for writer in self._writers:
            _wake(writer)
        self._writers.clear()


class NestedChannel(Generic[T]):
    """What a nested run puts into the channels around it. It can be held by itself, and is held with those around it."""

    __slots__ = ("_held", "_is_closed", "_outer")

    def __init__(self, *outer: Channel[T] | NestedChannel[T]) -> None:
        self._outer = outer
        self._held: deque[T] | None = None
        self._is_closed = False

    def put_nowait(self, item: T) -> None:
        """Put `item` into the channels around, or keep it while it is held; of a closed one drop it."""
        if self._held is not None:
            self._held.append(item)
        elif not self._is_closed:
            for outer in self._outer:
                outer.put_nowait(item)

    def hold(self) -> None:
        """Keep what is put from now on."""
        if self._held is None:
            self._held = deque()

    def release(self, which: Callable[[T], bool] = lambda _: True) -> None:
        """Pass on what was held back, in its order, but for what `which` refuses: that is dropped."""
        held, self._held = self._held, None
        for item in filter(which, held or ()):
            self.put_nowait(item)

    def close(self) -> None:
        """What is put from now on comes too late."""
        self._is_closed = True

    @property
    def is_full(self) -> bool:
        """Whether `wait_for_room` would wait."""
        return not self._is_closed and any(outer.is_full for outer in self._outer)

    async def wait_for_room(self) -> None:
        """Wait until all readers have caught up."""
        for outer in self._outer:
            await outer.wait_for_room()

    def call(self, function: Callable[[], None]) -> None:
        """Call `function` in the event loop of the channels around."""
        self._outer[0].call(function)


def _wake(future: asyncio.Future[None]) -> None:
    if not future.done():
        future.set_result(None)
