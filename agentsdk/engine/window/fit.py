"""Compaction, so that requests fit the context window: before each request, and after one refused as too long.

The steps are decided in `core/window/fit.py`; here each has its one effect. All of a compaction is one append to the log.
"""

from __future__ import annotations

import asyncio
import dataclasses
import logging
from collections.abc import Awaitable, Callable, Sequence
from decimal import Decimal
from typing import cast

from msgspec import structs

from agentsdk.core.limits.budget import Grant
from agentsdk.core.limits.totals import Price
from agentsdk.core.window.compaction_price import TokenPrices, compaction_price
from agentsdk.core.window.context_window import ContextWindow
from agentsdk.core.window.fit import Fits, Impossible, Replace, Step, SummaryRequest, WindowView, current_input, fit
from agentsdk.core.window.strategies import DropOldest, TruncateToolResults
from agentsdk.engine.limits.reservation import Reservation, limiter_of
from agentsdk.engine.prepare import Prepared
from agentsdk.engine.run import Run, input_of
from agentsdk.engine.side_request import reply_beside
from agentsdk.engine.window.count_tokens import TokenEstimate, count, counter_of, estimate_tokens, remember
from agentsdk.ports.model import Model, ModelRequest
from agentsdk.types.declared import is_whole, shown
from agentsdk.types.errors import AgentsException, CallbackError, ContextWindowError, ModelError, UserError
from agentsdk.types.events import AttemptSpent, ModelReplied, ViewReplaced
from agentsdk.types.items import Item, Message
from agentsdk.types.response import ModelResponse
from agentsdk.types.settings import ModelSettings
from agentsdk.types.tape import Tape
from agentsdk.types.usage import Usage

logger = logging.getLogger("agentsdk")

SUMMARY_PAUSE = 5
"""After how many turns a summary that failed is asked for again, where the view still fits without one."""


async def fit_window(run: Run, prepared: Prepared, window: ContextWindow) -> None:
    """Make the run's view smaller, where the next request would take more tokens than the window's trigger.

    A view that a person has restored is left alone until it does not fit at all. Raises `ContextWindowError` where what must
    stay does not fit, and `UserError` for a model whose window nobody knows.
    """
    estimate = await estimate_tokens(run, prepared)
    size = await window_size(run, window)
    if run.state.is_restored:
        window = dataclasses.replace(window, trigger=1.0)
    bare = _view(window, (), (), size, estimate.tokens)
    if bare.tokens > bare.least_trigger:
        await _compact(run, estimate, window, size)


async def shorten(run: Run, prepared: Prepared, window: ContextWindow) -> bool:
    """Make the run's view smaller after the provider has refused it as too long: its tokens are the window's size from now on.

    Whether it is smaller now.
    """
    estimate = await estimate_tokens(run, prepared)
    try:
        refused = AttemptSpent(Usage(requests=1), "", "refused", run.model.name, chosen=run.chosen_name)
        return await _compact(run, estimate, window, estimate.tokens, refused)
    except ContextWindowError:
        return False


