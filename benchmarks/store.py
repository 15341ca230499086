"""`python -m benchmarks.store`: what durability costs, in every store, and beside langgraph and agno on SQLite.

First a run of a thousand tool turns in each store: milliseconds and bytes written a turn, early and late; neither may grow with
the turn number. Then a run of 25 tool turns on SQLite, in the same `synchronous` setting for all, interleaved: milliseconds,
commits that wait for the disk, and bytes.

With `--wait`, only the time from an append in another process to the return of `wait` here.

Bytes are what the store itself writes: of SQLite and of files what this process hands to `write`, of PostgreSQL its WAL, of
Redis its append-only file.
"""

from __future__ import annotations

import argparse
import asyncio
import contextlib
import functools
import json
import os
import pickle
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from typing import Any

from agentsdk import (
    EncryptedRunStore,
    FileRunStore,
    MemoryRunStore,
    PostgresRunStore,
    RedisRunStore,
    RunConfig,
    RunLimits,
    Runner,
    RunStore,
    SQLiteRunStore,
)
from benchmarks import fake
from benchmarks.contestants.agentsdk import make_agent
from benchmarks.durable import script, written
from benchmarks.envs import REPO, EnvError, ensure

TURNS = 1000
WINDOWS = {10: (5, 15), 100: (80, 120), 1000: (900, 1000)}
"""The turns that are averaged for turn 10, 100 and 1,000: one turn alone may meet a checkpoint of the database."""

GROWTH = 1.2
"""What a late turn may take of an early one, in bytes."""

ROUNDS = 7
CONTESTANTS = {"agentsdk": "agentsdk", "langgraph": "langgraph-sqlite", "agno": "agno-sqlite"}

Meter = Callable[[], Awaitable[int]]
"""Bytes the store has written so far."""


@contextlib.asynccontextmanager
async def stores(name: str) -> AsyncIterator[tuple[RunStore, Meter]]:
    """An empty store of this kind, and what measures its writing."""
    with tempfile.TemporaryDirectory() as folder, contextlib.ExitStack() as servers:
        if name == "memory":
            yield MemoryRunStore(), nothing
        elif "SQLite" in name:
            level: Any = "NORMAL" if "NORMAL" in name else "FULL"
            sqlite: RunStore = SQLiteRunStore(os.path.join(folder, "runs.db"), synchronous=level)
            yield EncryptedRunStore(sqlite, bytes(range(32))) if "encrypted" in name else sqlite, own_writes
            await sqlite.aclose()
        elif "files" in name:
            level = "NORMAL" if "NORMAL" in name else "FULL"
            files = FileRunStore(os.path.join(folder, "runs"), synchronous=level)
            yield files, own_writes
            await files.aclose()
        elif name == "PostgreSQL":
            import asyncpg

            from tests import postgres_server

            url = servers.enter_context(postgres_server.running()).url
            watcher: Any = await asyncpg.connect(url)

            async def wal() -> int:
                return int(await watcher.fetchval("SELECT pg_current_wal_lsn() - '0/0'"))

            postgres = PostgresRunStore(url)
            yield postgres, wal
            await postgres.aclose()
            await watcher.close()
        else:
            import redis.asyncio

            from tests import redis_server

            url = servers.enter_context(redis_server.running()).url
            client: Any = redis.asyncio.Redis.from_url(url)

            async def log() -> int:
                return int((await client.info("persistence"))["aof_current_size"])

            kept = RedisRunStore(url)
            yield kept, log
            await kept.aclose()
            await client.aclose()


WAITS = 200
"""The appends that are waited for in each store."""

MOST_MS = 50.0
"""What the median wake may take after the append has returned in another process."""

APPENDER = """
import asyncio, pickle, sys, time
from agentsdk.testing.store_conformance.check import append

async def main():
    store = pickle.loads(bytes.fromhex(sys.argv[1]))()
    rev = 0
    while await asyncio.to_thread(sys.stdin.readline):
        await append(store, "waited", rev, b"x" * 300)
        rev += 1
        print(time.time(), flush=True)
    await store.aclose()

asyncio.run(main())
"""


@contextlib.contextmanager
def shared_stores(name: str) -> Iterator[Callable[[], RunStore]]:
    """What opens a store of this kind, in any process."""
    with tempfile.TemporaryDirectory() as folder, contextlib.ExitStack() as servers:
        if name == "SQLite":
            yield functools.partial(SQLiteRunStore, os.path.join(folder, "runs.db"))
        elif name == "PostgreSQL":
            from tests import postgres_server

            yield functools.partial(PostgresRunStore, servers.enter_context(postgres_server.running()).url)
        else:
            from tests import redis_server

            yield functools.partial(RedisRunStore, servers.enter_context(redis_server.running()).url)


async def wakes(name: str) -> list[float]:
    """Milliseconds from the return of each append in another process to that of `wait` here; below 0 where this was first."""
    with shared_stores(name) as factory:
        store = factory()
        command = [sys.executable, "-c", APPENDER, pickle.dumps(factory).hex()]
        other = await asyncio.create_subprocess_exec(*command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, cwd=REPO)
        assert other.stdin is not None and other.stdout is not None
        took: list[float] = []
        for rev in range(WAITS):
            waiter = asyncio.create_task(store.wait("waited", rev, 60.0))
            await store.wait("another", 0, 0.03)  # the other waits by now
            other.stdin.write(b"go\n")
            assert await waiter == rev + 1
            woken = time.time()
            took.append((woken - float(await other.stdout.readline())) * 1000)
        other.stdin.close()
        await other.wait()
        await store.aclose()
        return took


