"""`MCPApp`: the ASGI application that speaks streamable HTTP."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence

from mcp.server.streamable_http_manager import StreamableHTTPSessionManager
from mcp.server.transport_security import TransportSecuritySettings
from starlette.types import Receive, Scope, Send

from agentsdk.mcp.serving.server import AgentServer
from agentsdk.types.errors import UserError

LOOPBACK = ("127.0.0.1", "localhost", "::1")


class MCPApp:
    """An ASGI application. It begins with its lifespan, or with the first request where the application around it has its own.

    One is for one event loop. `aclose` ends its sessions and cancels its runs.
    """

    def __init__(self, served: AgentServer, allowed_hosts: Sequence[str]) -> None:
        security = None
        if allowed_hosts:
            origins = [f"{scheme}://{host}" for host in allowed_hosts for scheme in ("http", "https")]
            security = TransportSecuritySettings(allowed_hosts=list(allowed_hosts), allowed_origins=origins)
        self._manager = StreamableHTTPSessionManager(served.server, security_settings=security)
        self._ready = asyncio.Event()
        self._stopping = asyncio.Event()
        self._owner: asyncio.Task[None] | None = None

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "lifespan":
            await self._live(receive, send)
            return
        if scope["type"] != "http":
            raise UserError(f"an MCP server was sent a {scope['type']!r} connection, expected HTTP; mount it for HTTP only")
        await self._begun()
        await self._manager.handle_request(scope, receive, send)

    async def aclose(self) -> None:
        """End its sessions, cancel what is in work, and wait until that has wound down."""
        self._stopping.set()
        if self._owner is not None:
            await asyncio.wait((self._owner,))

    async def _live(self, receive: Receive, send: Send) -> None:
        await receive()
        await self._begun()
        await send({"type": "lifespan.startup.complete"})
        await receive()
        await self.aclose()
        await send({"type": "lifespan.shutdown.complete"})

    async def _begun(self) -> None:
        """The sessions live in a task of their own: a request, or a lifespan, may begin and end in any order."""
        if self._owner is None:
            self._owner = asyncio.create_task(self._own(), name="mcp sessions")
            self._owner.add_done_callback(lambda _: self._ready.set())
        await self._ready.wait()
        if self._owner.done():
            raise UserError("an MCP server is used that has ended, expected one that is up; make another asgi_app")

    async def _own(self) -> None:
        async with self._manager.run():
            self._ready.set()
            await self._stopping.wait()
