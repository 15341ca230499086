"""`python -m benchmarks.workflow_kills`: kill -9 at every boundary of a workflow of 50 steps, and count what that costs.

A boundary is an append or a post that is on its way to the store, one that has come back from it, and an effect that is done
and not recorded yet. Each run is killed at one of them, all runs together at all; another process goes on with it to its end.
Then one run is killed again and again, soon after each of its processes begins. What was lost or repeated is found in the log
and in the ledger of effects. Must be: no step lost, none repeated whose result was recorded, and each `once` step that was cut
shown to a person, and no other.

SQLite, PostgreSQL and Redis. `--every 60` is a sample. Linux only; the exit code is 1 when a bound is missed.
"""

from __future__ import annotations

import argparse
import importlib
import itertools
import signal
import sys
import tempfile
import time
from collections import defaultdict
from collections.abc import Iterable, Iterator
from functools import partial
from pathlib import Path
from typing import NamedTuple

from agentsdk.core.codec import decode_events
from agentsdk.core.keys import SCHEME, call_key
from agentsdk.types.events import CallRetried, ModelReplied, RunResumed, StepBegan, ToolFinished, ToolsIntended, unnested
from agentsdk.types.items import FunctionCall
from benchmarks.crash.outside import forked
from benchmarks.crash.stores import MODULES, Address, running
from benchmarks.report import rows_table
from benchmarks.workflow_day import ONCE, World, live

STORES = ("sqlite", "postgres", "redis")
SOON = (4, 5, 6, 7)
"""At which of their boundaries the processes die of the run that is killed again and again: each has come to one append."""


class Tally(NamedTuple):
    """What kills led to.

    `repeated`: effects that happened again although their result was recorded, or they are `once`, or under another key.
    `again`: those without a result that happened again, as their effect allows. `in_doubt`: `once` calls that began and had no
    result when somebody went on with the run; `said`: those of them that a person was shown.
    """

    kills: int = 0
    lost: int = 0
    repeated: int = 0
    again: int = 0
    in_doubt: int = 0
    said: int = 0

    def plus(self, other: Tally) -> Tally:
        """Both together."""
        return Tally(*map(sum, zip(self, other, strict=True)))