async def shrink_to_half(run: Run, prepared: Prepared) -> bool:
    """Make the next request about half as heavy, for a last answer that its limits leave too little for. Whether it is now."""
    estimate = await estimate_tokens(run, prepared)
    strategies = (TruncateToolResults(keep_turns=0), DropOldest())
    window = ContextWindow(trigger=1.0, target=0.9, reserve=0, strategies=strategies)
    try:
        return await _compact(run, estimate, window, max(1, estimate.tokens // 2))
    except ContextWindowError:
        return False


async def window_size(run: Run, window: ContextWindow) -> int:
    """The window's size in tokens: as given, or as is known of the model, or less where a refusal has shown it."""
    model, windows = run.model, run.state.windows
    size, shown = window.size, windows.get(model.name) or windows.get("", 0)  # logs of before say not which model's it is
    if size is None:
        size = await _known_size(run, model)
        if size is None and not shown:
            raise UserError(
                f"the context window of model {model.name!r} is not known, expected its size in "
                "tokens; give ContextWindow(size=...), or pip install 'agentsdk[prices]' for the sizes of known models"
            )
    return min(size, shown) if size and shown else size or shown


async def _known_size(run: Run, model: Model) -> int | None:
    told: object = getattr(model, "context_window", None)
    if is_whole(told, 1):
        return cast(int, told)
    known = run.deps.looked_up.context_windows
    if model.name not in known:
        known[model.name] = await asyncio.to_thread(run.deps.catalog.context_window_of, model.name)
    return known[model.name]


def _view(window: ContextWindow, items: Sequence[Item], counts: Sequence[int], size: int, tokens: int) -> WindowView:
    """A request of `tokens` in all."""
    if window.reserve is not None and window.reserve >= size:
        window = dataclasses.replace(window, size=None, reserve=None)  # a refusal has shown the window to be as small as that
    return window.view(items, counts, size=size, fixed=max(0, tokens - sum(counts)))


async def _compact(
    run: Run, estimate: TokenEstimate, window: ContextWindow, size: int, refused: AttemptSpent | None = None
) -> bool:
    """Take the view through the strategies; whether it is smaller now. Raises `ContextWindowError`."""
    items = tuple(run.state.view)
    counts = estimate.of_items(len(items))
    counted = dict(zip(map(id, items), counts, strict=True))
    view = _view(window, items, estimate.billed(counts), size, estimate.tokens)
    view = structs.replace(view, inputs=current_input(input_of(run.state)))

    async def count_new(new: Sequence[Item]) -> Sequence[int]:
        counts = await count(counter_of(run), new)
        counted.update(zip(map(id, new), counts, strict=True))
        return estimate.billed(counts)

    async def summarize(step: SummaryRequest) -> Replace | None:
        return await summarized(run, step, spent) if await _is_due(run, step) else None

    spent: list[AttemptSpent] = []
    end, done = await shrink(view, count_new, summarize)
    if isinstance(end, Impossible):
        if spent:
            await run.record(*spent)
        raise ContextWindowError(f"the request of agent {run.agent.name!r} does not fit its model's window: {end.reason}")
    if done:
        for overflow in (overflow for step in done for overflow in step.cut):
            await run.keep(overflow)
        more = () if refused is None else (refused,)
        shown = size if refused is not None else 0
        after, model = tuple(end.view.items), run.model.name if shown else ""
        replaced = ViewReplaced(after, reason_of(done), view.tokens, end.view.tokens, lost_by(done), shown, model)
        await run.record(*spent, *more, replaced)
        remember(counter_of(run), run.state.view, [counted[id(item)] for item in after])
    elif spent:
        await run.record(*spent)
    return bool(done)


async def shrink(
    view: WindowView,
    count_new: Callable[[Sequence[Item]], Awaitable[Sequence[int]]],
    summarize: Callable[[SummaryRequest], Awaitable[Replace | None]],
) -> tuple[Fits | Impossible, list[Replace]]:
    """Take a view through its strategies: where that ends, and the steps that have made it smaller."""
    done: list[Replace] = []
    while not isinstance(step := _step(view), Fits | Impossible):
        if isinstance(step, SummaryRequest):
            view = step.view
            replaced = await summarize(step)
            if replaced is None:
                continue
            step = replaced
        view = step.done(await count_new(step.new))
        if view is not step.view:
            done.append(step)
    return step, done


def reason_of(done: Sequence[Replace]) -> str:
    """The names of the strategies that have made a view smaller."""
    return ", ".join(type(step.view.strategies[step.view.tried - 1]).__name__ for step in done)


def lost_by(done: Sequence[Replace]) -> tuple[str, ...]:
    """The terms that summaries have lost."""
    return tuple(term for step in done for terms in structs.astuple(step.lost_terms) for term in terms)


def _step(view: WindowView) -> Step:
    """The next step towards a view that fits. Raises `CallbackError` for a strategy that offers none."""
    try:
        step = fit(view)
    except AgentsException:
        raise
    except Exception as error:
        raise CallbackError(
            f"a strategy of the ContextWindow raised {type(error).__name__}, expected an offer or None; "
            "see the chained exception"
        ) from error
    if not isinstance(cast(object, step), Step):
        raise CallbackError(
            f"a strategy of the ContextWindow offered {shown(step)}, expected a Replace, a SummaryRequest or None"
        )
    return step


async def _is_due(run: Run, step: SummaryRequest) -> bool:
    """Whether a summary is to be asked for now: it is worth it, or what the model is sent does not fit without."""
    view = step.view
    return view.tokens > view.budget or (not _failed_lately(run) and await _is_worth_it(run, step, _summarizer(run, step)))


def _summarizer(run: Run, step: SummaryRequest) -> Model:
    given = cast(str | Model | None, step.model)
    return run.model if given is None else run.deps.model(given)


async def summarized(run: Run, step: SummaryRequest, spent: list[AttemptSpent]) -> Replace | None:
    """The view with a summary in it, what that took added to `spent`. None where it fails, is none, or the limits forbid it."""
    model = _summarizer(run, step)
    request = ModelRequest(
        Tape((Message("user", step.text),)),
        step.instructions,
        settings=ModelSettings(max_tokens=step.max_tokens),
        request_id=run.request_id(len(spent) + 1),
    )
    tokens = sum(await count(counter_of(run), (Message("user", step.instructions), *request.items)))
    leave = await _reserve(run, model, tokens, step.max_tokens)
    if leave is None and run.has_budget:
        return None
    try:
        response = await reply_beside(run, model, request if leave is None else leave.capped(request))
    except BaseException as error:
        if isinstance(error, UserError) or not isinstance(error, Exception):
            if leave is not None:
                leave.release()
            raise
        logger.warning("model %r gave no summary (%s); the next strategy is tried", model.name, type(error).__name__)
        spent_in_vain = error.usage if isinstance(error, ModelError) else None
        response = ModelResponse((), spent_in_vain or Usage(requests=1))
    if leave is not None:
        await leave.spent(response, turns=0)
    replaced = step.done(response)
    text = "" if replaced is None else response.text
    spent.append(AttemptSpent(response.usage, text, "summary", response.model or model.name, model.name))
    return replaced


def _failed_lately(run: Run) -> bool:
    """Whether no summary came when one was asked for a few turns ago: asked for every turn, it would be paid for every turn."""
    replies = 0
    for event in reversed(run.state.log):
        if isinstance(event, AttemptSpent) and event.kind == "summary":
            return not event.partial
        replies += isinstance(event, ModelReplied)
        if replies == SUMMARY_PAUSE:
            break
    return False


async def _reserve(run: Run, model: Model, input_tokens: int, max_tokens: int) -> Reservation | None:
    """A reservation for a summary, of the limits; None where they do not give it now, or there are none."""
    budget = limiter_of(run).budget
    if budget is None:
        return None
    price = run.deps.price

    def most(input_tokens: int, output_tokens: int) -> Decimal:
        return price(Usage(1, input_tokens, output_tokens), model.name) or Decimal(0)

    answer = budget.ask(input_tokens, max_tokens, most)
    return Reservation(run, model.name, budget, answer) if isinstance(answer, Grant) else None


async def _is_worth_it(run: Run, step: SummaryRequest, model: Model) -> bool:
    """Whether a summary saves more than it costs over the turns that can still come. True where prices are not known."""
    prices, asked = await _prices(run, run.model.name), await _prices(run, model.name)
    if prices is None or asked is None:
        return True
    view = step.view
    gone = sum(block.tokens for block in step.gone)
    first = step.gone[0].positions[0]
    last = next((event.response.usage for event in reversed(run.state.log) if isinstance(event, ModelReplied)), Usage())
    limit, root = run.root.limits.turns, run.root.state
    after = min(view.tokens, view.tokens - gone + step.max_tokens)
    return compaction_price(
        before=view.tokens,
        after=after,
        prefix=min(after, view.fixed + sum(view.counts[:first])),
        cached=min(last.cached_tokens, view.tokens),
        turns=max(1, run.state.turns if limit is None else limit - root.all_turns),
        prices=prices,
        summary_input=gone,
        summary_output=step.max_tokens,
        summary_prices=asked,
    ).is_worth_it


async def _prices(run: Run, model: str) -> TokenPrices | None:
    known = run.deps.looked_up.token_prices
    if model not in known:
        known[model] = await asyncio.to_thread(_token_prices, run.deps.price, model)  # the first price reads the lists
    return known[model]


def _token_prices(price: Price, model: str) -> TokenPrices | None:
    """A model's prices by what a thousand tokens cost: those of a short request, where prices rise with the length."""
    fresh, written = price(Usage(1, 1_000, 0), model), price(Usage(1, 0, 1_000), model)
    cached = price(Usage(1, 1_000, 0, cached_tokens=1_000), model)
    if fresh is None or written is None:
        return None
    return TokenPrices(fresh * 1_000, written * 1_000, None if cached is None else cached * 1_000)
