"""Draw what a long run costs: `python scripts/draw_context.py > docs/context.svg`; `--table` gives the table of the docs page.

Arithmetic, no run: what each strategy leaves in the window is decided by the code that decides it in a run.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator, Sequence
from decimal import Decimal
from typing import Any

from agentsdk import ContextWindow, DropOldest, KeepByPriority, SlidingWindow, Summarize, TruncateToolResults
from agentsdk.core.window.fit import Fits, Impossible, SummaryRequest, fit
from agentsdk.types.items import FunctionCall, FunctionCallOutput, Item, Message
from agentsdk.types.response import ModelResponse

TURNS = 200
SIZE = 16_000
FIXED, QUESTION, CALL, RESULT, CUT, SUMMARY = 800, 100, 50, 600, 120, 200
FRESH, CACHED, OUTPUT = Decimal("2.50"), Decimal("0.25"), Decimal(10)
"""Dollars for a million tokens."""

STRATEGIES: dict[str, Sequence[Any]] = {
    "everything": (),
    "cut results": (TruncateToolResults(chars=480), DropOldest()),
    "drop oldest": (DropOldest(),),
    "sliding window": (SlidingWindow(8), DropOldest()),
    "keep by priority": (KeepByPriority(),),
    "summarize": (Summarize(max_tokens=SUMMARY), DropOldest()),
}
COLORS = ("#94a3b8", "#4f46e5", "#0d9488", "#db2777", "#ca8a04", "#dc2626")
TEXT = "the user wants every page read, and " * 20


class Cost:
    """What a run has come to: tokens sent, how many of them the provider's cache had, those of summaries, dollars by turn."""

    def __init__(self, strategies: Sequence[Any]) -> None:
        self.sent = self.cached = self.summaries = 0
        self.dollars: list[Decimal] = []
        items: list[Item] = []
        before: list[Item] = []
        # A window without strategies is as large as it has to be.
        window = ContextWindow(size=SIZE if strategies else 10**9, strategies=strategies)
        items.append(Message("user", "Read every page."))
        for turn in range(TURNS):
            view = window.view(items, list(map(count_input_tokens, items)), size=window.size or 0, fixed=FIXED)
            paid = CALL * OUTPUT
            while not isinstance(step := fit(view), Fits):
                assert not isinstance(step, Impossible), step.reason
                if isinstance(step, SummaryRequest):
                    asked = sum(block.tokens for block in step.gone) + 150
                    self.summaries += asked
                    paid += asked * FRESH + SUMMARY * OUTPUT
                    replaced = step.done(ModelResponse((Message("assistant", TEXT),)))
                    assert replaced is not None, "it is a summary"
                    step = replaced
                view = step.done(map(count_input_tokens, step.new))
            items = list(view.items)
            same = 0
            while same < min(len(items), len(before)) and items[same] is before[same]:
                same += 1
            cached = FIXED + sum(map(count_input_tokens, items[:same])) if turn else 0
            self.sent += view.tokens
            self.cached += cached
            paid += cached * CACHED + (view.tokens - cached) * FRESH
            self.dollars.append((self.dollars[-1] if self.dollars else Decimal(0)) + paid / 1_000_000)
            before = list(items)
            items += [FunctionCall(f"c{turn}", "page", "{}"), FunctionCallOutput(f"c{turn}", "x" * RESULT * 4)]


def count_input_tokens(item: Item) -> int:
    """Tokens; a result that was cut is shorter than it was."""
    if isinstance(item, FunctionCallOutput):
        return RESULT if len(str(item.output)) == RESULT * 4 else CUT + 40
    if isinstance(item, FunctionCall):
        return CALL
    return QUESTION if item.text == "Read every page." else SUMMARY if len(item.text) > len(TEXT) else 25  # type: ignore[union-attr]


def table(costs: dict[str, Cost]) -> str:
    """The costs as Markdown."""
    rows = ["| Strategy | Tokens sent | Of them cached | For summaries | Dollars |", "|---|---:|---:|---:|---:|"]
    rows += [
        f"| {name} | {cost.sent:,} | {cost.cached * 100 // cost.sent} % | {cost.summaries:,} | {cost.dollars[-1]:.2f} |"
        for name, cost in costs.items()
    ]
    return "\n".join(rows)


WIDTH, HEIGHT, LEFT, TOP, RIGHT, BOTTOM = 860, 360, 60, 50, 170, 44


def draw(costs: dict[str, Cost]) -> str:
    """The picture, as SVG."""
    most = max(cost.dollars[-1] for cost in costs.values())
    return "\n".join(
        [
            f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {HEIGHT}" width="{WIDTH}" height="{HEIGHT}" '
            'role="img" aria-label="What a long run costs by strategy: sending everything grows with the square of the turns" '
            'font-family="Helvetica, Arial, sans-serif">',
            f'<rect width="{WIDTH}" height="{HEIGHT}" rx="10" fill="#ffffff"/>',
            _label(LEFT, 30, f"What a run of {TURNS} turns has cost by then, in dollars", 15, weight="bold"),
            *_axes(most),
            *_lines(costs, most),
            "</svg>",
            "",
        ]
    )


def _axes(most: Decimal) -> Iterator[str]:
    for dollars in range(int(most) + 1):
        y = _y(Decimal(dollars), most)
        yield f'<path d="M{LEFT} {y:.1f}H{WIDTH - RIGHT}" stroke="#e2e8f0"/>'
        yield _label(LEFT - 8, y + 4, f"{dollars}", 12, "#64748b", "end")
    for turn in range(0, TURNS + 1, TURNS // 4):
        yield _label(_x(turn), HEIGHT - BOTTOM + 20, f"{turn}", 12, "#64748b", "middle")
    yield _label(_x(TURNS // 2), HEIGHT - 8, "turn", 12, "#64748b", "middle")


def _lines(costs: dict[str, Cost], most: Decimal) -> Iterator[str]:
    lowest = HEIGHT
    labels = sorted(costs.items(), key=lambda entry: entry[1].dollars[-1])
    colors = dict(zip(costs, COLORS, strict=True))
    for name, cost in labels:
        points = " ".join(f"{_x(turn):.1f},{_y(dollars, most):.1f}" for turn, dollars in enumerate(cost.dollars, 1))
        yield f'<polyline points="{points}" fill="none" stroke="{colors[name]}" stroke-width="2"/>'
        lowest = min(int(_y(cost.dollars[-1], most)) + 4, lowest - 17)  # the names stand clear of each other
        yield _label(WIDTH - RIGHT + 10, lowest, f"{name} {cost.dollars[-1]:.2f}", 12, colors[name])


def _x(turn: int) -> float:
    return LEFT + turn * (WIDTH - LEFT - RIGHT) / TURNS


def _y(dollars: Decimal, most: Decimal) -> float:
    return HEIGHT - BOTTOM - float(dollars / most) * (HEIGHT - TOP - BOTTOM)


def _label(
    x: float, y: float, text: str, size: int, fill: str = "#0f172a", anchor: str = "start", weight: str = "normal"
) -> str:
    font = f'font-size="{size}" font-weight="{weight}" fill="{fill}" text-anchor="{anchor}"'
    return f'<text x="{x:g}" y="{y:.4g}" {font}>{text}</text>'


if __name__ == "__main__":
    found = {name: Cost(strategies) for name, strategies in STRATEGIES.items()}
    print(table(found) if sys.argv[1:] == ["--table"] else draw(found), end="" if len(sys.argv) == 1 else "\n")
