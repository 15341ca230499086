"""langgraph: `AsyncSqliteSaver` with `durability="sync"`, a checkpoint of each step durable before the next begins."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

from langchain.agents import create_agent
from langgraph.checkpoint.sqlite.aio import AsyncSqliteSaver

from benchmarks import fake
from benchmarks.contestants.langgraph import INPUT, NO_LIMIT, FakeModel
from benchmarks.durable import RunOnce, main


@asynccontextmanager
async def opened(path: str, synchronous: str) -> AsyncIterator[RunOnce]:
    """Runs on the file `path`."""
    async with AsyncSqliteSaver.from_conn_string(path) as saver:
        await saver.setup()
        await saver.conn.execute(f"PRAGMA synchronous = {synchronous}")
        agent: Any = create_agent(FakeModel(), [fake.add], system_prompt=fake.INSTRUCTIONS, checkpointer=saver)

        async def run_once(name: str) -> str:
            config = {**NO_LIMIT, "configurable": {"thread_id": name}}
            result = await agent.ainvoke(INPUT, config, durability="sync")
            return str(result["messages"][-1].content)

        yield run_once


if __name__ == "__main__":
    main(opened)
