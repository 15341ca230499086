"""Guards of a run: its guardrails and output validators, its grants, the key that seals its states, its context object.

A run's start records them by name. Who goes on with a run may have other settings than who began it. What guarded it then must
still be there, or the run does not go on: a guardrail that nobody misses is one that nobody asks.

A guard is `(kind, name, owner...)`. One whose agent or tool is no longer there has nothing left to guard.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from typing import Any

from agentsdk.core.run_state import SEAL
from agentsdk.core.state import State
from agentsdk.define.agent import Agent
from agentsdk.define.declaration import Declaration
from agentsdk.define.run_config import RunConfig
from agentsdk.types.errors import StateCorruptError, StateMismatchError, UserError
from agentsdk.types.events import RunStarted

Guard = tuple[str, ...]

CONTEXT: Guard = ("context",)
GRANTS: Guard = ("grants",)


def guards_of(agent: Agent[Any, Any], config: RunConfig, context: object) -> tuple[Guard, ...]:
    """What guards a run that `agent` begins."""
    guards: list[Guard] = [] if context is None else [CONTEXT]
    if config.state_key is not None:
        guards.append(SEAL)
    if config.grants is not None:
        guards.append(GRANTS)
    if config.input_guardrails:
        guards += [("input guardrail", guardrail.name) for guardrail in config.input_guardrails]
    if config.output_guardrails:
        guards += [("output guardrail", guardrail.name) for guardrail in config.output_guardrails]
    if Declaration.of(agent).may_be_guarded:
        guards += [("input guardrail", guardrail.name) for guardrail in agent.input_guardrails]
        guards += _declared(agent)
    return tuple(guards)


def require_guards(state: State, agent: Agent[Any, Any], config: RunConfig, context: object) -> None:
    """Raises where what guarded a run when it began is missing: `UserError` for its context, else `StateMismatchError`.

    `StateCorruptError` for a record of it that names nothing.
    `RunConfig.without_guards` names what may be.
    """
    started = state.log[0]
    if state.ended is not None or not isinstance(started, RunStarted) or not started.guards:
        return
    if any(len(guard) < 2 and guard not in (CONTEXT, SEAL, GRANTS) for guard in started.guards):
        raise StateCorruptError(
            f"run {state.run_id!r} records a guard that names nothing, expected what a run recorded; load an untouched copy"
        )
    gone = Counter(started.guards) - Counter(guards_of(agent, config, context))
    missing = [guard for guard in gone if guard[min(1, len(guard) - 1)] not in config.without_guards]
    if CONTEXT in missing:
        raise UserError(
            f"run {state.run_id!r} was given a context and goes on here without one, expected its context object; pass "
            "context=..., or give the RunConfig that begins such runs a context_codec, which saves it"
        )
    if SEAL in missing:
        raise StateMismatchError(
            f"run {state.run_id!r} was begun with a state_key and goes on here without one, expected the key that seals its "
            "states; pass RunConfig(state_key=...)"
        )
    if GRANTS in missing:
        raise StateMismatchError(
            f"run {state.run_id!r} was begun with grants and goes on here without any, expected what it may call; pass "
            "RunConfig(grants=...), or let it call everything by RunConfig(without_guards=['grants'])"
        )
    owners = {guard[2:] for guard in missing} & _owners(agent)
    lost = [guard for guard in missing if not guard[2:] or guard[2:] in owners]
    if lost:
        raise StateMismatchError(
            f"run {state.run_id!r} was begun under {_describe(lost[0])}, which is not there now, expected what guarded it from "
            f"its start; give it back, or go on without it by RunConfig(without_guards=[{lost[0][1]!r}])"
        )


def was_given_context(state: State) -> bool:
    """Whether the run was begun with a context object."""
    started = state.log[0]
    return isinstance(started, RunStarted) and CONTEXT in started.guards


def _declared(first: Agent[Any, Any]) -> Iterator[Guard]:
    """The guardrails and output validators of all the agents a run can come to, but for the first one's of its input."""
    for agent in reachable(first):
        yield from [("output guardrail", guardrail.name, agent.name) for guardrail in agent.output_guardrails]
        yield from [("output validator", one.name, agent.name) for one in Declaration.of(agent).validators]
        for nested in Declaration.of(agent).nested_agents:
            yield from [("input guardrail", guardrail.name, nested.name) for guardrail in nested.input_guardrails]
        for name, tool in Declaration.of(agent).tools.items():
            yield from [("tool input guardrail", one.name, agent.name, name) for one in tool.tool_input_guardrails]
            yield from [("tool output guardrail", one.name, agent.name, name) for one in tool.tool_output_guardrails]


def _owners(first: Agent[Any, Any]) -> set[Guard]:
    """The agents that a run can come to, and their tools."""
    owners: set[Guard] = set()
    for agent in reachable(first):
        owners.add((agent.name,))
        owners |= {(agent.name, name) for name in Declaration.of(agent).tools}
    return owners


def reachable(first: Agent[Any, Any]) -> list[Agent[Any, Any]]:
    """`first` and every agent it can reach, by handoff, as a tool or by an output validator."""
    found, seen = [first], {id(first)}
    for agent in found:
        declaration = Declaration.of(agent)
        reached = [declared.agent for declared in declaration.handoffs.values()]
        reached += declaration.nested_agents
        for other in reached:
            if id(other) not in seen:
                seen.add(id(other))
                found.append(other)
    return found


def _describe(guard: Guard) -> str:
    kind, name, *owner = guard
    places = [f" of {what} {one!r}" for what, one in zip(("agent", "tool"), owner, strict=False)]
    return f"{kind} {name!r}{''.join(reversed(places))}"
