"""The summary of a stored run: the row beside its events that lists and queries read."""

from __future__ import annotations

from agentsdk.core.limits.totals import followed
from agentsdk.core.next_step import interruptions
from agentsdk.core.state import State
from agentsdk.types.events import RunStarted
from agentsdk.types.summary import RunStatus, RunSummary


def summarize(state: State, *, now: float, owner: str, held_until: float) -> RunSummary:
    """The summary of a run at `now`. It is in work while its owner holds it beyond that."""
    started = state.log[0]
    assert isinstance(started, RunStarted)
    waiting = len(interruptions(state))
    cost = followed(state.log)
    return RunSummary(
        run_id=state.run_id,
        rev=len(state.log),
        status="running" if held_until > now else _status_when_free(state, waiting),
        agent=state.agent,
        started_at=started.at,
        updated_at=now,
        turns=state.all_turns,
        requests=state.usage.requests,
        input_tokens=state.usage.input_tokens,
        output_tokens=state.usage.output_tokens,
        waiting=waiting,
        reason=state.stopped or ("" if state.limit is None else state.limit.limit),
        forked_from=started.forked_from,
        paid="" if cost is None else str(cost),
        owner=owner,
        held_until=held_until,
        first_agent=state.first_agent,
    )


def _status_when_free(state: State, waiting: int) -> RunStatus:
    if state.ended is not None:
        return "finished"
    return "waiting" if waiting or (state.limit is not None and state.limit.pauses) else "stopped"
