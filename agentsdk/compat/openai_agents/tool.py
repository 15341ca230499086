"""Tools: functions, agents as tools, those that providers run, and shells, editors and computers."""

from __future__ import annotations

import asyncio
import functools
import inspect
import json
import math
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from enum import Enum
from typing import (
    TYPE_CHECKING,
    Any,
    Concatenate,
    Generic,
    Literal,
    NotRequired,
    ParamSpec,
    Protocol,
    TypeAlias,
    TypeVar,
    cast,
    overload,
)

from pydantic import BaseModel, TypeAdapter, ValidationError, model_validator
from typing_extensions import TypedDict

from agentsdk.compat.openai_agents._absent import names_absent_in
from agentsdk.compat.openai_agents.computer import AsyncComputer, Computer
from agentsdk.compat.openai_agents.exceptions import ModelBehaviorError, UserError
from agentsdk.compat.openai_agents.function_schema import DocstringStyle, function_schema
from agentsdk.compat.openai_agents.run_context import RunContextWrapper
from agentsdk.compat.openai_agents.strict_schema import ensure_strict_json_schema
from agentsdk.compat.openai_agents.tool_context import ToolContext
from agentsdk.compat.openai_agents.tool_guardrails import ToolInputGuardrail, ToolOutputGuardrail

if TYPE_CHECKING:
    from agentsdk.compat.openai_agents.agent import AgentBase
    from agentsdk.compat.openai_agents.editor import ApplyPatchEditor, ApplyPatchOperation
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
CustomToolExecutor = Callable[[ToolContext[Any], str], MaybeAwaitable[Any]]
CustomToolApprovalFunction = Callable[[RunContextWrapper[Any], str, str], MaybeAwaitable[bool]]


@dataclass(frozen=True)
class FunctionToolCustomDataContext:
    """What a `custom_data_extractor` of a function tool is given."""

    tool_context: ToolContext[Any]
    tool: FunctionTool
    output: Any
    raw_item: Any


@dataclass(frozen=True)
class CustomToolCustomDataContext:
    """What a `custom_data_extractor` of a custom tool is given."""

    tool_context: ToolContext[Any]
    tool: CustomTool
    input: str
    output: str
    raw_item: Any


@dataclass(frozen=True)
class ComputerToolCustomDataContext:
    """What a `custom_data_extractor` of a computer tool is given."""

    run_context: RunContextWrapper[Any]
    tool: ComputerTool[Any]
    tool_call: Any
    output: str
    raw_item: Any


@dataclass(frozen=True)
class ApplyPatchToolCustomDataContext:
    """What a `custom_data_extractor` of an editor is given."""

    run_context: RunContextWrapper[Any]
    tool: ApplyPatchTool
    operations: list[ApplyPatchOperation]
    output: str
    status: Literal["completed", "failed"]
    raw_item: Any


FunctionToolCustomDataExtractor = Callable[[FunctionToolCustomDataContext], "MaybeAwaitable[dict[str, Any] | None]"]
CustomToolCustomDataExtractor = Callable[[CustomToolCustomDataContext], "MaybeAwaitable[dict[str, Any] | None]"]
ComputerToolCustomDataExtractor = Callable[[ComputerToolCustomDataContext], "MaybeAwaitable[dict[str, Any] | None]"]
ApplyPatchToolCustomDataExtractor = Callable[[ApplyPatchToolCustomDataContext], "MaybeAwaitable[dict[str, Any] | None]"]


class ToolOutputText(BaseModel):
    """Text that a tool returns."""

    type: Literal["text"] = "text"
    text: str


class ToolOutputTextDict(TypedDict, total=False):
    """The same as a dict."""

    type: Literal["text"]
    text: str


class ToolOutputImage(BaseModel):
    """An image that a tool returns: by an address, a `data:` URL or the provider's id."""

    type: Literal["image"] = "image"
    image_url: str | None = None
    file_id: str | None = None
    detail: Literal["low", "high", "auto"] | None = None

    @model_validator(mode="after")
    def check_at_least_one_required_field(self) -> ToolOutputImage:
        """Raises `ValueError` for an image that is nowhere."""
        if self.image_url is None and self.file_id is None:
            raise ValueError("ToolOutputImage has neither, expected image_url or file_id")
        return self


