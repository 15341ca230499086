"""`FindableToolset`: toolsets whose tools a program may call, and the function by which a model finds them."""

from __future__ import annotations

from collections.abc import Sequence

from agentsdk.define.function_tool import function_tool
from agentsdk.define.stubs import stubs_of
from agentsdk.define.tool import FunctionTool
from agentsdk.define.toolset import CombinedToolset, Toolset, ToolsetContext
from agentsdk.toolsets.lexical import LexicalIndex, ToolText, require_fts5
from agentsdk.types.generics import TContext

_FIND = "find_functions"
_SHOWN = 10
"""How many functions are shown in full."""


class FindableToolset(CombinedToolset[TContext]):
    """Several toolsets as one, with `find_functions`: of their tools those that fit some words, as functions.

    `beside` are tools that a program has besides: a function's name depends on all of them. Raises `UserError` where this
    Python's SQLite has no full-text search.
    """

    def __init__(self, toolsets: Sequence[Toolset[TContext]], beside: Sequence[FunctionTool[TContext]]) -> None:
        require_fts5()
        super().__init__(*toolsets)
        self._beside = beside
        self._made: tuple[tuple[FunctionTool[TContext], ...], FunctionTool[TContext] | None] = ((), None)

    @property
    def about(self) -> str:
        """What a model is told of it, in place of all the functions."""
        return stubs_of([self._find_in(())])[_FIND].text

    async def get_tools(self, context: ToolsetContext[TContext]) -> Sequence[FunctionTool[TContext]]:
        given = tuple(await super().get_tools(context))
        before, find = self._made
        if find is None or before != given:
            find = self._find_in(given)
            self._made = (given, find)
        return [*given, find]

    async def find_tool(self, context: ToolsetContext[TContext], name: str) -> FunctionTool[TContext] | None:
        if name == _FIND:
            return (await self.get_tools(context))[-1]
        return await super().find_tool(context, name)

    def _find_in(self, tools: Sequence[FunctionTool[TContext]]) -> FunctionTool[TContext]:
        async def find_functions(words: str) -> str:
            """More functions that a program may call, as Python: those that fit the words best, or all names.

            Print it, and call them in your next program.
            """
            stubs = stubs_of([*self._beside, *tools])
            stubs = {name: stub for name, stub in stubs.items() if stub.tool in {tool.name for tool in tools}}
            names = list(stubs)
            index = LexicalIndex()
            index.add([ToolText(stub.tool, stub.text, "", "") for stub in stubs.values()])
            found = [names[at] for at in index.search(words, _SHOWN)]
            return "\n\n".join(stubs[name].text for name in found) or f"None fits. There are: {', '.join(names)}"

        return function_tool(find_functions, effect="none")
