"""The pictures of the page on architecture show what the code has, and what runs recorded."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]


@pytest.mark.parametrize("name", ["layers", "state", "turn", "stored_run", "operating", "status", "cluster", "together"])
def test_the_picture_is_what_the_script_draws(name: str) -> None:
    script = ROOT / "scripts" / f"draw_{name}.py"
    drawn = subprocess.run([sys.executable, script], capture_output=True, text=True, encoding="utf-8", timeout=60, check=True)
    picture = (ROOT / "docs" / f"{name}.svg").read_text(encoding="utf-8")
    assert picture == drawn.stdout, f"draw it anew: python scripts/draw_{name}.py > docs/{name}.svg"
