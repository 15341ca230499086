"""Scenarios played into a store."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence

from agentsdk import MemoryRunStore, RunConfig
from agentsdk.core.codec import encode_event
from agentsdk.core.limits.run_limits import RunLimits
from agentsdk.core.state import fold
from agentsdk.core.summary import summarize
from agentsdk.ports.run_store import RunStore
from agentsdk.types.events import RunEvent
from tests.models.wire import FakeClock
from tests.scenarios import RUN_ID, SCENARIOS, Scenario, World, play


def scenario_called(name: str) -> Scenario:
    return next(scenario for scenario in SCENARIOS if scenario.name == name)


async def recorded(scenario: Scenario, streamed: bool = False, store: RunStore | None = None) -> RunConfig:
    """Play a scenario to its end into a store. The config that has it, for going on with it under any limit."""
    config = dataclasses.replace(scenario.config, store=store or MemoryRunStore(), clock=scenario.config.clock or FakeClock())
    await play(dataclasses.replace(scenario, config=config), World(), None, {}, streamed)
    return dataclasses.replace(config, limits=RunLimits(turns=None))


async def stored(log: Sequence[RunEvent]) -> RunConfig:
    """A store that has this log, as a process that died left it."""
    store = MemoryRunStore()
    summary = summarize(fold(log), now=1.0, owner="dead", held_until=2.0)
    await store.append(RUN_ID, 0, [encode_event(event) for event in log], summary)
    return RunConfig(store=store)


async def everything(config: RunConfig, run_id: str = RUN_ID) -> object:
    """All that the store knows of a run."""
    assert config.store is not None
    return await config.store.read(run_id), await config.store.summary(run_id)
