"""A server object of the official package, in this process: no streams, no JSON."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Mapping
from contextlib import asynccontextmanager
from typing import Any, cast

import anyio
from mcp.server import Server
from mcp.server.mcpserver import MCPServer
from mcp.server.runner import modern_on_request
from mcp.shared.direct_dispatcher import create_direct_dispatcher_pair
from mcp.shared.dispatcher import Dispatcher
from mcp.shared.transport_context import TransportContext

from agentsdk.types.errors import UserError


@asynccontextmanager
async def in_process(given: Any) -> AsyncGenerator[Dispatcher[TransportContext]]:
    """The dispatcher of a client of this server. Raises `UserError` for what is no server."""
    is_high_level = isinstance(cast(object, given), MCPServer)
    server: Server[Any] = given._lowlevel_server if is_high_level else given
    if not isinstance(cast(object, server), Server):
        raise UserError(
            f"MCPServerInProcess was given a {type(given).__name__!r}, expected an MCPServer or Server of mcp.server"
        )
    async with server.lifespan(server) as state:
        ours, theirs = create_direct_dispatcher_pair()
        async with anyio.create_task_group() as tasks:
            await tasks.start(theirs.run, modern_on_request(server, state), _ignored)
            try:
                yield ours
            finally:
                theirs.close()
                tasks.cancel_scope.cancel()


async def _ignored(context: Any, method: str, params: Mapping[str, Any] | None) -> None:
    """The modern protocol has no notifications of clients."""
