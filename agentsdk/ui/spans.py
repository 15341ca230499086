"""`Span`: something that took time, from the times that a log has: runs, turns, model calls, tool calls, steps, and waits."""

from __future__ import annotations

from typing import Literal

from msgspec import Struct

from agentsdk.types.events import (
    AnswerAwaited,
    CallAnswered,
    HandedOff,
    ModelReplied,
    RunEnded,
    RunEvent,
    RunResumed,
    RunStarted,
    StepBegan,
    Stopped,
    ToolAttemptFailed,
    ToolFinished,
    ToolsIntended,
    TurnEnded,
    unnested,
)
from agentsdk.ui.rows import Row, Tokens

SpanKind = Literal["run", "turn", "model", "tool", "step", "attempt", "wait"]


class Span(Struct, omit_defaults=True):
    """From `start` to `end`, Unix timestamps; `end` is null while it goes on. `first` and `last` are the revisions it is of.

    `parent` is the id of the span around it.
    """

    id: str
    kind: SpanKind
    name: str
    start: float
    first: int
    last: int
    parent: str = ""
    end: float | None = None
    status: str = ""
    call_id: str = ""
    tokens: Tokens | None = None
    cost: str | None = None


Path = tuple[str, ...]


class _Open:
    """The spans of one run of the log that have not ended."""

    def __init__(self, run: Span) -> None:
        self.run = run
        self.turn: Span | None = None
        self.calls: dict[str, Span] = {}
        self.waits: dict[str, Span] = {}


class Spans:
    """The spans of a log, built event by event."""

    def __init__(self) -> None:
        self._all: list[Span] = []
        self._open: dict[Path, _Open] = {}
        self._latest = 0.0

    def all(self) -> list[Span]:
        """All there are by now, in the order in which they began to be known."""
        return self._all

    def feed(self, row: Row, event: RunEvent) -> None:
        """Take the next event, with its row."""
        path, inner = unnested(event)
        before, self._latest = self._latest, max(self._latest, row.at or 0.0)
        if isinstance(inner, RunStarted):
            self._begin_run(path, row, inner)
        run = self._open.get(path)
        if run is None:
            return
        run.run.last = row.rev
        match inner:
            case ModelReplied():
                start = inner.asked_at or inner.at
                turn = self._turn(run, row, start)
                span = self._add("model", row, start, turn.id, inner.at)
                span.tokens, span.cost = row.tokens, row.cost
            case StepBegan():
                turn = self._turn(run, row, inner.at)
                run.calls[inner.call_id] = self._add("step", row, inner.at, turn.id)
            case ToolsIntended():
                for call_id in inner.call_ids:
                    if call_id not in run.calls:
                        self._begin_call(run, row, call_id, inner.at or self._latest)
            case ToolAttemptFailed():
                around = run.calls.get(inner.call_id)
                self._add("attempt", row, inner.started_at, around.id if around else run.run.id, inner.at).status = "error"
            case ToolFinished():
                self._end_call(run, row, inner)
            case AnswerAwaited():
                self._wait(run, row, inner.call_id, inner.at)
            case CallAnswered():
                self._end_wait(run, row, inner.call_id, inner.at)
            case RunResumed():
                self._resume(run, row, before, inner.at)
            case TurnEnded() | HandedOff():
                self._end_turn(run, row)
            case RunEnded() | Stopped():
                self._end_run(run, row, "ok" if isinstance(inner, RunEnded) else "error")
            case _:
                pass

    def _add(self, kind: SpanKind, row: Row, start: float, parent: str, end: float | None = None) -> Span:
        name = row.tool or row.title
        span = Span(f"{kind}-{len(self._all)}", kind, name, start, row.rev, row.rev, parent, end, row.status, row.call_id)
        self._all.append(span)
        return span

    def _begin_run(self, path: Path, row: Row, event: RunStarted) -> None:
        around = self._open.get(path[:-1]) if path else None
        call = around.calls.get(path[-1]) if around else None
        span = self._add("run", row, event.at or self._latest, call.id if call else (around.run.id if around else ""))
        span.name = event.agent
        self._open[path] = _Open(span)

    def _turn(self, run: _Open, row: Row, start: float) -> Span:
        if run.turn is None:
            run.turn = self._add("turn", row, start, run.run.id)
            run.turn.name = f"turn {row.turn}"
        return run.turn

    def _begin_call(self, run: _Open, row: Row, call_id: str, start: float) -> Span:
        span = self._add("tool", row, start, run.turn.id if run.turn else run.run.id)
        span.call_id = call_id
        run.calls[call_id] = span
        return span

    def _end_call(self, run: _Open, row: Row, event: ToolFinished) -> None:
        span = run.calls.pop(event.call_id, None)
        if span is None:
            span = self._begin_call(run, row, event.call_id, event.started_at or event.at or self._latest)
            run.calls.pop(event.call_id)
        span.name = row.tool or span.name
        span.start = event.started_at or span.start
        span.end = event.at or self._latest
        span.last, span.status = row.rev, row.status
        self._end_wait(run, row, event.call_id, span.end)

    def _wait(self, run: _Open, row: Row, key: str, start: float) -> None:
        around = run.calls.get(key)
        span = self._add("wait", row, start, around.id if around else (run.turn.id if run.turn else run.run.id))
        span.status = "waits"
        run.waits[key] = span

    def _end_wait(self, run: _Open, row: Row, key: str, at: float) -> None:
        span = run.waits.pop(key, None)
        if span is not None:
            span.end, span.last, span.status = at or self._latest, row.rev, ""

    def _resume(self, run: _Open, row: Row, before: float, at: float) -> None:
        """Nobody was at the run from its last event to here."""
        run.run.end, run.run.status = None, ""
        if before and at > before:
            span = self._add("wait", row, before, run.turn.id if run.turn else run.run.id, at)
            span.name = "nobody was at it"

    def _end_turn(self, run: _Open, row: Row) -> None:
        if run.turn is not None:
            run.turn.end, run.turn.last = self._latest, row.rev
            run.turn = None

    def _end_run(self, run: _Open, row: Row, status: str) -> None:
        self._end_turn(run, row)
        run.run.end, run.run.last, run.run.status = row.at or self._latest, row.rev, status
