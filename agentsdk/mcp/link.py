"""`Link`: the way to a server. It connects where there is no connection, waits between attempts that fail, knows the health.

A connection belongs to the event loop it was opened in, so there is an `Owner` for each.
"""

from __future__ import annotations

import asyncio
import logging
import time
from collections import deque
from collections.abc import Awaitable, Callable, Generator
from contextlib import contextmanager
from typing import Any, TypeVar
from weakref import WeakKeyDictionary

from agentsdk.define.tool import FunctionTool
from agentsdk.mcp.health import MCPHealth, MCPState
from agentsdk.mcp.owner import Owner, raised_anew
from agentsdk.ports.mcp import STDERR_LINES, Connect, Listing, MCPConnection, MCPEvents, MCPServerInfo, MCPToolDefinition
from agentsdk.types.errors import MCPConnectionError, MCPError, MCPStatusError
from agentsdk.types.settings import ToolRetrySettings, backoff

T = TypeVar("T")

logger = logging.getLogger("agentsdk.mcp")

MAX_WARNINGS = 20
"""How many warnings `health` keeps."""

MAX_LOGGED = 200
"""How many different ones are logged: a server may think of ever new faults."""

PROBE = 5.0
"""Seconds that a server which was silent has to show that it is there: else it is connected anew."""

WAITS = ToolRetrySettings(initial_delay=1.0, max_delay=30.0, jitter=0.0)
"""How long it waits between attempts to connect that fail: not at all after the first, then so."""


