"""Draw the statuses of stored runs: `python scripts/draw_status.py > docs/status.svg`. Every arrow is tried on a log."""

from __future__ import annotations

from collections.abc import Iterator
from typing import get_args

from svg import DONE, EDGE, FAINT, INK, MONO, OPEN, PLAIN, SOFT, arrow, box, label, page

from agentsdk.core.state import fold
from agentsdk.core.summary import summarize
from agentsdk.types.events import (
    ApprovalDecided,
    ApprovalJudged,
    InputAdded,
    LimitReachedEvent,
    ModelReplied,
    RunEnded,
    RunEvent,
    RunPaused,
    RunResumed,
    RunStarted,
    RunUnpaused,
    SignalsTaken,
    Stopped,
)
from agentsdk.types.items import FunctionCall, Message
from agentsdk.types.response import ModelResponse
from agentsdk.types.summary import RunStatus, RunSummary

HELLO = (Message("user", "Hello."),)
STARTED = RunStarted("run", "agent", HELLO, 0, 1.0)
CALLED = ModelReplied(ModelResponse((FunctionCall("c", "pay", "{}"),)), 2.0)
RESUMED = RunResumed("owner", 3.0)
WAITS: list[RunEvent] = [STARTED, CALLED, ApprovalJudged("c", True)]

NOW = 9.0


def summary_of(log: list[RunEvent], *, held: bool = False) -> RunSummary:
    """The summary of a run with this log, which its owner holds or has let go of."""
    return summarize(fold(log), now=NOW, owner="owner", held_until=NOW + 30 if held else NOW)


def check() -> None:
    """Each arrow of the picture leads where it says."""
    ends: dict[RunStatus, list[list[RunEvent]]] = {
        "ready": [
            [STARTED],
            [STARTED, Stopped("CancelledError")],
            [*WAITS, ApprovalDecided("c", "pay", "", True)],
            [STARTED, RunPaused(), SignalsTaken(1), RunUnpaused()],
        ],
        "waiting": [WAITS, [STARTED, RunPaused()], [STARTED, LimitReachedEvent("turns", "3", "3", True)]],
        "failed": [[STARTED, Stopped("ModelError", "no answer")]],
        "cancelled": [[STARTED, Stopped("CancelledError", by="ada")]],
        "finished": [[STARTED, RunEnded("Bye.")]],
    }
    for status, logs in ends.items():
        for log in logs:
            assert summary_of(log).status == status, f"{log} is {summary_of(log).status}, in the picture {status}"
            assert summary_of([*log, RESUMED], held=True).status == "running"
            number = summary_of(log).taken + 1
            assert summary_of(log).beside(number).status == ("ready" if status in ("waiting", "failed") else status)
    assert {*ends, "running"} == set(get_args(RunStatus)), "the picture shows other statuses than the code has"
    assert summary_of([STARTED, Stopped("ModelError"), SignalsTaken(1), InputAdded(HELLO)]).status == "ready"


WIDTH, HEIGHT = 860, 372
WIDE, TALL = 170, 54
READY, RUNNING, WAITING = (40, 150), (345, 150), (345, 290)
ENDS: dict[RunStatus, tuple[int, str]] = {
    "finished": (56, "the final output"),
    "failed": (150, "reason says of what"),
    "cancelled": (244, "somebody said so"),
}
RIGHT = 650


def draw() -> str:
    """The picture, as SVG."""
    check()
    return page(
        WIDTH,
        HEIGHT,
        "The statuses of a stored run: ready, running, waiting, finished, failed, cancelled; and what leads to each",
        [
            label(40, 36, "RunSummary.status", 13, INK, anchor="start", family=MONO),
            label(WIDTH - 40, 36, "yellow: a worker takes it, at its due_at", 12, FAINT, anchor="end"),
            *_statuses(),
            *_work(),
            *_ends(),
            *_back(),
        ],
    )


def _statuses() -> Iterator[str]:
    yield from box(*READY, WIDE, TALL, OPEN, "#eab308", "ready", "nobody works on it")
    yield from box(*RUNNING, WIDE, TALL, OPEN, "#eab308", "running", "held, until held_until")
    yield from box(*WAITING, WIDE, TALL, PLAIN, EDGE, "waiting", "for a person")
    for status, (y, about) in ENDS.items():
        fill, edge = (DONE, "#22c55e") if status == "finished" else (PLAIN, EDGE)
        yield from box(RIGHT, y, WIDE, TALL, fill, edge, status, about)


def _work() -> Iterator[str]:
    (x, y), left = READY, RUNNING[0]
    centre = (x + WIDE + left) / 2
    yield arrow(f"M{x + 60} {y - 44}V{y - 1}")
    yield label(x + 60, y - 52, "submit, fork", 11, SOFT)
    yield arrow(f"M{x + WIDE} {y + 16}H{left - 1}")
    yield label(centre, y + 9, "a worker, drive, resume", 11, SOFT)
    yield arrow(f"M{left} {y + 38}H{x + WIDE + 1}")
    yield label(centre, y + 53, "its process is stopped", 11, SOFT)
    # One that has died holds the run until its lease passes.
    top = left + WIDE / 2
    yield arrow(f"M{top - 40:g} {y}V{y - 26}H{top + 40:g}V{y - 1}")
    yield label(top, y - 33, "its lease passes: another one goes on", 11, SOFT)


def _ends() -> Iterator[str]:
    (x, y), centre = RUNNING, RUNNING[0] + WIDE + 48
    middle = y + TALL // 2
    yield arrow(f"M{x + WIDE} {middle}H{RIGHT - 1}")
    yield label((centre + RIGHT) / 2, middle - 7, "an error", 11, SOFT)
    for status, word in (("finished", "its end"), ("cancelled", "cancel")):
        at = ENDS[status][0] + TALL // 2
        yield arrow(f"M{centre} {middle}V{at}H{RIGHT - 1}")
        yield label((centre + RIGHT) / 2, at - 7, word, 11, SOFT)
    yield arrow(f"M{x + WIDE / 2:g} {y + TALL}V{WAITING[1] - 1}")
    yield label(x + WIDE / 2 + 8, y + TALL + 34, "a call waits, a limit,", 11, SOFT, anchor="start")
    yield label(x + WIDE / 2 + 8, y + TALL + 48, "pause", 11, SOFT, anchor="start")


def _back() -> Iterator[str]:
    (x, y), (left, top) = READY, WAITING
    yield arrow(f"M{left} {top + 27}H{x + 60}V{y + TALL + 1}")
    yield label((x + 60 + left) / 2, top + 20, "a decision, or any other signal", 11, SOFT)
    bottom = HEIGHT - 14
    yield arrow(f"M{RIGHT + WIDE} {ENDS['failed'][0] + TALL // 2}H{RIGHT + WIDE + 20}V{bottom}H{x + 24}V{y + TALL + 1}")
    yield label(RIGHT + WIDE / 2, bottom - 7, "any signal", 11, SOFT)


if __name__ == "__main__":
    print(draw(), end="")
