"""MCP servers. The connections are agentsdk's; a server of the program's own subclasses `MCPServer`."""

from __future__ import annotations

import abc
from collections.abc import Callable, Mapping
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any, NotRequired, Self, cast

from typing_extensions import TypedDict

from agentsdk.compat.openai_agents._absent import names_absent_in
from agentsdk.compat.openai_agents._answers import is_yes
from agentsdk.compat.openai_agents.exceptions import UserError
from agentsdk.compat.openai_agents.mcp.util import ToolFilter, ToolFilterContext
from agentsdk.compat.openai_agents.run_context import RunContextWrapper
from agentsdk.define.context import ToolContext as OwnContext
from agentsdk.define.tool import FunctionTool as OwnTool
from agentsdk.mcp.server import MCPServer as OwnServer
from agentsdk.mcp.stdio import MCPServerStdio as OwnStdio
from agentsdk.mcp.streamable_http import MCPServerStreamableHttp as OwnHttp
from agentsdk.types.errors import AgentsException as OwnError
from agentsdk.types.items import InputImage, InputText

if TYPE_CHECKING:
    from agentsdk.compat.openai_agents.agent import AgentBase

_UNSET: Any = object()
LocalMCPApprovalCallable = Callable[[RunContextWrapper[Any], Any, Any], Any]
"""Called with the context, the agent and the tool: whether a call waits for a person."""


class MCPServer(abc.ABC):
    """A server of tools: an async context manager, or connected and cleaned up by hand."""

    def __init__(
        self,
        use_structured_content: bool = False,
        require_approval: Any = None,
        failure_error_function: Any = _UNSET,
        tool_meta_resolver: Any = None,
        custom_data_extractor: Any = None,
        *,
        tool_input_guardrails: list[Any] | None = None,
        tool_output_guardrails: list[Any] | None = None,
    ) -> None:
        self.use_structured_content = use_structured_content
        self.require_approval = require_approval
        self.failure_error_function = failure_error_function
        self.tool_meta_resolver = tool_meta_resolver
        self.custom_data_extractor = custom_data_extractor
        self.tool_input_guardrails = tool_input_guardrails
        self.tool_output_guardrails = tool_output_guardrails

    @property
    def has_failure_function(self) -> bool:
        """Whether the server says itself what the model is told of a failed call."""
        return self.failure_error_function is not _UNSET

    @abc.abstractmethod
    async def connect(self) -> None:
        """Connect."""

    @property
    @abc.abstractmethod
    def name(self) -> str:
        """Its name."""

    @abc.abstractmethod
    async def cleanup(self) -> None:
        """Close the connection."""

    @abc.abstractmethod
    async def list_tools(
        self, run_context: RunContextWrapper[Any] | None = None, agent: AgentBase[Any] | None = None
    ) -> list[Any]:
        """Its tools."""

    @abc.abstractmethod
    async def call_tool(self, tool_name: str, arguments: dict[str, Any] | None, meta: dict[str, Any] | None = None) -> Any:
        """Call a tool."""

    @abc.abstractmethod
    async def list_prompts(self, cursor: str | None = None) -> Any:
        """Its prompts."""

    @abc.abstractmethod
    async def get_prompt(self, name: str, arguments: dict[str, Any] | None = None) -> Any:
        """A prompt."""

    def approval_of(self, tool_name: str, agent: Any) -> Any:
        """Whether calls of a tool wait for a person."""
        rule: Any = getattr(self, "require_approval", None)
        if rule is None or isinstance(rule, bool):
            return bool(rule)
        if isinstance(rule, str):
            return rule == "always"
        if callable(rule):
            ask: Callable[..., Any] = rule

            async def asks(context: RunContextWrapper[Any], arguments: dict[str, Any], call_id: str) -> bool:
                return await is_yes(ask(context, agent, SimpleNamespace(name=tool_name)))

            return asks
        if isinstance(rule, Mapping):
            given = cast("Mapping[str, Any]", rule)
            if "always" in given or "never" in given:
                asked: dict[str, list[str]] = given.get("always") or {}
                return tool_name in asked.get("tool_names", [])
            return given.get(tool_name) in (True, "always")
        return False


