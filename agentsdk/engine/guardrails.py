"""Guardrails and `tool_use_behavior`, the user's callables in a turn: each asked once, each answer an event."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, cast

import msgspec

from agentsdk.core.codec import decode_value
from agentsdk.core.process import ProcessedResponse
from agentsdk.define.agent import InputGuardrail, OutputGuardrail
from agentsdk.define.guardrail import places
from agentsdk.define.guardrail_output import GuardrailFunctionOutput, GuardrailResult
from agentsdk.define.tool_output import to_output
from agentsdk.define.tool_use import ToolResult, ToolsToFinalOutputResult
from agentsdk.engine.callbacks import call_user
from agentsdk.engine.concurrency import gather_with_limit
from agentsdk.engine.open_turn import open_turn
from agentsdk.engine.prepare import Prepared
from agentsdk.engine.run import Run, input_of
from agentsdk.types.errors import (
    CallbackError,
    GuardrailFailedError,
    InputGuardrailTripwireTriggered,
    OutputGuardrailTripwireTriggered,
    UserError,
)
from agentsdk.types.events import (
    GuardrailBehavior,
    GuardrailJudged,
    GuardrailKind,
    GuardrailPlace,
    ToolUseJudged,
)
from agentsdk.types.items import Message, output_of
from agentsdk.types.text import clean_value

InputGuardrails = Sequence[tuple[GuardrailPlace, InputGuardrail[Any]]]
"""Input guardrails, each with its place among those declared."""


def pending_input_guardrails(run: Run) -> InputGuardrails:
    """The input guardrails still to be asked: those of the agent the run began with, while the run is with it."""
    given = run.agent.input_guardrails
    if run.parent is None and run.deps.config.input_guardrails:
        given = [*run.deps.config.input_guardrails, *given]
    if not given or run.state.agent != run.state.first_agent:
        return []
    judged = {verdict.place for verdict in run.state.input_verdicts}
    return [placed for placed in places(given) if placed[0] not in judged]


async def run_input_guardrails(run: Run, guardrails: InputGuardrails) -> None:
    """Ask `guardrails`, concurrently. Raises `InputGuardrailTripwireTriggered` if one trips."""
    items = input_of(run.state)

    async def ask(place: GuardrailPlace, guardrail: InputGuardrail[Any]) -> None:
        output = await _verdict("input", guardrail.name, guardrail.guardrail_function, run.context, run.agent, items)
        await run.record(_judged(place, "input", output))

    config = run.deps.config
    jobs = [(guardrail.name, ask(place, guardrail)) for place, guardrail in guardrails]
    await gather_with_limit(jobs, limit=config.max_tool_concurrency, grace=run.deps.grace)
    raise_if_input_tripped(run)


async def run_guardrails_on_added_input(run: Run, messages: Sequence[Message]) -> list[list[GuardrailJudged]]:
    """Ask the input guardrails about each message that arrived during the run, concurrently; their verdicts by message.

    They are those of the agent the run began with, whichever it is with by now, and the run's own.
    """
    first = run.agents[run.state.first_agent]
    guardrails = places([*run.deps.config.input_guardrails, *first.input_guardrails])
    verdicts: list[dict[int, GuardrailJudged]] = [{} for _ in messages]

    async def ask(at: int, number: int) -> None:
        place, guardrail = guardrails[number]
        output = await _verdict("input", guardrail.name, guardrail.guardrail_function, run.context, first, (messages[at],))
        verdicts[at][number] = _judged(place, "added_input", output)

    config = run.deps.config
    jobs = [(name, ask(at, number)) for at in range(len(messages)) for number, ((name, _, _), _) in enumerate(guardrails)]
    if jobs:
        await gather_with_limit(jobs, limit=config.max_tool_concurrency, grace=run.deps.grace)
    return [[given[number] for number in sorted(given)] for given in verdicts]


def raise_if_input_tripped(run: Run) -> None:
    """Raise the stored verdict of an input guardrail that tripped; the run goes on only with another input."""
    for verdict in run.state.input_verdicts:
        if verdict.behavior != "allow":
            raise InputGuardrailTripwireTriggered(
                f"input guardrail {verdict.guardrail!r} stopped the run of agent {run.agent.name!r}; "
                "to go on, call error.state.replace_input(...) and resume it",
                result(verdict),
            )


async def run_output_guardrails(run: Run, prepared: Prepared, value: object) -> None:
    """Ask the output guardrails of the agent that gave `value`. Raises `OutputGuardrailTripwireTriggered` if one trips."""
    given: Sequence[OutputGuardrail[Any]] = prepared.agent.output_guardrails
    if run.parent is None and run.deps.config.output_guardrails:
        given = [*run.deps.config.output_guardrails, *given]
    if not given:
        return
    turn = open_turn(run)
    judged = {verdict.place for verdict in turn.verdicts if verdict.kind == "output"}

    async def ask(place: GuardrailPlace, guardrail: OutputGuardrail[Any]) -> None:
        output = await _verdict("output", guardrail.name, guardrail.guardrail_function, run.context, run.agent, value)
        await run.record(_judged(place, "output", output))

    config = run.deps.config
    jobs = [(guardrail.name, ask(place, guardrail)) for place, guardrail in places(given) if place not in judged]
    if jobs:
        await gather_with_limit(jobs, limit=config.max_tool_concurrency, grace=run.deps.grace)
    turn = open_turn(run)
    for verdict in turn.verdicts:
        if verdict.kind == "output" and verdict.behavior != "allow":
            raise OutputGuardrailTripwireTriggered(
                f"output guardrail {verdict.guardrail!r} stopped the run of agent {run.agent.name!r}; "
                "its output is in error.state.to_input_list()",
                result(verdict),
            )


def result(verdict: GuardrailJudged) -> GuardrailResult:
    """A stored input or output verdict as the guardrail gave it."""
    info = decode_value(verdict.info)
    return GuardrailResult(verdict.guardrail, GuardrailFunctionOutput(info, verdict.behavior != "allow"))


async def decide_tool_use(run: Run, prepared: Prepared, processed: ProcessedResponse) -> None:
    """Ask the agent's `tool_use_behavior` callable whether the results are final, once."""
    turn = open_turn(run)
    if turn.tool_use is not None or any(call.call_id not in turn.results for call, _ in processed.functions):
        return
    calls = [call for call, tool in processed.functions if tool.kind != "mcp_approval"]
    if not calls:
        return
    what = f"tool_use_behavior of agent {prepared.agent.name!r}"
    results = [
        ToolResult(call.name, turn.as_run(call).arguments, output_of(call, given.output, given.is_error))
        for call in calls
        if (given := turn.results[call.call_id])
    ]
    behavior = cast(Any, prepared.agent.tool_use_behavior)
    judged = cast(object, await call_user(what, behavior, run.context, results))
    if not isinstance(judged, ToolsToFinalOutputResult):
        raise UserError(f"{what} returned {type(judged).__name__!r}, expected a ToolsToFinalOutputResult; return one")
    await run.record(ToolUseJudged(judged.is_final_output, as_json(judged.final_output)))


