"""The run lifecycle, from beginning to end: errors typed and carrying the state, session and store up to date either way."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable
from typing import Any, cast

from agentsdk.core.state import is_cancelled
from agentsdk.define.agent import Agent
from agentsdk.define.run_config import ErrorKind, RunErrorHandlerInput, RunErrorHandlerResult, RunErrorHandlers
from agentsdk.engine import hooks
from agentsdk.engine.callbacks import call_user
from agentsdk.engine.guardrails import as_json
from agentsdk.engine.limits.deadline import within_time
from agentsdk.engine.limits.on_limit import at_limit
from agentsdk.engine.measures import measured_run, measured_store
from agentsdk.engine.run import Run
from agentsdk.engine.saved_context import changed_context
from agentsdk.engine.session import save_session, unrecorded_save
from agentsdk.engine.spans import run_span
from agentsdk.ports.session import Session
from agentsdk.ports.tracer import Settling
from agentsdk.types.errors import (
    AgentsException,
    ConsecutiveErrorsExceededError,
    CostLimitExceededError,
    DeadlineExceededError,
    InvalidOutputError,
    LimitExceededError,
    MaxTurnsExceeded,
    ModelError,
    ModelRefusalError,
    NoProgressError,
    RepeatedCallsError,
    RequestLimitExceededError,
    SessionError,
    TokenLimitExceededError,
    ToolCallLimitExceededError,
    UserError,
)
from agentsdk.types.events import ContextSaved, RunEnded, RunEvent, RunStarted, Stopped, TimeSpent
from agentsdk.types.text import shortened, storable_text

logger = logging.getLogger("agentsdk")

MAX_ERROR_CHARS = 500
"""How much of an error's message is recorded."""

_HANDLED: tuple[tuple[type[AgentsException], ErrorKind], ...] = (
    (MaxTurnsExceeded, "max_turns"),
    (RequestLimitExceededError, "max_requests"),
    (TokenLimitExceededError, "max_tokens"),
    (CostLimitExceededError, "max_cost"),
    (DeadlineExceededError, "deadline"),
    (ToolCallLimitExceededError, "max_tool_calls"),
    (ConsecutiveErrorsExceededError, "consecutive_errors"),
    (RepeatedCallsError, "repeated_calls"),
    (NoProgressError, "no_progress"),
    (ModelRefusalError, "model_refusal"),
    (InvalidOutputError, "invalid_final_output"),
    (ModelError, "model_error"),
)


async def execute(
    run: Run,
    begin: tuple[RunEvent, ...],
    session: Session | None,
    handlers: RunErrorHandlers | None,
    first: Agent[Any, Any],
) -> None:
    """Drive a run until it ends or waits. It begins with `begin`; `first` is the agent that it was begun with."""
    tracer, is_stopped = run.deps.tracer, False
    try:
        with run_span(run, session), measured_run(run):
            before = run.state
            try:
                await _run_until_done(run, begin, session, handlers, first)
            except BaseException as error:
                failure = await _failure(run, error, begin if before.log else (), len(before.log), session)
                is_stopped = not isinstance(failure, Exception)
                if failure is error:
                    raise
                raise failure  # noqa: B904 - its cause is set
            finally:
                run.is_over = True
                if run.recorder is not None:
                    run.recorder.close()
    finally:
        if tracer is not None and not is_stopped and isinstance(tracer, Settling):
            await tracer.settle()


async def _failure(
    run: Run, error: BaseException, begin: tuple[RunEvent, ...], known: int, session: Session | None
) -> BaseException:
    """The error that the caller gets: typed, and with the state to go on from. A cancellation meanwhile takes its place.

    `begin` is unrecorded as long as the log has the `known` events it had.
    """
    failure = error
    if not isinstance(error, AgentsException) and isinstance(error, Exception):
        failure = AgentsException(
            f"run of agent {run.agent.name!r} failed with {type(error).__name__}, expected every error to be typed; "
            "see the chained exception, and please report it"
        )
        failure.__cause__ = error
    cancelled = await _stopped(run, failure, session)
    if isinstance(failure, AgentsException):
        unrecorded = begin if len(run.state.log) == known else ()
        failure.state = run.snapshot(unrecorded) if run.state.log else None
    return cancelled if cancelled is not None and isinstance(failure, Exception) else failure


async def _run_until_done(
    run: Run,
    begin: tuple[RunEvent, ...],
    session: Session | None,
    handlers: RunErrorHandlers | None,
    first: Agent[Any, Any],
) -> None:
    fresh = not run.state.log
    is_unbegun = fresh or _was_submitted(run)
    store = run.deps.config.store
    try:
        if run.deps.config.context_codec is not None and run.state.ended is None:
            begin = (*begin, *changed_context(run))
        if session is not None and not fresh:
            begin = (*await unrecorded_save(run.state, session), *begin)
        if store is not None:
            from agentsdk.engine.checked_store import CheckedStore
            from agentsdk.engine.stored import begin_stored, let_go_of_ended

            if run.state.ended is None or session is not None or run.is_ahead:
                begin = await begin_stored(run, begin, CheckedStore(store, measured_store(run)), first)
            else:
                await let_go_of_ended(run, CheckedStore(store))
        if begin:
            await _begin(run, begin)
        if run.recorder is not None:
            await run.recorder.flush()
        if is_unbegun:
            await hooks.agent_started(run)
        try:
            await _driven(run)
        except LimitExceededError as error:
            await _past_limits(run, error, handlers)
        if run.cancelled_by and run.recorder is not None and run.state.ended is None:
            await run.record(_stop(run, asyncio.CancelledError()))
    except AgentsException as error:
        error.state = run.snapshot()
        if isinstance(error, LimitExceededError) or not await _handled(run, error, handlers):
            raise
    if run.state.ended is None and (spent := _time_spent(run)):
        await run.record(*spent)
    if session is not None:
        await save_session(run, session)
    if run.recorder is not None:
        await run.recorder.finish()
        if run.state.ended is not None and run.recorder.signals > run.state.taken:
            logger.warning("run %r ended before it took its last signals: they stay in its mailbox", run.state.run_id)


