"""`python -m benchmarks.long`: a run of a thousand tool turns, time per turn and memory on the way.

Time per turn must stay flat and memory must grow linearly: the last turn shown may take a fifth more than turn 50, and a turn
late in the run may add a fifth more memory than an early one.
"""

from __future__ import annotations

import argparse
import asyncio
import sys
from typing import Any

from benchmarks.envs import REQUIREMENTS, EnvError, ensure
from benchmarks.processes import Worker, WorkerError
from benchmarks.report import OURS
from benchmarks.scenarios import VERY_LONG_TURNS

ALLOWED = 1.2
BUDGET_MS = 1000


async def main() -> int:
    """Measure and print each contestant named on the command line, agentsdk unless told."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.long", description="a run of a thousand tool turns")
    parser.add_argument("contestants", nargs="*", default=[OURS], metavar="NAME", help=f"any of {', '.join(REQUIREMENTS)}")
    names: list[str] = parser.parse_args().contestants
    return int(not all([await held(name) for name in names]))


async def held(name: str) -> bool:
    """Measure and print one contestant; whether it stayed flat and linear."""
    answer: dict[str, Any]
    try:
        worker = await Worker.start(ensure(name))
        answer = await worker.ask("long", url=None, budget_ms=BUDGET_MS, at_once=0)
        await worker.stop()
    except (EnvError, WorkerError) as error:
        answer = {"error": str(error)}
    if "error" in answer:
        print(f"{name}: FAILED: {answer['error']}")
        return False
    figures: dict[str, float] = answer["figures"]
    print(f"{name}\n{'turn':>8} {'CPU µs a turn':>14} {'memory KiB':>11}")
    for turn in VERY_LONG_TURNS:
        print(f"{turn:>8} {figures[f'us_at_{turn}']:>14.1f} {figures[f'kib_at_{turn}']:>11.0f}")
    last = VERY_LONG_TURNS[-1]
    time_growth = figures[f"us_at_{last}"] / figures["us_at_50"]
    early = (figures["kib_at_400"] - figures["kib_at_100"]) / 300
    late = (figures[f"kib_at_{last}"] - figures["kib_at_600"]) / (last - 600)
    print(f"turn {last} takes {time_growth:.2f} times turn 50: {verdict(time_growth)}")
    print(f"a turn adds {early:.2f} KiB between 100 and 400, {late:.2f} KiB after 600: {verdict(late / early)}")
    return max(time_growth, late / early) <= ALLOWED


def verdict(growth: float) -> str:
    """PASS unless it grew by more than is allowed."""
    return "PASS" if growth <= ALLOWED else "MISS"


if __name__ == "__main__":
    sys.exit(asyncio.run(main()))
