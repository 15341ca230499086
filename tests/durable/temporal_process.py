"""A worker in a process of its own, for the test that kills it: `python -m tests.durable.temporal_process ...`."""

from __future__ import annotations

import asyncio
import sys
from datetime import timedelta
from pathlib import Path
from typing import Any

from temporalio.client import Client

from agentsdk import Agent, FunctionTool, RunConfig, SQLiteRunStore, function_tool
from agentsdk.durable.temporal import temporal_worker
from agentsdk.testing import ScriptedModel, call

QUIET: dict[str, Any] = {"debug_mode": True, "sticky_queue_schedule_to_start_timeout": timedelta(seconds=1)}
"""For workers of tests: a machine under load is no deadlock, and who was killed is not waited for."""


def paying(folder: Path) -> FunctionTool[Any]:
    """A call whose body is counted in a file. It waits for the file `go`."""

    @function_tool(effect="once")
    async def pay() -> str:
        with (folder / "bodies").open("a") as file:
            file.write("x")
        while not (folder / "go").exists():  # noqa: ASYNC110 - another process says so
            await asyncio.sleep(0.05)
        return "paid"

    return pay


def clerk(folder: Path, *replies: Any) -> Agent[Any, Any]:
    return Agent("clerk", tools=[paying(folder)], model=ScriptedModel(list(replies)))


async def main(address: str, folder: Path, queue: str) -> None:
    client = await Client.connect(address)
    store = SQLiteRunStore(folder / "runs.db", synchronous="NORMAL")
    agent = clerk(folder, call("pay"), "done")
    worker = temporal_worker(client, store=store, agents=[agent], task_queue=queue, config=RunConfig(lease=300), **QUIET)
    await worker.run()


if __name__ == "__main__":
    asyncio.run(main(sys.argv[1], Path(sys.argv[2]), sys.argv[3]))
