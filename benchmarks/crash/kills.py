"""All the kills of one contestant: concurrent runs, each killed once in every step, and together at every point of it."""

from __future__ import annotations

import asyncio
import functools
import sys
from collections.abc import Awaitable, Callable, Sequence
from contextlib import AbstractAsyncContextManager
from pathlib import Path
from typing import Any

from benchmarks.crash.audit import Audit
from benchmarks.crash.life import Life, OnKill, OurLife, Victims
from benchmarks.crash.stores import MODULES, Address, open_store
from benchmarks.crash.world import PEER_POINTS, POINTS, Kill, Point, kill_at

LANES = 3
"""Runs at the same time."""

Live = Callable[[Victims], Awaitable[object]]
"""Takes a run through its kills."""


def kills_of(steps: int, points: Sequence[Point]) -> list[list[Kill]]:
    """As many runs as there are points, each killed once in every step: together at every point of every step."""
    return [
        [kill_at(step, points[(step + number) % len(points)]) for step in range(1, steps + 1)] for number in range(len(points))
    ]


def nothing() -> None:
    """No progress to show."""


async def kill_ours(
    address: Address,
    folder: Path,
    steps: int,
    *,
    points: Sequence[Point] = POINTS,
    at_random: int = 0,
    durability: str = "sync",
    on_kill: OnKill = nothing,
) -> Audit:
    """agentsdk on a store: a run without kills, others killed at `points`, and some killed `at_random` from outside."""
    audit = Audit()
    ends: dict[str, dict[str, Any] | None] = {}
    store = open_store(address)

    async def live(victims: Victims, name: str, kills: Sequence[Kill], random_kills: int = 0) -> int:
        life = OurLife(victims, folder / name, steps, address, store, durability, on_kill)
        await (life.killed_at_random(random_kills) if random_kills else life.killed_at(kills))
        audit.add(life.audit)
        ends[name] = life.outcome
        return life.audit.total.kills

    async def live_randomly(victims: Victims) -> None:
        left, run = at_random, 0
        while left:
            left -= await live(victims, f"random-{run}", (), left)
            run += 1

    lives: list[Live] = [functools.partial(live, name="uncut", kills=()), live_randomly]
    lives += [functools.partial(live, name=str(number), kills=kills) for number, kills in enumerate(kills_of(steps, points))]
    try:
        await _concurrently(lives, functools.partial(Victims.of, sys.executable, "ours", MODULES[address[0]]))
    finally:
        await store.aclose()
    for name, end in ends.items():
        if end != ends["uncut"]:
            audit.lose("at its end", f"run {name!r} ended otherwise than the one without kills")
    return audit


async def kill_peer(python: Path, contestant: str, folder: Path, steps: int, *, on_kill: OnKill = nothing) -> Audit:
    """A peer, on SQLite, at the points it has. A run that cannot go on counts as lost."""
    audit = Audit()

    async def live(victims: Victims, name: str, kills: Sequence[Kill]) -> None:
        life = Life(victims, folder / name, steps, f"crash-{name}", ("sqlite", str(folder / "peer.db")), on_kill)
        try:
            await life.killed_at(kills)
        except RuntimeError as error:
            life.lose(str(error))
        audit.add(life.audit)

    plans = kills_of(steps, PEER_POINTS[contestant])
    lives: list[Live] = [functools.partial(live, name=str(number), kills=kills) for number, kills in enumerate(plans)]
    await _concurrently(lives, functools.partial(Victims.of, python, contestant))
    return audit


async def _concurrently(lives: list[Live], victims_of: Callable[[], AbstractAsyncContextManager[Victims]]) -> None:
    """Take every life, some at the same time; the processes of each come from one that forks them."""

    async def lane() -> None:
        async with victims_of() as victims:
            while lives:
                await lives.pop()(victims)

    async with asyncio.TaskGroup() as group:
        for _ in range(min(LANES, len(lives))):
            group.create_task(lane())
