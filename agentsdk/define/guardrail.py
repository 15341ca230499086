"""Guardrails: checks of a run's input, of its output, and of single tool calls."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import TYPE_CHECKING, Any, Generic, Literal, overload

from msgspec import Struct

from agentsdk.define.context import RunContextWrapper, ToolContext
from agentsdk.types.generics import TContext
from agentsdk.types.items import Item

if TYPE_CHECKING:
    from agentsdk.define.agent import Agent


class GuardrailFunctionOutput(Struct, frozen=True):
    """A guardrail's verdict. `output_info` is any JSON-like detail: it is kept in the run's log."""

    output_info: Any
    tripwire_triggered: bool


class ToolGuardrailFunctionOutput(Struct, frozen=True):
    """A tool guardrail's verdict: let the call be, give the model `message` instead, or stop the run."""

    output_info: Any = None
    behavior: Literal["allow", "reject_content", "raise_exception"] = "allow"
    message: str = ""

    @classmethod
    def allow(cls, output_info: Any = None) -> ToolGuardrailFunctionOutput:
        """Let the call, or its output, pass."""
        return cls(output_info)

    @classmethod
    def reject_content(cls, message: str, output_info: Any = None) -> ToolGuardrailFunctionOutput:
        """Give the model `message` in place of the result; of an input guardrail, the tool is not run."""
        return cls(output_info, "reject_content", message)

    @classmethod
    def raise_exception(cls, output_info: Any = None) -> ToolGuardrailFunctionOutput:
        """Stop the run with a tripwire error."""
        return cls(output_info, "raise_exception")


class ToolInputGuardrailData(Struct, Generic[TContext], frozen=True):
    """What a tool input guardrail sees: the call, in `context.tool_name` and `context.tool_arguments`."""

    context: ToolContext[TContext]
    agent: Agent[TContext, Any]


class ToolOutputGuardrailData(Struct, Generic[TContext], frozen=True):
    """What a tool output guardrail sees: the call and what the tool returned."""

    context: ToolContext[TContext]
    agent: Agent[TContext, Any]
    output: object


InputGuardrailFunction = Callable[
    [RunContextWrapper[TContext], "Agent[TContext, Any]", tuple[Item, ...]],
    "GuardrailFunctionOutput | Awaitable[GuardrailFunctionOutput]",
]
OutputGuardrailFunction = Callable[
    [RunContextWrapper[TContext], "Agent[TContext, Any]", Any],
    "GuardrailFunctionOutput | Awaitable[GuardrailFunctionOutput]",
]
ToolInputGuardrailFunction = Callable[
    [ToolInputGuardrailData[TContext]], "ToolGuardrailFunctionOutput | Awaitable[ToolGuardrailFunctionOutput]"
]
ToolOutputGuardrailFunction = Callable[
    [ToolOutputGuardrailData[TContext]], "ToolGuardrailFunctionOutput | Awaitable[ToolGuardrailFunctionOutput]"
]


class InputGuardrail(Struct, Generic[TContext], frozen=True):
    """Checks the input of a run, once, for the agent the run starts with.

    With `run_in_parallel` it runs beside the first model call; no tool starts before it has passed either way.
    """

    guardrail_function: InputGuardrailFunction[TContext]
    name: str
    run_in_parallel: bool = True


class OutputGuardrail(Struct, Generic[TContext], frozen=True):
    """Checks the final output of the agent that gives it."""

    guardrail_function: OutputGuardrailFunction[TContext]
    name: str


class ToolInputGuardrail(Struct, Generic[TContext], frozen=True):
    """Checks a tool call before it runs."""

    guardrail_function: ToolInputGuardrailFunction[TContext]
    name: str


class ToolOutputGuardrail(Struct, Generic[TContext], frozen=True):
    """Checks what a tool returned before the model sees it."""

    guardrail_function: ToolOutputGuardrailFunction[TContext]
    name: str


class GuardrailResult(Struct, frozen=True):
    """A verdict with the name of its guardrail."""

    guardrail: str
    output: GuardrailFunctionOutput | ToolGuardrailFunctionOutput


@overload
def input_guardrail(
    func: InputGuardrailFunction[TContext], *, name: str | None = None, run_in_parallel: bool = True
) -> InputGuardrail[TContext]: ...
@overload
def input_guardrail(
    func: None = None, *, name: str | None = None, run_in_parallel: bool = True
) -> Callable[[InputGuardrailFunction[TContext]], InputGuardrail[TContext]]: ...
def input_guardrail(
    func: InputGuardrailFunction[TContext] | None = None, *, name: str | None = None, run_in_parallel: bool = True
) -> InputGuardrail[TContext] | Callable[[InputGuardrailFunction[TContext]], InputGuardrail[TContext]]:
    """Make `func(context, agent, input)`, sync or async, an input guardrail."""

    def make(function: InputGuardrailFunction[TContext]) -> InputGuardrail[TContext]:
        return InputGuardrail(function, name or _name(function), run_in_parallel)

    return make if func is None else make(func)


@overload
def output_guardrail(func: OutputGuardrailFunction[TContext], *, name: str | None = None) -> OutputGuardrail[TContext]: ...
@overload
def output_guardrail(
    func: None = None, *, name: str | None = None
) -> Callable[[OutputGuardrailFunction[TContext]], OutputGuardrail[TContext]]: ...
def output_guardrail(
    func: OutputGuardrailFunction[TContext] | None = None, *, name: str | None = None
) -> OutputGuardrail[TContext] | Callable[[OutputGuardrailFunction[TContext]], OutputGuardrail[TContext]]:
    """Make `func(context, agent, output)`, sync or async, an output guardrail."""

    def make(function: OutputGuardrailFunction[TContext]) -> OutputGuardrail[TContext]:
        return OutputGuardrail(function, name or _name(function))

    return make if func is None else make(func)


def tool_input_guardrail(func: ToolInputGuardrailFunction[TContext]) -> ToolInputGuardrail[TContext]:
    """Make `func(data)`, sync or async, a tool input guardrail."""
    return ToolInputGuardrail(func, _name(func))


def tool_output_guardrail(func: ToolOutputGuardrailFunction[TContext]) -> ToolOutputGuardrail[TContext]:
    """Make `func(data)`, sync or async, a tool output guardrail."""
    return ToolOutputGuardrail(func, _name(func))


def _name(function: object) -> str:
    return str(getattr(function, "__name__", type(function).__name__))
