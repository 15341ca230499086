"""The summary of a stored run: the row beside its events that lists and queries read."""

from __future__ import annotations

from collections.abc import Sequence

from msgspec.structs import replace

from agentsdk.core.limits.totals import followed
from agentsdk.core.next_step import PendingCall, PendingTimer, next_deadline, pending_calls
from agentsdk.core.state import State
from agentsdk.types.events import RunStarted
from agentsdk.types.items import FunctionCall
from agentsdk.types.summary import Phase, RunStatus, RunSummary

CANCELLED = "CancelledError"
"""The reason of a run that was cancelled: by who wanted it so, or with the process or the request that it ran in."""


def summarize(state: State, *, now: float, owner: str, held_until: float) -> RunSummary:
    """The summary of a run at `now`. It is in work while its owner holds it beyond that."""
    started = state.log[0]
    assert isinstance(started, RunStarted)
    pending = pending_calls(state)
    cost = followed(state.log)
    held = held_until > now
    status = "running" if held else _status(state, pending)
    stopped = state.stopped
    summary = RunSummary(
        run_id=state.run_id,
        rev=len(state.log),
        status=status,
        agent=state.agent,
        started_at=started.at,
        updated_at=now,
        waiting=sum([type(item) is not PendingTimer for item in pending]),
        forked_from=started.forked_from,
        owner=owner,
        held_until=held_until,
        first_agent=state.first_agent,
        priority=started.priority,
        metadata=started.metadata,
    )
    # In two steps: of more than 15 keywords Python makes a dict first, which takes as long as all the rest.
    return replace(
        summary,
        turns=state.all_turns,
        requests=state.usage.requests,
        input_tokens=state.usage.input_tokens,
        output_tokens=state.usage.output_tokens,
        reason=stopped.reason if stopped is not None else "" if state.limit is None else state.limit.limit,
        paid="" if cost is None else str(cost),
        phase=_phase(state) if held else "",
        error="" if stopped is None else stopped.error,
        due_at=held_until if held else _due_at(started, state, status, pending, now),
        elapsed=state.elapsed,
        ended_at=0.0 if state.ended is None else state.ended.at,
        taken=state.taken,
    )


def status_of(state: State) -> RunStatus:
    """What can be done with a run that nobody holds."""
    return _status(state, pending_calls(state))


def _status(state: State, pending: Sequence[PendingCall]) -> RunStatus:
    stopped = state.stopped
    if state.ended is not None:
        return "finished"
    if stopped is not None and stopped.by:
        return "cancelled"
    if stopped is not None and stopped.reason == CANCELLED:
        return "ready"  # its process was stopped: what it was at goes on elsewhere, before anybody is waited for
    if pending or _is_halted(state):
        return "waiting"
    return "ready" if stopped is None else "failed"


def _is_halted(state: State) -> bool:
    """Whether it goes on no further until somebody says so, whatever its calls wait for."""
    return state.paused is not None or (state.limit is not None and state.limit.pauses)


def _due_at(started: RunStarted, state: State, status: RunStatus, pending: Sequence[PendingCall], now: float) -> float:
    """When a worker may take a run that nobody holds: now, or once a call waits no more; 0 for not at all."""
    if status == "ready":
        return max(now, started.due_at)
    if status != "waiting" or _is_halted(state) or state.stopped is not None:
        return 0.0
    return next_deadline(pending) or 0.0


def _phase(state: State) -> Phase:
    turn = state.turn
    if turn is None:
        return "prepare"
    if turn.response is None:
        return "ask" if turn.program is None else "act"
    for item in turn.response.output:
        if type(item) is FunctionCall and item.call_id not in turn.results:
            return "act"
    return "judge"
