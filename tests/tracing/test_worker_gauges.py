"""How a worker stands, and its queue, as a reader of OpenTelemetry's SDK collects them."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from typing import Any

import pytest

from agentsdk import Agent, MemoryRunStore, RunConfig, Runner, RunStore, StoreError, Worker, function_tool
from agentsdk.stores.wrapper import RunStoreWrapper
from agentsdk.testing import ScriptedModel, call
from agentsdk.types.queue import QueueStatus
from agentsdk.types.summary import DueRuns
from tests.tracing.test_meter import Metered

pytestmark = pytest.mark.anyio

NAMES = {
    *("agentsdk.worker.slots", "agentsdk.worker.runs", "agentsdk.worker.oldest_run", "agentsdk.worker.shortest_lease"),
    *("agentsdk.queue.due", "agentsdk.queue.oldest"),
}


class Held:
    """An agent whose runs go on when `go` is set."""

    def __init__(self) -> None:
        self.begun, self.go = asyncio.Event(), asyncio.Event()

        @function_tool(effect="none")
        async def hold() -> str:
            """Wait."""
            self.begun.set()
            await self.go.wait()
            return "done"

        self.agent = Agent[Any, Any]("Clerk", tools=[hold], model=ScriptedModel([call("hold"), "done"] * 3))


@asynccontextmanager
async def working(store: RunStore, held: Held, config: RunConfig) -> AsyncGenerator[None]:
    """A worker for one run at a time, which is at one of three."""
    for number in range(3):
        await Runner.submit(held.agent, "go", run_id=f"run-{number}", run_config=RunConfig(store=store))
    worker = Worker(store, agents=[held.agent], concurrency=1, config=config)
    task = asyncio.create_task(worker.run())
    try:
        async with asyncio.timeout(60):
            await held.begun.wait()
            yield
    finally:
        held.go.set()
        worker.stop()
        await task


def figures(metered: Metered) -> dict[str, Any]:
    """The figures of workers and queues by their names; each is of the worker of `Clerk`."""
    found = {name: points for name, points in metered.points().items() if name in NAMES and points}
    assert all(attributes == {"agentsdk.worker.agents": "Clerk"} for points in found.values() for attributes, _ in points)
    return {name: point.value for name, [(_, point)] in found.items()}


async def test_a_reader_sees_the_worker_and_its_queue_while_it_works() -> None:
    metered, store, held = Metered(), MemoryRunStore(), Held()
    async with working(store, held, RunConfig(meter=metered.meter, lease=40)):
        seen = figures(metered)
        while seen.get("agentsdk.queue.due") != 2:  # the first is that from before the worker took a run
            await asyncio.sleep(0)
            seen = figures(metered)
        assert seen.keys() == NAMES
        assert (seen["agentsdk.worker.slots"], seen["agentsdk.worker.runs"]) == (1, 1)
        assert 0 < seen["agentsdk.worker.shortest_lease"] <= 40
        assert seen["agentsdk.worker.oldest_run"] > 0 and seen["agentsdk.queue.oldest"] > 0
    assert figures(metered) == {}


async def test_a_store_that_does_not_answer_leaves_out_the_queue_alone() -> None:
    class Away(RunStoreWrapper):
        async def queue(self, query: DueRuns) -> QueueStatus:
            raise StoreError("gone")

    metered, held = Metered(), Held()
    async with working(Away(MemoryRunStore()), held, RunConfig(meter=metered.meter)):
        for _ in range(20):
            await asyncio.sleep(0)
            assert figures(metered).keys() == {name for name in NAMES if "worker" in name}


async def test_a_meter_that_takes_measurements_alone_and_none_at_all_are_fine() -> None:
    class Kept:
        def keep(self, measured: object) -> None:
            pass

    for config in (RunConfig(meter=Kept()), RunConfig(tracing_disabled=True)):
        held = Held()
        async with working(MemoryRunStore(), held, config):
            held.go.set()
