"""The picture on the page on workflows is that of a run of the example."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[1]


def test_the_picture_is_what_the_script_draws() -> None:
    script = ROOT / "scripts" / "draw_workflow.py"
    drawn = subprocess.run([sys.executable, script], capture_output=True, text=True, encoding="utf-8", timeout=60, check=True)
    picture = (ROOT / "docs" / "refund.svg").read_text(encoding="utf-8")
    assert picture == drawn.stdout, "draw it anew: python scripts/draw_workflow.py > docs/refund.svg"
    for word in ("take_back", "undone", "ConnectionError after 0.3 s"):
        assert word in picture