class ToolOutputImageDict(TypedDict, total=False):
    """The same as a dict."""

    type: Literal["image"]
    image_url: NotRequired[str]
    file_id: NotRequired[str]
    detail: NotRequired[Literal["low", "high", "auto"]]


class ToolOutputFileContent(BaseModel):
    """A file that a tool returns: its base64 data, an address or the provider's id."""

    type: Literal["file"] = "file"
    file_data: str | None = None
    file_url: str | None = None
    file_id: str | None = None
    filename: str | None = None

    @model_validator(mode="after")
    def check_at_least_one_required_field(self) -> ToolOutputFileContent:
        """Raises `ValueError` for a file that is nowhere."""
        if self.file_data is None and self.file_url is None and self.file_id is None:
            raise ValueError("ToolOutputFileContent has none of them, expected file_data, file_url or file_id")
        return self


class ToolOutputFileContentDict(TypedDict, total=False):
    """The same as a dict."""

    type: Literal["file"]
    file_data: NotRequired[str]
    file_url: NotRequired[str]
    file_id: NotRequired[str]
    filename: NotRequired[str]


ValidToolOutputPydanticModels = ToolOutputText | ToolOutputImage | ToolOutputFileContent
ValidToolOutputPydanticModelsTypeAdapter: TypeAdapter[ValidToolOutputPydanticModels] = TypeAdapter(
    ValidToolOutputPydanticModels
)


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


ComputerLike = Computer | AsyncComputer
ComputerT = TypeVar("ComputerT", bound=ComputerLike)
ComputerT_co = TypeVar("ComputerT_co", bound=ComputerLike, covariant=True)
ComputerT_contra = TypeVar("ComputerT_contra", bound=ComputerLike, contravariant=True)


class ComputerCreate(Protocol[ComputerT_co]):
    """Makes the computer of a run."""

    def __call__(self, *, run_context: RunContextWrapper[Any]) -> MaybeAwaitable[ComputerT_co]: ...


class ComputerDispose(Protocol[ComputerT_contra]):
    """Disposes of the computer of a run."""

    def __call__(self, *, run_context: RunContextWrapper[Any], computer: ComputerT_contra) -> MaybeAwaitable[None]: ...


@dataclass
class ComputerProvider(Generic[ComputerT]):
    """Makes a computer for each run, and disposes of it."""

    create: ComputerCreate[ComputerT]
    dispose: ComputerDispose[ComputerT] | None = None


@dataclass
class FunctionToolResult:
    """One finished call, as a `tool_use_behavior` callable sees it."""

    tool: FunctionTool
    output: Any
    run_item: RunItem | None
    interruptions: list[ToolApprovalItem] = field(default_factory=list["ToolApprovalItem"])
    agent_run_result: Any = None


@dataclass
class FunctionTool:
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
    origin: ToolOrigin | None = field(default=None, kw_only=True, repr=False)
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


_DEFAULT: Any = object()


