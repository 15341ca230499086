"""`Runner`: the loop. It takes turns until one resolves to a final output or an interruption."""

from __future__ import annotations

import asyncio
import dataclasses
import os
import time
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any, Generic, TypedDict, Unpack, cast, overload

from agentsdk.core.diff import RunDiff, diff
from agentsdk.core.keys import SCHEME
from agentsdk.core.limits.run_limits import with_raised
from agentsdk.core.pairing import joined
from agentsdk.core.run_state import Kept, RunState
from agentsdk.core.state import State, new_state
from agentsdk.define.agent import MODEL, Agent
from agentsdk.define.context import RunContextWrapper
from agentsdk.define.hooks import RunHooks
from agentsdk.define.run_config import ERROR_HANDLERS, RUN_HOOKS, RunConfig, RunErrorHandlers
from agentsdk.define.stream_events import StreamEvent
from agentsdk.engine.channel import Channel
from agentsdk.engine.guards import guards_of, require_guards, was_given_context
from agentsdk.engine.items import ItemWalk
from agentsdk.engine.lifecycle import execute
from agentsdk.engine.limits.limiter import SCOPE
from agentsdk.engine.limits.reservation import has_budget
from agentsdk.engine.log_positions import check_agent
from agentsdk.engine.loop import run_loop
from agentsdk.engine.prepare import check_agent_names, find_agent
from agentsdk.engine.replay import Replay, replay
from agentsdk.engine.rerun import Change, ReplayWithChanges, rerun
from agentsdk.engine.run import ModelCatalog, Run, RunDeps, call_ids, require_asyncio
from agentsdk.engine.saved_context import load_context
from agentsdk.engine.session import load_history
from agentsdk.engine.stored import forked, load_run, release, save_decisions, save_fork, store_of
from agentsdk.models.facts import context_window_of, counter_of
from agentsdk.models.prices import price_with, read_price_lists
from agentsdk.models.provider import find_model
from agentsdk.ports.clock import read
from agentsdk.ports.model import Model
from agentsdk.ports.session import SESSION, Session
from agentsdk.result import RunResult, RunResultStreaming
from agentsdk.tracing.find import find_tracer
from agentsdk.tracing.guarded import GuardedTracer
from agentsdk.types.declared import FLAG, Fields, a, optional
from agentsdk.types.errors import (
    ResumableState,
    StateMismatchError,
    StateTamperedError,
    UserError,
)
from agentsdk.types.events import HandedOff, RunEvent, RunStarted
from agentsdk.types.generics import TContext, TOutput
from agentsdk.types.items import FunctionCall, InputItem, Item, items_from_input
from agentsdk.types.summary import check_run_id

_DEFAULT = RunConfig()
_ARGUMENTS = Fields(
    "Runner",
    hooks=optional(RUN_HOOKS),
    run_config=optional(a(RunConfig, "a RunConfig; pass RunConfig(...)")),
    session=optional(SESSION),
    error_handlers=optional(ERROR_HANDLERS),
    take_over=FLAG,
    state=a(RunState, "a RunState; pass what Runner.load or result.to_state() gave"),
    agent=a(Agent, "an Agent"),
    change=optional(a(Agent, "an Agent")),
    model=MODEL,
    live_effects=FLAG,
)
_FACTS = ModelCatalog(find_model, price_with, read_price_lists, counter_of, context_window_of)

RunInput = str | Sequence[InputItem] | ResumableState
"""A run's input: text, items, or the state of a run to go on with."""


class _Arguments(TypedDict, Generic[TContext], total=False):
    """What `Runner.run` takes beside agent, input and context."""

    max_turns: int | None
    hooks: RunHooks[TContext] | None
    run_config: RunConfig | None
    session: Session | None
    error_handlers: RunErrorHandlers | None


