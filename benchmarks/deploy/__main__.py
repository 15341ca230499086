"""`python -m benchmarks.deploy`: 200 runs, 4 workers that are stopped and killed at random for 60 s; what becomes of the runs.

On SQLite, PostgreSQL and Redis. Must be: every run finished or waiting for a person, nothing lost, nothing repeated without a
key, nothing stranded. With `--workflow` all runs are of a workflow, and workers are killed, not stopped. Linux only. The exit
code is 1 when a bound is missed.
"""

from __future__ import annotations

import argparse
import asyncio
import sys
import tempfile
import time
from pathlib import Path

from agentsdk import RunStore
from benchmarks.crash.stores import STORES, running
from benchmarks.deploy.service import PLANS, WORKFLOW, Outcome, Service
from benchmarks.report import rows_table

HEAD = ("", "runs", "SIGTERM", "kill -9", "finished", "waiting", "lost", "repeated", "stranded", "in doubt", "seconds")


def main() -> int:
    """Do what the flags ask for; whether every bound was kept."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.deploy", description="workers stopped and killed at work")
    parser.add_argument("--store", action="append", choices=STORES, help="only this one; may be given again")
    parser.add_argument("--runs", type=int, default=200, help="how many runs (default: %(default)s)")
    parser.add_argument("--workers", type=int, default=4, help="how many workers (default: %(default)s)")
    parser.add_argument("--seconds", type=float, default=60.0, help="how long workers are ended (default: %(default)s)")
    parser.add_argument("--every", type=float, default=2.0, help="seconds between two ends (default: %(default)s)")
    parser.add_argument("--workflow", action="store_true", help="a workflow in place of agents, kill -9 alone")
    parser.add_argument("--seed", type=int, default=0, help="which workers end, and how (default: %(default)s)")
    flags = parser.parse_args()

    async def chaos(service: Service, store: RunStore) -> None:
        until = time.monotonic() + flags.seconds
        while time.monotonic() < until:
            await asyncio.sleep(flags.every)
            await service.end_one(store)
            print(".", end="", file=sys.stderr, flush=True)

    rows: list[tuple[object, ...]] = [HEAD]
    holds = True
    for name in flags.store or ("sqlite", "postgres", "redis"):
        print(f"{name} ", end="", file=sys.stderr, flush=True)
        with tempfile.TemporaryDirectory(prefix="agentsdk-deploy-") as folder, running(name, Path(folder)) as address:
            plans, stopped = ((WORKFLOW,), 0.0) if flags.workflow else (PLANS, 0.5)
            service = Service(address, Path(folder), workers=flags.workers, seed=flags.seed, plans=plans, stopped=stopped)
            outcome = asyncio.run(service.play(flags.runs, chaos, over=flags.seconds))
        print(file=sys.stderr)
        rows.append(row(name, outcome))
        holds = holds and outcome.holds
        for note in outcome.notes:
            print(f"  {note}")
        print(f"  in work when a worker ended: {dict(outcome.phases)}")
    print(rows_table(rows))
    return 0 if holds else 1


def row(name: str, outcome: Outcome) -> tuple[object, ...]:
    """A line of the table."""
    ended = (outcome.stopped, outcome.killed, outcome.finished, outcome.waiting)
    missed = (outcome.lost, outcome.repeated, outcome.stranded)
    return name, outcome.runs, *ended, *missed, outcome.in_doubt, f"{outcome.seconds:.0f}"


if __name__ == "__main__":
    sys.exit(main())
