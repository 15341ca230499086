"""agentsdk: `RunConfig(store=SQLiteRunStore(...))`, every event durable before the run goes on."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

from agentsdk import RunConfig, RunLimits, Runner, SQLiteRunStore
from benchmarks import fake
from benchmarks.contestants.agentsdk import make_agent
from benchmarks.durable import RunOnce, main


@asynccontextmanager
async def opened(path: str, synchronous: Any) -> AsyncIterator[RunOnce]:
    """Runs on the file `path`."""
    store = SQLiteRunStore(path, synchronous=synchronous)
    agent = make_agent(None, "")

    async def run_once(name: str) -> str:
        config = RunConfig(store=store, run_id=name, limits=RunLimits(turns=None))
        return str((await Runner.run(agent, fake.PROMPT, run_config=config)).final_output)

    yield run_once
    await store.aclose()


if __name__ == "__main__":
    main(opened)
