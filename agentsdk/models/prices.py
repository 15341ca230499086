"""Prices, by the lists of the package `genai-prices` (extra `prices`). An unknown price is None, never a guess.

The lists come with that package and nothing is fetched: update the package to update them.
"""

from __future__ import annotations

import asyncio
import os
import sys
import threading
from collections.abc import Sequence
from concurrent.futures import Future
from contextlib import suppress
from decimal import Decimal
from importlib.util import find_spec
from typing import Protocol

from msgspec import Struct

from agentsdk.core.limits.totals import Price
from agentsdk.define.prices import Prices
from agentsdk.models.facts import BEDROCK_NAME
from agentsdk.types.errors import UserError
from agentsdk.types.response import ModelResponse
from agentsdk.types.usage import Usage


class HasReplies(Protocol):
    """A run's result."""

    @property
    def raw_responses(self) -> Sequence[ModelResponse]:
        """The model's replies."""
        ...

    @property
    def usage(self) -> Usage:
        """What the run has spent, nested runs included."""
        ...


class RunCost(Struct, frozen=True):
    """What a run cost, in US dollars.

    `by_model` has the cost of each model's replies under the name the provider gives it, None where it is unknown. `known` is
    False when anything of the run has no known price: `total` is then a lower bound.
    """

    total: Decimal
    known: bool
    by_model: dict[str, Decimal | None]


def cost_of(usage: Usage, model: str, provider: str | None = None) -> Decimal | None:
    """What one reply of `model` cost, in US dollars; None when its price, or all it used, is not known.

    `provider` is an id of the price lists (`"openai"`, `"azure"`, `"groq"`, ...); without one, the price is that of the vendor
    whose models have such a name. Raises `UserError` when `genai-prices` is not installed.
    """
    try:
        return _listed_cost(usage, model, provider)
    except LookupError:
        return None


def _listed_cost(usage: Usage, model: str, provider: str | None = None) -> Decimal | None:
    """The same. Raises `LookupError` for a model that the lists do not have."""
    try:
        import genai_prices
    except ImportError:
        raise UserError("prices need the package 'genai-prices'; pip install 'agentsdk[prices]'") from None
    if not (model and usage.known):
        return None
    if provider is None and BEDROCK_NAME.fullmatch(model):
        provider = "aws"
    spent = genai_prices.Usage(
        input_tokens=usage.input_tokens,
        cache_read_tokens=usage.cached_tokens,
        cache_write_tokens=usage.cache_write_tokens,
        output_tokens=usage.output_tokens,
    )
    try:
        return genai_prices.calc_price(spent, model, provider_id=provider).total_price
    except ValueError:  # counts that contradict each other
        return None


def price_run(result: HasReplies, provider: str | None = None) -> RunCost:
    """What a run cost, reply by reply, as prices may rise with the length of a request. `provider` as in `cost_of`.

    The replies of nested runs (agents as tools) are not in the result: `known` is then False. Price their results too.
    Raises `UserError` when `genai-prices` is not installed.
    """
    by_model: dict[str, Decimal | None] = {}
    total = Decimal(0)
    priced = Usage()
    for reply in result.raw_responses:
        cost = cost_of(reply.usage, reply.model, provider)
        before = by_model.get(reply.model, Decimal(0))
        by_model[reply.model] = None if cost is None or before is None else before + cost
        total += cost or 0
        priced += reply.usage
    return RunCost(total, None not in by_model.values() and priced == result.usage, by_model)


_reading: list[Future[None]] = []


async def read_price_lists() -> None:
    """Have the price lists read, where they are installed: once in a process, on a thread of their own, as it takes 0.4 s."""
    if not _reading:
        if "genai_prices.data" in sys.modules or find_spec("genai_prices") is None:
            return
        future: Future[None] = Future()
        future.set_running_or_notify_cancel()  # a waiter that is cancelled must not cancel it for the others
        _reading.append(future)
        threading.Thread(target=_read, args=(future,), name="agentsdk prices", daemon=True).start()
    if not _reading[0].done():
        await asyncio.wrap_future(_reading[0])


def _read(future: Future[None]) -> None:
    with suppress(Exception):  # it is raised again when a price is needed
        cost_of(Usage(1), "gpt-4o")
    future.set_result(None)


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_reading.clear)  # the thread does not cross a fork


def price_with(given: Prices | None) -> Price:
    """Prices of replies by the model's name: what was given first, then the price lists, where they are installed.

    A name that is given also stands for the dated versions of its model, whose names begin with it. Where neither knows the
    name that a reply gave its model, the one that it was asked by counts.
    """
    has_lists: list[bool] = []
    unknown: set[str] = set()

    def price(usage: Usage, model: str, asked: str = "") -> Decimal | None:
        for name in (model, asked) if given else ():
            known = max((key for key in given or () if name == key or name.startswith(f"{key}-")), key=len, default=None)
            if known is not None:
                return (given or {})[known].of(usage)
        if not has_lists:
            has_lists.append(find_spec("genai_prices") is not None)
        if not has_lists[0]:
            return None
        for name in (model, asked):
            if not name or name in unknown:
                continue
            try:
                cost = _listed_cost(usage, name)
            except LookupError:
                unknown.add(name)  # else a run would look for it in all lists with each reply
                continue
            if cost is not None:
                return cost
        return None

    return price
