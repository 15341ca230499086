"""`MCPServerStdio`: a server that runs as a process of ours."""

from __future__ import annotations

import os
from collections.abc import AsyncGenerator, Mapping, Sequence
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from typing import TYPE_CHECKING, Required, TypedDict, Unpack

import msgspec

from agentsdk.mcp.options import DEFAULTS, MCPServerOptions, checked_params
from agentsdk.mcp.require import require_package
from agentsdk.mcp.server import MCPServer
from agentsdk.ports.mcp import MCPConnection, MCPEvents
from agentsdk.types.errors import MCPConnectionError
from agentsdk.types.signature import shows_options

if TYPE_CHECKING:
    from agentsdk.mcp.client.stdio_transport import StdioProcess


class MCPServerStdioParams(TypedDict, total=False):
    """How a server is started. It gets `env`, and of this process's environment what programs need (`PATH`, `HOME`, ...)."""

    command: Required[str]
    args: Sequence[str]
    env: Mapping[str, str] | None
    cwd: str | os.PathLike[str] | None


class MCPServerStdio(MCPServer):
    """A server that is started as a process and spoken to over its standard input and output.

    At the end it is killed, and what it has started: its process group, and on Linux daemons too. What it writes to stderr is
    in `health`. The other options are those of `MCPServer`.
    """

    @shows_options(MCPServerOptions, DEFAULTS)
    def __init__(self, params: MCPServerStdioParams, **options: Unpack[MCPServerOptions]) -> None:
        given = checked_params("MCPServerStdio", params, MCPServerStdioParams.__annotations__, "command")
        self._params = given
        command, args = str(given["command"]), list(given.get("args", ()))
        identity = msgspec.json.encode(["stdio", command, args]).decode()
        super().__init__(f"stdio: {os.path.basename(command)}", identity, **options)

    def _connect(self, events: MCPEvents) -> AbstractAsyncContextManager[MCPConnection]:
        return self._opened(events)

    @asynccontextmanager
    async def _opened(self, events: MCPEvents) -> AsyncGenerator[MCPConnection]:
        require_package("MCPServerStdio")
        from agentsdk.mcp.client.connection import connect, over_streams
        from agentsdk.mcp.client.stdio_transport import stdio_transport

        process: StdioProcess | None = None

        def started(child: StdioProcess) -> None:
            nonlocal process
            process = child

        def has_left() -> bool:
            return process is not None and process.has_left

        params, is_open = self._params, False
        transport = stdio_transport(
            params["command"], params.get("args", ()), params.get("env"), params.get("cwd"), events, started
        )
        try:
            opened = connect(self.name, over_streams(transport), events, self._settings, has_left)
            async with opened as made:
                is_open = True
                yield made
        except (OSError, ValueError) as error:
            raise MCPConnectionError(
                f"MCP server {self.name!r} cannot be started: {params['command']!r} gave {type(error).__name__}; see that the "
                "program is there, and its cwd",
                server=self.name,
            ) from error
        except MCPConnectionError:
            if is_open or process is None or process.left_with is None:
                raise
            raise MCPConnectionError(
                f"MCP server {self.name!r} left with code {process.left_with} before it was connected; see "
                "server.health.stderr for what it said",
                server=self.name,
            ) from None
