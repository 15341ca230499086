"""Tools of MCP servers as tools of an agent."""

from __future__ import annotations

import copy
import inspect
import json
import re
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NotRequired

from typing_extensions import TypedDict

from agentsdk.compat.openai_agents.exceptions import UserError
from agentsdk.compat.openai_agents.run_context import RunContextWrapper
from agentsdk.compat.openai_agents.strict_schema import ensure_strict_json_schema
from agentsdk.compat.openai_agents.tool import (
    FunctionTool,
    Tool,
    ToolErrorFunction,
    ToolOrigin,
    ToolOriginType,
    default_tool_error_function,
    parse_arguments,
)
from agentsdk.compat.openai_agents.tool_context import ToolContext

if TYPE_CHECKING:
    from agentsdk.compat.openai_agents.agent import AgentBase
    from agentsdk.compat.openai_agents.mcp.server import MCPServer


@dataclass
class ToolFilterContext:
    """What a filter of tools is given."""

    run_context: RunContextWrapper[Any]
    agent: AgentBase[Any]
    server_name: str


@dataclass
class MCPToolMetaContext:
    """What a `tool_meta_resolver` is given."""

    run_context: RunContextWrapper[Any]
    server_name: str
    tool_name: str
    arguments: dict[str, Any] | None


@dataclass(frozen=True)
class MCPToolCustomDataContext:
    """What a `custom_data_extractor` of a server is given."""

    run_context: RunContextWrapper[Any]
    server: Any
    tool: Any
    server_name: str
    tool_name: str
    arguments: dict[str, Any] | None
    result: Any


MCPToolMetaResolver = Callable[["MCPToolMetaContext"], "dict[str, Any] | Awaitable[dict[str, Any] | None] | None"]
MCPToolCustomDataExtractor = Callable[["MCPToolCustomDataContext"], "dict[str, Any] | Awaitable[dict[str, Any] | None] | None"]


class ToolFilterStatic(TypedDict):
    """A filter by names."""

    allowed_tool_names: NotRequired[list[str]]
    blocked_tool_names: NotRequired[list[str]]


ToolFilterCallable = Callable[["ToolFilterContext", Any], "bool | Awaitable[bool]"]
ToolFilter = ToolFilterCallable | ToolFilterStatic | None


def create_static_tool_filter(
    allowed_tool_names: list[str] | None = None, blocked_tool_names: list[str] | None = None
) -> ToolFilterStatic | None:
    """A filter by names; None where neither is given."""
    made: ToolFilterStatic = {}
    if allowed_tool_names is not None:
        made["allowed_tool_names"] = allowed_tool_names
    if blocked_tool_names is not None:
        made["blocked_tool_names"] = blocked_tool_names
    return made or None


_DEFAULT: Any = object()


class MCPUtil:
    """What is done with MCP servers."""

    @classmethod
    async def get_all_function_tools(
        cls,
        servers: list[MCPServer],
        convert_schemas_to_strict: bool,
        run_context: RunContextWrapper[Any],
        agent: AgentBase[Any],
        failure_error_function: ToolErrorFunction | None = _DEFAULT,
        include_server_in_tool_names: bool = False,
        **_: Any,
    ) -> list[Tool]:
        """The tools of several servers. Raises `UserError` for two of one name."""
        found: list[Tool] = []
        names: set[str] = set()
        for server in servers:
            prefix = cls._part(server.name) + "__" if include_server_in_tool_names else ""
            for tool in await cls.get_function_tools(
                server, convert_schemas_to_strict, run_context, agent, failure_error_function, prefix
            ):
                if tool.name in names:
                    raise UserError(
                        f"Duplicate tool names found across MCP servers: {tool.name!r}; use include_server_in_tool_names"
                    )
                names.add(tool.name)
                found.append(tool)
        return found

    @staticmethod
    def _part(name: str) -> str:
        return re.sub(r"[^a-zA-Z0-9_-]+", "_", name).strip("_") or "server"

    @classmethod
    async def get_function_tools(
        cls,
        server: MCPServer,
        convert_schemas_to_strict: bool,
        run_context: RunContextWrapper[Any],
        agent: AgentBase[Any],
        failure_error_function: ToolErrorFunction | None = _DEFAULT,
        prefix: str = "",
    ) -> list[Tool]:
        """The tools of one server."""
        tools = await server.list_tools(run_context, agent)
        return [
            cls.to_function_tool(
                tool,
                server,
                convert_schemas_to_strict,
                agent=agent,
                failure_error_function=failure_error_function,
                tool_name_override=f"{prefix}{tool.name}" if prefix else None,
            )
            for tool in tools
        ]

    @classmethod
    def to_function_tool(
        cls,
        tool: Any,
        server: MCPServer,
        convert_schemas_to_strict: bool,
        agent: AgentBase[Any] | None = None,
        failure_error_function: ToolErrorFunction | None = _DEFAULT,
        tool_name_override: str | None = None,
        **_: Any,
    ) -> FunctionTool:
        """A tool of a server."""
        declared: dict[str, Any] = getattr(tool, "inputSchema", None) or getattr(tool, "input_schema", None) or {}
        schema = copy.deepcopy(declared)
        schema.setdefault("properties", {})
        strict = False
        if convert_schemas_to_strict:
            try:
                schema, strict = ensure_strict_json_schema(copy.deepcopy(schema)), True
            except Exception:
                strict = False
        describe = server.failure_error_function if server.has_failure_function else failure_error_function
        describe = default_tool_error_function if describe is _DEFAULT else describe

        async def on_invoke_tool(ctx: ToolContext[Any], input_json: str) -> Any:
            try:
                return await cls.invoke_mcp_tool(server, tool, ctx, input_json)
            except Exception as error:
                if describe is None:
                    raise
                text = describe(ctx, error)
                return await text if inspect.isawaitable(text) else text

        return FunctionTool(
            name=tool_name_override or tool.name,
            description=tool.description or "",
            params_json_schema=schema,
            on_invoke_tool=on_invoke_tool,
            strict_json_schema=strict,
            needs_approval=server.approval_of(tool.name, agent),
            tool_input_guardrails=server.tool_input_guardrails,
            tool_output_guardrails=server.tool_output_guardrails,
            origin=ToolOrigin(ToolOriginType.MCP, mcp_server_name=server.name),
            failure_error_function=describe,
        )

    @classmethod
    async def invoke_mcp_tool(
        cls, server: MCPServer, tool: Any, context: RunContextWrapper[Any], input_json: str, *, meta: Any = None
    ) -> Any:
        """Call a tool: what it gave, as text or parts."""
        result = await server.call_tool(tool.name, parse_arguments(tool.name, input_json))
        structured = getattr(result, "structuredContent", None)
        if server.use_structured_content and structured:
            return json.dumps(structured)
        parts = [_part(one) for one in result.content]
        if len(parts) == 1:
            return parts[0]
        return parts if parts else ([] if not structured else json.dumps(structured))


def _part(content: Any) -> Any:
    if content.type == "text":
        return {"type": "text", "text": content.text}
    if content.type == "image":
        mime = getattr(content, "mimeType", None) or getattr(content, "mime_type", None)
        return {"type": "image", "image_url": f"data:{mime};base64,{content.data}"}
    return {"type": "text", "text": json.dumps(content.model_dump(mode="json"))}
