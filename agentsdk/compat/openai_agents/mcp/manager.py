"""`MCPServerManager`: several servers together."""

from __future__ import annotations

import asyncio
import math
from collections.abc import Iterable
from typing import Any, Self

from agentsdk.compat.openai_agents.mcp.server import MCPServer


class _Seconds:
    """A time of the manager: finite seconds above 0, or None. Raises `TypeError` or `ValueError` for another."""

    def __set_name__(self, owner: type, name: str) -> None:
        self._name = name

    def __get__(self, manager: MCPServerManager, owner: type | None = None) -> float | None:
        found: float | None = manager.__dict__[self._name]
        return found

    def __set__(self, manager: MCPServerManager, value: float | None) -> None:
        given: object = value
        if given is not None and (isinstance(given, bool) or not isinstance(given, int | float)):
            raise TypeError(f"{self._name} is {value!r}, expected seconds or None")
        try:
            fits = value is None or (value > 0 and math.isfinite(value))
        except OverflowError:
            fits = False
        if not fits:
            raise ValueError(f"{self._name} is no finite number above 0, expected seconds or None")
        manager.__dict__[self._name] = value


class MCPServerManager:
    """Connects servers at the start of a block and closes them at its end. `active_servers` are those that are connected."""

    connect_timeout_seconds = _Seconds()
    cleanup_timeout_seconds = _Seconds()

    def __init__(
        self,
        servers: Iterable[MCPServer],
        *,
        connect_timeout_seconds: float | None = 10.0,
        cleanup_timeout_seconds: float | None = 10.0,
        drop_failed_servers: bool = True,
        strict: bool = False,
        suppress_cancelled_error: bool = True,
        connect_in_parallel: bool = False,
    ) -> None:
        self.all_servers = list(servers)
        self.connect_timeout_seconds = connect_timeout_seconds
        self.cleanup_timeout_seconds = cleanup_timeout_seconds
        self.drop_failed_servers = drop_failed_servers
        self.strict = strict
        self.failed_servers: list[MCPServer] = []
        self.errors: dict[MCPServer, BaseException] = {}

    @property
    def active_servers(self) -> list[MCPServer]:
        """Those that are connected; with `drop_failed_servers=False` all."""
        if not self.drop_failed_servers:
            return list(self.all_servers)
        return [server for server in self.all_servers if server not in self.failed_servers]

    async def connect_all(self) -> list[MCPServer]:
        """Connect all of them. With `strict` raises what the first that fails raises."""
        self.failed_servers, self.errors = [], {}
        for server in self.all_servers:
            await self._connect(server)
        return self.active_servers

    async def reconnect(self, *, failed_only: bool = True) -> list[MCPServer]:
        """Connect those that failed, or all, once more."""
        again = list(self.failed_servers) if failed_only else list(self.all_servers)
        self.failed_servers = [server for server in self.failed_servers if server not in again]
        for server in again:
            self.errors.pop(server, None)
            await self._connect(server)
        return self.active_servers

    async def _connect(self, server: MCPServer) -> None:
        try:
            await asyncio.wait_for(server.connect(), self.connect_timeout_seconds)
        except Exception as error:
            self.failed_servers.append(server)
            self.errors[server] = error
            if self.strict:
                raise

    async def cleanup_all(self) -> None:
        """Close all of them."""
        for server in reversed(self.all_servers):
            try:
                await asyncio.wait_for(server.cleanup(), self.cleanup_timeout_seconds)
            except Exception as error:
                self.errors[server] = error

    async def __aenter__(self) -> Self:
        await self.connect_all()
        return self

    async def __aexit__(self, *_: Any) -> None:
        await self.cleanup_all()
