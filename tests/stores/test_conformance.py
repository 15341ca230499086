"""Every store keeps every rule of the suite."""

from __future__ import annotations

import pytest

from agentsdk import Agent, RunConfig, Runner
from agentsdk.testing import ScriptedModel
from agentsdk.testing.store_conformance import CHECKS, Check
from tests.stores.stores import STORES

pytestmark = pytest.mark.anyio


@pytest.mark.parametrize("check", CHECKS, ids=lambda check: check.name)
@pytest.mark.parametrize("name", STORES)
async def test_it_keeps_the_rule(name: str, check: Check, request: pytest.FixtureRequest) -> None:
    case = STORES[name]
    await check(case.factory(request), shared=case.shared, workers=3 if check.shared else 8)


@pytest.mark.parametrize("name", STORES)
async def test_without_a_query_the_latest_runs_are_listed(name: str, request: pytest.FixtureRequest) -> None:
    store = STORES[name].factory(request)()
    try:
        for run_id in ("a", "b"):
            await Runner.run(
                Agent(name="Clerk", model=ScriptedModel(["Hi."])), "Hi.", run_config=RunConfig(store=store, run_id=run_id)
            )
        assert [run.run_id for run in await store.list()] == ["b", "a"]
    finally:
        await store.aclose()
