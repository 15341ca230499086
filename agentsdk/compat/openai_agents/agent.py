"""`Agent`: what a program declares. Its fields may be changed at any time; the next run sees them."""

from __future__ import annotations

import dataclasses
import inspect
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Generic, Literal, NotRequired, cast, get_origin

from pydantic import TypeAdapter
from typing_extensions import TypedDict

from agentsdk.compat.openai_agents._answers import is_yes
from agentsdk.compat.openai_agents._changes import Noticed
from agentsdk.compat.openai_agents._tools.agent_call import AgentCall, check_agent_tool
from agentsdk.compat.openai_agents.agent_tool_input import (
    AgentAsToolInput,
    StructuredToolInputBuilder,
    build_structured_input_schema_info,
)
from agentsdk.compat.openai_agents.handoffs import Handoff, function_name
from agentsdk.compat.openai_agents.lifecycle import AgentHooksBase
from agentsdk.compat.openai_agents.model_settings import ModelSettings, coerce_settings
from agentsdk.compat.openai_agents.models.default_models import implicit_settings
from agentsdk.compat.openai_agents.prompts import DynamicPromptFunction, Prompt, PromptUtil
from agentsdk.compat.openai_agents.run_context import RunContextWrapper, TContext
from agentsdk.compat.openai_agents.strict_schema import ensure_strict_json_schema
from agentsdk.compat.openai_agents.tool import (
    FunctionTool,
    FunctionToolResult,
    Tool,
    ToolErrorFunction,
    ToolOrigin,
    ToolOriginType,
    default_tool_error_function,
)

if TYPE_CHECKING:
    from agentsdk.compat.openai_agents.agent_output import AgentOutputSchemaBase
    from agentsdk.compat.openai_agents.guardrail import InputGuardrail, OutputGuardrail
    from agentsdk.compat.openai_agents.lifecycle import AgentHooks, RunHooks
    from agentsdk.compat.openai_agents.mcp import MCPServer
    from agentsdk.compat.openai_agents.memory import Session
    from agentsdk.compat.openai_agents.models.interface import Model
    from agentsdk.compat.openai_agents.result import RunResult, RunResultStreaming
    from agentsdk.compat.openai_agents.run_config import RunConfig
    from agentsdk.compat.openai_agents.stream_events import StreamEvent


@dataclass
class ToolsToFinalOutputResult:
    """What a `tool_use_behavior` function returns: whether the run ends, and with what."""

    is_final_output: bool
    final_output: Any | None = None


ToolsToFinalOutputFunction = Callable[
    [RunContextWrapper[TContext], list[FunctionToolResult]],
    "ToolsToFinalOutputResult | Awaitable[ToolsToFinalOutputResult]",
]


class AgentToolStreamEvent(TypedDict):
    """What `on_stream` of an agent as a tool is given."""

    event: StreamEvent
    agent: Agent[Any]
    tool_call: Any


class StopAtTools(TypedDict):
    """`tool_use_behavior`: the result of any of these tools is the final output."""

    stop_at_tool_names: list[str]


class MCPConfig(TypedDict, total=False):
    """How the tools of MCP servers are taken."""

    convert_schemas_to_strict: NotRequired[bool]
    failure_error_function: NotRequired[ToolErrorFunction | None]
    include_server_in_tool_names: NotRequired[bool]


def _no_config() -> MCPConfig:
    return {}


@dataclass
class AgentBase(Generic[TContext]):
    """What all kinds of agents have."""

    name: str
    handoff_description: str | None = None
    tools: list[Tool] = field(default_factory=list["Tool"])
    mcp_servers: list[MCPServer] = field(default_factory=list["MCPServer"])
    mcp_config: MCPConfig = field(default_factory=_no_config)

    async def get_mcp_tools(self, run_context: RunContextWrapper[TContext]) -> list[Tool]:
        """The tools of its MCP servers."""
        if not self.mcp_servers:
            return []
        from agentsdk.compat.openai_agents.mcp import MCPUtil

        options: dict[str, Any] = {}
        if "failure_error_function" in self.mcp_config:
            options["failure_error_function"] = self.mcp_config["failure_error_function"]
        if self.mcp_config.get("include_server_in_tool_names"):
            options["include_server_in_tool_names"] = True
        strict = self.mcp_config.get("convert_schemas_to_strict", False)
        return await MCPUtil.get_all_function_tools(self.mcp_servers, strict, run_context, self, **options)

    async def get_all_tools(self, run_context: RunContextWrapper[TContext]) -> list[Tool]:
        """All its tools that are enabled, those of its MCP servers first."""
        enabled = [tool for tool in self.tools if await _is_enabled(tool, run_context, self)]
        return [*await self.get_mcp_tools(run_context), *enabled]


