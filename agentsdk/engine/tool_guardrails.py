"""Guardrails of single tool calls: before a call runs, and before the model sees its recorded result."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, cast

from agentsdk.core.codec import decode_value
from agentsdk.core.next_step import waits_for_decision
from agentsdk.core.overflow import whole_output
from agentsdk.core.state import OpenTurn
from agentsdk.define.guardrail import places
from agentsdk.define.guardrail_output import GuardrailResult, ToolGuardrailFunctionOutput
from agentsdk.define.tool import FunctionTool
from agentsdk.define.tool_guardrail import ToolInputGuardrailData, ToolOutputGuardrail, ToolOutputGuardrailData
from agentsdk.engine.callbacks import call_user
from agentsdk.engine.concurrency import gather_with_limit
from agentsdk.engine.guardrails import as_json
from agentsdk.engine.job import Job
from agentsdk.engine.open_turn import open_turn
from agentsdk.engine.run import Run
from agentsdk.types.errors import (
    CallbackError,
    GuardrailError,
    GuardrailFailedError,
    ToolInputGuardrailTripwireTriggered,
    ToolOutputGuardrailTripwireTriggered,
)
from agentsdk.types.events import GuardrailJudged, GuardrailKind, GuardrailPlace, ToolFinished
from agentsdk.types.text import clean_text


def raise_if_tool_tripped(run: Run) -> None:
    """Raise the stored verdict of a tool guardrail that stopped the run; the run goes on only with another input."""
    for verdict in open_turn(run).verdicts:
        if verdict.behavior == "raise_exception" and verdict.call_id:
            raise _tripped(run, verdict)


async def run_tool_input_guardrails(run: Run, jobs: Sequence[Job]) -> list[Job]:
    """Ask the input guardrails of these calls; the calls that passed. A rejected call gets the guardrail's message as result.

    Raises `ToolInputGuardrailTripwireTriggered` when one stops the run.
    """
    config, turn = run.deps.config, open_turn(run)
    # Where a log of schema version 1 waits for a person, the guardrails come after the decision.
    asking = [
        (job.tool.name, _ask(run, job))
        for job in jobs
        if job.tool.tool_input_guardrails and not waits_for_decision(turn, job.call.call_id)
    ]
    if asking:
        await gather_with_limit(asking, limit=config.max_tool_concurrency, grace=run.deps.grace)
    passed: list[Job] = []
    for job in jobs:
        refused = _refusal(open_turn(run), "tool_input", job.call.call_id)
        if refused is None:
            passed.append(job)
        elif refused.behavior == "raise_exception":
            raise _tripped(run, refused)
        else:
            await run.record(ToolFinished(job.call.call_id, refused.message, True))
    return passed


def pending_tool_output_guardrails(
    turn: OpenTurn, call_id: str, tool: FunctionTool[Any]
) -> list[tuple[GuardrailPlace, ToolOutputGuardrail[Any]]]:
    """The output guardrails still to be asked about a call's result: none once one has refused it."""
    if not tool.tool_output_guardrails or _refusal(turn, "tool_output", call_id) is not None:
        return []
    judged = {verdict.place for verdict in _verdicts(turn, "tool_output", call_id)}
    return [placed for placed in places(tool.tool_output_guardrails) if placed[0] not in judged]


async def run_tool_output_guardrails(run: Run, job: Job) -> ToolFinished:
    """Ask the output guardrails of a call about its recorded result; that result, as the model is to get it.

    Raises `ToolOutputGuardrailTripwireTriggered` when one stops the run, or `GuardrailFailedError`: the result stays withheld.
    """
    call_id = job.call.call_id
    result = open_turn(run).results[call_id]
    whole = await run.full_result(result.whole) if result.whole else None
    output = result.output if whole is None else whole_output(result.output, whole)
    data: ToolOutputGuardrailData[Any] = ToolOutputGuardrailData(job.context, run.agent, output, result.is_error)
    waiting = pending_tool_output_guardrails(open_turn(run), call_id, job.tool)
    for number, (place, guardrail) in enumerate(waiting, 1):
        verdict = await _verdict("tool output", guardrail.name, guardrail.guardrail_function, data)
        judged = _judged(place, "tool_output", verdict, job, releases=number == len(waiting))
        await run.record(judged)
        if judged.behavior == "raise_exception":
            raise _tripped(run, judged)
        if judged.behavior == "reject_content":
            break
    return open_turn(run).results[call_id]


async def _ask(run: Run, job: Job) -> None:
    data: ToolInputGuardrailData[Any] = ToolInputGuardrailData(job.context, run.agent)
    call_id = job.call.call_id
    if _refusal(open_turn(run), "tool_input", call_id) is not None:
        return
    judged = {verdict.place for verdict in _verdicts(open_turn(run), "tool_input", call_id)}
    for place, guardrail in places(job.tool.tool_input_guardrails):
        if place not in judged:
            verdict = await _verdict("tool input", guardrail.name, guardrail.guardrail_function, data)
            await run.record(_judged(place, "tool_input", verdict, job))
            if verdict.behavior != "allow":
                return


def _verdicts(turn: OpenTurn, kind: GuardrailKind, call_id: str) -> list[GuardrailJudged]:
    return [verdict for verdict in turn.verdicts if verdict.kind == kind and verdict.call_id == call_id]


def _refusal(turn: OpenTurn, kind: GuardrailKind, call_id: str) -> GuardrailJudged | None:
    """A recorded refusal stands, whatever guardrails are declared by now."""
    return next((verdict for verdict in _verdicts(turn, kind, call_id) if verdict.behavior != "allow"), None)


async def _verdict(kind: str, name: str, function: Any, data: object) -> ToolGuardrailFunctionOutput:
    try:
        output = cast(object, await call_user(f"{kind} guardrail {name!r}", function, data))
    except CallbackError as error:
        raise GuardrailFailedError(
            f"{kind} guardrail {name!r} raised {type(error.__cause__).__name__}, expected a verdict; "
            "the run was stopped as if it had tripped: fix the guardrail and resume error.state"
        ) from error.__cause__
    if not isinstance(output, ToolGuardrailFunctionOutput):
        raise GuardrailFailedError(
            f"{kind} guardrail {name!r} returned {type(output).__name__!r}, expected a ToolGuardrailFunctionOutput; return one"
        )
    return output


def _judged(
    place: GuardrailPlace, kind: GuardrailKind, output: ToolGuardrailFunctionOutput, job: Job, *, releases: bool = False
) -> GuardrailJudged:
    name, occurrence, occurrences = place
    info, message = as_json(output.output_info), clean_text(output.message)
    return GuardrailJudged(name, kind, output.behavior, info, job.call.call_id, message, occurrence, occurrences, releases)


def _tripped(run: Run, verdict: GuardrailJudged) -> GuardrailError:
    tool = next(call.name for call in open_turn(run).calls if call.call_id == verdict.call_id)
    is_input = verdict.kind == "tool_input"
    message = (
        f"tool {'input' if is_input else 'output'} guardrail {verdict.guardrail!r} stopped the run at a call of tool {tool!r}; "
        "see error.guardrail_result; to go on, call error.state.replace_input(...) and resume it"
    )
    info = decode_value(verdict.info)
    result = GuardrailResult(verdict.guardrail, ToolGuardrailFunctionOutput(info, verdict.behavior, verdict.message))
    kind = ToolInputGuardrailTripwireTriggered if is_input else ToolOutputGuardrailTripwireTriggered
    return kind(message, result)
