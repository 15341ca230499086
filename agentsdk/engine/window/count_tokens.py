"""Token counting of requests: how many a request will be billed as, before it is sent.

Each item of a run is counted once: the totals stand beside the view's items and grow with them.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from itertools import pairwise
from math import ceil
from typing import cast

from msgspec import Struct

from agentsdk.core.window.calibration import Calibration
from agentsdk.engine.callbacks import call_user
from agentsdk.engine.prepare import Prepared, continuation, instructions
from agentsdk.engine.run import Run
from agentsdk.ports.token_counter import TokenCounter
from agentsdk.types.declared import is_whole, shown
from agentsdk.types.errors import CallbackError
from agentsdk.types.events import HandedOff, ModelReplied, RunEvent
from agentsdk.types.items import Item
from agentsdk.types.spec import HandoffSpec, OutputSpec, ToolSpec
from agentsdk.types.tape import Tape

_NOTHING_LEARNED = Calibration()


class TokenEstimate(Struct, frozen=True):
    """The tokens of the next request: `counted` in all. The first n items of its view are `sums[n]` of them.

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


async def count_input_tokens(run: Run, prepared: Prepared) -> int:
    """The input tokens that the run's next request will be billed as."""
    return (await estimate_tokens(run, prepared)).tokens


async def estimate_tokens(run: Run, prepared: Prepared) -> TokenEstimate:
    """The tokens of the run's next request. O(new items)."""
    counter = counter_of(run)
    view = run.state.view
    totals = await _totals(counter, view)
    counted = await _fixed(counter, await instructions(run, prepared), prepared.request_tools, prepared.declared.request_output)
    counted += totals[len(view)]
    if tail := continuation(run):
        counted += sum(await count(counter, tail))
    run.counted = counted
    return TokenEstimate(counted, totals, _calibration(run))


def counter_of(run: Run) -> TokenCounter:
    """What counts the run's tokens."""
    deps = run.deps
    if deps.config.token_counter is not None:
        return deps.config.token_counter
    name, known = run.model.name, deps.looked_up.token_counters
    counter = known.get(name)
    if counter is None:
        counter = known[name] = deps.catalog.counter_of(name)
    return counter


async def count(counter: TokenCounter, items: Sequence[Item]) -> Sequence[int]:
    """The tokens of each item. Raises `CallbackError` for a counter that does not say them."""
    counts: object = await call_user("count of the token_counter", counter.count, items)
    if not isinstance(counts, list | tuple) or not all(is_whole(one, 0) for one in cast("Sequence[object]", counts)):
        raise _miscounted(counter, f"gave {shown(counts)} from count")
    given = cast("Sequence[int]", counts)
    if len(given) != len(items):
        raise _miscounted(counter, f"gave {len(given)} counts of {len(items)} items")
    return given


async def _fixed(
    counter: TokenCounter, instructions: str, tools: tuple[ToolSpec | HandoffSpec, ...], output: OutputSpec | None
) -> int:
    tokens: int = await call_user("count_fixed of the token_counter", counter.count_fixed, instructions, tools, output)
    if not is_whole(tokens, 0):
        raise _miscounted(counter, f"gave {shown(tokens)} from count_fixed")
    return tokens


def _miscounted(counter: TokenCounter, what: str) -> CallbackError:
    return CallbackError(
        f"the token_counter {type(counter).__name__!r} {what}, expected tokens as whole numbers, one for each item; "
        "fix it, or give none"
    )


def _calibration(run: Run) -> Calibration:
    """What the run's log has taught of its model up to now. O(new events)."""
    log = run.state.log
    read, known = run.calibrations
    if read < len(log):
        known = learned(known, log.since(read))
        run.calibrations = (len(log), known)
    return known.get(run.model.name, _NOTHING_LEARNED)


def learned(known: Mapping[str, Calibration], events: Iterable[RunEvent]) -> Mapping[str, Calibration]:
    """With what further replies teach of their agent's models, by the names these were asked by: what was counted for the
    replies, and what was billed."""
    for event in events:
        if isinstance(event, ModelReplied):
            name = event.asked or event.response.model
            calibration = known.get(name, _NOTHING_LEARNED).learned(event.counted, event.response.usage)
            known = {**known, name: calibration}
        elif isinstance(event, HandedOff):
            known = {}
    return known


class _Totals:
    """The sums of the tokens of a tape's items by one counter."""

    def __init__(self, counter: TokenCounter) -> None:
        self.counter = counter
        self.sums = [0]

    @property
    def items(self) -> int:
        """How many items are counted."""
        return len(self.sums) - 1

    def add(self, counts: Iterable[int]) -> None:
        for count in counts:
            self.sums.append(self.sums[-1] + count)


_COUNTERS = 4
"""So many counters' totals are kept of a tape, the latest used: agents that hand over to each other may differ in it."""


def _totals_of(counter: TokenCounter, view: Tape[Item]) -> _Totals:
    kept = cast("list[_Totals]", view.derived.setdefault(_Totals, []))
    for place, known in enumerate(kept):
        if known.counter is counter:
            if place:
                kept.insert(0, kept.pop(place))
            return known
    kept.insert(0, _Totals(counter))
    del kept[_COUNTERS:]
    return kept[0]


async def _totals(counter: TokenCounter, view: Tape[Item]) -> list[int]:
    """The sums up to each item of `view`, and maybe further. O(items that `counter` has not counted)."""
    known = _totals_of(counter, view)
    start = known.items
    if start < len(view):
        counts = await count(counter, view[start:])
        known.add(counts[known.items - start :])  # another run of the same view may have added some meanwhile
    return known.sums


def remember(counter: TokenCounter, view: Tape[Item], counts: Iterable[int]) -> None:
    """Take the counts of a new view's items for granted: they were counted before it was made."""
    known = _totals_of(counter, view)
    known.sums = [0]
    known.add(counts)