async def _is_enabled(tool: Tool, context: RunContextWrapper[Any], agent: AgentBase[Any]) -> bool:
    rule = tool.is_enabled if isinstance(tool, FunctionTool) else True
    if isinstance(rule, bool):
        return rule
    return await is_yes(rule(context, agent))


class _Translated:
    """Keeps, beside the fields, what the agent was translated to for the run beneath."""

    __slots__ = ("translated",)
    translated: Any


_IMPLICIT = ModelSettings()
"""Stands for the settings of an agent that gives none, until its model is known."""


@dataclass
class Agent(AgentBase[TContext], _Translated, Noticed, Generic[TContext]):
    """A model with instructions, tools, handoffs, guardrails and an output type.

    `model_settings` may be given as a dict. Raises `TypeError` for a field of another type.
    """

    instructions: str | Callable[[RunContextWrapper[TContext], Agent[TContext]], Awaitable[str] | str] | None = None
    prompt: Prompt | DynamicPromptFunction | None = None
    handoffs: list[Agent[Any] | Handoff[TContext, Any]] = field(default_factory=list["Agent[Any] | Handoff[TContext, Any]"])
    model: str | Model | None = None
    model_settings: ModelSettings = field(default_factory=lambda: _IMPLICIT)
    input_guardrails: list[InputGuardrail[TContext]] = field(default_factory=list["InputGuardrail[TContext]"])
    output_guardrails: list[OutputGuardrail[TContext]] = field(default_factory=list["OutputGuardrail[TContext]"])
    output_type: type[Any] | AgentOutputSchemaBase | None = None
    hooks: AgentHooks[TContext] | None = None
    tool_use_behavior: Literal["run_llm_again", "stop_on_first_tool"] | StopAtTools | ToolsToFinalOutputFunction[TContext] = (
        "run_llm_again"
    )
    reset_tool_choice: bool = True

    if TYPE_CHECKING:

        def __init__(
            self,
            name: str,
            handoff_description: str | None = None,
            tools: list[Tool] = ...,
            mcp_servers: list[MCPServer] = ...,
            mcp_config: MCPConfig = ...,
            instructions: str | Callable[[RunContextWrapper[TContext], Agent[TContext]], Awaitable[str] | str] | None = None,
            prompt: Prompt | DynamicPromptFunction | None = None,
            handoffs: list[Agent[Any] | Handoff[TContext, Any]] = ...,
            model: str | Model | None = None,
            model_settings: ModelSettings | dict[str, Any] = ...,
            input_guardrails: list[InputGuardrail[TContext]] = ...,
            output_guardrails: list[OutputGuardrail[TContext]] = ...,
            output_type: type[Any] | AgentOutputSchemaBase | None = None,
            hooks: AgentHooks[TContext] | None = None,
            tool_use_behavior: Literal["run_llm_again", "stop_on_first_tool"]
            | StopAtTools
            | ToolsToFinalOutputFunction[TContext] = "run_llm_again",
            reset_tool_choice: bool = True,
        ) -> None: ...

    def __post_init__(self) -> None:
        if self.model_settings is _IMPLICIT:
            self.model_settings = implicit_settings(self.model)
        _check(self)
        self.model_settings = coerce_settings(self.model_settings)

    def __hash__(self) -> int:
        return id(self)

    def __eq__(self, other: object) -> bool:
        return self is other

    def clone(self, **kwargs: Any) -> Agent[TContext]:
        """A copy with some fields replaced; lists are shared unless replaced. `model_settings` given as a dict change those
        there are."""
        if "model" in kwargs and "model_settings" not in kwargs and self.model_settings == implicit_settings(self.model):
            kwargs["model_settings"] = implicit_settings(kwargs["model"])
        settings = kwargs.get("model_settings")
        if isinstance(settings, Mapping):
            kwargs["model_settings"] = self.model_settings.resolve(dict(cast("Mapping[str, Any]", settings)))
        return dataclasses.replace(self, **kwargs)

    async def get_system_prompt(self, run_context: RunContextWrapper[TContext]) -> str | None:
        """Its instructions, in this run. Raises `TypeError` for a function that takes other arguments."""
        given = self.instructions
        if given is None or isinstance(given, str):
            return given
        count = len(inspect.signature(given).parameters)
        if count != 2:
            raise TypeError(f"'instructions' callable must accept exactly 2 arguments (context, agent), but got {count}")
        made = given(run_context, self)
        return await made if inspect.isawaitable(made) else made

    async def get_prompt(self, run_context: RunContextWrapper[TContext]) -> dict[str, Any] | None:
        """Its prompt, in this run."""
        return await PromptUtil.to_model_input(self.prompt, run_context, self)

    def as_tool(
        self,
        tool_name: str | None,
        tool_description: str | None,
        custom_output_extractor: Callable[[RunResult | RunResultStreaming], Awaitable[str]] | None = None,
        is_enabled: bool | Callable[[RunContextWrapper[Any], AgentBase[Any]], bool | Awaitable[bool]] = True,
        on_stream: Callable[[AgentToolStreamEvent], Awaitable[None] | None] | None = None,
        run_config: RunConfig | dict[str, Any] | None = None,
        max_turns: int | None = None,
        hooks: RunHooks[TContext] | None = None,
        previous_response_id: str | None = None,
        conversation_id: str | None = None,
        session: Session | None = None,
        failure_error_function: ToolErrorFunction | None = default_tool_error_function,
        needs_approval: bool | Callable[[RunContextWrapper[Any], dict[str, Any], str], Awaitable[bool]] = False,
        parameters: type[Any] | None = None,
        input_builder: StructuredToolInputBuilder | None = None,
        include_input_schema: bool = False,
        on_stream_max_pending_events: int | None = 1024,
    ) -> FunctionTool:
        """This agent as a tool of another: its final output is the call's result.

        Its run is one of its own. What waits for a person in it is an interruption of the caller's run.
        """
        check_agent_tool(on_stream, on_stream_max_pending_events, parameters)
        adapter: TypeAdapter[Any] = TypeAdapter(AgentAsToolInput if parameters is None else parameters)
        schema = ensure_strict_json_schema(adapter.json_schema())
        info = None
        if parameters is not None or input_builder is not None:
            told = include_input_schema and parameters is not None
            info = build_structured_input_schema_info(schema, include_json_schema=told)
        name = tool_name or function_name(self.name)
        options: dict[str, Any] = {
            "extract": custom_output_extractor,
            "on_stream": on_stream,
            "run_config": run_config,
            "max_turns": max_turns,
            "hooks": hooks,
            "previous_response_id": previous_response_id,
            "conversation_id": conversation_id,
            "session": session,
        }
        return FunctionTool(
            name=name,
            description=tool_description or "",
            params_json_schema=schema,
            on_invoke_tool=AgentCall(self, name, adapter, info, input_builder, failure_error_function, options).invoke,
            strict_json_schema=True,
            is_enabled=is_enabled,
            needs_approval=needs_approval,
            origin=ToolOrigin(ToolOriginType.AGENT_AS_TOOL, agent_name=self.name, agent_tool_name=name),
            agent_tool=self,
            failure_error_function=failure_error_function,
        )


