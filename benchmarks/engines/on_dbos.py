"""Ours on DBOS: `python -m benchmarks.engines.on_dbos worker|person NAME ADDRESS`."""

from __future__ import annotations

import asyncio
import json
import sys
import time

from dbos import DBOS

from agentsdk import RunConfig, RunLimits
from agentsdk.durable.dbos import DBOSRuns, JSONSerializer
from benchmarks.crash.stores import open_store
from benchmarks.engines.person import attend
from benchmarks.engines.plans import World
from benchmarks.engines.programs import agents, begun_with

LEASE = 3.0


async def begin(runs: DBOSRuns, number: int, workers: int, since: float) -> None:
    """Begin this worker's share of the runs, each at its time after `since`; one that is begun already stays as it is."""
    for at, run_id, plan in sorted((at, run_id, plan) for run_id, plan, at in World().read("runs")[number::workers]):
        await asyncio.sleep(max(0.0, since + at - time.time()))
        given, agent = begun_with(run_id, plan)
        await runs.start(given, run_id=run_id, agent=agent)


async def main(role: str, name: str, address: dict[str, str]) -> None:
    """Play a role. Who begins a run in DBOS drives it, or has a queue for that: so the workers begin the runs."""
    store, queue = open_store((address["kind"], address["store"])), address.get("queue")
    config = RunConfig(lease=LEASE, limits=RunLimits(turns=None), tracing_disabled=True)
    runs = DBOSRuns(store, agents=agents, queue=queue, config=config)
    DBOS(
        config={
            "name": "kills",
            "system_database_url": address["engine"],
            "executor_id": name,
            "application_version": "1",
            "serializer": JSONSerializer(),
        }
    )
    if role == "person":
        DBOS.listen_queues([])
    DBOS.launch()
    if role == "person":
        await attend(runs, begins=False)
        return
    if queue is not None:
        await DBOS.register_queue_async(queue)
    World().ready()
    await begin(runs, int(name.partition("-")[2]), int(address["workers"]), float(address["since"]))
    await asyncio.Event().wait()


if __name__ == "__main__":
    asyncio.run(main(sys.argv[1], sys.argv[2], json.loads(sys.argv[3])))
