"""Calibration: what a run's provider bills for what was counted, learned from its replies."""

from __future__ import annotations

from math import ceil

from agentsdk.types.base import Compact
from agentsdk.types.usage import Usage

WINDOW = 5
"""How many of the latest requests count: the median of five bears two that are off."""

LEAST_FACTOR = 0.5
MOST_FACTOR = 2.0


class Calibration(Compact):
    """The latest requests, the oldest first: the tokens counted beforehand, and the input tokens that were billed."""

    requests: tuple[tuple[int, int], ...] = ()

    def learned(self, counted: int, usage: Usage) -> Calibration:
        """With one more request. One whose usage is unknown, or is that of several requests, teaches nothing."""
        if not usage.known or usage.requests > 1 or counted <= 0 or usage.input_tokens <= 0:
            return self
        return Calibration((*self.requests[1 - WINDOW :], (counted, usage.input_tokens)))

    @property
    def factor(self) -> float:
        """Tokens billed for one counted, within 0.5 and 2: the median, of two middle ones the higher. 1 before any reply."""
        if not self.requests:
            return 1.0
        ratios = sorted(billed / counted for counted, billed in self.requests)
        return min(max(ratios[len(ratios) // 2], LEAST_FACTOR), MOST_FACTOR)

    def calibrated(self, count: int) -> int:
        """What will be billed for `count`: never less than was billed for as much or less in the latest requests."""
        proven = max((billed for counted, billed in self.requests if counted <= count), default=0)
        return max(ceil(count * self.factor), proven)
