"""`serve` and `asgi_app`: agents and tools as an MCP server, over stdio, over HTTP, or inside a web application."""

from __future__ import annotations

import logging
from collections.abc import Sequence
from typing import TYPE_CHECKING, Unpack

from agentsdk.define.agent import Agent
from agentsdk.define.tool import FunctionTool
from agentsdk.define.toolset import Toolset
from agentsdk.mcp.require import require_package
from agentsdk.mcp.serving.options import DEFAULTS, ServeOptions, Settings
from agentsdk.types.declared import Fields, a_name, optional, sequence_of
from agentsdk.types.errors import UserError
from agentsdk.types.signature import shows_options
from agentsdk.web.listening import listening_socket

if TYPE_CHECKING:
    from typing import Any

    from agentsdk.mcp.serving.http import MCPApp
    from agentsdk.mcp.serving.server import AgentServer

    Servable = Agent[Any, Any] | FunctionTool[Any] | Toolset[Any] | Sequence[Agent[Any, Any] | FunctionTool[Any]]

logger = logging.getLogger("agentsdk")

_ARGUMENTS = Fields(
    "serve",
    http=optional(a_name("a host and a port; write '127.0.0.1:8000'")),
    allowed_hosts=sequence_of(a_name("a host"), "a list or tuple of hosts; write ['api.example.com']"),
)


@shows_options(ServeOptions, DEFAULTS)
async def serve(thing: Servable, *, http: str | None = None, **options: Unpack[ServeOptions]) -> None:
    """Serve an agent, a tool, a list of these, or a toolset (a `ToolRegistry` too) to MCP clients, until they are gone.

    Over stdin and stdout, or over streamable HTTP at `http`, `"127.0.0.1:8000"` say. An agent is a tool `name(input)`; each
    call is a run. With a `store` it is durable, and clients can name it (`run_id`): called again, it goes on.

    `name`, `version` and `instructions` are told to clients. `config` is each run's `RunConfig`, `context` a callable that
    gives its context object from the `MCPRequest`. What waits for a person is asked at the client, unless `ask_client` is
    False; a client of the handshake era has `ask_timeout` seconds. At most `max_calls` run at once, and `max_waiting_calls`
    wait for that. Arguments of a call have at most `max_argument_bytes`.

    Over HTTP in the era of 2026-07-28 the end of a connection is the cancellation of its call. With `goes_on_without_client`
    the run of a store goes on, and a call with its `run_id` gives the result.

    Raises `UserError` for an argument that is wrong, and where the package `mcp` is not installed.
    """
    _ARGUMENTS.check_given("serve", http=http)
    served = agent_server(thing, options)
    if http is None:
        from agentsdk.mcp.serving.stdio import stdio_streams

        async with stdio_streams() as (read, write):
            await served.server.run(read, write, served.server.create_initialization_options())
    else:
        await _serve_http(served, http)


@shows_options(ServeOptions, DEFAULTS)
def asgi_app(thing: Servable, *, allowed_hosts: Sequence[str] = (), **options: Unpack[ServeOptions]) -> MCPApp:
    """The same as an ASGI application, for a server of your own, or for a route of an application: `Route("/mcp", app)`.

    It answers at whatever path it is reached. With `allowed_hosts`, `["api.example.com"]` say, requests for other hosts (and of
    pages from other origins) are refused: a server on a developer's machine needs that against pages of a browser there.
    """
    _ARGUMENTS.check_given("asgi_app", allowed_hosts=allowed_hosts)
    served = agent_server(thing, options)
    from agentsdk.mcp.serving.http import MCPApp

    return MCPApp(served, allowed_hosts)


def agent_server(thing: object, options: ServeOptions) -> AgentServer:
    """What `thing` is served by. Raises `UserError`."""
    settings = Settings(**options)
    require_package("serving MCP")
    from agentsdk.mcp.serving.server import AgentServer

    return AgentServer(thing, settings)


async def _serve_http(served: AgentServer, address: str) -> None:
    import uvicorn

    from agentsdk.mcp.serving.http import LOOPBACK, MCPApp

    host, _, port = address.rpartition(":")
    host = host.strip("[]")
    if not host or not port.isdecimal() or int(port) > 65535:
        raise UserError(f"http is {address!r}, expected a host and a port; write '127.0.0.1:8000'")
    try:
        listening = listening_socket(host, int(port))
    except OSError as error:
        raise UserError(f"http is {address!r}, where nothing can be served: {error.strerror}; choose another port") from error
    allowed = ["127.0.0.1:*", "localhost:*", "[::1]:*"] if host in LOOPBACK else []
    app = MCPApp(served, allowed)
    config = uvicorn.Config(app, log_level="warning", timeout_graceful_shutdown=5, lifespan="on")
    logger.info("MCP server %r listens at http://%s:%d", served.name, host, listening.getsockname()[1])
    try:
        await uvicorn.Server(config).serve(sockets=[listening])
    finally:
        listening.close()
