"""`RunConfig`: settings of a whole run."""

from __future__ import annotations

import inspect
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field, fields
from typing import TYPE_CHECKING, Any, Generic, Literal, NotRequired, TypeAlias, TypeVar, cast

from typing_extensions import TypedDict

from agentsdk.compat.openai_agents._absent import names_absent_in
from agentsdk.compat.openai_agents.exceptions import UserError
from agentsdk.compat.openai_agents.model_settings import ModelSettings, coerce_settings
from agentsdk.compat.openai_agents.run_context import RunContextWrapper, TContext

if TYPE_CHECKING:
    from agentsdk.compat.openai_agents.agent import Agent
    from agentsdk.compat.openai_agents.guardrail import InputGuardrail, OutputGuardrail
    from agentsdk.compat.openai_agents.handoffs import HandoffHistoryMapper, HandoffInputFilter
    from agentsdk.compat.openai_agents.lifecycle import RunHooks
    from agentsdk.compat.openai_agents.memory import Session, SessionSettings
    from agentsdk.compat.openai_agents.models.interface import Model, ModelProvider
    from agentsdk.compat.openai_agents.run_error_handlers import RunErrorHandlers

T = TypeVar("T")
MaybeAwaitable: TypeAlias = Awaitable[T] | T
DEFAULT_MAX_TURNS = 10


@dataclass
class ModelInputData:
    """What a model is about to be sent."""

    input: list[Any]
    instructions: str | None


@dataclass
class CallModelData(Generic[TContext]):
    """What a `call_model_input_filter` is given."""

    model_data: ModelInputData
    agent: Agent[TContext]
    context: TContext | None


CallModelInputFilter = Callable[[CallModelData[Any]], MaybeAwaitable[ModelInputData]]
ReasoningItemIdPolicy = Literal["preserve", "omit"]
ToolNotFoundBehavior = Literal["raise_error", "return_error_to_model"]
ToolNameCollisionPolicy = Literal["warn", "error"]
SessionInputCallback = Callable[[list[Any], list[Any]], MaybeAwaitable[list[Any]]]


@dataclass
class ToolErrorFormatterArgs(Generic[TContext]):
    """What a `tool_error_formatter` is given."""

    kind: Literal["approval_rejected", "tool_not_found", "tool_exception"]
    tool_type: Literal["function", "computer", "shell", "apply_patch", "custom"]
    tool_name: str
    call_id: str
    default_message: str
    run_context: RunContextWrapper[TContext]
    error: Exception | None = None


ToolErrorFormatter = Callable[[ToolErrorFormatterArgs[Any]], MaybeAwaitable["str | None"]]


@dataclass
class OutputGuardrailBlockedMessageArgs(Generic[TContext]):
    """What an `output_guardrail_blocked_message` function is given."""

    default_message: str
    guardrail_name: str
    agent: Agent[Any]
    run_context: RunContextWrapper[TContext]


OutputGuardrailBlockedMessageFormatter = Callable[[OutputGuardrailBlockedMessageArgs[Any]], "str | None"]


@dataclass
class ToolExecutionConfig:
    """How calls are run."""

    max_function_tool_concurrency: int | None = None
    pre_approval_tool_input_guardrails: bool = False

    def __post_init__(self) -> None:
        most = self.max_function_tool_concurrency
        if most is not None and most < 1:
            raise ValueError(f"max_function_tool_concurrency is {most!r}, must be at least 1")
        if not isinstance(cast(object, self.pre_approval_tool_input_guardrails), bool):
            raise ValueError("pre_approval_tool_input_guardrails must be a bool")


def _default_provider() -> ModelProvider:
    from agentsdk.compat.openai_agents.models.multi_provider import MultiProvider

    return MultiProvider()


