"""Workflows of plain steps beside each other: each contestant runs the same chain in a process of its own.

    python -m benchmarks.steps.<contestant> measure <file or -> <steps> ...
    python -m benchmarks.steps.<contestant> fill <file> <steps>
    python -m benchmarks.steps.<contestant> resume <file> <steps>

`measure` prints one JSON line: for each number of steps the CPU time of one, in microseconds. `-` is without a store. `fill` is
killed in the step behind so many; `resume` goes on with that run and prints the seconds of CPU time until it is there.
"""

from __future__ import annotations

import asyncio
import json
import os
import sys
import time
from collections.abc import Awaitable, Callable
from contextlib import AbstractAsyncContextManager

Chain = Callable[[str, int, bool], Awaitable[int]]
"""Runs so many steps under this id, each of which awaits `add` of the sum so far; or resumes the run. Gives the sum."""

Contestant = Callable[[str | None], AbstractAsyncContextManager[Chain]]
"""Opens a SQLite file, each commit of which waits for the disk; or nothing, where steps are kept in memory alone."""

LEAST = 500
"""Of few steps there are several runs, until they are so many."""

BUDGET_S = 2.0
"""Seconds of CPU time: a number of steps that takes more is the last one that is measured."""

_gate: tuple[int, Callable[[], None]] | None = None


async def add(total: int) -> int:
    """What a step does."""
    if _gate is not None and total == _gate[0]:
        _gate[1]()
    return total + 1


def main(opened: Contestant) -> None:
    """Do what the command line says with a contestant."""
    what, file, *numbers = sys.argv[1:]
    sizes = [int(number) for number in numbers]
    if what == "measure":
        asyncio.run(_measure(opened, None if file == "-" else file, sizes))
    else:
        asyncio.run(_come_to(opened, file, sizes[0], resume=what == "resume"))


async def _measure(opened: Contestant, file: str | None, sizes: list[int]) -> None:
    figures: dict[int, float] = {}
    async with opened(file) as chain:
        assert await chain("warm", 10, False) == 10
        for steps in sizes:
            began, runs = time.process_time(), max(1, LEAST // steps)
            for number in range(runs):
                assert await chain(f"of-{steps}-{number}", steps, False) == steps
            took = time.process_time() - began
            figures[steps] = took / steps / runs * 1e6
            if took > BUDGET_S:
                break
    print(json.dumps(figures), flush=True)


async def _come_to(opened: Contestant, file: str, steps: int, *, resume: bool) -> None:
    global _gate
    began = time.process_time()

    def leave() -> None:
        if resume:
            print(time.process_time() - began, flush=True)
        os._exit(0)

    _gate = steps, leave
    async with opened(file) as chain:
        await chain("run", steps + 1, resume)
    raise AssertionError("the run has not come to its last step")
