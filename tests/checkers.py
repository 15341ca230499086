"""Both type checkers, as the tests run them: strict, one process a call, from the project's root."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[1]
PYRIGHT = [sys.executable, "-m", "pyright", "--pythonpath", sys.executable]
MYPY = [sys.executable, "-m", "mypy", "--no-error-summary"]


def check(command: list[str]) -> subprocess.CompletedProcess[str]:
    env = {**os.environ, "MYPYPATH": "examples"}  # where one of them imports another, as when it is run
    return subprocess.run(command, cwd=ROOT, env=env, capture_output=True, text=True, timeout=900, check=False)
