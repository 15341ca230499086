"""`custom_tool`: a tool that is called with a text, which a grammar may constrain, in place of arguments by name."""

from __future__ import annotations

import functools
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Concatenate, Literal, Protocol, TypeVar, Unpack, overload

from agentsdk.define.context import ToolContext
from agentsdk.define.function_tool import name_of
from agentsdk.define.parameters import local_names
from agentsdk.define.schema import FunctionSchema, function_schema
from agentsdk.define.tool import DESCRIPTION, FunctionTool, tool_of
from agentsdk.define.tool_body import BoundArguments, FunctionBody
from agentsdk.define.tool_options import ToolOptions, shows_tool_options
from agentsdk.types.base import JsonObject
from agentsdk.types.declared import Fields, a, a_name, a_tool_name, one_of, optional
from agentsdk.types.errors import UserError

C = TypeVar("C")

TEXT_SCHEMA: JsonObject = {
    "type": "object",
    "properties": {"input": {"type": "string"}},
    "required": ["input"],
    "additionalProperties": False,
}
"""The arguments of a custom call: the text that the model wrote."""


@dataclass(frozen=True, slots=True)
class Grammar:
    """What a custom tool's input must fit, in the `definition` of a syntax: Lark's, or one regular expression.

    Providers differ in how much of either they take. Raises `UserError` for an unknown syntax and an empty definition.
    """

    syntax: Literal["lark", "regex"]
    definition: str

    def __post_init__(self) -> None:
        _GRAMMAR.check(self)


_GRAMMAR = Fields(
    Grammar,
    syntax=one_of("'lark' or 'regex'", ("lark", "regex")),
    definition=a_name("a text that is not empty; write Grammar('regex', '[0-9]+')"),
)
_OPTIONS = Fields(
    "custom_tool",
    grammar=optional(a(Grammar, "a Grammar; pass Grammar('lark', ...)")),
    name_override=optional(a_tool_name("a name for the tool")),
    description_override=optional(DESCRIPTION),
)


class _TextBody(FunctionBody[Any]):
    """A function of one text."""

    __slots__ = ()

    @property
    def params_json_schema(self) -> JsonObject:
        _ = self._parameter
        return TEXT_SCHEMA

    def bind(self, given: JsonObject | None, arguments: Mapping[str, object]) -> BoundArguments:
        from agentsdk.core.json_schema import check_arguments  # as in `tool_body`

        check_arguments(TEXT_SCHEMA, arguments)
        return super().bind(given, {self._parameter: arguments["input"]})

    @property
    def _parameter(self) -> str:
        """The name of the function's own parameter."""
        schema: FunctionSchema = self._known
        names = schema.text_parameters
        if len(names) != 1:
            raise UserError(
                f"custom tool {schema.name!r} is a function of other parameters than one str, expected that, and the context "
                "before it if need be; it is called with a text"
            )
        return names[0]


class _ToolDecorator(Protocol):
    @overload
    def __call__(self, func: Callable[Concatenate[ToolContext[C], ...], object], /) -> FunctionTool[C]: ...
    @overload
    def __call__(self, func: Callable[[str], object], /) -> FunctionTool[Any]: ...


@overload
def custom_tool(func: Callable[[str], object], /) -> FunctionTool[Any]: ...
@overload
def custom_tool(
    func: None = None,
    /,
    *,
    grammar: Grammar | None = None,
    name_override: str | None = None,
    description_override: str | None = None,
    **options: Unpack[ToolOptions[Any]],
) -> _ToolDecorator: ...
@shows_tool_options(ToolOptions)
def custom_tool(
    func: Callable[..., object] | None = None,
    /,
    *,
    grammar: Grammar | None = None,
    name_override: str | None = None,
    description_override: str | None = None,
    **options: Unpack[ToolOptions[Any]],
) -> FunctionTool[Any] | _ToolDecorator:
    """Make a function of one text, sync or async, a tool that the model calls with a text: code, a query, a patch.

    A provider with custom tools constrains the text to the `grammar`. With the others it is a function with one argument,
    `input`, and the grammar part of its description, which nobody enforces: check the text. Name and description come from the
    function's name and docstring. The other options are described at `FunctionTool`.

    Raises `UserError` at once for what cannot be a tool or a wrong option, and when the tool is first used for other parameters
    than one str, behind the context where it is asked for.
    """
    if options and (unknown := options.keys() - ToolOptions.__optional_keys__):
        raise TypeError(f"custom_tool() got an unexpected keyword argument {min(unknown)!r}")
    _OPTIONS.check_given(grammar=grammar, name_override=name_override, description_override=description_override)
    if options.get("kind", "custom") != "custom" or options.get("kind_settings") is not None:
        raise UserError("custom_tool was given a kind or kind_settings, expected neither; it has its own")

    def make(function: Callable[..., object]) -> FunctionTool[Any]:
        name = name_of(function) if name_override is None else name_override
        scope = local_names(function, depth)
        read = functools.partial(function_schema, function, name_override=name, scope=scope)
        settings: JsonObject = {}
        if grammar is not None:
            settings["format"] = {"type": "grammar", "syntax": grammar.syntax, "definition": grammar.definition}
        body = _TextBody(function, read, description_override, scope)
        return tool_of(name, body, True, {**options, "kind": "custom", "kind_settings": settings})

    depth = 2 if func is None else 3  # to the caller's frame, past `make` and, called with the function, past this
    return make if func is None else make(func)
