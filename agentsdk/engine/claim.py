"""A claim on a stored run: who makes it may go on with the run, and everybody else is refused until its lease passes. Of the
attempts of one engine a later one does not wait for that: see `take`.

A worker claims by `RunStore.claim`, before it reads the log.
"""

from __future__ import annotations

import os

from msgspec.structs import replace

from agentsdk.core.state import State
from agentsdk.core.summary import summarize
from agentsdk.engine.checked_store import CheckedStore
from agentsdk.types.errors import RunConflictError
from agentsdk.types.owner import RunOwner
from agentsdk.types.summary import RunSummary


def owner_text(owner: RunOwner | None) -> str:
    """A text for `RunSummary.owner` that no other process has."""
    process = os.urandom(8).hex()
    return process if owner is None else owner.text(process)


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


async def take(store: CheckedStore, summary: RunSummary, owner: RunOwner, now: float) -> None:
    """Take the run of `summary` from an earlier attempt of `owner`, which may hold it still.

    The earlier one is refused at its next append, as soon as this one has appended anything. Raises `RunConflictError` where
    a later attempt has had the run, and where it has gone on meanwhile.
    """
    had = RunOwner.read(summary.owner)
    if had is None or had.name != owner.name:
        return
    if had.attempt > owner.attempt:
        raise RunConflictError(
            f"run {summary.run_id!r} was taken by attempt {had.attempt} of {had.name!r}, expected none after attempt "
            f"{owner.attempt}; leave the run to it"
        )
    if had.attempt < owner.attempt and summary.held_until > now:
        # Written in the name of the earlier one, which the store lets pass only as long as it holds the run itself.
        await store.append(summary.run_id, summary.rev, (), replace(summary, updated_at=now, held_until=now))


def is_lost(summary: RunSummary, owner: RunOwner | None, now: float) -> bool:
    """Whether the run is out of the reach of `owner`: held by another one than its earlier attempts, or a later one's."""
    had = None if owner is None else RunOwner.read(summary.owner)
    if had is None or owner is None or had.name != owner.name or had.attempt == owner.attempt:
        return summary.held_until > now
    return had.attempt > owner.attempt
