"""The one task that opens the connection to a server, holds it and closes it.

The official package's session lives in cancel scopes, which one task must enter and leave: whoever else closes it hangs, spins
or gets "exited in a different task". So a task of its own does both, and everybody else only asks it to. It ends when it is
told to, when the connection ends, or with its event loop, which cancels it.
"""

from __future__ import annotations

import asyncio
import contextvars
from collections.abc import Callable
from typing import TypeVar, cast

from agentsdk.ports.mcp import Connect, Listing, MCPConnection, MCPEvents
from agentsdk.types.errors import MCPConnectionError, MCPError
from agentsdk.types.text import escaped, shortened, text_of

CLOSE_SECONDS = 6.0
"""How long the end of a connection is waited for before its task is cancelled."""

E = TypeVar("E", bound=MCPError)


class Owner:
    """A connection to the server called `name`, from its opening on. Belongs to the running event loop.

    `listing` is what the server has last listed over this connection, None for not asked yet, or no longer so.
    """

    def __init__(self, name: str, connect: Connect, events: MCPEvents) -> None:
        loop = asyncio.get_running_loop()
        self.error: MCPError | None = None
        self.connection: MCPConnection | None = None
        self.listing: Listing | None = None
        self._name = name
        self._asking: asyncio.Task[Listing | MCPError] | None = None
        self._probing: asyncio.Task[bool] | None = None
        self._is_settled = asyncio.Event()
        self._leave = asyncio.Event()

        def ended() -> None:
            events.ended()
            self._leave.set()

        own = MCPEvents(events.warn, ended, events.stderr)
        # In a context of its own: it outlives the run that happened to need it first.
        self.task = loop.create_task(self._hold(connect, own), name=f"MCP server {name}", context=contextvars.Context())

    @property
    def is_over(self) -> bool:
        """Whether there is no connection any more."""
        connection = self.connection
        return self.task.done() or self._leave.is_set() or (connection is not None and not connection.is_open)

    async def opened(self) -> MCPConnection:
        """The connection, once it is there. Raises `MCPError`."""
        await self._is_settled.wait()
        if self.connection is None:
            assert self.error is not None
            raise raised_anew(self.error)
        return self.connection

    async def listed(
        self, connection: MCPConnection, seconds: float | None, take: Callable[[Listing], None], *, is_fresh: bool
    ) -> Listing:
        """What the server lists, asked again where `is_fresh`. Those who ask at one time share one answer, which `take` is
        given once. Raises `MCPError`."""
        if self.listing is not None and not is_fresh:
            return self.listing
        asking = self._asking
        if asking is None or asking.done():

            async def ask() -> Listing | MCPError:
                try:
                    self.listing = listing = await connection.list_tools(seconds)
                except MCPError as error:
                    return error
                take(listing)
                return listing

            name = f"MCP server {self._name}: list"
            loop = asyncio.get_running_loop()
            self._asking = asking = loop.create_task(ask(), name=name, context=contextvars.Context())
        answer = await asyncio.shield(asking)
        if isinstance(answer, MCPError):
            raise raised_anew(answer)
        return answer

    async def answers(self, connection: MCPConnection, seconds: float) -> bool:
        """Whether the server still answers; where it does not, the connection is ended. Those who ask at one time share one
        answer."""
        probing = self._probing
        if probing is None or probing.done():

            async def probe() -> bool:
                does = await connection.answers(seconds)
                if not does:
                    self._leave.set()
                return does

            name = f"MCP server {self._name}: ping"
            self._probing = probing = self.task.get_loop().create_task(probe(), name=name, context=contextvars.Context())
        return await asyncio.shield(probing)

    async def close(self) -> None:
        """End the connection, and wait until nothing of it is left."""
        self.ask_to_close()
        await asyncio.wait([self.task], timeout=CLOSE_SECONDS)
        if not self.task.done():
            self.task.cancel()
            await asyncio.wait([self.task], timeout=CLOSE_SECONDS)

    def ask_to_close(self) -> None:
        """End the connection, without waiting."""
        self._leave.set()
        if not self._is_settled.is_set():
            self.task.cancel()

    async def _hold(self, connect: Connect, events: MCPEvents) -> None:
        try:
            async with connect(events) as connection:
                self.connection = connection
                self._is_settled.set()
                await self._leave.wait()
        except asyncio.CancelledError:
            self.error = self._failed("it was closed while it was being connected")
            if not self._leave.is_set():
                raise
        except Exception as error:
            self.error = self._as_ours(error)
        finally:
            self._leave.set()
            self._is_settled.set()
            if asking := [task for task in (self._asking, self._probing) if task is not None]:
                await asyncio.wait(asking)  # they have their errors: the connection is gone

    def _as_ours(self, error: BaseException) -> MCPError:
        while isinstance(error, BaseExceptionGroup):
            error = cast("BaseExceptionGroup[BaseException]", error).exceptions[0]
        if isinstance(error, MCPError):
            return error
        text = shortened(escaped(text_of(error)), 200)
        return self._failed(f"{type(error).__name__}: {text}" if text else type(error).__name__)

    def _failed(self, why: str) -> MCPConnectionError:
        return MCPConnectionError(f"MCP server {self._name!r} is not connected: {why}", server=self._name)


def raised_anew(error: E) -> E:
    """An equal error: each run that raises it keeps its own state in it."""
    twin = error.__class__.__new__(error.__class__)
    twin.args = error.args
    twin.__dict__.update(vars(error))
    return twin
