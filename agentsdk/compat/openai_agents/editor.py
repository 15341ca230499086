"""Editors that carry out a model's patches."""

from __future__ import annotations

from collections.abc import Awaitable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal, Protocol, runtime_checkable

if TYPE_CHECKING:
    from agentsdk.compat.openai_agents.run_context import RunContextWrapper

ApplyPatchOperationType = Literal["create_file", "update_file", "delete_file"]


@dataclass(slots=True)
class ApplyPatchOperation:
    """One change of one file."""

    type: ApplyPatchOperationType
    path: str
    diff: str | None = None
    ctx_wrapper: RunContextWrapper[Any] | None = None
    move_to: str | None = None


@dataclass(slots=True)
class ApplyPatchResult:
    """What a change came to."""

    status: Literal["completed", "failed"] | None = None
    output: str | None = None


_Result = ApplyPatchResult | str | None


@runtime_checkable
class ApplyPatchEditor(Protocol):
    """Changes files as it is told. Each method is sync or async."""

    def create_file(self, operation: ApplyPatchOperation) -> Awaitable[_Result] | _Result: ...
    def update_file(self, operation: ApplyPatchOperation) -> Awaitable[_Result] | _Result: ...
    def delete_file(self, operation: ApplyPatchOperation) -> Awaitable[_Result] | _Result: ...
