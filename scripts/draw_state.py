"""Draw the state machine: `python scripts/draw_state.py > docs/state.svg`. Every arrow is tried on `core.state.apply`."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import get_args

from svg import DONE, EDGE, FAINT, INK, MONO, OPEN, PLAIN, SOFT, arrow, box, label, page, rect

from agentsdk.core.state import State, apply, fold, new_state
from agentsdk.types.events import (
    AnswerAwaited,
    AnswerRefused,
    ApprovalDecided,
    ApprovalJudged,
    ArgumentsEdited,
    ArgumentsRefused,
    AttemptSpent,
    CallAnswered,
    CallRetried,
    CallsInDoubt,
    CallsOrdered,
    ContextSaved,
    GuardrailJudged,
    HandedOff,
    InputAdded,
    InputReplaced,
    LimitRaised,
    LimitReachedEvent,
    LimitWarningEvent,
    ModelReplied,
    Nested,
    OutputJudged,
    OutputValidated,
    ProgramWaits,
    RunEnded,
    RunEvent,
    RunPaused,
    RunResumed,
    RunStarted,
    RunUnpaused,
    SessionSaved,
    SignalGiven,
    SignalsTaken,
    StepBegan,
    Stopped,
    TimeSpent,
    ToolAttemptFailed,
    ToolCheckpointed,
    ToolFinished,
    ToolsetChanged,
    ToolsIntended,
    ToolUseJudged,
    TurnEnded,
    ViewReplaced,
    ViewRestored,
)
from agentsdk.types.items import FunctionCall, Message
from agentsdk.types.response import ModelResponse
from agentsdk.types.usage import Usage

HELLO = (Message("user", "Hello."),)
STARTED = RunStarted("run", "agent", HELLO, 0, 1.0)
REPLIED = ModelReplied(ModelResponse((FunctionCall("c", "tool", "{}"), FunctionCall("e", "external", "{}"))), 2.0)
WASTED = AttemptSpent(Usage(1, 10, 5))
STEP = StepBegan("fetch", "fetch", "{}")
REPLACED = InputReplaced(HELLO)
COMPACTED = ViewReplaced(HELLO, "DropOldest")
STATES: Mapping[str, State] = {
    "new": new_state(),
    "between turns": fold([STARTED, COMPACTED]),
    "in a turn": fold([STARTED, REPLIED, AnswerAwaited("e", 3.0)]),
    "ended": fold([STARTED, RunEnded("Bye.")]),
}
MOVES: tuple[tuple[str, RunEvent, str], ...] = (
    ("new", STARTED, "between turns"),
    ("between turns", REPLIED, "in a turn"),
    ("between turns", WASTED, "in a turn"),
    ("between turns", STEP, "in a turn"),
    ("in a turn", TurnEnded(), "between turns"),
    ("in a turn", HandedOff("other"), "between turns"),
    ("in a turn", RunEnded("Bye."), "ended"),
    ("between turns", RunEnded("Bye."), "ended"),
)
STAYS: Mapping[str, tuple[RunEvent, ...]] = {
    "between turns": (ViewRestored(),),
    "in a turn": (
        ApprovalJudged("c", True),
        ApprovalDecided("c", "tool", "", True),
        ArgumentsEdited("c", "{}"),
        ArgumentsRefused("c", "no number"),
        CallsOrdered(()),
        ToolsIntended(("c",)),
        AnswerAwaited("e", 3.0),
        CallAnswered("e", "1"),
        AnswerRefused("e", "no number"),
        ToolFinished("c", "done"),
        ToolAttemptFailed("c", "ConnectionError", 3.0, 4.0, 5.0),
        ToolCheckpointed("c", "half"),
        CallsInDoubt(("c",)),
        CallRetried("c"),
        Nested("c", STARTED),
        GuardrailJudged("safe", "tool_input", "allow"),
        ToolUseJudged(True),
        OutputJudged(""),
        OutputValidated("short"),
        ProgramWaits(1),
    ),
}
ANYWHERE: tuple[RunEvent, ...] = (
    RunResumed("owner", 3.0),
    InputAdded(HELLO),
    SignalsTaken(1),
    SignalGiven("paid", "1"),
    RunPaused(),
    RunUnpaused(),
    ToolsetChanged("tools"),
    Stopped("CancelledError"),
    LimitWarningEvent("turns", "8", "10"),
    LimitReachedEvent("turns"),
    LimitRaised("turns", "20"),
    TimeSpent(1.0, 1.0),
    SessionSaved(1),
    ContextSaved("{}"),
    COMPACTED,
)


def phase(state: State) -> str:
    """Where in its life a run is."""
    if state.ended is not None:
        return "ended"
    if state.turn is not None:
        return "in a turn"
    return "between turns" if state.first_agent else "new"


def check() -> None:
    """Every event has its place in the picture, and leads where the picture says."""
    moves = [*MOVES, *((name, REPLACED, "between turns") for name in STATES if name != "new")]
    moves += [(name, event, name) for name, events in STAYS.items() for event in events]
    moves += [(name, event, name) for name in STATES if name != "new" for event in ANYWHERE]
    for before, event, after in moves:
        start = fold([STARTED, STEP]) if isinstance(event, ProgramWaits) else STATES[before]  # a model's turn has no program
        reached = phase(apply(start, event))
        assert reached == after, f"{type(event).__name__} leads from {before!r} to {reached!r}, in the picture to {after!r}"
    drawn = {type(event) for _, event, _ in moves}
    assert drawn == set(get_args(RunEvent)), f"not in the picture: {set(get_args(RunEvent)) ^ drawn}"


Y, TALL, WIDE = 70, 54, 150
TOP, ROW = Y + TALL + 74, 20  # of the lists
LISTS = (("between turns", STAYS["between turns"], 1), ("in a turn", STAYS["in a turn"], 2), ("at any time", ANYWHERE, 2))
ROWS = max(-(-len(events) // across) for _, events, across in LISTS)
WIDTH, HEIGHT = 860, TOP + 60 + ROWS * ROW
X = {"new": 24, "between turns": 232, "in a turn": 462, "ended": 686}


def draw() -> str:
    """The picture, as SVG."""
    check()
    return page(
        WIDTH,
        HEIGHT,
        "The state machine: a run starts, is in a turn or between two, and ends; each event and what it does to that",
        [
            label(24, 36, "apply(state, event)", 13, INK, anchor="start", family=MONO),
            label(WIDTH - 24, 36, "an event is recorded first, and only then changes the state", 12, FAINT, anchor="end"),
            *_states(),
            *_moves(),
            *_lists(),
        ],
    )


def _states() -> Iterator[str]:
    yield from box(X["new"], Y, WIDE, TALL, PLAIN, EDGE, "new", "an empty log")
    yield from box(X["between turns"], Y, WIDE, TALL, OPEN, "#eab308", "between turns", "state.turn is None")
    yield from box(X["in a turn"], Y, WIDE, TALL, OPEN, "#eab308", "in a turn", "what is known of it")
    yield from box(X["ended"], Y, WIDE, TALL, DONE, "#22c55e", "ended", "the final output")


def _moves() -> Iterator[str]:
    upper, lower, bottom = Y + 16, Y + 38, Y + TALL
    new, between, turn, ended = (X[name] for name in STATES)
    yield arrow(f"M{new + WIDE} {upper + 10}H{between - 1}")
    yield _name((new + WIDE + between) / 2, upper + 2, STARTED)
    yield arrow(f"M{between + WIDE} {upper}H{turn - 1}")
    yield _name((between + WIDE + turn) / 2, upper - 32, STEP)
    yield _name((between + WIDE + turn) / 2, upper - 19, WASTED)
    yield _name((between + WIDE + turn) / 2, upper - 6, REPLIED)
    yield arrow(f"M{turn} {lower}H{between + WIDE + 1}")
    yield _name((between + WIDE + turn) / 2, lower + 14, TurnEnded())
    yield _name((between + WIDE + turn) / 2, lower + 27, HandedOff("other"))
    yield arrow(f"M{turn + WIDE} {upper + 10}H{ended - 1}")
    yield _name((turn + WIDE + ended) / 2, upper + 2, RunEnded("Bye."))
    yield arrow(f"M{ended + WIDE / 2:g} {bottom}V{bottom + 44}H{between + WIDE / 2:g}V{bottom + 1}")
    yield label((turn + WIDE + ended) / 2, bottom + 38, "InputReplaced, also from a turn", 11, SOFT)


def _lists() -> Iterator[str]:
    x = 24.0
    for name, events, across in LISTS:
        wide = across * (WIDTH - 72) / 5
        yield rect(x, TOP, wide, HEIGHT - TOP - 20, PLAIN)
        yield label(x + wide / 2, TOP + 22, name, 13, INK, weight="bold")
        down = -(-len(events) // across)
        for place, event in enumerate(events):
            column, row = divmod(place, down)
            yield _name(x + wide * (column + 0.5) / across, TOP + 46 + row * ROW, event)
        x += wide + 12


def _name(x: float, y: float, event: RunEvent) -> str:
    return label(x, y, type(event).__name__, 11, SOFT)


if __name__ == "__main__":
    print(draw(), end="")
