"""agno: `SqliteDb`, which keeps a session with its runs; what it writes, and when, is its own choice."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from agno.agent import Agent
from agno.db.sqlite import AsyncSqliteDb
from sqlalchemy import event

from benchmarks import fake
from benchmarks.contestants.agno import FakeModel
from benchmarks.durable import RunOnce, main


@asynccontextmanager
async def opened(path: str, synchronous: str) -> AsyncIterator[RunOnce]:
    """Runs on the file `path`."""
    db = AsyncSqliteDb(db_file=path)

    @event.listens_for(db.db_engine.sync_engine, "connect")
    def configure(connection: object, _: object) -> None:
        cursor = connection.cursor()  # type: ignore[attr-defined]
        cursor.execute("PRAGMA journal_mode = WAL")
        cursor.execute(f"PRAGMA synchronous = {synchronous}")
        cursor.close()

    agent = Agent(model=FakeModel(id="fake"), instructions=fake.INSTRUCTIONS, tools=[fake.add], telemetry=False, db=db)

    async def run_once(name: str) -> str:
        return str((await agent.arun(fake.PROMPT, session_id=name)).content)

    yield run_once
    await db.db_engine.dispose()


if __name__ == "__main__":
    main(opened)