def _check(agent: Agent[Any]) -> None:
    """Raises `TypeError` for a field of another type."""

    def require(fits: bool, name: str, expected: str) -> None:
        if not fits:
            raise TypeError(f"Agent {name} must be {expected}, got {type(getattr(agent, name)).__name__}")

    require(isinstance(cast(object, agent.name), str), "name", "a string")
    require(isinstance(cast(object, agent.handoff_description), str | None), "handoff_description", "a string or None")
    for name in ("tools", "mcp_servers", "handoffs", "input_guardrails", "output_guardrails"):
        require(isinstance(getattr(agent, name), list), name, "a list")
    require(isinstance(cast(object, agent.mcp_config), dict), "mcp_config", "a dict")
    instructions: object = agent.instructions
    is_text = instructions is None or isinstance(instructions, str) or callable(instructions)
    require(is_text, "instructions", "a string, callable, or None")
    prompt: object = agent.prompt
    require(prompt is None or callable(prompt) or hasattr(prompt, "get"), "prompt", "a Prompt, DynamicPromptFunction, or None")
    model: object = agent.model
    is_model = model is None or isinstance(model, str) or hasattr(model, "get_response")
    require(is_model, "model", "a string, Model, or None")
    settings: object = agent.model_settings
    require(isinstance(settings, ModelSettings | Mapping), "model_settings", "a ModelSettings or a dict")
    kind: object = agent.output_type
    is_type = kind is None or isinstance(kind, type) or hasattr(kind, "validate_json") or get_origin(kind) is not None
    require(is_type, "output_type", "a type, AgentOutputSchemaBase, or None")
    require(isinstance(cast(object, agent.hooks), AgentHooksBase | None), "hooks", "an AgentHooks instance or None")
    behavior: object = agent.tool_use_behavior
    is_known = (
        behavior in ("run_llm_again", "stop_on_first_tool")
        if isinstance(behavior, str)
        else (isinstance(behavior, dict) or callable(behavior))
    )
    require(is_known, "tool_use_behavior", "'run_llm_again', 'stop_on_first_tool', StopAtTools dict, or callable")
    require(isinstance(cast(object, agent.reset_tool_choice), bool), "reset_tool_choice", "a boolean")