async def print_wakes() -> bool:
    """Whether every store wakes in time."""
    held = True
    for name in ("SQLite", "PostgreSQL", "Redis"):
        took = await wakes(name)
        median = statistics.median(took)
        held = held and median <= MOST_MS
        print(f"{name:12} woken {median:6.1f} ms after an append elsewhere (median), {max(took):6.1f} ms (worst of {WAITS})")
    return held


async def nothing() -> int:
    return 0


async def own_writes() -> int:
    return written()


async def long_run(name: str) -> dict[int, tuple[float, float]]:
    """Milliseconds and bytes a turn around each turn of `WINDOWS`."""
    said = script(TURNS)
    work = fake.Run(said)
    fake.RUN.set(work)
    edges = {turn for window in WINDOWS.values() for turn in window}
    times: dict[int, float] = {}
    sizes: dict[int, int] = {}
    agent = make_agent(None, "")
    async with stores(name) as (store, meter):
        model: Any = agent.model
        answers = model.stream

        async def metered(request: Any) -> AsyncIterator[Any]:
            turn = work.model_calls
            if turn in edges:
                sizes[turn] = await meter()
            times[turn] = time.perf_counter()
            if sys.stdout.isatty() and turn % 50 == 0:
                print(f"\r  {name}: turn {turn}", end="", flush=True)
            async for event in answers(request):
                yield event

        model.stream = metered
        config = RunConfig(store=store, limits=RunLimits(turns=None))
        result = await Runner.run(agent, fake.PROMPT, run_config=config)
        assert result.final_output == said.text
        work.check(name, model_calls=TURNS + 1, tool_calls=TURNS)
    figures: dict[int, tuple[float, float]] = {}
    for turn, (first, last) in WINDOWS.items():
        spans = [times[number + 1] - times[number] for number in range(first, last)]
        figures[turn] = (statistics.median(spans) * 1000, (sizes[last] - sizes[first]) / (last - first))
    return figures


def beside(synchronous: str, turns: int) -> dict[str, dict[str, float]]:
    """The median of each contestant's figures over interleaved rounds, each in a fresh process."""
    pythons = {name: ensure(environment).python for name, environment in CONTESTANTS.items()}
    rounds: dict[str, list[dict[str, float]]] = {name: [] for name in CONTESTANTS}
    for _ in range(ROUNDS):
        for name, python in pythons.items():
            with tempfile.TemporaryDirectory() as folder:
                command = [python, "-m", f"benchmarks.durable.{name}", str(turns), folder, synchronous, "3"]
                done = subprocess.run(command, capture_output=True, text=True, check=False, cwd=REPO)
            if done.returncode:
                raise EnvError(f"{name} failed: {done.stderr.strip().splitlines()[-1]}")
            rounds[name].append(json.loads(done.stdout))
    return {name: {key: statistics.median(one[key] for one in given) for key in given[0]} for name, given in rounds.items()}


async def main() -> int:
    """Measure and print; 1 if a bound is missed."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.store", description="what durability costs")
    parser.add_argument("--only", choices=("stores", "peers"), help="only the long runs, or only the comparison")
    parser.add_argument("--wait", action="store_true", help="only how soon `wait` sees an append of another process")
    arguments = parser.parse_args()
    if arguments.wait:
        return 0 if await print_wakes() else 1
    only: str | None = arguments.only
    held = True
    if only != "peers":
        print(f"{'':20}" + "".join(f"{f'turn {turn}':>22}" for turn in WINDOWS))
        for name in (
            "memory",
            "SQLite NORMAL",
            "SQLite FULL",
            "encrypted SQLite",
            "files NORMAL",
            "files FULL",
            "PostgreSQL",
            "Redis",
        ):
            figures = await long_run(name)
            grown = figures[1000][1] / figures[100][1] if figures[100][1] else 1.0
            held = held and grown <= GROWTH
            cells = "".join(f"{f'{ms:.2f} ms {size:,.0f} B':>22}" for ms, size in figures.values())
            print(f"\r{name:20}{cells}   bytes x{grown:.2f}: {'PASS' if grown <= GROWTH else 'MISS'}", flush=True)
    if only != "stores":
        for synchronous in ("FULL", "NORMAL"):
            print(f"\n25 tool turns on SQLite, synchronous={synchronous}, {ROUNDS} rounds")
            figures_of = beside(synchronous, 25)
            for name, figure in figures_of.items():
                print(f"  {name:12}{figure['ms']:9.1f} ms {figure['commits']:6.0f} commits {figure['kb']:9.0f} kB")
            ratio = figures_of["langgraph"]["ms"] / figures_of["agentsdk"]["ms"]
            held = held and ratio > 1
            print(f"  langgraph with durability='sync' takes {ratio:.1f} times as long: {'PASS' if ratio > 1 else 'MISS'}")
    return 0 if held else 1


if __name__ == "__main__":
    sys.exit(asyncio.run(main()))
