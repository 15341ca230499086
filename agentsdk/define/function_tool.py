"""`function_tool`: makes a tool of a function."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable
from typing import Any, Concatenate, ParamSpec, Protocol, TypeVar, Unpack, get_args, overload

from agentsdk.define.context import ToolContext
from agentsdk.define.docstring import DocstringStyle
from agentsdk.define.misnamed import meant_for_tool
from agentsdk.define.parameters import local_names, unwrapped
from agentsdk.define.schema import function_schema
from agentsdk.define.tool import DESCRIPTION, FunctionTool, tool_of
from agentsdk.define.tool_body import FunctionBody
from agentsdk.define.tool_options import FunctionToolOptions, ToolOptions, shows_tool_options
from agentsdk.types.declared import FLAG, Fields, a_tool_name, one_of, optional
from agentsdk.types.errors import UserError
from agentsdk.types.misnamed import unexpected

C = TypeVar("C")
P = ParamSpec("P")

_OVERRIDES = Fields(
    "function_tool",
    name_override=optional(a_tool_name("a name for the tool")),
    description_override=optional(DESCRIPTION),
    use_docstring_info=FLAG,
    docstring_style=optional(one_of(f"one of {get_args(DocstringStyle)}", get_args(DocstringStyle))),
    strict_mode=FLAG,
)


class _ToolDecorator(Protocol):
    @overload
    def __call__(self, func: Callable[Concatenate[ToolContext[C], P], object], /) -> FunctionTool[C]: ...
    @overload
    def __call__(self, func: Callable[..., object], /) -> FunctionTool[Any]: ...


@overload
def function_tool(
    func: Callable[Concatenate[ToolContext[C], P], object], **options: Unpack[FunctionToolOptions[C]]
) -> FunctionTool[C]: ...
@overload
def function_tool(func: Callable[..., object], **options: Unpack[FunctionToolOptions[Any]]) -> FunctionTool[Any]: ...
@overload
def function_tool(func: None = None, **options: Unpack[FunctionToolOptions[Any]]) -> _ToolDecorator: ...
@shows_tool_options(ToolOptions)
def function_tool(
    func: Callable[..., object] | None = None,
    *,
    name_override: str | None = None,
    description_override: str | None = None,
    use_docstring_info: bool = True,
    docstring_style: DocstringStyle | None = None,
    strict_mode: bool = True,
    **options: Unpack[ToolOptions[Any]],
) -> FunctionTool[Any] | _ToolDecorator:
    """Make a function, sync or async, a tool: `@function_tool`, or `@function_tool(timeout=5)`.

    Name, description and arguments come from the function's name, docstring and type hints; a first parameter annotated
    `ToolContext` or `RunContextWrapper` receives the context and is not shown to the model. With `strict_mode` the provider is
    asked to enforce the schema.

    Of the other options, all described at `FunctionTool`: with `needs_approval` a person decides on each call; `timeout` is in
    seconds; `retry` and `transient` say when a call is tried again, `effect` what that could do; `failure_error_function` makes
    of an error what the model is told; `is_enabled` says whether it is offered, `permission` what a run must be granted,
    `untrusted` that strangers write its results. An `external` one is never called: its return type says what the answers
    from outside must be.

    Raises `UserError` at once for what cannot be a tool. Types are read when the tool is first used, so that they may be
    declared further down, and raise `UserError` then, before any request is sent.
    """

    if options and (unknown := options.keys() - ToolOptions.__optional_keys__):
        raise unexpected("function_tool()", min(unknown), ToolOptions.__optional_keys__, meant_for_tool)
    _OVERRIDES.check_given(
        name_override=name_override,
        description_override=description_override,
        use_docstring_info=use_docstring_info,
        docstring_style=docstring_style,
        strict_mode=strict_mode,
    )

    def make(function: Callable[..., object]) -> FunctionTool[Any]:
        own_name = name_of(function)
        name = own_name if name_override is None else name_override
        scope = local_names(function, depth)
        read = functools.partial(
            function_schema,
            function,
            name_override=name,
            use_docstring_info=use_docstring_info,
            docstring_style=docstring_style,
            strict_json_schema=strict_mode,
            scope=scope,
        )
        body = FunctionBody(function, read, description_override, scope)
        return tool_of(name, body, strict_mode, options)

    # The caller's frame, seen from `local_names`: past `make`, and past this function when it was called with the function.
    depth = 2 if func is None else 3
    return make if func is None else make(func)


tool = function_tool
"""Short for `function_tool`."""


_GENERATOR = inspect.CO_GENERATOR | inspect.CO_ASYNC_GENERATOR


def name_of(function: Callable[..., object]) -> str:
    """The name of what can be a tool. Raises `UserError` for what cannot."""
    given: object = function
    kind = type(given)
    if not callable(given) or issubclass(kind, (type, FunctionTool)):
        raise UserError(f"function_tool was given a {kind.__name__!r}, expected a function; pass a def or async def")
    inner = unwrapped(function)
    name = kind.__name__ if inner.__name__ == "__call__" else inner.__name__
    code = getattr(inner, "__code__", None)
    if code is not None and code.co_flags & _GENERATOR:
        raise UserError(f"tool {name!r} is a generator function, expected one that returns its result; return a list")
    return name
