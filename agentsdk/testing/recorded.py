"""`assert_replays`: a run that was saved once as a test: the agent still takes the same steps."""

from __future__ import annotations

import time
from typing import Any

from agentsdk.core.run_state import RunState
from agentsdk.define.agent import Agent
from agentsdk.define.run_config import RunConfig
from agentsdk.engine.checked_store import CheckedStore
from agentsdk.engine.stored import save_fork
from agentsdk.models.prices import price_with
from agentsdk.runner import Runner
from agentsdk.stores.memory import MemoryRunStore
from agentsdk.types.errors import UserError


async def assert_replays(agent: Agent[Any, Any], recorded: str | bytes) -> None:
    """Replay a run that `agent` began, `recorded` by `RunState.to_string`: nobody is called, no model, no tool, no rule.

    Raises `AssertionError` where a turn no longer comes to the step that is recorded, `UserError` for a run without a turn, and
    what `RunState.from_string` raises.
    """
    state = RunState.from_string(agent, recorded).value
    if not state.all_turns:
        raise UserError(f"the run of {agent.name!r} that was recorded has no turn, expected one at least; record another")
    store = MemoryRunStore()
    await save_fork(CheckedStore(store), state, time.time(), price_with(None))
    replayed = await Runner.replay(agent, state.run_id, run_config=RunConfig(store=store, tracing_disabled=True))
    if replayed.divergence is not None:
        raise AssertionError(str(replayed))
