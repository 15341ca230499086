"""`Toolset`: tools that are found when a turn begins, and the combinators that change what another toolset offers.

An agent's `tools` are the same in each turn. A toolset is asked once a turn, and may answer by who runs the agent, by what was
said so far, or by what a server has. What it answered is recorded, so a turn that has its reply is resumed and replayed with
the tools it was offered.
"""

from __future__ import annotations

import inspect
from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import Generic, Unpack, cast

from agentsdk.define.context import TurnContext
from agentsdk.define.tool import FunctionTool
from agentsdk.define.tool_guardrail import CallingAgent
from agentsdk.define.tool_options import NeedsApproval, ToolFields, ToolOptions
from agentsdk.types.declared import CALLABLE, RULE, Fields, a, a_name, either, mapping_of, one_of, sequence_of
from agentsdk.types.errors import UserError
from agentsdk.types.generics import TContext
from agentsdk.types.items import Item
from agentsdk.types.permission import PERMISSIONS, Permission
from agentsdk.types.spec import ToolSpec
from agentsdk.types.usage import Usage


class ToolsetContext(TurnContext[TContext]):
    """The run as a toolset sees it when a turn begins.

    `agent` is the one whose turn it is, `offered` what this toolset offered last, by name. `note` is a text that `get_tools`
    may set: it is recorded, and there again when the next turn begins, in another process too.
    """

    __slots__ = ("agent", "note", "offered")

    def __init__(
        self,
        context: TContext,
        usage: Usage,
        agent: CallingAgent,
        *,
        turn: int = 1,
        items: Sequence[Item] = (),
        run_id: str = "",
        path: tuple[str, ...] = (),
        offered: Mapping[str, ToolSpec] | None = None,
        note: str = "",
    ) -> None:
        super().__init__(context, usage, turn=turn, items=items, run_id=run_id, path=path)
        self.agent = agent
        self.offered: Mapping[str, ToolSpec] = {} if offered is None else offered
        self.note = note


class Toolset(Generic[TContext]):
    """Tools for a turn. Subclass it and give `get_tools`; `name` tells it from the other toolsets of an agent.

    A tool keeps its place among those that the model sees for as long as it is offered, and a new one follows them, so that a
    provider's prompt cache still holds for the tools before it.
    """

    name: str = "tools"

    async def get_tools(self, context: ToolsetContext[TContext]) -> Sequence[FunctionTool[TContext]]:
        """The tools of the turn that begins. Each has a name of its own; the same object each time costs least."""
        raise NotImplementedError

    async def get_instructions(self, context: ToolsetContext[TContext]) -> str:
        """What the model is told of these tools, after the agent's instructions; `""` for nothing."""
        return ""

    async def find_tool(self, context: ToolsetContext[TContext], name: str) -> FunctionTool[TContext] | None:
        """A tool that was offered in an earlier turn and has a call to run: asked for where the run was resumed, say."""
        return next((tool for tool in await self.get_tools(context) if tool.name == name), None)

    def on_change(self, callback: Callable[[], None]) -> Callable[[], None]:
        """Have `callback` called whenever the tools have changed, from whatever thread; what is returned ends that.

        This one never calls: a toolset that is only asked does not know. A registry does.
        """
        return lambda: None

    def filtered(self, rule: ToolRule[TContext]) -> Toolset[TContext]:
        """Those tools only for which `rule(context, tool)`, sync or async, is True."""
        _COMBINED.check_given(rule=rule)

        async def keep(context: ToolsetContext[TContext], tool: FunctionTool[TContext]) -> FunctionTool[TContext] | None:
            return tool if await _answer(f"the rule that filters toolset {self.name!r}", bool, rule, context, tool) else None

        return _Changed(self, keep)

    def prefixed(self, prefix: str) -> Toolset[TContext]:
        """The tools under names that begin with `prefix`."""
        _COMBINED.check_given(prefix=prefix)
        return _Renamed(self, lambda name: prefix + name, lambda name: name.removeprefix(prefix))

    def renamed(self, names: Mapping[str, str]) -> Toolset[TContext]:
        """Tools under other names, those not in `names` (old: new) under their own. Raises `UserError` for two of one name."""
        _COMBINED.check_given(names=names)
        new = dict(names)
        old = {name: was for was, name in new.items()}
        if len(old) < len(new):
            raise UserError(
                f"toolset {self.name!r} is renamed by {new!r}, expected a name of its own for each tool; change one"
            )
        return _Renamed(self, lambda name: new.get(name, name), lambda name: old.get(name, name))

    def prepared(self, change: PrepareTool[TContext]) -> Toolset[TContext]:
        """Each tool as `change(context, tool)`, sync or async, gives it for the turn: `tool.clone(...)`, or None to leave it
        out."""
        _COMBINED.check_given(change=change)

        async def changed(context: ToolsetContext[TContext], tool: FunctionTool[TContext]) -> FunctionTool[TContext] | None:
            what = f"the function that prepares toolset {self.name!r}"
            return cast("FunctionTool[TContext] | None", await _answer(what, (FunctionTool, type(None)), change, context, tool))

        return _Changed(self, changed)

    def with_approval(self, needs_approval: bool | NeedsApproval[TContext] = True) -> Toolset[TContext]:
        """The tools with this `needs_approval`, but for those that have a rule of their own or need it anyway."""
        _COMBINED.check_given(needs_approval=needs_approval)

        def asking(tool: FunctionTool[TContext]) -> FunctionTool[TContext]:
            return tool.clone(needs_approval=needs_approval) if tool.needs_approval is False else tool

        return MappedToolset(self, asking)

    def with_permissions(
        self, permission: Permission | Mapping[str, Permission], *, tags: Sequence[str] = ()
    ) -> Toolset[TContext]:
        """The tools with this permission, or with those given by their names, and with `tags` beside their own.

        A tool that the names leave out keeps its own.
        """
        _COMBINED.check_given(permission=permission, tags=tags)
        more = tuple(tags)

        def permitted(tool: FunctionTool[TContext]) -> FunctionTool[TContext]:
            needed = tool.permission
            if isinstance(permission, str):
                needed = permission
            elif tool.name in permission:
                needed = permission[tool.name]
            return tool.clone(permission=needed, tags=(*tool.tags, *[tag for tag in more if tag not in tool.tags]))

        return MappedToolset(self, permitted)

    def with_defaults(self, **options: Unpack[ToolOptions[TContext]]) -> Toolset[TContext]:
        """The tools with these options (`timeout=30`, `effect="none"`) where one has the option's default."""
        if unknown := sorted(options.keys() - ToolOptions.__optional_keys__):
            raise UserError(f"toolset {self.name!r} was given defaults for {unknown}, expected options of FunctionTool")
        standard = {field: value for field, value in options.items() if hasattr(ToolFields, field)}

        def completed(tool: FunctionTool[TContext]) -> FunctionTool[TContext]:
            changes = {field: value for field, value in standard.items() if getattr(tool, field) == getattr(ToolFields, field)}
            return tool.clone(**cast("ToolOptions[TContext]", changes)) if changes else tool

        return MappedToolset(self, completed)

    def __repr__(self) -> str:
        return f"{type(self).__name__}(name={self.name!r})"


