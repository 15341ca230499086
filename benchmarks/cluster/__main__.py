"""`python -m benchmarks.cluster`: 1 to 16 workers, each a process, around one PostgreSQL, beside a queue of due runs.

Twice: with a model that takes 1 s to reply, so that a worker is bounded by its concurrency, as with a real provider; and with
one that replies at once, so that the processors of this machine are the bound. `--runs 100000 --seconds 30 --record` is what
docs/scaling.md shows.

The exit code is 1 when 16 workers that wait for their model bring less than 6 times the runs of one to their end.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import sys
import tempfile
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path

from benchmarks.cluster.database import Database
from benchmarks.cluster.measure import Figures, Queue, Setting, measure
from benchmarks.report import rows_table
from tests import postgres_server

WORKERS = (1, 2, 4, 8, 16)
LEAST_RATIO = 6.0
RECORDED = Path(__file__).parent / "recorded.json"
SETTINGS = "\nmax_connections = 300\nshared_buffers = 128MB\nmax_wal_size = 4GB\n"
WAITING, BUSY = "waiting", "busy"
HEADS: dict[str, str] = {
    "workers": "{:d}",
    "slots": "{:d}",
    "runs_per_s": "{:.1f}",
    "fewest": "{:d}",
    "most": "{:d}",
    "places_p99": "{:d}",
    "places_max": "{:d}",
    "urgent_ms": "{:.0f}",
    "urgent_max_ms": "{:.0f}",
    "overtaking": "{:.1f}",
    "takeover_s": "{:.1f}",
    "takeover_max_s": "{:.1f}",
    "statements_per_s": "{:.0f}",
    "statements_per_run": "{:.1f}",
    "commits_per_run": "{:.1f}",
    "syncs_per_s": "{:.0f}",
    "wal_kb_per_run": "{:.1f}",
    "database_cpu_ms": "{:.1f}",
    "worker_cpu_ms": "{:.1f}",
    "connections": "{:d}",
}


def main() -> int:
    """Measure and print; 1 if the bound is missed."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.cluster", description="N workers around one PostgreSQL")
    parser.add_argument("--workers", type=int, nargs="+", default=WORKERS, help="how many (default: %(default)s)")
    parser.add_argument("--runs", type=int, default=2_000, help="how many are due all the time (default: %(default)s)")
    parser.add_argument("--seconds", type=float, default=8.0, help="how long each measurement takes (default: %(default)s)")
    parser.add_argument("--reply", type=float, default=1.0, help="seconds a model takes to reply (default: %(default)s)")
    parser.add_argument("--concurrency", type=int, default=4, help="runs at once in a worker (default: %(default)s)")
    parser.add_argument("--only", choices=(WAITING, BUSY), help="only with a model that waits, or one that does not")
    parser.add_argument("--record", action="store_true", help=f"write the figures to {RECORDED.name}, for the picture")
    flags = parser.parse_args()
    measured: dict[str, list[Figures]] = {}
    for mode, concurrency, reply_s in ((WAITING, flags.concurrency, flags.reply), (BUSY, 16, 0.0)):
        if flags.only in (None, mode):
            settings = [
                Setting(workers=workers, concurrency=concurrency, reply_s=reply_s, queued=flags.runs, seconds=flags.seconds)
                for workers in flags.workers
            ]
            measured[mode] = asyncio.run(measure_all(settings))
            print(table(f"a model that takes {reply_s:g} s to reply, {concurrency} runs at once in a worker", measured[mode]))
    if flags.record:
        given = {mode: [asdict(one) for one in rows] for mode, rows in measured.items()}
        RECORDED.write_text(json.dumps({"cpus": os.cpu_count(), **given}, indent=1) + "\n", encoding="utf-8")
    return 0 if scales(measured.get(WAITING, [])) else 1


async def measure_all(settings: Sequence[Setting]) -> list[Figures]:
    """One after another, on one server."""
    rows: list[Figures] = []
    with postgres_server.running(SETTINGS) as server, tempfile.TemporaryDirectory(prefix="agentsdk-cluster-") as folder:
        async with Database(server) as database:
            queue = Queue(server.url)
            try:
                for setting in settings:
                    print(f"{setting.workers} workers, {setting.queued} runs due", file=sys.stderr, flush=True)
                    rows.append(await measure(setting, server.url, database, queue, Path(folder)))
            finally:
                await queue.store.aclose()
    return rows


def table(title: str, rows: Sequence[Figures]) -> str:
    """The figures, a line for each number of workers."""
    cells = [tuple(form.format(asdict(row)[name]) for name, form in HEADS.items()) for row in rows]
    heads = tuple(name.replace("_per_", "/").replace("_", " ") for name in HEADS)
    return f"\n{title}; {rows[0].queued} due\n\n{rows_table([heads, *cells])}\n"


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
