"""`RunProgress`: where a run in work stands, as plain data: for the heartbeat of an engine, or a line on a screen."""

from __future__ import annotations

from msgspec import Struct

from agentsdk.core.state import State
from agentsdk.core.summary import summarize
from agentsdk.types.summary import Phase


class RunProgress(Struct, frozen=True):
    """Where a run in work stands.

    `turn` counts from 1, nested runs included. `phase` is what it is at, `tools` the names of the calls that are going:
    `"research"`, and in the run nested there `"research: search"`. `cost` is US dollars as text, `""` where that is not known.
    `revision` is how many events it has come to.
    """

    run_id: str
    agent: str
    turn: int
    phase: Phase
    tools: tuple[str, ...]
    tokens: int
    cost: str
    revision: int


def progress_of(state: State) -> RunProgress:
    """Where a run that stands at `state`, and is in work, stands. O(events since it was last asked for)."""
    summary = summarize(state, now=0.0, owner="", held_until=1.0)
    return RunProgress(
        run_id=state.run_id,
        agent=state.agent,
        turn=summary.turns + (state.turn is None or state.turn.response is None),
        phase=summary.phase,
        tools=tuple(_going(state)),
        tokens=summary.tokens,
        cost=summary.paid,
        revision=summary.rev,
    )


def _going(state: State) -> list[str]:
    turn = state.turn
    if turn is None:
        return []
    names: list[str] = []
    for call in turn.calls:
        if call.call_id in turn.results or not (call.call_id in turn.intended or turn.program is not None):
            continue
        names.append(call.name)
        if (child := turn.children.get(call.call_id)) is not None:
            names += [f"{call.name}: {name}" for name in _going(child)]
    return names
