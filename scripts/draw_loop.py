"""Draw the loop: `python scripts/draw_loop.py > docs/loop.svg`. The next steps and their priority are read from the code."""

from __future__ import annotations

from collections.abc import Iterator
from typing import get_args

from agentsdk.core.next_step import PRIORITY, NextStep

STAGES = {
    "prepare": "instructions, tools",
    "ask": "the model",
    "sort": "the reply's items",
    "act": "run the calls",
    "judge": "checks, guardrails",
    "resolve": "one next step",
}
PURE = ("sort", "resolve")
STEPS = {
    "RunAgain": "the model sees the results",
    "Handoff": "another agent goes on",
    "Interruption": "saved until a person decides",
    "FinalOutput": "the run is over",
}
WIDTH, HEIGHT = 860, 318
STAGE_WIDTH, STEP_WIDTH, GAP, LEFT = 112, 182, 22, 42
STAGE_Y, STAGE_HEIGHT, STEP_Y, STEP_HEIGHT = 56, 54, 186, 54
BUS_Y, BACK_Y, BACK_X = 158, 268, 16


def draw() -> str:
    """The picture, as SVG."""
    assert set(STEPS) == {step.__name__ for step in get_args(NextStep)}, "the picture shows other steps than the code has"
    order = " &gt; ".join([*(rule.__name__.strip("_").replace("_", " ") for rule in PRIORITY), "run again"])
    return "\n".join(
        [
            f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {HEIGHT}" width="{WIDTH}" height="{HEIGHT}" '
            'role="img" aria-label="The loop: prepare, ask, sort, act, judge, resolve; then one of four next steps" '
            'font-family="Helvetica, Arial, sans-serif" text-anchor="middle">',
            '<defs><marker id="tip" viewBox="0 0 8 8" refX="7" refY="4" markerWidth="8" markerHeight="8" orient="auto">'
            '<path d="M0 0L8 4L0 8z" fill="#475569"/></marker></defs>',
            f'<rect width="{WIDTH}" height="{HEIGHT}" rx="10" fill="#ffffff"/>',
            _label(LEFT, 36, "run_single_turn", 13, "#0f172a", anchor="start", family="Menlo, Consolas, monospace"),
            _label(stage_x(5) + STAGE_WIDTH, 36, "shaded: pure functions of what was recorded", 12, "#64748b", anchor="end"),
            *_stages(),
            *_steps(),
            _label(WIDTH / 2, 302, f"The first that applies: {order}", 12, "#64748b"),
            "</svg>",
            "",
        ]
    )


def stage_x(number: int) -> int:
    """The left edge of a stage."""
    return LEFT + number * (STAGE_WIDTH + GAP)


def step_x(number: int) -> int:
    """The left edge of a next step."""
    return LEFT + number * (STEP_WIDTH + 18)


def _stages() -> Iterator[str]:
    middle = STAGE_Y + STAGE_HEIGHT // 2
    for number, (name, about) in enumerate(STAGES.items()):
        fill = "#e0e7ff" if name in PURE else "#f8fafc"
        yield from _box(stage_x(number), STAGE_Y, STAGE_WIDTH, STAGE_HEIGHT, fill, "#94a3b8", name, about)
        if number:
            yield _arrow(f"M{stage_x(number) - GAP} {middle}H{stage_x(number) - 1}")


def _steps() -> Iterator[str]:
    bottom = STEP_Y + STEP_HEIGHT
    centres = [step_x(number) + STEP_WIDTH // 2 for number in range(len(STEPS))]
    yield _line(f"M{stage_x(5) + STAGE_WIDTH // 2} {STAGE_Y + STAGE_HEIGHT}V{BUS_Y}H{centres[0]}")
    for number, (name, about) in enumerate(STEPS.items()):
        fill, edge = ("#dcfce7", "#22c55e") if name == "FinalOutput" else ("#fef9c3", "#eab308")
        yield from _box(step_x(number), STEP_Y, STEP_WIDTH, STEP_HEIGHT, fill, edge, name, about)
        yield _arrow(f"M{centres[number]} {BUS_Y}V{STEP_Y - 1}")
    # Three of the four lead into another turn; an interruption leads back into the same one.
    yield _arrow(f"M{centres[2]} {bottom}V{BACK_Y}H{BACK_X}V{STAGE_Y + STAGE_HEIGHT // 2}H{LEFT - 1}")
    yield from (_line(f"M{centres[number]} {bottom}V{BACK_Y}") for number in (0, 1))


def _box(x: int, y: int, width: int, height: int, fill: str, edge: str, name: str, about: str) -> Iterator[str]:
    yield f'<rect x="{x}" y="{y}" width="{width}" height="{height}" rx="6" fill="{fill}" stroke="{edge}"/>'
    yield _label(x + width / 2, y + 23, name, 15, "#0f172a", weight="bold")
    yield _label(x + width / 2, y + 42, about, 12, "#475569")


def _label(
    x: float, y: float, text: str, size: int, fill: str, *, anchor: str = "middle", weight: str = "normal", family: str = ""
) -> str:
    font = f' font-family="{family}"' if family else ""
    return (
        f'<text x="{x:g}" y="{y:g}" font-size="{size}" font-weight="{weight}" fill="{fill}" text-anchor="{anchor}"{font}>'
        f"{text}</text>"
    )


def _line(path: str) -> str:
    return f'<path d="{path}" fill="none" stroke="#475569" stroke-width="1.5"/>'


def _arrow(path: str) -> str:
    return f'<path d="{path}" fill="none" stroke="#475569" stroke-width="1.5" marker-end="url(#tip)"/>'


if __name__ == "__main__":
    print(draw(), end="")
