"""`python -m benchmarks.engines overhead`: what a run and a turn take behind an engine, beside a `Worker` on the same store.

Runs one after the other in one process, with a model and tools that take no time, from the call that begins a run until its end
stands in the store. Half of them have one turn, half many: the difference is what a turn takes. Medians; an engine may take
30 ms more a run than a `Worker`, and nothing more a turn: no more than what rounds differ by. All files are in memory, where
the system has a place for that: what a disk takes is not the engine's.

What bounds Temporal's rows stands below each: the time until the activity of a workflow that has nothing else begins, on the
same server. A client that has no worker pays one look of the server's into its queue more. The server may look 1,000 times a
second instead of 20, which is what a development server does (`tests/temporal_server.py` says why).
"""

from __future__ import annotations

import asyncio
import statistics
import sys
import tempfile
import time
import uuid
from collections.abc import AsyncGenerator, Awaitable, Callable
from contextlib import asynccontextmanager
from dataclasses import replace
from functools import partial
from pathlib import Path

from agentsdk import (
    Agent,
    FunctionCall,
    FunctionCallOutput,
    Message,
    ModelRequest,
    ModelResponse,
    RunConfig,
    RunLimits,
    Runner,
    SQLiteRunStore,
    Usage,
    Worker,
)
from agentsdk import function_tool as tool
from agentsdk.events import ModelStreamEvent, ResponseCompleted
from benchmarks.engines.kills import running
from benchmarks.report import rows_table

RUNS = 30
"""Of each length, in each of the rounds."""

ROUNDS = 3
SHORT, LONG = 1, 41
"""Turns that call a tool."""

A_RUN, A_TURN = 30.0, 0.5
"""Milliseconds that an engine may take more than a `Worker`."""

MEMORY = Path("/dev/shm")

CONFIG = RunConfig(tracing_disabled=True, limits=RunLimits(turns=None))


class Turns:
    """A model that follows a plan of one call a turn, at once."""

    name = "turns"

    async def stream(self, request: ModelRequest) -> AsyncGenerator[ModelStreamEvent, None]:
        """Make the next call."""
        done = sum(isinstance(item, FunctionCallOutput) for item in request.items)
        turns = next(int(str(item.content)) for item in request.items if isinstance(item, Message))
        call = FunctionCall(str(done), "look", "{}")
        reply = (Message("assistant", "all is done"), "stop") if done == turns else (call, "tool_calls")
        yield ResponseCompleted(ModelResponse((reply[0],), Usage(1, 10, 5), reply[1]))


@tool(effect="none", polling=True)
async def look() -> str:
    """Look something up, at once."""
    return "seen"


clerk = Agent[None, str](name="clerk", model=Turns(), tools=[look])

Begin = Callable[[str, str], Awaitable[object]]
"""Begins a run, by its input and its id."""


@asynccontextmanager
async def by_worker(store: SQLiteRunStore, _: dict[str, str]) -> AsyncGenerator[Begin]:
    """The runs of a `Worker`."""
    config = replace(CONFIG, store=store)
    worker = Worker(store, agents=[clerk], config=CONFIG)
    working = asyncio.create_task(worker.run())
    try:
        yield lambda given, run_id: Runner.submit(clerk, given, run_id=run_id, run_config=config)
    finally:
        worker.stop()
        await working
        await store.aclose()


@asynccontextmanager
async def by_temporal(store: SQLiteRunStore, address: dict[str, str], *, elsewhere: bool = False) -> AsyncGenerator[Begin]:
    """Those of Temporal; `elsewhere`: begun by a client that has no worker, as in another process."""
    from temporalio.client import Client

    from agentsdk.durable.temporal import TemporalRuns, temporal_worker

    client = await Client.connect(address["engine"])
    async with temporal_worker(client, store=store, agents=[clerk], task_queue="overhead", config=CONFIG):
        beginning = await Client.connect(address["engine"]) if elsewhere else client
        runs = TemporalRuns(beginning, task_queue="overhead")
        yield lambda given, run_id: runs.start(given, run_id=run_id, agent="clerk")
    await store.aclose()