class Runner:
    """Runs agents. Every way to run one is the same loop over the same turns.

    To a type checker an `Agent[T]` needs a `context` of that type, unless T is None or the run goes on: that one may have it.
    """

    @overload
    @staticmethod
    async def run(
        starting_agent: Agent[TContext, TOutput],
        input: RunInput,
        *,
        context: TContext,
        **arguments: Unpack[_Arguments[TContext]],
    ) -> RunResult[TOutput]: ...
    @overload
    @staticmethod
    async def run(
        starting_agent: Agent[None, TOutput],
        input: RunInput,
        *,
        context: None = None,
        **arguments: Unpack[_Arguments[None]],
    ) -> RunResult[TOutput]: ...
    @overload
    @staticmethod
    async def run(
        starting_agent: Agent[TContext, TOutput],
        input: ResumableState,
        *,
        context: TContext | None = None,
        **arguments: Unpack[_Arguments[TContext]],
    ) -> RunResult[TOutput]: ...
    @staticmethod
    async def run(
        starting_agent: Agent[TContext, TOutput],
        input: RunInput,
        *,
        context: TContext | None = None,
        max_turns: int | None = None,
        hooks: RunHooks[TContext] | None = None,
        run_config: RunConfig | None = None,
        session: Session | None = None,
        error_handlers: RunErrorHandlers | None = None,
    ) -> RunResult[TOutput]:
        """Run `starting_agent` on `input` until it has its final output or waits for a person.

        A `RunState`, or the `.state` of an error, goes on where it stood. `max_turns` is short for `run_config.limits.turns`.
        Raises `AgentsException`s with the state to go on from. Their `state` is None where no run has begun: `UserError` for
        an argument that is wrong, `SessionError` for a session that cannot be read, `RunConflictError` for a run that exists
        already or is held elsewhere.
        """
        if hooks is not None or session is not None or error_handlers is not None or type(run_config) is not RunConfig:
            _ARGUMENTS.check_given(hooks=hooks, run_config=run_config, session=session, error_handlers=error_handlers)
        history = await load_history(session) if session is not None and not isinstance(input, RunState) else ()
        run, begin = _prepared(starting_agent, input, history, context, max_turns, hooks, run_config)
        await execute(run, begin, session, error_handlers, starting_agent)
        return RunResult(run)

    @staticmethod
    async def resume(
        starting_agent: Agent[TContext, TOutput],
        run_id: str,
        *,
        context: TContext | None = None,
        max_turns: int | None = None,
        hooks: RunHooks[TContext] | None = None,
        run_config: RunConfig,
        session: Session | None = None,
        error_handlers: RunErrorHandlers | None = None,
        take_over: bool = False,
    ) -> RunResult[TOutput]:
        """Go on with the run `run_id` of `run_config.store`, wherever it stands: paused, stopped, or left by a dead process.

        Of several processes that try at once one wins; the others raise `RunConflictError`, as do those that come while
        it is held.
        `take_over` says that nobody works on it although its lease has not passed. Raises `RunNotFoundError`, and like `run`.
        """
        _ARGUMENTS.check_given(hooks=hooks, session=session, error_handlers=error_handlers, take_over=take_over)
        given = await _stored(run_id, run_config, take_over)
        return await Runner.run(
            starting_agent,
            given,
            context=context,
            max_turns=max_turns,
            hooks=hooks,
            run_config=run_config,
            session=session,
            error_handlers=error_handlers,
        )

    @overload
    @staticmethod
    def run_sync(
        starting_agent: Agent[TContext, TOutput],
        input: RunInput,
        *,
        context: TContext,
        **arguments: Unpack[_Arguments[TContext]],
    ) -> RunResult[TOutput]: ...
    @overload
    @staticmethod
    def run_sync(
        starting_agent: Agent[None, TOutput],
        input: RunInput,
        *,
        context: None = None,
        **arguments: Unpack[_Arguments[None]],
    ) -> RunResult[TOutput]: ...
    @overload
    @staticmethod
    def run_sync(
        starting_agent: Agent[TContext, TOutput],
        input: ResumableState,
        *,
        context: TContext | None = None,
        **arguments: Unpack[_Arguments[TContext]],
    ) -> RunResult[TOutput]: ...
    @staticmethod
    def run_sync(
        starting_agent: Agent[TContext, TOutput],
        input: RunInput,
        *,
        context: TContext | None = None,
        max_turns: int | None = None,
        hooks: RunHooks[TContext] | None = None,
        run_config: RunConfig | None = None,
        session: Session | None = None,
        error_handlers: RunErrorHandlers | None = None,
    ) -> RunResult[TOutput]:
        """`run` for code without an event loop. Raises `UserError` where one is running: await `run` there."""
        try:
            asyncio.get_running_loop()
        except RuntimeError:
            pass
        else:
            raise UserError(
                "Runner.run_sync was called inside a running event loop, expected none; use 'await Runner.run(...)'"
            )

        async def main() -> RunResult[TOutput]:
            from agentsdk.models.shared_client import aclose

            try:
                return await Runner.run(
                    starting_agent,
                    input,
                    context=cast(TContext, context),
                    max_turns=max_turns,
                    hooks=hooks,
                    run_config=run_config,
                    session=session,
                    error_handlers=error_handlers,
                )
            finally:
                await aclose()

        return asyncio.run(main())

    @overload
    @staticmethod
    def run_streamed(
        starting_agent: Agent[TContext, TOutput],
        input: RunInput,
        *,
        context: TContext,
        **arguments: Unpack[_Arguments[TContext]],
    ) -> RunResultStreaming[TOutput]: ...
    @overload
    @staticmethod
    def run_streamed(
        starting_agent: Agent[None, TOutput],
        input: RunInput,
        *,
        context: None = None,
        **arguments: Unpack[_Arguments[None]],
    ) -> RunResultStreaming[TOutput]: ...
    @overload
    @staticmethod
    def run_streamed(
        starting_agent: Agent[TContext, TOutput],
        input: ResumableState,
        *,
        context: TContext | None = None,
        **arguments: Unpack[_Arguments[TContext]],
    ) -> RunResultStreaming[TOutput]: ...
    @staticmethod
    def run_streamed(
        starting_agent: Agent[TContext, TOutput],
        input: RunInput,
        *,
        context: TContext | None = None,
        max_turns: int | None = None,
        hooks: RunHooks[TContext] | None = None,
        run_config: RunConfig | None = None,
        session: Session | None = None,
        error_handlers: RunErrorHandlers | None = None,
    ) -> RunResultStreaming[TOutput]:
        """`run`, read while it goes: `async for event in Runner.run_streamed(...)`. Nothing starts before that.

        Raises `UserError` at once for an argument that is wrong.
        """
        _ARGUMENTS.check_given(hooks=hooks, run_config=run_config, session=session, error_handlers=error_handlers)

        async def begin(stream: RunResultStreaming[TOutput], channel: Channel[StreamEvent]) -> None:
            history = await load_history(session) if session is not None and not isinstance(input, RunState) else ()
            run, events = _prepared(starting_agent, input, history, context, max_turns, hooks, run_config)
            _show(run, stream, channel)
            await execute(run, events, session, error_handlers, starting_agent)

        return RunResultStreaming(begin)

    @staticmethod
    def resume_streamed(
        starting_agent: Agent[TContext, TOutput],
        run_id: str,
        *,
        context: TContext | None = None,
        max_turns: int | None = None,
        hooks: RunHooks[TContext] | None = None,
        run_config: RunConfig,
        session: Session | None = None,
        error_handlers: RunErrorHandlers | None = None,
        take_over: bool = False,
    ) -> RunResultStreaming[TOutput]:
        """`resume`, read while it goes. What is streamed is what happens from now on.

        Raises `UserError` at once for an argument that is wrong.
        """
        _ARGUMENTS.check_given(hooks=hooks, session=session, error_handlers=error_handlers, take_over=take_over)
        check_run_id(run_id)
        store_of(run_config)

        async def begin(stream: RunResultStreaming[TOutput], channel: Channel[StreamEvent]) -> None:
            given = await _stored(run_id, run_config, take_over)
            run, events = _prepared(starting_agent, given, (), context, max_turns, hooks, run_config)
            _show(run, stream, channel)
            await execute(run, events, session, error_handlers, starting_agent)

        return RunResultStreaming(begin)

    @staticmethod
    async def load(run_id: str, *, run_config: RunConfig, at: int | None = None) -> RunState:
        """The run `run_id` as it stands in `run_config.store`, or as it was at revision `at`: to look at, and to decide on.

        Raises `RunNotFoundError`, `StateError`s for a damaged or newer log, `UserError` for a revision there is not.
        """
        return RunState(await load_run(store_of(run_config), run_id, at), state_key=run_config.state_key)

    @staticmethod
    async def decide(state: RunState, *, run_config: RunConfig) -> RunState:
        """Put what was decided on `state` into the store, for whoever resumes the run. Any process may: it needs no agent.

        Raises `RunConflictError` if another process holds the run, or has decided the same calls.
        """
        _ARGUMENTS.check_given(state=state)
        return await save_decisions(store_of(run_config), state, _now(run_config)(), price_with(run_config.prices))

    @staticmethod
    async def fork(
        run_id: str,
        *,
        at: int | None = None,
        new_run_id: str | None = None,
        keep_approvals: bool = False,
        run_config: RunConfig,
    ) -> str:
        """A new run that goes on from where `run_id` was at revision `at`; its id, for `resume`. The old one stays as it is.

        Calls that run again run under the new run's idempotency keys. A person approved calls of the old run: the new one asks
        again for those that have no result yet, and `always_approve` ends; with `keep_approvals` what was decided counts in
        both, so that one approval can let a call run twice. Raises like `load`, and `RunConflictError` for an id in use.
        """
        store, now = store_of(run_config), _now(run_config)()
        origin = await load_run(store, run_id, at)
        fork = forked(origin, _fork_id(new_run_id), now, keep_approvals=keep_approvals)
        await save_fork(store, fork, now, price_with(run_config.prices))
        return fork.run_id

    @staticmethod
    async def diff(run_a: str, run_b: str, *, run_config: RunConfig) -> RunDiff:
        """Where two runs of the store part, a fork and its origin say, and what the second took more than the first.

        The cost is None where a price is not known, from `run_config.prices` or the extra `prices`. Raises like `load`.
        """
        store = store_of(run_config)
        return diff(await load_run(store, run_a), await load_run(store, run_b), price_with(run_config.prices))

    @overload
    @staticmethod
    async def replay(agent: Agent[TContext, Any], run_id: str, *, run_config: RunConfig) -> Replay: ...
    @overload
    @staticmethod
    async def replay(
        agent: Agent[TContext, Any],
        run_id: str,
        *,
        change: Agent[TContext, Any],
        model: str | Model | None = None,
        at: int | None = None,
        new_run_id: str | None = None,
        live_effects: bool = False,
        context: TContext | None = None,
        run_config: RunConfig,
    ) -> ReplayWithChanges: ...
    @overload
    @staticmethod
    async def replay(
        agent: Agent[TContext, Any],
        run_id: str,
        *,
        change: None = None,
        model: str | Model,
        at: int | None = None,
        new_run_id: str | None = None,
        live_effects: bool = False,
        context: TContext | None = None,
        run_config: RunConfig,
    ) -> ReplayWithChanges: ...
    @staticmethod
    async def replay(
        agent: Agent[TContext, Any],
        run_id: str,
        *,
        change: Agent[TContext, Any] | None = None,
        model: str | Model | None = None,
        at: int | None = None,
        new_run_id: str | None = None,
        live_effects: bool = False,
        context: TContext | None = None,
        run_config: RunConfig,
    ) -> Replay | ReplayWithChanges:
        """Take the stored run `run_id`, which `agent` began, through its turns again. It stays as it is.

        Without a change nobody is called (no model, tool, hook, guardrail or rule), and the `Replay` says whether every turn
        still comes to the step that is recorded.

        With `change`, a changed agent, or `model`, another model for all its agents, the run is run again from its input, or
        from revision `at`. Replies and results that the change does not touch are the record's. For the rest the model is asked
        and a tool is run if its effect is `"none"`; the run stops before any other call unless there are `live_effects`, and
        without them `on_handoff` is not called. Agents' hooks are not called; instructions, rules and guardrails are, as they
        may be what has changed. The `ReplayWithChanges` says where the runs part and what that came to. With `new_run_id` the
        new run is a stored fork, to be gone on with; otherwise it lives in memory.

        Raises like `load`, `StateMismatchError` for another agent's run, and `RunConflictError` for an id in use.
        """
        _ARGUMENTS.check_given(agent=agent, change=change, model=model, live_effects=live_effects)
        store = store_of(run_config)
        recorded = await load_run(store, run_id)
        for one in (agent, change or agent):
            check_agent(one, recorded)
        if change is None and model is None:
            if at is not None or new_run_id is not None or live_effects:
                raise UserError("a replay was given options but no change, expected change= or model=; give one, or drop them")
            return await replay(recorded, agent, run_config)
        now, at = _now(run_config)(), 1 if at is None else at
        origin = await load_run(store, run_id, at)
        guards = guards_of(change or agent, run_config, True if was_given_context(origin) else None)
        start = forked(origin, _fork_id(new_run_id), now, guards=guards)
        if new_run_id is None:
            run_config = dataclasses.replace(run_config, store=None)
        else:
            await save_fork(store, start, now, price_with(run_config.prices))

        async def play(
            agent: Agent[Any, Any], state: RunState, config: RunConfig, hooks: RunHooks[Any]
        ) -> tuple[RunState, object]:
            result = await Runner.run(agent, state, context=context, hooks=hooks, run_config=config)
            return result.to_state(), result.final_output if result.is_finished else None

        changed = Change(agent, change or agent, model, live_effects)
        price = price_with(run_config.prices)
        return await rerun(recorded, len(origin.log), start, changed, run_config, play=play, find_model=find_model, price=price)


