"""`History`: the log of a run as it is looked at, read once and then extended, with the state at any of its events.

A state is a value that shares what has not changed with the state before, so one is kept every `_EVERY` events, and the state
at an event is folded from the one kept before it: a look costs the same wherever in the log it is.
"""

from __future__ import annotations

import asyncio
from collections import OrderedDict

from agentsdk.core.codec import decode_events
from agentsdk.core.limits.totals import Price
from agentsdk.core.state import State, apply, new_state
from agentsdk.ports.run_store import RunStore, not_found
from agentsdk.types.errors import UserError
from agentsdk.types.events import RunEvent
from agentsdk.ui.rows import Row, Teller
from agentsdk.ui.spans import Span, Spans

_EVERY = 64
"""Events between two states that are kept."""

_KEPT, _KEPT_EVENTS = 8, 200_000
"""Histories that are kept, those looked at last, and the events of them all; the last is kept whatever its size."""

_PART = 2_000
"""Events that are decoded, or folded, before others have their turn."""


class History:
    """The log of one run: its events, a row for each, the spans that they make, and the states between them."""

    def __init__(self, run_id: str, price: Price) -> None:
        self.run_id = run_id
        self.events: list[RunEvent] = []
        self.rows: list[Row] = []
        self._teller = Teller(price)
        self._spans = Spans()
        self._states: list[State] = [new_state()]
        self._lock = asyncio.Lock()

    async def follow(self, store: RunStore) -> None:
        """Read what the log has more by now. Raises `RunNotFoundError`, and `StateError`s for a damaged or newer log."""
        async with self._lock:
            records = await store.read(self.run_id, len(self.events))
            for start in range(0, len(records), _PART):
                self.extend(decode_events(records[start : start + _PART]))
                await asyncio.sleep(0)
        if not self.events:
            raise not_found(self.run_id)

    def extend(self, events: tuple[RunEvent, ...]) -> None:
        """Take the next events. Raises `StateError` where they cannot follow."""
        for event in events:
            self.events.append(event)
            row = self._teller.row(len(self.events), event)
            self.rows.append(row)
            self._spans.feed(row, event)

    async def fold(self) -> None:
        """Make the states that are kept, part by part, so that a long log holds nobody up. Raises `StateError`."""
        for revision in range(len(self._states) * _EVERY, len(self.events), _PART):
            self.state(revision)
            await asyncio.sleep(0)

    def spans(self) -> list[Span]:
        """What took time."""
        return self._spans.all()

    def state(self, revision: int) -> State:
        """The state after `revision` events. Raises `UserError` where there are not so many, `StateError` for a damaged log."""
        if not 0 <= revision <= len(self.events):
            raise UserError(
                f"run {self.run_id!r} has {len(self.events)} events, expected a revision from 0 to that and not {revision}"
            )
        kept = min(revision // _EVERY, len(self._states) - 1)
        state = self._states[kept]
        for position in range(kept * _EVERY, revision):
            state = apply(state, self.events[position])
            if (position + 1) % _EVERY == 0 and (position + 1) // _EVERY == len(self._states):
                self._states.append(state)
        return state


class Histories:
    """The histories that were looked at last."""

    def __init__(self, store: RunStore, price: Price) -> None:
        self._store = store
        self._price = price
        self._kept: OrderedDict[str, History] = OrderedDict()

    async def of(self, run_id: str) -> History:
        """That of a run, as it stands. Raises what `History.follow` does."""
        history = self._kept.pop(run_id, None) or History(run_id, self._price)
        await history.follow(self._store)
        self._kept[run_id] = history
        while len(self._kept) > 1 and (len(self._kept) > _KEPT or self._events() > _KEPT_EVENTS):
            self._kept.popitem(last=False)
        return history

    def _events(self) -> int:
        return sum(len(history.events) for history in self._kept.values())
