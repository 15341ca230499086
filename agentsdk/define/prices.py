"""Prices of models, where the price lists do not say so or say something else."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from decimal import Decimal

from agentsdk.types.declared import shown
from agentsdk.types.errors import UserError
from agentsdk.types.usage import Usage

_MILLION = Decimal(1_000_000)


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelPrice:
    """US dollars for a million tokens. `cached_input`, of input tokens the provider had cached, is `input` unless given.

    Decimals, ints or text as in `"2.50"`. Raises `UserError` for a float, and for less than nothing.
    """

    input: Decimal | int | str
    output: Decimal | int | str
    cached_input: Decimal | int | str | None = None

    def __post_init__(self) -> None:
        for name in ("input", "output", "cached_input"):
            given: object = getattr(self, name)
            if given is None and name == "cached_input":
                continue
            dollars = _dollars(given) if isinstance(given, Decimal | int | str) and not isinstance(given, bool) else None
            if dollars is None or not (dollars.is_finite() and dollars >= 0):
                raise UserError(
                    f"ModelPrice({name}={shown(given)}), expected US dollars for a million tokens; write '2.50', say"
                )

    def of(self, usage: Usage) -> Decimal:
        """What that much cost."""
        cached = min(usage.cached_tokens, usage.input_tokens)
        price = _dollars(self.input) * (usage.input_tokens - cached) + _dollars(self.output) * usage.output_tokens
        return (price + _dollars(self.input if self.cached_input is None else self.cached_input) * cached) / _MILLION


Prices = Mapping[str, ModelPrice]
"""Prices by the model's name."""


def _dollars(given: Decimal | int | str) -> Decimal:
    try:
        return Decimal(given)
    except ArithmeticError:
        return Decimal(-1)