@overload
def function_tool(
    func: ToolFunction[...],
    *,
    name_override: str | None = None,
    description_override: str | None = None,
    docstring_style: DocstringStyle | None = None,
    use_docstring_info: bool = True,
    failure_error_function: ToolErrorFunction | None = None,
    strict_mode: bool = True,
    is_enabled: bool | Callable[[RunContextWrapper[Any], AgentBase[Any]], MaybeAwaitable[bool]] = True,
    needs_approval: bool | Callable[[RunContextWrapper[Any], dict[str, Any], str], Awaitable[bool]] = False,
    tool_input_guardrails: list[ToolInputGuardrail[Any]] | None = None,
    tool_output_guardrails: list[ToolOutputGuardrail[Any]] | None = None,
    timeout: float | None = None,
    timeout_behavior: ToolTimeoutBehavior = "error_as_result",
    timeout_error_function: ToolErrorFunction | None = None,
    defer_loading: bool = False,
    custom_data_extractor: FunctionToolCustomDataExtractor | None = None,
    allowed_callers: list[ToolCaller] | None = None,
    output_type: Any | None = None,
    output_json_schema: dict[str, Any] | None = None,
) -> FunctionTool: ...
@overload
def function_tool(
    *,
    name_override: str | None = None,
    description_override: str | None = None,
    docstring_style: DocstringStyle | None = None,
    use_docstring_info: bool = True,
    failure_error_function: ToolErrorFunction | None = None,
    strict_mode: bool = True,
    is_enabled: bool | Callable[[RunContextWrapper[Any], AgentBase[Any]], MaybeAwaitable[bool]] = True,
    needs_approval: bool | Callable[[RunContextWrapper[Any], dict[str, Any], str], Awaitable[bool]] = False,
    tool_input_guardrails: list[ToolInputGuardrail[Any]] | None = None,
    tool_output_guardrails: list[ToolOutputGuardrail[Any]] | None = None,
    timeout: float | None = None,
    timeout_behavior: ToolTimeoutBehavior = "error_as_result",
    timeout_error_function: ToolErrorFunction | None = None,
    defer_loading: bool = False,
    custom_data_extractor: FunctionToolCustomDataExtractor | None = None,
    allowed_callers: list[ToolCaller] | None = None,
    output_type: Any | None = None,
    output_json_schema: dict[str, Any] | None = None,
) -> Callable[[ToolFunction[...]], FunctionTool]: ...
def function_tool(
    func: ToolFunction[...] | None = None,
    *,
    name_override: str | None = None,
    description_override: str | None = None,
    docstring_style: DocstringStyle | None = None,
    use_docstring_info: bool = True,
    failure_error_function: ToolErrorFunction | None = _DEFAULT,
    strict_mode: bool = True,
    is_enabled: bool | Callable[[RunContextWrapper[Any], AgentBase[Any]], MaybeAwaitable[bool]] = True,
    needs_approval: bool | Callable[[RunContextWrapper[Any], dict[str, Any], str], Awaitable[bool]] = False,
    tool_input_guardrails: list[ToolInputGuardrail[Any]] | None = None,
    tool_output_guardrails: list[ToolOutputGuardrail[Any]] | None = None,
    timeout: float | None = None,
    timeout_behavior: ToolTimeoutBehavior = "error_as_result",
    timeout_error_function: ToolErrorFunction | None = None,
    defer_loading: bool = False,
    custom_data_extractor: FunctionToolCustomDataExtractor | None = None,
    allowed_callers: list[ToolCaller] | None = None,
    output_type: Any | None = None,
    output_json_schema: dict[str, Any] | None = None,
) -> FunctionTool | Callable[[ToolFunction[...]], FunctionTool]:
    """Make a function, sync or async, a tool. A sync one runs on a thread.

    Without a `failure_error_function` the model is told what the function raised; with None that ends the run.
    """

    def make(function: ToolFunction[...]) -> FunctionTool:
        schema = function_schema(
            function, docstring_style, name_override, description_override, use_docstring_info, strict_mode
        )
        adapter = None if output_type is None else TypeAdapter(output_type)
        describe = cast(
            "ToolErrorFunction | None",
            default_tool_error_function if failure_error_function is _DEFAULT else failure_error_function,
        )

        is_async = _is_async(function)
        model = schema.params_pydantic_model

        async def run(ctx: ToolContext[Any], data: dict[str, Any]) -> Any:
            try:
                checked = model(**data)
            except ValidationError as error:
                raise ModelBehaviorError(f"Invalid JSON input for tool {schema.name}: {error}") from error
            args, named = schema.to_call_args(checked)
            if schema.takes_context:
                args = [ctx, *args]
            if is_async:
                return await function(*args, **named)
            return await asyncio.to_thread(cast("Callable[..., Any]", function), *args, **named)

        async def on_invoke_tool(ctx: ToolContext[Any], input: str) -> Any:
            try:
                return await run(ctx, parse_arguments(schema.name, input))
            except Exception as error:
                if describe is None:
                    raise
                text = describe(ctx, error)
                return await text if inspect.isawaitable(text) else text

        async def invoke_parsed(ctx: ToolContext[Any], data: dict[str, Any]) -> Any:
            try:
                return await run(ctx, data)
            except Exception as error:
                if describe is None:
                    raise
                text = describe(ctx, error)
                return await text if inspect.isawaitable(text) else text

        functools.update_wrapper(on_invoke_tool, function, assigned=("__doc__", "__module__"), updated=())
        made = FunctionTool(
            name=schema.name,
            description=schema.description or "",
            params_json_schema=schema.params_json_schema,
            on_invoke_tool=on_invoke_tool,
            strict_json_schema=strict_mode,
            is_enabled=is_enabled,
            tool_input_guardrails=tool_input_guardrails,
            tool_output_guardrails=tool_output_guardrails,
            needs_approval=needs_approval,
            timeout_seconds=timeout,
            timeout_behavior=timeout_behavior,
            timeout_error_function=timeout_error_function,
            defer_loading=defer_loading,
            custom_data_extractor=custom_data_extractor,
            allowed_callers=allowed_callers,
            output_json_schema=output_json_schema if adapter is None else adapter.json_schema(),
            failure_error_function=describe,
        )
        made.__dict__["__wrapped__"] = function
        made.__dict__["invoke_parsed"] = (on_invoke_tool, invoke_parsed)  # for the run, whose arguments are parsed already
        if timeout is not None and not is_async:
            raise ValueError(
                f"tool {made.name!r} has a timeout and is not async: its thread could not be stopped; make it async, or leave "
                "the timeout out"
            )
        return made

    return make(func) if callable(func) else make


