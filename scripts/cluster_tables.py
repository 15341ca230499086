"""Put what `benchmarks.cluster` recorded into the tables of docs/scaling.md: `python scripts/cluster_tables.py`."""

from __future__ import annotations

import json
import re
import sys
from pathlib import Path

ROOT = Path(__file__).parents[1]
sys.path.insert(0, str(ROOT))  # run as a script, it has only its own folder

from benchmarks.cluster.measure import Figures  # noqa: E402
from benchmarks.cluster.tables import BUSY, WAITING, tables  # noqa: E402

RECORDED = ROOT / "benchmarks" / "cluster" / "recorded.json"
PAGE = ROOT / "docs" / "scaling.md"
_TABLE = re.compile(r"(<!-- recorded: (?P<about>[^\n]+) -->\n)(?:\|[^\n]*\n)*")


def with_tables(page: str) -> str:
    """The page with the recorded figures, in each table that a comment names."""
    recorded = json.loads(RECORDED.read_text(encoding="utf-8"))
    made = tables({mode: [Figures(**row) for row in recorded[mode]] for mode in (WAITING, BUSY)})
    return _TABLE.sub(lambda found: f"{found[1]}{made[found['about']]}\n", page)


if __name__ == "__main__":
    PAGE.write_text(with_tables(PAGE.read_text(encoding="utf-8")), encoding="utf-8")
