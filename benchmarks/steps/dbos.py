"""DBOS: `@DBOS.workflow` and `@DBOS.step`, in a SQLite file: it has no other way to keep steps but a database."""

from __future__ import annotations

from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from typing import Any

import sqlalchemy
from dbos import DBOS, SetWorkflowID

from benchmarks import steps
from benchmarks.steps import Chain, main


@DBOS.step()
async def add(total: int) -> int:
    """A step."""
    return await steps.add(total)


@DBOS.workflow()
async def chain(count: int) -> int:
    """A chain of steps."""
    total = 0
    for _ in range(count):
        total = await add(total)
    return total


@asynccontextmanager
async def opened(file: str | None) -> AsyncGenerator[Chain]:
    """Runs in the file."""
    assert file is not None, "without a database DBOS runs nothing"
    engine = sqlalchemy.create_engine(f"sqlite:///{file}")

    @sqlalchemy.event.listens_for(engine, "connect")
    def configure(connection: Any, _: object) -> None:
        connection.isolation_level = "IMMEDIATE"
        for pragma in ("journal_mode = WAL", "synchronous = FULL", "busy_timeout = 30000", "foreign_keys = ON"):
            connection.execute(f"PRAGMA {pragma}")

    config: Any = {
        "name": "chain",
        "system_database_url": f"sqlite:///{file}",
        "system_database_engine": engine,
        "run_admin_server": False,
        "log_level": "ERROR",
    }
    DBOS(config=config)
    DBOS.launch()

    async def run(name: str, count: int, resume: bool) -> int:
        if resume:
            return await (await DBOS.retrieve_workflow_async(name)).get_result()
        with SetWorkflowID(name):
            return await chain(count)

    yield run
    DBOS.destroy()


if __name__ == "__main__":
    main(opened)
