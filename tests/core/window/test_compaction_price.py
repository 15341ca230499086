"""The price of compacting, by hand and against a run added up turn by turn."""

from __future__ import annotations

from decimal import Decimal

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agentsdk.core.window.compaction_price import TokenPrices, compaction_price
from agentsdk.types.errors import UserError

CACHED = TokenPrices(Decimal(2), Decimal(8), Decimal("0.5"))
PLAIN = TokenPrices(Decimal(2), Decimal(8))
WRITES = TokenPrices(Decimal(2), Decimal(8), Decimal("0.2"), Decimal("2.5"))
CHEAP = TokenPrices(Decimal("0.1"), Decimal("0.4"))


def test_a_long_run_pays_for_a_rewritten_prefix_and_a_summary() -> None:
    price = compaction_price(
        before=100_000,
        after=40_000,
        prefix=10_000,
        cached=95_000,
        turns=30,
        prices=CACHED,
        summary_input=60_000,
        summary_output=1_000,
        summary_prices=CHEAP,
    )
    assert price.summary == Decimal("0.0064")
    # Now 95,000 cached and 5,000 fresh cost 0.0575; then 10,000 cached and 30,000 fresh cost 0.065.
    assert price.rewrite == Decimal("0.0075")
    assert price.saved_per_turn == Decimal("0.03")
    assert price.cost == Decimal("0.0139")
    assert price.pays_off_after == 2
    assert price.saved == Decimal("0.8561")
    assert price.is_worth_it
    assert str(price) == (
        "summary 0.006400 + rewritten prefix 0.007500 = 0.013900 now, 0.030000 saved a turn: pays off after 2 turns, "
        "30 may come"
    )


def test_a_summary_is_priced_as_the_model_itself_where_no_other_is_named() -> None:
    price = compaction_price(
        before=10, after=10, prefix=10, cached=10, turns=9, prices=CACHED, summary_input=1_000, summary_output=100
    )
    assert price.summary == Decimal("0.0028")
    assert price.pays_off_after is None
    assert not price.is_worth_it
    assert "never pays off, 9 may come" in str(price)


def test_without_a_cache_it_pays_at_once() -> None:
    price = compaction_price(before=100_000, after=40_000, prefix=0, cached=0, turns=1, prices=PLAIN)
    assert price.saved == Decimal("0.12")
    assert price.pays_off_after == 1
    assert "pays off after 1 turn, 1 may come" in str(price)


def test_what_goes_into_the_cache_may_cost_more() -> None:
    price = compaction_price(before=1_000, after=600, prefix=100, cached=1_000, turns=3, prices=WRITES)
    assert price.rewrite == (100 * Decimal("0.2") + 500 * Decimal("2.5") - 1_000 * Decimal("0.2")) / 1_000_000
    dear = TokenPrices(Decimal(2), Decimal(8), None, Decimal(9))
    assert compaction_price(before=10, after=5, prefix=0, cached=0, turns=1, prices=dear) == compaction_price(
        before=10, after=5, prefix=0, cached=0, turns=1, prices=PLAIN
    )


def test_where_no_turn_comes_only_the_summary_is_paid() -> None:
    price = compaction_price(before=10, after=5, prefix=0, cached=0, turns=0, prices=PLAIN, summary_output=1_000)
    assert price.saved == Decimal("-0.008")
    assert not price.is_worth_it


@pytest.mark.parametrize("name", ["before", "after", "prefix", "cached", "turns", "summary_input", "summary_output"])
def test_numbers_below_zero_are_refused(name: str) -> None:
    numbers = {"before": 10, "after": 5, "prefix": 1, "cached": 5, "turns": 3, name: -1}
    with pytest.raises(UserError, match=rf"compaction_price\({name}=-1\), expected 0 or more"):
        compaction_price(prices=PLAIN, **numbers)


@pytest.mark.parametrize("numbers", [{"prefix": 6}, {"after": 20, "prefix": 11}, {"cached": 11}])
def test_numbers_that_contradict_each_other_are_refused(numbers: dict[str, int]) -> None:
    with pytest.raises(UserError, match="expected a prefix of both requests"):
        compaction_price(prices=PLAIN, **{"before": 10, "after": 5, "prefix": 1, "cached": 5, "turns": 3} | numbers)


tokens = st.integers(0, 10_000)
prices = st.sampled_from([CACHED, PLAIN, WRITES])


@given(tokens, tokens, tokens, tokens, st.integers(1, 40), tokens, prices)
def test_it_is_what_the_turns_add_up_to(
    before: int, after: int, prefix: int, cached: int, turns: int, summary: int, price: TokenPrices
) -> None:
    prefix, cached = min(prefix, before, after), min(cached, before)

    def run(sent: int, in_cache: int, count: int) -> Decimal:
        """Turns that each send the same tokens: what was sent before is read from the cache, all else is written to it."""
        total = Decimal(0)
        for _ in range(count):
            read = price.input if price.cached_input is None else price.cached_input
            write = price.input if price.cached_input is None else price.cache_write or price.input
            total += (in_cache * read + (sent - in_cache) * write) / 1_000_000
            in_cache = sent
        return total

    def saved(count: int) -> Decimal:
        return run(before, cached, count) - run(after, min(prefix, cached), count) - summary * price.input / 1_000_000

    result = compaction_price(
        before=before, after=after, prefix=prefix, cached=cached, turns=turns, prices=price, summary_input=summary
    )
    assert result.saved == saved(turns)
    assert result.is_worth_it == (saved(turns) > 0)
    first = result.pays_off_after
    if first is None:
        assert saved(10_000) < 0
    else:
        assert saved(first) >= 0
        assert first == 1 or saved(first - 1) < 0
