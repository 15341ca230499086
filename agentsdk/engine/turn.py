"""`run_single_turn`: a model reply and its consequences, resolved to one next step.

The turn is re-entrant: each stage asks what the state already holds and does only the rest. So a fresh run, a streamed run, a
resumed run and a replay are this same code.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from agentsdk.core.next_step import FinalOutput, Interruption, NextStep, resolve_next_step
from agentsdk.core.process import ProcessedResponse, process_model_response
from agentsdk.engine import hooks
from agentsdk.engine.concurrency import run_pair
from agentsdk.engine.final_output import check_output, feedback_on, final_value, give_up, set_outputs_aside
from agentsdk.engine.guardrails import (
    InputGuardrails,
    decide_tool_use,
    pending_input_guardrails,
    raise_if_input_tripped,
    run_input_guardrails,
    run_output_guardrails,
)
from agentsdk.engine.inbox import take_messages
from agentsdk.engine.model_call import ask
from agentsdk.engine.open_turn import open_turn
from agentsdk.engine.output_buffer import judges_output, release_output
from agentsdk.engine.prepare import Prepared, prepare, without
from agentsdk.engine.run import Run
from agentsdk.engine.tool_calls import act
from agentsdk.types.errors import ContentFilterError, ModelRefusalError, UnsupportedCallError
from agentsdk.types.events import RunEnded, TurnEnded
from agentsdk.types.items import FunctionCall
from agentsdk.types.response import ModelResponse


@dataclass(slots=True)
class SingleTurn:
    """What a turn came to: its agent as it was prepared, the model's output sorted, and the next step."""

    prepared: Prepared
    processed: ProcessedResponse
    next_step: NextStep


async def run_single_turn(run: Run) -> SingleTurn:
    """Take the run through one turn, or through what is missing of the open one, up to its next step."""
    turn = run.state.turn
    if run.inboxes and turn is None:
        await take_messages(run)
    prepared = await prepare(run)
    if run.state.input_verdicts:
        raise_if_input_tripped(run)
    if run.state.invalid_outputs and run.state.turn is None:
        give_up(run, prepared)  # what the run was left before
    guardrails = pending_input_guardrails(run)
    if turn is None or turn.response is None:
        await (_ask_beside_guardrails(run, prepared, guardrails) if guardrails else ask(run, prepared))
        turn = run.state.turn
        if turn is not None and turn.disabled != prepared.disabled:  # a filter hid some tools
            prepared = without(prepared, turn.disabled)
    elif guardrails:
        await run_input_guardrails(run, guardrails)
    assert turn is not None and turn.response is not None
    if guardrails and run.on_turn is not None:
        await run.on_turn(run)
    processed = process_model_response(prepared.spec, turn.response)
    has_calls = processed.has_calls
    _raise_if_refused(run, turn.response, "" if has_calls else processed.refusal)
    if processed.unhandled:
        _raise_if_unhandled(run, prepared, processed.unhandled)
    if has_calls:
        if processed.outputs:
            await set_outputs_aside(run, processed)
        if prepared.spec.tool_use == "run_llm_again":
            release_output(run)
        await act(run, prepared, processed)
        if prepared.spec.tool_use == "custom" and processed.functions:
            await decide_tool_use(run, prepared, processed)
    elif prepared.declared.output is not None:
        await check_output(run, prepared.declared.output, processed)
    step = resolve_next_step(prepared.spec, run.state, processed)
    if run.is_validated and isinstance(step, FinalOutput | Interruption):
        from agentsdk.engine.output_validators import validate_output  # most agents have none

        step = await validate_output(run, prepared, processed, step)
    return SingleTurn(prepared, processed, step)


async def run_again(run: Run, done: SingleTurn) -> None:
    """Close the turn; when the final output did not fit, tell the model why, or give up once its retries are spent."""
    is_sent_back = bool(open_turn(run).rejection)
    await run.record(TurnEnded(feedback_on(run, done.prepared, done.processed) if is_sent_back else ()))
    if is_sent_back:
        give_up(run, done.prepared)


