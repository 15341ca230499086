"""The protocol's side: the handlers of the official package's low-level server, for both eras of the protocol."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncGenerator, Callable, Container, Mapping
from contextlib import asynccontextmanager
from typing import Any, TypeAlias, cast

import mcp_types as wire
import msgspec
from mcp.server import NotificationOptions, Server
from mcp.server.context import ServerRequestContext
from mcp.server.models import InitializationOptions
from mcp.server.session import ServerSession
from mcp.server.subscriptions import InMemorySubscriptionBus, ListenHandler, ToolsListChanged
from mcp.shared.exceptions import MCPError

from agentsdk.mcp.serving.answers import RUN_ID, error_of, failed
from agentsdk.mcp.serving.caller import Caller
from agentsdk.mcp.serving.calls import Calls, require_run_id
from agentsdk.mcp.serving.get_run import GET_RUN, get_run, get_run_tool
from agentsdk.mcp.serving.offer import FixedOffer, Offer, Served, offer_of
from agentsdk.mcp.serving.options import MCPRequest, Settings
from agentsdk.types.base import JsonObject
from agentsdk.types.errors import AgentsException, InvalidArgumentsError, UserError

logger = logging.getLogger("agentsdk")

RUN_ID_PROPERTY: JsonObject = {
    "type": "string",
    "description": "A name of your choice for this piece of work. Call again with the same one, and the same arguments, to go "
    "on with it or to have its result: nothing is done twice.",
}

_LATEST = 5.0
"""Seconds for which a client has time to read that the tools have changed."""

Request: TypeAlias = "ServerRequestContext[Any, Any]"


class AgentServer:
    """What is served to clients over one transport: `server` speaks the protocol, `calls` runs what they call.

    Raises `UserError` for what cannot be served, and for options that are wrong.
    """

    def __init__(self, thing: object, settings: Settings) -> None:
        timeout = 30.0 if settings.config is None else settings.config.toolset_timeout
        self._offer: Offer = offer_of(thing, timeout)
        self._settings = settings
        self.name = settings.name or self._offer.name
        self.calls = Calls(self.name, settings)
        if isinstance(self._offer, FixedOffer):
            self._require_free(self._offer.served)
        changes = not isinstance(self._offer, FixedOffer)
        self._bus = InMemorySubscriptionBus()
        self._sessions: dict[object, ServerSession] = {}
        self.server = _Server(
            self.name,
            version=settings.version,
            instructions=settings.instructions or self._offer.instructions or None,
            lifespan=self._lifespan,
            get_tool_input_schema=lambda _: None,  # no argument is ever to be sent as a header
            on_list_tools=self._list_tools,
            on_call_tool=self._call_tool,
            on_subscriptions_listen=ListenHandler(self._bus) if changes else None,
        )
        self.server.tells_changes = changes
        if changes:
            self.server.add_notification_handler("notifications/initialized", wire.NotificationParams, self._remember)

    @asynccontextmanager
    async def _lifespan(self, server: Server[None]) -> AsyncGenerator[None]:
        """While it is served, clients are told when the tools change."""
        loop, changed = asyncio.get_running_loop(), asyncio.Event()
        telling = asyncio.create_task(self._tell_changes(changed), name="mcp list_changed")
        end = self._offer.on_change(lambda: _call_in(loop, changed.set))
        try:
            yield
        finally:
            end()
            telling.cancel()
            await asyncio.wait((telling,))
            await self.calls.aclose()

    async def _remember(self, request: Request, params: wire.NotificationParams) -> None:
        """Keep the session of a client of the handshake era for as long as it is connected, to tell it of changes."""
        key = object()
        self._sessions[key] = request.session
        # The package names no public way to hear of a connection's end.
        connection = request.session._connection  # pyright: ignore[reportPrivateUsage]
        connection.exit_stack.callback(self._sessions.pop, key, None)

    async def _tell_changes(self, changed: asyncio.Event) -> None:
        """Tell of changes; of several in a row once. Who does not read in time is not waited for."""
        while True:
            await changed.wait()
            changed.clear()
            await self._bus.publish(ToolsListChanged())
            sending = [asyncio.ensure_future(session.send_tool_list_changed()) for session in self._sessions.values()]
            if sending:
                _, late = await asyncio.wait(sending, timeout=_LATEST)
                for task in late:
                    task.cancel()

    async def _list_tools(self, request: Request, params: wire.PaginatedRequestParams | None) -> wire.ListToolsResult:
        try:
            tools = await self._offer.tools(await self._context_of(Caller(request).describe()))
            self._require_free(tools)
        except AgentsException as error:
            logger.warning("listing the tools of MCP server %r failed", self.name, exc_info=error)
            raise MCPError(wire.INTERNAL_ERROR, str(error)) from error
        own = [get_run_tool()] if self.calls.is_durable else []
        return wire.ListToolsResult(tools=[*(self._described(tool) for tool in tools.values()), *own])

    async def _call_tool(
        self, request: Request, params: wire.CallToolRequestParams
    ) -> wire.CallToolResult | wire.InputRequiredResult:
        caller, arguments = Caller(request), dict(params.arguments or {})
        try:
            if params.name == GET_RUN and self.calls.is_durable:
                return await get_run(self.calls, arguments, caller)
            served = await self._offer.find(await self._context_of(caller.describe(params.name)), params.name)
            if served is None:
                raise MCPError(wire.INVALID_PARAMS, f"there is no tool {params.name!r}, expected one that tools/list gives")
            size, limit = _size_of(arguments), self._settings.max_argument_bytes
            if size > limit:
                return failed("ArgumentsTooLong", f"the arguments have {size} bytes, expected {limit} at most; send less")
            named = self._given_run_id(served, arguments, params)
            run_id = require_run_id(params.request_state or named)
            return await self.calls.call(served, arguments, run_id, params.input_responses or {}, caller)
        except AgentsException as error:
            logger.warning("a call of %r of MCP server %r failed", params.name, self.name, exc_info=error)
            return error_of(error)
        except (MCPError, asyncio.CancelledError):
            raise
        except Exception:  # what it says could be anything: the log has it, not the client
            logger.exception("a call of %r of MCP server %r failed", params.name, self.name)
            return failed("InternalError", "the call failed inside the server; its log says why")

    def _require_free(self, names: Container[str]) -> None:
        if self.calls.is_durable and GET_RUN in names:
            raise UserError(f"a tool to be served is named {GET_RUN!r}, which a server with a store has itself; rename it")

    async def _context_of(self, request: MCPRequest) -> Any:
        """The context that a toolset is asked with; a list of tools is the same for all."""
        return None if isinstance(self._offer, FixedOffer) else await self.calls.context_of(request)

    def _given_run_id(self, served: Served, arguments: dict[str, Any], params: wire.CallToolRequestParams) -> object:
        """The run that the client named, taken out of the arguments where it stands there."""
        if not self.calls.is_durable:
            return None
        named = arguments.pop("run_id", None) if _takes_run_id(served) else None
        return named if named is not None else (params.meta or {}).get(RUN_ID)

    def _described(self, served: Served) -> wire.Tool:
        schema = served.input_schema
        if self.calls.is_durable and _takes_run_id(served):
            properties = _properties(served)
            schema = {**schema, "properties": {**properties, "run_id": RUN_ID_PROPERTY}}
        return wire.Tool(
            name=served.name,
            description=served.description,
            input_schema=schema,
            output_schema=served.output_schema,
            annotations=_annotations(served),
        )


class _Server(Server[None]):
    """The package's server; the handshake says that it tells of changes, over HTTP too."""

    tells_changes = False

    def create_initialization_options(
        self,
        notification_options: NotificationOptions | None = None,
        experimental_capabilities: dict[str, dict[str, Any]] | None = None,
        extensions: dict[str, dict[str, Any]] | None = None,
    ) -> InitializationOptions:
        told = notification_options or NotificationOptions(tools_changed=self.tells_changes)
        return super().create_initialization_options(told, experimental_capabilities, extensions)


