"""`python -m benchmarks.at_once`: 500 durable runs at once in one process, on one SQLite file that waits for the disk.

A run has three turns with a tool call each, at the strongest level: `durability="sync"`, `synchronous="FULL"`. Measured where
appends that wait together share a commit, where each has one of its own, and in memory, which is what the runs take by
themselves; interleaved, each in a fresh process. How much sharing saves depends on how long the disk takes to be sure, which is
measured too.

Beside them as many runs of a workflow of three steps that may not happen twice, and both on PostgreSQL.

The exit code is 1 when shared commits make less than five times as many runs, or fewer workflows than runs.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Coroutine
from pathlib import Path
from typing import Any

from agentsdk import MemoryRunStore, RunConfig, RunLimits, Runner, RunStore
from agentsdk.databases import sqlite_thread
from agentsdk.workflow import step, workflow
from benchmarks import fake
from benchmarks.contestants.agentsdk import make_agent
from benchmarks.crash.stores import open_store, running
from benchmarks.durable import Commits, script
from benchmarks.envs import REPO
from benchmarks.report import rows_table

RUNS = 500
TURNS = 3
ROUNDS = 3
LEAST_RATIO = 5.0
EACH, SHARED, MEMORY, WORKFLOWS, POSTGRES, WORKFLOWS_POSTGRES = MODES = (
    "a commit for each append",
    "shared commits",
    "in memory",
    "workflows, shared commits",
    "PostgreSQL",
    "workflows, PostgreSQL",
)


@step
async def add(total: int) -> int:
    """A step that may not happen twice, as the tool of the runs may not."""
    return total + 1


@workflow
async def chain(steps: int) -> int:
    """Steps one after another."""
    total = 0
    for _ in range(steps):
        total = await add(total)
    return total


async def measure(mode: str, runs: int, folder: str) -> dict[str, float]:
    """Runs a second, milliseconds of CPU a run, and SQLite's commits a run."""
    if mode == EACH:
        sqlite_thread.MOST_TOGETHER = 1
    commits = Commits()
    commits.install()
    said = script(TURNS)
    agent = make_agent(None, "")

    async def run(name: str) -> None:
        config = RunConfig(store=store, run_id=name, limits=RunLimits(turns=None), tracing_disabled=True)
        if mode in (WORKFLOWS, WORKFLOWS_POSTGRES):
            assert (await chain.run(TURNS, run_config=config)).final_output == TURNS
            return
        work = fake.Run(said)
        fake.RUN.set(work)
        result = await Runner.run(agent, fake.PROMPT, run_config=config)
        assert result.final_output == said.text
        work.check(name, model_calls=TURNS + 1, tool_calls=TURNS)

    with running("postgres" if mode in (POSTGRES, WORKFLOWS_POSTGRES) else "sqlite", Path(folder)) as address:
        store = MemoryRunStore() if mode == MEMORY else open_store(address)
        return await _at_once(run, runs, store, commits)


async def _at_once(
    run: Callable[[str], Coroutine[Any, Any, None]], runs: int, store: RunStore, commits: Commits
) -> dict[str, float]:
    """The figures of so many runs at once, behind a first one."""
    await asyncio.create_task(run("first"))
    before, began, cpu = commits.count, time.perf_counter(), time.process_time()
    await asyncio.gather(*(asyncio.create_task(run(f"run-{number}")) for number in range(runs)))
    seconds, cpu_seconds = time.perf_counter() - began, time.process_time() - cpu
    made = commits.count - before
    await store.aclose()
    return {"runs/s": runs / seconds, "CPU ms a run": cpu_seconds / runs * 1000, "commits a run": made / runs}


def disk_ms(folder: str) -> float:
    """How long the disk takes until it is sure of 8 KB."""
    took: list[float] = []
    with open(os.path.join(folder, "disk"), "wb", buffering=0) as file:
        for _ in range(50):
            file.write(bytes(8192))
            began = time.perf_counter()
            os.fsync(file.fileno())
            took.append(time.perf_counter() - began)
    return statistics.median(took) * 1000


def main() -> int:
    """Measure and print; 1 if the bound is missed."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.at_once", description="many durable runs in one process")
    parser.add_argument("--mode", choices=MODES, help="only this, in this process: prints one JSON line")
    parser.add_argument("--runs", type=int, default=RUNS, help="how many at once (default: %(default)s)")
    flags = parser.parse_args()
    if flags.mode:
        with tempfile.TemporaryDirectory(prefix="agentsdk-at-once-") as folder:
            print(json.dumps(asyncio.run(measure(flags.mode, flags.runs, folder))))
        return 0
    rounds: dict[str, list[dict[str, float]]] = {mode: [] for mode in MODES}
    disk: list[float] = []
    for _ in range(ROUNDS):
        with tempfile.TemporaryDirectory(prefix="agentsdk-at-once-") as folder:
            disk.append(disk_ms(folder))
        for mode, given in rounds.items():
            command = (sys.executable, "-m", "benchmarks.at_once", "--mode", mode, "--runs", str(flags.runs))
            done = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=True, cwd=REPO)
            given.append(json.loads(done.stdout))
    keys = tuple(rounds[EACH][0])
    rows = [(mode, *(f"{statistics.median(one[key] for one in given):.3g}" for key in keys)) for mode, given in rounds.items()]
    print(rows_table([("", *keys), *rows]))

    def times(mode: str, other: str) -> float:
        return statistics.median(one["runs/s"] / two["runs/s"] for one, two in zip(rounds[mode], rounds[other], strict=True))

    ratio = times(SHARED, EACH)
    beside = min(times(WORKFLOWS, SHARED), times(WORKFLOWS_POSTGRES, POSTGRES))
    print(f"shared commits make {ratio:.1f} times as many runs, at {statistics.median(disk):.2f} ms until the disk is sure")
    if ratio < LEAST_RATIO:
        print(f"missed: {LEAST_RATIO:g} times")
    print(f"workflows are {beside:.2f} times as many as runs, or more")
    return 0 if ratio >= LEAST_RATIO and beside >= 1 else 1


if __name__ == "__main__":
    sys.exit(main())
