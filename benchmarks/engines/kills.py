"""`python -m benchmarks.engines kills`: 50 runs, workers killed at random for 60 s; what becomes of the runs.

Temporal with its own server, DBOS on SQLite and on PostgreSQL; with `--peers` those of others beside, in environments of their
own. Of ours must be: every run at its end or waiting for a person, and no `once` body begun twice without a person being asked.
"""

from __future__ import annotations

import asyncio
import sys
import tempfile
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

from benchmarks.engines.sweep import Contestant, Outcome, Sweep
from benchmarks.envs import ensure
from tests import postgres_server, temporal_server

OURS = ("temporal", "dbos-sqlite", "dbos-postgres")
PEERS = ("openai-agents-temporal", "openai-agents-temporal-once", "pydantic-ai-dbos", "pydantic-ai-dbos-plain")
HEAD = (
    *("", "runs", "kill -9", "finished", "waiting", "lost", "once twice, unsaid", "told wrongly"),
    *("in doubt, said", "others again", "seconds"),
)


def contestant_of(name: str) -> Contestant:
    """A contestant, its environment made first where it needs one of its own."""
    here, openai, pydantic = Path(sys.executable), "openai-agents-temporal", "pydantic-ai-dbos"
    match name:
        case "temporal":
            return Contestant("agentsdk on Temporal", "benchmarks.engines.on_temporal", here)
        case "dbos-sqlite":
            return Contestant("agentsdk on DBOS, SQLite", "benchmarks.engines.on_dbos", here)
        case "dbos-postgres":
            return Contestant("agentsdk on DBOS, PostgreSQL", "benchmarks.engines.on_dbos", here)
        case "openai-agents-temporal":
            return _peer("openai-agents on Temporal", openai)
        case "openai-agents-temporal-once":
            return _peer("the same, `once` activities tried once", openai, {"ENGINES_ATTEMPTS": "1"})
        case "pydantic-ai-dbos":
            return _peer("pydantic-ai on DBOS, SQLite", pydantic)
        case _:
            return _peer("the same, agents as tools as plain tools", pydantic, {"ENGINES_CHILD": "0"})


def _peer(label: str, env: str, told: Mapping[str, str] | None = None) -> Contestant:
    module = f"benchmarks.engines.peers.{env.replace('-', '_')}"
    return Contestant(label, module, ensure(env).python, env=told or {})


@contextmanager
def running(name: str, folder: Path) -> Iterator[dict[str, str]]:
    """Where the engine and the store are, with the server that they need."""
    if "temporal" in name:
        with temporal_server.running() as address:
            yield {"engine": address, "kind": "sqlite", "store": str(folder / "runs.db")}
    elif name == "dbos-postgres":
        with postgres_server.running() as server:
            yield {"engine": server.url, "kind": "postgres", "store": server.url, "queue": "drives"}
    else:
        yield {"engine": f"sqlite:///{folder / 'engine.db'}", "kind": "sqlite", "store": str(folder / "runs.db")}


async def at_random(sweep: Sweep, seconds: float, every: float) -> None:
    """Kill a worker every so many seconds."""
    await sweep.until_begun(1)
    until = time.monotonic() + seconds
    while time.monotonic() < until:
        await asyncio.sleep(every)
        await sweep.kill_one()
        print(".", end="", file=sys.stderr, flush=True)


def swept(name: str, *, runs: int, seconds: float, every: float, workers: int, seed: int) -> Outcome:
    """What came of the runs of one contestant."""
    contestant = contestant_of(name)
    with tempfile.TemporaryDirectory(prefix="agentsdk-engines-") as folder, running(name, Path(folder)) as address:
        sweep = Sweep(contestant, address, Path(folder), workers=workers, seed=seed)
        return asyncio.run(sweep.play(runs, lambda sweep: at_random(sweep, seconds, every), over=0.8 * seconds))


def row(label: str, outcome: Outcome, said: bool) -> tuple[object, ...]:
    """A line of the table. Peers have no word for a call in doubt: what was cut is run again, or has failed."""
    doubts = outcome.said if said else "cannot say"
    ends = (outcome.finished, outcome.waiting, outcome.lost, outcome.twice, outcome.wrongly, doubts, outcome.again)
    return label, outcome.runs, outcome.kills, *ends, f"{outcome.seconds:.0f}"