def _is_async(function: Any) -> bool:
    called = getattr(function, "__call__", None)  # noqa: B004 - of an object of a class
    return inspect.iscoroutinefunction(function) or inspect.iscoroutinefunction(called)


def parse_arguments(name: str, text: str) -> dict[str, Any]:
    """The arguments of a call. Raises `ModelBehaviorError` for what is no JSON object."""
    try:
        data: Any = json.loads(text) if text else {}
    except ValueError as error:
        raise ModelBehaviorError(f"Invalid JSON input for tool {name}: {text}") from error
    if not isinstance(data, dict):
        raise ModelBehaviorError(f"Invalid JSON input for tool {name}: expected an object")
    return cast("dict[str, Any]", data)


@dataclass
class FileSearchTool:
    """Searches files that OpenAI keeps."""

    vector_store_ids: list[str]
    max_num_results: int | None = None
    include_search_results: bool = False
    ranking_options: Any | None = None
    filters: Any | None = None

    @property
    def name(self) -> str:
        """Its name."""
        return "file_search"


class WebSearchToolImageSettings(TypedDict, total=False):
    """Images among the results."""

    max_results: int
    caption: bool


@dataclass
class WebSearchTool:
    """Searches the web, at the provider."""

    user_location: Any | None = None
    filters: Any | None = None
    search_context_size: Literal["low", "medium", "high"] = "medium"
    external_web_access: bool | None = None
    search_content_types: list[Literal["text", "image"]] | None = None
    image_settings: WebSearchToolImageSettings | None = None

    @property
    def name(self) -> str:
        """Its name."""
        return "web_search"


@dataclass
class ComputerToolSafetyCheckData:
    """What `on_safety_check` is given."""

    ctx_wrapper: RunContextWrapper[Any]
    agent: Any
    tool_call: Any
    safety_check: Any


@dataclass(eq=False)
class ComputerTool(Generic[ComputerT]):
    """Lets the model drive a computer: one, or one for each run."""

    computer: ComputerT | ComputerCreate[ComputerT] | ComputerProvider[ComputerT]
    on_safety_check: Callable[[ComputerToolSafetyCheckData], MaybeAwaitable[bool]] | None = None
    custom_data_extractor: ComputerToolCustomDataExtractor | None = field(default=None, kw_only=True)

    @property
    def name(self) -> str:
        """Its name."""
        return "computer_use_preview"

    @property
    def trace_name(self) -> str:
        """Its name in traces."""
        return "computer"


_computers: dict[int, dict[int, tuple[ComputerTool[Any], Any]]] = {}


