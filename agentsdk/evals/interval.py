"""`Interval`: how far a figure may be from what more cases would have shown."""

from __future__ import annotations

from collections.abc import Sequence
from math import comb, sqrt
from statistics import NormalDist, fmean, stdev

from msgspec import Struct

CONFIDENCE = 0.95
_Z = NormalDist().inv_cdf((1 + CONFIDENCE) / 2)

# The 97.5 % points of Student's distribution, for 1 to 30 degrees of freedom.
_T = (
    *(12.706, 4.303, 3.182, 2.776, 2.571, 2.447, 2.365, 2.306, 2.262, 2.228, 2.201, 2.179, 2.160, 2.145, 2.131),
    *(2.120, 2.110, 2.101, 2.093, 2.086, 2.080, 2.074, 2.069, 2.064, 2.060, 2.056, 2.052, 2.048, 2.045, 2.042),
)


class Interval(Struct, frozen=True):
    """A 95 % confidence interval."""

    low: float
    high: float


def interval_of_rate(rates: Sequence[float]) -> Interval:
    """Wilson's score interval for the mean of rates, one a case, each from 0 to 1.

    A case counts once, whatever its repeats. What lies between 0 and 1 varies no more than a coin of that mean does, so with
    repeats the interval is wider than it need be.
    """
    n, rate = len(rates), fmean(rates)
    center = (rate + _Z**2 / (2 * n)) / (1 + _Z**2 / n)
    half = _Z / (1 + _Z**2 / n) * sqrt(rate * (1 - rate) / n + _Z**2 / (4 * n**2))
    return Interval(max(0.0, center - half), min(1.0, center + half))


def interval_of_mean(values: Sequence[float]) -> Interval | None:
    """Student's t interval for the mean of values, one a case; None of fewer than two."""
    if len(values) < 2:
        return None
    half = _t(len(values) - 1) * stdev(values) / sqrt(len(values))
    return Interval(fmean(values) - half, fmean(values) + half)


def sign_test(better: int, worse: int) -> float:
    """How likely a split at least as uneven is where a change is as often for the better as for the worse: exact, two-sided."""
    n = better + worse
    tail: float = sum(comb(n, k) for k in range(min(better, worse) + 1)) / 2**n
    return min(1.0, 2 * tail)


def _t(freedom: int) -> float:
    """The 97.5 % point of Student's distribution; beyond the table by its expansion in 1 / `freedom`."""
    if freedom <= len(_T):
        return _T[freedom - 1]
    return _Z + (_Z**3 + _Z) / (4 * freedom) + (5 * _Z**5 + 16 * _Z**3 + 3 * _Z) / (96 * freedom**2)
