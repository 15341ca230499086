"""Preparing a turn: the agent's declaration, of it what is enabled now."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any

from msgspec import Struct, structs

from agentsdk.core.state import State
from agentsdk.define.agent import Agent
from agentsdk.define.declaration import Declaration
from agentsdk.define.read_result import read_result
from agentsdk.define.run_config import RunConfig
from agentsdk.engine.callbacks import call_user, yes_or_no
from agentsdk.engine.run import Run
from agentsdk.types.errors import UserError
from agentsdk.types.events import HandedOff, RunStarted
from agentsdk.types.items import Item, Message
from agentsdk.types.spec import AgentSpec, HandoffSpec, ToolSpec
from agentsdk.types.text import clean_text

if TYPE_CHECKING:
    from agentsdk.define.grants import Grant


class Prepared(Struct, frozen=True):
    """A turn's agent: the declaration, and of it what is enabled. `disabled` names the rest.

    `extra_instructions` follow the agent's own: those of toolsets and of the run, and what asks for the output. `grants` are
    what it may call now, None for everything.
    """

    agent: Agent[Any, Any]
    declared: Declaration
    spec: AgentSpec
    request_tools: tuple[ToolSpec | HandoffSpec, ...]
    disabled: tuple[str, ...] = ()
    extra_instructions: str = ""
    grants: tuple[Grant, ...] | None = None


def with_read_result(declared: Declaration, config: RunConfig, state: State) -> Declaration:
    """An agent's declaration, with `read_result` where results are, or may be, cut.

    With a window that cuts results it is there from the start: tools that change would void the provider's prompt cache.
    """
    cuts = state.has_cut
    if config.window is not None:
        from agentsdk.core.window.context_window import cuts_results

        cuts = cuts or cuts_results(config.window)
    return declared.with_tool(read_result) if declared.tools and cuts else declared


async def prepare(run: Run) -> Prepared:
    """What is enabled now. The rules for it are asked once a turn: an open turn keeps what its reply was offered."""
    agent, config, turn = run.agent, run.deps.config, run.state.turn
    declared = Declaration.of(agent)
    extra = ""
    if agent.toolsets or config.tools or config.toolsets or config.instructions:
        from agentsdk.engine.toolsets import extended  # most runs have none

        declared, extra = await extended(run, declared)
    if declared.output_prompt:
        extra = f"{extra}\n\n{declared.output_prompt}" if extra else declared.output_prompt
    if config.window is not None or run.state.has_cut:
        declared = with_read_result(declared, config, run.state)
    prepared = Prepared(agent, declared, declared.spec, declared.request_tools, (), extra)
    hidden: tuple[str, ...] = ()
    if config.grants is not None:
        from agentsdk.engine.grants import grants_of, not_granted

        grants = await grants_of(run, config.grants)
        prepared = structs.replace(prepared, grants=grants)
        hidden = not_granted(run, grants, declared)
    offered = None if turn is None or turn.response is None else turn
    if offered is not None:
        return without(prepared, offered.disabled) if offered.disabled else prepared
    if not declared.is_static:
        asked = [(name, rule) for name, rule in _rules(declared) if name not in hidden]
        hidden += tuple([name for name, rule in asked if not await _enabled(run, name, rule)])
    return without(prepared, hidden) if hidden else prepared


def without(prepared: Prepared, disabled: tuple[str, ...]) -> Prepared:
    """The turn's agent with all but these tools and handoffs."""
    declared = prepared.declared
    spec, request_tools = declared.without(disabled)
    return structs.replace(prepared, spec=spec, request_tools=request_tools, disabled=disabled)


CONTINUE = Message("user", "Continue exactly where your last message stopped, without repeating any of it.")


def continuation(run: Run) -> tuple[Item, ...]:
    """What follows the history in the next request: the text that stopped at its length, to be gone on with."""
    turn = run.state.turn
    return (Message("assistant", turn.partial), CONTINUE) if turn is not None and turn.partial else ()


async def instructions(run: Run, prepared: Prepared) -> str:
    """The agent's instructions as text, asked for once a turn, and what its toolsets and the run add to them."""
    given, extra = run.agent.instructions, prepared.extra_instructions
    if given is None or isinstance(given, str):
        text = given or ""
    else:
        if run.instructions is None or run.instructions[0] != run.state.turns:
            run.instructions = (run.state.turns, await _asked_for(run, given))
        text = run.instructions[1]
    return f"{text}\n\n{extra}" if text and extra else text or extra


async def _asked_for(run: Run, given: Callable[..., object]) -> str:
    text = await call_user(f"instructions of agent {run.agent.name!r}", given, run.context, run.agent)
    if not isinstance(text, str):
        raise UserError(
            f"instructions of agent {run.agent.name!r} returned {type(text).__name__!r}, expected a str; return the text"
        )
    return clean_text(text)


def find_agents(run: Run, start: Agent[Any, Any]) -> None:
    """Add all agents that have had a turn in `run`, as far as `start`, which it began with, can still reach them."""
    for event in run.state.log:
        name = event.agent if isinstance(event, RunStarted | HandedOff) else ""
        if name and name not in run.agents and (found := find_agent(start, name)) is not None:
            run.agents[name] = found


def find_agent(start: Agent[Any, Any], name: str) -> Agent[Any, Any] | None:
    """The agent called `name` among all that `start` can reach by handoffs."""
    return next((agent for agent, _ in _reachable(start) if agent.name == name), None)


def check_agent_names(start: Agent[Any, Any]) -> None:
    """Raises `UserError` where two agents have one name among those that one run can be with: a saved run knows them by it.

    Those are the agents that `start` can reach by handoffs, and so for each agent that one of them uses as a tool, or that an
    output validator of one asks.
    """
    if not Declaration.of(start).reaches_agents:
        return
    checked: set[int] = set()
    waiting = [start]
    while waiting:
        first = waiting.pop()
        if id(first) in checked:
            continue
        checked.add(id(first))
        paths: dict[str, tuple[str, ...]] = {}
        for agent, path in _reachable(first):
            if agent.name in paths:
                raise UserError(
                    f"two agents are named {agent.name!r}, expected unique names among those that {first.name!r} can reach by "
                    f"handoffs: one is at {_arrows(paths[agent.name])}, the other at {_arrows(path)}; rename one of them"
                )
            paths[agent.name] = path
            waiting += Declaration.of(agent).nested_agents


def _reachable(start: Agent[Any, Any]) -> Iterator[tuple[Agent[Any, Any], tuple[str, ...]]]:
    """`start` and the agents it can reach by handoffs, the nearest first, each with the names on the way to it."""
    seen = {id(start)}
    waiting: deque[tuple[Agent[Any, Any], tuple[str, ...]]] = deque([(start, (start.name,))])
    while waiting:
        agent, path = waiting.popleft()
        yield agent, path
        for declared in Declaration.of(agent).handoffs.values():
            if id(declared.agent) not in seen:
                seen.add(id(declared.agent))
                waiting.append((declared.agent, (*path, declared.agent.name)))


def _arrows(path: tuple[str, ...]) -> str:
    return " -> ".join(map(repr, path))


def _rules(declared: Declaration) -> list[tuple[str, object]]:
    tools: list[tuple[str, object]] = [(name, tool.is_enabled) for name, tool in declared.tools.items()]
    return [*tools, *((name, handoff.is_enabled) for name, handoff in declared.handoffs.items())]


async def _enabled(run: Run, name: str, rule: object) -> bool:
    if not callable(rule):
        return bool(rule)
    return await yes_or_no(f"is_enabled of {name!r}", rule, run.context, run.agent)
