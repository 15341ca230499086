"""A run as a test: its record, and a pytest function that replays it."""

from __future__ import annotations

import re

from agentsdk.core.run_state import RunState
from agentsdk.define.run_config import RunConfig
from agentsdk.types.base import JsonObject


def as_test(state: RunState, config: RunConfig, module: str) -> JsonObject:
    """The `record` to save as `file`, and the `python` of the test beside it. `module` is where the agent may be found."""
    started = state.value.first_agent
    name = re.sub(r"\W+", "_", state.value.run_id).strip("_").lower()[:60] or "run"
    agent = re.sub(r"\W+", "_", started).strip("_").lower() or "agent"
    file = f"{name}.run.json"
    python = f'''"""Made of a recorded run of agent {started!r}."""

import asyncio
from pathlib import Path

from agentsdk.testing import assert_replays

from {module} import {agent}  # the agent that began the run


def test_{name}() -> None:
    """Every turn still comes to the step that is recorded; nobody is called, no model and no tool."""
    recorded = Path(__file__).with_name({file!r}).read_text(encoding="utf-8")
    asyncio.run(assert_replays({agent}, recorded))
'''
    return {"file": file, "record": state.to_string(state_key=config.state_key), "python": python}
