"""Runs and sessions that released versions left in stores: found, gone on with to the same end, for ever."""

from __future__ import annotations

import json
import shutil
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import pytest

from agentsdk import (
    MemoryRunStore,
    RunConflictError,
    Runner,
    RunQuery,
    RunState,
    RunStore,
    ToolApprovalItem,
    ToolInDoubtItem,
)
from agentsdk.core.codec import VERSION, decode_events, encode_event
from agentsdk.sessions import SessionSummary
from agentsdk.types.events import ToolFinished
from agentsdk.types.summary import DueRuns
from tests.core.released import RELEASED
from tests.stores.released import (
    ENCRYPTED,
    FIXTURES,
    KINDS,
    LONG,
    PREFIX,
    SCENARIOS,
    SESSION,
    Desk,
    config_of,
    restore_redis,
    restored_postgres,
    session_at,
    store_at,
)

pytestmark = pytest.mark.anyio

VERSIONS = sorted(folder.name for folder in FIXTURES.iterdir())
FAR = 1e12
"""A time when no lease of a process that died holds."""

Restore = Callable[[str], Awaitable[str]]


@pytest.fixture(params=KINDS)
def kind(request: pytest.FixtureRequest) -> str:
    name: str = request.param
    return name


@pytest.fixture
def restore(kind: str, tmp_path: Path, request: pytest.FixtureRequest) -> Restore:
    """Puts what a version left in one kind of store in such a store; the place it is then at."""

    async def restored(version: str) -> str:
        left = FIXTURES / version / kind
        if not left.exists():
            pytest.skip(f"{version} had no such store")
        if kind == "postgres.sql":
            return await restored_postgres(request.getfixturevalue("postgres_url"), left.read_text(encoding="utf-8"))
        if kind == "redis.json":
            await restore_redis(request.getfixturevalue("redis_url"), left.read_text(encoding="utf-8"))
            return str(request.getfixturevalue("redis_url"))
        return str((shutil.copytree if left.is_dir() else shutil.copy)(left, tmp_path / kind))

    return restored


async def go_on(name: str, store: RunStore, run_id: str) -> None:
    """Resume the scenario, twice if it waits, and look at what comes of it."""
    scenario, desk = SCENARIOS[name], Desk()
    if scenario.waits_for:
        paused = await Runner.resume(desk.agent(), run_id, run_config=config_of(store), take_over=True)
        assert [item.tool_name for item in paused.interruptions] == list(scenario.waits_for)
        state = await Runner.load(run_id, run_config=config_of(store))
        for item in state.interruptions:
            if isinstance(item, ToolInDoubtItem):
                state.provide_result(item, result="sent, said the post office")
            else:
                assert isinstance(item, ToolApprovalItem)
                state.approve(item)
        await Runner.decide(state, run_config=config_of(store))
    result = await Runner.resume(desk.agent(*scenario.after), run_id, run_config=config_of(store), take_over=True)
    assert (result.final_output, desk.effects) == ("done", list(scenario.effects))
    summary = await store.summary(run_id)
    assert summary is not None
    assert (summary.status, summary.agent) == ("finished", scenario.agent)
    told = {scenario.first_agent, ""} if name == "finished" else {scenario.first_agent}
    assert summary.first_agent in told, "version 1 did not say it; what goes on says it from then on"


def test_every_released_version_is_kept() -> None:
    assert {f"v{number}" for number in range(1, RELEASED + 1)} <= set(VERSIONS)


@pytest.mark.parametrize("version", VERSIONS)
async def test_every_run_of_a_released_version_goes_on_to_its_end(version: str, kind: str, restore: Restore) -> None:
    store = store_at(await restore(version))
    names = [*ENCRYPTED] if kind == "encrypted.db" else [*SCENARIOS]
    try:
        assert {run.run_id for run in await store.list(RunQuery())} == set(names)
        abandoned = {name for name in names if SCENARIOS[name].dies_after or SCENARIOS[name].dies_in}
        assert {run.run_id for run in await store.list(RunQuery(abandoned_at=FAR))} == abandoned
        handed_back = {name for name in names if SCENARIOS[name].decided}
        assert {run.run_id for run in await store.due(DueRuns(at=FAR))} == abandoned | handed_back
        for name in names:
            await go_on(name, store, name)
        mixed = [json.loads(record)[0] for record in await store.read("approval")]
        assert mixed == sorted(mixed)
        assert (mixed[0], mixed[-1]) == (int(version[1:].split("-")[0]), VERSION)
        assert [run.run_id for run in await store.list(RunQuery(abandoned_at=FAR))] == []
        assert {run.run_id for run in await store.list(RunQuery(status="finished"))} == set(names)
    finally:
        await store.aclose()


