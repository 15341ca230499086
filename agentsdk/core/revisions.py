"""Revisions that a run can go on from: not every one, as a handoff or a compaction is several events but one step."""

from __future__ import annotations

from collections.abc import Sequence

from agentsdk.types.events import AttemptSpent, HandedOff, RunEvent, ToolFinished, ToolsIntended, ViewReplaced, unnested


def step_start(log: Sequence[RunEvent], revision: int) -> int:
    """`revision`, or where that lies within a step the one before that.

    A handoff is its results, the switch of agents and the new view; a compaction what was asked for it and the new view.
    """
    at = revision
    while _asked_for_view(log, at - 1):
        at -= 1
    if at < revision:
        return at
    if _is(log, at, ViewReplaced) and _is(log, at - 1, HandedOff):
        at -= 1
    while _is(log, at, ToolFinished):
        at += 1
    if not _is(log, at, HandedOff):
        return revision
    path, _ = unnested(log[at])
    begun = {call_id for events in map(unnested, log[:at]) for call_id in _intended(events, path)}
    while _is(log, at - 1, ToolFinished):
        at -= 1
        where, result = unnested(log[at])
        if where == path and isinstance(result, ToolFinished) and not (result.is_error or result.call_id in begun):
            return min(at, revision)  # the one result that no tool gave: the handoff's own
    return revision


def _asked_for_view(log: Sequence[RunEvent], at: int) -> bool:
    event = unnested(log[at])[1] if 0 <= at < len(log) else None
    return isinstance(event, AttemptSpent) and event.kind in ("refused", "summary")


def _is(log: Sequence[RunEvent], at: int, kind: type[RunEvent]) -> bool:
    return 0 <= at < len(log) and isinstance(unnested(log[at])[1], kind)


def _intended(entry: tuple[tuple[str, ...], RunEvent], path: tuple[str, ...]) -> tuple[str, ...]:
    where, event = entry
    return event.call_ids if where == path and isinstance(event, ToolsIntended) else ()
