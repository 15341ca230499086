"""A step's result of 20 MB is kept whole on every store, and is what the program gets when it goes on."""

from __future__ import annotations

import pytest

from agentsdk import RunConfig, Runner
from agentsdk.runs import Decision
from agentsdk.workflow import flow, step, workflow
from tests.stores.stores import STORES

pytestmark = pytest.mark.anyio

SIZE = 20_000_000


@step(effect="none")
async def read_all(size: int) -> str:
    return "x" * size


@workflow
async def program(size: int) -> int:
    text = await read_all(size)
    return len(text) if await flow.ask("Go on?") else 0


@pytest.mark.parametrize("name", [name for name, case in STORES.items() if case.shared])
async def test_a_large_result_is_kept_whole(name: str, request: pytest.FixtureRequest) -> None:
    open_store = STORES[name].factory(request)
    first, second = open_store(), open_store()
    config = RunConfig(store=first, run_id=f"large-{name}")
    await program.run(SIZE, run_config=config)
    await Runner.decide(f"large-{name}", Decision("ask", "answer", answer=True), run_config=config)
    result = await program.resume(f"large-{name}", run_config=RunConfig(store=second))
    assert result.final_output == SIZE
    await second.delete(f"large-{name}")
    for store in (first, second):
        await store.aclose()
