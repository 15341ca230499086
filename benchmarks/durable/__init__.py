"""Durable runs beside each other: every contestant runs the same script on a SQLite file of its own, in a process of its own.

    python -m benchmarks.durable.<contestant> <turns> <folder> <synchronous> <rounds>

prints one JSON line: the median milliseconds of a run, and of one more run what it asked of the disk.
"""

from __future__ import annotations

import asyncio
import json
import os
import sqlite3
import statistics
import sys
import time
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

from benchmarks import fake

RunOnce = Callable[[str], Awaitable[str]]
"""Runs the script once, durably, under this id; gives the final output."""

_WRITES = ("INSERT", "UPDATE", "DELETE", "REPLACE")
_connect = sqlite3.connect


class Commits:
    """Counts the transactions that write, on every connection opened while it is installed."""

    def __init__(self) -> None:
        self.count = 0

    def install(self) -> None:
        """Watch the connections that are opened from now on."""

        def connect(*args: Any, **kwargs: Any) -> sqlite3.Connection:
            connection = _connect(*args, **kwargs)
            connection.set_trace_callback(self._watcher())
            return connection

        sqlite3.connect = connect  # type: ignore[assignment]
        sqlite3.dbapi2.connect = connect  # type: ignore[attr-defined]

    def _watcher(self) -> Callable[[str], None]:
        inside = wrote = False

        def watch(statement: str) -> None:
            nonlocal inside, wrote
            word = statement.lstrip().upper()
            if word.startswith("BEGIN"):
                inside, wrote = True, False
            elif word.startswith(("COMMIT", "END")):
                self.count += wrote
                inside = wrote = False
            elif word.startswith("ROLLBACK"):
                inside = wrote = False
            elif word.startswith(_WRITES):
                wrote = inside
                self.count += not inside

        return watch


def written() -> int:
    """Bytes this process has handed to `write` so far."""
    return next(int(line.split()[1]) for line in Path("/proc/self/io").read_text().splitlines() if line.startswith("wchar"))


def script(turns: int) -> fake.Script:
    """A conversation of so many tool turns and an answer."""
    return fake._script(f"{turns}-turns", turns=turns)  # pyright: ignore[reportPrivateUsage]


def main(contestant: Callable[[str, str], Any]) -> None:
    """Measure `contestant`, an async context manager that opens a file with a `synchronous` level and gives a `RunOnce`."""
    turns, folder, synchronous, rounds = int(sys.argv[1]), Path(sys.argv[2]), sys.argv[3], int(sys.argv[4])
    said = script(turns)

    async def once(run_once: RunOnce, name: str) -> float:
        work = fake.Run(said)
        fake.RUN.set(work)
        began = time.perf_counter()
        assert await run_once(name) == said.text
        took = time.perf_counter() - began
        work.check(name, model_calls=turns + 1, tool_calls=turns)
        return took * 1000

    async def measure() -> dict[str, float]:
        commits = Commits()
        async with contestant(os.fspath(folder / "timed.db"), synchronous) as run_once:
            await once(run_once, "warm")
            times = [await once(run_once, f"run-{number}") for number in range(rounds)]
        commits.install()
        async with contestant(os.fspath(folder / "counted.db"), synchronous) as run_once:
            await once(run_once, "warm")
            commits.count, before = 0, written()
            await once(run_once, "counted")
            return {"ms": statistics.median(times), "commits": commits.count, "kb": (written() - before) / 1000}

    print(json.dumps(asyncio.run(measure())))