class _Native(MCPServer):
    """A server that agentsdk connects."""

    def __init__(
        self,
        own: OwnServer,
        cache_tools_list: bool,
        tool_filter: ToolFilter,
        use_structured_content: bool,
        require_approval: Any,
        failure_error_function: Any,
        **more: Any,
    ) -> None:
        super().__init__(use_structured_content, require_approval, failure_error_function, **more)
        self._own = own
        self.cache_tools_list = cache_tools_list
        self.tool_filter = tool_filter
        self._tools: dict[str, OwnTool[Any]] = {}

    @property
    def name(self) -> str:
        """Its name."""
        return self._own.name

    async def connect(self) -> None:
        """Connect. Raises `UserError` where that fails."""
        try:
            await self._own.connect()
        except OwnError as error:
            raise UserError(str(error)) from error

    async def cleanup(self) -> None:
        """Close the connection."""
        await self._own.aclose()

    async def __aenter__(self) -> Self:
        await self.connect()
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.cleanup()

    def invalidate_tools_cache(self) -> None:
        """List the tools anew next time."""
        self._own.invalidate_tools_cache()

    @property
    def cached_tools(self) -> list[Any] | None:
        """The tools that were listed last."""
        return [_shown(tool) for tool in self._tools.values()] if self._tools else None

    async def list_tools(
        self, run_context: RunContextWrapper[Any] | None = None, agent: AgentBase[Any] | None = None
    ) -> list[Any]:
        """Its tools, those that the filter lets pass."""
        if not self.cache_tools_list:
            self._own.invalidate_tools_cache()
        try:
            found = await self._own.list_tools()
        except OwnError as error:
            raise UserError(str(error)) from error
        self._tools = {tool.name: tool for tool in found}
        shown = [_shown(tool) for tool in found]
        return [tool for tool in shown if await self._passes(tool, run_context, agent)]

    async def _passes(self, tool: Any, context: Any, agent: Any) -> bool:
        given = self.tool_filter
        if given is None:
            return True
        if callable(given):
            if context is None or agent is None:
                raise UserError("run_context and agent are required for a dynamic tool filter; pass both to list_tools")
            return await is_yes(given(ToolFilterContext(context, agent, self.name), tool))
        allowed, blocked = given.get("allowed_tool_names"), given.get("blocked_tool_names") or ()
        return (allowed is None or tool.name in allowed) and tool.name not in blocked

    async def call_tool(self, tool_name: str, arguments: dict[str, Any] | None, meta: dict[str, Any] | None = None) -> Any:
        """Call a tool."""
        if tool_name not in self._tools:
            await self.list_tools()
        tool = self._tools.get(tool_name)
        if tool is None:
            raise UserError(f"MCP server {self.name!r} has no tool {tool_name!r}")
        output: Any = await tool.invoke(OwnContext[Any](None, tool_name=tool_name), arguments or {})
        parts: list[Any] = list(cast("tuple[Any]", output)) if isinstance(output, tuple | list) else [InputText(str(output))]
        return SimpleNamespace(content=[_content(part) for part in parts], isError=False, structuredContent=None)

    async def list_prompts(self, cursor: str | None = None) -> Any:
        """Its prompts."""
        return SimpleNamespace(prompts=list(await self._own.list_prompts()))

    async def get_prompt(self, name: str, arguments: dict[str, Any] | None = None) -> Any:
        """A prompt."""
        messages = await self._own.get_prompt(name, {key: str(value) for key, value in (arguments or {}).items()})
        told = [SimpleNamespace(role=one.role, content=SimpleNamespace(type="text", text=one.text)) for one in messages]
        return SimpleNamespace(messages=told, description=None)

    async def list_resources(self, cursor: str | None = None) -> Any:
        """What it has to read."""
        return SimpleNamespace(resources=[one for one in await self._own.list_resources() if not one.is_template])

    async def list_resource_templates(self, cursor: str | None = None) -> Any:
        """The patterns of what it has to read."""
        return SimpleNamespace(resourceTemplates=[one for one in await self._own.list_resources() if one.is_template])

    async def read_resource(self, uri: str) -> Any:
        """What is at an address of its."""
        return SimpleNamespace(contents=[_content(part) for part in await self._own.read_resource(uri)])


def _shown(tool: OwnTool[Any]) -> Any:
    description = tool.description
    return SimpleNamespace(name=tool.name, description=description, inputSchema=dict(tool.params_json_schema), title=None)


class _Content(SimpleNamespace):
    """A block of a result."""

    def model_dump(self, **_: Any) -> dict[str, Any]:
        """The block as a dict."""
        return dict(vars(self))


def _content(part: Any) -> Any:
    if isinstance(part, InputImage) and part.image_url.startswith("data:"):
        head, _, data = part.image_url.partition(";base64,")
        return _Content(type="image", data=data, mimeType=head.removeprefix("data:"))
    return _Content(type="text", text=getattr(part, "text", None) or str(part))