class Link:
    """The way to the server called `name`, which `connect` opens. `listing` is what it last listed, over any connection.

    `names` are the server's by those that the model calls its tools, `made` the tools that were made of its definitions, None
    where one cannot be.

    `seconds` is how long it may be silent in a request, None for as long as it likes.
    """

    def __init__(self, name: str, connect: Connect, seconds: float | None) -> None:
        self.info = MCPServerInfo()
        self.listing: Listing | None = None
        self.names: dict[str, str] = {}
        self.made: dict[str, tuple[MCPToolDefinition, FunctionTool[Any] | None]] = {}
        self._name = name
        self._connect = connect
        self._seconds = seconds
        self._uses = 0
        self._owners: WeakKeyDictionary[asyncio.AbstractEventLoop, Owner] = WeakKeyDictionary()
        self._state: MCPState = "new"
        self._error: MCPError | None = None
        self._failures = self._connections = 0
        self._retry_at = 0.0
        self._warnings: deque[str] = deque(maxlen=MAX_WARNINGS)
        self._logged: set[str] = set()
        self._stderr: deque[str] = deque(maxlen=STDERR_LINES)
        self._leaving: set[asyncio.Task[None]] = set()

    @property
    def health(self) -> MCPHealth:
        """How it stands with the server."""
        return MCPHealth(
            self._state,
            self._error,
            self._failures,
            max(self._retry_at - time.monotonic(), 0.0) if self._state == "down" else 0.0,
            self._connections,
            0 if self.listing is None else len(self.listing.tools),
            self.info.protocol_version,
            self.info.name,
            self.info.version,
            tuple(self._warnings),
            tuple(self._stderr),
        )

    @property
    def is_idle(self) -> bool:
        """Whether nobody waits for an answer over it, or for its opening."""
        return not self._uses

    @property
    def is_over(self) -> bool:
        """Whether nothing is left of its connections."""
        return all(owner.task.done() for owner in self._owners.values())

    async def open(self) -> None:
        """Connect now, however long it is since the last attempt. Raises `MCPError`."""
        self._retry_at = 0.0
        with self._used():
            await self._owner()

    async def aclose(self) -> None:
        """End the connection of this event loop, and wait; have those of others ended."""
        owner = self._owners.pop(asyncio.get_running_loop(), None)
        for loop, other in list(self._owners.items()):
            if not loop.is_closed():
                loop.call_soon_threadsafe(other.ask_to_close)
        self._owners.clear()
        self._state = "closed"
        if owner is not None:
            await owner.close()
        loop = asyncio.get_running_loop()
        if before := [task for task in self._leaving if task.get_loop() is loop]:
            await asyncio.wait(before)  # connections that had ended, and whose processes are on their way out

    def retire(self) -> None:
        """End the connections when their requests have their answers."""
        for loop, owner in list(self._owners.items()):
            if not loop.is_closed():
                loop.call_soon_threadsafe(owner.retire)

    async def asked(self, ask: Callable[[MCPConnection], Awaitable[T]], *, repeats: bool) -> T:
        """What `ask` gets over the connection; where it `repeats`, over a new one if the server has forgotten the session.

        Raises `MCPError`.
        """
        return await self._over_owner(lambda owner, connection: ask(connection), repeats=repeats)

    async def listed(self, *, is_fresh: bool) -> Listing:
        """What the server lists, asked again where `is_fresh`, or where it may have changed. Raises `MCPError`."""
        listing = await self._over_owner(
            lambda owner, connection: owner.listed(connection, self._seconds, is_fresh=is_fresh), repeats=True
        )
        if listing is not self.listing:
            self.listing = listing
            for problem in listing.problems:
                self.warn(problem)
        return listing

    def forget_listing(self) -> None:
        """List anew when it is next asked for."""
        for owner in self._owners.values():
            owner.forget_listing()

    def warn(self, text: str) -> None:
        """Say what of the server's is left out: in `health`, and once in the log."""
        if text not in self._warnings:
            self._warnings.append(text)
        if text in self._logged or len(self._logged) == MAX_LOGGED:
            return
        logger.warning("MCP server %r: %s", self._name, text)
        self._logged.add(text)
        if len(self._logged) == MAX_LOGGED:
            logger.warning("MCP server %r: only server.health has what more there is to say of it", self._name)

    async def _over_owner(self, ask: Callable[[Owner, MCPConnection], Awaitable[T]], *, repeats: bool) -> T:
        with self._used():
            return await self._tried(ask, repeats=repeats)

    @contextmanager
    def _used(self) -> Generator[None]:
        self._uses += 1
        try:
            yield
        finally:
            self._uses -= 1

    async def _tried(self, ask: Callable[[Owner, MCPConnection], Awaitable[T]], *, repeats: bool) -> T:
        for is_last in (not repeats, True):
            owner = await self._owner()
            connection = await owner.opened()
            try:
                with owner.in_use():
                    return await ask(owner, connection)
            except MCPStatusError as error:
                if error.status != 404 or not connection.info.has_session:
                    raise
                owner.retire()  # the server does not know the session any more
                if is_last:
                    raise
        raise AssertionError("the second try returns or raises")

    async def _owner(self) -> Owner:
        """The owner of this event loop's connection, which is open. Raises `MCPError`."""
        loop = asyncio.get_running_loop()
        owner = self._owners.get(loop)
        if owner is None or owner.is_over:
            if self._error is not None and self._state == "down" and time.monotonic() < self._retry_at:
                raise raised_anew(self._error)
            if owner is not None and not owner.task.done():
                self._leaving.add(owner.task)
                owner.task.add_done_callback(self._leaving.discard)
            self._state = "connecting"
            owner = self._owners[loop] = Owner(self._name, self._connect, self._events())
        try:
            connection = await owner.opened()
        except MCPError as error:
            if self._owners.get(loop) is owner:
                del self._owners[loop]
                self._failed(error)
            raise
        if connection.is_doubtful and not await owner.answers(connection, min(self._seconds or PROBE, PROBE)):
            return await self._owner()
        if self._state == "connecting":
            self._state, self._error, self._failures = "ready", None, 0
            self._connections += 1
            self.info = connection.info
        return owner

    def _events(self) -> MCPEvents:
        def log(level: int, text: str) -> None:
            logger.log(level, "MCP server %r: %s", self._name, text)

        return MCPEvents(self.warn, self._ended, lambda: None, log, self._stderr.extend)

    def _failed(self, error: MCPError) -> None:
        self._state, self._error = "down", error
        self._failures += 1
        wait = 0.0 if self._failures == 1 else backoff(WAITS, self._failures - 2, 0.0)
        self._retry_at = time.monotonic() + wait
        logger.warning("MCP server %r is down: %s", self._name, error)

    def _ended(self) -> None:
        if self._state == "ready":
            self._state, self._retry_at = "down", 0.0
            self._error = MCPConnectionError(f"the connection to MCP server {self._name!r} ended", server=self._name)
