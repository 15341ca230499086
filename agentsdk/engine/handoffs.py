"""Handoffs: the payload checked, the callback called, the view filtered; then one append switches the agent."""

from __future__ import annotations

from typing import Any, cast

from msgspec import structs

from agentsdk.core.next_step import Handoff
from agentsdk.core.pairing import paired
from agentsdk.core.process import ProcessedResponse
from agentsdk.core.state import committed
from agentsdk.define.agent import HandoffDeclaration
from agentsdk.define.handoff_filter import HandoffInputData
from agentsdk.engine import hooks
from agentsdk.engine.callbacks import call_user
from agentsdk.engine.open_turn import open_turn
from agentsdk.engine.prepare import Prepared
from agentsdk.engine.run import Run, input_of
from agentsdk.types.errors import UserError
from agentsdk.types.events import HandedOff, RunEvent, ToolFinished, ViewReplaced
from agentsdk.types.items import FunctionCall


def invalid_payloads(run: Run, prepared: Prepared, processed: ProcessedResponse) -> list[ToolFinished]:
    """An error result for each handoff the model called with a payload that does not fit."""
    turn = open_turn(run)
    failed: list[ToolFinished] = []
    for call, spec in processed.handoffs:
        declared = prepared.declared.handoffs[spec.name]
        if declared.payload is None or call.call_id in turn.results:
            continue
        try:
            _payload(declared, call)
        except ValueError as error:
            failed.append(ToolFinished(call.call_id, f"Error: the handoff's arguments are invalid: {error}", True))
    return failed


async def hand_over(run: Run, prepared: Prepared, processed: ProcessedResponse, step: Handoff) -> None:
    """Give the run to the agent of `step`. The first handoff wins; the others get a result that says so."""
    declared = prepared.declared.handoffs[step.spec.name]
    target = declared.agent
    turn = open_turn(run)
    events: list[RunEvent] = [ToolFinished(step.call.call_id, declared.result or f"Handed over to {target.name}.")]
    events += [
        ToolFinished(call.call_id, f"Ignored: the conversation was handed over to {target.name} by an earlier call.", True)
        for call, _ in processed.handoffs
        if call is not step.call and call.call_id not in turn.results
    ]
    view = await _filtered(run, declared, cast("list[ToolFinished]", events))
    if declared.on_handoff is not None:
        # Last, so that nothing but a crash lies between its effect and the record of it.
        payload = () if declared.payload is None else (_payload(declared, step.call),)
        await call_user(f"on_handoff of the handoff to agent {target.name!r}", declared.on_handoff, run.context, *payload)
    events.append(HandedOff(target.name))
    if view is not None:
        events.append(view)
        run.call_ids |= {item.call_id for item in view.items if type(item) is FunctionCall}
    source = run.agent
    run.agent = target
    run.agents[target.name] = target
    await run.record(*events)
    await hooks.handed_off(run, source)
    await hooks.agent_started(run)


async def _filtered(run: Run, declared: HandoffDeclaration[Any], results: list[ToolFinished]) -> ViewReplaced | None:
    """What the next agent sees, where a filter decides it."""
    chosen = declared.input_filter
    if chosen is None:
        chosen = run.deps.config.handoff_input_filter
    if chosen is None:
        return None
    state, turn = run.state, open_turn(run)
    closed = structs.replace(turn, results={**turn.results, **{result.call_id: result for result in results}})
    view = tuple(state.view)
    # Once a view has been replaced the run's input no longer stands apart in it.
    inputs = state.history + len(input_of(state)) if state.view is state.transcript else len(view)
    data = HandoffInputData(view[:inputs], view[inputs:], committed(closed))
    what = f"input_filter of the handoff to agent {declared.agent.name!r}"
    given = cast(object, await call_user(what, chosen, data))
    if not isinstance(given, HandoffInputData):
        raise UserError(f"{what} returned {type(given).__name__!r}, expected a HandoffInputData; return data.clone(...)")
    try:
        return ViewReplaced(paired((*given.input_history, *given.pre_handoff_items, *given.new_items)))
    except Exception as error:
        raise UserError(f"{what} returned something else than items, expected items; return data.clone(...)") from error


def _payload(declared: HandoffDeclaration[Any], call: FunctionCall) -> object:
    assert declared.payload is not None
    return cast(object, declared.payload.validate(call.arguments))
