"""Runs and queries by chance: a store answers as `MemoryRunStore` does."""

from __future__ import annotations

import contextlib
import itertools
import math
import random
from collections.abc import Sequence
from typing import get_args

from msgspec.structs import replace

from agentsdk.ports.run_store import RunStore
from agentsdk.stores.memory import MemoryRunStore
from agentsdk.types.errors import RunConflictError
from agentsdk.types.summary import DueRuns, RunQuery, RunStatus, RunSummary

_PAIRS = [("user", "ada"), ("user", "é'\\"), ("tenant", ""), ("", "ada")]


def _run(chance: random.Random, run_id: str, times: Sequence[float]) -> RunSummary:
    at = chance.choice(times)
    return RunSummary(
        run_id=run_id,
        rev=0,
        status=chance.choice(get_args(RunStatus)),
        agent=chance.choice("xy"),
        started_at=at,
        updated_at=at,
        first_agent=chance.choice(["", "x", "xy", "é{}"]),
        held_until=float(chance.randrange(3)),
        due_at=chance.choice([0.0, 0.0, 5.0, *times[1:4]]),
        priority=chance.choice([0, 0, -1, 7, 2**40]),
        input_tokens=chance.randrange(3),
        metadata=dict(chance.sample(_PAIRS, chance.randrange(4))),
    )


async def expect_answers_of_memory(store: RunStore, seed: int = 4) -> None:
    """Raises `AssertionError` where an empty store answers otherwise; it is empty again then."""
    chance, memory = random.Random(seed), MemoryRunStore()
    neighbours = itertools.accumulate(range(12), lambda time, _: math.nextafter(time, math.inf), initial=1_763_632_800.1)
    times = [-3.0, 0.0, *neighbours]
    for number in range(250):
        known = [one.run_id for one in await memory.list(RunQuery(limit=1000))] if number > 150 else []
        run = _run(chance, chance.choice(known) if known else f"{chance.choice('aé{')}{number}", times)
        for kept in (store, memory):
            await kept.append(run.run_id, 0, [], run)
            if number % 3 == 0:
                with contextlib.suppress(RunConflictError):
                    await kept.post(run.run_id, b"signal")
    for _ in range(200):
        query = RunQuery(
            status=chance.choice([None, None, *get_args(RunStatus)]),
            agent=chance.choice([None, "x", "y", "z"]),
            started_after=chance.choice([None, -1.0, *times[3:5]]),
            started_before=chance.choice([None, 0.0, times[9]]),
            min_tokens=chance.choice([None, 1]),
            abandoned_at=chance.choice([None, None, 1.0]),
            metadata=chance.choice([{}, {}, *({name: value} for name, value in _PAIRS), dict(_PAIRS), {"user": "eve"}]),
            limit=chance.choice([1, 2, 7, 30, 1000]),
        )
        while page := await memory.list(query):
            assert await store.list(query) == page, query
            query = replace(query, after=page[-1].cursor)
        assert await store.list(query) == []
    for _ in range(100):
        due = DueRuns(
            at=chance.choice([*times[2:], 5.0]),
            agents=chance.choice([None, [], ["x"], ["x", "xy", "x"], ["", "é{}"], ["y"]]),
            limit=chance.choice([1, 2, 7, 1000]),
        )
        assert await store.due(due) == await memory.due(due), due
    gone, *_ = await store.list(RunQuery(limit=1))
    for kept in (store, memory):
        await kept.delete(gone.run_id)
    assert await store.list(RunQuery(after=gone)) == await memory.list(RunQuery(after=gone))
    for run in await store.list(RunQuery(limit=1000)):
        await store.delete(run.run_id)
