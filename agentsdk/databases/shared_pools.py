"""Connection pools that stores and sessions share: one for each place and event loop."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Awaitable, Callable, Hashable
from typing import Generic, TypeVar
from weakref import WeakSet

K = TypeVar("K", bound=Hashable)
P = TypeVar("P")


class SharedPools(Generic[K, P]):
    """The pools of one kind. A pool closes with the last that uses it, or with its event loop."""

    def __init__(self, close: Callable[[P], Awaitable[None]]) -> None:
        self._close = close
        self._loops: dict[asyncio.AbstractEventLoop, dict[K, _Shared[P]]] = {}

    async def get(self, key: K, user: object, make: Callable[[], Awaitable[P]]) -> P:
        """The running loop's pool for `key`, from now on used by `user`. `make` gives one, without waiting for anything."""
        for loop in list(self._loops):
            if loop.is_closed():  # abandoned: its pool holds it, so the entry would never go by itself
                self._loops.pop(loop, None)
        pools = self._loops.setdefault(asyncio.get_running_loop(), {})
        shared = pools.get(key)
        if shared is None:
            shared = pools[key] = _Shared(await make(), self._close)
            await shared.open()
        shared.users.add(user)
        return shared.pool

    async def let_go(self, key: K, user: object) -> None:
        """`user` needs the running loop's pool for `key` no more. One who never used it changes nothing."""
        pools = self._loops.get(asyncio.get_running_loop(), {})
        shared = pools.get(key)
        if shared is not None and user in shared.users:
            shared.users.discard(user)
            if not shared.users:
                del pools[key]
                await shared.close()


class _Shared(Generic[P]):
    """A pool, and who uses it."""

    def __init__(self, pool: P, close: Callable[[P], Awaitable[None]]) -> None:
        self.pool = pool
        self.users: WeakSet[object] = WeakSet()
        self._close = close
        self._keeper = self._close_with_loop()

    async def open(self) -> None:
        await self._keeper.__anext__()

    async def close(self) -> None:
        await self._keeper.aclose()

    async def _close_with_loop(self) -> AsyncGenerator[None, None]:
        """`asyncio.run` finishes the generators that are suspended when its main function ends: this one closes the pool."""
        try:
            yield
        finally:
            await self._close(self.pool)
