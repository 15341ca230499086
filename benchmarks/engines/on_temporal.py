"""Ours on Temporal: `python -m benchmarks.engines.on_temporal worker|person NAME ADDRESS`."""

from __future__ import annotations

import asyncio
import json
import os
import sys
from datetime import timedelta
from typing import Any

from temporalio.client import Client

from agentsdk import RunConfig, RunLimits
from agentsdk.durable.temporal import TemporalRuns, temporal_worker
from agentsdk.runs import Decision
from benchmarks.crash.stores import open_store
from benchmarks.engines.person import attend
from benchmarks.engines.plans import World
from benchmarks.engines.programs import agents


class BySignal(TemporalRuns):
    """Decides by signals, which need no worker to be sent: the history is shorter than by Updates."""

    async def decide(self, run_id: str, decision: Decision, *, confirm: bool = False) -> int:
        """Decide on a call."""
        return await super().decide(run_id, decision, confirm=confirm)


QUEUE = "kills"
HEARTBEAT_S = float(os.environ.get("ENGINES_HEARTBEAT_S", "3"))
"""Seconds after which a silent worker is taken for dead."""

LEASE = 3.0
OPTIONS: dict[str, Any] = {"debug_mode": True, "sticky_queue_schedule_to_start_timeout": timedelta(seconds=1)}
"""A machine under load is no deadlock, and the cache of a worker that was killed is not waited for."""


async def main(role: str, name: str, address: dict[str, str]) -> None:
    """Play a role. The person's process has neither agents nor a store."""
    client = await Client.connect(address["engine"])
    if role == "person":
        await attend(BySignal(client, task_queue=QUEUE, heartbeat=HEARTBEAT_S))
        return
    store = open_store((address["kind"], address["store"]))
    config = RunConfig(lease=LEASE, limits=RunLimits(turns=None), tracing_disabled=True)
    async with temporal_worker(client, store=store, agents=agents, task_queue=QUEUE, config=config, **OPTIONS):
        World().ready()
        await asyncio.Event().wait()


if __name__ == "__main__":
    asyncio.run(main(sys.argv[1], sys.argv[2], json.loads(sys.argv[3])))
