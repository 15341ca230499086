"""Draw the life of one turn: `python scripts/draw_turn.py > docs/turn.svg`. The events are those that a run recorded."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from typing import NamedTuple

from svg import DONE, EDGE, FAINT, INK, MONO, OPEN, PLAIN, PURE, SOFT, arrow, label, page, rect

from agentsdk import (
    Agent,
    GuardrailFunctionOutput,
    RunContextWrapper,
    Runner,
    ToolsToFinalOutputResult,
    function_tool,
    input_guardrail,
)
from agentsdk.testing import ScriptedModel, call
from agentsdk.types.events import (
    ApprovalJudged,
    GuardrailJudged,
    ModelReplied,
    RunEvent,
    RunStarted,
    ToolFinished,
    ToolsIntended,
    ToolUseJudged,
    TurnEnded,
)


class Row(NamedTuple):
    """What a stage asks of the outside, the event that keeps the answer, and what a re-entered turn does with that."""

    stage: str
    asks: str = ""
    event: type[RunEvent] | None = None
    after: str = "made again"


ROWS = (
    Row("prepare", "instructions, is_enabled", after="asked again, until there is a reply"),
    Row("ask", "input guardrails", GuardrailJudged, "the verdict stands"),
    Row("ask", "the model", ModelReplied, "the model is not asked again"),
    Row("sort"),
    Row("act", "needs_approval rules", ApprovalJudged, "the rule is not asked again"),
    Row("act", "", ToolsIntended, "a call without a result may have begun"),
    Row("act", "the bodies, concurrently", ToolFinished, "the body never runs again"),
    Row("judge", "tool_use_behavior", ToolUseJudged, "the answer stands"),
    Row("resolve"),
    Row("close", "", TurnEnded, "the items are in the transcript"),
)
PURE_STAGES = ("sort", "resolve")


@input_guardrail(run_in_parallel=False)  # beside the model the order of the two events would be open
def polite(context: RunContextWrapper[None], agent: Agent[None, str], given: object) -> GuardrailFunctionOutput:
    return GuardrailFunctionOutput(None, False)


@function_tool(needs_approval=lambda context, arguments, call_id: False)
def look_up(name: str) -> str:
    """What somebody is owed."""
    return "3"


async def recorded() -> list[type[RunEvent]]:
    """The events of a turn in which everybody there is was asked something."""
    agent = Agent[None, str](
        name="Clerk",
        model=ScriptedModel([call("look_up", name="Ada"), "She is owed 3."]),
        tools=[look_up],
        input_guardrails=[polite],
        tool_use_behavior=lambda context, results: ToolsToFinalOutputResult(False),
    )
    state = (await Runner.run(agent, "What is Ada owed?")).to_state()
    started, *kinds = [type(event) for event in state.value.log]
    assert started is RunStarted
    return kinds[: kinds.index(TurnEnded) + 1]


WIDTH, TOP, STEP, TALL = 860, 84, 40, 30
STAGE, ASKS, EVENT, AFTER = 24, 196, 424, 590


def draw() -> str:
    """The picture, as SVG."""
    events = asyncio.run(recorded())
    drawn = [row.event for row in ROWS if row.event is not None]
    assert events == drawn, f"the run recorded {[event.__name__ for event in events]}"
    heads = ((STAGE, "stage"), (ASKS, "asks"), (EVENT, "records"), (AFTER, "entered again after that"))
    return page(
        WIDTH,
        TOP + STEP * len(ROWS) + 10,
        "The life of one turn: what each stage asks, the event that keeps the answer, and what is not repeated then",
        [
            label(24, 36, "run_single_turn", 13, INK, anchor="start", family=MONO),
            label(WIDTH - 24, 36, "shaded: pure functions of what was recorded", 12, FAINT, anchor="end"),
            *(label(x, TOP - 14, head, 12, FAINT, anchor="start") for x, head in heads),
            *_rows(),
        ],
    )


def _rows() -> Iterator[str]:
    for number, row in enumerate(ROWS):
        y = TOP + number * STEP
        middle = y + TALL / 2
        if number == 0 or ROWS[number - 1].stage != row.stage:
            rows = sum(other.stage == row.stage for other in ROWS)
            fill = PURE if row.stage in PURE_STAGES else PLAIN
            yield rect(STAGE, y, 120, TALL + (rows - 1) * STEP, fill)
            yield label(STAGE + 60, middle + 5, row.stage, 14, INK, weight="bold")
            if number:
                yield arrow(f"M{STAGE + 60} {y - STEP + TALL}V{y - 1}")
        if row.asks:
            yield label(ASKS, middle + 4, row.asks, 12, SOFT, anchor="start")
        if row.event is not None:
            yield arrow(f"M{STAGE + 120} {middle:g}H{ASKS - 8}" if row.asks else f"M{STAGE + 120} {middle:g}H{EVENT - 1}")
            if row.asks:
                yield arrow(f"M{EVENT - 44} {middle:g}H{EVENT - 1}")
            yield rect(EVENT, y, 142, TALL, DONE if row.event is TurnEnded else OPEN, EDGE)
            yield label(EVENT + 71, middle + 4, row.event.__name__, 12, INK)
        yield label(AFTER, middle + 4, row.after, 12, SOFT, anchor="start")


if __name__ == "__main__":
    print(draw(), end="")
