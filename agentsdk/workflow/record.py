"""What the log of a run says of each step of its program, for drawings."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime

from agentsdk.core.state import State
from agentsdk.types.events import (
    AnswerAwaited,
    CallAnswered,
    CallRetried,
    CallsInDoubt,
    InputReplaced,
    StepBegan,
    ToolAttemptFailed,
    ToolFinished,
)
from agentsdk.workflow.call import failure_of
from agentsdk.workflow.diagram import Status
from agentsdk.workflow.scope import Place, place_of

_Change = ToolFinished | AnswerAwaited | CallAnswered | CallRetried | ToolAttemptFailed

CANCELLED = "CancelledError"


@dataclass
class Recorded:
    """One step of a run. `ended_at` is None while it is open, `error` the class of what it failed with,
    `question` what a person was asked.

    `order` and `ended` are the places in the log where it began and where it ended.
    """

    key: str
    name: str
    began_at: float
    order: int
    ended: int = -1
    ended_at: float | None = None
    error: str = ""
    attempts: int = 1
    waits: str = ""
    by: str = ""
    is_undone: bool = False
    question: str = ""

    @property
    def place(self) -> Place:
        """Where the program calls it."""
        return place_of(self.key)

    @property
    def number(self) -> int:
        """The how many of its name it is in its task."""
        return int(self.key.rpartition("/")[2].partition("#")[2] or 1)

    @property
    def is_undoing(self) -> bool:
        """Whether it undoes another one."""
        return self.key.startswith("undo/")

    @property
    def status(self) -> Status:
        """What has become of it."""
        if self.ended_at is None:
            return "open"
        if self.error:
            return "skipped" if self.error == CANCELLED else "failed"
        return "undone" if self.is_undone else "done"


def recorded_steps(state: State) -> list[Recorded]:
    """The steps of a run, in the order in which they began."""
    steps: dict[str, Recorded] = {}
    for number, event in enumerate(state.log):
        if isinstance(event, InputReplaced):
            steps = {}
        elif isinstance(event, StepBegan):
            steps[event.call_id] = Recorded(event.call_id, event.name, event.at, number)
        elif isinstance(event, CallsInDoubt):
            for key in event.call_ids:
                steps[key].waits = "in doubt: has it happened?"
        elif isinstance(event, _Change) and event.call_id in steps:
            _take(steps[event.call_id], event, number)
    _mark_undone([*steps.values()])
    return [*steps.values()]


def _take(step: Recorded, event: _Change, number: int) -> None:
    match event:
        case ToolFinished():
            step.ended, step.ended_at, step.waits = number, event.at or step.began_at, ""
            step.error = failure_of(event).error if event.is_error else ""
        case AnswerAwaited():
            step.question = event.question
            step.waits = "waits" if event.deadline is None else f"waits until {moment(event.deadline)}"
        case CallAnswered():
            step.by = event.by
        case CallRetried():
            step.waits = ""
        case ToolAttemptFailed():
            step.attempts += 1
            step.waits = f"tried again at {moment(event.next_at)}"


def _mark_undone(steps: Sequence[Recorded]) -> None:
    """Of several calls of one step those that ended last were undone first."""
    done = sorted((step for step in steps if step.ended_at is not None and not step.error), key=lambda step: -step.ended)
    for undo in steps:
        if undo.is_undoing and undo.ended_at is not None:
            undone = next((s for s in done if not s.is_undoing and not s.is_undone and f"undo {s.name}" == undo.name), None)
            if undone is not None and not undo.error:
                undone.is_undone = True
            elif undone is not None:
                done.remove(undone)


def moment(at: float) -> str:
    """A Unix timestamp as a text."""
    return datetime.fromtimestamp(at, UTC).strftime("%Y-%m-%d %H:%M:%S UTC")


def duration(seconds: float) -> str:
    """A time in the unit that people would take."""
    for unit, size in (("days", 86_400.0), ("h", 3_600.0), ("min", 60.0)):
        if seconds >= 2 * size:
            return f"{seconds / size:.0f} {unit}"
    return f"{seconds:.1f} s" if seconds >= 0.1 else f"{seconds * 1000:.0f} ms"


def account(steps: Sequence[Recorded]) -> list[str]:
    """What is to be said of the steps that one place of a program has come to: how often, how long, what failed, what waits."""
    if len(steps) == 1:
        return _account_of_one(steps[0])
    ended = [step for step in steps if step.ended_at is not None]
    failed = [step for step in ended if step.error]
    lines = [f"{len(steps)} times"]
    if ended:
        lines[0] += f", up to {duration(max((step.ended_at or 0.0) - step.began_at for step in ended))}"
    if again := sum(step.attempts - 1 for step in steps):
        lines.append(f"{again} more attempts")
    if failed:
        lines.append(f"{len(failed)} failed: {', '.join(dict.fromkeys(step.error for step in failed))}")
    if still := len(steps) - len(ended):
        lines.append(f"{still} open")
    if undone := sum(step.is_undone for step in steps):
        lines.append(f"{undone} undone")
    return lines


def _account_of_one(step: Recorded) -> list[str]:
    lines = [f"{step.attempts} attempts"] if step.attempts > 1 else []
    if step.ended_at is None:
        return [*lines, step.waits or f"since {moment(step.began_at)}"]
    took = duration(step.ended_at - step.began_at)
    if step.error:
        lines.append(f"cancelled after {took}" if step.error == CANCELLED else f"{step.error} after {took}")
    else:
        lines.append(f"answered by {step.by}, {took}" if step.by else took)
    return [*lines, "undone"] if step.is_undone else lines
