"""The person of a sweep where the loop is in the engine's workflow: agrees to whatever a run waits for.

A run is a workflow that says whether it waits, and goes on when it is told so: by a query and a signal on Temporal, by an event
and a message on DBOS. Only the engines' packages are imported here, each where it is used.
"""

from __future__ import annotations

import asyncio
import signal
import time
from typing import Any, Protocol

from benchmarks.engines.plans import World

QUEUE = "kills"
LOOKS_EVERY_S = 0.2


class Runs(Protocol):
    """The runs of an engine."""

    async def begin(self, run_id: str, plan: str) -> None:
        """Begin a run."""
        ...

    async def end(self, run_id: str) -> str | None:
        """`finished`, what else has become of it, or None while it goes on."""
        ...

    async def agree(self, run_id: str) -> bool:
        """Agree, where the run waits for that; whether it does."""
        ...


async def attend(runs: Runs) -> None:
    """Begin each run at its time, agree to all, and note how each ends; all at once where SIGTERM asks how they stand."""
    world, began, stopped = World(), time.monotonic(), asyncio.Event()
    asyncio.get_running_loop().add_signal_handler(signal.SIGTERM, stopped.set)
    later = sorted((at, run_id, plan) for run_id, plan, at in world.read("runs"))
    waits: dict[str, bool] = {}
    while (later or waits) and not stopped.is_set():
        while later and later[0][0] <= time.monotonic() - began:
            _, run_id, plan = later.pop(0)
            await runs.begin(run_id, plan)
            waits[run_id] = False
        for run_id in list(waits):
            if (end := await runs.end(run_id)) is None:
                waits[run_id] = await runs.agree(run_id)
            else:
                world.write("ends", [run_id, end])
                del waits[run_id]
        await asyncio.sleep(LOOKS_EVERY_S)
    for run_id, waiting in waits.items():
        world.write("ends", [run_id, "waiting" if waiting else "goes on and on"])


class TemporalRuns:
    """Those of a Temporal server; the workflow is named `Run`."""

    def __init__(self, client: Any) -> None:
        self._client = client

    async def begin(self, run_id: str, plan: str) -> None:
        await self._client.start_workflow("Run", plan, id=run_id, task_queue=QUEUE)

    async def end(self, run_id: str) -> str | None:
        handle = self._client.get_workflow_handle(run_id)
        status = (await handle.describe()).status
        if status.name in ("RUNNING", "COMPLETED"):
            return None if status.name == "RUNNING" else "finished"
        try:
            await handle.result()
        except Exception as error:
            cause: BaseException = error
            while cause.__cause__ is not None:
                cause = cause.__cause__
            return f"{status.name}: {type(cause).__name__}: {cause}"[:200]
        return "finished"

    async def agree(self, run_id: str) -> bool:
        handle = self._client.get_workflow_handle(run_id)
        try:
            async with asyncio.timeout(2):
                waits = await handle.query("waits")
        except Exception:  # no worker answers
            return False
        if waits:
            await handle.signal("agree")
        return bool(waits)


class DBOSRuns:
    """Those of a database of DBOS; the workflow is named `Run`."""

    def __init__(self, url: str) -> None:
        from dbos import DBOSClient

        self._client = DBOSClient(system_database_url=url)
        self._agreed: set[str] = set()

    async def begin(self, run_id: str, plan: str) -> None:
        options = {"queue_name": QUEUE, "workflow_name": "Run", "workflow_id": run_id, "app_version": "1"}
        await self._client.enqueue_async(options, run_id, plan)

    async def end(self, run_id: str) -> str | None:
        status = await (await self._client.retrieve_workflow_async(run_id)).get_status()
        if status.status in ("PENDING", "ENQUEUED"):
            return None
        return "finished" if status.status == "SUCCESS" else f"{status.status}: {status.error!r}"[:200]

    async def agree(self, run_id: str) -> bool:
        waits = bool(await self._client.get_event_async(run_id, "waits", timeout_seconds=0))
        if waits and run_id not in self._agreed:
            await self._client.send_async(run_id, True, "agree")
        (self._agreed.add if waits else self._agreed.discard)(run_id)
        return waits


async def serve_on_dbos(url: str, name: str) -> None:
    """Work on the runs of a database, under a name that the next process takes when this one is killed."""
    from dbos import DBOS

    DBOS(config={"name": "kills", "system_database_url": url, "executor_id": name, "application_version": "1"})
    DBOS.launch()
    await DBOS.register_queue_async(QUEUE)
    World().ready()
    await asyncio.Event().wait()


async def ask_on_dbos() -> None:
    """In a workflow: wait until the person agrees."""
    from dbos import DBOS

    await DBOS.set_event_async("waits", True)
    while not await DBOS.recv_async("agree", timeout_seconds=3600):
        pass
    await DBOS.set_event_async("waits", False)
