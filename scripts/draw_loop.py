"""Draw the loop: `python scripts/draw_loop.py > docs/loop.svg`. The next steps and their priority are read from the code."""

from __future__ import annotations

from collections.abc import Iterator
from typing import get_args

from svg import DONE, EDGE, FAINT, INK, MONO, OPEN, PLAIN, PURE, arrow, box, label, line, page

from agentsdk.core.next_step import PRIORITY, NextStep

STAGES = {
    "prepare": "instructions, tools",
    "ask": "the model",
    "sort": "the reply's items",
    "act": "run the calls",
    "judge": "checks, guardrails",
    "resolve": "one next step",
}
PURE_STAGES = ("sort", "resolve")
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
    return page(
        WIDTH,
        HEIGHT,
        "The loop: prepare, ask, sort, act, judge, resolve; then one of four next steps",
        [
            label(LEFT, 36, "run_single_turn", 13, INK, anchor="start", family=MONO),
            label(stage_x(5) + STAGE_WIDTH, 36, "shaded: pure functions of what was recorded", 12, FAINT, anchor="end"),
            *_stages(),
            *_steps(),
            label(WIDTH / 2, 302, f"The first that applies: {order}", 12, FAINT),
        ],
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
        fill = PURE if name in PURE_STAGES else PLAIN
        yield from box(stage_x(number), STAGE_Y, STAGE_WIDTH, STAGE_HEIGHT, fill, EDGE, name, about)
        if number:
            yield arrow(f"M{stage_x(number) - GAP} {middle}H{stage_x(number) - 1}")


def _steps() -> Iterator[str]:
    bottom = STEP_Y + STEP_HEIGHT
    centres = [step_x(number) + STEP_WIDTH // 2 for number in range(len(STEPS))]
    yield line(f"M{stage_x(5) + STAGE_WIDTH // 2} {STAGE_Y + STAGE_HEIGHT}V{BUS_Y}H{centres[0]}")
    for number, (name, about) in enumerate(STEPS.items()):
        fill, edge = (DONE, "#22c55e") if name == "FinalOutput" else (OPEN, "#eab308")
        yield from box(step_x(number), STEP_Y, STEP_WIDTH, STEP_HEIGHT, fill, edge, name, about)
        yield arrow(f"M{centres[number]} {BUS_Y}V{STEP_Y - 1}")
    # Three of the four lead into another turn; an interruption leads back into the same one.
    yield arrow(f"M{centres[2]} {bottom}V{BACK_Y}H{BACK_X}V{STAGE_Y + STAGE_HEIGHT // 2}H{LEFT - 1}")
    yield from (line(f"M{centres[number]} {bottom}V{BACK_Y}") for number in (0, 1))


if __name__ == "__main__":
    print(draw(), end="")
