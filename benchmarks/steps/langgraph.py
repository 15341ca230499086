"""langgraph's functional API: `@entrypoint` and `@task`; with a file `AsyncSqliteSaver` and `durability="sync"`."""

from __future__ import annotations

import os
from collections.abc import AsyncGenerator
from contextlib import AsyncExitStack, asynccontextmanager
from typing import Any

os.environ.update(LANGSMITH_TRACING="false", LANGCHAIN_TRACING_V2="false")

from langgraph.checkpoint.sqlite.aio import AsyncSqliteSaver
from langgraph.func import entrypoint, task

from benchmarks import steps
from benchmarks.steps import Chain, main


@task
async def add(total: int) -> int:
    """A step."""
    return await steps.add(total)


@asynccontextmanager
async def opened(file: str | None) -> AsyncGenerator[Chain]:
    """Runs in the file."""
    async with AsyncExitStack() as stack:
        saver: Any = None
        if file is not None:
            saver = await stack.enter_async_context(AsyncSqliteSaver.from_conn_string(file))
            await saver.setup()
            await saver.conn.execute("PRAGMA synchronous = FULL")

        @entrypoint(checkpointer=saver)
        async def chain(count: int) -> int:
            total = 0
            for _ in range(count):
                total = await add(total)
            return total

        async def run(name: str, count: int, resume: bool) -> int:
            config: Any = {"recursion_limit": 1_000_000, "configurable": {"thread_id": name}}
            options: Any = {} if saver is None else {"durability": "sync"}
            return int(await chain.ainvoke(None if resume else count, config, **options))

        yield run


if __name__ == "__main__":
    main(opened)
