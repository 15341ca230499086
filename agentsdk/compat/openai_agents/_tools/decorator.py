"""`function_tool`: makes a function a tool."""

from __future__ import annotations

import asyncio
import functools
import inspect
from collections.abc import Awaitable, Callable
from typing import TYPE_CHECKING, Any, overload

from pydantic import TypeAdapter, ValidationError

from agentsdk.compat.openai_agents._tools.function import (
    FunctionTool,
    FunctionToolCustomDataExtractor,
    MaybeAwaitable,
    ToolCaller,
    ToolErrorFunction,
    ToolFunction,
    ToolTimeoutBehavior,
    default_tool_error_function,
    parse_arguments,
)
from agentsdk.compat.openai_agents.exceptions import ModelBehaviorError
from agentsdk.compat.openai_agents.function_schema import DocstringStyle, FuncSchema, function_schema
from agentsdk.compat.openai_agents.run_context import RunContextWrapper
from agentsdk.compat.openai_agents.tool_context import ToolContext
from agentsdk.compat.openai_agents.tool_guardrails import ToolInputGuardrail, ToolOutputGuardrail

if TYPE_CHECKING:
    from agentsdk.compat.openai_agents.agent import AgentBase

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
        is_default = failure_error_function is _DEFAULT
        body = _Body(function, schema, default_tool_error_function if is_default else failure_error_function)

        async def on_invoke_tool(ctx: ToolContext[Any], input: str) -> Any:
            return await body.invoke(ctx, input)

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
            failure_error_function=body.describe,
        )
        made.__dict__["__wrapped__"] = function
        made.__dict__["invoke_parsed"] = (on_invoke_tool, body.invoke)  # for the run, whose arguments are parsed already
        if timeout is not None and not body.is_async:
            raise ValueError(
                f"tool {made.name!r} has a timeout and is not async: its thread could not be stopped; make it async, or leave "
                "the timeout out"
            )
        return made

    return make(func) if callable(func) else make


class _Body:
    """Runs a function on the arguments of a call, as JSON text or parsed, and says what the model is told where it fails."""

    __slots__ = ("_function", "_schema", "describe", "is_async")

    def __init__(self, function: Callable[..., Any], schema: FuncSchema, describe: ToolErrorFunction | None) -> None:
        self._function = function
        self._schema = schema
        self.describe = describe
        called = getattr(function, "__call__", None)  # noqa: B004 - of an object of a class
        self.is_async = inspect.iscoroutinefunction(function) or inspect.iscoroutinefunction(called)

    async def invoke(self, ctx: ToolContext[Any], given: str | dict[str, Any]) -> Any:
        """What the function returns, or what the model is told of what it raised."""
        try:
            data = parse_arguments(self._schema.name, given) if isinstance(given, str) else given
            args, named = self._bound(ctx, data)
            if self.is_async:
                return await self._function(*args, **named)
            return await asyncio.to_thread(self._function, *args, **named)
        except Exception as error:
            if self.describe is None:
                raise
            _show(self._schema.name, error)
            text = self.describe(ctx, error)
            return await text if inspect.isawaitable(text) else text

    def _bound(self, ctx: ToolContext[Any], data: dict[str, Any]) -> tuple[list[Any], dict[str, Any]]:
        schema = self._schema
        try:
            checked = schema.params_pydantic_model(**data)
        except ValidationError as error:
            raise ModelBehaviorError(f"Invalid JSON input for tool {schema.name}: {error}") from error
        args, named = schema.to_call_args(checked)
        return ([ctx, *args] if schema.takes_context else args), named


def _show(name: str, error: Exception) -> None:
    """Have the span of a call say what its tool raised, by its kind only: the message may hold what nobody is to see."""
    from agentsdk.compat.openai_agents.tracing.scope import current_span
    from agentsdk.compat.openai_agents.tracing.span_data import FunctionSpanData

    span = current_span.get()
    if span is not None and isinstance(span.span_data, FunctionSpanData):
        data = {"tool_name": name, "error": type(error).__name__}
        span.set_error({"message": "Error running tool (non-fatal)", "data": data})
