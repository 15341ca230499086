"""Calling an output function with what the model gave as its final output."""

from __future__ import annotations

from typing import Any, cast

from agentsdk.core.process import ProcessedResponse
from agentsdk.define.output import AgentOutputSchema, unfenced
from agentsdk.define.output_function import OutputFunction
from agentsdk.define.output_validator import ModelRetry
from agentsdk.engine.guardrails import as_json
from agentsdk.engine.job import context_of
from agentsdk.engine.run import Run
from agentsdk.types.errors import InvalidArgumentsError
from agentsdk.types.items import FunctionCall
from agentsdk.types.text import storable_text


async def call_output_function(run: Run, schema: AgentOutputSchema[Any], processed: ProcessedResponse) -> tuple[str, str]:
    """Why the function did not take what the model gave, or `""` and what it returned, as JSON text."""
    function, answer = cast("OutputFunction[Any]", schema), processed.answer
    call = processed.outputs[0] if processed.outputs else FunctionCall("", function.name, unfenced(answer))
    context = context_of(run, call, "")
    try:
        run.final_output = await function.tool.invoke_bound(context, function.bind(answer))
    except InvalidArgumentsError as misfit:
        return f"the arguments do not fit:\n{misfit.reason}", ""
    except ModelRetry as retry:
        return storable_text(retry.feedback), ""
    except Exception as error:
        return await function.tool.error_text(context, error), ""
    return "", as_json(run.final_output)