ToolRule = Callable[[ToolsetContext[TContext], FunctionTool[TContext]], bool | Awaitable[bool]]
"""Called with the context and a tool: whether the toolset offers it."""

PrepareTool = Callable[
    [ToolsetContext[TContext], FunctionTool[TContext]],
    "FunctionTool[TContext] | Awaitable[FunctionTool[TContext] | None] | None",
]
"""Called with the context and a tool: the tool as this turn offers it, None for not at all."""


class _Wrapper(Toolset[TContext]):
    """A toolset that changes what another one offers. The context it passes on names the tools as that one does."""

    def __init__(self, inner: Toolset[TContext]) -> None:
        self.name = inner.name
        self._inner = inner

    async def get_instructions(self, context: ToolsetContext[TContext]) -> str:
        return await self._inner.get_instructions(context)

    def on_change(self, callback: Callable[[], None]) -> Callable[[], None]:
        return self._inner.on_change(callback)


class _Changed(_Wrapper[TContext]):
    """Each tool as a function makes it, asked turn by turn; None leaves it out."""

    def __init__(
        self,
        inner: Toolset[TContext],
        change: Callable[[ToolsetContext[TContext], FunctionTool[TContext]], Awaitable[FunctionTool[TContext] | None]],
    ) -> None:
        super().__init__(inner)
        self._change = change

    async def get_tools(self, context: ToolsetContext[TContext]) -> Sequence[FunctionTool[TContext]]:
        tools = [await self._change(context, tool) for tool in await self._inner.get_tools(context)]
        return [tool for tool in tools if tool is not None]

    async def find_tool(self, context: ToolsetContext[TContext], name: str) -> FunctionTool[TContext] | None:
        found = await self._inner.find_tool(context, name)
        return None if found is None else await self._change(context, found)


