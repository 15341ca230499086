"""`python -m benchmarks.cluster`: 1 to 16 workers, each a process, around one PostgreSQL, beside a queue of due runs.

Twice: with a model that takes 0.5 s to reply, so that a worker is bounded by its concurrency, as with a real provider; and with
one that replies at once, so that the processors of this machine are the bound. `--runs 100000` is how deep the queue of
docs/scaling.md is; `--record` keeps the figures, of which `scripts/cluster_tables.py` makes its tables and
`scripts/draw_cluster.py` its picture.

The exit code is 1 when 16 workers that wait for their model bring less than 6 times the runs of one to their end.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import sys
import tempfile
import time
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from pathlib import Path

from benchmarks.cluster.database import Database
from benchmarks.cluster.measure import Figures, Queue, Setting, measure
from benchmarks.cluster.tables import BUSY, WAITING, tables
from tests import postgres_server

WORKERS = (1, 2, 4, 8, 16)
LEAST_RATIO = 6.0
RECORDED = Path(__file__).parent / "recorded.json"
SETTINGS = "\nmax_connections = 300\nshared_buffers = 128MB\nmax_wal_size = 4GB\n"
BUSY_CONCURRENCY = 16


def main() -> int:
    """Measure and print; 1 if the bound is missed."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.cluster", description="N workers around one PostgreSQL")
    parser.add_argument("--workers", type=int, nargs="+", default=WORKERS, help="how many (default: %(default)s)")
    parser.add_argument("--runs", type=int, default=2_000, help="how many are due all the time (default: %(default)s)")
    parser.add_argument("--seconds", type=float, default=8.0, help="how long each measurement takes (default: %(default)s)")
    parser.add_argument("--reply", type=float, default=0.5, help="seconds a model takes to reply (default: %(default)s)")
    parser.add_argument("--concurrency", type=int, default=4, help="runs at once in a worker (default: %(default)s)")
    parser.add_argument("--only", choices=(WAITING, BUSY), help="only with a model that waits, or one that does not")
    parser.add_argument("--record", action="store_true", help=f"write the figures to {RECORDED.name}, for the picture")
    flags = parser.parse_args()
    if flags.record and flags.only:
        parser.error("what is recorded is of one state of the code: leave out --only")
    replies = {WAITING: (flags.concurrency, flags.reply), BUSY: (BUSY_CONCURRENCY, 0.0)}
    settings = {
        mode: [
            Setting(workers=workers, concurrency=concurrency, reply_s=reply_s, queued=flags.runs, seconds=flags.seconds)
            for workers in flags.workers
        ]
        for mode, (concurrency, reply_s) in replies.items()
        if flags.only in (None, mode)
    }
    measured = asyncio.run(measure_all(settings))
    for about, table in tables(measured).items():
        print(f"\n{about}\n\n{table}")
    if flags.record:
        record(measured)
    return 0 if scales(measured.get(WAITING, [])) else 1


async def measure_all(settings: Mapping[str, Sequence[Setting]]) -> dict[str, list[Figures]]:
    """One after another, on one server and one queue; by the names of the settings."""
    with postgres_server.running(SETTINGS) as server, tempfile.TemporaryDirectory(prefix="agentsdk-cluster-") as folder:
        async with Database(server) as database:
            queue = Queue(server.url)

            async def one(setting: Setting) -> Figures:
                print(f"{time.strftime('%X')} {setting}", file=sys.stderr, flush=True)
                return await measure(setting, server.url, database, queue, Path(folder))

            try:
                return {mode: [await one(setting) for setting in group] for mode, group in settings.items()}
            finally:
                await queue.store.aclose()


def record(measured: Mapping[str, Sequence[Figures]]) -> None:
    """Keep the figures, for the picture."""
    given = {mode: [asdict(row) for row in rows] for mode, rows in measured.items()}
    RECORDED.write_text(json.dumps({"cpus": os.cpu_count(), **given}, indent=1) + "\n", encoding="utf-8")


def scales(rows: Sequence[Figures]) -> bool:
    """Whether 16 workers did 6 times what one did, where both were measured."""
    by_workers = {row.workers: row.runs_per_s for row in rows}
    if not {1, 16} <= set(by_workers):
        return True
    ratio = by_workers[16] / by_workers[1]
    print(f"16 workers bring {ratio:.1f} times the runs of one to their end (bound: {LEAST_RATIO:g})")
    return ratio >= LEAST_RATIO


if __name__ == "__main__":
    sys.exit(main())