def _prepared(
    agent: Agent[Any, Any],
    given: RunInput,
    history: tuple[Item, ...],
    context: object,
    max_turns: int | None,
    hooks: RunHooks[Any] | None,
    config: RunConfig | None,
) -> tuple[Run, tuple[RunEvent, ...]]:
    """A run that has not begun yet, and the events it begins with."""
    require_asyncio()
    if not isinstance(agent, Agent):
        raise UserError(f"Runner was given a {type(agent).__name__!r}, expected an Agent first; call Runner.run(agent, input)")
    check_agent_names(agent)
    config = _DEFAULT if config is None else config
    if isinstance(given, RunState):
        config = _sealed_as(given, config)
    tracer = None if config.tracing_disabled else find_tracer() if config.tracer is None else GuardedTracer(config.tracer)
    deps = RunDeps(config, run_loop, _FACTS, _now(config), hooks, tracer, SCOPE.get())
    model = agent.model if config.model is None else config.model
    if config.window is not None and config.token_counter is None and model is not None:
        counter_of(model if isinstance(model, str) else model.name)  # its encoding loads while the run begins
    if isinstance(given, RunState):
        value = given.value
        if context is None:
            context = given.context
        if context is None:
            context = load_context(config, value)
        run, begin = _resumed(agent, given, RunContextWrapper(context), deps)
        require_guards(value, agent, config, context)
        limits = run.limits if max_turns is None else dataclasses.replace(run.limits, turns=max_turns)
        run.limits = with_raised(limits, value.limits_raised)
    else:
        run, begin = _fresh(agent, given, history, RunContextWrapper(context), deps)
        if max_turns is not None:
            run.limits = dataclasses.replace(run.limits, turns=max_turns)
    finalizes = deps.keeps_back and not callable(config.on_limit)
    run.has_budget = finalizes or deps.scope is not None or has_budget(run.limits)
    return run, begin


