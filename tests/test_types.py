"""Both type checkers, strict, over the package and over `tests/types_check/`, where `assert_type` says what a user sees."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.checkers import MYPY, MYPY_OF_A_USER, PYRIGHT, check


@pytest.mark.slow
@pytest.mark.parametrize("checker", [PYRIGHT, MYPY], ids=["pyright", "mypy"])
def test_the_package_is_typed(checker: list[str]) -> None:
    outcome = check(checker)
    assert outcome.returncode == 0, outcome.stdout + outcome.stderr


@pytest.mark.slow
@pytest.mark.parametrize("checker", [PYRIGHT, MYPY_OF_A_USER], ids=["pyright", "mypy"])
def test_a_wrong_type_is_found(checker: list[str], tmp_path: Path) -> None:
    (tmp_path / "wrong.py").write_text("# pyright: strict\nfrom agentsdk.types.usage import Usage\nUsage().requests = 1\n")
    outcome = check([*checker, str(tmp_path / "wrong.py")])
    assert outcome.returncode == 1, outcome.stdout
    assert "read-only" in outcome.stdout
