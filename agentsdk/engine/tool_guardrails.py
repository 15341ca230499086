"""Guardrails of single tool calls: before a call runs, and before the model sees what it returned."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, cast

import msgspec

from agentsdk.define.guardrail import (
    GuardrailResult,
    ToolGuardrailFunctionOutput,
    ToolInputGuardrailData,
    ToolOutputGuardrailData,
)
from agentsdk.engine.callbacks import answer
from agentsdk.engine.job import Job
from agentsdk.engine.judge import as_json
from agentsdk.engine.run import Run
from agentsdk.engine.together import together
from agentsdk.types.errors import (
    CallbackError,
    GuardrailError,
    GuardrailFailedError,
    ToolInputGuardrailTripwireTriggered,
    ToolOutputGuardrailTripwireTriggered,
)
from agentsdk.types.events import GuardrailJudged, GuardrailKind, ToolFinished


def raise_if_tool_tripped(run: Run) -> None:
    """Raise the stored verdict of a tool guardrail that stopped the run; the run goes on only with another input."""
    turn = run.state.turn
    assert turn is not None
    for verdict in turn.verdicts:
        if verdict.behavior == "raise_exception" and verdict.call_id:
            raise _tripped(run, verdict)


async def judge_tool_input(run: Run, jobs: Sequence[Job]) -> list[Job]:
    """Ask the input guardrails of these calls; the calls that passed. A rejected call gets the guardrail's message as result.

    Raises `ToolInputGuardrailTripwireTriggered` when one stops the run.
    """
    config = run.ports.config
    waiting = [job for job in jobs if job.tool.tool_input_guardrails]
    asking = [(job.tool.name, _ask(run, job)) for job in waiting]
    await together(asking, limit=config.max_tool_concurrency, grace=config.cancel_grace)
    passed: list[Job] = []
    for job in jobs:
        refused = next((verdict for verdict in _verdicts(run, job, "tool_input") if verdict.behavior != "allow"), None)
        if refused is None:
            passed.append(job)
        elif refused.behavior == "raise_exception":
            raise _tripped(run, refused)
        else:
            await run.record(ToolFinished(job.call.call_id, refused.message, True))
    return passed


async def judge_tool_output(run: Run, job: Job, value: object) -> str | None:
    """Ask the output guardrails of a call; what the model gets instead of its result, or None.

    Raises `ToolOutputGuardrailTripwireTriggered` when one stops the run.
    """
    data: ToolOutputGuardrailData[Any] = ToolOutputGuardrailData(job.context, run.agent, value)
    for guardrail in job.tool.tool_output_guardrails:
        verdict = await _verdict("tool output", guardrail.name, guardrail.guardrail_function, data)
        judged = _judged(guardrail.name, "tool_output", verdict, job)
        await run.record(judged)
        if judged.behavior == "raise_exception":
            raise _tripped(run, judged)
        if judged.behavior == "reject_content":
            return judged.message
    return None


async def _ask(run: Run, job: Job) -> None:
    data: ToolInputGuardrailData[Any] = ToolInputGuardrailData(job.context, run.agent)
    judged = {verdict.guardrail for verdict in _verdicts(run, job, "tool_input")}
    for guardrail in job.tool.tool_input_guardrails:
        if guardrail.name not in judged:
            verdict = await _verdict("tool input", guardrail.name, guardrail.guardrail_function, data)
            await run.record(_judged(guardrail.name, "tool_input", verdict, job))
            if verdict.behavior != "allow":
                return


def _verdicts(run: Run, job: Job, kind: GuardrailKind) -> list[GuardrailJudged]:
    turn = run.state.turn
    assert turn is not None
    return [verdict for verdict in turn.verdicts if verdict.kind == kind and verdict.call_id == job.call.call_id]


async def _verdict(kind: str, name: str, function: Any, data: object) -> ToolGuardrailFunctionOutput:
    try:
        output = cast(object, await answer(f"{kind} guardrail {name!r}", function, data))
    except CallbackError as error:
        raise GuardrailFailedError(
            f"{kind} guardrail {name!r} raised {type(error.__cause__).__name__}, expected a verdict; "
            "the run was stopped as if it had tripped: mend the guardrail and resume error.state"
        ) from error.__cause__
    if not isinstance(output, ToolGuardrailFunctionOutput):
        raise GuardrailFailedError(
            f"{kind} guardrail {name!r} returned {type(output).__name__!r}, expected a ToolGuardrailFunctionOutput; return one"
        )
    return output


def _judged(name: str, kind: GuardrailKind, output: ToolGuardrailFunctionOutput, job: Job) -> GuardrailJudged:
    return GuardrailJudged(name, kind, output.behavior, as_json(output.output_info), job.call.call_id, output.message)


def _tripped(run: Run, verdict: GuardrailJudged) -> GuardrailError:
    turn = run.state.turn
    assert turn is not None
    tool = next(call.name for call in turn.calls if call.call_id == verdict.call_id)
    is_input = verdict.kind == "tool_input"
    message = (
        f"tool {'input' if is_input else 'output'} guardrail {verdict.guardrail!r} stopped the run at a call of tool {tool!r}; "
        "see error.guardrail_result; to go on, call error.state.replace_input(...) and resume it"
    )
    info = cast(object, msgspec.json.decode(verdict.info))
    result = GuardrailResult(verdict.guardrail, ToolGuardrailFunctionOutput(info, verdict.behavior, verdict.message))
    kind = ToolInputGuardrailTripwireTriggered if is_input else ToolOutputGuardrailTripwireTriggered
    return kind(message, result)