class Life:
    """One run in processes that die, each at the boundary that `kills` says, and one that comes to the end."""

    def __init__(self, folder: Path, address: Address, kills: Iterable[int] = (), *, fails: bool = True) -> None:
        folder.mkdir()
        self.run_id = f"{folder.parent.name}-{folder.name}"
        self.world = World(folder)
        for kill in itertools.chain(kills, [0]):
            code = forked(partial(live, World(folder, kill), address, self.run_id, fails))
            if code == 0:
                break
            if code != -signal.SIGKILL:
                raise RuntimeError(f"a process of {self.run_id!r} ended with {code}, expected 0; see its stderr")
        (self._stored,) = self.world.read("log")
        self._log = [unnested(event) for event in decode_events([bytes.fromhex(event) for event in self._stored])]
        self._ledger = self.world.read("ledger")
        self.outcome: object = self.world.read("outcome")

    def compared_with(self, uncut: Life) -> Tally:
        """What the kills led to, beside a run without any."""
        doubts, said = self._doubts(), set(self.world.read("in doubt"))
        if said - doubts:
            raise RuntimeError(f"run {self.run_id!r} says that {len(said - doubts)} calls are in doubt which are not")
        repeated = self._repeated()
        again = len(self._ledger) - len(self._effects) - repeated
        return Tally(len(self.world.read("deaths")), self._lost(uncut), repeated, again, len(doubts), len(said))

    @property
    def _effects(self) -> set[str]:
        return {f"{line['name']} {line['n']}" for line in self._ledger}

    @property
    def _steps(self) -> dict[str, str]:
        """The steps that were called, with their arguments as far as these do not follow from chance, or from who was first."""
        begun = [(path, event) for path, event in self._log if isinstance(event, StepBegan)]
        free = ("same", "undo pay", "undo book")
        return {"/".join((*path, event.call_id)): "" if event.name in free else event.arguments for path, event in begun}

    def _lost(self, uncut: Life) -> int:
        """How many effects and steps differ from those of the run without kills, and durable events are gone."""
        gone: int = sum(self._stored[rev : rev + len(events)] != events for rev, events in self.world.read("witness"))
        others = len(uncut._steps.items() ^ self._steps.items()) + len(uncut._effects ^ self._effects)
        return gone + others + int(uncut.outcome != self.outcome)

    def _repeated(self) -> int:
        first: dict[str, str] = {}
        found: set[int] = set()
        for number, line in enumerate(self._ledger):
            effect = f"{line['name']} {line['n']}"
            if effect in first and (line["name"] in ONCE or line["key"] != first[effect]):
                found.add(number)
            first.setdefault(effect, line["key"])
        for rev, begins in self.world.read("processes"):
            recorded = {self._key(path, event.call_id) for path, event in self._log[:rev] if isinstance(event, ToolFinished)}
            found |= {number for number, line in enumerate(self._ledger) if number >= begins and line["key"] in recorded}
        return len(found)

    def _doubts(self) -> set[str]:
        """The keys of `once` calls that had begun and had no result when a process went on with the run."""
        once: set[str] = set()
        open_calls: set[str] = set()
        doubts: set[str] = set()
        for path, event in self._log:
            match event:
                case ModelReplied(response):
                    calls = [item for item in response.output if isinstance(item, FunctionCall)]
                    once |= {self._key(path, call.call_id) for call in calls if call.name in ONCE}
                case StepBegan(call_id, effect="once"):
                    once.add(self._key(path, call_id))
                    open_calls.add(self._key(path, call_id))
                case ToolsIntended(call_ids):
                    open_calls |= {self._key(path, call_id) for call_id in call_ids} & once
                case ToolFinished(call_id) | CallRetried(call_id):
                    open_calls.discard(self._key(path, call_id))
                case RunResumed():
                    doubts |= open_calls
                case _:
                    pass
        return doubts

    def _key(self, path: tuple[str, ...], call_id: str) -> str:
        return call_key(SCHEME, self.run_id, path, call_id)


def sweep(address: Address, folder: Path, every: int) -> Iterator[tuple[str, Tally]]:
    """The point of each kill, at one of `every` so many boundaries, and what it led to; at last those of the run that is killed
    again and again."""
    uncut = Life(folder / "uncut", address)
    for number in itertools.count(1, every):
        life = Life(folder / str(number), address, [number])
        deaths = life.world.read("deaths")
        if not deaths:
            break
        yield deaths[0], life.compared_with(uncut)
    uncut = Life(folder / "uncut, finished", address, fails=False)
    life = Life(folder / "again and again", address, itertools.cycle(SOON if every <= max(SOON) else (every,)), fails=False)
    yield "again and again", life.compared_with(uncut)


def main() -> int:
    """Kill the runs; whether every bound was kept."""
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.workflow_kills", description="kill -9 at every boundary of a workflow"
    )
    parser.add_argument("--store", action="append", choices=STORES, help="only this one; may be given again")
    parser.add_argument("--every", type=int, default=1, help="one of so many boundaries (default: all)")
    flags = parser.parse_args()
    rows: list[tuple[object, ...]] = [("", *Tally._fields, "seconds")]
    total = Tally()
    for store in flags.store or STORES:
        for module in MODULES[store]:
            importlib.import_module(module)
        with tempfile.TemporaryDirectory(prefix="agentsdk-workflow-") as name, running(store, Path(name)) as address:
            began = time.monotonic()
            points: dict[str, Tally] = defaultdict(Tally)
            for point, tally in sweep(address, Path(name), flags.every):
                points[point] = points[point].plus(tally)
                print(".", end="", file=sys.stderr, flush=True)
            print(file=sys.stderr)
        of_store = Tally(*map(sum, zip(*points.values(), strict=True)))
        rows += [(f"{store}, {point}", *tally, "") for point, tally in points.items()]
        rows.append((store, *of_store, round(time.monotonic() - began)))
        total = total.plus(of_store)
    print(rows_table(rows))
    return int((total.lost, total.repeated) != (0, 0) or total.in_doubt != total.said or not total.kills)


if __name__ == "__main__":
    sys.exit(main())
