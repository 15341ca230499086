"""`--probe` of a worker: what it answers over HTTP, and what it refuses."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncIterator

import httpx
import pytest

from agentsdk import Agent, MemoryRunStore, RunConfig, Runner, Worker
from agentsdk.cli.probe import probe
from agentsdk.errors import StoreError, UserError
from agentsdk.stores import DueRuns, QueueStatus
from agentsdk.testing import ScriptedModel

pytestmark = pytest.mark.anyio


class BrokenStore(MemoryRunStore):
    async def queue(self, query: DueRuns) -> QueueStatus:
        raise StoreError("the disk is full")


@contextlib.asynccontextmanager
async def probed(worker: Worker) -> AsyncIterator[httpx.AsyncClient]:
    async with contextlib.AsyncExitStack() as stack:
        host, port = await stack.enter_async_context(probe(worker, "127.0.0.1:0"))
        yield await stack.enter_async_context(httpx.AsyncClient(base_url=f"http://{host}:{port}", timeout=60))


async def test_it_tells_how_worker_and_queue_stand() -> None:
    store, clerk = MemoryRunStore(), Agent[None, str](name="clerk", model=ScriptedModel([]))
    for agent in (clerk, clerk, Agent[None, str](name="other", model=ScriptedModel([]))):
        await Runner.submit(agent, "go", run_config=RunConfig(store=store))
    async with probed(Worker(store, agents=[clerk], concurrency=3)) as client:
        assert (await client.get("/health")).json() == {"status": "ok"}
        assert (await client.get("/ready")).status_code == 503, "it is not at work"
        figures = (await client.get("/queue?of=all")).json()
        assert figures.pop("oldest_seconds") >= 0
        assert figures == {"due": 2, "in_work": 0, "worker_concurrency": 3, "worker_in_work": 0, "worker_free": 0}
        metrics = (await client.get("/metrics")).text
        assert "# TYPE agentsdk_due gauge\nagentsdk_due 2\n" in metrics
        assert (await client.get("/else")).status_code == 404
        assert (await client.post("/queue")).status_code == 405


async def test_a_worker_at_work_is_ready_until_it_is_stopped() -> None:
    begun, goes_on = asyncio.Event(), asyncio.Event()

    async def instructions(*_: object) -> str:
        begun.set()
        await goes_on.wait()
        return "Help."

    store = MemoryRunStore()
    clerk = Agent[None, str](name="clerk", instructions=instructions, model=ScriptedModel(["done"]))
    await Runner.submit(clerk, "go", run_config=RunConfig(store=store))
    worker = Worker(store, agents=[clerk], concurrency=3)
    working = asyncio.create_task(worker.run())
    try:
        await begun.wait()
        async with probed(worker) as client:
            assert (await client.get("/ready")).status_code == 200
            figures = (await client.get("/queue")).json()
            assert (figures["in_work"], figures["worker_in_work"], figures["worker_free"]) == (1, 1, 2)
            worker.stop()
            assert (await client.get("/ready")).json() == {"status": "stopping"}
            assert worker.status().free == 0
    finally:
        goes_on.set()
        await working


async def test_a_store_that_does_not_answer_is_said_and_no_reason_to_be_killed() -> None:
    worker = Worker(BrokenStore(), agents=Agent[None, str](name="clerk", model=ScriptedModel([])))
    async with probed(worker) as client:
        assert (await client.get("/metrics")).status_code == 503
        assert (await client.get("/health")).status_code == 200


async def test_what_is_no_request_is_left_and_the_next_one_answered() -> None:
    worker = Worker(MemoryRunStore(), agents=Agent[None, str](name="clerk", model=ScriptedModel([])))
    async with probe(worker, "127.0.0.1:0") as (host, port):
        for sent in (b"", b"\xff\xff\r\n\r\n", b"x" * 100_000):
            reader, writer = await asyncio.open_connection(host, port)
            writer.write(sent)
            writer.write_eof()
            with contextlib.suppress(ConnectionError):
                assert b"200" not in await reader.read()
            writer.close()
        async with httpx.AsyncClient(timeout=60) as client:
            assert (await client.get(f"http://{host}:{port}/health")).status_code == 200


@pytest.mark.parametrize("address", ["8080", "localhost:", "localhost:http", "localhost:99999", "192.0.2.1:1"])
async def test_an_address_that_is_none_is_refused(address: str) -> None:
    worker = Worker(MemoryRunStore(), agents=Agent[None, str](name="clerk", model=ScriptedModel([])))
    with pytest.raises(UserError, match="--probe"):
        async with probe(worker, address):
            pass
