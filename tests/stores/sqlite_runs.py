"""Runs in SQLite files and in other processes, for the tests of its store."""

from __future__ import annotations

import asyncio
import contextlib
import sqlite3
import subprocess
import sys
import threading
from collections.abc import AsyncIterator
from pathlib import Path

from agentsdk.stores.sqlite import SQLiteRunStore
from agentsdk.types.summary import RunStatus, RunSummary


def run(run_id: str, rev: int, *, status: RunStatus = "running", agent: str = "a", started_at: float = 1.0) -> RunSummary:
    return RunSummary(run_id=run_id, rev=rev, status=status, agent=agent, started_at=started_at, updated_at=2.0)


@contextlib.asynccontextmanager
async def opened(path: Path, **settings: float) -> AsyncIterator[SQLiteRunStore]:
    async with contextlib.aclosing(SQLiteRunStore(path, **settings)) as store:
        yield store


@contextlib.asynccontextmanager
async def at_work(store: SQLiteRunStore) -> AsyncIterator[list[str]]:
    """What the store is asked for inside waits until the end; the statements from then on."""
    statements: list[str] = []
    began, may_end = threading.Event(), threading.Event()

    def work(connection: sqlite3.Connection) -> None:
        began.set()
        may_end.wait(30)
        connection.set_trace_callback(statements.append)

    working = asyncio.create_task(store._database.run(work))
    await asyncio.to_thread(began.wait, 30)
    yield statements
    await asyncio.sleep(0)
    may_end.set()
    await working


async def python(script: str, *arguments: str) -> asyncio.subprocess.Process:
    return await asyncio.create_subprocess_exec(
        sys.executable, "-W", "error", "-c", PRELUDE + script, *arguments, stdout=subprocess.PIPE
    )


PRELUDE = """
import asyncio, os, sys
from agentsdk.stores.sqlite import SQLiteRunStore
from agentsdk.types.errors import RunConflictError, StoreError
from agentsdk.types.summary import RunSummary

def run(run_id, rev):
    return RunSummary(run_id=run_id, rev=rev, status="running", agent="a", started_at=1.0, updated_at=2.0)
"""