@asynccontextmanager
async def by_temporal_alone(
    store: SQLiteRunStore, address: dict[str, str], *, elsewhere: bool = False
) -> AsyncGenerator[Begin]:
    """No runs: workflows with an activity that does nothing, until that begins."""
    from temporalio.client import Client
    from temporalio.worker import Worker as TemporalWorker

    from benchmarks.engines.ways.temporal_nothing import Nothing, begun, nothing

    client = await Client.connect(address["engine"])
    beginning = await Client.connect(address["engine"]) if elsewhere else client

    async def begin(_: str, run_id: str) -> None:
        event = begun[run_id] = asyncio.Event()
        handle = await beginning.start_workflow(Nothing.run, id=run_id, task_queue="alone", request_eager_start=True)
        await event.wait()
        ends.append(asyncio.create_task(handle.result()))

    ends: list[asyncio.Task[None]] = []
    async with TemporalWorker(client, task_queue="alone", workflows=[Nothing], activities=[nothing]):
        yield begin
        await asyncio.gather(*ends)
    await store.aclose()


@asynccontextmanager
async def by_dbos(store: SQLiteRunStore, address: dict[str, str]) -> AsyncGenerator[Begin]:
    """Those of DBOS."""
    from dbos import DBOS

    from agentsdk.durable.dbos import DBOSRuns, JSONSerializer

    runs = DBOSRuns(store, agents=[clerk], config=CONFIG)
    DBOS(
        config={
            "name": "overhead",
            "system_database_url": address["engine"],
            "serializer": JSONSerializer(),
            "log_level": "ERROR",
        }
    )
    DBOS.launch()
    try:
        yield lambda given, run_id: runs.start(given, run_id=run_id, agent="clerk")
    finally:
        await runs.aclose()
        await store.aclose()  # before DBOS takes its threads, which the event loop has too
        DBOS.destroy()


ALONE = frozenset({"- an activity that does nothing", "- an activity that does nothing, begun elsewhere"})
WAYS = {
    "Worker": ("none", by_worker),
    "DBOS": ("dbos-sqlite", by_dbos),
    "Temporal": ("temporal", by_temporal),
    "- an activity that does nothing": ("temporal", by_temporal_alone),
    "Temporal, begun elsewhere": ("temporal", partial(by_temporal, elsewhere=True)),
    "- an activity that does nothing, begun elsewhere": ("temporal", partial(by_temporal_alone, elsewhere=True)),
}


async def one_run(store: SQLiteRunStore | None, begin: Begin, turns: int) -> float:
    """Milliseconds of a run; without a store until `begin` returns."""
    run_id = uuid.uuid4().hex
    began, rev = time.perf_counter(), 0
    await begin(str(turns), run_id)
    while store is not None and ((summary := await store.summary(run_id)) is None or not summary.is_over):
        if summary is not None and summary.status == "failed":
            raise RuntimeError(summary.error)
        rev = summary.rev if summary else rev
        await store.wait(run_id, rev, 1.0)
    return (time.perf_counter() - began) * 1000


async def measure(way: str, address: dict[str, str], folder: Path) -> tuple[float, float]:
    """Milliseconds of a run of one turn, and of a further turn."""
    store = SQLiteRunStore(folder / "runs.db")
    seen_in = None if way in ALONE else store
    async with WAYS[way][1](store, address) as begin:
        for _ in range(5):
            await one_run(seen_in, begin, SHORT)
        short = statistics.median([await one_run(seen_in, begin, SHORT) for _ in range(RUNS)])
        long = statistics.median([await one_run(seen_in, begin, LONG) for _ in range(1 if way in ALONE else RUNS // 3)])
    return short, (long - short) / (LONG - SHORT)


def overhead() -> bool:
    """Print the table; whether the bounds are kept."""
    if MEMORY.is_dir():
        tempfile.tempdir = str(MEMORY)
    found: dict[str, list[tuple[float, float]]] = {way: [] for way in WAYS}
    for _ in range(ROUNDS):
        for way, (engine, _of) in WAYS.items():
            print(".", end="", file=sys.stderr, flush=True)
            with tempfile.TemporaryDirectory(prefix="agentsdk-overhead-") as name, running(engine, Path(name)) as address:
                found[way].append(asyncio.run(measure(way, address, Path(name))))
    print(file=sys.stderr)
    best = {way: (min(run for run, _ in rounds), min(turn for _, turn in rounds)) for way, rounds in found.items()}
    base_run, base_turn = best["Worker"]
    rows: list[tuple[object, ...]] = [("", "a run of one turn, ms", "over Worker", "a further turn, ms", "over Worker")]
    holds = True
    for way, (run, turn) in best.items():
        of_turn = ("", "") if way in ALONE else (f"{turn:.2f}", f"{turn - base_turn:+.2f}")
        rows.append((way, f"{run:.1f}", f"{run - base_run:+.1f}", *of_turn))
        holds = holds and (way in ALONE or (run - base_run <= A_RUN and turn - base_turn <= A_TURN))
    print(rows_table(rows))
    return holds
