"""The final output: checked against its type, once, and what the model is told where it does not fit."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, cast

from agentsdk.core.codec import decode_value
from agentsdk.core.process import ProcessedResponse, process_model_response
from agentsdk.define.output import AgentOutputSchema
from agentsdk.engine.open_turn import open_turn
from agentsdk.engine.prepare import Prepared
from agentsdk.engine.run import Run
from agentsdk.types.errors import InvalidOutputError
from agentsdk.types.events import ModelReplied, OutputJudged, OutputValidated, ToolFinished
from agentsdk.types.items import Message
from agentsdk.types.response import ModelResponse
from agentsdk.types.spec import OUTPUT_TOOL

if TYPE_CHECKING:
    from agentsdk.define.media_output import MediaOutput

FEEDBACK = "Your answer {what}: {error}\nAnswer again{how}."
ACCEPTED = "The final answer was taken."
SET_ASIDE = "The final answer was not taken: there were other calls beside it. Give it once you have their results."
TOO_MANY = "The final answer was not taken: there was another one before it."


async def check_output(run: Run, schema: AgentOutputSchema[Any], processed: ProcessedResponse) -> None:
    """Check the final output against its type, once."""
    turn = open_turn(run)
    if turn.output is not None:
        return
    error = output = ""
    if schema.is_function:
        from agentsdk.engine.output_function import call_output_function  # few agents have one

        error, output = await call_output_function(run, schema, processed)
    else:
        try:
            if schema.is_media and turn.response is not None:
                output, run.final_output = cast("MediaOutput[Any]", schema).take(turn.response.output, processed.answer)
            else:
                run.final_output = schema.validate(processed.answer)
        except ValueError as misfit:
            error = str(misfit) or "invalid"
    is_over = bool(error) or not run.is_validated  # else they say whether it is taken
    await run.record(*(output_results(run, processed, error) if is_over else ()), OutputJudged(error, output))


def output_results(run: Run, processed: ProcessedResponse, error: str) -> list[ToolFinished]:
    """The results of the calls that gave a final output which was taken, or sent back with `error`."""
    given = open_turn(run).results
    results = [ToolFinished(call.call_id, TOO_MANY, True) for call in processed.outputs]
    if results:
        untrusted = bool(error) and run.state.taint is not None  # what sent it back may repeat what tainted the run
        results[0] = ToolFinished(results[0].call_id, error or ACCEPTED, bool(error), untrusted=untrusted)
    return [result for result in results if result.call_id not in given]


async def set_outputs_aside(run: Run, processed: ProcessedResponse) -> None:
    """Answer the outputs that a reply gives beside other calls: they cannot have taken the results of these into account."""
    results = open_turn(run).results
    aside = [call.call_id for call in processed.outputs if call.call_id not in results]
    if aside:
        await run.record(*[ToolFinished(call_id, SET_ASIDE, True) for call_id in aside])


def feedback_on(run: Run, prepared: Prepared, processed: ProcessedResponse) -> tuple[Message, ...]:
    """What the model is told of an output that was sent back, where the result of its call has not told it."""
    turn = open_turn(run)
    if processed.outputs and not processed.has_calls:
        return ()
    declared, how = prepared.declared.output, ""
    if prepared.declared.output_tool is not None:
        how = f", by calling the tool {OUTPUT_TOOL!r}"
    elif declared is not None and declared.spec is not None and not processed.has_calls:
        how = ", with nothing but the corrected JSON"
    is_refused = bool(turn.validated) or (declared is not None and declared.is_function)
    what = "was not taken" if is_refused else "does not fit the required format"
    feedback = FEEDBACK.format(what=what, error=turn.rejection, how=how)
    return (Message("user", feedback, untrusted=run.state.taint is not None),)  # it may repeat what tainted the run


def max_retries(run: Run) -> int:
    """How often in a row the model of its agent may be sent back with a final output."""
    of_agent = run.agent.max_output_retries
    return run.deps.config.max_output_retries if of_agent is None else of_agent


def give_up(run: Run, prepared: Prepared) -> None:
    """Raise `InvalidOutputError` once the feedback turns are spent. Once the run has stopped for it they are granted anew."""
    retries = max_retries(run)
    if run.state.invalid_outputs <= retries:
        return
    error, validator = last_rejection(run)
    reply = _last_reply(run)
    if validator:
        what = f"was not accepted by output validator {validator!r}"
        remedy = "change the validator, the instructions or the model"
    else:
        what = f"does not fit {'' if prepared.declared.output is None else prepared.declared.output.name!r}"
        remedy = "change the output_type or the model"
    raise InvalidOutputError(
        f"the final output of agent {run.agent.name!r} {what} after {retries} feedback turn(s): {error}; resume error.state to "
        f"ask again, or {remedy}",
        output=process_model_response(prepared.spec, reply).answer,
    )


def _last_reply(run: Run) -> ModelResponse:
    return next(event.response for event in reversed(run.state.log) if isinstance(event, ModelReplied))


def last_rejection(run: Run) -> tuple[str, str]:
    """Why the last final output was sent back, and by which output validator; `""` where it did not fit its type."""
    for event in reversed(run.state.log):
        if isinstance(event, OutputValidated) and event.feedback:
            return event.feedback, event.validator
        if isinstance(event, OutputJudged) and event.error:
            return event.error, ""
    raise AssertionError("a final output was sent back")


def final_value(run: Run, schema: AgentOutputSchema[Any] | None, output: str, is_json: bool) -> object:
    """The final output as the caller receives it. Raises `InvalidOutputError` when it does not fit the output type."""
    if schema is None:
        return decode_value(output) if is_json else output
    try:
        if schema.is_media and is_json:
            return cast(object, cast("MediaOutput[Any]", schema).recall(output, _last_reply(run).output))
        return cast(object, schema.validate_json(output) if is_json else schema.validate(output))
    except ValueError as error:
        raise InvalidOutputError(
            f"the final output does not fit {schema.name!r}: {error}; change what gives it, or the output_type", output=output
        ) from None
