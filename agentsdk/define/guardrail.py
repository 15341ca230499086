"""`input_guardrail` and `output_guardrail`: checks of a run's input and of its output.

The classes of what they make are in `agent.py`, tool guardrails in `tool_guardrail.py`.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from typing import Protocol, TypeVar, overload

from agentsdk.define.agent import InputGuardrail, InputGuardrailFunction, OutputGuardrail, OutputGuardrailFunction
from agentsdk.define.tool_guardrail import callable_name
from agentsdk.types.events import GuardrailPlace
from agentsdk.types.generics import TContext


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
        return InputGuardrail(function, callable_name(function) if name is None else name, run_in_parallel)

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
        return OutputGuardrail(function, callable_name(function) if name is None else name)

    return make if func is None else make(func)


class _Named(Protocol):
    @property
    def name(self) -> str: ...


G = TypeVar("G", bound=_Named)


def places(guardrails: Sequence[G]) -> list[tuple[GuardrailPlace, G]]:
    """The guardrails of one list, each with its place: what its recorded results are bound to, as names may repeat."""
    if len(guardrails) == 1:
        return [((guardrails[0].name, 0, 1), guardrails[0])]
    occurrences = Counter([guardrail.name for guardrail in guardrails])
    seen: Counter[str] = Counter()
    placed: list[tuple[GuardrailPlace, G]] = []
    for guardrail in guardrails:
        name = guardrail.name
        placed.append(((name, seen[name], occurrences[name]), guardrail))
        seen[name] += 1
    return placed
