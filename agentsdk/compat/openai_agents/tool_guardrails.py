"""Guardrails of single tool calls."""

from __future__ import annotations

import inspect
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Generic, Literal, TypedDict, overload

from agentsdk.compat.openai_agents._absent import names_absent_in
from agentsdk.compat.openai_agents.exceptions import UserError
from agentsdk.compat.openai_agents.run_context import TContext

if TYPE_CHECKING:
    from agentsdk.compat.openai_agents.agent import Agent
    from agentsdk.compat.openai_agents.tool_context import ToolContext


class RejectContentBehavior(TypedDict):
    """The model is told `message` in place of the result."""

    type: Literal["reject_content"]
    message: str


class RaiseExceptionBehavior(TypedDict):
    """The run is stopped."""

    type: Literal["raise_exception"]


class AllowBehavior(TypedDict):
    """The call, or its output, passes."""

    type: Literal["allow"]


def _allow() -> AllowBehavior:
    return {"type": "allow"}


@dataclass
class ToolGuardrailFunctionOutput:
    """What a tool guardrail returns."""

    output_info: Any
    behavior: RejectContentBehavior | RaiseExceptionBehavior | AllowBehavior = field(default_factory=_allow)

    @classmethod
    def allow(cls, output_info: Any = None) -> ToolGuardrailFunctionOutput:
        """Let it pass."""
        return cls(output_info)

    @classmethod
    def reject_content(cls, message: str, output_info: Any = None) -> ToolGuardrailFunctionOutput:
        """Tell the model `message` in place of the result."""
        return cls(output_info, {"type": "reject_content", "message": message})

    @classmethod
    def raise_exception(cls, output_info: Any = None) -> ToolGuardrailFunctionOutput:
        """Stop the run."""
        return cls(output_info, {"type": "raise_exception"})


@dataclass
class ToolInputGuardrailData:
    """What a tool input guardrail is given."""

    context: ToolContext[Any]
    agent: Agent[Any]


@dataclass
class ToolOutputGuardrailData(ToolInputGuardrailData):
    """What a tool output guardrail is given: `output` is what the tool returned."""

    output: Any


@dataclass
class ToolInputGuardrailResult:
    """What a tool input guardrail said."""

    guardrail: ToolInputGuardrail[Any]
    output: ToolGuardrailFunctionOutput


@dataclass
class ToolOutputGuardrailResult:
    """What a tool output guardrail said."""

    guardrail: ToolOutputGuardrail[Any]
    output: ToolGuardrailFunctionOutput


_InputFunction = Callable[[ToolInputGuardrailData], "ToolGuardrailFunctionOutput | Awaitable[ToolGuardrailFunctionOutput]"]
_OutputFunction = Callable[[ToolOutputGuardrailData], "ToolGuardrailFunctionOutput | Awaitable[ToolGuardrailFunctionOutput]"]


def _name(function: object) -> str:
    return str(getattr(function, "__name__", type(function).__name__))


def _require_callable(guardrail: object, function: object) -> None:
    if not callable(function):
        raise UserError(f"{type(guardrail).__name__} was given {function!r}, expected a function; pass a def or async def")


@dataclass
class ToolInputGuardrail(Generic[TContext]):
    """Checks a call before its tool runs."""

    guardrail_function: _InputFunction
    name: str | None = None

    def get_name(self) -> str:
        """Its name, or that of its function."""
        return self.name or _name(self.guardrail_function)

    async def run(self, data: ToolInputGuardrailData) -> ToolGuardrailFunctionOutput:
        """Ask its function."""
        _require_callable(self, self.guardrail_function)
        given = self.guardrail_function(data)
        return await given if inspect.isawaitable(given) else given


@dataclass
class ToolOutputGuardrail(Generic[TContext]):
    """Checks what a tool returned."""

    guardrail_function: _OutputFunction
    name: str | None = None

    def get_name(self) -> str:
        """Its name, or that of its function."""
        return self.name or _name(self.guardrail_function)

    async def run(self, data: ToolOutputGuardrailData) -> ToolGuardrailFunctionOutput:
        """Ask its function."""
        _require_callable(self, self.guardrail_function)
        given = self.guardrail_function(data)
        return await given if inspect.isawaitable(given) else given


@overload
def tool_input_guardrail(func: _InputFunction) -> ToolInputGuardrail[Any]: ...
@overload
def tool_input_guardrail(*, name: str | None = None) -> Callable[[_InputFunction], ToolInputGuardrail[Any]]: ...
def tool_input_guardrail(
    func: _InputFunction | None = None, *, name: str | None = None
) -> ToolInputGuardrail[Any] | Callable[[_InputFunction], ToolInputGuardrail[Any]]:
    """Make a function, sync or async, a tool input guardrail."""

    def make(function: _InputFunction) -> ToolInputGuardrail[Any]:
        return ToolInputGuardrail(function, name or _name(function))

    return make if func is None else make(func)


@overload
def tool_output_guardrail(func: _OutputFunction) -> ToolOutputGuardrail[Any]: ...
@overload
def tool_output_guardrail(*, name: str | None = None) -> Callable[[_OutputFunction], ToolOutputGuardrail[Any]]: ...
def tool_output_guardrail(
    func: _OutputFunction | None = None, *, name: str | None = None
) -> ToolOutputGuardrail[Any] | Callable[[_OutputFunction], ToolOutputGuardrail[Any]]:
    """Make a function, sync or async, a tool output guardrail."""

    def make(function: _OutputFunction) -> ToolOutputGuardrail[Any]:
        return ToolOutputGuardrail(function, name or _name(function))

    return make if func is None else make(func)


if not TYPE_CHECKING:
    __getattr__ = names_absent_in(__name__)