async def finish(run: Run, done: SingleTurn, step: FinalOutput) -> bool:
    """End the run with its final output, once the output guardrails have let it pass.

    False where a message has arrived meanwhile, with which the turn is closed, or somebody has paused the run.
    """
    if (run.inboxes or run.recorder is not None or open_turn(run).arrived) and await _goes_on(run):
        return False
    if run.final_output is None:
        run.final_output = final_value(run, done.prepared.declared.output, step.output, step.is_json)
    if judges_output(run):
        if run.on_output is not None:
            await run.on_output(run, run.final_output)
        await run_output_guardrails(run, done.prepared, run.final_output)
        if run.has_signals and await _goes_on(run):  # posted while they judged
            return False
    release_output(run)
    await run.record(RunEnded(step.output, step.is_json, at=run.deps.stamp(), elapsed=run.stop_clock()))
    await hooks.agent_ended(run, run.final_output)
    return True


async def may_go_on(run: Run) -> bool:
    """Take what waits in the mailbox of a stored run; False while the run is paused."""
    if run.has_signals:
        from agentsdk.engine.signals import take_signals

        await take_signals(run)
    return run.state.paused is None


async def _goes_on(run: Run) -> bool:
    """Whether a run with its final output does not end with it: because of a message, which closes the turn, or a pause."""
    if run.inboxes:
        await take_messages(run)
    if run.has_signals:
        from agentsdk.engine.signals import take_signals

        await take_signals(run, ends=True)
    if open_turn(run).arrived:
        await run.record(TurnEnded())
    elif run.state.paused is None:
        return False
    run.final_output = None
    return True


async def _ask_beside_guardrails(run: Run, prepared: Prepared, guardrails: InputGuardrails) -> None:
    """The model is asked while the input guardrails are; both are over before anything is done with the reply."""
    first = [(place, guardrail) for place, guardrail in guardrails if not guardrail.run_in_parallel]
    beside = [(place, guardrail) for place, guardrail in guardrails if guardrail.run_in_parallel]
    if first:
        await run_input_guardrails(run, first)
    if not beside:
        await ask(run, prepared)
        return
    await run_pair(
        "input guardrails", run_input_guardrails(run, beside), "model call", ask(run, prepared), grace=run.deps.grace
    )


def _raise_if_refused(run: Run, response: ModelResponse, refusal: str) -> None:
    if refusal:
        raise ModelRefusalError(
            f"the model refused to answer as agent {run.agent.name!r}; its words are in error.refusal: change the input with "
            "error.state.replace_input(...), or handle it with error_handlers={'model_refusal': ...}",
            refusal=refusal,
        )
    if response.finish == "content_filter":
        raise ContentFilterError(
            f"the provider's content filter stopped the reply to agent {run.agent.name!r}; change the input with "
            "error.state.replace_input(...)"
        )


def _raise_if_unhandled(run: Run, prepared: Prepared, calls: Sequence[FunctionCall]) -> None:
    """Raises `UnsupportedCallError` for a call of a kind that no tool of the agent handles, unless it is refused."""
    calls = [call for call in calls if call.call_id not in open_turn(run).results]
    if prepared.grants is not None:
        from agentsdk.engine.grants import is_refused

        calls = [call for call in calls if not is_refused(run, prepared.grants, prepared.declared, call)]
    if not calls:
        return
    call = calls[0]
    if call.kind == "mcp_approval":
        what = f"the MCP server {call.namespace!r} is to have an approval"
        remedy = f"declare it as HostedMCPTool(server_label={call.namespace!r}, ...)"
    else:
        what = f"the model made a call of kind {call.kind!r}"
        remedy = f"give it one, by function_tool(kind={call.kind!r}) say,"
        if call.kind == "custom":
            what, remedy = f"{what} to {call.name[:100]!r}", "give it that custom_tool"
    raise UnsupportedCallError(
        f"{what}, and agent {run.agent.name!r} has no tool that handles it, expected a tool of that kind; no call of the reply "
        f"was run: {remedy} and resume error.state, or leave what makes such calls out of extra_body",
        kind=call.kind,
    )
