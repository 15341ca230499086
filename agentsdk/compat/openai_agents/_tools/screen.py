"""Computers that the model drives, and how those of a run are made and disposed of."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, Generic, Protocol, TypeVar, cast

from agentsdk.compat.openai_agents._tools.function import MaybeAwaitable
from agentsdk.compat.openai_agents.computer import AsyncComputer, Computer
from agentsdk.compat.openai_agents.exceptions import UserError
from agentsdk.compat.openai_agents.run_context import RunContextWrapper


@dataclass(frozen=True)
class ComputerToolCustomDataContext:
    """What a `custom_data_extractor` of a computer tool is given."""

    run_context: RunContextWrapper[Any]
    tool: ComputerTool[Any]
    tool_call: Any
    output: str
    raw_item: Any


ComputerToolCustomDataExtractor = Callable[[ComputerToolCustomDataContext], "MaybeAwaitable[dict[str, Any] | None]"]


ComputerLike = Computer | AsyncComputer


ComputerT = TypeVar("ComputerT", bound=ComputerLike)


ComputerT_co = TypeVar("ComputerT_co", bound=ComputerLike, covariant=True)


ComputerT_contra = TypeVar("ComputerT_contra", bound=ComputerLike, contravariant=True)


class ComputerCreate(Protocol[ComputerT_co]):
    """Makes the computer of a run."""

    def __call__(self, *, run_context: RunContextWrapper[Any]) -> MaybeAwaitable[ComputerT_co]: ...


class ComputerDispose(Protocol[ComputerT_contra]):
    """Disposes of the computer of a run."""

    def __call__(self, *, run_context: RunContextWrapper[Any], computer: ComputerT_contra) -> MaybeAwaitable[None]: ...


@dataclass
class ComputerProvider(Generic[ComputerT]):
    """Makes a computer for each run, and disposes of it."""

    create: ComputerCreate[ComputerT]
    dispose: ComputerDispose[ComputerT] | None = None


@dataclass
class ComputerToolSafetyCheckData:
    """What `on_safety_check` is given."""

    ctx_wrapper: RunContextWrapper[Any]
    agent: Any
    tool_call: Any
    safety_check: Any


@dataclass(eq=False)
class ComputerTool(Generic[ComputerT]):
    """Lets the model drive a computer: one, or one for each run."""

    computer: ComputerT | ComputerCreate[ComputerT] | ComputerProvider[ComputerT]
    on_safety_check: Callable[[ComputerToolSafetyCheckData], MaybeAwaitable[bool]] | None = None
    custom_data_extractor: ComputerToolCustomDataExtractor | None = field(default=None, kw_only=True)

    @property
    def name(self) -> str:
        """Its name."""
        return "computer_use_preview"

    @property
    def trace_name(self) -> str:
        """Its name in traces."""
        return "computer"


_computers: dict[int, dict[int, tuple[ComputerTool[Any], Any]]] = {}


async def resolve_computer(*, tool: ComputerTool[Any], run_context: RunContextWrapper[Any]) -> ComputerLike:
    """The computer of a run: made when it is first asked for."""
    made = _computers.setdefault(id(run_context), {})
    if id(tool) in made:
        return made[id(tool)][1]
    given: Any = tool.computer
    if isinstance(given, ComputerProvider):
        given = cast("ComputerProvider[Any]", given).create(run_context=run_context)
    elif callable(given) and not isinstance(given, Computer | AsyncComputer):
        given = given(run_context=run_context)
    computer: Any = await given if inspect.isawaitable(given) else given
    if not isinstance(computer, Computer | AsyncComputer):
        raise UserError(f"the computer is a {type(computer).__name__}, expected a Computer or an AsyncComputer; subclass one")
    made[id(tool)] = (tool, computer)
    return computer


async def dispose_resolved_computers(*, run_context: RunContextWrapper[Any]) -> None:
    """Dispose of the computers that were made for a run."""
    for tool, computer in _computers.pop(id(run_context), {}).values():
        provider: Any = tool.computer
        if isinstance(provider, ComputerProvider) and (dispose := cast(Any, provider).dispose) is not None:
            disposed = dispose(run_context=run_context, computer=computer)
            if inspect.isawaitable(disposed):
                await disposed