def as_json(value: object) -> str:
    """Any value as JSON text."""
    if value is None or isinstance(value, str | bool):
        return msgspec.json.encode(clean_value(value)).decode()
    text = to_output(value)
    try:
        msgspec.json.decode(cast(str, text))
    except (msgspec.DecodeError, TypeError):
        return msgspec.json.encode(str(text)).decode()
    return cast(str, text)


async def _verdict(kind: str, name: str, function: Any, *args: object) -> GuardrailFunctionOutput:
    try:
        output = cast(object, await call_user(f"{kind} guardrail {name!r}", function, *args))
    except CallbackError as error:
        raise GuardrailFailedError(
            f"{kind} guardrail {name!r} raised {type(error.__cause__).__name__}, expected a verdict; "
            "the run was stopped as if it had tripped: fix the guardrail and resume error.state"
        ) from error.__cause__
    if not isinstance(output, GuardrailFunctionOutput):
        raise GuardrailFailedError(
            f"{kind} guardrail {name!r} returned {type(output).__name__!r}, expected a GuardrailFunctionOutput; return one"
        )
    return output


def _judged(place: GuardrailPlace, kind: GuardrailKind, output: GuardrailFunctionOutput) -> GuardrailJudged:
    behavior: GuardrailBehavior = "raise_exception" if output.tripwire_triggered else "allow"
    name, occurrence, occurrences = place
    info = as_json(output.output_info)
    return GuardrailJudged(name, kind, behavior, info, occurrence=occurrence, occurrences=occurrences)
