"""A run as a workflow of DBOS: it waits for a person, its process ends, and another one goes on with it.

pip install 'agentsdk[dbos]'
python examples/dbos_run.py
"""

from __future__ import annotations

import asyncio
import tempfile
from pathlib import Path

from dbos import DBOS, DBOSConfig

import agentsdk
from agentsdk import Agent, ModelSettings, SQLiteRunStore, function_tool
from agentsdk.durable import WaitingCall
from agentsdk.durable.dbos import DBOSRuns, JSONSerializer
from agentsdk.runs import Decision


@function_tool(needs_approval=True, effect="once")
def send_invoice(number: int) -> str:
    """Send an invoice to the customer."""
    return f"Invoice {number} is sent."


clerk = Agent(
    name="Clerk",
    instructions="Do what you are asked with your tool.",
    tools=[send_invoice],
    tool_use_behavior="stop_on_first_tool",
    model_settings=ModelSettings(tool_choice="send_invoice", temperature=0),
)


def application(folder: Path) -> tuple[DBOSRuns, SQLiteRunStore]:
    """What each process has: a store, the runs of it, and DBOS, which keeps its workflows in a file of its own."""
    store = SQLiteRunStore(folder / "runs.db")
    runs = DBOSRuns(store, agents=[clerk])
    DBOS(
        config=DBOSConfig(
            name="billing",
            system_database_url=f"sqlite:///{folder}/dbos.db",
            application_version="1",  # the same for all versions of the agents
            serializer=JSONSerializer(),
            log_level="ERROR",
        )
    )
    return runs, store


async def until_it_waits(runs: DBOSRuns) -> WaitingCall:
    """The call that waits for a person."""
    while True:
        for waiting in (await runs.status("invoice-7")).calls:
            return waiting
        await asyncio.sleep(0.1)


async def first(runs: DBOSRuns, store: SQLiteRunStore) -> None:
    """Begin the run, and end when it waits."""
    DBOS.launch()
    await runs.start("Please send invoice 7.", run_id="invoice-7")
    waiting = await until_it_waits(runs)
    print(f"{waiting.tool}({waiting.arguments}) waits for {waiting.waits_for}")
    await runs.aclose()
    await agentsdk.aclose()
    await store.aclose()


async def second(runs: DBOSRuns, store: SQLiteRunStore) -> None:
    """Launching DBOS goes on with the run; a person decides."""
    DBOS.launch()
    waiting = await until_it_waits(runs)
    await runs.decide("invoice-7", Decision(waiting.call_id, "approve", by="ann"))
    print(f"answer: {await runs.result('invoice-7')}")
    await runs.aclose()
    await agentsdk.aclose()
    await store.aclose()


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as temporary:
        for part in (first, second):
            try:
                asyncio.run(part(*application(Path(temporary))))
            finally:
                DBOS.destroy(destroy_registry=True)
