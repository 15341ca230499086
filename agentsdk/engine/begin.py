"""How a run begins: a new one with its input, a resumed one from its state."""

from __future__ import annotations

import dataclasses
import os
import time
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any, cast

from msgspec import structs

from agentsdk.core.keys import SCHEME
from agentsdk.core.limits.run_limits import DEFAULT_LIMITS, with_raised
from agentsdk.core.pairing import joined
from agentsdk.core.run_state import RunState, check_first_agent
from agentsdk.core.state import State, new_state
from agentsdk.define.agent import Agent, RunHooks
from agentsdk.define.context import RunContextWrapper
from agentsdk.define.inbox import Inbox
from agentsdk.define.run_config import RunConfig
from agentsdk.engine.deps import ModelCatalog, RunDeps
from agentsdk.engine.guards import guards_of, require_guards
from agentsdk.engine.limits.limiter import SCOPE
from agentsdk.engine.limits.reservation import has_budget
from agentsdk.engine.loop import run_loop
from agentsdk.engine.prepare import check_agent_names, find_agent, find_agents
from agentsdk.engine.run import NO_LIMITS, Run, call_ids, drive_of, require_asyncio, version_of
from agentsdk.engine.saved_context import load_context
from agentsdk.engine.side_request import ask_for_call
from agentsdk.ports.clock import read
from agentsdk.ports.meter import Meter
from agentsdk.ports.tracer import Tracer
from agentsdk.types.errors import StateMismatchError, StateTamperedError, UserError
from agentsdk.types.events import RunEvent, RunStarted
from agentsdk.types.hosted import ServerConversation
from agentsdk.types.items import FunctionCall, InputItem, Item, items_from_input


def begin_run(
    agent: Agent[Any, Any],
    given: object,
    history: tuple[Item, ...],
    context: object,
    max_turns: int | None,
    hooks: RunHooks[Any] | None,
    config: RunConfig,
    catalog: ModelCatalog,
    tracer: Tracer | None,
    meter: Meter | None,
) -> tuple[Run, tuple[RunEvent, ...]]:
    """A run that has not begun yet, and the events it begins with."""
    require_asyncio()
    if not isinstance(agent, Agent):
        raise UserError(f"Runner was given a {type(agent).__name__!r}, expected an Agent first; call Runner.run(agent, input)")
    check_agent_names(agent)
    if isinstance(given, RunState):
        config = _sealed_as(given, config)
    deps = RunDeps(config, catalog, clock_of(config), tracer, meter, SCOPE.get())
    if config.window is not None and config.token_counter is None:
        model = agent.model if config.model is None else config.model
        name = model if isinstance(model, str) else getattr(model, "name", "")
        if name:
            catalog.counter_of(name)  # its encoding loads while the run begins
    limits = config.limits if max_turns is None else dataclasses.replace(config.limits, turns=max_turns)
    if agent.driver is not None and limits is DEFAULT_LIMITS:
        limits = NO_LIMITS  # how many agents a program asks is its own affair
    if isinstance(given, RunState):
        value = given.value
        if context is None:
            context = given.context
        if context is None:
            context = load_context(config, value)
        run, begin = _resumed(agent, given, RunContextWrapper(context), deps)
        require_guards(value, agent, config, context)
        limits = with_raised(limits, value.limits_raised)
    else:
        run, begin = _fresh(agent, given, history, RunContextWrapper(context), deps)
    if run.added is not None or config.inbox is not None:
        run.inboxes = tuple([inbox for inbox in (run.added, config.inbox) if inbox is not None])
    run.limits = limits
    if hooks is not None:
        run.hooks = (hooks,)
    finalizes = deps.keeps_back and not callable(config.on_limit)
    run.has_budget = finalizes or deps.scope is not None or has_budget(run.limits)
    return run, begin