async def resolve_computer(*, tool: ComputerTool[Any], run_context: RunContextWrapper[Any]) -> ComputerLike:
    """The computer of a run: made when it is first asked for."""
    made = _computers.setdefault(id(run_context), {})
    if id(tool) in made:
        return made[id(tool)][1]
    given: Any = tool.computer
    if isinstance(given, ComputerProvider):
        given = cast("ComputerProvider[Any]", given).create(run_context=run_context)
    elif callable(given) and not isinstance(given, Computer | AsyncComputer):
        given = given(run_context=run_context)
    computer: Any = await given if inspect.isawaitable(given) else given
    if not isinstance(computer, Computer | AsyncComputer):
        raise UserError(f"the computer is a {type(computer).__name__}, expected a Computer or an AsyncComputer; subclass one")
    made[id(tool)] = (tool, computer)
    return computer


async def dispose_resolved_computers(*, run_context: RunContextWrapper[Any]) -> None:
    """Dispose of the computers that were made for a run."""
    for tool, computer in _computers.pop(id(run_context), {}).values():
        provider: Any = tool.computer
        if isinstance(provider, ComputerProvider) and (dispose := cast(Any, provider).dispose) is not None:
            disposed = dispose(run_context=run_context, computer=computer)
            if inspect.isawaitable(disposed):
                await disposed


@dataclass
class MCPToolApprovalRequest:
    """A call of an MCP server's tool, which the provider runs, that waits for approval."""

    ctx_wrapper: RunContextWrapper[Any]
    data: Any


class MCPToolApprovalFunctionResult(TypedDict):
    """What was decided on it."""

    approve: bool
    reason: NotRequired[str]


MCPToolApprovalFunction = Callable[[MCPToolApprovalRequest], MaybeAwaitable[MCPToolApprovalFunctionResult]]


class ShellOnApprovalFunctionResult(TypedDict):
    """What was decided on a shell call."""

    approve: bool
    reason: NotRequired[str]


class ApplyPatchOnApprovalFunctionResult(TypedDict):
    """What was decided on a patch."""

    approve: bool
    reason: NotRequired[str]


class CustomToolOnApprovalFunctionResult(TypedDict):
    """What was decided on a call of a custom tool."""

    approve: bool
    reason: NotRequired[str]


ShellApprovalFunction = Callable[[RunContextWrapper[Any], "ShellActionRequest", str], MaybeAwaitable[bool]]
ShellOnApprovalFunction = Callable[[RunContextWrapper[Any], "ToolApprovalItem"], MaybeAwaitable[ShellOnApprovalFunctionResult]]
ApplyPatchApprovalFunction = Callable[[RunContextWrapper[Any], "ApplyPatchOperation", str], MaybeAwaitable[bool]]
ApplyPatchOnApprovalFunction = Callable[
    [RunContextWrapper[Any], "ToolApprovalItem"], MaybeAwaitable[ApplyPatchOnApprovalFunctionResult]
]
CustomToolOnApprovalFunction = Callable[
    [RunContextWrapper[Any], "ToolApprovalItem"], MaybeAwaitable[CustomToolOnApprovalFunctionResult]
]


@dataclass
class HostedMCPTool:
    """The tools of an MCP server that the provider asks itself. `tool_config` is what the provider is told of it."""

    tool_config: Any
    on_approval_request: MCPToolApprovalFunction | None = None

    @property
    def name(self) -> str:
        """Its name."""
        return "hosted_mcp"


@dataclass
class CodeInterpreterTool:
    """Runs the model's code, at the provider."""

    tool_config: Any

    @property
    def name(self) -> str:
        """Its name."""
        return "code_interpreter"


class ImageGenerationToolConfig(TypedDict, total=False):
    """What the provider is told of the images to make."""

    type: Literal["image_generation"]
    action: Literal["generate", "edit", "auto"]
    background: Literal["transparent", "opaque", "auto"]
    input_fidelity: Literal["high", "low"] | None
    input_image_mask: Any
    model: str
    moderation: Literal["auto", "low"]
    output_compression: int
    output_format: Literal["png", "webp", "jpeg"]
    partial_images: int
    quality: Literal["low", "medium", "high", "auto"]
    size: str


@dataclass
class ImageGenerationTool:
    """Makes images, at the provider."""

    tool_config: Any

    @property
    def name(self) -> str:
        """Its name."""
        return "image_generation"


@dataclass
class LocalShellCommandRequest:
    """A call of the older shell tool."""

    ctx_wrapper: RunContextWrapper[Any]
    data: Any


