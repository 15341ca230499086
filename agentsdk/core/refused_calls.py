"""The audit of refused calls: what was called in a run that nobody had granted it, read from its log."""

from __future__ import annotations

from collections.abc import Iterable

from msgspec import Struct

from agentsdk.types.events import ModelReplied, NotGranted, RunEvent, ToolFinished, unnested
from agentsdk.types.items import FunctionCall


class RefusedCall(Struct, frozen=True):
    """A call that was refused `at` (a Unix timestamp in seconds), as no grant covered its tool; `why` says what that took.

    `path` names the calls (agents as tools) that lead to it, outermost first.
    """

    call: FunctionCall
    at: float
    why: NotGranted
    path: tuple[str, ...] = ()


def refused_calls(log: Iterable[RunEvent]) -> list[RefusedCall]:
    """The refused calls of a run and of those nested in it, in the order in which they were refused. O(events)."""
    calls: dict[tuple[tuple[str, ...], str], FunctionCall] = {}
    refused: list[RefusedCall] = []
    for recorded in log:
        path, event = unnested(recorded)
        if isinstance(event, ModelReplied):
            calls |= {(path, item.call_id): item for item in event.response.output if isinstance(item, FunctionCall)}
        elif isinstance(event, ToolFinished) and event.not_granted is not None:
            refused.append(RefusedCall(calls[path, event.call_id], event.at, event.not_granted, path))
    return refused
