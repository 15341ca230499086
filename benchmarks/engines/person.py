"""The person of a sweep on our engines: begins the runs, decides what they wait for, and notes how each ends."""

from __future__ import annotations

import asyncio
import json
import signal
import time
from typing import Any

from agentsdk.errors import AgentsException, RunConflictError, StoreUnavailableError
from agentsdk.runs import Decision
from benchmarks.engines.plans import World
from benchmarks.engines.programs import begun_with

LOOKS_EVERY_S = 0.2


async def attend(runs: Any, *, begins: bool = True) -> None:
    """Begin each run at its time, and decide until all are at their end, or SIGTERM asks how the others stand.

    `runs` are a `TemporalRuns` or a `DBOSRuns`. Where workers begin them, they only are looked at (`begins=False`).
    """
    world, began, stopped = World(), time.monotonic(), asyncio.Event()
    asyncio.get_running_loop().add_signal_handler(signal.SIGTERM, stopped.set)
    later = sorted((at, run_id, plan) for run_id, plan, at in world.read("runs"))
    waits: dict[str, bool] = {}
    while (later or waits) and not stopped.is_set():
        while later and later[0][0] <= time.monotonic() - began:
            _, run_id, plan = later.pop(0)
            if begins:
                given, agent = begun_with(run_id, plan)
                await runs.start(given, run_id=run_id, agent=agent)
            waits[run_id] = False
        for run_id in list(waits):
            try:
                rest = await runs.status(run_id)
            except AgentsException:  # no worker has begun it, or none answers: the next look tells
                continue
            waits[run_id] = rest.status == "waiting" and bool(rest.calls)
            for waiting in rest.calls if waits[run_id] else ():
                await _decide(runs, world, run_id, waiting)
            if rest.status in ("finished", "failed", "cancelled"):
                world.write("ends", [run_id, await _end(runs, run_id)])
                del waits[run_id]
        await asyncio.sleep(LOOKS_EVERY_S)
    for run_id, waiting in waits.items():
        world.write("ends", [run_id, "waiting" if waiting else "goes on and on"])


async def _end(runs: Any, run_id: str) -> str:
    """How a run has ended: what the engine itself has it as."""
    try:
        await runs.result(run_id)
    except AgentsException as error:
        return f"{type(error).__name__}: {error}"
    return "finished"


async def _decide(runs: Any, world: World, run_id: str, waiting: Any) -> None:
    """Say what there is to say of a call; of one in doubt what is seen outside."""
    decision = Decision(waiting.call_id, "approve", waiting.path)
    if waiting.waits_for == "answer":
        decision = Decision(waiting.call_id, "answer", waiting.path, answer=True)
    elif waiting.waits_for == "outcome":
        world.say(run_id, "/".join((*waiting.path, waiting.call_id)))
        body = f"{waiting.tool}:{json.loads(waiting.arguments)['n']}"
        decision = Decision(waiting.call_id, "retry", waiting.path)
        if world.begun()[run_id, body]:
            decision = Decision(waiting.call_id, "provide_result", waiting.path, result=f"{body} is done")
    try:
        await runs.decide(run_id, decision)
    except (RunConflictError, StoreUnavailableError):
        pass  # it is decided already, and nobody has gone on with it yet; or nobody answers: what waits is asked for again
