"""Processes killed at every point of every step, and racing to resume: a sample of `python -m benchmarks.crash`."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Callable
from pathlib import Path

import pytest

from benchmarks.crash.kills import kill_ours
from benchmarks.crash.race import CONFLICT, race
from benchmarks.crash.stores import Address
from benchmarks.crash.world import POINTS

pytestmark = pytest.mark.anyio

STEPS = {"sqlite": 6, "file": 6, "postgres": 3, "redis": 3}
"""Six are one of each kind: a call of each tool, and several at once."""


@pytest.fixture
def address_of(request: pytest.FixtureRequest, tmp_path: Path) -> Callable[[str], Address]:
    def address(kind: str) -> Address:
        files = {"sqlite": "runs.db", "file": "runs"}
        return kind, str(tmp_path / files[kind]) if kind in files else request.getfixturevalue(f"{kind}_url")

    return address


@pytest.mark.parametrize("kind", STEPS)
async def test_nothing_is_lost_or_repeated_and_all_doubt_is_said(
    kind: str, address_of: Callable[[str], Address], tmp_path: Path
) -> None:
    steps = STEPS[kind]
    audit = await kill_ours(address_of(kind), tmp_path, steps, at_random=3 if hasattr(os, "pidfd_open") else 0)
    assert audit.notes == []
    assert [audit.at(point).kills for point in POINTS] == [steps] * 5
    total = audit.total
    assert (total.lost, total.effects, total.requests) == (0, 0, 0)
    assert total.in_doubt == total.surfaced > 0
    assert audit.holds


async def test_the_audit_sees_what_a_weaker_level_repeats(address_of: Callable[[str], Address], tmp_path: Path) -> None:
    audit = await kill_ours(address_of("sqlite"), tmp_path, 3, points=("effect done",), durability="exit")
    assert (audit.total.kills, audit.total.effects) == (3, 1), "the charge of the third step is not recorded, and made again"
    assert not audit.holds


@pytest.mark.parametrize("kind", STEPS)
async def test_one_process_wins_a_race_to_resume(kind: str, address_of: Callable[[str], Address], tmp_path: Path) -> None:
    rounds: list[None] = []
    found = await race(address_of(kind), tmp_path, processes=4, rounds=5, on_round=lambda: rounds.append(None))
    assert (found.one_winner, found.effects, len(rounds)) == (5, 5, 5)
    assert found.losers == Counter({CONFLICT: 5 * 4})
    assert found.holds
