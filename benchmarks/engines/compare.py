"""`python -m benchmarks.engines compare`: the loop in the engine's workflow, and one activity that drives a stored run.

On Temporal and on DBOS, the same agents. What comes of a run whose worker is killed in the middle of a payment, of one with two
agents side by side, and what an engine keeps of a run of 3 turns, and of one of 100 turns with two approvals.
"""

from __future__ import annotations

import asyncio
import sqlite3
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from typing import NamedTuple

from benchmarks.engines.kills import running
from benchmarks.engines.sweep import Contestant, Outcome, Sweep
from benchmarks.report import rows_table

SHORT = "pay:1+look:2 pay:3+look:4 pay:5+look:6"
LONG = " ".join(f"{'send' if turn in (34, 67) else 'look'}:{turn}" for turn in range(1, 101))
BESIDE = "helper:1+helper:2 pay:3"
BESIDE_RUNS = 10
EVENTS, KB = 40, 10.0
"""What Temporal may have at most of the long run."""

WAYS = {
    "Temporal, loop in the workflow": ("temporal", "benchmarks.engines.ways.temporal_loop"),
    "Temporal, agentsdk.durable.temporal": ("temporal", "benchmarks.engines.on_temporal"),
    "DBOS, loop in the workflow": ("dbos-sqlite", "benchmarks.engines.ways.dbos_loop"),
    "DBOS, agentsdk.durable.dbos": ("dbos-sqlite", "benchmarks.engines.on_dbos"),
}


class History(NamedTuple):
    """What an engine has kept of a run: Temporal its events, DBOS its steps; and whether Temporal's `Replayer` agrees."""

    events: int
    kb: float
    replays: str = "-"


class Played(NamedTuple):
    """Runs, what came of them, and what the engine has of the first. `seconds`: from the first kill, or the begin."""

    outcome: Outcome
    history: History
    begun: Counter[tuple[str, str]]
    seconds: float


Kill = Callable[[Counter[tuple[str, str]]], bool]
"""Whether the worker is to be killed, by how often each body has begun."""


def play(way: str, plan: str, kills: Sequence[Kill] = (), *, runs: int = 1, work: float = 0.0, reply: float = 0.0) -> Played:
    """Runs of one plan, on one worker, which is killed each time that a kill says so."""
    engine, module = WAYS[way]
    env = {"ENGINES_WORK_S": str(work), "ENGINES_REPLY_S": str(reply)}
    with tempfile.TemporaryDirectory(prefix="agentsdk-ways-") as name, running(engine, Path(name)) as address:
        sweep = Sweep(Contestant(way, module, Path(sys.executable), (plan,), env), address, Path(name), workers=1)
        since: list[float] = []

        async def chaos(sweep: Sweep) -> None:
            for kill in kills:
                async with asyncio.timeout(120):
                    while not kill(sweep.world.begun()):  # noqa: ASYNC110 - in other processes
                        await asyncio.sleep(0.02)
                await sweep.kill_one()
                since.append(time.monotonic())

        began = time.monotonic()
        outcome = asyncio.run(sweep.play(runs, chaos))
        seconds = time.monotonic() - (since or [began])[0]
        history = asyncio.run(of_temporal(way, address)) if engine == "temporal" else of_dbos(address)
        return Played(outcome, history, sweep.world.begun(), seconds)


async def of_temporal(way: str, address: dict[str, str]) -> History:
    """The history on the server; it is replayed in this process."""
    from temporalio.client import Client
    from temporalio.worker import Replayer

    client = await Client.connect(address["engine"])
    history = await client.get_workflow_handle("run-0").fetch_history()
    if way.endswith("loop in the workflow"):
        from benchmarks.engines.ways.temporal_loop import RUNNER, Run

        replayer = Replayer(workflows=[Run], workflow_runner=RUNNER)
    else:
        from agentsdk.durable.temporal import AgentRun

        replayer = Replayer(workflows=[AgentRun])
    found = await replayer.replay_workflow(history, raise_on_replay_failure=False)
    replays = "yes" if found.replay_failure is None else type(found.replay_failure).__name__
    return History(len(history.events), sum(event.ByteSize() for event in history.events) / 1000, replays)


def of_dbos(address: dict[str, str]) -> History:
    """The rows of the run's steps, and of its workflow."""
    with sqlite3.connect(address["engine"].removeprefix("sqlite:///")) as base:
        steps = base.execute("SELECT * FROM operation_outputs").fetchall()
        workflows = base.execute("SELECT * FROM workflow_status").fetchall()
    size = sum(len(str(value)) for row in (*steps, *workflows) for value in row if value is not None)
    return History(len(steps), size / 1000)


def compare() -> bool:
    """Print the table; whether ours keeps the bounds."""
    head = (
        "",
        "killed in a payment",
        "payment begun",
        "said in doubt",
        "seconds",
        f"{BESIDE_RUNS} of two agents beside, 3 kills",
    )
    rows: list[tuple[object, ...]] = [(*head, "3 turns: events, KB", "100 turns, 2 pauses: events, KB", "replays")]
    holds = True
    for way in WAYS:
        print(way, end=" ", file=sys.stderr, flush=True)
        killed = play(way, SHORT, [lambda begun: begun["run-0", "pay:3"] > 0], work=0.5)
        by_total = [partial(_has_begun, count) for count in (22, 30, 38)]
        beside = play(way, BESIDE, by_total, runs=BESIDE_RUNS, work=0.3, reply=0.1)
        short, long = play(way, SHORT), play(way, LONG)
        print(file=sys.stderr)
        paid = killed.begun["run-0", "pay:3"]
        sizes = [f"{one.history.events}, {one.history.kb:.1f}" for one in (short, long)]
        ends = (ended(killed.outcome), paid, killed.outcome.said, f"{killed.seconds:.0f}", ended(beside.outcome))
        rows.append((way, *ends, *sizes, long.history.replays))
        if "agentsdk.durable" in way:
            holds = holds and all(one.outcome.holds for one in (killed, beside, short, long)) and paid == 1
            if way.startswith("Temporal"):
                holds = holds and long.history.events <= EVENTS and long.history.kb <= KB and long.history.replays == "yes"
    print(rows_table(rows))
    return holds


def _has_begun(count: int, begun: Counter[tuple[str, str]]) -> bool:
    return len(begun) >= count


def ended(outcome: Outcome) -> str:
    """In a few words what came of runs."""
    many = "" if outcome.runs == 1 else f"{outcome.finished} "
    words = [f"{many}finished"] if outcome.finished else []
    words += [f"{outcome.lost} lost"] if outcome.lost else []
    words += [f"{outcome.twice} paid twice"] if outcome.twice else []
    words += [f"{outcome.wrongly} told wrongly"] if outcome.wrongly else []
    return ", ".join(words)