async def _begin(run: Run, events: tuple[RunEvent, ...]) -> None:
    """Record the events that the run begins with, and in the same append what waits in its mailbox."""
    if not run.has_signals:
        await run.record(*events)
        return
    from agentsdk.engine.signals import take_signals

    await take_signals(run, *events)


def _was_submitted(run: Run) -> bool:
    """Whether nobody has begun with the run yet."""
    return all(isinstance(event, RunStarted | ContextSaved) for event in run.state.log[:3])


def _time_spent(run: Run) -> list[RunEvent]:
    """The run goes on no longer here, but may elsewhere: what is to be recorded of its time."""
    elapsed = run.stop_clock()
    return [TimeSpent(elapsed, run.state.working)] if elapsed > run.state.elapsed else []


def _driven(run: Run) -> Awaitable[None]:
    if run.began is None and run.state.ended is None:
        run.began = run.deps.now()
    timed = run.limits.deadline is not None or run.limits.active_time is not None
    driven = within_time(run, lambda: run.drive(run)) if timed else run.drive(run)
    if run.recorder is None:
        return driven
    from agentsdk.engine.signals import cancellable

    return cancellable(run, driven)


async def _past_limits(run: Run, error: LimitExceededError, handlers: RunErrorHandlers | None) -> None:
    """Do as the handlers and `on_limit` say at each limit that the run reaches."""
    while True:
        error.state = run.snapshot()
        if await _handled(run, error, handlers) or not await at_limit(run, error):
            return
        try:
            await _driven(run)
            return
        except LimitExceededError as next_one:
            error = next_one


async def _stopped(run: Run, failure: BaseException, session: Session | None) -> asyncio.CancelledError | None:
    """Keep what a run came to that is left before its end. What of that fails too is added to the notes of `failure`.

    However often the caller is cancelled meanwhile, everything is done that the run's grace allows; the last cancellation.
    """
    recorder = run.recorder
    is_ours = run.deps.config.store is None or (recorder is not None and recorder.failure is None)
    if not isinstance(failure, Exception):
        run.deps.grace.begin()
    cancelled: asyncio.CancelledError | None = None

    async def keep(what: Awaitable[None]) -> None:
        nonlocal cancelled
        try:
            await what
        except AgentsException as error:
            if error is not failure:
                failure.add_note(str(error))
        except asyncio.CancelledError as error:
            cancelled = error

    if run.state.log and is_ours:
        is_recorded = recorder is not None or isinstance(failure, InvalidOutputError) or not isinstance(failure, Exception)
        if run.state.ended is None and not is_cancelled(run.state):
            await keep(_record_stop(run, _stop(run, failure) if is_recorded else None))
        if session is not None and not isinstance(failure, SessionError):  # what became of its write nobody knows
            await keep(save_session(run, session, after=failure))
    if recorder is not None:
        await keep(recorder.finish())
    return cancelled


def _stop(run: Run, failure: BaseException) -> Stopped:
    """How the log says that the run stopped for `failure`: a cancellation that somebody wanted has a name."""
    is_ours = isinstance(failure, AgentsException)
    error = shortened(storable_text(str(failure)), MAX_ERROR_CHARS) if is_ours else ""
    by = "" if isinstance(failure, Exception) else run.cancelled_by
    return Stopped(type(failure).__name__, error, by, run.deps.stamp())


async def _record_stop(run: Run, stopped: Stopped | None) -> None:
    events = _time_spent(run)
    if stopped is not None:
        events.append(stopped)
    if events:
        await run.record(*events)


async def _handled(run: Run, error: AgentsException, handlers: RunErrorHandlers | None) -> bool:
    """Whether a handler gave the run its final output in place of `error`."""
    for kind, name in _HANDLED:
        handler = handlers.get(name) if handlers and isinstance(error, kind) else None
        if handler is None:
            continue
        given = await call_user(f"error handler {name!r}", handler, RunErrorHandlerInput(error, run.context))
        if given is None:
            return False
        if not isinstance(cast(object, given), RunErrorHandlerResult):
            raise UserError(
                f"error handler {name!r} returned {type(given).__name__!r}, expected a RunErrorHandlerResult or None; "
                "return RunErrorHandlerResult(final_output)"
            ) from error
        run.final_output = given.final_output
        at_limit = isinstance(error, LimitExceededError)
        await run.record(RunEnded(as_json(given.final_output), True, at_limit, run.deps.stamp(), run.stop_clock()))
        return True
    return False
