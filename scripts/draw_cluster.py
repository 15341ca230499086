"""Draw what `benchmarks.cluster` recorded: `python scripts/draw_cluster.py > docs/cluster.svg`."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from svg import EDGE, FAINT, INK, SOFT, label, line, page, rect

RECORDED = Path(__file__).parents[1] / "benchmarks" / "cluster" / "recorded.json"
WIDTH, HEIGHT = 460, 360
LEFT, TOP, BOTTOM = 70, 70, 290
ACROSS = 320


def draw() -> str:
    """The picture, as SVG."""
    recorded = json.loads(RECORDED.read_text(encoding="utf-8"))
    rows = recorded["waiting"]
    title = f"a model that takes {rows[0]['reply_s']:g} s to reply"
    note = f"All on {recorded['cpus']} cores. Dashed: so many times what one worker does"
    shapes = [*chart(title, rows), label(WIDTH / 2, HEIGHT - 16, note, 12, FAINT)]
    return page(WIDTH, HEIGHT, "Runs a second by the number of workers that wait for their model", shapes)


def chart(title: str, rows: list[dict[str, Any]]) -> list[str]:
    """A point for each number of workers."""
    most = max(row["workers"] for row in rows)
    highest = max(*(row["runs_per_s"] for row in rows), rows[0]["runs_per_s"] * most) * 1.1

    def place(workers: float, runs: float) -> tuple[float, float]:
        return LEFT + ACROSS * workers / most, BOTTOM - (BOTTOM - TOP) * runs / highest

    points = [place(row["workers"], row["runs_per_s"]) for row in rows]
    shapes = [
        label(LEFT + ACROSS / 2, 36, title, 14, INK, weight="bold"),
        rect(LEFT, TOP, ACROSS, BOTTOM - TOP, "#ffffff", EDGE),
        line("M" + "L".join(f"{x:g} {y:g}" for x, y in points)),
    ]
    (x, y), (to_x, to_y) = place(1, rows[0]["runs_per_s"]), place(most, rows[0]["runs_per_s"] * most)
    shapes.append(f'<path d="M{x:g} {y:g}L{to_x:g} {to_y:g}" fill="none" stroke="{EDGE}" stroke-dasharray="4 4"/>')
    for (x, y), row in zip(points, rows, strict=True):
        shapes += [
            f'<circle cx="{x:g}" cy="{y:g}" r="4" fill="{INK}"/>',
            label(x, y - 10, f"{row['runs_per_s']:.0f}", 12, INK),
            label(x, BOTTOM + 18, str(row["workers"]), 12, SOFT),
        ]
    return shapes


if __name__ == "__main__":
    print(draw(), end="")
