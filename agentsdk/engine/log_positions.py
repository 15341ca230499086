"""`LogPosition`: an event of a recorded run together with the run, nested or not, that it happened in."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, cast

from msgspec import Struct

from agentsdk.core.keys import validator_run_prefix
from agentsdk.core.state import State, apply, new_state
from agentsdk.define.agent import Agent, AgentTool
from agentsdk.define.declaration import Declaration
from agentsdk.engine.prepare import find_agent
from agentsdk.types.errors import StateMismatchError
from agentsdk.types.events import Nested, RunEvent
from agentsdk.types.spec import handler_of


class LogPosition(Struct, frozen=True):
    """An event, and what stood before it.

    `path` names the calls that lead to the run it is of, outermost first; `state` is that run before the event, `whole` the
    outermost one. `agent` is whose turn it was, None where the agents given have no such agent.
    """

    revision: int
    event: RunEvent
    path: tuple[str, ...]
    state: State
    whole: State
    agent: Agent[Any, Any] | None


def log_positions(recorded: State, first: Agent[Any, Any]) -> Iterator[LogPosition]:
    """The moments of a run that `first` began."""
    whole = new_state()
    for revision, entry in enumerate(recorded.log):
        event, state, agent = entry, whole, find_agent(first, whole.agent)
        path: tuple[str, ...] = ()
        while isinstance(event, Nested):
            agent = nested_agent(state, agent, event.call_id)
            state = state.turn.children.get(event.call_id, new_state()) if state.turn else new_state()
            path, event = (*path, event.call_id), event.event
        yield LogPosition(revision, event, path, state, whole, agent)
        whole = apply(whole, entry)


def nested_agent(state: State, agent: Agent[Any, Any] | None, call_id: str) -> Agent[Any, Any] | None:
    """The agent whose turn it is in the nested run of a call that waits in `state`, where `agent` made that call, or in that of
    one of its output validators."""
    turn = state.turn
    if agent is None or turn is None:
        return None
    call, declared = next((call for call in turn.calls if call.call_id == call_id), None), Declaration.of(agent)
    if call is None:
        first = _asked_agent(declared, call_id)
    else:
        tool = handler_of(call, declared.tools)
        first = tool.agent if isinstance(tool, AgentTool) else None
    if first is None:
        return None
    child = turn.children.get(call_id)
    return find_agent(first, first.name if child is None else child.agent)


def _asked_agent(declared: Declaration, run_id: str) -> Agent[Any, Any] | None:
    """The agent that an output validator asks in this nested run."""
    asked = [(validator.name, agent) for validator in declared.validators for agent in validator.agents]
    prefix = run_id[: run_id.rfind(":") + 1]
    found = next((agent for name, agent in asked if prefix == validator_run_prefix(name, agent.name)), None)
    return cast("Agent[Any, Any] | None", found)


def check_agent(agent: Agent[Any, Any], recorded: State) -> None:
    """Raises `StateMismatchError` unless the run was begun by an agent of this one's name."""
    if agent.name != recorded.first_agent:
        raise StateMismatchError(
            f"run {recorded.run_id!r} was begun by agent {recorded.first_agent!r}, expected by {agent.name!r}; "
            "pass the agent it was started with"
        )
