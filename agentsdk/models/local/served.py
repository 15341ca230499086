"""`LocallyServed`: what has a llama.cpp server of this process, and starts and releases it."""

from __future__ import annotations

import asyncio
from typing import Self

from agentsdk.models.local.server import Address, LocalServer, Progress


class LocallyServed:
    """A model that a `LocalServer` serves, which it may share with others."""

    def __init__(self, server: LocalServer, start_timeout: float, on_progress: Progress | None) -> None:
        self._server = server
        self._start_timeout = start_timeout
        self._say: Progress = on_progress if on_progress is not None else _say_nothing

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.aclose()

    async def start(self) -> None:
        """Load the model now rather than with the first request. Raises `UserError` when llama.cpp cannot."""
        await self._address()

    async def aclose(self) -> None:
        """Release the server, which stops with its last model. A later request starts it again."""
        self._server.users.discard(self)
        if not self._server.users:
            await asyncio.to_thread(self._server.stop)

    async def _address(self) -> Address:
        server = self._server
        server.users.add(self)
        address = server.address
        if address is None:
            try:
                address = await asyncio.to_thread(server.start, self._start_timeout, self._say)
            except asyncio.CancelledError:
                if len(server.users) == 1:
                    server.stop()
                raise
        return address


def _say_nothing(_: str) -> None:
    pass
