"""`Runner`: the loop. It takes turns until one resolves to a final output or an interruption."""

from __future__ import annotations

import asyncio
import os
import time
from collections.abc import Callable, Sequence
from typing import Any, assert_never, cast

from msgspec import structs

from agentsdk.core.next_step import FinalOutput, Handoff, Interruption, NextStep, RunAgain
from agentsdk.core.pairing import paired
from agentsdk.core.run_state import RunState
from agentsdk.core.state import State, new_state
from agentsdk.define.agent import Agent
from agentsdk.define.context import RunContextWrapper
from agentsdk.define.hooks import RunHooks
from agentsdk.define.run_config import ErrorKind, RunConfig, RunErrorHandlerInput, RunErrorHandlers
from agentsdk.define.stream_events import StreamEvent
from agentsdk.engine import hooks as hook_calls
from agentsdk.engine.callbacks import answer
from agentsdk.engine.channel import Channel
from agentsdk.engine.items import ItemWalk
from agentsdk.engine.judge import as_json, final_value
from agentsdk.engine.prepare import find_agent
from agentsdk.engine.run import Ports, Run, call_ids, require_asyncio
from agentsdk.engine.session import load_history, save_session
from agentsdk.engine.spans import TracedTurns
from agentsdk.engine.turn import run_single_turn
from agentsdk.models.provider import find_model
from agentsdk.ports.session import Session
from agentsdk.ports.tracer import Span, SpanAttributes, Tracer
from agentsdk.result import RunResult, RunResultStreaming
from agentsdk.tracing.find import find_tracer
from agentsdk.types.errors import (
    AgentsException,
    InvalidOutputError,
    MaxTurnsExceeded,
    ModelRefusalError,
    ResumableState,
    StateMismatchError,
    UserError,
)
from agentsdk.types.events import HandedOff, RunEnded, RunEvent, RunStarted, Stopped
from agentsdk.types.generics import TContext, TOutput
from agentsdk.types.items import FunctionCall, InputItem, Item, items_from_input

_DEFAULT = RunConfig()

_HANDLED: tuple[tuple[type[AgentsException], ErrorKind], ...] = (
    (MaxTurnsExceeded, "max_turns"),
    (ModelRefusalError, "model_refusal"),
    (InvalidOutputError, "invalid_final_output"),
)

RunInput = str | Sequence[InputItem] | ResumableState
"""A run's input: text, items, or the state of a run to go on with."""