LocalShellExecutor = Callable[[LocalShellCommandRequest], MaybeAwaitable[str]]


@dataclass
class LocalShellTool:
    """The older shell tool: `executor` runs a command and gives what it printed."""

    executor: LocalShellExecutor

    @property
    def name(self) -> str:
        """Its name."""
        return "local_shell"


class ShellToolLocalSkill(TypedDict):
    """A skill in a local folder."""

    description: str
    name: str
    path: str


class ShellToolSkillReference(TypedDict):
    """A skill that the provider keeps."""

    type: Literal["skill_reference"]
    skill_id: str
    version: NotRequired[str]


class ShellToolInlineSkillSource(TypedDict):
    """The bytes of a skill."""

    data: str
    media_type: Literal["application/zip"]
    type: Literal["base64"]


class ShellToolInlineSkill(TypedDict):
    """A skill that is sent along."""

    description: str
    name: str
    source: ShellToolInlineSkillSource
    type: Literal["inline"]


ShellToolContainerSkill = ShellToolSkillReference | ShellToolInlineSkill


class ShellToolContainerNetworkPolicyDomainSecret(TypedDict):
    """A secret that the container has for one domain."""

    domain: str
    name: str
    value: str


class ShellToolContainerNetworkPolicyAllowlist(TypedDict):
    """The domains that the container may reach."""

    allowed_domains: list[str]
    type: Literal["allowlist"]
    domain_secrets: NotRequired[list[ShellToolContainerNetworkPolicyDomainSecret]]


class ShellToolContainerNetworkPolicyDisabled(TypedDict):
    """The container reaches nothing."""

    type: Literal["disabled"]


ShellToolContainerNetworkPolicy = ShellToolContainerNetworkPolicyAllowlist | ShellToolContainerNetworkPolicyDisabled


class ShellToolLocalEnvironment(TypedDict):
    """The commands run here."""

    type: Literal["local"]
    skills: NotRequired[list[ShellToolLocalSkill]]


class ShellToolContainerAutoEnvironment(TypedDict):
    """The commands run in a container that the provider makes."""

    type: Literal["container_auto"]
    file_ids: NotRequired[list[str]]
    memory_limit: NotRequired[Literal["1g", "4g", "16g", "64g"] | None]
    network_policy: NotRequired[ShellToolContainerNetworkPolicy]
    skills: NotRequired[list[ShellToolContainerSkill]]


class ShellToolContainerReferenceEnvironment(TypedDict):
    """The commands run in a container that there is."""

    type: Literal["container_reference"]
    container_id: str


ShellToolHostedEnvironment = ShellToolContainerAutoEnvironment | ShellToolContainerReferenceEnvironment
ShellToolEnvironment = ShellToolLocalEnvironment | ShellToolHostedEnvironment


@dataclass
class ShellCallOutcome:
    """How a command ended."""

    type: Literal["exit", "timeout"]
    exit_code: int | None = None


def _exited() -> ShellCallOutcome:
    return ShellCallOutcome("exit")


@dataclass
class ShellCommandOutput:
    """What a command printed."""

    stdout: str = ""
    stderr: str = ""
    outcome: ShellCallOutcome = field(default_factory=_exited)
    command: str | None = None
    provider_data: dict[str, Any] | None = None

    @property
    def exit_code(self) -> int | None:
        """Its exit code; None where it was stopped."""
        return self.outcome.exit_code

    @property
    def status(self) -> Literal["completed", "timeout"]:
        """Whether it ended by itself."""
        return "timeout" if self.outcome.type == "timeout" else "completed"


@dataclass
class ShellResult:
    """What a shell call came to."""

    output: list[ShellCommandOutput]
    max_output_length: int | None = None
    provider_data: dict[str, Any] | None = None


@dataclass
class ShellActionRequest:
    """The commands of a call."""

    commands: list[str]
    timeout_ms: int | None = None
    max_output_length: int | None = None


@dataclass
class ShellCallData:
    """A shell call."""

    call_id: str
    action: ShellActionRequest
    status: Literal["in_progress", "completed"] | None = None
    raw: Any | None = None


