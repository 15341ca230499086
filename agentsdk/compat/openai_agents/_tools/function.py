"""Functions as tools: what every tool with a Python body has."""

from __future__ import annotations

import dataclasses
import json
import math
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from enum import Enum
from typing import TYPE_CHECKING, Any, Concatenate, Literal, ParamSpec, TypeAlias, TypeVar, cast

from agentsdk.compat.openai_agents._changes import Noticed
from agentsdk.compat.openai_agents.exceptions import ModelBehaviorError, UserError
from agentsdk.compat.openai_agents.run_context import RunContextWrapper
from agentsdk.compat.openai_agents.strict_schema import ensure_strict_json_schema
from agentsdk.compat.openai_agents.tool_context import ToolContext
from agentsdk.compat.openai_agents.tool_guardrails import ToolInputGuardrail, ToolOutputGuardrail

if TYPE_CHECKING:
    from agentsdk.compat.openai_agents.agent import AgentBase
    from agentsdk.compat.openai_agents.items import RunItem, ToolApprovalItem

T = TypeVar("T")


ToolParams = ParamSpec("ToolParams")


MaybeAwaitable: TypeAlias = Awaitable[T] | T


ToolCaller = Literal["direct", "programmatic"]


ToolTimeoutBehavior = Literal["error_as_result", "raise_exception"]


ToolErrorFunction = Callable[[RunContextWrapper[Any], Exception], MaybeAwaitable[str]]


ToolFunctionWithoutContext = Callable[ToolParams, Any]


ToolFunctionWithContext = Callable[Concatenate[RunContextWrapper[Any], ToolParams], Any]


ToolFunctionWithToolContext = Callable[Concatenate[ToolContext[Any], ToolParams], Any]


ToolFunction = (
    ToolFunctionWithoutContext[ToolParams] | ToolFunctionWithContext[ToolParams] | ToolFunctionWithToolContext[ToolParams]
)


@dataclass(frozen=True)
class FunctionToolCustomDataContext:
    """What a `custom_data_extractor` of a function tool is given."""

    tool_context: ToolContext[Any]
    tool: FunctionTool
    output: Any
    raw_item: Any


FunctionToolCustomDataExtractor = Callable[[FunctionToolCustomDataContext], "MaybeAwaitable[dict[str, Any] | None]"]


class ToolOriginType(str, Enum):  # noqa: UP042 - theirs
    """Where a tool comes from."""

    FUNCTION = "function"
    MCP = "mcp"
    AGENT_AS_TOOL = "agent_as_tool"


@dataclass(frozen=True)
class ToolOrigin:
    """Where a tool comes from, and of which server or agent."""

    type: ToolOriginType
    mcp_server_name: str | None = None
    agent_name: str | None = None
    agent_tool_name: str | None = None

    def to_json_dict(self) -> dict[str, str]:
        """What is set, as a dict."""
        rest = {name: getattr(self, name) for name in ("mcp_server_name", "agent_name", "agent_tool_name")}
        return {"type": self.type.value, **{name: value for name, value in rest.items() if value is not None}}


@dataclass
class FunctionToolResult:
    """One finished call, as a `tool_use_behavior` callable sees it."""

    tool: FunctionTool
    output: Any
    run_item: RunItem | None
    interruptions: list[ToolApprovalItem] = field(default_factory=list["ToolApprovalItem"])
    agent_run_result: Any = None


@dataclass
class FunctionTool(Noticed):
    """A tool with a Python body. `on_invoke_tool` is called with the context and the arguments as JSON text."""

    name: str
    description: str
    params_json_schema: dict[str, Any]
    on_invoke_tool: Callable[[ToolContext[Any], str], Awaitable[Any]]
    strict_json_schema: bool = True
    is_enabled: bool | Callable[[RunContextWrapper[Any], AgentBase[Any]], MaybeAwaitable[bool]] = True
    tool_input_guardrails: list[ToolInputGuardrail[Any]] | None = None
    tool_output_guardrails: list[ToolOutputGuardrail[Any]] | None = None
    needs_approval: bool | Callable[[RunContextWrapper[Any], dict[str, Any], str], Awaitable[bool]] = False
    timeout_seconds: float | None = None
    timeout_behavior: ToolTimeoutBehavior = "error_as_result"
    timeout_error_function: ToolErrorFunction | None = None
    defer_loading: bool = False
    custom_data_extractor: FunctionToolCustomDataExtractor | None = field(default=None, kw_only=True)
    allowed_callers: list[ToolCaller] | None = field(default=None, kw_only=True)
    output_json_schema: dict[str, Any] | None = field(default=None, kw_only=True)
    namespace: str | None = field(default=None, kw_only=True, repr=False)
    namespace_description: str | None = field(default=None, kw_only=True, repr=False)
    origin: ToolOrigin = field(default=ToolOrigin(ToolOriginType.FUNCTION), kw_only=True, repr=False)
    agent_tool: Any = field(default=None, kw_only=True, repr=False)
    failure_error_function: ToolErrorFunction | None = field(default=None, kw_only=True, repr=False)

    def __post_init__(self) -> None:
        if self.strict_json_schema:
            self.params_json_schema = ensure_strict_json_schema(self.params_json_schema)
        check_timeout(self.name, self.timeout_seconds, self.timeout_behavior, self.timeout_error_function)

    @property
    def qualified_name(self) -> str:
        """The tool's name, after that of its namespace."""
        return f"{self.namespace}.{self.name}" if self.namespace else self.name


def check_timeout(name: str, timeout: Any, behavior: Any, formatter: Any) -> None:
    """Raises for a timeout that is none."""
    if timeout is not None:
        if isinstance(timeout, bool) or not isinstance(timeout, int | float):
            raise TypeError(f"timeout_seconds of tool {name!r} is {timeout!r}, expected seconds")
        if not math.isfinite(timeout) or timeout <= 0:
            raise ValueError(f"timeout_seconds of tool {name!r} is {timeout!r}, expected finite seconds above 0")
    if behavior not in ("error_as_result", "raise_exception"):
        raise ValueError(f"timeout_behavior of tool {name!r} is {behavior!r}, expected 'error_as_result' or 'raise_exception'")
    if formatter is not None and not callable(formatter):
        raise TypeError(f"timeout_error_function of tool {name!r} is {formatter!r}, expected a function")


def default_tool_error_function(ctx: RunContextWrapper[Any], error: Exception) -> str:
    """What the model is told of a tool that raised: its message, never a traceback."""
    cause = error.__cause__
    if isinstance(error, ModelBehaviorError) and isinstance(cause, json.JSONDecodeError):
        return f"The arguments of the call are no valid JSON, so it was not run; send valid JSON. Error: {error}"
    return f"The tool failed; change the arguments, or go on without it. Error: {error}"


def parse_arguments(name: str, text: str) -> dict[str, Any]:
    """The arguments of a call. Raises `ModelBehaviorError` for what is no JSON object."""
    try:
        data: Any = json.loads(text) if text else {}
    except ValueError as error:
        raise ModelBehaviorError(f"Invalid JSON input for tool {name}: {text}") from error
    if not isinstance(data, dict):
        raise ModelBehaviorError(f"Invalid JSON input for tool {name}: expected an object")
    return cast("dict[str, Any]", data)


def tool_namespace(*, name: str, description: str | None, tools: list[FunctionTool]) -> list[FunctionTool]:
    """Copies of `tools` in a namespace."""

    if not name.strip():
        raise UserError("a namespace has a blank name, expected one; name it")
    return [dataclasses.replace(tool, namespace=name.strip(), namespace_description=description) for tool in tools]
