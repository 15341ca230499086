"""Both type checkers, strict, over the package and over `tests/types_check/`, where `assert_type` says what a user sees."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
PYRIGHT = [sys.executable, "-m", "pyright", "--pythonpath", sys.executable]
MYPY = [sys.executable, "-m", "mypy", "--no-error-summary"]


def check(command: list[str]) -> subprocess.CompletedProcess[str]:
    return subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=400, check=False)


@pytest.mark.slow
@pytest.mark.parametrize("checker", [PYRIGHT, MYPY], ids=["pyright", "mypy"])
def test_the_package_is_typed(checker: list[str]) -> None:
    outcome = check(checker)
    assert outcome.returncode == 0, outcome.stdout + outcome.stderr


@pytest.mark.slow
@pytest.mark.parametrize("checker", [PYRIGHT, [*MYPY, "--strict", "--config-file="]], ids=["pyright", "mypy"])
def test_a_wrong_type_is_found(checker: list[str], tmp_path: Path) -> None:
    (tmp_path / "wrong.py").write_text("# pyright: strict\nfrom agentsdk.types.usage import Usage\nUsage().requests = 1\n")
    outcome = check([*checker, str(tmp_path / "wrong.py")])
    assert outcome.returncode == 1, outcome.stdout
    assert "read-only" in outcome.stdout
