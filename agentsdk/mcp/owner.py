"""The one task that opens the connection to a server, holds it and closes it.

The official package's session lives in cancel scopes, which one task must enter and leave: whoever else closes it hangs, spins
or gets "exited in a different task". So a task of its own does both, and everybody else only asks it to. It ends when it is
told to, when the connection ends, or with its event loop, which cancels it.
"""

from __future__ import annotations

import asyncio
import contextvars
from collections.abc import Generator
from contextlib import contextmanager
from dataclasses import replace
from typing import TypeVar, cast

from agentsdk.mcp.shared import Shared
from agentsdk.ports.mcp import Connect, Listing, MCPConnection, MCPEvents
from agentsdk.types.errors import MCPConnectionError, MCPError
from agentsdk.types.text import escaped, shortened, text_of

CLOSE_TIMEOUT = 6.0
"""Seconds for which the end of a connection is waited for before its task is cancelled."""

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
        self.is_retired = False
        self._listed_at = 0.0
        self._changes = 0
        self._uses = 0
        self._name = name
        self._asking: Shared[Listing | MCPError] | None = None
        self._probing: Shared[bool] | None = None
        self._is_settled = asyncio.Event()
        self._leave = asyncio.Event()

        def ended() -> None:
            events.ended()
            self._leave.set()

        own = replace(events, ended=ended, changed=self.forget_listing)
        # In a context of its own: it outlives the run that happened to need it first.
        self.task = loop.create_task(self._hold(connect, own), name=f"MCP server {name}", context=contextvars.Context())

    @property
    def is_over(self) -> bool:
        """Whether there is no connection any more."""
        connection = self.connection
        is_ended = connection is not None and not connection.is_open
        return self.is_retired or is_ended or self.task.done() or self._leave.is_set()

    async def opened(self) -> MCPConnection:
        """The connection, once it is there. Raises `MCPError`."""
        await self._is_settled.wait()
        if self.connection is None:
            assert self.error is not None
            raise raised_anew(self.error)
        return self.connection

    def forget_listing(self) -> None:
        """Have the server asked by whoever wants its list from now on: what it is just answering may be out of date."""
        self.listing = None
        self._changes += 1
        if self._asking is not None:
            self._asking.begin_anew()

    async def listed(self, connection: MCPConnection, seconds: float | None, *, is_fresh: bool) -> Listing:
        """What the server lists, asked again where `is_fresh`, where it has said that it has changed or its time is over. Those
        who ask at one time share one answer. Raises `MCPError`."""
        loop, known = asyncio.get_running_loop(), self.listing
        if known is not None and not is_fresh and (known.seconds is None or loop.time() < self._listed_at + known.seconds):
            return known
        asking = self._asking
        if asking is None:

            async def ask() -> Listing | MCPError:
                changes = self._changes
                try:
                    listing = await connection.list_tools(seconds)
                except MCPError as error:
                    return error
                if changes == self._changes:  # else it may be what there was before
                    self.listing, self._listed_at = listing, loop.time()
                return listing

            asking = self._asking = Shared(f"MCP server {self._name}: list", ask)
        answer = await asking.result()
        if isinstance(answer, MCPError):
            raise raised_anew(answer)
        return answer

    async def answers(self, connection: MCPConnection, seconds: float) -> bool:
        """Whether the server still answers; where it does not, the connection is ended. Those who ask at one time share one
        answer."""
        probing = self._probing
        if probing is None:

            async def probe() -> bool:
                does = await connection.answers(seconds)
                if not does:
                    self._leave.set()
                return does

            probing = self._probing = Shared(f"MCP server {self._name}: ping", probe)
        return await probing.result()

    async def close(self) -> None:
        """End the connection, and wait until nothing of it is left."""
        self.ask_to_close()
        await asyncio.wait([self.task], timeout=CLOSE_TIMEOUT)
        if not self.task.done():
            self.task.cancel()
            await asyncio.wait([self.task], timeout=CLOSE_TIMEOUT)

    @contextmanager
    def in_use(self) -> Generator[None]:
        """Around a request: an owner that is retired meanwhile closes when the last has its answer."""
        self._uses += 1
        try:
            yield
        finally:
            self._uses -= 1
            if self.is_retired and not self._uses:
                self.ask_to_close()

    def retire(self) -> None:
        """Take no more requests, and close when those that run have their answers."""
        self.is_retired = True
        if not self._uses:
            self.ask_to_close()

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
            for work in (self._asking, self._probing):
                if work is not None:
                    await work.settled()  # it has its error: the connection is gone

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