def _size_of(arguments: Mapping[str, object]) -> int:
    """The arguments' bytes as JSON. Raises `InvalidArgumentsError` for what cannot be written back."""
    try:
        return len(msgspec.json.encode(arguments))
    except (OverflowError, RecursionError, ValueError):
        raise InvalidArgumentsError("they hold what JSON cannot carry, half of a character say; leave it out") from None


def _takes_run_id(served: Served) -> bool:
    """Whether `run_id` is free to name the run: a tool may have a parameter of its own of that name."""
    return "run_id" not in _properties(served)


def _properties(served: Served) -> Mapping[str, object]:
    return cast("Mapping[str, object]", served.input_schema.get("properties", {}))


def _annotations(served: Served) -> wire.ToolAnnotations | None:
    """What is known of a tool's effects. Nothing is said of what is not: an agent may do what its tools do."""
    if served.effect is None and not served.needs_approval:
        return None
    reads_only = served.effect == "none"
    return wire.ToolAnnotations(
        read_only_hint=reads_only and not served.needs_approval,
        destructive_hint=True if served.needs_approval else None,
        idempotent_hint=served.effect in ("none", "idempotent"),
    )


def _call_in(loop: asyncio.AbstractEventLoop, function: Callable[[], None]) -> None:
    try:
        loop.call_soon_threadsafe(function)
    except RuntimeError:  # the loop is closed: nobody is connected
        pass
