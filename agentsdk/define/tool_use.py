"""`Agent.tool_use_behavior`: whether tool results go to the model or are the final output."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from agentsdk.define.context import RunContextWrapper
from agentsdk.types.declared import FLAG, Fields, a_name, sequence_of
from agentsdk.types.generics import TContext
from agentsdk.types.items import FunctionCallOutput


@dataclass(frozen=True, slots=True)
class StopAtTools:
    """`tool_use_behavior`: the result of any of these tools is the final output."""

    stop_at_tool_names: Sequence[str]

    def __post_init__(self) -> None:
        _STOP_AT.check(self)


_STOP_AT = Fields(
    "StopAtTools",
    stop_at_tool_names=sequence_of(a_name("the name of a tool"), "a list or tuple of tools' names; write ['save']"),
)


@dataclass(frozen=True, slots=True)
class ToolResult:
    """One finished call, as a `tool_use_behavior` callable sees it."""

    tool_name: str
    arguments: str
    output: FunctionCallOutput


@dataclass(frozen=True, slots=True)
class ToolsToFinalOutputResult:
    """What a `tool_use_behavior` callable returns: whether `final_output`, JSON-like or of the output type, ends the run."""

    is_final_output: bool
    final_output: Any = None

    def __post_init__(self) -> None:
        _TO_FINAL_OUTPUT.check(self)


_TO_FINAL_OUTPUT = Fields("ToolsToFinalOutputResult", is_final_output=FLAG)


ToolUseBehavior = (
    Literal["run_llm_again", "stop_on_first_tool"]
    | StopAtTools
    | Callable[
        [RunContextWrapper[TContext], list[ToolResult]],
        "ToolsToFinalOutputResult | Awaitable[ToolsToFinalOutputResult]",
    ]
)