class Runner:
    """Runs agents. Every way to run one is the same loop over the same turns."""

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
        Raises `AgentsException`s, each with the state to go on from.
        """
        history = await load_history(session) if session is not None and not isinstance(input, RunState) else ()
        run, begin = _prepared(starting_agent, input, history, context, max_turns, hooks, run_config)
        await _execute(run, begin, session, error_handlers)
        return RunResult(run)

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
            from agentsdk.models.http import aclose

            try:
                return await Runner.run(
                    starting_agent,
                    input,
                    context=context,
                    max_turns=max_turns,
                    hooks=hooks,
                    run_config=run_config,
                    session=session,
                    error_handlers=error_handlers,
                )
            finally:
                await aclose()

        return asyncio.run(main())

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
        """`run`, read while it goes: `async for event in Runner.run_streamed(...)`. Nothing starts before that."""

        async def begin(stream: RunResultStreaming[TOutput], channel: Channel[StreamEvent]) -> None:
            history = await load_history(session) if session is not None and not isinstance(input, RunState) else ()
            run, events = _prepared(starting_agent, input, history, context, max_turns, hooks, run_config)
            stream.attach(run)
            run.channel = channel
            run.publish = _publisher(run, channel)
            await _execute(run, events, session, error_handlers)

        return RunResultStreaming(begin)


async def _drive(run: Run) -> NextStep:
    """Take turns until the run rests. A run that was asked to stop rests after a turn, with `RunAgain` or `Handoff`."""
    ended = run.state.ended
    if ended is not None:
        run.final_output = final_value(run.agent.declaration().output, ended.output, ended.is_json)
        return FinalOutput(ended.output, ended.is_json)
    take = run_single_turn if run.ports.tracer is None else TracedTurns(run, run.ports.tracer).take
    while True:
        step = await take(run)
        match step:
            case RunAgain() | Handoff():
                if run.stop_requested:
                    return step
            case FinalOutput() | Interruption():
                return step
            case _:
                assert_never(step)


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
    config = config or _DEFAULT
    now = time.time if config.clock is None else config.clock.time
    tracer = None if config.tracing_disabled else config.tracer or find_tracer()
    ports = Ports(config, _drive, find_model, now, hooks, tracer)
    wrapper = RunContextWrapper(context)
    if isinstance(given, RunState):
        run, begin = _resumed(agent, given, wrapper, ports)
    else:
        run, begin = _fresh(agent, given, history, wrapper, ports)
    if max_turns is not None:
        run.limits = structs.replace(run.limits, turns=max_turns)
    return run, begin


def _fresh(
    agent: Agent[Any, Any], given: object, history: tuple[Item, ...], context: RunContextWrapper[Any], ports: Ports
) -> tuple[Run, tuple[RunEvent, ...]]:
    """A new run, and its start."""
    if isinstance(given, str):
        items = (*history, *items_from_input(given))
    elif isinstance(given, Sequence):
        items = (*history, *paired(items_from_input(cast(Sequence[InputItem], given))))
    else:
        raise UserError(
            f"Runner was given the input {type(given).__name__!r}, expected a str, a list of items or a RunState; pass one"
        )
    run = Run(agent, context, ports, new_state())
    if len(items) > 1:
        run.call_ids = {item.call_id for item in items if type(item) is FunctionCall}
    run_id = ports.config.run_id or os.urandom(8).hex()
    return run, (RunStarted(run_id, agent.name, items, len(history), ports.now()),)


def _resumed(
    agent: Agent[Any, Any], given: RunState, context: RunContextWrapper[Any], ports: Ports
) -> tuple[Run, tuple[RunEvent, ...]]:
    """A run where it stood, and what was decided on it meanwhile."""
    state, decisions = given.pieces()
    run = Run(_current(agent, given.value), context, ports, state)
    run.call_ids = call_ids(given.value)
    for event in state.log:
        name = event.agent if isinstance(event, RunStarted | HandedOff) else ""
        if name and name not in run.agents and (found := find_agent(agent, name)) is not None:
            run.agents[name] = found
    context.usage = state.usage
    return run, decisions


async def _execute(
    run: Run, begin: tuple[RunEvent, ...], session: Session | None, handlers: RunErrorHandlers | None
) -> None:
    """Drive a run to rest, its errors typed and carrying its state, its session saved either way."""
    run.span = span = None if run.ports.tracer is None else _run_span(run, run.ports.tracer, session)
    failure: BaseException | None = None
    fresh = not run.state.log
    try:
        try:
            if begin:
                await run.record(*begin)
            if fresh and hook_calls.watched(run):
                await hook_calls.agent_started(run)
            await _drive(run)
        except AgentsException as error:
            error.state = run.at_rest()
            if not await _handled(run, error, handlers):
                raise
        if session is not None:
            await save_session(run, session)
    except AgentsException as error:
        failure = error
        error.state = run.at_rest()
        raise
    except Exception as error:
        failure = wrapped = AgentsException(
            f"run of agent {run.agent.name!r} failed with {type(error).__name__}, expected every error to be typed; "
            "see the chained exception, and please report it"
        )
        wrapped.state = run.at_rest()
        raise wrapped from error
    except BaseException as error:
        failure = error
        if run.state.log:
            await run.record(Stopped(type(error).__name__))
        raise
    finally:
        if failure is not None and session is not None and run.state.log:
            await save_session(run, session, after=failure)
            if isinstance(failure, AgentsException):
                failure.state = run.at_rest()  # it knows now what the session holds
        run.is_over = True
        if span is not None:
            span.end(failure)


def _run_span(run: Run, tracer: Tracer, session: Session | None) -> Span:
    attributes: SpanAttributes = {"agent": run.agent.name}
    if session is not None:
        attributes["conversation_id"] = session.session_id
    if run.ports.config.workflow_name:
        attributes["metadata"] = {"workflow_name": run.ports.config.workflow_name}
    return tracer.start("run", run.agent.name, None, attributes)


async def _handled(run: Run, error: AgentsException, handlers: RunErrorHandlers | None) -> bool:
    """Whether a handler gave the run its final output in place of `error`."""
    for kind, name in _HANDLED:
        handler = handlers.get(name) if handlers and isinstance(error, kind) else None
        if handler is None:
            continue
        given = await answer(f"error handler {name!r}", handler, RunErrorHandlerInput(error, run.context))
        if given is None:
            return False
        run.final_output = given.final_output
        await run.record(RunEnded(as_json(given.final_output), True))
        return True
    return False


def _publisher(run: Run, channel: Channel[StreamEvent]) -> Callable[[Run, RunEvent], None]:
    state = run.state
    walk = ItemWalk(run.agents, run.agents[state.first_agent] if state.log else run.agent)
    for event in state.log:
        walk.feed(event)

    def publish(_: Run, event: RunEvent) -> None:
        for stream_event in walk.feed(event):
            channel.put_nowait(stream_event)

    return publish


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