def _fresh(
    agent: Agent[Any, Any], given: object, history: tuple[Item, ...], context: RunContextWrapper[Any], deps: RunDeps
) -> tuple[Run, tuple[RunEvent, ...]]:
    """A new run, and its start."""
    items, known = input_items(given, history)
    run = _run(agent, context, deps, new_state())
    if len(items) > 1:
        run.call_ids = {item.call_id for item in items if type(item) is FunctionCall}
    run_id = deps.config.run_id or os.urandom(8).hex()
    guards = guards_of(agent, deps.config, context.context)
    started = RunStarted(run_id, agent.name, items, known, deps.now(), keys=SCHEME, guards=guards, version=version_of(agent))
    metadata, priority = deps.config.metadata, deps.config.priority
    if metadata or priority:
        started = structs.replace(started, metadata=dict(metadata or ()), priority=priority)
    if deps.config.is_hosted:
        where = deps.config.conversation_id or "", deps.config.previous_response_id or ""
        started = structs.replace(started, conversation_id=where[0], previous_response_id=where[1])
        run.conversation = ServerConversation(*where)
    return run, (started,)


def input_items(given: object, history: tuple[Item, ...]) -> tuple[tuple[Item, ...], int]:
    """What a run begins with: `history` and then its input; and how many of them are the history's. Raises `UserError`."""
    if isinstance(given, str):
        items = items_from_input(given)
        return joined(history, items) if history else (items, 0)
    if isinstance(given, Sequence):
        return joined(history, items_from_input(cast(Sequence[InputItem], given)))
    remedy = "result.to_state()" if hasattr(given, "to_state") else "one"
    raise UserError(
        f"Runner was given the input {type(given).__name__!r}, expected a str, a list of items or a RunState; pass {remedy}"
    )


def _resumed(
    agent: Agent[Any, Any], given: RunState, context: RunContextWrapper[Any], deps: RunDeps
) -> tuple[Run, tuple[RunEvent, ...]]:
    """A run where it stood, and what was decided on it meanwhile."""
    state, decisions = given.pieces()
    run = _run(_current(agent, given.value), context, deps, state)
    run.kept = given.kept
    run.call_ids = call_ids(given.value)
    if given.added_input:
        run.added = Inbox()
        for message in given.added_input:
            run.added.put(message)
    find_agents(run, agent)
    context.usage = state.usage
    started = state.log[0]
    if isinstance(started, RunStarted) and (started.conversation_id or started.previous_response_id):
        run.conversation = ServerConversation(started.conversation_id, started.previous_response_id)
    if decisions:
        from agentsdk.engine.decisions import accepted

        decisions = accepted(agent, given, deps.now())
    return run, decisions


def _run(agent: Agent[Any, Any], context: RunContextWrapper[Any], deps: RunDeps, state: State) -> Run:
    return Run(
        deps=deps,
        context=context,
        state=state,
        agent=agent,
        agents={agent.name: agent},
        drive=drive_of(agent, state, run_loop),
        ask_for_call=ask_for_call,
    )


def _sealed_as(given: RunState, config: RunConfig) -> RunConfig:
    """The config of a run that goes on: its states are sealed as the one it goes on from; what was not checked gets no seal."""
    if config.state_key is None:
        return config if given.state_key is None else dataclasses.replace(config, state_key=given.state_key)
    if not given.is_verified:
        raise StateTamperedError(
            f"the state of run {given.run_id!r} was loaded without its state_key, so nothing vouches for it, expected a "
            "checked one under RunConfig(state_key=...); load it with RunState.from_string(..., state_key=...)"
        )
    return config


def _current(agent: Agent[Any, Any], state: State) -> Agent[Any, Any]:
    """The agent a state goes on with, reached from the agent the run began with."""
    check_first_agent(state, agent)
    current = find_agent(agent, state.agent)
    if current is None:
        raise StateMismatchError(
            f"the state is at agent {state.agent!r}, expected one that {agent.name!r} can reach by handoffs; "
            "pass the agents it was started with"
        )
    return current


def clock_of(config: RunConfig) -> Callable[[], float]:
    """What tells the run's time, as a Unix timestamp in seconds."""
    return time.time if config.clock is None else partial(read, config.clock)
