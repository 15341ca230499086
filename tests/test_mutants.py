"""Every fault that `make mutants` plants still fits the code it changes: planting them takes minutes, seeing this does not."""

from __future__ import annotations

from pathlib import Path

import pytest

from scripts.mutants import MUTANTS, Mutant

ROOT = Path(__file__).parents[1]


@pytest.mark.parametrize("mutant", MUTANTS, ids=lambda mutant: mutant.name)
def test_the_fault_can_be_planted(mutant: Mutant) -> None:
    assert (ROOT / mutant.path).read_text(encoding="utf-8").count(mutant.old) == 1
