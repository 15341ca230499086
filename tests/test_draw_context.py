"""The picture and the table of the page on context windows show what the strategies leave of a long run."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[1]


def drawn(*arguments: str) -> str:
    script = ROOT / "scripts" / "draw_context.py"
    command = [sys.executable, str(script), *arguments]
    return subprocess.run(command, capture_output=True, text=True, encoding="utf-8", timeout=60, check=True).stdout


def test_the_picture_is_what_the_script_draws() -> None:
    picture = (ROOT / "docs" / "context.svg").read_text(encoding="utf-8")
    assert picture == drawn(), "draw it anew: python scripts/draw_context.py > docs/context.svg"


def test_the_table_is_what_the_script_works_out() -> None:
    table = drawn("--table")
    assert table in (ROOT / "docs" / "context.md").read_text(encoding="utf-8"), (
        "put it there anew: python scripts/draw_context.py --table"
    )
    dollars = [float(row.split("|")[-2]) for row in table.splitlines()[2:]]
    assert min(dollars[1:]) * 2.5 < dollars[0], "what the page says of it"
