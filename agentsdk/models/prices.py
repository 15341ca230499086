"""What a run cost, by the price lists of the package `genai-prices` (extra `prices`). An unknown price is None, never a guess.

The lists come with that package and nothing is fetched: update the package to update them.
"""

from __future__ import annotations

from collections.abc import Sequence
from decimal import Decimal
from importlib.util import find_spec
from typing import Protocol

from msgspec import Struct

from agentsdk.core.totals import Price
from agentsdk.define.prices import Prices
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
        import genai_prices
    except ImportError:
        raise UserError("prices need the package 'genai-prices'; pip install 'agentsdk[prices]'") from None
    if not (model and usage.known):
        return None
    spent = genai_prices.Usage(
        input_tokens=usage.input_tokens,
        cache_read_tokens=usage.cached_tokens,
        cache_write_tokens=usage.cache_write_tokens,
        output_tokens=usage.output_tokens,
    )
    try:
        return genai_prices.calc_price(spent, model, provider_id=provider).total_price
    except (LookupError, ValueError):  # no such model; counts that contradict each other
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


def price_with(given: Prices | None) -> Price:
    """Prices of replies by the model's name: what was given first, then the price lists, where they are installed.

    A name that is given also stands for the dated versions of its model, whose names begin with it.
    """

    def price(usage: Usage, model: str) -> Decimal | None:
        if given is not None:
            name = max((name for name in given if model == name or model.startswith(f"{name}-")), key=len, default=None)
            if name is not None:
                return given[name].of(usage)
        if find_spec("genai_prices") is None:
            return None
        return cost_of(usage, model)

    return price
