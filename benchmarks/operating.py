"""`python -m benchmarks.operating`: what it costs to operate runs, beside 10,000 that wait for a person.

In each store: a page of the list; the start of a worker, as a process; from a submit, and from a decision, to a worker in
another process that goes on with the run; from a cancel to the end of a run that is in a long call there; and what an idle
worker asks its store for in a second. Medians of 20.

The exit code is 1 when a bound is missed: a page within 20 ms, a start within 1 s, the rest within 50 ms on PostgreSQL and
Redis, at most 1 statement a second.
"""

from __future__ import annotations

import argparse
import asyncio
import statistics
import sys
import tempfile
import time
from asyncio.subprocess import DEVNULL, Process
from collections.abc import Awaitable, Callable
from pathlib import Path

from agentsdk import RunConfig, Runner, RunQuery, RunStore, RunSummary, ToolApprovalItem, Worker
from agentsdk.events import RunResumed, Stopped
from agentsdk.testing import FaultyStore
from benchmarks.crash.stores import STORES, Address, open_store, running
from benchmarks.deploy.app import clerk
from benchmarks.envs import REPO
from benchmarks.processes import environment
from benchmarks.report import rows_table

WAITING = 10_000
ROUNDS = 20
IDLE_S = 5.0
BOUNDS = {"list ms": 20.0, "start ms": 1000.0, "submit ms": 50.0, "decide ms": 50.0, "cancel ms": 50.0, "statements/s": 1.0}
NOTIFYING = ("postgres", "redis")


class Counted(FaultyStore):
    """Counts what it is asked, but for waits: the waiters of a store that notifies send nothing."""

    def __init__(self, store: RunStore) -> None:
        super().__init__(store, "locked", at=sys.maxsize)

    async def wait_due(self, seen: int, timeout: float) -> int:
        """As the store's."""
        return await self.store.wait_due(seen, timeout)


async def fill(store: RunStore, waiting: int) -> None:
    """That many runs that wait for a person."""
    now = time.time()

    async def begin(number: int) -> None:
        summary = RunSummary(
            run_id=f"waiting-{number}",
            rev=1,
            status="waiting",
            agent="clerk",
            first_agent="clerk",
            started_at=now - number,
            updated_at=now,
            waiting=1,
            metadata={"user": f"user-{number % 100}"},
        )
        await store.append(summary.run_id, 0, [b"{}"], summary)

    for first in range(0, waiting, 200):
        await asyncio.gather(*map(begin, range(first, min(first + 200, waiting))))


async def list_ms(store: RunStore) -> float:
    """A page of those that wait, and one by metadata: the slower."""
    queries = (RunQuery(status="waiting", limit=100), RunQuery(metadata={"user": "user-7"}, limit=100))
    return max([await _median_ms(lambda query=query: store.list(query)) for query in queries])


async def start_worker(address: Address, folder: Path) -> Process:
    """A worker as a process of its own."""
    kind, place = address
    url = place if kind in NOTIFYING else f"{kind}:{place}"
    command = ("-m", "agentsdk", "worker", "benchmarks.deploy.app:agents", "--store", url, "--lease", "30", "--grace", "0")
    settings = {"DEPLOY_EFFECTS": str(folder / "effects"), "DEPLOY_REPLY_S": "0", "DEPLOY_WORK_S": "0"}
    return await asyncio.create_subprocess_exec(
        *(sys.executable, *command), cwd=REPO, env={**environment(), **settings}, stdout=DEVNULL
    )


async def until(store: RunStore, run_id: str, fits: Callable[[RunSummary], bool]) -> RunSummary:
    """The run's summary, once it fits."""
    while True:
        summary = await store.summary(run_id)
        if summary is not None and fits(summary):
            return summary
        await store.wait(run_id, 0 if summary is None else summary.rev, 1)


async def taken_at(store: RunStore, run_id: str) -> float:
    """When the run was last gone on with (a Unix timestamp)."""
    state = await Runner.load(run_id, run_config=RunConfig(store=store))
    return next(event.at for event in reversed(state.value.log) if isinstance(event, RunResumed))


async def submit_ms(store: RunStore) -> float:
    """From a submit to a worker that goes on with the run."""
    config, took = RunConfig(store=store), list[float]()
    for number in range(ROUNDS):
        began = time.time()
        run_id = await Runner.submit(clerk, "look", run_id=f"submitted-{number}", run_config=config)
        await until(store, run_id, lambda run: run.status == "finished")
        took.append(await taken_at(store, run_id) - began)
    return statistics.median(took) * 1000


