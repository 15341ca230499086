"""`OutputFunction`: the model gives the arguments of a function, whose result is the final output."""

from __future__ import annotations

import functools
from collections.abc import Awaitable, Callable
from typing import Any, cast, overload

import msgspec

from agentsdk.core.arguments import parse_arguments
from agentsdk.define.function_tool import name_of
from agentsdk.define.output import AgentOutputSchema, check_mode, read_json_partly, reader_of, unfenced
from agentsdk.define.parameters import MISSING, local_names, read_return_type
from agentsdk.define.schema import function_schema
from agentsdk.define.tool import FunctionTool, tool_of
from agentsdk.define.tool_body import BoundArguments, FunctionBody
from agentsdk.types.errors import UserError
from agentsdk.types.generics import TOutput
from agentsdk.types.spec import OutputMode, OutputSpec
from agentsdk.types.text import clean_value


class OutputFunction(AgentOutputSchema[TOutput]):
    """A function, sync or async, that the model ends with: it gives the arguments, and what the function returns is the output.

    Arguments and docstring are those of a tool (see `function_tool`), the context may come first. An exception of the function
    goes back to the model, as an output that does not fit does. What it returned is recorded; a process that dies before may
    have called it, and who resumes the run calls it again: what must not happen twice belongs into a tool.

    Raises `UserError` for what cannot be a tool.
    """

    __slots__ = ("tool",)

    @overload
    def __init__(
        self, function: Callable[..., Awaitable[TOutput]], strict_json_schema: bool = True, *, mode: OutputMode = "native"
    ) -> None: ...
    @overload
    def __init__(
        self, function: Callable[..., TOutput], strict_json_schema: bool = True, *, mode: OutputMode = "native"
    ) -> None: ...
    def __init__(
        self, function: Callable[..., object], strict_json_schema: bool = True, *, mode: OutputMode = "native"
    ) -> None:
        check_mode(strict_json_schema, mode)
        name = name_of(function)
        scope = local_names(function, 2)
        read = functools.partial(
            function_schema, function, name_override=name, strict_json_schema=strict_json_schema, scope=scope
        )
        schema = read()
        described = {"description": schema.description} if schema.description else {}
        returned = read_return_type(function, name, scope)
        self.output_type = cast("type[TOutput]", Any if returned is MISSING else returned)
        self.strict_json_schema = strict_json_schema
        self.mode = mode
        self.name = name
        self.spec = OutputSpec(name, clean_value({**schema.params_json_schema, **described}), strict_json_schema, mode)
        self.tool: FunctionTool[Any] = tool_of(name, FunctionBody(function, read, None, scope), strict_json_schema, {})
        self._described = None

    def __repr__(self) -> str:
        return f"OutputFunction({self.name})"

    @property
    def is_plain_text(self) -> bool:
        return False

    @property
    def is_function(self) -> bool:
        return True

    def partial(self, text: str) -> object:
        return read_json_partly(text)

    def bind(self, text: str) -> BoundArguments:
        """The model's final text, or the arguments of its call, as the function takes them. Raises `InvalidArgumentsError`."""
        return self.tool.bind(parse_arguments(unfenced(text)))

    def validate(self, text: str) -> TOutput:
        """What the function returned, given as JSON text: as its return type says, where that has a JSON form."""
        return self.validate_json(text)

    def validate_json(self, text: str) -> TOutput:
        """The same."""
        if cast(object, self.output_type) is Any:
            return cast(TOutput, msgspec.json.decode(text))
        try:
            read = reader_of(self.output_type)
        except UserError:  # it may return what it likes
            return cast(TOutput, msgspec.json.decode(text))
        return cast(TOutput, read(text))

    def stand_in(self, tool: FunctionTool[Any]) -> OutputFunction[TOutput]:
        """The same, with another tool in place of its own."""
        twin: OutputFunction[TOutput] = object.__new__(type(self))
        for field in (*AgentOutputSchema.__slots__, "tool"):
            setattr(twin, field, getattr(self, field))
        twin.tool = tool
        return twin
