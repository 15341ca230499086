"""`connect`: a connection to an MCP server by the official package's session, and its errors as ours."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Callable, Mapping, Sequence
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from typing import Any, TypeVar, cast

from mcp import types
from mcp.client.subscriptions import listen
from mcp.shared.dispatcher import Dispatcher
from mcp.shared.exceptions import MCPError as WireError
from mcp.shared.jsonrpc_dispatcher import JSONRPCDispatcher
from mcp.shared.transport_context import TransportContext
from mcp_types import CONNECTION_CLOSED, REQUEST_TIMEOUT
from mcp_types.version import MODERN_PROTOCOL_VERSIONS
from pydantic import TypeAdapter, ValidationError

from agentsdk.mcp.client.dispatcher import WatchedDispatcher
from agentsdk.mcp.client.negotiate import negotiate
from agentsdk.mcp.client.session import Session, elicit_result, elicitation_of, sample_result, sampling_of
from agentsdk.ports.mcp import (
    ROOTS,
    Listing,
    LogLevel,
    MCPElicitation,
    MCPEvents,
    MCPInput,
    MCPInputRequired,
    MCPPrompt,
    MCPResource,
    MCPSample,
    MCPSamplingRequest,
    MCPServerInfo,
    MCPSettings,
    MCPToolDefinition,
    MCPToolResult,
    OnProgress,
    Sample,
)
from agentsdk.types.base import JsonObject
from agentsdk.types.errors import (
    MCPCallError,
    MCPConnectionError,
    MCPError,
    MCPProtocolError,
    MCPStatusError,
    MCPTimeoutError,
)
from agentsdk.types.text import escaped, shortened

T = TypeVar("T")

MAX_PAGES = 1_000
"""How many pages of a list are read."""

MAX_ENTRIES = 10_000
"""How many entries of a list are read."""

MAX_MESSAGE = 500
"""How many characters of a server's own message are repeated."""

_LEVEL_SECONDS = 10.0
_ENDED = ("Connection closed", "SSE stream ")
_SILENT = "Request '"
"""How errors begin that the package makes itself: their codes are free, so a server's own errors have them too."""
_Called = types.CallToolResult | types.InputRequiredResult
_CALLED: TypeAdapter[_Called] = TypeAdapter(_Called)


@asynccontextmanager
async def connect(
    name: str,
    dispatchers: AbstractAsyncContextManager[Dispatcher[TransportContext]],
    events: MCPEvents,
    settings: MCPSettings,
    has_left: Callable[[], bool] = lambda: False,
) -> AsyncGenerator[Connection]:
    """A connection to the server called `name`, through what `dispatchers` gives, once its protocol is agreed on.

    `has_left` says whether there is no server any more, which may be known before the connection has ended.
    """
    async with dispatchers as inner:
        dispatcher = WatchedDispatcher(inner, events, settings.connect_seconds / 2)
        session = Session(name, dispatcher, events, settings)
        async with session:
            connection = Connection(name, session, dispatcher, has_left)
            await connection.asked("connect", negotiate(session), settings.connect_seconds)
            watching = asyncio.create_task(connection.watch(events, settings.log_level), name=f"MCP server {name}: changes")
            try:
                yield connection
            finally:
                watching.cancel()
                await asyncio.wait([watching])


def over_streams(transport: AbstractAsyncContextManager[Any]) -> AbstractAsyncContextManager[Dispatcher[TransportContext]]:
    """The dispatcher over a transport's two streams."""

    @asynccontextmanager
    async def opened() -> AsyncGenerator[Dispatcher[TransportContext]]:
        async with transport as (receives, sends):
            yield JSONRPCDispatcher(receives, sends)

    return opened()