class MappedToolset(_Wrapper[TContext]):
    """Each tool as a pure function makes it. A copy is kept while its tool is offered: it is the same one each turn."""

    def __init__(self, inner: Toolset[TContext], change: Callable[[FunctionTool[TContext]], FunctionTool[TContext]]) -> None:
        super().__init__(inner)
        self._change = change
        self._given: Sequence[FunctionTool[TContext]] = ()
        self._made: tuple[FunctionTool[TContext], ...] = ()

    async def get_tools(self, context: ToolsetContext[TContext]) -> Sequence[FunctionTool[TContext]]:
        given = tuple(await self._inner.get_tools(context))
        if given != self._given:
            known = dict(zip(self._given, self._made, strict=True))
            self._given, self._made = given, tuple([known.get(tool) or self._change(tool) for tool in given])
        return self._made

    async def find_tool(self, context: ToolsetContext[TContext], name: str) -> FunctionTool[TContext] | None:
        found = await self._inner.find_tool(context, name)
        return None if found is None else self._change(found)


class _Renamed(MappedToolset[TContext]):
    """The tools under other names. What the inner toolset is told was offered has its own names."""

    def __init__(self, inner: Toolset[TContext], renamed: Callable[[str], str], original: Callable[[str], str]) -> None:
        def change(tool: FunctionTool[TContext]) -> FunctionTool[TContext]:
            name = renamed(tool.name)
            after = tuple([renamed(other) for other in tool.after])
            return tool if (name, after) == (tool.name, tuple(tool.after)) else tool.clone(name=name, after=after)

        super().__init__(inner, change)
        self._renamed, self._original = renamed, original
        self._offered: tuple[Mapping[str, ToolSpec], Mapping[str, ToolSpec]] = ({}, {})

    async def get_tools(self, context: ToolsetContext[TContext]) -> Sequence[FunctionTool[TContext]]:
        inside = self._inside(context)
        tools = await super().get_tools(inside)
        context.note = inside.note
        return tools

    async def get_instructions(self, context: ToolsetContext[TContext]) -> str:
        return await super().get_instructions(self._inside(context))

    async def find_tool(self, context: ToolsetContext[TContext], name: str) -> FunctionTool[TContext] | None:
        found = await super().find_tool(self._inside(context), self._original(name))
        return found if found is not None and found.name == name else None

    def _inside(self, context: ToolsetContext[TContext]) -> ToolsetContext[TContext]:
        outside, offered = self._offered
        if outside is not context.offered:
            offered = {self._original(name): spec for name, spec in context.offered.items()}
            self._offered = (context.offered, offered)
        return ToolsetContext(
            context.context,
            context.usage,
            context.agent,
            turn=context.turn,
            items=context.items,
            run_id=context.run_id,
            path=context.path,
            offered=offered,
            note=context.note,
        )


class CombinedToolset(Toolset[TContext]):
    """Several toolsets as one, in their order. Raises `UserError` in the run where two of them offer tools of one name."""

    def __init__(self, *toolsets: Toolset[TContext], name: str = "") -> None:
        _COMBINED.check_given(toolsets=toolsets)
        self.name = name or "+".join(toolset.name for toolset in toolsets)
        self._toolsets = toolsets

    async def get_tools(self, context: ToolsetContext[TContext]) -> Sequence[FunctionTool[TContext]]:
        return [tool for toolset in self._toolsets for tool in await toolset.get_tools(context)]

    async def get_instructions(self, context: ToolsetContext[TContext]) -> str:
        texts = [await toolset.get_instructions(context) for toolset in self._toolsets]
        return "\n\n".join(filter(None, texts))

    async def find_tool(self, context: ToolsetContext[TContext], name: str) -> FunctionTool[TContext] | None:
        for toolset in self._toolsets:
            if (found := await toolset.find_tool(context, name)) is not None:
                return found
        return None

    def on_change(self, callback: Callable[[], None]) -> Callable[[], None]:
        ends = [toolset.on_change(callback) for toolset in self._toolsets]

        def end() -> None:
            for one in ends:
                one()

        return end


async def _answer(what: str, kind: type | tuple[type, ...], function: Callable[..., object], *args: object) -> object:
    answer = function(*args)
    if inspect.isawaitable(answer):
        answer = cast(object, await answer)
    if not isinstance(answer, kind):
        expected = "True or False" if kind is bool else "a tool or None"
        raise UserError(f"{what} returned {type(answer).__name__!r}, expected {expected}; return one")
    return answer


_PERMISSION = one_of("", PERMISSIONS)
_COMBINED = Fields(
    "Toolset",
    rule=CALLABLE,
    change=CALLABLE,
    prefix=a_name("a text that is not empty; write 'db_'"),
    names=mapping_of(a_name("a name"), "a dict of old names and new ones; write {'get': 'get_row'}"),
    needs_approval=RULE,
    permission=either(
        _PERMISSION, mapping_of(_PERMISSION, ""), what=f"one of {PERMISSIONS}, or a dict of them by tools' names"
    ),
    tags=sequence_of(a_name("a text that is not empty"), "a list or tuple of texts; write ('billing',)"),
    toolsets=sequence_of(a(Toolset, "a Toolset"), "toolsets"),
)
