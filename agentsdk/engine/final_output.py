"""The final output: checked against its type, once, and what the model is told where it does not fit."""

from __future__ import annotations

from typing import Any, cast

from agentsdk.core.codec import decode_value
from agentsdk.core.process import ProcessedResponse
from agentsdk.define.output import AgentOutputSchema
from agentsdk.engine.open_turn import open_turn
from agentsdk.engine.prepare import Prepared
from agentsdk.engine.run import Run
from agentsdk.types.errors import InvalidOutputError
from agentsdk.types.events import OutputJudged, ToolFinished
from agentsdk.types.items import Message
from agentsdk.types.spec import OUTPUT_TOOL

FEEDBACK = "Your answer {what}: {error}\nAnswer again, {how}."
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
            run.final_output = schema.validate(processed.answer)
        except ValueError as misfit:
            error = str(misfit) or "invalid"
    results = [ToolFinished(call.call_id, TOO_MANY, True) for call in processed.outputs]
    if results:
        results[0] = ToolFinished(results[0].call_id, error or ACCEPTED, bool(error))
    await run.record(*[result for result in results if result.call_id not in turn.results], OutputJudged(error, output))


async def set_outputs_aside(run: Run, processed: ProcessedResponse) -> None:
    """Answer the outputs that a reply gives beside other calls: they cannot have taken the results of these into account."""
    results = open_turn(run).results
    aside = [call.call_id for call in processed.outputs if call.call_id not in results]
    if aside:
        await run.record(*[ToolFinished(call_id, SET_ASIDE, True) for call_id in aside])


def feedback_on(error: str, prepared: Prepared, processed: ProcessedResponse) -> tuple[Message, ...]:
    """What the model is told of an output that did not fit, where the result of its call has not told it."""
    if processed.outputs:
        return ()
    is_called = prepared.declared.output_tool is not None
    how = f"by calling the tool {OUTPUT_TOOL!r}" if is_called else "with nothing but the corrected JSON"
    declared = prepared.declared.output
    what = "was not taken" if declared is not None and declared.is_function else "does not fit the required format"
    return (Message("user", FEEDBACK.format(what=what, error=error, how=how)),)


def final_value(schema: AgentOutputSchema[Any] | None, output: str, is_json: bool) -> object:
    """The final output as the caller receives it. Raises `InvalidOutputError` when it does not fit the output type."""
    if schema is None:
        return decode_value(output) if is_json else output
    try:
        return cast(object, schema.validate_json(output) if is_json else schema.validate(output))
    except ValueError as error:
        raise InvalidOutputError(
            f"the final output does not fit {schema.name!r}: {error}; change what gives it, or the output_type", output=output
        ) from None
