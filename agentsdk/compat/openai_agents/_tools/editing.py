"""Editors of files, and custom tools whose input is plain text."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Literal, NotRequired

from typing_extensions import TypedDict

from agentsdk.compat.openai_agents._tools.function import MaybeAwaitable, ToolCaller
from agentsdk.compat.openai_agents.run_context import RunContextWrapper
from agentsdk.compat.openai_agents.tool_context import ToolContext

if TYPE_CHECKING:
    from agentsdk.compat.openai_agents.editor import ApplyPatchEditor, ApplyPatchOperation
    from agentsdk.compat.openai_agents.items import ToolApprovalItem

CustomToolExecutor = Callable[[ToolContext[Any], str], MaybeAwaitable[Any]]


CustomToolApprovalFunction = Callable[[RunContextWrapper[Any], str, str], MaybeAwaitable[bool]]


@dataclass(frozen=True)
class CustomToolCustomDataContext:
    """What a `custom_data_extractor` of a custom tool is given."""

    tool_context: ToolContext[Any]
    tool: CustomTool
    input: str
    output: str
    raw_item: Any


@dataclass(frozen=True)
class ApplyPatchToolCustomDataContext:
    """What a `custom_data_extractor` of an editor is given."""

    run_context: RunContextWrapper[Any]
    tool: ApplyPatchTool
    operations: list[ApplyPatchOperation]
    output: str
    status: Literal["completed", "failed"]
    raw_item: Any


CustomToolCustomDataExtractor = Callable[[CustomToolCustomDataContext], "MaybeAwaitable[dict[str, Any] | None]"]


ApplyPatchToolCustomDataExtractor = Callable[[ApplyPatchToolCustomDataContext], "MaybeAwaitable[dict[str, Any] | None]"]


class ApplyPatchOnApprovalFunctionResult(TypedDict):
    """What was decided on a patch."""

    approve: bool
    reason: NotRequired[str]


class CustomToolOnApprovalFunctionResult(TypedDict):
    """What was decided on a call of a custom tool."""

    approve: bool
    reason: NotRequired[str]


ApplyPatchApprovalFunction = Callable[[RunContextWrapper[Any], "ApplyPatchOperation", str], MaybeAwaitable[bool]]


ApplyPatchOnApprovalFunction = Callable[
    [RunContextWrapper[Any], "ToolApprovalItem"], MaybeAwaitable[ApplyPatchOnApprovalFunctionResult]
]


CustomToolOnApprovalFunction = Callable[
    [RunContextWrapper[Any], "ToolApprovalItem"], MaybeAwaitable[CustomToolOnApprovalFunctionResult]
]


@dataclass
class ApplyPatchTool:
    """Lets the model change files, by an `editor`."""

    editor: ApplyPatchEditor
    name: str = "apply_patch"
    needs_approval: bool | ApplyPatchApprovalFunction = False
    on_approval: ApplyPatchOnApprovalFunction | None = None
    custom_data_extractor: ApplyPatchToolCustomDataExtractor | None = field(default=None, kw_only=True)
    allowed_callers: list[ToolCaller] | None = field(default=None, kw_only=True)

    @property
    def type(self) -> str:
        """Its type."""
        return "apply_patch"


@dataclass
class CustomTool:
    """A tool that takes text as the model writes it, in a `format` that the provider enforces."""

    name: str
    description: str
    on_invoke_tool: CustomToolExecutor
    format: object | None = None
    needs_approval: bool | CustomToolApprovalFunction = False
    on_approval: CustomToolOnApprovalFunction | None = None
    defer_loading: bool = False
    custom_data_extractor: CustomToolCustomDataExtractor | None = field(default=None, kw_only=True)
    allowed_callers: list[ToolCaller] | None = field(default=None, kw_only=True)
    tool_config: dict[str, Any] = field(init=False, repr=False)

    def __post_init__(self) -> None:
        self.tool_config = {"type": "custom", "name": self.name, "description": self.description}
        if self.format is not None:
            self.tool_config["format"] = self.format

    @property
    def type(self) -> str:
        """Its type."""
        return "custom"
