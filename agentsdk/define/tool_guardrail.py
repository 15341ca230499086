"""Tool guardrails: checks of single tool calls, before they run and after."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import Any, Generic, Protocol

from agentsdk.define.context import ToolContext
from agentsdk.define.guardrail_output import ToolGuardrailFunctionOutput
from agentsdk.ports.model import Model
from agentsdk.types.declared import CALLABLE, Expected, Fields, a, a_name, sequence_of
from agentsdk.types.generics import TContext
from agentsdk.types.items import Part
from agentsdk.types.settings import ModelSettings
from agentsdk.types.text import require_text


class CallingAgent(Protocol):
    """The `Agent` that asked for a call, as far as its type can be named here. `isinstance(agent, Agent)` gives the rest."""

    @property
    def name(self) -> str:
        """Its name."""
        ...

    @property
    def model(self) -> str | Model | Callable[..., Any] | None:
        """Its model, as it was declared."""
        ...

    @property
    def model_settings(self) -> ModelSettings:
        """Its settings."""
        ...

    @property
    def handoff_description(self) -> str:
        """Its description for the agents that may hand over to it."""
        ...


# Without slots: of a frozen generic class that has them Python 3.11 cannot make `ToolInputGuardrailData[User](...)`.
@dataclass(frozen=True)
class ToolInputGuardrailData(Generic[TContext]):
    """What a tool input guardrail sees: the call, in `context.tool_name` and `context.tool_arguments`."""

    context: ToolContext[TContext]
    agent: CallingAgent


@dataclass(frozen=True)
class ToolOutputGuardrailData(Generic[TContext]):
    """What a tool output guardrail sees: the call and its recorded result.

    `output` is what the model is to get, whole also where the model gets it cut: text (of other values their JSON) or a tuple
    of content parts. `is_error`: it says that the call failed.
    """

    context: ToolContext[TContext]
    agent: CallingAgent
    output: str | tuple[Part, ...]
    is_error: bool = False


ToolInputGuardrailFunction = Callable[
    [ToolInputGuardrailData[TContext]], "ToolGuardrailFunctionOutput | Awaitable[ToolGuardrailFunctionOutput]"
]
ToolOutputGuardrailFunction = Callable[
    [ToolOutputGuardrailData[TContext]], "ToolGuardrailFunctionOutput | Awaitable[ToolGuardrailFunctionOutput]"
]


def guardrail_fields(kind: str, **more: Expected) -> Fields:
    """What the fields of a guardrail must be."""
    return Fields(kind, guardrail_function=CALLABLE, name=a_name("a str that is not empty; name the guardrail"), **more)


_TOOL_INPUT = guardrail_fields("ToolInputGuardrail")
_TOOL_OUTPUT = guardrail_fields("ToolOutputGuardrail")


@dataclass(frozen=True)
class ToolInputGuardrail(Generic[TContext]):
    """Checks a tool call before it runs."""

    guardrail_function: ToolInputGuardrailFunction[TContext]
    name: str

    def __post_init__(self) -> None:
        _TOOL_INPUT.check(self)
        require_text("a tool input guardrail", self.name)


@dataclass(frozen=True)
class ToolOutputGuardrail(Generic[TContext]):
    """Checks the result of a call, once it is recorded and before the model sees it."""

    guardrail_function: ToolOutputGuardrailFunction[TContext]
    name: str

    def __post_init__(self) -> None:
        _TOOL_OUTPUT.check(self)
        require_text("a tool output guardrail", self.name)


def guardrails_of(kind: type, decorator: str) -> Expected:
    """A list of guardrails of one kind."""
    one = a(kind, f"an {kind.__name__}; decorate the function with @{decorator}")
    return sequence_of(one, f"a list or tuple of {kind.__name__}s; decorate functions with @{decorator}")


TOOL_INPUT_GUARDRAILS = guardrails_of(ToolInputGuardrail, "tool_input_guardrail")
TOOL_OUTPUT_GUARDRAILS = guardrails_of(ToolOutputGuardrail, "tool_output_guardrail")


def tool_input_guardrail(func: ToolInputGuardrailFunction[TContext]) -> ToolInputGuardrail[TContext]:
    """Make `func(data)`, sync or async, a tool input guardrail."""
    return ToolInputGuardrail(func, callable_name(func))


def tool_output_guardrail(func: ToolOutputGuardrailFunction[TContext]) -> ToolOutputGuardrail[TContext]:
    """Make `func(data)`, sync or async, a tool output guardrail."""
    return ToolOutputGuardrail(func, callable_name(func))


def callable_name(function: object) -> str:
    """The name of a function, or of the class of another callable."""
    return str(getattr(function, "__name__", type(function).__name__))
