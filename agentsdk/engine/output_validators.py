"""Output validators: the agent's own callables judge a final output, in their order, before its output guardrails do.

Each answer is recorded before it is acted on, so none is asked twice about one output. The first that sends it back ends the
matter: the model is told, in the turn's own feedback, and its next output is judged from the start.
"""

from __future__ import annotations

import asyncio
from math import inf
from typing import Any, cast

from agentsdk.core.next_step import FinalOutput, Interruption, NextStep, resolve_next_step, validator_runs
from agentsdk.core.process import ProcessedResponse
from agentsdk.define.guardrail import places
from agentsdk.define.output_validator import ModelRetry, OutputValidator, ValidatorContext
from agentsdk.engine.callbacks import call_user, yes_or_no
from agentsdk.engine.final_output import final_value, max_retries, output_results
from agentsdk.engine.guardrails import as_json
from agentsdk.engine.open_turn import open_turn
from agentsdk.engine.prepare import Prepared
from agentsdk.engine.run import Run, input_of
from agentsdk.engine.validator_runs import ValidatorRuns, ValidatorWaits
from agentsdk.types.errors import CallbackError, InvalidOutputError, UserError
from agentsdk.types.events import GuardrailPlace, OutputValidated
from agentsdk.types.media import OutputMedia
from agentsdk.types.text import storable_text


async def validate_output(run: Run, prepared: Prepared, processed: ProcessedResponse, step: NextStep) -> NextStep:
    """Ask the output validators about the final output of `step`, each once, up to the first that sends it back: the next step
    then. One that has asked for a run which waits is asked again, as some of what that waits for may have come.

    Raises `CallbackError` for one that raises or does not answer in time, `UserError` for an answer that is no output.
    """
    if isinstance(step, Interruption):
        if run.is_replayed or not any(True for _ in validator_runs(open_turn(run))):
            return step
        step = resolve_next_step(prepared.spec, run.state, processed, waits=False)
    judged = {event.place for event in open_turn(run).validated}
    pending = [placed for placed in places((*prepared.declared.validators, *run.validators)) if placed[0] not in judged]
    while pending and isinstance(step, FinalOutput):
        place, validator = pending.pop(0)
        if run.final_output is None:
            run.final_output = final_value(run, prepared.declared.output, step.output, step.is_json)
        try:
            verdict = await _verdict(run, prepared, step, place, validator)
        except ValidatorWaits:
            return resolve_next_step(prepared.spec, run.state, processed)
        is_over = not pending or bool(verdict.feedback)
        await run.record(*(output_results(run, processed, verdict.feedback) if is_over else ()), verdict)
        if verdict.feedback:
            run.final_output = None
        elif verdict.output:
            run.final_output = final_value(run, prepared.declared.output, verdict.output, True)
        step = resolve_next_step(prepared.spec, run.state, processed)
    return step


async def _verdict(
    run: Run, prepared: Prepared, step: FinalOutput, place: GuardrailPlace, validator: OutputValidator[Any, Any]
) -> OutputValidated:
    """What one validator says of the final output."""
    name, occurrence, occurrences = place
    what, value = f"output validator {name!r} of agent {prepared.agent.name!r}", run.final_output
    before = _as_json(value)
    runs = ValidatorRuns(run, place, validator, what)
    text = value if isinstance(value, str) else "" if isinstance(value, OutputMedia) else before
    context = _context(run, prepared, text, runs)
    feedback = changed = ""
    try:
        given = await _answer(run, context, value, validator, what)
    except ModelRetry as retry:
        feedback = storable_text(retry.feedback)
    else:
        after = _as_json(value if given is None else given)  # it may also have been changed in place
        if after != before:
            changed = _checked(run, prepared, step, given, after, what)
    return OutputValidated(name, feedback, changed, occurrence, occurrences)


def _as_json(value: object) -> str:
    return value.to_json() if isinstance(value, OutputMedia) else as_json(value)


async def _answer(
    run: Run, context: ValidatorContext[Any], value: object, validator: OutputValidator[Any, Any], what: str
) -> object:
    """What the validator returns; None where it is not to judge this output. Raises `ModelRetry`."""
    is_cancelled = run.deps.grace.left() is not None
    clock = asyncio.timeout(None if validator.timeout == inf else validator.timeout)
    try:
        async with clock:
            if validator.when is not None and not await yes_or_no(f"when of {what}", validator.when, context, value):
                return None
            return cast(object, await call_user(what, cast(Any, validator.function), context, value))
    except CallbackError as error:
        if isinstance(error.__cause__, ModelRetry):
            raise error.__cause__ from None
        raise
    except TimeoutError as error:
        if not is_cancelled:
            run.deps.grace.reset()  # only the validator was
        raise CallbackError(
            f"{what} did not answer within {validator.timeout:g} seconds, expected an answer; see what it waits for, "
            "or raise its timeout, and resume error.state"
        ) from error


def _context(run: Run, prepared: Prepared, text: str, runs: ValidatorRuns) -> ValidatorContext[Any]:
    context, state = run.context, run.state
    return ValidatorContext(
        context.context,
        context.usage,
        prepared.agent,
        turn=state.turns,
        items=state.view,
        run_id=run.root_id,
        path=run.path,
        input=input_of(state),
        text=text,
        attempt=state.invalid_outputs + 1,
        retries_left=max(0, max_retries(run) - state.invalid_outputs),
        ask=runs.ask,
    )


def _checked(run: Run, prepared: Prepared, step: FinalOutput, given: object, text: str, what: str) -> str:
    """What a validator made of the final output, as JSON text. Raises `UserError` where it is of another type."""
    schema = prepared.declared.output
    expected = "a str" if schema is None else repr(schema.name)
    if schema is not None or step.is_json or isinstance(given, str):
        try:
            final_value(run, schema, text, True)
            return text
        except InvalidOutputError:
            pass
    raise UserError(
        f"{what} returned {type(given).__name__!r}, expected None or {expected}; return the output as it is to be, or raise "
        "ModelRetry(...) to have it made again"
    )