def _options(cache_tools_list: bool, name: str | None, seconds: float | None) -> dict[str, Any]:
    options: dict[str, Any] = {"cache_tools_list": cache_tools_list, "trusted": True}
    if name is not None:
        options["name"] = name
    options["client_session_timeout_seconds"] = seconds or None
    return options


class MCPServerStdioParams(TypedDict):
    """How a server is started."""

    command: str
    args: NotRequired[list[str]]
    env: NotRequired[dict[str, str]]
    cwd: NotRequired[Any]
    encoding: NotRequired[str]
    encoding_error_handler: NotRequired[str]


class MCPServerStdio(_Native):
    """A server that is started as a process."""

    def __init__(
        self,
        params: MCPServerStdioParams,
        cache_tools_list: bool = False,
        name: str | None = None,
        client_session_timeout_seconds: float | None = 5,
        tool_filter: ToolFilter = None,
        use_structured_content: bool = False,
        max_retry_attempts: int = 0,
        retry_backoff_seconds_base: float = 1.0,
        message_handler: Any = None,
        require_approval: Any = None,
        failure_error_function: Any = _UNSET,
        tool_meta_resolver: Any = None,
        custom_data_extractor: Any = None,
        retry_backoff_seconds_max: float | None = None,
        *,
        tool_input_guardrails: list[Any] | None = None,
        tool_output_guardrails: list[Any] | None = None,
        max_list_pages: int | None = None,
    ) -> None:
        given: Any = {name: value for name, value in params.items() if name in ("command", "args", "env", "cwd")}
        self.params = params
        super().__init__(
            OwnStdio(given, **_options(cache_tools_list, name, client_session_timeout_seconds)),
            cache_tools_list,
            tool_filter,
            use_structured_content,
            require_approval,
            failure_error_function,
            tool_input_guardrails=tool_input_guardrails,
            tool_output_guardrails=tool_output_guardrails,
        )


class MCPServerStreamableHttpParams(TypedDict):
    """Where a server is."""

    url: str
    headers: NotRequired[dict[str, str]]
    timeout: NotRequired[Any]
    sse_read_timeout: NotRequired[Any]
    terminate_on_close: NotRequired[bool]
    httpx_client_factory: NotRequired[Any]
    auth: NotRequired[Any]


class MCPServerStreamableHttp(_Native):
    """A server at an address."""

    def __init__(
        self,
        params: MCPServerStreamableHttpParams,
        cache_tools_list: bool = False,
        name: str | None = None,
        client_session_timeout_seconds: float | None = 5,
        tool_filter: ToolFilter = None,
        use_structured_content: bool = False,
        max_retry_attempts: int = 0,
        retry_backoff_seconds_base: float = 1.0,
        message_handler: Any = None,
        require_approval: Any = None,
        failure_error_function: Any = _UNSET,
        tool_meta_resolver: Any = None,
        custom_data_extractor: Any = None,
        retry_backoff_seconds_max: float | None = None,
        *,
        tool_input_guardrails: list[Any] | None = None,
        tool_output_guardrails: list[Any] | None = None,
        max_list_pages: int | None = None,
    ) -> None:
        given: Any = {key: value for key, value in params.items() if key in ("url", "headers", "auth") and value}
        self.params = params
        super().__init__(
            OwnHttp(given, **_options(cache_tools_list, name, client_session_timeout_seconds)),
            cache_tools_list,
            tool_filter,
            use_structured_content,
            require_approval,
            failure_error_function,
            tool_input_guardrails=tool_input_guardrails,
            tool_output_guardrails=tool_output_guardrails,
        )


class MCPServerSseParams(TypedDict):
    """Where a server of the older transport is."""

    url: str
    headers: NotRequired[dict[str, str]]
    timeout: NotRequired[float]
    sse_read_timeout: NotRequired[float]
    auth: NotRequired[Any]
    httpx_client_factory: NotRequired[Any]


class MCPServerSse(_Native):
    """Absent: the protocol has given up the SSE transport, and agentsdk has never had it."""

    def __init__(self, params: MCPServerSseParams, *_: Any, **__: Any) -> None:  # pyright: ignore[reportMissingSuperCall]
        raise UserError(
            f"MCPServerSse({params['url']!r}) needs the SSE transport, which the protocol has deprecated and agentsdk has not; "
            "use MCPServerStreamableHttp with the server's other address"
        )


if not TYPE_CHECKING:
    __getattr__ = names_absent_in(__name__)
