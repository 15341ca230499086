"""A claim on a stored run: who makes it may go on with the run, and everybody else is refused until its lease passes.

It is an append without events, so of several who try at the same revision one wins. A worker claims before it reads the log,
which costs those who lose one statement each.
"""

from __future__ import annotations

from msgspec.structs import replace

from agentsdk.core.state import State
from agentsdk.core.summary import summarize
from agentsdk.engine.checked_store import CheckedStore
from agentsdk.types.errors import RunConflictError
from agentsdk.types.summary import RunSummary


async def claim(store: CheckedStore, summary: RunSummary, owner: str, now: float, lease: float) -> bool:
    """Hold the run of `summary` as `owner` for `lease` seconds; False where it has gone on, or another one was first."""
    until = now + lease
    held = replace(summary, status="running", owner=owner, updated_at=now, held_until=until, due_at=until)
    try:
        await store.append(summary.run_id, summary.rev, (), held)
    except RunConflictError:
        return False
    return True


async def let_go(store: CheckedStore, state: State, owner: str, now: float) -> None:
    """Hold a run no more that goes no further now. Raises `RunConflictError` where it has gone on elsewhere."""
    standing = await store.summary(state.run_id)
    summary = summarize(state, now=now, owner=owner, held_until=now)
    if standing is not None:
        summary = replace(summary, paid=standing.paid)  # what it has cost is known to who drives it
    await store.append(state.run_id, len(state.log), (), summary)


async def give_up(store: CheckedStore, summary: RunSummary, owner: str, now: float) -> bool:
    """Undo a claim on the run of `summary`, which is as it was before; False where it has gone on, or is another's by now."""
    standing = await store.summary(summary.run_id)
    if standing is None or standing.rev != summary.rev or standing.owner != owner:
        return False
    try:
        before = replace(summary, owner=owner, updated_at=now, held_until=now, due_at=now)
        await store.append(summary.run_id, summary.rev, (), before)
    except RunConflictError:
        return False
    return True