class Connection:
    """An `MCPConnection` over a session that its owner has entered."""

    def __init__(self, name: str, session: Session, dispatcher: WatchedDispatcher, has_left: Callable[[], bool]) -> None:
        self._name = name
        self._has_left = has_left
        self._doubted_at: int | None = None
        self._session = session
        self._dispatcher = dispatcher
        self._is_watched = session.initialize_result is not None  # in the handshake era servers say so by themselves

    @property
    def info(self) -> MCPServerInfo:
        """What the server says of itself."""
        session = self._session
        said = session.server_info
        abilities = session.server_capabilities
        return MCPServerInfo(
            name=_shown(said.name) if said else "",
            version=_shown(said.version) if said else "",
            protocol_version=session.protocol_version or "",
            instructions=session.instructions or "",
            has_session=session.initialize_result is not None,
            capabilities=frozenset(abilities.model_dump(exclude_none=True)) if abilities else frozenset(),
        )

    @property
    def is_open(self) -> bool:
        """Whether the connection has not ended."""
        return self._dispatcher.is_open and not self._has_left()

    @property
    def is_doubtful(self) -> bool:
        """Whether the last thing heard of the server was silence, an HTTP error or a connection that failed."""
        return self._doubted_at == self._dispatcher.heard

    async def answers(self, seconds: float) -> bool:
        """Whether the server answers a request that does nothing, or is heard of in any other way meanwhile."""
        session, heard = self._session, self._dispatcher.heard
        version = session.protocol_version or ""
        probe: Any = session.send_discover(version) if version in MODERN_PROTOCOL_VERSIONS else session.send_ping()
        try:
            await self.asked("ping", probe, seconds)
        except (MCPCallError, MCPProtocolError):
            pass  # an answer all the same
        except MCPError:
            return self._dispatcher.heard != heard
        self._doubted_at = None
        return True

    async def watch(self, events: MCPEvents, log_level: LogLevel | None) -> None:
        """Ask to be told of changes, and of what is logged, as the era has it; then tell `events` until the connection ends."""
        session, abilities = self._session, self._session.server_capabilities
        try:
            if session.initialize_result is not None:
                if log_level is not None and abilities is not None and abilities.logging is not None:
                    request = types.SetLevelRequest(params=types.SetLevelRequestParams(level=log_level))
                    await session.send_request(request, types.EmptyResult, _LEVEL_SECONDS)
            elif abilities is not None and abilities.tools is not None and abilities.tools.list_changed:
                async with listen(session, tools_list_changed=True) as changes:
                    self._is_watched = bool(changes.honored.tools_list_changed)
                    events.changed()  # what was listed before may have been so only until now
                    async for _ in changes:
                        events.changed()
        except Exception as error:  # a server that does not keep to this part loses no more than this
            events.warn(f"it does not tell of changes: {type(error).__name__}")
        finally:
            self._is_watched = session.initialize_result is not None
            events.changed()

    async def list_tools(self, seconds: float | None) -> Listing:
        """All pages of the server's tools."""
        if "tools" not in self.info.capabilities and self._session.server_capabilities is not None:
            return Listing((), ("it offers no tools",))
        found, problems = await self._pages("tools", self._session.list_tools, seconds)
        tools = [_definition(tool) for page in found for tool in page.tools]
        is_kept = self._is_watched or bool(problems)  # one that has no end is not read each turn
        return Listing(tuple(tools[:MAX_ENTRIES]), problems, None if is_kept else self._holds(found))

    def _holds(self, pages: Sequence[types.ListToolsResult]) -> float | None:
        """For how many seconds a modern server says that its list holds; 0 for a list that is to be asked for each time."""
        said = [page.ttl_ms / 1000 for page in pages if "ttl_ms" in page.model_fields_set]
        return min(said, default=None)

    async def list_resources(self, seconds: float | None) -> tuple[MCPResource, ...]:
        """The server's resources, then its templates of resources."""
        if "resources" not in self.info.capabilities:
            return ()
        pages, _ = await self._pages("resources", self._session.list_resources, seconds)
        templates, _ = await self._pages("resource_templates", self._session.list_resource_templates, seconds)
        plain = [(one, one.uri, False) for page in pages for one in page.resources]
        patterns = [(one, one.uri_template, True) for page in templates for one in page.resource_templates]
        return tuple(
            MCPResource(uri, one.title or one.name, one.description or "", one.mime_type or "", is_template)
            for one, uri, is_template in [*plain, *patterns]
        )

    async def read_resource(self, uri: str, seconds: float | None) -> tuple[JsonObject, ...]:
        """The contents of a resource, as the protocol has them."""
        result = await self.asked("resources/read", self._session.read_resource(uri), seconds)
        return tuple(one.model_dump(by_alias=True, mode="json", exclude_none=True) for one in result.contents)

    async def list_prompts(self, seconds: float | None) -> tuple[MCPPrompt, ...]:
        """The server's prompts."""
        if "prompts" not in self.info.capabilities:
            return ()
        pages, _ = await self._pages("prompts", self._session.list_prompts, seconds)
        return tuple(
            MCPPrompt(one.name, one.description or "", {given.name: bool(given.required) for given in one.arguments or ()})
            for page in pages
            for one in page.prompts
        )

    async def get_prompt(
        self, name: str, arguments: Mapping[str, str], seconds: float | None
    ) -> tuple[tuple[str, JsonObject], ...]:
        """The messages of a prompt: the role and the content block of each."""
        result = await self.asked("prompts/get", self._session.get_prompt(name, dict(arguments)), seconds)
        return tuple(
            (one.role, one.content.model_dump(by_alias=True, mode="json", exclude_none=True)) for one in result.messages
        )

    async def call_tool(
        self,
        name: str,
        arguments: Mapping[str, object],
        seconds: float | None,
        on_progress: OnProgress | None = None,
        given: MCPInput | None = None,
        sample: Sample | None = None,
    ) -> MCPToolResult | MCPInputRequired:
        """Call a tool by the server's own name for it, with what was `given` where it has asked for something."""

        async def on_change(progress: float, total: float | None, message: str | None) -> None:
            self._session.renew(clock)
            if on_progress is not None:
                on_progress(progress, total, message)

        params = types.CallToolRequestParams(name=name, arguments=dict(arguments))
        if given is not None:
            params.request_state, params.input_responses = given.state, self._responses(given)
        async with self._session.sampling(sample):
            sent = self._session.send_request(types.CallToolRequest(params=params), _CALLED, progress_callback=on_change)
            with self._session.clock(seconds) as clock:
                result = await self.asked("tools/call", sent, seconds, clock)
        if isinstance(result, types.InputRequiredResult):
            return self._required(result)
        content = [block.model_dump(by_alias=True, mode="json", exclude_none=True) for block in result.content]
        return MCPToolResult(tuple(content), result.structured_content, result.is_error)

    def _required(self, result: types.InputRequiredResult) -> MCPInputRequired:
        elicitations: dict[str, MCPElicitation] = {}
        samplings: dict[str, MCPSamplingRequest] = {}
        roots: list[str] = []
        unknown: list[str] = []
        for key, request in (result.input_requests or {}).items():
            if isinstance(request, types.ElicitRequest):
                elicitations[key] = elicitation_of(self._name, request.params)
            elif isinstance(request, types.ListRootsRequest) and self._session.roots is not None:
                roots.append(key)
            elif isinstance(request, types.CreateMessageRequest) and (asked := sampling_of(request.params)) is not None:
                samplings[key] = asked
            else:
                unknown.append(key)
        return MCPInputRequired(result.request_state, elicitations, tuple(roots), tuple(unknown), samplings)

    def _responses(self, given: MCPInput) -> types.InputResponses:
        responses: dict[str, Any] = {}
        for key, (answer, is_form) in given.answers.items():
            if isinstance(answer, MCPSample):
                responses[key] = sample_result(answer)
            elif answer is ROOTS:
                responses[key] = self._session.roots
            else:
                responses[key] = elicit_result(answer, is_form=is_form)
        return responses

    async def _pages(self, what: str, ask: Callable[..., Any], seconds: float | None) -> tuple[list[Any], tuple[str, ...]]:
        """Every page of a list, as far as `MAX_PAGES` and `MAX_ENTRIES` go."""
        pages: list[Any] = []
        seen: set[str] = set()
        cursor: str | None = None
        count = 0

        async def read() -> tuple[str, ...]:
            nonlocal cursor, count
            while True:
                page = await ask(params=types.PaginatedRequestParams(cursor=cursor) if cursor is not None else None)
                pages.append(page)
                count += len(getattr(page, what))
                cursor = page.next_cursor
                if cursor is None:
                    return ()
                if cursor in seen:
                    return (f"its list of {what} gives one page twice, so it was read up to there",)
                if len(pages) >= MAX_PAGES or count >= MAX_ENTRIES:
                    return (f"its list of {what} was read up to {len(pages)} pages with {count} entries",)
                seen.add(cursor)

        return pages, await self.asked(f"{what}/list", read(), seconds)

    async def asked(self, what: str, answer: Any, seconds: float | None, clock: asyncio.Timeout | None = None) -> Any:
        """What the server answers within its time. Raises `MCPError`."""
        clock = asyncio.timeout(seconds) if clock is None else clock
        try:
            async with clock:
                return await answer
        except WireError as error:
            ours = self._error(what, error, seconds)
            if isinstance(ours, MCPStatusError | MCPTimeoutError | MCPConnectionError):
                self._doubted_at = self._dispatcher.heard
            raise ours from None
        except TimeoutError:
            self._doubted_at = self._dispatcher.heard
            raise self._silent(what, seconds) from None
        except MCPError:
            raise
        except ValidationError as error:
            count = error.error_count()
            where = ".".join(map(str, error.errors(include_url=False, include_input=False)[0]["loc"]))
            raise MCPProtocolError(
                f"MCP server {self._name!r} answered {what} with what is not the protocol: {count} faults, the first at "
                f"{shortened(escaped(where), 100)!r}; tell its author",
                server=self._name,
            ) from None
        except Exception as error:
            text = shortened(escaped(str(error)), MAX_MESSAGE)
            raise MCPProtocolError(
                f"MCP server {self._name!r} answered {what} with what cannot be used: {text}", server=self._name
            ) from error

    def _silent(self, what: str, seconds: float | None) -> MCPTimeoutError:
        return MCPTimeoutError(
            f"MCP server {self._name!r} did not answer {what} within {seconds or 0:g} seconds; see whether it hangs, or "
            "give it more time with client_session_timeout_seconds",
            server=self._name,
        )

    def _error(self, what: str, error: WireError, seconds: float | None) -> MCPError:
        """The package's error as ours."""
        given: object = error.data
        data = cast(JsonObject, given) if isinstance(given, dict) else {}
        said = _shown(error.message)
        status = data.get("http_status")
        if isinstance(status, int):
            return MCPStatusError(
                f"MCP server {self._name!r} answered {what} with HTTP {status}: {said}", server=self._name, status=status
            )
        if data.get("unreachable"):
            return MCPConnectionError(
                f"MCP server {self._name!r} cannot be reached for {what}: {said}",
                server=self._name,
                sent=data["unreachable"] == "sent",
            )
        if error.code == CONNECTION_CLOSED and error.message.startswith(_ENDED):
            return MCPConnectionError(
                f"the connection to MCP server {self._name!r} ended during {what}", server=self._name, sent=True
            )
        if error.code == REQUEST_TIMEOUT and error.message.startswith(_SILENT) and self.is_open:
            return self._silent(what, seconds)
        if data.get("malformed"):
            return MCPProtocolError(
                f"MCP server {self._name!r} answered {what} with what is not JSON-RPC; tell its author", server=self._name
            )
        return MCPCallError(
            f"MCP server {self._name!r} refused {what}: {said} (code {error.code})", server=self._name, code=error.code
        )


def _shown(text: str) -> str:
    return shortened(escaped(text), MAX_MESSAGE)


def _definition(tool: types.Tool) -> MCPToolDefinition:
    hints = tool.annotations
    return MCPToolDefinition(
        tool.name,
        tool.description or "",
        tool.input_schema,
        tool.output_schema,
        tool.title or (hints.title if hints else None) or "",
        hints.read_only_hint if hints else None,
        hints.destructive_hint if hints else None,
        hints.idempotent_hint if hints else None,
    )
