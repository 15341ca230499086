"""`MCPServer`: the tools of an MCP server as a toolset, whichever way the server is reached.

A server that is down, dies or hangs ends no run. While its tools cannot be listed those it had are still offered, and the model
is told; a call that fails is a result that says why; the next use connects again, later after each attempt that failed. A call
whose connection ended under it is not made again: it may have been carried out.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Mapping, Sequence
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass
from types import TracebackType
from typing import Any, Self, TypeVar, Unpack, cast

import msgspec

from agentsdk.define.context import RunContextWrapper, ToolContext
from agentsdk.define.tool import FunctionTool
from agentsdk.define.toolset import Toolset, ToolsetContext
from agentsdk.mcp.elicitation import given_input, needed_answer, rounds_of
from agentsdk.mcp.health import MCPHealth
from agentsdk.mcp.link import Link
from agentsdk.mcp.names import tool_names
from agentsdk.mcp.options import (
    CONNECT_SECONDS,
    DEFAULTS,
    ELICIT_SECONDS,
    OPTIONS,
    SAMPLING_TOKENS,
    SESSION_SECONDS,
    Asked,
    MCPServerOptions,
)
from agentsdk.mcp.owner import raised_anew
from agentsdk.mcp.results import message_of, output_of, part_of, resource_part
from agentsdk.mcp.sampling import Sampler
from agentsdk.mcp.tools import effect_options, mcp_tool, recorded_mcp_tool, shown_description
from agentsdk.ports.mcp import (
    ROOTS,
    Listing,
    MCPConnection,
    MCPEvents,
    MCPInput,
    MCPInputRequired,
    MCPPrompt,
    MCPResource,
    MCPSample,
    MCPSettings,
    MCPToolDefinition,
    MCPToolResult,
    SamplingRefusedError,
)
from agentsdk.types.base import JsonObject
from agentsdk.types.errors import MCPCallError, MCPConnectionError, MCPError, MCPStatusError, MCPTimeoutError
from agentsdk.types.items import Message, Part
from agentsdk.types.signature import shows_options
from agentsdk.types.text import clean_text

T = TypeVar("T")

MAX_ROUNDS = 10
"""How often a server may ask for more in one call."""

MAX_MESSAGE = 500
"""How many characters of a message about progress are passed on."""


@dataclass(frozen=True, slots=True)
class MCPProgress:
    """How far a call is, as its server says: the `data` of a `ToolProgressStreamEvent`. `total`: None where it is not known."""

    server: str
    tool: str
    progress: float
    total: float | None = None
    message: str = ""


class _Note(msgspec.Struct, omit_defaults=True):
    """What a run records of a server's tools: the server's names where they are others, and why it is down."""

    names: dict[str, str] = {}
    down: str = ""


class MCPServer(Toolset[Any]):
    """An MCP server; subclasses say how it is reached. Give it to `Agent(toolsets=[server])`.

    It is connected at first use, or by `async with server:`, which raises `MCPError` where that fails; and closed at the end of
    that block, by `aclose()`, or with its event loop. It may be used again then. All runs of an event loop share a connection.

    `name` is what saved runs know its tools by. `cache_tools_list`: the tools are listed once a connection, else each turn.
    `tool_filter`: which tools are offered, by the server's names, or as `rule(context, tool)` says turn by turn.
    `require_approval`: which calls wait for a person. `client_session_timeout_seconds`: how long the server may be silent in a
    request (None for as long as it likes), `connect_timeout_seconds`: in all until it is connected. `tool_name_prefix` comes
    before the names of its tools.

    The descriptions of a server are shown to the model as quotations, and its results are untrusted, so that calls which may
    change something wait for a person after one, unless you say that it is `trusted`. Then its hints count too: a read-only
    tool has `effect="none"`, an idempotent one `"idempotent"`, a destructive one waits for a person unless `require_approval`
    says otherwise.

    A modern server's question to a person (elicitation) is an interruption of the run, which `RunState.answer` answers: the
    content of a form, True for an address that was visited, None to decline. A server of the handshake era asks over the open
    connection: `on_elicitation` answers it, within `elicitation_timeout_seconds`. `roots`: the folders that a server is told it
    may work in.

    `sampling_requests`: how often a server may ask the run's model within one call (sampling), `sampling_max_tokens`: what it
    gets at the most each time. The model is shown what the server sends and nothing of the run, which pays within its limits.

    What the server logs, from `log_level` on, goes to the logger `agentsdk.mcp`. Progress is in the stream of a run.

    `use_structured_content`: the model is sent that of a result in place of its text. `include_instructions`: what the server
    says of its use, too. `max_result_chars`: the most of a result's text; None for as much as the run takes.
    """

    @shows_options(MCPServerOptions, DEFAULTS)
    def __init__(self, default_name: str, identity: str, **options: Unpack[MCPServerOptions]) -> None:
        if unknown := sorted(options.keys() - MCPServerOptions.__optional_keys__):
            raise TypeError(f"{type(self).__name__}() got an unexpected keyword argument {unknown[0]!r}")
        OPTIONS.check_given(type(self).__name__, **options)
        self.name = options.get("name") or default_name
        self.client_session_timeout_seconds = options.get("client_session_timeout_seconds", SESSION_SECONDS)
        roots = options.get("roots")
        self._settings = MCPSettings(
            options.get("connect_timeout_seconds", CONNECT_SECONDS),
            options.get("elicitation_timeout_seconds", ELICIT_SECONDS),
            options.get("log_level"),
            options.get("on_elicitation"),
            None if roots is None else tuple(roots),
            options.get("sampling_requests", 0) > 0,
        )
        self._options = options
        self._identity = identity
        self._trusted = options.get("trusted", False)
        self._link = Link(self.name, self._connect, self.client_session_timeout_seconds)

    def _connect(self, events: MCPEvents) -> AbstractAsyncContextManager[MCPConnection]:
        """Opens a connection, in the task that also closes it."""
        raise NotImplementedError

    async def __aenter__(self) -> Self:
        await self.connect()
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        await self.aclose()

    async def connect(self, *, context: RunContextWrapper[Any] | None = None) -> None:
        """Connect now. Raises `MCPError` where the server is down.

        `context`, here and below: whose headers it is asked with, where each run has headers of its own. Without it that
        raises `UserError`.
        """
        await (await self._link_for(context)).open()

    async def aclose(self) -> None:
        """End the connection, from any task: nothing of it is left, at the latest after some seconds."""
        await asyncio.gather(*[link.aclose() for link in self._links()])

    @property
    def health(self) -> MCPHealth:
        """How it stands with the server, for a person to see. Where runs have headers of their own: with the last one's
        connection."""
        return self._link.health

    def invalidate_tools_cache(self) -> None:
        """List the tools anew when they are next asked for."""
        for link in self._links():
            link.forget_listing()

    async def get_tools(self, context: ToolsetContext[Any]) -> Sequence[FunctionTool[Any]]:
        note = _read_note(context.note)
        link = await self._link_for(context)
        listing: Listing | None
        try:
            listing = await link.listed(is_fresh=not self._options.get("cache_tools_list", True))
            note.down = ""
        except MCPError as error:
            note.down = _reason(error)
            listing = link.listing
        if listing is not None:
            tools = self._tools(link, listing, note)
            note.names = {name: original for name, original in link.names.items() if name != original}
            offered = await self._filtered(context, link, tools)
        else:  # this process has never seen its tools
            offered = [self._recorded(context, name, note) for name in context.offered]
        context.note = msgspec.json.encode(note).decode() if note.names or note.down else ""
        return offered

    async def get_instructions(self, context: ToolsetContext[Any]) -> str:
        texts: list[str] = []
        if self._options.get("include_instructions"):
            said = (await self._link_for(context)).info.instructions
            texts += [shown_description(self.name, said, self._trusted)] if said else []
        if down := _read_note(context.note).down:
            texts.append(f"MCP server {self.name!r} is not available now: {down}. Its tools may be missing, and may fail.")
        return "\n\n".join(texts)

    async def find_tool(self, context: ToolsetContext[Any], name: str) -> FunctionTool[Any] | None:
        """The tool as the server has it now: one that has changed since a person approved a call of it is asked about again."""
        note = _read_note(context.note)
        try:
            link = await self._link_for(context)
            tools = self._tools(link, await link.listed(is_fresh=True), note)
        except MCPError:
            return self._recorded(context, name, note) if name in context.offered else None
        return next((tool for tool in await self._filtered(context, link, tools) if tool.name == name), None)

    async def list_tools(self, *, context: RunContextWrapper[Any] | None = None) -> list[FunctionTool[Any]]:
        """The tools that the server has, before any filter. Raises `MCPError`."""
        link = await self._link_for(context)
        return self._tools(link, await link.listed(is_fresh=False), _Note())

    async def list_resources(self, *, context: RunContextWrapper[Any] | None = None) -> tuple[MCPResource, ...]:
        """The server's resources, and its templates of resources. Raises `MCPError`."""
        return await self._asked(context, lambda connection, seconds: connection.list_resources(seconds))

    async def read_resource(self, uri: str, *, context: RunContextWrapper[Any] | None = None) -> tuple[Part, ...]:
        """What a resource holds, as content for a message. Raises `MCPError`."""
        contents = await self._asked(context, lambda connection, seconds: connection.read_resource(uri, seconds))
        return tuple([resource_part(one) for one in contents])

    async def list_prompts(self, *, context: RunContextWrapper[Any] | None = None) -> tuple[MCPPrompt, ...]:
        """The server's prompts. Raises `MCPError`."""
        return await self._asked(context, lambda connection, seconds: connection.list_prompts(seconds))

    async def get_prompt(
        self, name: str, arguments: Mapping[str, str] | None = None, *, context: RunContextWrapper[Any] | None = None
    ) -> list[Message]:
        """The messages of a prompt, as the input of a run: untrusted where the server is not trusted. Raises `MCPError`."""
        given = await self._asked(context, lambda connection, seconds: connection.get_prompt(name, arguments or {}, seconds))
        return [message_of(role, [part_of(block)], untrusted=not self._trusted) for role, block in given]

    async def get_instructions_of(
        self, name: str, arguments: Mapping[str, str] | None = None, *, context: RunContextWrapper[Any] | None = None
    ) -> str:
        """The texts of a prompt, as instructions: for the callable that gives those of an agent. Raises `MCPError`."""
        messages = await self.get_prompt(name, arguments, context=context)
        return "\n\n".join([message.content for message in messages if isinstance(message.content, str)])

    async def _asked(
        self, context: RunContextWrapper[Any] | None, ask: Callable[[MCPConnection, float | None], Awaitable[T]]
    ) -> T:
        link, seconds = await self._link_for(context), self.client_session_timeout_seconds
        return await link.asked(lambda connection: ask(connection, seconds), repeats=True)

    async def _link_for(self, context: RunContextWrapper[Any] | None) -> Link:
        """The way to the server for this run; `context` is None outside of one. Raises `UserError`."""
        return self._link

    def _links(self) -> Sequence[Link]:
        """Every way to the server."""
        return (self._link,)

    def _tools(self, link: Link, listing: Listing, note: _Note) -> list[FunctionTool[Any]]:
        """The tools of a listing, under the names that the model calls them. One whose definition stays is the same object."""
        definitions: dict[str, MCPToolDefinition] = {}
        for definition in listing.tools:
            if definitions.setdefault(definition.name, definition) is not definition:
                link.warn(f"it lists two tools named {definition.name[:100]!r}: the second was left out")
        link.names = tool_names(definitions, self._options.get("tool_name_prefix", ""), link.names | note.names)
        made: dict[str, tuple[MCPToolDefinition, FunctionTool[Any] | None]] = {}
        for name, original in link.names.items():
            definition, known = definitions[original], link.made.get(name)
            if known is not None and known[0] == definition:
                made[name] = known
                continue
            options = effect_options(definition, self._trusted) | self._approval(original)
            tool = None
            try:
                tool = mcp_tool(name, definition, self.name, self._identity, self._call, options, self._trusted)
            except ValueError as error:
                link.warn(f"tool {original[:100]!r} was left out: {error}")
            made[name] = (definition, tool)
        link.made = made
        return [tool for _, tool in made.values() if tool is not None]

    def _recorded(self, context: ToolsetContext[Any], name: str, note: _Note) -> FunctionTool[Any]:
        original = note.names.get(name) or name.removeprefix(self._options.get("tool_name_prefix", ""))
        options: dict[str, object] = {"untrusted": not self._trusted, **self._approval(original)}
        spec = context.offered[name]
        if "needs_approval" not in options and spec.needs_approval:
            options["needs_approval"] = True
        return recorded_mcp_tool(spec, original, self._identity, self._call, options)

    def _approval(self, original: str) -> dict[str, object]:
        rule: object = self._options.get("require_approval")
        if isinstance(rule, Mapping):
            rule = cast("Mapping[str, Asked]", rule).get(original)
        if rule is None:
            return {}
        if rule in (False, "never"):  # whatever the model has read: somebody has said so
            return {"needs_approval": False, "allowed_after_untrusted": True}
        return {"needs_approval": rule if callable(rule) else True}

    async def _filtered(
        self, context: ToolsetContext[Any], link: Link, tools: list[FunctionTool[Any]]
    ) -> Sequence[FunctionTool[Any]]:
        rule = self._options.get("tool_filter")
        if rule is None:
            return tools
        if callable(rule):
            return await _Given(self.name, tools).filtered(rule).get_tools(context)
        allowed, blocked = rule.get("allowed_tool_names"), rule.get("blocked_tool_names", ())
        return [
            tool
            for tool in tools
            if (original := link.names[tool.name]) not in blocked and (allowed is None or original in allowed)
        ]

    async def _call(self, definition: MCPToolDefinition, ctx: ToolContext[Any], arguments: JsonObject) -> object:
        """The body of every tool. Raises `MCPError`, which the model is told of, and what says that a person is to be asked."""
        given = None if ctx.answer is None else given_input(ctx.answer)
        most = self._options.get("sampling_requests", 0)
        sampler = Sampler(ctx, most, self._options.get("sampling_max_tokens", SAMPLING_TOKENS)) if most else None
        for _ in range(MAX_ROUNDS):
            result = await self._sent(definition, ctx, arguments, given, sampler)
            if not isinstance(result, MCPInputRequired):
                preferred, limit = self._options.get("use_structured_content", False), self._options.get("max_result_chars")
                return output_of(self.name, definition.name, result, definition.output_schema, preferred, limit)
            if result.unknown or (result.samplings and sampler is None):
                raise MCPCallError(f"MCP server {self.name!r} wants for its tool what it is not given here", server=self.name)
            if rounds_of(ctx.answer) >= MAX_ROUNDS:
                break
            samples = {} if sampler is None else await self._samples(result, sampler)
            if result.elicitations:
                raise needed_answer(self.name, result, ctx.answer, samples)
            answers: dict[str, tuple[object, bool]] = dict.fromkeys(result.wants_roots, (ROOTS, False))
            given = MCPInput(result.state, answers | {key: (sample, False) for key, sample in samples.items()})
        raise MCPCallError(f"MCP server {self.name!r} does not come to an end of its questions", server=self.name)

    async def _samples(self, required: MCPInputRequired, sampler: Sampler) -> dict[str, MCPSample]:
        try:
            return {key: await sampler(asked) for key, asked in required.samplings.items()}
        except SamplingRefusedError as error:
            raise MCPCallError(
                f"MCP server {self.name!r} asked for the model for its tool, and was refused: {error}", server=self.name
            ) from None

    async def _sent(
        self,
        definition: MCPToolDefinition,
        ctx: ToolContext[Any],
        arguments: JsonObject,
        given: MCPInput | None,
        sampler: Sampler | None,
    ) -> MCPToolResult | MCPInputRequired:
        def told(progress: float, total: float | None, message: str | None) -> None:
            ctx.emit(MCPProgress(self.name, definition.name, progress, total, clean_text(message or "")[:MAX_MESSAGE]))

        async def ask(connection: MCPConnection) -> MCPToolResult | MCPInputRequired:
            seconds = self.client_session_timeout_seconds
            return await connection.call_tool(definition.name, arguments, seconds, told, given, sampler)

        link = await self._link_for(ctx)
        try:
            return await link.asked(ask, repeats="effect" in effect_options(definition, self._trusted))
        except (MCPConnectionError, MCPTimeoutError) as error:
            if isinstance(error, MCPConnectionError) and not error.sent:
                raise
            doubtful = raised_anew(error)
            doubtful.args = (f"{error}. Whether the call was carried out is not known: look before you make it again",)
            raise doubtful from None


class _Given(Toolset[Any]):
    def __init__(self, name: str, tools: Sequence[FunctionTool[Any]]) -> None:
        self.name = name
        self._tools = tools

    async def get_tools(self, context: ToolsetContext[Any]) -> Sequence[FunctionTool[Any]]:
        return self._tools


def _read_note(text: str) -> _Note:
    try:
        return msgspec.json.decode(text, type=_Note) if text else _Note()
    except msgspec.MsgspecError:
        return _Note()


def _reason(error: MCPError) -> str:
    """Why a server is down, in words of ours: what it says itself is not for the model."""
    if isinstance(error, MCPTimeoutError):
        return "it does not answer"
    if isinstance(error, MCPStatusError):
        return f"it answers with HTTP {error.status}"
    return "it cannot be reached" if isinstance(error, MCPConnectionError) else "it does not keep to the protocol"
