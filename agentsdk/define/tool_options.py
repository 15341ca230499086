"""The options of tools and their types: as fields of a tool, and as keywords of the functions that make or copy one."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from dataclasses import KW_ONLY, InitVar, dataclass, fields
from math import inf
from typing import Any, Generic, TypedDict, TypeVar

from msgspec import UNSET

from agentsdk.define.context import RunContextWrapper, ToolContext
from agentsdk.define.docstring import DocstringStyle
from agentsdk.define.tool_body import OnInvokeTool
from agentsdk.define.tool_guardrail import ToolInputGuardrail, ToolOutputGuardrail
from agentsdk.types.base import JsonObject
from agentsdk.types.declared import Expected, a, either, number
from agentsdk.types.errors import InvalidArgumentsError, ToolError, ToolTimeoutError
from agentsdk.types.generics import TContext
from agentsdk.types.items import CallKind
from agentsdk.types.permission import Permission
from agentsdk.types.settings import ToolRetrySettings
from agentsdk.types.signature import shows_options
from agentsdk.types.spec import Effect
from agentsdk.types.text import text_of

IsEnabled = Callable[[RunContextWrapper[TContext], Any], bool | Awaitable[bool]]
"""Called with the context and the agent: whether the model sees the tool this turn."""

NeedsApproval = Callable[[RunContextWrapper[TContext], dict[str, Any], str], bool | Awaitable[bool]]
"""Called with the context, the parsed arguments and the call's id: whether a person must approve this call."""

ToolCheck = Callable[[ToolContext[TContext], dict[str, Any]], "str | Awaitable[str | None] | None"]
"""Called with the call's context and the parsed arguments: what the model is told of a call that must not run, or None. Raising
a `ValueError` tells the same."""

ToolResource = Callable[[dict[str, Any]], str | None]
"""Called with the parsed arguments of a call: the name of what it works on, or None. Not async."""

NO_CHECKS: Sequence[ToolCheck[Any]] = ()

FailureErrorFunction = Callable[[ToolContext[TContext], Exception], str | Awaitable[str]]
"""Called with the call's context and what the body raised: the text the model gets as the call's result."""

Reconcile = Callable[[ToolContext[TContext], dict[str, Any]], object]
"""Called with the context and the parsed arguments of a call whose outcome is unknown: the result the call had, or
`msgspec.UNSET` where that is not known: a person is asked."""


def default_tool_error_function(ctx: RunContextWrapper[Any], error: Exception) -> str:
    """The text sent to the model for an error: its class and message, never a traceback.

    The message of an exception of your own reaches the model unchanged: keep secrets out of it, or give the tool another
    `failure_error_function`.
    """
    if isinstance(error, InvalidArgumentsError):
        return f"The call was not run. Its arguments do not fit the tool:\n{error.reason}"
    if isinstance(error, ToolError):
        return f"Error: {error}"
    message = text_of(error)
    return f"Error while running the tool: {type(error).__name__}" + (f": {message}" if message else "")


# Not with slots: of a frozen generic class that has them Python 3.11 cannot make `FunctionTool[User](...)`.
@dataclass(frozen=True, eq=False, repr=False)
class ToolFields(Generic[TContext]):
    """The fields of a tool, with their types and defaults. `FunctionTool` says what they mean."""

    name: str
    description: InitVar[str]
    params_json_schema: InitVar[JsonObject]
    on_invoke_tool: InitVar[OnInvokeTool[TContext] | None] = None
    strict_json_schema: bool = True
    is_enabled: bool | IsEnabled[TContext] = True
    needs_approval: bool | NeedsApproval[TContext] = False
    tool_input_guardrails: Sequence[ToolInputGuardrail[TContext]] = ()
    tool_output_guardrails: Sequence[ToolOutputGuardrail[TContext]] = ()
    _: KW_ONLY
    timeout: float | None = None
    effect: Effect = "once"
    failure_error_function: FailureErrorFunction[TContext] | None = default_tool_error_function
    reconcile: Reconcile[TContext] | None = None
    polling: bool = False
    external: bool = False
    default_answer: object = UNSET
    tags: Sequence[str] = ()
    kind: CallKind = "function"
    kind_settings: JsonObject | None = None
    retry: ToolRetrySettings | None = None
    transient: Sequence[type[Exception]] = (ConnectionError, TimeoutError, ToolTimeoutError)
    check: ToolCheck[TContext] | Sequence[ToolCheck[TContext]] = NO_CHECKS
    sequential: bool = False
    after: Sequence[str] = ()
    resource: str | ToolResource | None = None
    permission: Permission | None = None
    defer_loading: bool = False
    untrusted: bool = False
    allowed_after_untrusted: bool = False

    def __post_init__(
        self, description: str, params_json_schema: JsonObject, on_invoke_tool: OnInvokeTool[TContext] | None
    ) -> None:
        raise NotImplementedError


# The same as keywords of functions (PEP 692). A dataclass and a TypedDict cannot be made of each other.


class CallOptions(TypedDict, Generic[TContext], total=False):
    """The options that every tool has."""

    is_enabled: bool | IsEnabled[TContext]
    needs_approval: bool | NeedsApproval[TContext]
    tool_input_guardrails: Sequence[ToolInputGuardrail[TContext]]
    tool_output_guardrails: Sequence[ToolOutputGuardrail[TContext]]
    timeout: float | None
    failure_error_function: FailureErrorFunction[TContext] | None
    tags: Sequence[str]
    check: ToolCheck[TContext] | Sequence[ToolCheck[TContext]]
    sequential: bool
    after: Sequence[str]
    resource: str | ToolResource | None
    permission: Permission | None
    defer_loading: bool
    untrusted: bool
    allowed_after_untrusted: bool


class ToolOptions(CallOptions[TContext], total=False):
    """The options of a tool with a body of its own: not of an agent as tool."""

    effect: Effect
    reconcile: Reconcile[TContext] | None
    polling: bool
    external: bool
    default_answer: object
    kind: CallKind
    kind_settings: JsonObject | None
    retry: ToolRetrySettings | None
    transient: Sequence[type[Exception]]


class FunctionToolOptions(ToolOptions[TContext], total=False):
    """What `function_tool` takes."""

    name_override: str | None
    description_override: str | None
    use_docstring_info: bool
    docstring_style: DocstringStyle | None
    strict_mode: bool


class ToolChanges(ToolOptions[TContext], total=False):
    """What `clone` takes."""

    name: str
    description: str
    params_json_schema: JsonObject
    strict_json_schema: bool


F = TypeVar("F", bound=Callable[..., object])


def shows_tool_options(kind: type) -> Callable[[F], F]:
    """`shows_options` for options of tools, with their defaults."""
    return shows_options(kind, {field.name: field.default for field in fields(ToolFields)})


TIMEOUT = either(number("", above=0), Expected("", lambda value: value == inf), what="seconds above 0, math.inf for none")
TOOL_RETRY = a(ToolRetrySettings, "ToolRetrySettings; pass ToolRetrySettings(max_retries=3), say")
