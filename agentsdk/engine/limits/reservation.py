"""Reservations: what a run's next step may spend is reserved in the limits before, or the error of a limit ends the run."""

from __future__ import annotations

import dataclasses
from collections.abc import Awaitable, Callable, Sequence
from decimal import Decimal
from typing import NoReturn

from msgspec import structs

from agentsdk.core.limits.budget import Amount, Budget, Grant, RequestPrice
from agentsdk.core.limits.run_limits import DEFAULT_LIMITS, Reached, RunLimits, limit_error
from agentsdk.engine.limits.limiter import Limiter, settle, wait_for_grant
from agentsdk.engine.prepare import Prepared
from agentsdk.engine.run import Run
from agentsdk.engine.window.count_tokens import count_input_tokens
from agentsdk.ports.model import ModelRequest
from agentsdk.types.events import LimitReachedEvent, LimitWarningEvent
from agentsdk.types.response import ModelResponse
from agentsdk.types.usage import SpentAttempt, Usage


def has_budget(limits: RunLimits) -> bool:
    """Whether more than turns are limited, so that each request and call needs reckoning. On every run's way, hence short."""
    return limits is not DEFAULT_LIMITS and (
        limits.tokens is not None
        or limits.cost is not None
        or limits.requests is not None
        or limits.tool_calls is not None
        or limits.input_tokens is not None
        or limits.output_tokens is not None
        or bool(limits.calls_per_tool)
    )


def limiter_of(run: Run) -> Limiter:
    """The run's limiter, its log read to the end."""
    limiter = run.limiter
    if limiter is None:
        outer = run.deps.scope if run.parent is None else limiter_of(run.parent).budget
        limiter = run.limiter = Limiter(
            run.limits,
            run.deps.price,
            run.state.log,
            has_budget=run.has_budget,
            within=outer,
            last_on_top=run.parent is None and callable(run.deps.config.on_limit),
        )
    else:
        limiter.read(run.state.log)
    return limiter


def stuck(run: Run, prepared: Prepared) -> Reached | None:
    """The limit on repeats, errors or no progress that the run's turns have reached, if they have."""
    return limiter_of(run).usage_tracker.stuck(prepared.declared.polling)


class Reservation:
    """The reservation of one request, until it is known what became of it."""

    __slots__ = ("_budget", "_grant", "_model", "_run")

    def __init__(self, run: Run, model: str, budget: Budget, grant: Grant) -> None:
        self._run = run
        self._model = model
        self._budget = budget
        self._grant = grant

    def capped(self, request: ModelRequest) -> ModelRequest:
        """The request with the most output that is granted."""
        cap, given = self._grant.output_cap, request.settings.max_tokens
        if cap is None or (given is not None and given <= cap):
            return request
        return structs.replace(request, settings=dataclasses.replace(request.settings, max_tokens=cap))

    def release(self) -> None:
        """Nothing was spent."""
        settle(self._budget, self._grant, Amount())

    async def spent(self, response: ModelResponse, *, turns: int) -> None:
        """Count what the reply came to: all that was reserved, where the provider left its usage out."""
        usage = response.usage
        used = structs.replace(self._grant.reserved, turns=turns)
        if usage.known:
            deps = self._run.deps
            is_priced = self._budget.counts_cost or deps.scope is not None  # a scope tells what its runs cost
            cost = deps.price(usage, response.model, self._model) if is_priced else None
            requests = usage.sent_requests
            used = Amount(turns, requests, usage.input_tokens, usage.output_tokens, used.cost if cost is None else cost)
        settle(self._budget, self._grant, used)
        await _warn(self._run.root)


async def reserve(run: Run, prepared: Prepared, request: ModelRequest, *, is_last: bool) -> Reservation:
    """The reservation for one request. Waits for what others have reserved; raises the limit reached."""
    budget = _budget(run)
    model = run.model.name
    price = request_price(run, model) if budget.counts_cost else None
    tokens = await count_input_tokens(run, prepared) if budget.counts_tokens else 0
    if run.deps.keeps_back and not is_last:
        _budget(run.root).keep_back(tokens, price)
    answer = await wait_for_grant(lambda: budget.ask(tokens, request.settings.max_tokens, price, is_last=is_last))
    if isinstance(answer, Reached):
        await stop(run, answer)
    return Reservation(run, model, budget, answer)


def nothing_reserved(run: Run) -> Reservation:
    """A reservation of nothing, for a reply that no request of the run gave."""
    return Reservation(run, run.model.name, _budget(run), Grant(Amount()))


async def charge(run: Run, attempts: Sequence[SpentAttempt]) -> None:
    """Count what requests cost that came to nothing: it was not reserved for them."""
    budget, price = _budget(run), run.deps.price
    for usage, cost in [(attempt.usage, price(attempt.usage, attempt.model)) for attempt in attempts]:
        used = Amount(0, usage.sent_requests, usage.input_tokens, usage.output_tokens, cost or Decimal(0))
        settle(budget, Grant(Amount()), used)
    await _warn(run.root)


async def reserve_calls(run: Run, names: Sequence[str], intend: Callable[[], Awaitable[None]]) -> None:
    """Let `intend` record that calls of these tools begin, if the limits allow them all. Raises the limit reached."""
    budget = _budget(run)
    grant = budget.call_tools(names)
    if isinstance(grant, Reached):
        await stop(run, grant)
    try:
        await intend()
    except BaseException:
        settle(budget, grant, Amount())
        raise
    settle(budget, grant, grant.reserved)
    await _warn(run.root)


async def warn_of_turns(root: Run) -> None:
    """The same for a run that has no budget, where only turns are counted."""
    state = root.state
    if "turns" not in state.limits_near:
        await root.record(LimitWarningEvent("turns", str(state.all_turns), str(root.limits.turns)))


async def stop(run: Run, reached: Reached) -> NoReturn:
    """Record that a limit is reached, and raise it. A nested run's own limit ends that run only."""
    owner: Run | None = run
    while owner is not None and owner.limits is not reached.limits:
        owner = owner.parent
    if owner is not None:
        owner.is_at_limit = True
    hit = LimitReachedEvent(reached.kind, str(reached.used), str(reached.limit))
    at = owner or run.root
    if at.state.limit is None or structs.replace(at.state.limit, pauses=False) != hit:
        await at.record(hit)
    raise limit_error(reached, run.root.state.first_agent)


async def _warn(root: Run) -> None:
    """Record which limits of the whole run are nearly used up, each once."""
    for near in _budget(root).near():
        await root.record(LimitWarningEvent(near.kind, str(near.used), str(near.limit)))


def _budget(run: Run) -> Budget:
    budget = limiter_of(run).budget
    assert budget is not None, "only a run that has a budget asks for leave"
    return budget


def request_price(run: Run, name: str) -> RequestPrice | None:
    """What a request to the model of this name costs at most; None where that is not known."""
    price = run.deps.price
    if price(Usage(1, 1, 1), name) is None:
        return None

    def most(input_tokens: int, output_tokens: int) -> Decimal:
        return price(Usage(1, input_tokens, output_tokens), name) or Decimal(0)

    return most
