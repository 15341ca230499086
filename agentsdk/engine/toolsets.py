"""What an agent's toolsets offer in a turn: asked when it begins, recorded, and taken from the record once it has its reply.

Written down is only what has changed since the toolset was last asked, so a turn whose tools are those of the turn before
records nothing. A turn that has its reply is entered again with the tools it was offered: of those, a toolset is asked only for
the body of a call that has yet to run.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Iterator, Mapping, Sequence
from typing import Any, TypeVar, cast

from agentsdk.core.state import Offered, OpenTurn, State
from agentsdk.define.agent import Agent
from agentsdk.define.declaration import Declaration
from agentsdk.define.run_config import RunConfig
from agentsdk.define.tool import FunctionTool, recorded_tool
from agentsdk.define.toolset import Toolset, ToolsetContext
from agentsdk.define.toolset_tools import tools_by_name
from agentsdk.engine.run import ExtendedDeclaration, Run, ToolsetAnswer
from agentsdk.types.errors import AgentsException, ToolsetError, UserError
from agentsdk.types.events import ToolsetChanged
from agentsdk.types.spec import ToolSpec, handler_of
from agentsdk.types.text import clean_text

T = TypeVar("T")

_NOTHING = Offered()


async def extended(run: Run, declared: Declaration) -> tuple[Declaration, str]:
    """The agent's declaration with the tools of its toolsets and those of the run, and the instructions that come with them.

    Raises `ToolsetError` for a toolset that raises, hangs or offers what is no tool, `UserError` for two tools of one name.
    """
    config, turn = run.deps.config, run.state.turn
    of_run = run.parent is None
    offers: dict[str, Sequence[FunctionTool[Any]]] = {}
    texts: list[str] = []
    if of_run and config.tools:
        offers["RunConfig(tools=...)"] = config.tools
    for toolset in _toolsets(run):
        is_open = turn is not None and turn.response is not None
        found = await _called(run, toolset, turn) if turn is not None and is_open else await _asked(run, toolset)
        offers[f"toolset {toolset.name!r}"] = found
        texts.append(_offered(run, toolset).instructions)
    if of_run:
        texts.append(config.instructions)
    known = run.extended
    if known is None or known.declared is not declared or not _are_same(known.offers, offers):
        _require_unique(run, declared, offers)
        more = declared.with_tools([tool for tools in offers.values() for tool in tools])
        known = run.extended = ExtendedDeclaration(declared, offers, more)
    return known.extended, "\n\n".join(filter(None, texts))


def _are_same(one: Mapping[str, object], other: Mapping[str, object]) -> bool:
    return one.keys() == other.keys() and all(one[name] is other[name] for name in one)


def recorded_declaration(
    state: State, agent: Agent[Any, Any], config: RunConfig, *, is_nested: bool
) -> tuple[Declaration, str]:
    """An agent's declaration with what a recorded run offered beside it in the turn that `state` begins, and what the model
    was told of that."""
    of_run = RunConfig() if is_nested else config
    toolsets = (*agent.toolsets, *of_run.toolsets)
    offered = [state.offered.get((agent.name, toolset.name), _NOTHING) for toolset in toolsets]
    recorded = [recorded_tool(spec, "") for one in offered for spec in one.tools.values()]
    told = [*[one.instructions for one in offered], of_run.instructions]
    return Declaration.of(agent).with_tools([*of_run.tools, *recorded]), "\n\n".join(filter(None, told))


def _toolsets(run: Run) -> Iterator[Toolset[Any]]:
    seen: set[str] = set()
    given = (*run.agent.toolsets, *run.deps.config.toolsets) if run.parent is None else run.agent.toolsets
    for toolset in given:
        if toolset.name in seen:
            raise UserError(
                f"agent {run.agent.name!r} has two toolsets named {toolset.name!r}, expected unique names: a saved run knows "
                "them by it; give one another name"
            )
        seen.add(toolset.name)
        yield toolset


def _require_unique(run: Run, declared: Declaration, offers: Mapping[str, Sequence[FunctionTool[Any]]]) -> None:
    """Raises `UserError` for two tools of one name."""
    owners = dict.fromkeys([*declared.tools, *declared.handoffs], "the agent")
    for owner, tools in offers.items():
        for tool in tools:
            if tool.name in owners:
                raise UserError(
                    f"agent {run.agent.name!r} is offered two tools named {tool.name!r}, by {owners[tool.name]} and by "
                    f"{owner}, expected unique names; rename one, say with toolset.prefixed('...')"
                )
            owners[tool.name] = owner


def _place(run: Run, toolset: Toolset[Any]) -> tuple[str, str]:
    return run.agent.name, toolset.name


def _offered(run: Run, toolset: Toolset[Any]) -> Offered:
    return run.state.offered.get(_place(run, toolset), _NOTHING)


def _context(run: Run, toolset: Toolset[Any]) -> ToolsetContext[Any]:
    state, context, before = run.state, run.context, _offered(run, toolset)
    return ToolsetContext(
        context.context,
        context.usage,
        run.agent,
        turn=run.turn_number,
        items=state.view,
        run_id=run.root_id,
        path=run.path,
        offered=before.tools,
        note=before.note,
    )


async def _asked(run: Run, toolset: Toolset[Any]) -> Sequence[FunctionTool[Any]]:
    """The toolset's tools in the turn that begins, in the order that the model sees them; what has changed is recorded."""
    context = _context(run, toolset)
    given = await _answer(run, toolset, "get_tools", toolset.get_tools(context))
    text = await _answer(run, toolset, "get_instructions", toolset.get_instructions(context))
    if not isinstance(cast(object, text), str):
        raise _wrong(toolset, f"gave a {type(text).__name__!r} as its instructions, expected a text")
    if not isinstance(cast(object, context.note), str):
        raise _wrong(toolset, f"set a {type(context.note).__name__!r} as its note, expected a text")
    text, note = clean_text(text), clean_text(context.note)
    before = _offered(run, toolset)
    is_told = text == before.instructions and note == before.note
    last = run.answered.get(_place(run, toolset))
    if last is not None and is_told and last.offered is before and type(given) is type(last.given) and given == last.given:
        return last.tools
    tools = tools_by_name(toolset.name, given)
    known = before.tools
    specs: dict[str, ToolSpec] = {name: tool.spec for name, tool in tools.items()}
    added = tuple([spec for name, spec in specs.items() if (was := known.get(name)) is not spec and was != spec])
    removed = tuple([name for name in known if name not in specs])
    if added or removed or not is_told:
        await run.record(ToolsetChanged(toolset.name, added, removed, text, note))
    offered = _offered(run, toolset)
    in_order = tuple([tools[name] for name in offered.tools])
    run.answered[_place(run, toolset)] = ToolsetAnswer(given[:], offered, in_order)
    return in_order