def _fresh(
    agent: Agent[Any, Any], given: object, history: tuple[Item, ...], context: RunContextWrapper[Any], deps: RunDeps
) -> tuple[Run, tuple[RunEvent, ...]]:
    """A new run, and its start."""
    if isinstance(given, str):
        new = items_from_input(given)
    elif isinstance(given, Sequence):
        new = items_from_input(cast(Sequence[InputItem], given))
    else:
        raise UserError(
            f"Runner was given the input {type(given).__name__!r}, expected a str, a list of items or a RunState; pass one"
        )
    items, known = joined(history, new) if history or not isinstance(given, str) else (new, 0)
    run = Run(agent, context, deps, new_state())
    if len(items) > 1:
        run.call_ids = {item.call_id for item in items if type(item) is FunctionCall}
    run_id = deps.config.run_id or os.urandom(8).hex()
    guards = guards_of(agent, deps.config, context.context)
    return run, (RunStarted(run_id, agent.name, items, known, deps.now(), keys=SCHEME, guards=guards),)


def _resumed(
    agent: Agent[Any, Any], given: RunState, context: RunContextWrapper[Any], deps: RunDeps
) -> tuple[Run, tuple[RunEvent, ...]]:
    """A run where it stood, and what was decided on it meanwhile."""
    state, decisions = given.pieces()
    run = Run(_current(agent, given.value), context, deps, state)
    run.kept = given.kept
    run.call_ids = call_ids(given.value)
    for event in state.log:
        name = event.agent if isinstance(event, RunStarted | HandedOff) else ""
        if name and name not in run.agents and (found := find_agent(agent, name)) is not None:
            run.agents[name] = found
    context.usage = state.usage
    return run, decisions


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


