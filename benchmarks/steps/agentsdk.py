"""agentsdk: `@workflow` and `@step`."""

from __future__ import annotations

from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager

from agentsdk import RunConfig, Runner, SQLiteRunStore
from agentsdk.workflow import step, workflow
from benchmarks import steps
from benchmarks.steps import Chain, main


@step(effect="none")
async def add(total: int) -> int:
    return await steps.add(total)


@workflow
async def chain(count: int) -> int:
    total = 0
    for _ in range(count):
        total = await add(total)
    return total


@asynccontextmanager
async def opened(file: str | None) -> AsyncGenerator[Chain]:
    """Runs in the file."""
    store = None if file is None else SQLiteRunStore(file)

    async def run(name: str, count: int, resume: bool) -> int:
        config = RunConfig(store=store, run_id=name)
        if resume:
            return int((await Runner.resume(chain, name, run_config=config, take_over=True)).final_output)
        return (await chain.run(count, run_config=config)).final_output

    yield run
    if store is not None:
        await store.aclose()


if __name__ == "__main__":
    main(opened)
