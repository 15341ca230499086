"""`Runner.submit`: a run is put into a store, for a worker to begin."""

from __future__ import annotations

from typing import Any

from msgspec import structs

from agentsdk.core.codec import encode_event
from agentsdk.core.state import fold
from agentsdk.core.summary import summarize
from agentsdk.define.agent import Agent
from agentsdk.engine.checked_store import CheckedStore
from agentsdk.engine.drive import require_same_input
from agentsdk.engine.run import Run
from agentsdk.engine.saved_context import changed_context
from agentsdk.engine.stored import find_run, fingerprint_of
from agentsdk.types.errors import RunConflictError
from agentsdk.types.events import RunEvent, RunStarted


async def submit(
    store: CheckedStore,
    run: Run,
    begin: tuple[RunEvent, ...],
    first: Agent[Any, Any],
    given: object,
    at: float | None,
    priority: int | None,
) -> str:
    """Record the start of `run`, which is due at `at`, None for now; its id. Raises `RunConflictError` for another run's id."""
    started, *more = begin
    assert isinstance(started, RunStarted)
    started = structs.replace(
        started,
        fingerprint=fingerprint_of(first),
        due_at=0.0 if at is None else at,
        priority=started.priority if priority is None else priority,
    )
    events: list[RunEvent] = [started, *more]
    if run.deps.config.context_codec is not None:
        events += changed_context(run)
    summary = summarize(fold(events), now=started.at, owner="", held_until=started.at)
    try:
        await store.append(started.run_id, 0, [encode_event(event) for event in events], summary)
    except RunConflictError:
        state = await find_run(store, started.run_id, required=True)
        assert state is not None
        require_same_input(state, given)  # submitted again: it is there already
        if state.first_agent != started.agent:
            raise
    return started.run_id