@dataclass
class ShellCommandRequest:
    """What an executor is given."""

    ctx_wrapper: RunContextWrapper[Any]
    data: ShellCallData


ShellExecutor = Callable[[ShellCommandRequest], MaybeAwaitable["str | ShellResult"]]


@dataclass
class ShellTool:
    """Runs the model's commands: with `executor` here, else in the provider's `environment`."""

    executor: ShellExecutor | None = None
    name: str = "shell"
    needs_approval: bool | ShellApprovalFunction = False
    on_approval: ShellOnApprovalFunction | None = None
    environment: ShellToolEnvironment | None = None
    allowed_callers: list[ToolCaller] | None = field(default=None, kw_only=True)

    def __post_init__(self) -> None:
        environment: dict[str, Any] = dict(self.environment or {"type": "local"})
        self.environment = cast("ShellToolEnvironment", environment)
        is_local = environment.get("type") == "local"
        if is_local and self.executor is None:
            raise UserError("ShellTool has a local environment and no executor, expected one that runs the commands")
        if not is_local and self.executor is not None:
            raise UserError("ShellTool has an executor and a hosted environment, expected one of them; leave the executor out")
        if not is_local and (self.needs_approval is not False or self.on_approval is not None):
            raise UserError("ShellTool has an approval rule and a hosted environment, where the provider runs the commands")

    @property
    def type(self) -> str:
        """Its type."""
        return "shell"


@dataclass
class ApplyPatchTool:
    """Lets the model change files, by an `editor`."""

    editor: ApplyPatchEditor
    name: str = "apply_patch"
    needs_approval: bool | ApplyPatchApprovalFunction = False
    on_approval: ApplyPatchOnApprovalFunction | None = None
    custom_data_extractor: ApplyPatchToolCustomDataExtractor | None = field(default=None, kw_only=True)
    allowed_callers: list[ToolCaller] | None = field(default=None, kw_only=True)

    @property
    def type(self) -> str:
        """Its type."""
        return "apply_patch"


@dataclass
class CustomTool:
    """A tool that takes text as the model writes it, in a `format` that the provider enforces."""

    name: str
    description: str
    on_invoke_tool: CustomToolExecutor
    format: object | None = None
    needs_approval: bool | CustomToolApprovalFunction = False
    on_approval: CustomToolOnApprovalFunction | None = None
    defer_loading: bool = False
    custom_data_extractor: CustomToolCustomDataExtractor | None = field(default=None, kw_only=True)
    allowed_callers: list[ToolCaller] | None = field(default=None, kw_only=True)
    tool_config: dict[str, Any] = field(init=False, repr=False)

    def __post_init__(self) -> None:
        self.tool_config = {"type": "custom", "name": self.name, "description": self.description}
        if self.format is not None:
            self.tool_config["format"] = self.format

    @property
    def type(self) -> str:
        """Its type."""
        return "custom"


@dataclass
class ToolSearchTool:
    """Lets the model search for tools whose loading is deferred."""

    description: str | None = None
    execution: Literal["server", "client"] | None = None
    parameters: object | None = None

    @property
    def name(self) -> str:
        """Its name."""
        return "tool_search"


@dataclass
class ProgrammaticToolCallingTool:
    """Lets the model write programs that call tools, at the provider."""

    @property
    def name(self) -> str:
        """Its name."""
        return "programmatic_tool_calling"


Tool = (
    FunctionTool
    | FileSearchTool
    | WebSearchTool
    | ComputerTool[Any]
    | HostedMCPTool
    | ShellTool
    | ApplyPatchTool
    | CustomTool
    | LocalShellTool
    | ImageGenerationTool
    | CodeInterpreterTool
    | ToolSearchTool
    | ProgrammaticToolCallingTool
)


def tool_namespace(*, name: str, description: str | None, tools: list[FunctionTool]) -> list[FunctionTool]:
    """Copies of `tools` in a namespace."""
    import dataclasses

    if not name.strip():
        raise UserError("a namespace has a blank name, expected one; name it")
    return [dataclasses.replace(tool, namespace=name.strip(), namespace_description=description) for tool in tools]


if not TYPE_CHECKING:
    __getattr__ = names_absent_in(__name__)
