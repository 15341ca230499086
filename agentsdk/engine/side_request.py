"""Requests beside a turn's own: for a summary, and what the body of a call asks the run's model. No reader is shown them."""

from __future__ import annotations

import os
from collections.abc import Callable
from contextlib import aclosing

from msgspec import structs

from agentsdk.core.limits.run_limits import Reached, limit_error
from agentsdk.core.process import cleaned
from agentsdk.engine.limits.limiter import wait_for_grant
from agentsdk.engine.limits.reservation import Reservation, charge, limiter_of, request_price
from agentsdk.engine.measures import measured_chat
from agentsdk.engine.run import Run
from agentsdk.engine.spans import in_side_span
from agentsdk.ports.model import Model, ModelRequest
from agentsdk.types.deltas import ResponseCompleted
from agentsdk.types.errors import ModelError, ToolError, UserError
from agentsdk.types.events import AttemptSpent, RunEvent, ToolCheckpointed
from agentsdk.types.items import Message
from agentsdk.types.response import ModelResponse
from agentsdk.types.usage import SpentAttempt


@measured_chat
@in_side_span
async def reply_beside(run: Run, model: Model, request: ModelRequest) -> ModelResponse:
    """The model's reply. Its usage is that of all attempts. Raises what the model does, `UserError` for a reply without end."""
    async with aclosing(model.stream(request)) as events:
        async for event in events:
            if isinstance(event, ResponseCompleted):
                usage = sum((attempt.usage for attempt in event.attempts), event.response.usage)
                return cleaned(structs.replace(event.response, usage=usage))
    raise UserError(f"model {model.name!r} ended its stream without ResponseCompleted, expected it last")


async def ask_for_call(
    run: Run, call_id: str, request: ModelRequest, checkpoint: Callable[[ModelResponse], str] | None
) -> ModelResponse:
    """The reply of the turn's model to what a call of it asks; its cost and the call's `checkpoint` are recorded in one append.

    Raises `ToolError` where the limits of the run do not allow the request, `ModelError`.
    """
    request = structs.replace(request, request_id=f"{os.urandom(8).hex()}-call")  # of all its attempts, and of no other's
    asker = _asker(run)
    model = await _model_of(asker)
    leave = await _reserved(run, asker, model, request) if run.has_budget else None
    try:
        response = await reply_beside(run, model, request if leave is None else leave.capped(request))
    except BaseException as error:
        if leave is not None:
            leave.release()
        if isinstance(error, ModelError) and error.attempts:
            named = [SpentAttempt(one.usage, one.model or model.name) for one in error.attempts]
            await run.record(*[AttemptSpent(one.usage, "", "call", one.model, model.name) for one in named])
            if run.has_budget:
                await charge(run, named)
        raise
    events: list[RunEvent] = [AttemptSpent(response.usage, "", "call", response.model or model.name, model.name)]
    try:
        if checkpoint is not None:
            events.append(ToolCheckpointed(call_id, checkpoint(response)))
    finally:  # it is paid for also where there is nothing to save
        await run.record(*events)
        if leave is not None:
            await leave.spent(response, turns=0)
    if checkpoint is not None and run.root.recorder is not None:
        await run.root.recorder.flush()
    return response


def _asker(run: Run) -> Run:
    """The run whose model is asked: of one whose replies a program gives, the run around it."""
    while run.program is not None and run.parent is not None:
        run = run.parent
    return run


async def _model_of(run: Run) -> Model:
    """The model of the run's turn."""
    model = run.deps.model_of(run.agent)
    if model is not None:
        return model
    from agentsdk.engine.model_choice import choose_model

    return run.model if run.chosen is not None else await choose_model(run)


async def _reserved(run: Run, asker: Run, model: Model, request: ModelRequest) -> Reservation:
    """The reservation for a request of a call. Raises `ToolError` where the limits of the run do not allow it."""
    budget = limiter_of(run).budget
    assert budget is not None, "a run that has a budget"
    tokens = 0
    if budget.counts_tokens:
        from agentsdk.engine.window.count_tokens import count, counter_of

        tokens = sum(await count(counter_of(asker), (Message("user", request.instructions), *request.items)))
    price = request_price(run, model.name) if budget.counts_cost else None
    answer = await wait_for_grant(lambda: budget.ask(tokens, request.settings.max_tokens, price))
    if isinstance(answer, Reached):
        raise ToolError(f"the run's limits do not allow another request: {limit_error(answer, run.root.state.first_agent)}")
    return Reservation(run, model.name, budget, answer)
