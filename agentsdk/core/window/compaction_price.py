"""The price of a compaction: what it costs at once, against what it saves over the turns that can still come.

Of a request that a provider has seen before, the unchanged beginning is read from its prompt cache and costs less. Compacting
throws the cache away from the first change on: what follows is paid in full once. What later turns add is the same either way,
so it is left out. With `c` the price of a cached and `f` of a fresh token:

```
as it is     cached * c + (before - cached) * f                     then  before * c  a turn
compacted    summary + prefix * c + (after - prefix) * f            then  after * c   a turn
```
"""

from __future__ import annotations

from decimal import Decimal
from math import ceil

from msgspec import Struct

from agentsdk.types.errors import UserError

_MILLION = Decimal(1_000_000)


class TokenPrices(Struct, frozen=True):
    """A model's prices for a million tokens. `cached_input`: read from the prompt cache (None: the provider has none).
    `cache_write`: input that goes into the cache (None: costs no more than other input)."""

    input: Decimal
    output: Decimal
    cached_input: Decimal | None = None
    cache_write: Decimal | None = None


class CompactionPrice(Struct, frozen=True):
    """What compacting costs and saves, in the prices' currency.

    `summary`: the summary call. `rewrite`: what the next request costs more than it would, since its cached beginning is gone;
    negative where it costs less. `saved_per_turn`: on each turn after it. `turns`: how many may still come, the next included.
    """

    summary: Decimal
    rewrite: Decimal
    saved_per_turn: Decimal
    turns: int

    @property
    def cost(self) -> Decimal:
        """What is paid more by the end of the next turn; negative where it has paid off by then."""
        return self.summary + self.rewrite

    @property
    def saved(self) -> Decimal:
        """What is saved in the end; negative where compacting costs more than it saves. 0 if no turn comes."""
        if self.turns < 1:
            return -self.summary
        return self.saved_per_turn * (self.turns - 1) - self.cost

    @property
    def is_worth_it(self) -> bool:
        """Whether anything is saved."""
        return self.saved > 0

    @property
    def pays_off_after(self) -> int | None:
        """The turn at whose end it has cost no more than it saved, 1 being the next; None if none ever is."""
        if self.cost <= 0:
            return 1
        if self.saved_per_turn <= 0:
            return None
        return 1 + ceil(self.cost / self.saved_per_turn)

    def __str__(self) -> str:
        turn = self.pays_off_after
        ends = "never pays off" if turn is None else f"pays off after {turn} turn{'s' if turn > 1 else ''}"
        return (
            f"summary {self.summary:.6f} + rewritten prefix {self.rewrite:.6f} = {self.cost:.6f} now, "
            f"{self.saved_per_turn:.6f} saved a turn: {ends}, {self.turns} may come"
        )


def compaction_price(
    *,
    before: int,
    after: int,
    prefix: int,
    cached: int,
    turns: int,
    prices: TokenPrices,
    summary_input: int = 0,
    summary_output: int = 0,
    summary_prices: TokenPrices | None = None,
) -> CompactionPrice:
    """The price of compacting a request of `before` tokens to `after`.

    `prefix`: tokens before the first change. `cached`: tokens of the request that the provider has in its cache, as the last
    usage said. `turns`: how many may still come, from the limits or an estimate. `summary_input` and `summary_output`: tokens
    of the summary call, at `summary_prices` (None: the same). Raises `UserError` for numbers below 0 and for a prefix longer
    than the request.
    """
    given = {"before": before, "after": after, "prefix": prefix, "cached": cached, "turns": turns}
    given |= {"summary_input": summary_input, "summary_output": summary_output}
    for name, value in given.items():
        if value < 0:
            raise UserError(f"compaction_price({name}={value!r}), expected 0 or more")
    if prefix > min(before, after) or cached > before:
        raise UserError(
            f"compaction_price(before={before!r}, after={after!r}, prefix={prefix!r}, cached={cached!r}), expected a prefix of "
            "both requests and no more cached than there is"
        )
    has_cache = prices.cached_input is not None
    reading = prices.input if prices.cached_input is None else prices.cached_input
    fresh = prices.input if prices.cache_write is None or not has_cache else prices.cache_write
    still_cached = min(prefix, cached)
    as_it_is = cached * reading + (before - cached) * fresh
    compacted = still_cached * reading + (after - still_cached) * fresh
    asked = summary_prices or prices
    return CompactionPrice(
        (summary_input * asked.input + summary_output * asked.output) / _MILLION,
        (compacted - as_it_is) / _MILLION,
        (before - after) * reading / _MILLION,
        turns,
    )
