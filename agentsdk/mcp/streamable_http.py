"""`MCPServerStreamableHttp`: a server that is reached over HTTP."""

from __future__ import annotations

import asyncio
import inspect
from collections.abc import AsyncGenerator, Awaitable, Callable, Mapping, Sequence
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from typing import Any, Required, Self, TypedDict, Unpack, cast
from urllib.parse import urlsplit

import msgspec

from agentsdk.define.context import RunContextWrapper
from agentsdk.mcp.health import MCPHealth
from agentsdk.mcp.link import Link
from agentsdk.mcp.options import DEFAULTS, HEADERS, MCPServerOptions, checked_params
from agentsdk.mcp.require import require_package
from agentsdk.mcp.server import MCPServer
from agentsdk.ports.mcp import MCPConnection, MCPEvents
from agentsdk.types.declared import Fields, secret
from agentsdk.types.errors import UserError
from agentsdk.types.signature import shows_options

RunHeaders = Callable[[RunContextWrapper[Any]], Mapping[str, str] | Awaitable[Mapping[str, str]]]
"""Called with the context of a run, sync or async: the headers of its requests."""

MAX_LINKS = 100
"""How many connections with headers of their own are kept: the idle one that was least recently used makes room."""


_GIVEN = Fields("headers", headers=secret(HEADERS))


class MCPServerStreamableHttpParams(TypedDict, total=False):
    """Where a server is, and the headers of each request to it, or a callable that gives those of a run by its context.

    `timeout`: seconds to connect, and to send a request. `auth` is an `httpx2.Auth`: the `mcp` package's OAuth provider, say.
    """

    url: Required[str]
    headers: Mapping[str, str] | RunHeaders | None
    timeout: float
    auth: object


class MCPServerStreamableHttp(MCPServer):
    """A server at an address, in the protocol's streamable HTTP. The other options are those of `MCPServer`.

    A redirect is followed only within the address's own origin: headers and arguments go nowhere else. Where a callable gives
    the headers of a run, runs with the same headers share a connection and a list of tools, and no others do: `async with`
    connects nothing then, and methods that ask the server something outside of a run are told for whom by `context`.
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
        self._by_headers: dict[tuple[tuple[str, str], ...], Link] = {}
        self._retired: list[Link] = []
        place = f"{parts.scheme}://{parts.hostname}{port}{parts.path}"
        super().__init__(f"streamable_http: {place}", msgspec.json.encode(["streamable_http", place]).decode(), **options)
        self._latest = self._link

    def _connect(self, events: MCPEvents) -> AbstractAsyncContextManager[MCPConnection]:
        headers = self._params.get("headers")
        return self._opened(events, {} if headers is None or callable(headers) else headers)

    async def _link_for(self, context: RunContextWrapper[Any] | None) -> Link:
        rule = self._params.get("headers")
        if not callable(rule):
            return self._link
        if not isinstance(context, RunContextWrapper):
            raise UserError(
                f"MCP server {self.name!r} has headers of each run and was given no context of one, expected whose headers it "
                "is asked with; pass context=RunContextWrapper(...)"
            )
        given: object = rule(context)
        if inspect.isawaitable(given):
            given = cast(object, await given)
        _GIVEN.check_given(f"the callable of MCP server {self.name!r}", headers=given)
        headers = cast("dict[str, str]", given)
        key = tuple(sorted(headers.items()))
        link = self._by_headers.pop(key, None)
        if link is None:
            link = Link(self.name, lambda events: self._opened(events, headers), self.client_session_timeout_seconds)
        self._by_headers[key] = self._latest = link
        if (excess := len(self._by_headers) - MAX_LINKS) > 0:
            idle = [key for key, other in self._by_headers.items() if other.is_idle and other is not link]
            self._retire([self._by_headers.pop(key) for key in idle[:excess]])
        return link

    def _retire(self, links: Sequence[Link]) -> None:
        for link in links:
            link.retire()
        self._retired = [link for link in (*self._retired, *links) if not link.is_over]

    def _links(self) -> Sequence[Link]:
        return (self._link, *self._by_headers.values(), *self._retired)

    @property
    def health(self) -> MCPHealth:
        return self._latest.health

    async def __aenter__(self) -> Self:
        if not callable(self._params.get("headers")):  # else there is nobody yet to be connected for
            await self.connect()
        return self

    async def aclose(self) -> None:
        links = self._links()
        self._by_headers.clear()
        self._retired.clear()
        await asyncio.gather(*[link.aclose() for link in links])

    @asynccontextmanager
    async def _opened(self, events: MCPEvents, headers: Mapping[str, str]) -> AsyncGenerator[MCPConnection]:
        require_package("MCPServerStreamableHttp")
        from agentsdk.mcp.client.connection import connect, over_streams
        from agentsdk.mcp.client.http_transport import http_transport

        params = self._params
        transport = http_transport(params["url"], headers, params.get("timeout", 30.0), params.get("auth"))
        async with connect(self.name, over_streams(transport), events, self._settings) as made:
            yield made
