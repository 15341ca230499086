"""An application of DBOS: in a test, with `launched`, or a process: `python -m tests.durable.dbos_app PLACE EFFECTS FAULT RUN`.

The process begins the run RUN, unless it is there already, prints what agentsdk logs, and ends when its input is closed. With
the FAULT `kill` it kills itself inside the tool `charge`, once its effect is done; with `stall` it stops there: all of it, as a
process does whose machine is suspended. It writes nothing just then, so it keeps no lock of a database.
"""

from __future__ import annotations

import asyncio
import logging
import os
import signal
import sys
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from functools import partial
from pathlib import Path
from typing import Any

import anyio
import msgspec
from dbos import DBOS, DBOSConfig

from agentsdk import Agent, PostgresRunStore, RunConfig, SQLiteRunStore, function_tool
from agentsdk.durable.dbos import DBOSRuns, JSONSerializer
from agentsdk.ports.model import ModelRequest
from agentsdk.ports.run_store import RunStore
from agentsdk.testing import ScriptedModel, call
from agentsdk.types.items import FunctionCallOutput

LEASE = 600.0
"""Far longer than any test waits: whoever has to wait for one fails."""


class Place(msgspec.Struct, frozen=True):
    """Where an application keeps its runs, and DBOS its workflows: a folder for SQLite, or one database of PostgreSQL."""

    runs: str
    workflows: str
    schema: str = "dbos"

    def store(self) -> RunStore:
        """A store of the runs."""
        return PostgresRunStore(self.runs) if self.runs.startswith("postgresql") else SQLiteRunStore(self.runs)

    def config(self, executor: str) -> DBOSConfig:
        """What DBOS is configured with."""
        return DBOSConfig(
            name="app",
            system_database_url=self.workflows,
            dbos_system_schema=self.schema,
            executor_id=executor,
            application_version="1",
            serializer=JSONSerializer(),
            log_level="CRITICAL",
            notification_listener_polling_interval_sec=0.05,
        )


@asynccontextmanager
async def launched(place: Place, *agents: Agent[Any, Any], executor: str = "one", **options: Any) -> AsyncGenerator[DBOSRuns]:
    """An application with these agents; what it was at is handed back at the end."""
    DBOS.destroy(destroy_registry=True)  # what other tests have made is not of this application
    store = options.pop("store", None) or place.store()
    options.setdefault("config", RunConfig(lease=LEASE))
    runs = DBOSRuns(store, agents=agents, **options)
    DBOS(config=place.config(executor))
    try:
        DBOS.launch()
        yield runs
    finally:
        await runs.aclose()
        await store.aclose()
        # In a thread that is not of DBOS's pool: its own threads wait for this event loop while they end.
        await anyio.to_thread.run_sync(partial(DBOS.destroy, destroy_registry=True))
        await _ended()


async def _ended() -> None:
    """What DBOS leaves to end by itself a second later."""
    for task in asyncio.all_tasks() - {asyncio.current_task()}:
        if (task.get_coro().__qualname__ or "").startswith(("_CancellationWatcher", "_execute_workflow")):  # type: ignore[union-attr]
            task.cancel()
            await asyncio.wait({task})


def cashier(effects: Path, fault: str = "") -> Agent[Any, Any]:
    """An agent that charges once, and writes each time that the charging begins into a file."""

    @function_tool(effect="once")
    async def charge(amount: int) -> str:
        """Charge somebody."""
        with effects.open("a") as file:
            file.write(f"{os.getpid()}\n")
        if fault == "kill":
            os.kill(os.getpid(), signal.SIGKILL)
        if fault == "stall":
            os.kill(os.getpid(), signal.SIGSTOP)
        return f"charged {amount}"

    def say(request: ModelRequest) -> Any:
        results = [item for item in request.items if isinstance(item, FunctionCallOutput)]
        return f"It is done: {results[-1].output}" if results else call("charge", amount=3)

    return Agent(name="Cashier", tools=[charge], model=ScriptedModel([say] * 1_000))


async def main(place: str, effects: str, fault: str, run_id: str) -> None:
    logging.basicConfig(stream=sys.stdout, format="%(message)s")
    where = msgspec.json.decode(place, type=Place)
    async with launched(where, cashier(Path(effects), fault)) as runs:
        await runs.start("Charge 3.", run_id=run_id)
        await asyncio.to_thread(sys.stdin.read)


if __name__ == "__main__":
    asyncio.run(main(*sys.argv[1:]))