async def _called(run: Run, toolset: Toolset[Any], turn: OpenTurn) -> list[FunctionTool[Any]]:
    """What the toolset offered in the open turn, as recorded; in place of those that its reply called, the tools themselves."""
    offered = _offered(run, toolset).tools
    tools = {name: recorded_tool(spec, "") for name, spec in offered.items()}
    wanted: dict[str, None] = {}
    for call in turn.calls:
        spec = handler_of(call, offered)
        if spec is None:
            continue
        result = turn.results.get(call.call_id)
        if run.is_replayed or (result is not None and not result.is_withheld):
            asked = turn.asked.get(call.call_id)
            if asked is not None and spec.name not in wanted:
                tools[spec.name] = recorded_tool(spec, asked.fingerprint)
        else:
            wanted[spec.name] = None
    for name in wanted:
        found = await _answer(run, toolset, f"find_tool({name!r})", toolset.find_tool(_context(run, toolset), name))
        if found is None:
            del tools[name]  # there is no such tool any more, which the turn says
        else:
            tools[name] = tools_by_name(toolset.name, [found])[name] if found.name == name else found
    return list(tools.values())


def _wrong(toolset: Toolset[Any], what: str) -> ToolsetError:
    return ToolsetError(f"toolset {toolset.name!r} {what}")


async def _answer(run: Run, toolset: Toolset[Any], what: str, asked: Awaitable[T]) -> T:
    """What a toolset answers within its time. Raises `ToolsetError`."""
    seconds = run.deps.config.toolset_timeout
    clock = asyncio.timeout(seconds)
    try:
        async with clock:
            return await asked
    except AgentsException:
        raise
    except Exception as error:
        if clock.expired():
            raise _wrong(
                toolset,
                f"did not answer {what} within {seconds:g} seconds, expected its tools; see what it waits for, or raise "
                "RunConfig(toolset_timeout=...), and resume error.state",
            ) from error
        raise _wrong(
            toolset,
            f"raised {type(error).__name__} in {what}, expected its tools; see the chained exception and resume error.state",
        ) from error