@pytest.mark.parametrize("version", [version for version in VERSIONS if version != "v1-earlier"])
async def test_what_was_cut_is_still_kept_whole(version: str, restore: Restore) -> None:
    store = store_at(await restore(version))
    [cut] = [event for event in decode_events(await store.read("approval")) if isinstance(event, ToolFinished) and event.whole]
    assert await store.attachment("approval", cut.whole) == LONG.encode()
    await store.aclose()


@pytest.mark.parametrize("version", VERSIONS)
async def test_a_run_of_a_released_version_is_forked_and_goes_on(version: str, restore: Restore) -> None:
    store = store_at(await restore(version))
    for name in ENCRYPTED:
        await go_on(name, store, await Runner.fork(name, run_config=config_of(store)))
    await store.aclose()


@pytest.mark.parametrize("version", VERSIONS)
async def test_a_state_that_was_saved_goes_on_in_the_store_of_its_run(version: str, restore: Restore) -> None:
    """What says that they are the same is the last event, whichever version wrote it here and there."""
    store, desk = store_at(await restore(version)), Desk()
    agent = desk.agent("done")
    text = (await Runner.load("approval", run_config=config_of(store))).to_string()
    state = RunState.from_string(agent, text)
    state.approve(state.interruptions[0])
    result = await Runner.run(agent, state, run_config=config_of(store))
    assert (result.final_output, desk.effects) == ("done", ["pay"])
    again = RunState.from_string(agent, text)
    with pytest.raises(RunConflictError):
        await Runner.run(agent, again, run_config=config_of(store))
    await store.aclose()


@pytest.mark.parametrize("version", VERSIONS)
@pytest.mark.parametrize("name", SCENARIOS)
async def test_logs_in_any_mix_of_versions_go_on(version: str, name: str, tmp_path: Path) -> None:
    left = store_at(shutil.copy(FIXTURES / version / "runs.db", tmp_path))
    before, summary = await left.read(name), await left.summary(name)
    assert summary is not None
    await left.aclose()
    now = [encode_event(event) for event in decode_events(before)]
    for cut in range(len(now) + 1):
        for log in ([*before[:cut], *now[cut:]], [*now[:cut], *before[cut:]]):
            store = MemoryRunStore()
            await store.append(name, 0, log, summary)
            await go_on(name, store, name)


@pytest.mark.parametrize("version", VERSIONS)
@pytest.mark.parametrize("kind", ["runs.db", "postgres.sql", "redis.json"])
async def test_a_session_of_a_released_version_goes_on(version: str, kind: str, restore: Restore) -> None:
    session: Any = session_at(await restore(version))
    result = await Runner.run(Desk().agent("You are Ada."), "Who am I?", session=session)
    assert result.final_output == "You are Ada."
    said = [getattr(item, "text", "") for item in await session.get_items()]
    assert said == ["I am Ada.", "Hello, Ada.", "Who am I?", "You are Ada."]
    popped = await session.pop_item()
    assert popped is not None
    await session.aclose()


@pytest.mark.parametrize("version", ["v1-earlier", "v1", "v2"])
@pytest.mark.parametrize("kind", ["runs.db", "postgres.sql", "redis.json"])
async def test_a_session_of_a_version_that_kept_items_only_is_listed(version: str, kind: str, restore: Restore) -> None:
    place = await restore(version)
    session: Any = session_at(place)
    options = {"prefix": PREFIX} if kind == "redis.json" else {}
    known = SessionSummary(session_id=SESSION, items=2)
    assert await type(session).list(place, **options) == [known]
    assert await session.summary() == known
    await session.update(user="ada")
    assert [summary.user for summary in await type(session).list(place, **options)] == ["ada"]
    await session.aclose()
