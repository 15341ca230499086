"""`ToolRegistry`: a toolset that is filled and changed while the program runs."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, cast

from agentsdk.define.agent import TOOLS
from agentsdk.define.function_tool import function_tool
from agentsdk.define.tool import FunctionTool
from agentsdk.define.toolset import Toolset, ToolsetContext
from agentsdk.types.declared import SYNC, Fields, a_name, any_text, sequence_of
from agentsdk.types.errors import UserError
from agentsdk.types.generics import TContext
from agentsdk.types.spec import Effect


@dataclass(frozen=True, slots=True)
class ToolSummary:
    """A registered tool in a line: enough to choose by, without its parameters."""

    name: str
    description: str
    tags: tuple[str, ...]
    effect: Effect


class ToolRegistry(Toolset[TContext]):
    """A toolset of the tools that are registered in it. A change enters each run at its next turn.

    Raises `UserError` for what is no tool, and for a second one of a name.
    """

    def __init__(self, tools: Sequence[FunctionTool[TContext]] = (), *, name: str = "tools", instructions: str = "") -> None:
        _REGISTRY.check_given(tools=tools, name=name, instructions=instructions)
        self.name = name
        self.instructions = instructions
        self._tools: dict[str, FunctionTool[TContext]] = {}
        self._listed: tuple[FunctionTool[TContext], ...] | None = None
        self._listeners: dict[object, Callable[[], None]] = {}
        for tool in tools:
            self.register(tool)

    def register(self, tool: FunctionTool[TContext] | Callable[..., object]) -> FunctionTool[TContext]:
        """Add a tool, or a function as a tool: also as a decorator. Raises `UserError` where its name is taken."""
        made = cast("FunctionTool[TContext]", tool if isinstance(tool, FunctionTool) else function_tool(tool))
        if made.name in self._tools:
            raise UserError(
                f"registry {self.name!r} has a tool {made.name!r} already, expected a name that is free; unregister it, or "
                "rename this one with name_override"
            )
        self._tools[made.name] = made
        self._has_changed()
        return made

    def unregister(self, name: str) -> FunctionTool[TContext]:
        """Take a tool out, and give it. Raises `UserError` where there is none of that name."""
        if name not in self._tools:
            raise UserError(f"registry {self.name!r} has no tool {name!r}, expected one of {sorted(self._tools)}")
        removed = self._tools.pop(name)
        self._has_changed()
        return removed

    def get(self, name: str) -> FunctionTool[TContext] | None:
        """The tool of that name, or None."""
        return self._tools.get(name)

    @property
    def tools(self) -> tuple[FunctionTool[TContext], ...]:
        """All tools, in the order in which they were registered."""
        if self._listed is None:
            self._listed = tuple(self._tools.values())
        return self._listed

    def summaries(self, *tags: str) -> tuple[ToolSummary, ...]:
        """A line on each tool; with `tags`, on those that have one of them."""
        return tuple(
            [
                ToolSummary(tool.name, tool.description, tuple(tool.tags), tool.effect)
                for tool in self.tools
                if not tags or _has_tag(tool, tags)
            ]
        )

    def tagged(self, *tags: str) -> Toolset[TContext]:
        """The tools that have one of these tags, as a toolset."""
        _REGISTRY.check_given(tags=tags)
        return self.filtered(lambda context, tool: _has_tag(tool, tags))

    def on_change(self, callback: Callable[[], None]) -> Callable[[], None]:
        """Have `callback` called after each change, in the thread that made it; what is returned ends that."""
        _REGISTRY.check_given(callback=callback)
        key = object()
        self._listeners[key] = callback

        def end() -> None:
            self._listeners.pop(key, None)

        return end

    def _has_changed(self) -> None:
        self._listed = None
        for callback in list(self._listeners.values()):
            callback()

    async def get_tools(self, context: ToolsetContext[TContext]) -> Sequence[FunctionTool[TContext]]:
        return self.tools

    async def get_instructions(self, context: ToolsetContext[TContext]) -> str:
        return self.instructions

    async def find_tool(self, context: ToolsetContext[TContext], name: str) -> FunctionTool[TContext] | None:
        return self._tools.get(name)

    def __len__(self) -> int:
        return len(self._tools)

    def __contains__(self, name: object) -> bool:
        return name in self._tools


def _has_tag(tool: FunctionTool[Any], tags: Sequence[str]) -> bool:
    return any(tag in tool.tags for tag in tags)


_REGISTRY = Fields(
    "ToolRegistry",
    callback=SYNC,
    tools=TOOLS,
    name=a_name("a non-empty str; it tells the toolset from the others of an agent"),
    instructions=any_text("a str; the model is told it with the tools"),
    tags=sequence_of(a_name("a text that is not empty"), "texts"),
)
