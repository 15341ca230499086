"""What a run's provider bills for what was counted."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agentsdk.core.window.calibration import WINDOW, Calibration
from agentsdk.types.usage import Usage


def after(*requests: tuple[int, int]) -> Calibration:
    """What is learned from pairs of counted and billed tokens."""
    calibration = Calibration()
    for counted, billed in requests:
        calibration = calibration.learned(counted, Usage(1, billed))
    return calibration


def test_a_count_stands_until_a_reply_came() -> None:
    assert Calibration().calibrated(100) == 100
    assert Calibration().factor == 1.0


@pytest.mark.parametrize(
    ("requests", "factor"),
    [
        ([(100, 120)], 1.2),
        ([(100, 90)], 0.9),
        ([(100, 110), (100, 130)], 1.3),
        ([(100, 110), (100, 130), (100, 120)], 1.2),
        ([(100, 1)], 0.5),
        ([(100, 9463)], 2.0),
    ],
)
def test_the_factor_is_the_median_within_bounds(requests: list[tuple[int, int]], factor: float) -> None:
    assert after(*requests).factor == factor


def test_two_of_five_may_be_off() -> None:
    honest = [(100, 110), (200, 220), (300, 330)]
    assert after((100, 9463), *honest, (400, 100)).factor == 1.1


def test_only_the_latest_requests_count() -> None:
    assert after((100, 200), *[(100, 110)] * WINDOW) == after(*[(100, 110)] * WINDOW)
    assert len(after(*[(100, 110)] * 20).requests) == WINDOW


def test_what_was_billed_is_billed_again() -> None:
    calibration = after((36, 255), (59, 278))  # a provider that adds a prompt of its own
    assert calibration.calibrated(36) == 255
    assert calibration.calibrated(60) == 278
    assert calibration.calibrated(20) == 40


def test_a_part_of_a_token_is_one() -> None:
    assert after((100, 101)).calibrated(10) == 11


@pytest.mark.parametrize(
    ("counted", "usage"),
    [
        (100, Usage(1, 500, known=False)),
        (100, Usage(2, 500)),
        (100, Usage(1, 0)),
        (0, Usage(1, 500)),
        (-1, Usage(1, 500)),
    ],
)
def test_a_request_that_proves_nothing_teaches_nothing(counted: int, usage: Usage) -> None:
    known = after((100, 110))
    assert known.learned(counted, usage) is known


pairs = st.lists(st.tuples(st.integers(1, 10**7), st.integers(1, 10**7)), max_size=8)


@given(pairs, st.integers(0, 10**7))
def test_a_greater_count_never_costs_less(requests: list[tuple[int, int]], count: int) -> None:
    calibration = after(*requests)
    assert calibration.calibrated(count) <= calibration.calibrated(count + 1)
    assert calibration.calibrated(count) >= count // 2
    for counted, billed in calibration.requests:
        assert calibration.calibrated(counted) >= billed
