"""`Runner.drive`: a stored run is begun, gone on with, or given as it stands, whichever is due."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import Any, TypeVar, cast

from agentsdk.core.call_order import held_calls
from agentsdk.core.next_step import next_deadline, pending_calls, validator_runs
from agentsdk.core.run_state import Kept, RunState
from agentsdk.core.state import State, is_cancelled
from agentsdk.define.agent import Agent
from agentsdk.define.declaration import Declaration
from agentsdk.define.run_config import RunConfig
from agentsdk.define.tool import FunctionTool
from agentsdk.engine.begin import clock_of, input_items
from agentsdk.engine.checked_store import CheckedStore
from agentsdk.engine.claim import is_lost, let_go
from agentsdk.engine.log_positions import nested_agent
from agentsdk.engine.prepare import find_agent
from agentsdk.engine.stored import find_run, store_of
from agentsdk.types.errors import RunConflictError, StateMismatchError, UserError
from agentsdk.types.events import RunStarted
from agentsdk.types.spec import ToolSpec, handler_of, handoff_of
from agentsdk.types.summary import RunSummary

_ATTEMPTS = 8
"""How often a run is looked at, where another process is first each time."""

ForRun = Callable[[RunSummary], "Any | Awaitable[Any]"]
"""Gives something for one run, by its summary: its context object, say."""

T = TypeVar("T")


async def drive(
    agents: object,
    run_id: str,
    given: object,
    begin_with: str | None,
    config: RunConfig,
    *,
    run: Callable[[Agent[Any, Any], Any], Awaitable[T]],
    show: Callable[[Agent[Any, Any], RunState], T],
    owner: str = "",
) -> T:
    """What `Runner.drive` does: `run` runs an agent on an input or a state, `show` gives a state's result as it stands.

    `owner` has claimed the run, and goes on as that.
    """
    store, registry = store_of(config), registry_of(agents)
    attempt = 1
    while True:
        state = await find_run(store, run_id, required=given is None)
        if state is None:
            agent, start = agent_to_begin(registry, begin_with), given
        else:
            agent = agent_of(registry, state)
            require_same_input(state, given)
            start = RunState(state, state_key=config.state_key, kept=Kept(len(state.log), owner))
            if is_suspended(state, agent, clock_of(config)()) and not await _has_signals(store, state):
                if owner:
                    await let_go(store, state, owner, clock_of(config)())
                return show(agent, start)
            require_tools(state, find_agent(agent, state.agent), config.tools)
        try:
            return await run(agent, start)
        except RunConflictError:
            # Another one was first: what it has come to by now is due, unless it is still at it.
            if owner or attempt == _ATTEMPTS or await _is_lost(store, run_id, config):
                raise
        attempt += 1


def registry_of(agents: object) -> dict[str, Agent[Any, Any]]:
    """The agents by name. Raises `UserError` for what is no agent, for none, and for two of one name."""
    if isinstance(agents, Agent):
        return {agents.name: agents}
    if isinstance(agents, Mapping):
        given = list(cast("Mapping[object, object]", agents).items())
    elif isinstance(agents, Sequence) and not isinstance(agents, str):
        given = [(getattr(agent, "name", None), agent) for agent in cast("Sequence[object]", agents)]
    else:
        raise UserError(f"Runner was given a {type(agents).__name__!r}, expected an Agent, a list of them or a dict by name")
    registry: dict[str, Agent[Any, Any]] = {}
    for name, agent in given:
        if not isinstance(agent, Agent):
            raise UserError(f"the registry holds a {type(agent).__name__!r}, expected agents; pass Agent(...)")
        if name != agent.name:
            raise UserError(f"the registry has agent {agent.name!r} under {name!r}, expected its name; use agent.name")
        if agent.name in registry:
            raise UserError(f"the registry has two agents named {agent.name!r}, expected unique names; rename one of them")
        registry[agent.name] = agent
    if not registry:
        raise UserError("the registry is empty, expected the agents that runs may be of; pass at least one")
    return registry


def agent_to_begin(registry: Mapping[str, Agent[Any, Any]], name: str | None) -> Agent[Any, Any]:
    """The agent that a new run begins with: `name`, or the only one. Raises `UserError`."""
    if name is None and len(registry) == 1:
        return next(iter(registry.values()))
    agent = None if name is None else registry.get(name)
    if agent is None:
        wanted = "no agent was named" if name is None else f"there is no agent {name!r}"
        raise UserError(f"{wanted} for a new run, expected one of {sorted(registry)}; pass begin_with=...")
    return agent


def agent_of(registry: Mapping[str, Agent[Any, Any]], state: State) -> Agent[Any, Any]:
    """The agent that a stored run began with. Raises `StateMismatchError` where it, or the one it is at, cannot be reached."""
    agent = registry.get(state.first_agent)
    if agent is None:
        raise StateMismatchError(
            f"run {state.run_id!r} was begun by agent {state.first_agent!r}, which is not among {sorted(registry)}; add it to "
            "the registry"
        )
    if find_agent(agent, state.agent) is None:
        raise StateMismatchError(
            f"run {state.run_id!r} is at agent {state.agent!r}, expected one that {agent.name!r} can reach by handoffs; give "
            f"{agent.name!r} that handoff again"
        )
    return agent


def require_same_input(state: State, given: object) -> None:
    """Raises `RunConflictError` where the run was begun with another input: two callers mean two runs by one id.

    `UserError` for what is no input. None is whatever it was begun with.
    """
    started = state.log[0]
    assert isinstance(started, RunStarted)
    if given is not None and input_items(given, started.input[: started.history])[0] != started.input:
        raise RunConflictError(
            f"run {state.run_id!r} was begun with another input, expected the same at each call; leave input out to go on with "
            "the run, or choose another run_id"
        )


def require_tools(state: State, agent: Agent[Any, Any] | None, of_run: Sequence[FunctionTool[Any]] = ()) -> None:
    """Raises `StateMismatchError` where a call that a person was asked for, or that has begun, is to a tool that is gone: one
    neither of the agent nor `of_run`. Of what its toolsets offered, they say so themselves.

    The loop would say so too, but only once it has gone on with the run: here it is left as it is, for who has the tool.
    """
    turn = state.turn
    if agent is None or turn is None or turn.program is not None:
        return
    declared = Declaration.of(agent)
    known: dict[str, FunctionTool[Any] | ToolSpec] = {**declared.tools, **{tool.name: tool for tool in of_run}}
    for (name, _), offered in state.offered.items():
        known |= offered.tools if name == agent.name else {}
    for call in turn.calls:
        call_id = call.call_id
        if call_id in turn.results or not (call_id in turn.intended or call_id in turn.asked):
            continue
        if handler_of(call, known) is None and handoff_of(call, declared.handoffs) is None:
            raise StateMismatchError(
                f"call {call_id!r} of run {state.run_id!r} is to tool {call.name!r}, which agent {agent.name!r} no longer has, "
                "expected the tools the run was started with; give the agent that tool again"
            )
        if (child := turn.children.get(call_id)) is not None:
            require_tools(child, nested_agent(state, agent, call_id))


async def _is_lost(store: CheckedStore, run_id: str, config: RunConfig) -> bool:
    """Whether another one has the run, and not an earlier attempt of this one's engine."""
    summary = await store.summary(run_id)
    return summary is not None and is_lost(summary, config.owner, clock_of(config)())


