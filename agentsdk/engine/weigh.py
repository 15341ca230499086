"""Weighing: how many tokens a request will be billed as, known before it is sent.

Each item of a run is counted once: the totals stand beside the view's items and grow with them.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import pairwise
from math import ceil

from msgspec import Struct

from agentsdk.core.calibration import Calibration
from agentsdk.engine.prepare import Prepared, continuation, instructions
from agentsdk.engine.run import Run
from agentsdk.ports.token_counter import TokenCounter
from agentsdk.types.events import HandedOff, ModelReplied, RunEvent
from agentsdk.types.items import Item
from agentsdk.types.tape import Tape


class Weight(Struct, frozen=True):
    """What the next request weighs: `counted` tokens in all. The first n items of its view are `sums[n]` of them.

    `calibration` says what will be billed for that.
    """

    counted: int
    sums: Sequence[int]
    calibration: Calibration

    @property
    def tokens(self) -> int:
        """What will be billed."""
        return self.calibration.calibrated(self.counted)

    def billed(self, counts: Sequence[int]) -> list[int]:
        """What each of some items will be billed as."""
        return [ceil(count * self.calibration.factor) for count in counts]

    def of_items(self, items: int) -> list[int]:
        """What was counted for each of the view's first `items`."""
        return [after - before for before, after in pairwise(self.sums[: items + 1])]


async def weigh(run: Run, prepared: Prepared) -> int:
    """The input tokens that the run's next request will be billed as."""
    return (await weighed(run, prepared)).tokens


async def weighed(run: Run, prepared: Prepared) -> Weight:
    """What the run's next request weighs. O(new items)."""
    counter = counter_of(run)
    view = run.state.view
    totals = await _totals(counter, view)
    counted = await counter.count_fixed(await instructions(run), prepared.request_tools, prepared.spec.output)
    counted += totals[len(view)]
    if tail := continuation(run):
        counted += sum(await counter.count(tail))
    run.counted = counted
    return Weight(counted, totals, _calibration(run))


def counter_of(run: Run) -> TokenCounter:
    """What counts the run's tokens."""
    if run.ports.config.token_counter is not None:
        return run.ports.config.token_counter
    return run.ports.facts.counter_of(run.ports.model_of(run.agent).name)


def _calibration(run: Run) -> Calibration:
    """What the run's log has taught up to now. O(new events)."""
    log = run.state.log
    read, calibration = run.calibration
    if read < len(log):
        calibration = learned(calibration, log.since(read))
        run.calibration = (len(log), calibration)
    return calibration


def learned(calibration: Calibration, events: Iterable[RunEvent]) -> Calibration:
    """With what further replies teach of their agent's model: what was counted for them, and what was billed."""
    for event in events:
        if isinstance(event, ModelReplied):
            calibration = calibration.learned(event.counted, event.response.usage)
        elif isinstance(event, HandedOff):
            calibration = Calibration()
    return calibration


class _Totals:
    """The sums of what a tape's items weigh by one counter."""

    def __init__(self, counter: TokenCounter) -> None:
        self.counter = counter
        self.sums = [0]

    def add(self, counts: Iterable[int]) -> None:
        for count in counts:
            self.sums.append(self.sums[-1] + count)


async def _totals(counter: TokenCounter, view: Tape[Item]) -> list[int]:
    """The sums up to each item of `view`, and maybe further."""
    known = view.derived.get(_Totals)
    if not isinstance(known, _Totals) or known.counter is not counter:
        known = view.derived[_Totals] = _Totals(counter)
    start = len(known.sums) - 1
    if start < len(view):
        known.add(await counter.count(view[start:]))
    return known.sums


def remember(counter: TokenCounter, view: Tape[Item], counts: Iterable[int]) -> None:
    """Take the counts of a new view's items for granted: they were counted before it was made."""
    known = view.derived[_Totals] = _Totals(counter)
    known.add(counts)
