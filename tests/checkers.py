"""Both type checkers, as the tests run them: strict, one process a call, from the project's root."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[1]
PYRIGHT = [sys.executable, "-m", "pyright", "--pythonpath", sys.executable]
MYPY = [sys.executable, "-m", "mypy", "--no-error-summary"]
MYPY_OF_A_USER = [*MYPY, "--strict", "--config-file="]
"""Strict over the files it is given, without the package's own settings."""


def check(command: list[str]) -> subprocess.CompletedProcess[str]:
    return subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=900, check=False)