async def _has_signals(store: CheckedStore, state: State) -> bool:
    """Whether something waits in the mailbox of a run that takes it."""
    summary = None if is_cancelled(state) else await store.summary(state.run_id)
    return summary is not None and summary.signals > state.taken


def is_suspended(state: State, first: Agent[Any, Any], now: float) -> bool:
    """Whether going on would come to nothing new at `now`, a Unix timestamp in seconds.

    The run was cancelled, is paused, or waits for a person, for an answer from outside or for a limit to be raised, and all
    else is done.
    """
    if is_cancelled(state) or (state.ended is None and state.paused is not None):
        return True
    if state.ended is None and state.limit is not None and state.limit.pauses:
        return True
    pending = pending_calls(state)
    deadline = next_deadline(pending)
    return bool(pending) and (deadline is None or now < deadline) and only_waits(state, find_agent(first, state.agent))


def only_waits(state: State, agent: Agent[Any, Any] | None) -> bool:
    """Whether every call of the open turn has its result, or waits for a person or an answer. Handoffs come after them."""
    turn = state.turn
    if turn is not None and turn.program is not None:
        return turn.program.waiting == len(pending_calls(state))
    if agent is None or turn is None or turn.response is None:
        return False
    waiting = {item.call_id for item in pending_calls(state) if not item.path} | held_calls(turn)
    for call in turn.calls:
        if call.call_id in waiting or handoff_of(call, Declaration.of(agent).handoffs) is not None:
            continue
        result = turn.results.get(call.call_id)
        if result is not None:
            if result.is_withheld:
                return False
            continue
        child = turn.children.get(call.call_id)
        if child is None or not pending_calls(child) or not only_waits(child, nested_agent(state, agent, call.call_id)):
            return False
    judging = [(run_id, child) for run_id, child in validator_runs(turn) if child.ended is None]
    return all(pending_calls(child) and only_waits(child, nested_agent(state, agent, run_id)) for run_id, child in judging)
