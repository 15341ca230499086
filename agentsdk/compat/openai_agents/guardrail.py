"""Guardrails of a run's input and output."""

from __future__ import annotations

import inspect
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Generic, TypeAlias, TypeVar, overload

from agentsdk.compat.openai_agents._absent import names_absent_in
from agentsdk.compat.openai_agents.exceptions import UserError
from agentsdk.compat.openai_agents.run_context import RunContextWrapper, TContext

if TYPE_CHECKING:
    from agentsdk.compat.openai_agents.agent import Agent

T = TypeVar("T")
MaybeAwaitable: TypeAlias = Awaitable[T] | T


@dataclass
class GuardrailFunctionOutput:
    """What a guardrail's function returns."""

    output_info: Any
    tripwire_triggered: bool


@dataclass
class InputGuardrailResult:
    """What an input guardrail said."""

    guardrail: InputGuardrail[Any]
    output: GuardrailFunctionOutput


@dataclass
class OutputGuardrailResult:
    """What an output guardrail said of an agent's output."""

    guardrail: OutputGuardrail[Any]
    agent_output: Any
    agent: Agent[Any]
    output: GuardrailFunctionOutput


InputGuardrailFunction = Callable[
    [RunContextWrapper[TContext], "Agent[Any]", "str | list[Any]"], MaybeAwaitable[GuardrailFunctionOutput]
]
OutputGuardrailFunction = Callable[[RunContextWrapper[TContext], "Agent[Any]", Any], MaybeAwaitable[GuardrailFunctionOutput]]


def _name(function: object) -> str:
    return str(getattr(function, "__name__", type(function).__name__))


def _require_callable(guardrail: object, function: object) -> None:
    if not callable(function):
        raise UserError(f"{type(guardrail).__name__} was given {function!r}, expected a function; pass a def or async def")


@dataclass
class InputGuardrail(Generic[TContext]):
    """Checks the input of the agent that a run begins with, beside its first model call or before it."""

    guardrail_function: InputGuardrailFunction[TContext]
    name: str | None = None
    run_in_parallel: bool = True

    def get_name(self) -> str:
        """Its name, or that of its function."""
        return self.name or _name(self.guardrail_function)

    async def run(
        self, agent: Agent[Any], input: str | list[Any], context: RunContextWrapper[TContext]
    ) -> InputGuardrailResult:
        """Ask its function."""
        _require_callable(self, self.guardrail_function)
        given = self.guardrail_function(context, agent, input)
        return InputGuardrailResult(self, await given if inspect.isawaitable(given) else given)


@dataclass
class OutputGuardrail(Generic[TContext]):
    """Checks the final output of the agent that gives it."""

    guardrail_function: OutputGuardrailFunction[TContext]
    name: str | None = None

    def get_name(self) -> str:
        """Its name, or that of its function."""
        return self.name or _name(self.guardrail_function)

    async def run(self, context: RunContextWrapper[TContext], agent: Agent[Any], agent_output: Any) -> OutputGuardrailResult:
        """Ask its function."""
        _require_callable(self, self.guardrail_function)
        given = self.guardrail_function(context, agent, agent_output)
        return OutputGuardrailResult(self, agent_output, agent, await given if inspect.isawaitable(given) else given)


@overload
def input_guardrail(func: InputGuardrailFunction[TContext]) -> InputGuardrail[TContext]: ...
@overload
def input_guardrail(
    *, name: str | None = None, run_in_parallel: bool = True
) -> Callable[[InputGuardrailFunction[TContext]], InputGuardrail[TContext]]: ...
def input_guardrail(
    func: InputGuardrailFunction[TContext] | None = None, *, name: str | None = None, run_in_parallel: bool = True
) -> InputGuardrail[TContext] | Callable[[InputGuardrailFunction[TContext]], InputGuardrail[TContext]]:
    """Make a function, sync or async, an input guardrail."""

    def make(function: InputGuardrailFunction[TContext]) -> InputGuardrail[TContext]:
        return InputGuardrail(function, name or _name(function), run_in_parallel)

    return make if func is None else make(func)


@overload
def output_guardrail(func: OutputGuardrailFunction[TContext]) -> OutputGuardrail[TContext]: ...
@overload
def output_guardrail(
    *, name: str | None = None
) -> Callable[[OutputGuardrailFunction[TContext]], OutputGuardrail[TContext]]: ...
def output_guardrail(
    func: OutputGuardrailFunction[TContext] | None = None, *, name: str | None = None
) -> OutputGuardrail[TContext] | Callable[[OutputGuardrailFunction[TContext]], OutputGuardrail[TContext]]:
    """Make a function, sync or async, an output guardrail."""

    def make(function: OutputGuardrailFunction[TContext]) -> OutputGuardrail[TContext]:
        return OutputGuardrail(function, name or _name(function))

    return make if func is None else make(func)


if not TYPE_CHECKING:
    __getattr__ = names_absent_in(__name__)