def _fork_id(given: str | None) -> str:
    return os.urandom(8).hex() if given is None else check_run_id(given)


def _now(config: RunConfig) -> Callable[[], float]:
    return time.time if config.clock is None else partial(read, config.clock)


async def _stored(run_id: str, config: RunConfig, take_over: bool) -> RunState:
    store = store_of(config)
    if take_over:
        await release(store, run_id, _now(config)())
    state = await load_run(store, run_id)
    return RunState(state, state_key=config.state_key, kept=Kept(len(state.log)))


def _show(run: Run, stream: RunResultStreaming[Any], channel: Channel[StreamEvent]) -> None:
    """Let the reader of `stream` see what happens in the run from now on."""
    state = run.state
    walk = ItemWalk(run.agents, run.agents[state.first_agent] if state.log else run.agent)
    for event in state.log:
        walk.feed(event)

    def publish(_: Run, event: RunEvent) -> None:
        for stream_event in walk.feed(event):
            channel.put_nowait(stream_event)

    stream.attach(run)
    run.channel = channel
    run.publish = publish


def _current(agent: Agent[Any, Any], state: State) -> Agent[Any, Any]:
    """The agent a state goes on with, reached from the agent the run began with."""
    if state.first_agent != agent.name:
        raise StateMismatchError(
            f"the state's run was begun by another agent than {agent.name!r}, expected the agent it was started with; "
            "pass that agent"
        )
    current = find_agent(agent, state.agent)
    if current is None:
        raise StateMismatchError(
            f"the state is at agent {state.agent!r}, expected one that {agent.name!r} can reach by handoffs; "
            "pass the agents it was started with"
        )
    return current
