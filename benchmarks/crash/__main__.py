"""`python -m benchmarks.crash`: kill runs at every point of every step, and count what that costs.

agentsdk on each of its shared stores, 250 kills each at the points that `world.POINTS` names and some from outside at random
times; beside it peers with what their documentation gives for a crash. Must be: nothing lost, nothing repeated, all that is
unknown said. `--race` has processes race to resume one run instead: must be one winner a round.

Linux only. The exit code is 1 when agentsdk misses a bound. Results go to `benchmarks/results`.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import platform
import sys
import tempfile
import time
from collections.abc import Callable
from dataclasses import asdict
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from benchmarks.crash.audit import Audit
from benchmarks.crash.kills import kill_ours, kill_peer
from benchmarks.crash.race import CONFLICT, Race, race
from benchmarks.crash.stores import STORES, running
from benchmarks.envs import EnvError, ensure
from benchmarks.processes import RESULTS
from benchmarks.report import rows_table

PEERS = {"openai-agents": ("openai-agents", "openai_agents"), "langgraph": ("langgraph-sqlite", "langgraph")}
"""Each peer's environment and its module here."""

HEAD = ("", "kills", "lost", "effects repeated", "replies asked again", "requests again", "in doubt", "surfaced", "seconds")
"""Of the requests that were sent again those count as repeated whose reply was recorded: a reply that never came is asked for
again by any program."""


def main() -> int:
    """Do what the flags ask for; whether every bound was kept."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.crash", description="kill runs at every point of every step")
    parser.add_argument("--store", action="append", choices=STORES, help="only this one; may be given again")
    parser.add_argument("--quick", action="store_true", help="a tenth of it: to see that it works, not to judge")
    parser.add_argument("--peers", action=argparse.BooleanOptionalAction, default=True, help="the peers too")
    parser.add_argument("--random", type=int, default=50, metavar="N", help="kills from outside for each store, 50 unless told")
    parser.add_argument("--race", action="store_true", help="20 processes race to resume one run, 200 rounds, instead")
    flags = parser.parse_args()
    stores = tuple(flags.store or STORES)
    if flags.race:
        return asyncio.run(races(stores, processes=20, rounds=20 if flags.quick else 200))
    steps = 5 if flags.quick else 50
    return asyncio.run(kills(stores, steps, flags.random // 10 if flags.quick else flags.random, flags.peers))


async def kills(stores: tuple[str, ...], steps: int, at_random: int, peers: bool) -> int:
    """The kills of each store, and of the peers."""
    rows: list[tuple[object, ...]] = [HEAD]
    audits: dict[str, Audit] = {}
    for name in stores:
        with tempfile.TemporaryDirectory(prefix="agentsdk-crash-") as folder, running(name, Path(folder)) as address:
            started, on_kill = _dots(f"agentsdk, {name}")
            audit = await kill_ours(address, Path(folder), steps, at_random=at_random, on_kill=on_kill)
            audits[f"agentsdk, {name}"] = audit
            rows.append(_row(f"agentsdk, {name}", audit, started))
            print(flush=True)
    kept = all(audit.holds for audit in audits.values())
    for name, (environment, module) in PEERS.items() if peers else ():
        try:
            python = ensure(environment).python
        except EnvError as error:
            print(f"{name} is skipped: {error}")
            continue
        with tempfile.TemporaryDirectory(prefix="agentsdk-crash-") as folder:
            started, on_kill = _dots(name)
            audit = await kill_peer(python, module, Path(folder), min(steps, 10), on_kill=on_kill)
            audits[name] = audit
            rows.append(_row(name, audit, started))
            print(flush=True)
    table = rows_table(rows)
    print(f"\n{table}\n")
    for name, audit in audits.items():
        for note in audit.notes[:10]:
            print(f"{name}: {note}")
    print("agentsdk: nothing lost, nothing repeated, all that is unknown said:", "PASS" if kept else "MISS")
    _write("crash", table, {name: {"total": asdict(audit.total), **asdict(audit)} for name, audit in audits.items()})
    return 0 if kept else 1


async def races(stores: tuple[str, ...], processes: int, rounds: int) -> int:
    """The race on each store."""
    found: dict[str, Race] = {}
    rows: list[tuple[object, ...]] = [("", "rounds", "one winner", "effects", "conflicts", "other errors", "seconds")]
    for name in stores:
        with tempfile.TemporaryDirectory(prefix="agentsdk-crash-") as folder, running(name, Path(folder)) as address:
            started, on_round = _dots(f"{processes} processes, {name}")
            found[name] = one = await race(address, Path(folder), processes, rounds, on_round)
            others = one.losers.total() - one.losers[CONFLICT]
            took = round(time.monotonic() - started)
            rows.append((name, one.rounds, one.one_winner, one.effects, one.losers[CONFLICT], others, took))
            print(flush=True)
    table, kept = rows_table(rows), all(one.holds for one in found.values())
    print(f"\n{table}\n\none winner a round, typed losers:", "PASS" if kept else "MISS")
    _write("race", table, {name: vars(one) for name, one in found.items()})
    return 0 if kept else 1


def _dots(what: str) -> tuple[float, Callable[[], None]]:
    """When something began, and what prints a dot every tenth time."""
    print(f"{what}: ", end="", flush=True)
    count = 0

    def step() -> None:
        nonlocal count
        count += 1
        if count % 10 == 0:
            print(".", end="", flush=True)

    return time.monotonic(), step


def _row(name: str, audit: Audit, started: float) -> tuple[object, ...]:
    """A contestant's line under `HEAD`. A peer has no word for a call whose outcome is unknown."""
    *counts, in_doubt, surfaced = vars(audit.total).values()
    doubts = ("-", "-") if name in PEERS else (in_doubt, surfaced)
    return (name, *counts, *doubts, round(time.monotonic() - started))


def _write(name: str, table: str, figures: dict[str, Any]) -> None:
    RESULTS.mkdir(exist_ok=True)
    machine = {"python": platform.python_version(), "system": platform.platform(), "cpus": os.cpu_count()}
    content = {"when": datetime.now(UTC).isoformat(timespec="seconds"), "machine": machine, "figures": figures}
    (RESULTS / f"{name}.json").write_text(json.dumps(content, indent=1) + "\n")
    (RESULTS / f"{name}.md").write_text(f"{table}\n")


if __name__ == "__main__":
    sys.exit(main())
