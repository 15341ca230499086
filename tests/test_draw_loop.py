"""The picture in the README shows the loop that the code has."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[1]


def test_the_picture_is_what_the_script_draws() -> None:
    script = ROOT / "scripts" / "draw_loop.py"
    drawn = subprocess.run([sys.executable, script], capture_output=True, text=True, encoding="utf-8", timeout=60, check=True)
    picture = (ROOT / "docs" / "loop.svg").read_text(encoding="utf-8")
    assert picture == drawn.stdout, "draw it anew: python scripts/draw_loop.py > docs/loop.svg"
