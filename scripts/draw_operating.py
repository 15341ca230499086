"""Draw how a service grows: `python scripts/draw_operating.py > docs/operating.svg`."""

from __future__ import annotations

from svg import DONE, EDGE, FAINT, INK, MONO, OPEN, PLAIN, PURE, arrow, box, label, page, rect

WIDTH, HEIGHT = 880, 370
LEFTS = (24, 310, 596)
WIDE = 260

STAGES = (
    ("one process", (("web + worker", "submit, watch, decide, drive"),), ("SQLite file", 'SQLiteRunStore("runs.db")')),
    (
        "one machine",
        (("web", "submit, watch, decide"), ("worker", "python -m agentsdk worker"), ("worker", "python -m agentsdk worker")),
        ("SQLite file", 'SQLiteRunStore("runs.db")'),
    ),
    (
        "several machines",
        (("web, any number", "submit, watch, decide"), ("worker, any number", "python -m agentsdk worker")),
        ("PostgreSQL or Redis", 'PostgresRunStore("postgresql://...")'),
    ),
)


def draw() -> str:
    """The picture, as SVG."""
    shapes: list[str] = []
    for left, (name, processes, store) in zip(LEFTS, STAGES, strict=True):
        middle = left + WIDE / 2
        shapes += [rect(left, 44, WIDE, HEIGHT - 84, PLAIN), label(middle, 32, name, 14, INK, weight="bold")]
        for place, (title, about) in enumerate(processes):
            top = 56 + 60 * place
            shapes += box(left + 14, top, WIDE - 28, 52, OPEN if title.startswith("worker") else PURE, EDGE, title, about)
        shapes.append(arrow(f"M{middle:g} {56 + 60 * len(processes) - 8}V{HEIGHT - 108}"))
        shapes += [
            rect(left + 14, HEIGHT - 106, WIDE - 28, 54, DONE),
            label(middle, HEIGHT - 83, store[0], 15, INK, weight="bold"),
            label(middle, HEIGHT - 63, store[1], 11, FAINT, family=MONO),
        ]
    note = "The same code at every stage: only the store's address changes, and where workers run"
    return page(
        WIDTH,
        HEIGHT,
        "One process with a SQLite file; web and workers on one machine; any number of both around PostgreSQL or Redis",
        [*shapes, label(WIDTH / 2, HEIGHT - 16, note, 12, FAINT)],
    )


if __name__ == "__main__":
    print(draw(), end="")
