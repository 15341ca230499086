"""`MCPServerStreamableHttp`: a server that is reached over HTTP."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Mapping
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from typing import Required, TypedDict, Unpack
from urllib.parse import urlsplit

import msgspec

from agentsdk.mcp.options import DEFAULTS, MCPServerOptions, checked_params
from agentsdk.mcp.require import require_package
from agentsdk.mcp.server import MCPServer
from agentsdk.ports.mcp import MCPConnection, MCPEvents
from agentsdk.types.errors import UserError
from agentsdk.types.signature import shows_options


class MCPServerStreamableHttpParams(TypedDict, total=False):
    """Where a server is, and the headers of each request to it. `timeout`: seconds to connect, and to send a request."""

    url: Required[str]
    headers: Mapping[str, str] | None
    timeout: float


class MCPServerStreamableHttp(MCPServer):
    """A server at an address, in the protocol's streamable HTTP. The other options are those of `MCPServer`.

    A redirect is followed only within the address's own origin: headers and arguments go nowhere else.
    """

    @shows_options(MCPServerOptions, DEFAULTS)
    def __init__(self, params: MCPServerStreamableHttpParams, **options: Unpack[MCPServerOptions]) -> None:
        given = checked_params("MCPServerStreamableHttp", params, MCPServerStreamableHttpParams.__annotations__, "url")
        try:
            parts = urlsplit(str(given["url"]))
            port = f":{parts.port}" if parts.port else ""
        except ValueError:
            parts, port = urlsplit(""), ""
        if parts.scheme not in ("http", "https") or not parts.hostname:
            raise UserError(
                "MCPServerStreamableHttp was given no http or https address, expected one; pass "
                "params={'url': 'https://example.com/mcp'}"
            )
        self._params = given
        place = f"{parts.scheme}://{parts.hostname}{port}{parts.path}"
        super().__init__(f"streamable_http: {place}", msgspec.json.encode(["streamable_http", place]).decode(), **options)

    def _connect(self, events: MCPEvents) -> AbstractAsyncContextManager[MCPConnection]:
        return self._opened(events)

    @asynccontextmanager
    async def _opened(self, events: MCPEvents) -> AsyncGenerator[MCPConnection]:
        require_package("MCPServerStreamableHttp")
        from agentsdk.mcp.client.connection import connect, over_streams
        from agentsdk.mcp.client.http_transport import http_transport

        params = self._params
        transport = http_transport(params["url"], dict(params.get("headers") or {}), params.get("timeout", 30.0))
        async with connect(self.name, over_streams(transport), events, self._settings) as made:
            yield made