@dataclass
class RunConfig:
    """Settings of a whole run."""

    model: str | Model | None = None
    model_provider: ModelProvider = field(default_factory=_default_provider)
    model_settings: ModelSettings | None = None
    handoff_input_filter: HandoffInputFilter | None = None
    nest_handoff_history: bool = False
    handoff_history_mapper: HandoffHistoryMapper | None = None
    input_guardrails: list[InputGuardrail[Any]] | None = None
    output_guardrails: list[OutputGuardrail[Any]] | None = None
    tracing_disabled: bool = False
    tracing: Any | None = None
    trace_include_sensitive_data: bool = True
    workflow_name: str = "Agent workflow"
    trace_id: str | None = None
    group_id: str | None = None
    trace_metadata: dict[str, Any] | None = None
    session_input_callback: SessionInputCallback | None = None
    call_model_input_filter: CallModelInputFilter | None = None
    tool_error_formatter: ToolErrorFormatter | None = None
    session_settings: SessionSettings | None = None
    reasoning_item_id_policy: ReasoningItemIdPolicy | None = None
    sandbox: Any | None = None
    tool_execution: ToolExecutionConfig | None = None
    tool_not_found_behavior: ToolNotFoundBehavior = "raise_error"
    tool_name_collision_policy: ToolNameCollisionPolicy = "warn"
    output_guardrail_blocked_message: str | OutputGuardrailBlockedMessageFormatter | None = None

    def __post_init__(self) -> None:
        if isinstance(self.model_settings, Mapping):
            self.model_settings = coerce_settings(cast("dict[str, Any]", self.model_settings))
        if isinstance(self.tool_execution, Mapping):
            self.tool_execution = ToolExecutionConfig(**cast("dict[str, Any]", self.tool_execution))
        if isinstance(self.session_settings, Mapping):
            from agentsdk.compat.openai_agents.memory import SessionSettings

            self.session_settings = SessionSettings(**cast("dict[str, Any]", self.session_settings))
        if self.sandbox is not None:
            raise UserError(
                "RunConfig was given a sandbox, which agentsdk.compat.openai_agents has not; give the agent tools of "
                "agentsdk.sandboxes through the main API instead"
            )
        if self.tool_name_collision_policy not in ("warn", "error"):
            raise ValueError("tool_name_collision_policy must be either 'warn' or 'error'")
        if self.reasoning_item_id_policy not in (None, "preserve", "omit"):
            raise ValueError("reasoning_item_id_policy must be 'preserve', 'omit' or None")
        _check_blocked_message(self.output_guardrail_blocked_message)
        if self.tool_not_found_behavior not in ("raise_error", "return_error_to_model"):
            raise UserError(
                f"tool_not_found_behavior is {self.tool_not_found_behavior!r}, expected 'raise_error' or "
                "'return_error_to_model'"
            )


def _check_blocked_message(given: object) -> None:
    """Raises for a text or formatter that could not stand in place of a blocked output."""
    if isinstance(given, str):
        if not given:
            raise ValueError("output_guardrail_blocked_message must be non-empty")
    elif given is not None and not callable(given):
        raise TypeError("output_guardrail_blocked_message must be a string, callable, or None")
    elif inspect.iscoroutinefunction(given):
        raise TypeError("output_guardrail_blocked_message formatter must be synchronous")


class RunOptions(TypedDict, Generic[TContext]):
    """The arguments of a run."""

    context: NotRequired[TContext | None]
    max_turns: NotRequired[int | None]
    hooks: NotRequired[RunHooks[TContext] | None]
    run_config: NotRequired[RunConfig | dict[str, Any] | None]
    previous_response_id: NotRequired[str | None]
    auto_previous_response_id: NotRequired[bool]
    conversation_id: NotRequired[str | None]
    session: NotRequired[Session | None]
    error_handlers: NotRequired[RunErrorHandlers[TContext] | None]


def coerce_run_config(value: RunConfig | dict[str, Any] | None) -> RunConfig:
    """A run's settings, which may be given as a dict. Raises `UserError` for a name there is not."""
    if value is None:
        return NO_SETTINGS
    if isinstance(value, RunConfig):
        return value
    if not isinstance(cast(object, value), Mapping):
        raise UserError(f"run_config is {type(value).__name__!r}, expected a RunConfig or a dict")
    unknown = sorted(value.keys() - {one.name for one in fields(RunConfig)})
    if unknown:
        raise UserError(f"run_config has {unknown}, expected fields of RunConfig")
    return RunConfig(**value)


NO_SETTINGS = RunConfig()
"""The settings of runs that are given none."""


def provider_of(config: RunConfig) -> ModelProvider:
    """What finds the models of a run: of one without settings one of its own, which knows no model from before."""
    return _default_provider() if config is NO_SETTINGS else config.model_provider


if not TYPE_CHECKING:
    __getattr__ = names_absent_in(__name__)