async def decide_ms(store: RunStore) -> float:
    """From a decision to a worker that goes on with the run."""
    config, took = RunConfig(store=store), list[float]()
    for number in range(ROUNDS):
        run_id = await Runner.submit(clerk, "send", run_id=f"decided-{number}", run_config=config)
        await until(store, run_id, lambda run: run.status == "waiting")
        state = await Runner.load(run_id, run_config=config)
        for item in state.interruptions:
            assert isinstance(item, ToolApprovalItem)
            state.approve(item)
        began = time.time()
        await Runner.decide(state, run_config=config)
        await until(store, run_id, lambda run: run.status == "finished")
        took.append(await taken_at(store, run_id) - began)
    return statistics.median(took) * 1000


async def cancel_ms(store: RunStore) -> float:
    """From a cancel to the end of a run that is in a long call."""
    config, took = RunConfig(store=store), list[float]()
    for number in range(ROUNDS):
        run_id = await Runner.submit(clerk, "hang", run_id=f"cancelled-{number}", run_config=config)
        await until(store, run_id, lambda run: run.phase == "act")
        await asyncio.sleep(0.1)  # it is in its call for a while
        began = time.time()
        await Runner.cancel(run_id, by="the benchmark", run_config=config)
        await until(store, run_id, lambda run: run.status == "cancelled")
        state = await Runner.load(run_id, run_config=config)
        took.append(next(event.at for event in reversed(state.value.log) if isinstance(event, Stopped)) - began)
    return statistics.median(took) * 1000


async def statements_a_second(store: RunStore) -> float:
    """What an idle worker asks its store for."""
    counted = Counted(store)
    worker = Worker(counted, agents=clerk)
    working = asyncio.create_task(worker.run())
    await asyncio.sleep(1)
    before, began = counted.operations, time.monotonic()
    await asyncio.sleep(IDLE_S)
    rate = (counted.operations - before) / (time.monotonic() - began)
    worker.stop()
    await working
    return rate


async def measure(address: Address, folder: Path, waiting: int) -> dict[str, float]:
    """All figures of one store."""
    store = open_store(address)
    try:
        await fill(store, waiting)
        figures = {"list ms": await list_ms(store), "statements/s": await statements_a_second(store)}
        await Runner.submit(clerk, "look", run_id="first", run_config=RunConfig(store=store))
        began = time.monotonic()
        process = await start_worker(address, folder)
        try:
            await until(store, "first", lambda run: run.status == "finished")
            figures["start ms"] = (time.monotonic() - began) * 1000
            figures["submit ms"] = await submit_ms(store)
            figures["decide ms"] = await decide_ms(store)
            figures["cancel ms"] = await cancel_ms(store)
        finally:
            process.terminate()
            await process.wait()
        return figures
    finally:
        await store.aclose()


async def _median_ms(call: Callable[[], Awaitable[object]]) -> float:
    took: list[float] = []
    for _ in range(ROUNDS):
        began = time.perf_counter()
        await call()
        took.append(time.perf_counter() - began)
    return statistics.median(took) * 1000


def main() -> int:
    """Do what the flags ask for; whether every bound was kept."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.operating", description="what it costs to operate runs")
    parser.add_argument("--store", action="append", choices=STORES, help="only this one; may be given again")
    parser.add_argument("--waiting", type=int, default=WAITING, help="how many runs wait (default: %(default)s)")
    flags = parser.parse_args()
    rows: list[tuple[object, ...]] = [("", *BOUNDS)]
    missed: list[str] = []
    for name in flags.store or ("sqlite", "postgres", "redis"):
        with tempfile.TemporaryDirectory(prefix="agentsdk-operating-") as folder, running(name, Path(folder)) as address:
            figures = asyncio.run(measure(address, Path(folder), flags.waiting))
        rows.append((name, *(f"{figures[key]:.3g}" for key in BOUNDS)))
        missed += [f"{name}: {key}" for key, bound in BOUNDS.items() if figures[key] > bound and _is_bound(name, key)]
    print(rows_table(rows))
    for one in missed:
        print(f"missed: {one}")
    return 1 if missed else 0


def _is_bound(name: str, key: str) -> bool:
    return name in NOTIFYING or key not in ("submit ms", "decide ms", "cancel ms")


if __name__ == "__main__":
    sys.exit(main())
