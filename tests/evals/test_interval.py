"""Intervals and tests against values that are printed in textbooks."""

from __future__ import annotations

import pytest

from agentsdk.evals.interval import Interval, _t, interval_of_mean, interval_of_rate, sign_test


@pytest.mark.parametrize(
    ("rates", "low", "high"),
    [
        ([1.0] * 8 + [0.0] * 2, 0.4902, 0.9433),
        ([0.0] * 10, 0.0, 0.2775),
        ([1.0] * 10, 0.7225, 1.0),
        ([1.0], 0.2065, 1.0),
    ],
)
def test_wilson(rates: list[float], low: float, high: float) -> None:
    assert interval_of_rate(rates) == Interval(pytest.approx(low, abs=1e-4), pytest.approx(high, abs=1e-4))


def test_repeats_make_no_more_cases() -> None:
    """Two cases of which each passed half of its runs are two observations, not many."""
    assert interval_of_rate([0.5, 0.5]) == interval_of_rate([1.0, 0.0])


def test_students_interval() -> None:
    found = interval_of_mean([1.0, 2.0, 3.0, 4.0])
    assert found == Interval(pytest.approx(2.5 - 2.0541, abs=1e-3), pytest.approx(2.5 + 2.0541, abs=1e-3))
    assert interval_of_mean([1.0]) is None
    assert interval_of_mean([2.0, 2.0]) == Interval(2.0, 2.0)


@pytest.mark.parametrize(("freedom", "point"), [(1, 12.706), (30, 2.042), (31, 2.0395), (40, 2.0211), (120, 1.9799)])
def test_points_of_students_distribution(freedom: int, point: float) -> None:
    assert _t(freedom) == pytest.approx(point, abs=2e-4)


@pytest.mark.parametrize(
    ("better", "worse", "p"),
    [(0, 0, 1.0), (1, 0, 1.0), (5, 0, 0.0625), (6, 0, 0.03125), (0, 6, 0.03125), (8, 2, 0.109375), (3, 3, 1.0)],
)
def test_sign_test(better: int, worse: int, p: float) -> None:
    assert sign_test(better, worse) == pytest.approx(p)
