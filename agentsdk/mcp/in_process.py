"""`MCPServerInProcess`: a server object of the official package, without a process or a socket."""

from __future__ import annotations

from collections.abc import AsyncGenerator
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from typing import Unpack

import msgspec

from agentsdk.mcp.options import DEFAULTS, MCPServerOptions
from agentsdk.mcp.require import require_package
from agentsdk.mcp.server import MCPServer
from agentsdk.ports.mcp import MCPConnection, MCPEvents
from agentsdk.types.declared import shown
from agentsdk.types.errors import UserError
from agentsdk.types.signature import shows_options


class MCPServerInProcess(MCPServer):
    """An `MCPServer` or `Server` of the `mcp` package as it is, in this process. The other options are those of `MCPServer`."""

    @shows_options(MCPServerOptions, DEFAULTS)
    def __init__(self, server: object, **options: Unpack[MCPServerOptions]) -> None:
        name = getattr(server, "name", None)
        if not isinstance(name, str) or not hasattr(server, "streamable_http_app"):
            raise UserError(
                f"MCPServerInProcess was given {shown(server)}, expected a server object of the mcp package; pass "
                "mcp.server.mcpserver.MCPServer('name'), say"
            )
        self._server = server
        super().__init__(f"in process: {name}", msgspec.json.encode(["in process", name]).decode(), **options)

    def _connect(self, events: MCPEvents) -> AbstractAsyncContextManager[MCPConnection]:
        return self._opened(events)

    @asynccontextmanager
    async def _opened(self, events: MCPEvents) -> AsyncGenerator[MCPConnection]:
        require_package("MCPServerInProcess")
        from agentsdk.mcp.client.connection import connect
        from agentsdk.mcp.client.in_process import in_process

        opened = connect(self.name, in_process(self._server), events, self._settings)
        async with opened as made:
            yield made
