"""Revisions that a run can go on from: not every one, as a handoff is several events but one step."""

from __future__ import annotations

from collections.abc import Sequence

from agentsdk.types.events import HandedOff, RunEvent, ToolFinished, ToolsIntended, ViewReplaced, unnested


def step_start(log: Sequence[RunEvent], revision: int) -> int:
    """`revision`, or where that lies within a handoff (its results, the switch of agents, the new view) the one before that."""
    at = revision
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


def _is(log: Sequence[RunEvent], at: int, kind: type[RunEvent]) -> bool:
    return 0 <= at < len(log) and isinstance(unnested(log[at])[1], kind)


def _intended(entry: tuple[tuple[str, ...], RunEvent], path: tuple[str, ...]) -> tuple[str, ...]:
    where, event = entry
    return event.call_ids if where == path and isinstance(event, ToolsIntended) else ()
