"""`on_limit`: a run that has reached a limit raises, pauses for a person, or gives a last answer."""

from __future__ import annotations

from typing import Any, cast

from agentsdk.core.limits.run_limits import RunLimits
from agentsdk.core.state import unknown_outcome
from agentsdk.engine.callbacks import call_user
from agentsdk.engine.model_call import ask_last
from agentsdk.engine.output_buffer import output_buffer
from agentsdk.engine.prepare import Prepared, prepare
from agentsdk.engine.run import Run
from agentsdk.types.errors import AgentsException, LimitExceededError, RunCancelledError, UserError
from agentsdk.types.events import LimitReachedEvent, RunEvent, ToolFinished, TurnEnded

NOT_RUN = "The call was not run: the run has reached a limit."

LAST_PROMPT = (
    "You have reached a limit of this run ({kind}) and can call no more tools. Give your final answer now, from what you have. "
    "Say what is missing."
)


async def at_limit(run: Run, error: LimitExceededError) -> bool:
    """Do as `on_limit` says. Whether the run goes on, with other limits; else it is paused or answered. Raises `error`."""
    chosen: object = run.deps.config.on_limit
    if callable(chosen):
        chosen = cast(object, await call_user("on_limit", cast(Any, chosen), error, run.context))
    given = type(chosen).__name__
    if isinstance(chosen, RunLimits):
        if chosen == run.limits:
            raise error
        run.limits = chosen
        run.limiter = None
        run.is_at_limit = False
        return True
    chosen = chosen if isinstance(chosen, str) else None
    if chosen == "raise" or (chosen == "finalize" and run.agent.driver is not None):  # a program has no last answer
        raise error
    if chosen == "pause":
        hit = LimitReachedEvent(error.kind, str(error.used), str(error.limit), True)
        if run.state.limit != hit:  # resumed before anybody has raised it
            await run.record(hit)
        return False
    if chosen == "finalize":
        await _finalize(run, error)
        return False
    raise UserError(f"on_limit returned {given!r}, expected 'raise', 'finalize', 'pause' or RunLimits; return one") from error


async def _finalize(run: Run, error: LimitExceededError) -> None:
    """One last answer, without calls. What goes wrong with it is added to the notes of `error`, and that is raised."""
    await run.record(*_closing(run))
    try:
        with output_buffer(run):
            await _answered(run, await prepare(run), LAST_PROMPT.format(kind=error.kind.replace("_", " ")))
            run.stop_requested = True  # after this turn
            await run.drive(run)
        if run.state.ended is not None:
            return
    except RunCancelledError:
        raise
    except AgentsException as failure:
        error.add_note(f"the last answer failed too: {failure}")
    raise error


async def _answered(run: Run, prepared: Prepared, prompt: str) -> None:
    """Ask for the last answer. Where the latest results are more than was kept back for, they and the oldest turns give way."""
    while True:
        try:
            await ask_last(run, prepared, prompt)
            return
        except LimitExceededError as refused:
            if refused.kind not in ("input_tokens", "tokens", "cost"):
                raise
            from agentsdk.engine.window.fit import shrink_to_half

            if not await shrink_to_half(run, prepared):
                raise


def _closing(run: Run) -> list[RunEvent]:
    """What ends the open turn: each call that has no result is answered."""
    turn = run.state.turn
    if turn is None or turn.response is None:
        return []
    waiting = [call.call_id for call in turn.calls if call.call_id not in turn.results]
    answers: list[RunEvent] = [
        ToolFinished(call_id, unknown_outcome(turn, call_id) if call_id in turn.intended else NOT_RUN, True)
        for call_id in waiting
    ]
    return [*answers, TurnEnded()]
